# A PAGI application that plays a script and writes down what it sees: probe.py, in Perl.
#
# A copy of this file lies beside `script.json` and `log.jsonl`, and speaks in lines of the same
# form; it waits for the same files.  It needs IO::Async and Future::AsyncAwait, as its server.

package Lifespec::Probe;

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use Future;
use Future::AsyncAwait;
use Future::Utils qw(repeat);
use IO::Async::Loop;
use JSON::PP ();
use Scalar::Util qw(blessed refaddr);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $here = abs_path(dirname(__FILE__));
my $name = basename($here);
my ($script, $log) = ("$here/script.json", "$here/log.jsonl");
my $json  = JSON::PP->new->utf8->canonical->allow_nonref;
my $poll  = 0.01;    # seconds between two looks at a file
my $calls = 0;
my (%numbers, %namespaces, %running, @children);

# Add a line to the log, whole or not at all.
sub note {
    my ($kind, $call, %facts) = @_;
    my %line = (
        n => ++$numbers{$$}, time => clock_gettime(CLOCK_MONOTONIC),
        place(), call => $call, kind => $kind, %facts,
    );
    open my $file, '>>', $log or die "$log: $!";
    syswrite $file, $json->encode(\%line) . "\n";
    close $file;
}

sub loop { return IO::Async::Loop->new }    # there is one in a process

sub place { return (pid => $$, thread => 0, loop => refaddr(loop())) }

# A value as JSON.  Perl does not tell text from numbers: whole numbers are numbers, else text.
sub shape {
    my ($value) = @_;
    return $value unless defined $value;
    return +{ map { $_ => shape($value->{$_}) } keys %$value } if ref $value eq 'HASH';
    return [map { shape($_) } @$value] if ref $value eq 'ARRAY';
    return { '!' => ref $value, repr => "$value" } if ref $value;
    return $value =~ /\A-?[0-9]{1,15}\z/ ? $value + 0 : "$value";
}

# What a scope's state holds, and who it is; a value that is no reference is who it is by itself.
sub held {
    my ($scope) = @_;
    my $state = $scope->{state};
    return () unless ref $state eq 'HASH';
    my %ids = map { $_ => ref $state->{$_} ? refaddr($state->{$_}) : $state->{$_} } keys %$state;
    return (state => shape($state), state_id => refaddr($state), ids => \%ids);
}

sub text {
    my ($error) = @_;
    my $text = "$error";
    $text =~ s/\s+\z//;
    return (error => blessed($error) || 'die', text => substr($text, 0, 500));
}

sub pause { return loop()->delay_future(after => $_[0]) }

# Look again and again until something is true.
sub until_true {
    my ($test) = @_;
    return repeat { pause($poll) } until => sub { $test->() };
}

# Wait until there is a file of that name.
sub word {
    my ($file) = @_;
    return until_true(sub { -e "$here/$file" });
}

# ---- one call with the scope of a lifespan -----------------------------------------------------

sub noted {
    my ($self, $kind, %facts) = @_;
    note($kind, $self->{number}, step => $self->{step}, %facts);
}

async sub receive {
    my ($self, $by) = @_;
    my $event = await $self->{receive}->();
    my $kind = ref $event eq 'HASH' ? $event->{type} // '' : '';
    my %seen = (type => $kind, event => shape($event), held($self->{scope}));
    noted($self, 'received', by => $by // '', %seen);
    return $kind;
}

# Send an event; let the server's refusal through.
async sub send_event {
    my ($self, $event, $by) = @_;
    my %what = (
        by   => $by // '',
        type => ref $event eq 'HASH' ? $event->{type} // '' : '', event => $event,
    );
    noted($self, 'sends', %what);
    my $sending = Future->call(sub { $self->{send}->($event) });
    await $sending->without_cancel->else(sub { Future->done });
    if ($sending->is_failed) {
        my $error = ($sending->failure)[0];
        noted($self, 'refused', %what, text($error));
        die $error;
    }
    noted($self, 'sent', %what);
}

# Begin a task of its own, and let it run until it waits.
async sub spawn {
    my ($self, $child) = @_;
    my $number = $self->{number};
    push @children, $child->()->on_ready(sub { note('child ended', $number) });
    await pause($poll);
}

my %steps = (
    receive => sub { receive($_[0]) },
    send    => sub { send_event(@_) },
    try     => async sub { await send_event(@_)->else(sub { Future->done }) },
    wait    => sub { pause($_[1]) },
    pause   => sub { word('go' . ++$_[0]{pauses}) },
    hang    => sub { word('the word that nobody says') },
    raise   => async sub { die "$_[1]\n" },
    return  => async sub { return },
    give    => async sub { return $_[1] },
    listen  => sub { my ($self) = @_; spawn($self, sub { receive($self, 'child') }) },
    state   => async sub {
        my ($self, $keys) = @_;
        my $state = $self->{scope}{state};
        @$state{ keys %$keys } = values %$keys if ref $state eq 'HASH';
        noted($self, 'kept', held($self->{scope}));
    },
    converse => async sub {
        my ($self) = @_;
        my $kind = '';
        while ($kind ne 'lifespan.shutdown') {
            $kind = await receive($self);
            await send_event($self, { type => "$kind.complete" });
        }
    },
    later => sub {
        my ($self, $event) = @_;
        spawn($self, async sub {
            await until_true(sub { $self->{over} });
            await send_event($self, $event, 'child');
        });
    },
);

async sub play {
    my ($self) = @_;
    $namespaces{ $self->{number} } = $self->{scope}{state};
    my $script = script();
    my $value;
    while ($self->{step} < @$script) {    # Future::AsyncAwait 0.63: a foreach crashes if cancelled
        my ($verb, $argument) = @{ $script->[$self->{step}] };
        noted($self, 'plays', type => $verb);
        $value = await $steps{$verb}->($self, $argument);
        $self->{step}++;
    }
    return $value;
}

sub script {
    local $/;
    open my $file, '<', $script or die "$script: $!";
    return $json->decode(scalar <$file>);
}

# ---- requests ----------------------------------------------------------------------------------

# Answer a request with what it sees; its path may ask for more than a look.
async sub answer {
    my ($number, $scope, $send) = @_;
    my ($what, @words) = grep { length } split m{/}, $scope->{path};
    my %before = held($scope);
    my $state = $scope->{state} || {};
    $what //= '';
    if ($what eq 'set') { $state->{ $words[0] } = $words[1] }
    elsif ($what eq 'append' && $state->{ $words[0] }) {
        push @{ $state->{ $words[0] } }, $words[1];
    }
    elsif ($what eq 'rebind') { $scope->{state} = {} }
    elsif ($what eq 'hold') {
        note('holds', $number, type => 'http');
        await word('release');
    }
    my @offered = map { refaddr($_) } grep { defined } values %namespaces;
    my $body = $json->encode({ probe => $name, place(), %before, offered => \@offered });
    my @headers = (['content-type', 'application/json'], ['content-length', length $body]);
    await $send->({ type => 'http.response.start', status => 200, headers => \@headers });
    await $send->({ type => 'http.response.body', body => $body });
}

sub respond {
    my ($number, $scope, $receive, $send) = @_;
    return answer($number, $scope, $send) if $scope->{type} eq 'http';
    die "no '$scope->{type}' here\n" if $scope->{type} ne 'lifespan';
    my %self = (number => $number, scope => $scope, receive => $receive, send => $send, step => 0);
    return play(\%self)->on_ready(sub { $self{over} = 1 });
}

# Take part in whatever the server calls for, and note how the call ended.
sub app {
    my ($scope, $receive, $send) = @_;
    my ($number, $kind) = (++$calls, $scope->{type});
    my %what = $kind eq 'http' ? (path => $scope->{path}) : (scope => shape($scope));
    note('called', $number, type => $kind, %what, held($scope));
    my $future = Future->call(sub { respond($number, $scope, $receive, $send) });
    $running{"$$ $number"} = $future;
    return $future->on_ready(
        sub {
            delete $running{"$$ $number"};
            my ($ended) = @_;
            my $how = $ended->is_cancelled ? 'cancelled' : $ended->is_failed ? 'raised' : 'returned';
            note($how, $number, type => $kind, $ended->is_failed ? text($ended->failure) : ());
        }
    );
}

note('imported', 0) if -e $script;

return \&app;    # to `do`, by which servers load a file
