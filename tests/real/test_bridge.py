"""The bridge in a real perl: applications of PAGI under our server, judged as Python's are."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifespec import Lifespan, ShutdownFailed, StartupFailed, cli, lifespan_scope, validator
from lifespec.conformance.perl import Perl, PerlError, lacking

__all__: list[str] = []

pytestmark = pytest.mark.needs("perl")

HEAD = "use strict;\nuse warnings;\nuse Future::AsyncAwait;\n\n"
SAMPLE = """\
async sub app {
    my ($scope, $receive, $send) = @_;
    die "Unsupported protocol type: $scope->{type}" if $scope->{type} ne 'lifespan';
    while (1) {
        my $event = await $receive->();
        if ($event->{type} eq 'lifespan.startup') {
            print "up\\n";
            await $send->({ type => 'lifespan.startup.complete' });
        }
        elsif ($event->{type} eq 'lifespan.shutdown') {
            print "down\\n";
            await $send->({ type => 'lifespan.shutdown.complete' });
            return;
        }
    }
}
"""
BODY = """\
async sub app {{
    my ($scope, $receive, $send) = @_;
    {}
}}
"""

Made = Callable[..., Perl]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Return an application of this Perl; what it prints is in the file `printed`."""

    def of(program: str, **options: Any) -> Perl:
        (tmp_path / "app.pl").write_text(program if "app" in program else BODY.format(program))
        text = (tmp_path / "app.pl").read_text()
        (tmp_path / "app.pl").write_text(HEAD + text)
        printed = (tmp_path / "printed").open("wb")
        opened.append(printed)
        return Perl(tmp_path / "app.pl", stderr=printed, **options)

    opened: list[Any] = []
    yield of
    for file in opened:
        file.close()


def with_timers(app: Perl) -> None:
    """Skip what no blocking loop can do."""
    if app.loop == "blocking":
        pytest.skip("Perl's IO::Async is not installed: not run")


async def lived(app: Any) -> Lifespan:
    """Run one lifespan, and return it."""
    async with asyncio.timeout(30), Lifespan(app, scope=lifespan_scope("pagi 0.3")) as lifespan:
        pass
    return lifespan


def test_nothing_is_lacking() -> None:
    """What `needs` looks for is what the bridge asks for."""
    assert lacking() == ""


@pytest.mark.parametrize(("options", "loop"), [({}, "IO::Async"), ({"blocking": True}, "blocking")])
async def test_the_sample_of_the_text(
    made: Made, tmp_path: Path, options: dict[str, bool], loop: str
) -> None:
    """It completes, breaks no rule, and what it prints is not in the bridge's way."""
    app = made(SAMPLE, **options)
    async with app:
        if loop != "blocking":
            with_timers(app)
        judged = validator(app)
        lifespan = await lived(judged)
    assert lifespan.outcome == "complete"
    assert (judged.violations, judged.remarks) == ([], [])
    assert (tmp_path / "printed").read_text() == "up\ndown\n"
    assert app.loop == loop


async def test_two_lifespans_and_their_requests(made: Made, tmp_path: Path) -> None:
    """They run in one process at once, and each has a namespace of its own."""
    app = made("""
        if ($scope->{type} eq 'http') {
            my $count = ++$scope->{state}{count};
            push @{ $scope->{state}{seen} }, $scope->{path};
            print "$scope->{path} $count @{ $scope->{state}{seen} }\\n";
            return;
        }
        await $receive->();
        $scope->{state}{seen} = [];
        $scope->{state}{count} = 0;
        await $send->({ type => 'lifespan.startup.complete' });
        await $receive->();
        print "seen @{ $scope->{state}{seen} }, counted $scope->{state}{count}\\n";
        await $send->({ type => 'lifespan.shutdown.complete' });
    """)

    async def request(lifespan: Lifespan, path: str) -> None:
        await app(lifespan.with_state({"type": "http", "path": path}), None, None)

    async with app, Lifespan(app) as first:
        async with Lifespan(app) as second:
            await request(first, "/a")
            await request(second, "/b")
        await request(first, "/c")
    printed = ["/a 1 /a", "/b 1 /b", "seen /b, counted 0", "/c 1 /a /c", "seen /a /c, counted 0"]
    assert (tmp_path / "printed").read_text().splitlines() == printed


async def test_a_rebound_state_changes_nothing_for_requests(made: Made, tmp_path: Path) -> None:
    """The namespace is the server's; a scope without one has none, there too."""
    app = made("""
        if ($scope->{type} eq 'http') {
            print exists $scope->{state} ? join(' ', keys %{ $scope->{state} }) : 'none', "\\n";
            return;
        }
        await $receive->();
        $scope->{state}{pool} = 1;
        $scope->{state} = { other => 1 };
        await $send->({ type => 'lifespan.startup.complete' });
        await $receive->();
        await $send->({ type => 'lifespan.shutdown.complete' });
    """)
    async with app, Lifespan(app) as lifespan:
        await app(lifespan.with_state({"type": "http"}), None, None)
        await app({"type": "http"}, None, None)
    assert (tmp_path / "printed").read_text() == "pool\nnone\n"


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("die 'no lifespan here';", "no lifespan here at ./app.pl line 7."),
        ('await $receive->(); die "not today\\n";', "not today"),
        ("await $receive->(); die { code => 3, why => 'x' };", '{"code":3,"why":"x"}'),
        ("await Future->fail(qq(refused\\n));", "refused"),
        ("sub app { die qq(a plain sub\\n) }", "a plain sub"),
        ("sub app { return 1 }", "Expected __ANON__(app.pl line 4) to return a Future"),
        ("exit 3;", "the process of perl ended with status 3"),
        ("await $receive->(); exit 3;", "the process of perl ended with status 3"),
    ],
)
async def test_an_application_that_dies_declines(made: Made, program: str, error: str) -> None:
    """Whatever it dies of arrives as text, also before its first await."""
    async with made(program) as app:
        lifespan = await lived(app)
    assert (lifespan.outcome, type(lifespan.error)) == ("unsupported", PerlError)
    if "Expected" in error:  # Perl names a place of the bridge
        assert str(lifespan.error).endswith("to return a Future")
    else:
        assert str(lifespan.error) == error


async def test_an_application_that_returns_declines(made: Made) -> None:
    """A return is a return, also of an application that does not wait for anything."""
    async with made("return if $scope->{type} ne 'http';") as app:
        lifespan = await lived(app)
    assert (lifespan.outcome, lifespan.error) == ("unsupported", None)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("{ type => 'lifespan.startup.failed' }", ""),
        ("{ type => 'lifespan.startup.failed', message => 'no database' }", "no database"),
        ("{ type => 'lifespan.startup.failed', message => qq(caf\\x{e9}) }", "café"),
    ],
)
async def test_startup_that_failed(made: Made, event: str, message: str) -> None:
    """Its message arrives exactly, in characters."""
    async with made(f"await $receive->(); await $send->({event});") as app:
        with pytest.raises(StartupFailed) as caught:
            await lived(app)
    assert caught.value.message == message


async def test_shutdown_that_failed(made: Made) -> None:
    """The other failure, too."""
    program = """
        await $receive->();
        await $send->({ type => 'lifespan.startup.complete' });
        await $receive->();
        await $send->({ type => 'lifespan.shutdown.failed', message => 'queue not empty' });
    """
    async with made(program) as app:
        with pytest.raises(ShutdownFailed, match="queue not empty"):
            await lived(app)


async def test_characters_and_octets(made: Made) -> None:
    """Without `use utf8` a literal is its octets, each a character: Perl, not the bridge."""
    failed = "{ type => 'lifespan.startup.failed', message => 'é' }"
    fails = f"await $receive->(); await $send->({failed});"
    found = []
    for pragma in ("", "use utf8;"):
        async with made(pragma + BODY.format(fails)) as app:
            with pytest.raises(StartupFailed) as caught:
                await lived(app)
        found.append(caught.value.message)
    assert found == ["Ã©", "é"]


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ("{ type => 'lifespan.started' }", "[events-known]"),
        ("{ type => 'lifespan.startup.failed', message => undef }", "[message-is-text]"),
        ("[1, 2]", "[events-known]"),
        ("{ type => sub {} }", "an event holds only what JSON can say"),
    ],
)
async def test_what_the_server_refuses_dies_in_send(
    made: Made, tmp_path: Path, event: str, sentence: str
) -> None:
    """The application may go on: it is its own affair."""
    program = f"""
        await $receive->();
        eval {{ await $send->({event}); 1 }} or print "refused: $@";
        await $send->({{ type => 'lifespan.startup.complete' }});
        await $receive->();
        await $send->({{ type => 'lifespan.shutdown.complete' }});
    """
    async with made(program) as app:
        lifespan = Lifespan(app, scope=lifespan_scope("pagi 0.3"))
        try:
            async with lifespan:
                pass
        except StartupFailed:
            assert sentence == "[message-is-text]"  # it has failed all the same
    printed = (tmp_path / "printed").read_text()
    assert printed.startswith("refused: ")
    assert printed.endswith(f"{sentence}\n")
    assert printed.count("\n") == 1


async def test_what_the_server_refused_is_the_cause(made: Made) -> None:
    """An application that dies of it raises the server's own sentence."""
    async with made("await $send->({ type => 'lifespan.started' });") as app:
        lifespan = await lived(app)
    assert str(lifespan.error) == str(lifespan.error.__cause__)
    assert "[events-known]" in str(lifespan.error)


async def test_the_worker_fields_are_numbers(made: Made, tmp_path: Path) -> None:
    """They arrive as Perl's own, also where Python says True."""
    app = made(
        "print ref(\\$scope->{pagi}{is_worker}), ' ', $scope->{pagi}{is_worker} + 1, qq(\\n);"
    )
    async with app:
        for is_worker in (1, True):
            pagi = {"version": "0.3", "is_worker": is_worker, "worker_num": None}
            await app({"type": "lifespan", "pagi": pagi}, None, None)
    assert (tmp_path / "printed").read_text() == "SCALAR 2\nSCALAR 2\n"


async def test_it_sends_while_it_receives(made: Made) -> None:
    """Two futures at once: a task of the application's own listens."""
    program = """
        my $listening = $receive->();
        await $send->({ type => 'lifespan.startup.complete' });
        await $listening;
        await $receive->();
        await $send->({ type => 'lifespan.shutdown.complete' });
    """
    async with made(program) as app:
        assert (await lived(app)).outcome == "complete"


async def test_an_application_that_listens_for_ever(made: Made) -> None:
    """The loop of lifespan 1.0 has no end: after its last word nothing more comes, at once."""
    program = SAMPLE.replace("            return;\n", "")
    began = time.monotonic()
    async with made(program) as app:
        lifespan = await lived(app)
    assert lifespan.outcome == "complete"
    assert time.monotonic() - began < lifespan.grace


async def test_a_timer_rings(made: Made) -> None:
    """On IO::Async; a limit of the server's cancels the call, and the process goes on."""
    program = """
        my $loop = eval { require IO::Async::Loop; IO::Async::Loop->new };
        async sub app {
            my ($scope, $receive, $send) = @_;
            await $receive->();
            await $loop->delay_future(after => $scope->{wait});
            await $send->({ type => 'lifespan.startup.complete' });
            await $receive->();
            await $send->({ type => 'lifespan.shutdown.complete' });
        }
    """
    async with made(program) as app:
        with_timers(app)
        slow = Lifespan(app, scope={"type": "lifespan", "wait": 100}, startup_timeout=0.1)
        with pytest.raises(StartupFailed, match=r"did not answer startup within 0\.1 s"):
            await slow.startup()
        async with Lifespan(app, scope={"type": "lifespan", "wait": 0.01}) as quick:
            pass
    assert (slow.outcome, quick.outcome) == ("timed_out", "complete")


async def test_a_cancelled_call_is_cancelled_in_perl(made: Made, tmp_path: Path) -> None:
    """What the application waited for learns of it, and other calls go on."""
    program = """
        die "no more\\n" if $scope->{type} eq 'http';
        await $receive->();
        await Future->new->on_cancel(sub { print "cancelled\\n" });
    """
    async with made(program) as app:
        slow = Lifespan(app, scope=lifespan_scope("pagi 0.3"), startup_timeout=0.1)
        with pytest.raises(StartupFailed):
            await slow.startup()
        with pytest.raises(PerlError, match="no more"):
            await app({"type": "http"}, None, None)
    assert slow.outcome == "timed_out"
    assert (tmp_path / "printed").read_text() == "cancelled\n"


async def test_where_no_timer_rings_it_says_so(made: Made) -> None:
    """The blocking loop hangs there, but not for ever."""
    app = made("await $receive->(); await Future->new;", blocking=True, limit=0.3)
    async with app:
        lifespan = await lived(app)
    assert "it runs without IO::Async (on Debian libio-async-perl)" in str(lifespan.error)


@pytest.mark.parametrize("options", [{}, {"blocking": True}])
async def test_an_application_that_reads_finds_nothing(
    made: Made, tmp_path: Path, options: dict[str, bool]
) -> None:
    """Standard input is the bridge's, and so is standard output."""
    program = """
        my $line = <STDIN>;
        print defined $line ? "read $line" : "nothing\\n";
        system 'echo a child';
    """
    async with made(program, limit=10, **options) as app:
        lifespan = await lived(app)
    assert lifespan.error is None
    assert (tmp_path / "printed").read_text() == "nothing\na child\n"


async def test_names_of_its_own_are_not_the_bridges(made: Made) -> None:
    """An application may have subs named as those of the bridge."""
    subs = "".join(f"sub {name} {{ die 'mine' }}\n" for name in ("call", "take", "report", "over"))
    async with made(subs + SAMPLE) as app:
        assert (await lived(app)).outcome == "complete"


async def test_the_last_value_of_a_file_is_its_application(made: Made) -> None:
    """As with Perl's other servers; a file without one is told, and so is one that is broken."""
    async with made(SAMPLE + "my $other = async sub { return };\n$other;\n") as app:
        assert (await lived(app)).outcome == "unsupported"
    for program, sentence in (
        ("my $app = 1;", "./app.pl ends with no code, and has no sub app"),
        ("sub app {", "Missing right curly"),
        ("die qq(no app today\\n);", "no app today"),
    ):
        with pytest.raises(PerlError, match=sentence):
            async with made(program):
                pass
    with pytest.raises(PerlError, match="cannot be read"):
        async with Perl(Path(__file__).with_name("none.pl")):
            pass


async def test_a_crash_while_it_is_served(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """The server learns of it at once."""
    program = """
        my $loop = eval { require IO::Async::Loop; IO::Async::Loop->new };
        async sub app {
            my ($scope, $receive, $send) = @_;
            await $receive->();
            await $send->({ type => 'lifespan.startup.complete' });
            await $loop->delay_future(after => 0.01);
            die "the task that fed the cache died\\n";
        }
    """
    caplog.set_level(logging.INFO)
    async with made(program) as app:
        with_timers(app)
        async with asyncio.timeout(20), Lifespan(app) as lifespan:
            await lifespan.wait_ended()
    assert lifespan.outcome == "crashed"
    assert str(lifespan.error) == "the task that fed the cache died"


def test_a_file_of_perl_on_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The sample of the specification keeps every must, but it lets pass what it does not know."""
    monkeypatch.chdir(tmp_path)
    Path("sample.pl").write_text(HEAD + SAMPLE)
    assert cli.main(["check", "app", "sample.pl", "--dialect", "pagi"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.splitlines()[1].rstrip() == (
        "Startup was answered with complete; shutdown was answered with complete."
    )
    assert "WARN     receive-refuses-unknown" in out
    assert "WARN 1, PASS 11, SKIP 2\n" in out
