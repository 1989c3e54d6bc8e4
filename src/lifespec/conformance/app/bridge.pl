# Runs a PAGI application for a server in another language, which speaks with it in lines of
# JSON, one object each: `do` what the server wants, `did` what happened here.
#
#     perl bridge.pl [--blocking] FILE    run the application of that file, until input ends
#     perl bridge.pl                      say whether all that it needs is installed
#
#     {"do":"call","id":1,"scope":{…},"state":"a name"}        call the application
#     {"do":"event","id":1,"event":{…}}                        what it receives; or "error"
#     {"do":"ack","id":1,"seq":1,"error":"a sentence"}         what it sent was taken, or was not
#     {"do":"cancel","id":1}                                   cancel the call
#
#     {"did":"ready","loop":"IO::Async"}     it can be called; the loop, or "blocking"
#     {"did":"lacking","what":"a module"}    this module is not installed; the end
#     {"did":"broken","error":"…"}           the file has no application; the end
#     {"did":"receive","id":1}
#     {"did":"send","id":1,"seq":1,"event":{…}}
#     {"did":"returned","id":1}, {"did":"raised","id":1,"error":"…"}, {"did":"cancelled","id":1}
#
# References do not travel.  Where `state` is named, the namespace of that name lives here: a
# lifespan begins it and gets the namespace itself, every other scope a shallow copy of it.
#
# The application may print: its standard output is standard error, its standard input is empty.
# Without IO::Async it waits for nothing but `receive` and `send`: a timer would never ring.

package Bridge;    # main is the application's

use strict;
use warnings;
use IO::Handle;

my ($out, $in, $reader, $writer, $loop, $app, %namespaces, %calls, %sent);
my $seq = 0;

open $in,  '<&', \*STDIN  or die "no standard input: $!\n";
open $out, '>&', \*STDOUT or die "no standard output: $!\n";
open STDIN,  '<',  '/dev/null' or die "nothing to read: $!\n";
open STDOUT, '>&', \*STDERR    or die "no standard error: $!\n";
binmode $_ for $in, $out;
$_->autoflush(1) for $out, \*STDOUT, \*STDERR;

my %packages = (
    'JSON::PP'           => 'perl',
    'Future'             => 'libfuture-perl',
    'Future::AsyncAwait' => 'libfuture-asyncawait-perl',
);
for my $module (qw(JSON::PP Future Future::AsyncAwait)) {
    next if eval "require $module; 1";
    print $out qq({"did":"lacking","what":"$module (on Debian $packages{$module})"}\n);
    exit 0;
}
$reader = JSON::PP->new->utf8;
$reader->boolean_values(0, 1) if $reader->can('boolean_values');    # PAGI's are numbers
$writer = JSON::PP->new->utf8->canonical;

my $blocking = @ARGV && $ARGV[0] eq '--blocking' && shift @ARGV;
$loop = eval { require IO::Async::Loop; IO::Async::Loop->new } unless $blocking;
if (@ARGV) {
    ($app, my $error) = application($ARGV[0]);
    unless ($app) {
        report(did => 'broken', error => $error);
        exit 0;
    }
}
report(did => 'ready', loop => $loop ? 'IO::Async' : 'blocking');
listen_to($in) if @ARGV;
exit 0;

# A file's application: its last value, if that is code, else main::app; or undef and the reason.
sub application {
    my ($file) = @_;
    local ($@, $!);
    $0 = $file;
    my $value = do { package main; do $file };
    return (undef, text($@)) if $@;
    return $value if ref $value eq 'CODE';
    return \&main::app if defined &main::app;
    return (undef, "$file cannot be read: $!") unless -r $file;
    return (undef, "$file ends with no code, and has no sub app");
}

# Take line after line until the input ends.
sub listen_to {
    my ($input) = @_;
    my $rest = '';
    my $more = sub {
        sysread $input, $rest, 65_536, length $rest or return 0;
        take($reader->decode($1)) while $rest =~ s/\A(.*)\n//;
        return 1;
    };
    unless ($loop) {
        1 while $more->();
        return;
    }
    $loop->watch_io(
        handle        => $input,
        on_read_ready => sub { $more->() or $loop->stop },
    );
    $loop->run;
}

# Do what the server wants.
sub take {
    my ($line) = @_;
    my $do = $line->{do};
    return call($line) if $do eq 'call';
    return settle(delete $sent{ $line->{seq} }, $line) if $do eq 'ack';
    my $call = $calls{ $line->{id} } or return;    # it is over
    return $call->{future} && $call->{future}->cancel if $do eq 'cancel';
    settle(shift @{ $call->{received} }, $line, $line->{event});
}

sub settle {
    my ($promise, $line, @value) = @_;
    return if !$promise || $promise->is_ready;

    # The line end keeps Perl from adding a place of this file.
    defined $line->{error} ? $promise->fail("$line->{error}\n") : $promise->done(@value);
}

# Call the application.  Its future is kept here: nobody else would.
sub call {
    my ($line) = @_;
    my ($id, $scope) = @$line{qw(id scope)};
    my $call = $calls{$id} = { received => [] };
    $scope->{state} = namespace($line->{state}, $scope->{type}) if defined $line->{state};
    my $receive = sub {
        push @{ $call->{received} }, my $event = promise();
        report(did => 'receive', id => $id);
        return $event;
    };
    my $send = sub {
        my ($event) = @_;
        my $number = ++$seq;
        my $taken = $sent{$number} = promise();
        eval { report(did => 'send', id => $id, seq => $number, event => $event); 1 }
            or delete($sent{$number})->fail("an event holds only what JSON can say\n");
        return $taken;
    };
    my $future = $call->{future} = Future->call(sub { $app->($scope, $receive, $send) });
    $future->on_ready(sub { over($id, @_) });
}

sub over {
    my ($id, $future) = @_;
    delete $calls{$id};
    return report(did => 'cancelled', id => $id) if $future->is_cancelled;
    return report(did => 'returned', id => $id) unless $future->is_failed;
    report(did => 'raised', id => $id, error => text(($future->failure)[0]));
}

sub namespace {
    my ($name, $type) = @_;
    return $namespaces{$name} = {} if $type eq 'lifespan';
    return { %{ $namespaces{$name} || {} } };
}

# A future that the loop, where there is one, can wait for.
sub promise { return $loop ? $loop->new_future : Future->new }

# An exception as text: a plain hash or array as JSON.
sub text {
    my ($error) = @_;
    my $plain = ref $error eq 'HASH' || ref $error eq 'ARRAY';
    my $text = $plain && eval { JSON::PP->new->canonical->encode($error) } || "$error";
    $text =~ s/\s+\z//;
    return $text;
}

sub report { print $out $writer->encode({@_}), "\n" }
