# perl serve.pl app.pl: start an application of PAGI, give it two requests, and stop it.
use strict;
use warnings;
use Future;
use Future::AsyncAwait;

do "./$ARGV[0]";
die $@ || "$ARGV[0] has no sub app\n" unless defined &app;
my %state;
my @events = ({ type => 'lifespan.startup' });
my ($waiting, $answer);

sub receive {
    return Future->done(shift @events) if @events;
    return $waiting = Future->new;
}

async sub send_event {
    ($answer) = @_;
}

# Without an answer the application does not support lifespan, or still works at its startup.
sub started {
    my ($lifespan) = @_;
    die $answer->{message} . "\n" if $answer && $answer->{type} =~ /failed/;
    return 1 if $answer;
    return 0 if $lifespan->is_ready;
    die "this program has no event loop, so startup may not wait for one\n";
}

my %scope = (type => 'lifespan', pagi => { version => '0.3' }, state => \%state);
my $lifespan = app(\%scope, \&receive, \&send_event);
my $supported = started($lifespan);
for my $number (1, 2) {
    my %request = (type => 'http', path => "/$number", state => {%state});
    app(\%request, \&receive, \&send_event)->get;
}
if ($supported) {
    $waiting->done({ type => 'lifespan.shutdown' });
    $lifespan->get;
}
