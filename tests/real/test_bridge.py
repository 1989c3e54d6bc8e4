"""The bridge in a real perl: applications of PAGI under our server, checked as Python's are."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lifespec import Lifespan, StartupFailed, cli, lifespan_scope, validator
from lifespec.conformance.app.pipe import BRIDGE, Pipe, PipeError, in_perl
from lifespec.conformance.unchecked import Unchecked

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

Made = Callable[..., Pipe]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """Return an application of this Perl; what it prints is in the file `printed`."""
    opened = ExitStack()

    def of(program: str, *options: str) -> Pipe:
        text = program if "app" in program else BODY.format(program)
        (tmp_path / "app.pl").write_text(HEAD + text)
        printed = opened.enter_context((tmp_path / "printed").open("wb"))
        command = ["perl", str(BRIDGE), *options, "./app.pl"]
        return opened.enter_context(Pipe(command, cwd=tmp_path, stderr=printed))

    with opened:
        yield of


async def lived(app: Any) -> Lifespan:
    """Run one lifespan, and return it."""
    async with asyncio.timeout(30), Lifespan(app, scope=lifespan_scope("pagi 0.3")) as lifespan:
        pass
    return lifespan


def test_what_is_lacking_is_named(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the package of Debian that has it."""
    (tmp_path / "Future").mkdir()
    (tmp_path / "Future" / "AsyncAwait.pm").write_text("0;\n")  # which is no module
    monkeypatch.setenv("PERL5LIB", str(tmp_path))
    sentence = r"it lacks Future::AsyncAwait \(on Debian libfuture-asyncawait-perl\)$"
    with pytest.raises(Unchecked, match=sentence):
        made(SAMPLE)


@pytest.mark.parametrize("options", [(), ("--blocking",)])
async def test_the_sample_of_the_text(made: Made, tmp_path: Path, options: tuple[str, ...]) -> None:
    """It completes, breaks no rule, and what it prints is not in the bridge's way."""
    validated = validator(made(SAMPLE, *options))
    lifespan = await lived(validated)
    assert lifespan.outcome == "complete"
    assert (validated.violations, validated.warnings) == ([], [])
    assert (tmp_path / "printed").read_text() == "up\ndown\n"


async def test_two_lifespans_and_their_requests(made: Made, tmp_path: Path) -> None:
    """They run in one process at once, and each has a namespace; requests get the last one's."""
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

    async with Lifespan(app) as first:
        await request(first, "/a")
        async with Lifespan(app) as second:
            await request(second, "/b")
            await request(second, "/c")
    printed = ["/a 1 /a", "/b 1 /b", "/c 1 /b /c", "seen /b /c, counted 0", "seen /a, counted 0"]
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
    async with Lifespan(app) as lifespan:
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
    ],
)
async def test_an_application_that_dies_declines(made: Made, program: str, error: str) -> None:
    """Whatever it dies of arrives as text, also before its first await."""
    with made(program) as app:
        lifespan = await lived(app)
    assert (lifespan.outcome, type(lifespan.error)) == ("unsupported", PipeError)
    if "Expected" in error:  # Perl names a place of the bridge
        assert str(lifespan.error).endswith("to return a Future")
    else:
        assert str(lifespan.error) == error


@pytest.mark.parametrize("program", ["exit 3;", "await $receive->(); exit 3;"])
def test_an_application_that_exits(made: Made, program: str) -> None:
    """It is as if an application in Python did."""
    with pytest.raises(SystemExit) as exit_:
        asyncio.run(lived(made(program)))
    assert exit_.value.code == 3


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
    app = made(f"await $receive->(); await $send->({event});")
    with pytest.raises(StartupFailed) as caught:
        await lived(app)
    assert caught.value.message == message


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
    with made(program) as app:
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


async def test_the_worker_fields_are_numbers(made: Made, tmp_path: Path) -> None:
    """They arrive as Perl's own, also where Python says True."""
    app = made(
        "print ref(\\$scope->{pagi}{is_worker}), ' ', $scope->{pagi}{is_worker} + 1, qq(\\n);"
    )
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
    with made(program) as app:
        assert (await lived(app)).outcome == "complete"


async def test_an_application_that_listens_for_ever(made: Made) -> None:
    """The loop of lifespan 1.0 has no end: after its last word nothing more comes, at once."""
    program = SAMPLE.replace("            return;\n", "")
    began = time.monotonic()
    with made(program) as app:
        lifespan = await lived(app)
    assert lifespan.outcome == "complete"
    assert time.monotonic() - began < lifespan._grace


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
    with made(program) as app:
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
    with made(program) as app:
        slow = Lifespan(app, scope=lifespan_scope("pagi 0.3"), startup_timeout=0.1)
        with pytest.raises(StartupFailed):
            await slow.startup()
        with pytest.raises(PipeError, match="no more"):
            await app({"type": "http"}, None, None)
    assert slow.outcome == "timed_out"
    assert (tmp_path / "printed").read_text() == "cancelled\n"


@pytest.mark.parametrize("options", [(), ("--blocking",)])
async def test_an_application_that_reads_finds_nothing(
    made: Made, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Standard input is the bridge's, and so is standard output."""
    program = """
        my $line = <STDIN>;
        print defined $line ? "read $line" : "nothing\\n";
        system 'echo a child';
    """
    with made(program, *options) as app:
        lifespan = await lived(app)
    assert lifespan.error is None
    assert (tmp_path / "printed").read_text() == "nothing\na child\n"


async def test_names_of_its_own_are_not_the_bridges(made: Made) -> None:
    """An application may have subs named as those of the bridge."""
    subs = "".join(f"sub {name} {{ die 'mine' }}\n" for name in ("call", "take", "report", "over"))
    with made(subs + SAMPLE) as app:
        assert (await lived(app)).outcome == "complete"


async def test_the_last_value_of_a_file_is_its_application(made: Made) -> None:
    """As with Perl's other servers; a file without one is told, and so is one that is broken."""
    with made(SAMPLE + "my $other = async sub { return };\n$other;\n") as app:
        assert (await lived(app)).outcome == "unsupported"
    for program, sentence in (
        ("my $app = 1;", "./app.pl ends with no code, and has no sub app"),
        ("sub app {", "Missing right curly"),
        ("die qq(no app today\\n);", "no app today"),
    ):
        with pytest.raises(Unchecked, match=f"^perl is not ready: .*{sentence}"):
            made(program)
    with pytest.raises(Unchecked, match="cannot be read"):
        Pipe(in_perl(Path(__file__).with_name("none.pl")))


def test_a_file_of_perl_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The sample of the specification keeps every must, but it lets pass what it does not know."""
    monkeypatch.chdir(tmp_path)
    Path("sample.pl").write_text(HEAD + SAMPLE)
    assert cli.main(["check", "app", "sample.pl", "--spec", "pagi"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert [line.split() for line in out.splitlines()[1:3]] == [["starts", "yes"], ["stops", "yes"]]
    assert "WARN     receive-refuses-unknown" in out
    assert "WARN 1, PASS 11, SKIP 2" in out
