"""Say what was observed of a host: the answers of `hosts.json`, by group and column."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from happened import NO, NONE, SHARED, YES, Answer, Happened, answered, count, value, yes_or_no
from records import table

ROWS = table("hosts")
QUESTIONS = {*ROWS["questions"]["all"], *ROWS["kinds"]["server"]["questions"]}
STARTUP, SHUTDOWN = ("event", "lifespan.startup"), ("event", "lifespan.shutdown")
COMPLETE = ("sends", "lifespan.startup.complete")
FAULTS = "no pool", "pool lost"  # the texts of the failures
NOTE = "the note of another request"
OTHER = "another time"  # what follows happened in another run
SIGNALLED = "seconds after the signal"
CAP = 73  # seconds that a host is waited for: longer than any limit, and no multiple of ten
ROUND = 5  # seconds: limits are multiples of it, but for short ones that somebody has set
NEAR = 1.0  # seconds by which two runs differ that end at the same limit


def raised(run: Happened) -> str:
    """Return the class of the exception that surfaced, "" if there was none."""
    for kind in ("request raises", "raises"):
        for error in run.names(kind):
            return str(error)
    return ""


def statuses(run: Happened) -> str:
    """Return the exit status, "" if it did not end."""
    return str(value(run, "exit", "")[1])


def ended_alone(run: Happened) -> bool:
    """Tell whether a server ended without a signal."""
    if not run.has("exit") or raised(run):
        return False
    # a client has opened and closes; a server was signalled
    return not any(map(run.has, ("opened", "closes", "SIGTERM", "SIGINT")))


def waited(run: Happened) -> int:
    """Return the longest time in which nothing happened, in seconds."""
    return max(map(int, run.names("seconds")), default=0)


def startups(run: Happened) -> Answer:
    return count(run.where(*STARTUP))


def startups_at_once(run: Happened) -> Answer:
    """Count them for two requests at once, and tell whether the second came into the same call."""
    if run.has("one request at a time"):
        return ["one request at a time"]
    events, calls = run.where(*STARTUP), run.where("lifespan")
    if len(events) > 1 and events[1] < [*calls, len(run.all)][1]:
        return ["times in one call", str(len(events))]
    return startups(run)


def serves_early(run: Happened) -> Answer:
    """Say whether a request arrived before startup was complete."""
    requests, complete = run.where("request"), run.where(*COMPLETE)
    return yes_or_no(requests and (not complete or requests[0] < complete[0]))


def shutdowns(run: Happened) -> Answer:
    found = run.where(*SHUTDOWN)
    early = found and found[0] < run.where("request")[-1]
    return ["after each request"] if early else count(found)


def message_shown(run: Happened) -> Answer:
    """Say whether the text of a failure is in an exception or in a line of the host."""
    if not run.has(*SHUTDOWN) and run.has(*COMPLETE):
        return NONE  # there was no shutdown that could fail
    for kind, *about in run.all:
        if kind in ("prints", "raises", "request raises"):
            text = str([kind, *about][-1])
            if any(fault in text for fault in FAULTS):
                return YES
    return NO


def outcome(run: Happened) -> Answer:
    """Say what becomes of a host whose application does not start, or does not go on."""
    if raised(run):
        return ["raises", raised(run)]
    if run.has("and so on"):
        return ["starts again and again"]
    if run.has("request"):
        return ["serves"] if run.has("exit") else ["serves, then does not end"]
    if not run.has("exit"):
        return ["does not go on"]
    if ended_alone(run):
        return ["ends", statuses(run)]
    return ["serves nothing"]


def outcome_of_both(run: Happened, other: Happened | None) -> Answer:
    """Say what becomes of a host whose application raises NotImplementedError, or ValueError."""
    with_not_implemented = outcome(run)
    with_value_error = outcome(other or run)
    if with_not_implemented == with_value_error:
        return with_not_implemented
    return ["with ValueError", with_not_implemented, with_value_error]


def second_signal(run: Happened, single: Happened | None) -> Answer:
    """Say what a second signal does to a shutdown that hangs.

    It does nothing if the host ends when it ends after a single one: at a limit of its own.
    """
    signals = run.where("SIGTERM") + run.where("SIGINT")
    if not run.has(*SHUTDOWN) or len(signals) < len("ab"):
        return NONE
    if single:
        for seconds in run.names(SIGNALLED):
            for seconds_after_one in single.names(SIGNALLED):
                if abs(float(seconds) - float(seconds_after_one)) < NEAR:
                    return ["no effect"]
    return stopped(run)


def stopped(run: Happened) -> Answer:
    """Say what becomes of a host whose shutdown fails or hangs."""
    if not run.has(*SHUTDOWN):
        return NONE
    if not run.has("exit"):
        return ["does not end"]
    return ["ends", statuses(run)]


def ending(run: Happened) -> Answer:
    """Say what becomes of a host whose application does not stop."""
    if run.has(*SHUTDOWN) and raised(run):
        return ["raises", raised(run)]
    answer = stopped(run)
    if answer[0] == "ends" and not run.has("SIGTERM"):
        return ["ends, no status"]
    return answer


def startup_limit(run: Happened) -> Answer:
    """Say how long a host waits for an answer to startup, and what it does then."""
    if run.has("request"):
        return ["serves"]
    if raised(run) or ended_alone(run):
        return limit(run)
    return no_limit(run)


def shutdown_limit(run: Happened) -> Answer:
    """Say the same of shutdown."""
    if not run.has(*SHUTDOWN):
        return NONE
    return limit(run) if run.has("exit") else no_limit(run)


def limit(run: Happened) -> Answer:
    """Say after which time a host went on, and how."""
    seconds, error = waited(run), raised(run)
    if run.has(SIGNALLED):
        # a limit begins with the signal or with the event: the round number between is meant
        between = range(seconds, int(run.first(SIGNALLED)[1]) + 1)
        seconds = next((number for number in between if number % ROUND == 0), seconds)
    if error:
        return ["after, raises", str(seconds), error] if seconds else ["raises", error]
    if not seconds:
        return ["ends, no status"]
    if run.has("opened"):
        return ["after", str(seconds)]
    return ["after, status", str(seconds), statuses(run)]


def no_limit(run: Happened) -> Answer:
    """Say how long each host was waited for, in tens of seconds: on a busy machine it is longer."""
    return ["no limit", str(min(waited(run), CAP) // 10 * 10)]


def request_state(run: Happened) -> Answer:
    """Say whether a request sees what startup wrote."""
    if not run.has("request"):
        return ["raises", raised(run)]
    seen = run.first("request")[1]
    return {"no state": ["no state"], "no pool": NO}.get(seen, YES)


def copied(run: Happened) -> Answer:
    """Say whether each request has a dict of its own, if it sees what startup wrote."""
    requests = [run.all[place] for place in run.where("request")]
    if requests[0][1] != "the pool":
        return NONE
    return yes_or_no("the same dict" not in requests[0] and NOTE not in requests[-1])


def copied_again(run: Happened) -> Answer:
    """Say the same of two requests of one connection, after one of another."""
    return copied(run) if run.where("request")[2:] else NONE


def at_shutdown(run: Happened) -> Answer:
    """Say what the state has at shutdown, if startup could write into it."""
    state = run.first("state at shutdown")
    if not state:
        return NONE
    if state[1] != "the pool":
        return NO
    return ["yes, and a request's"] if NOTE in state else YES


def has(run: Happened, *start: str) -> Answer:
    return yes_or_no(run.has(*start))


def merged(of_runs: Sequence[Answer]) -> Answer:
    """Return what several runs answered as one: equal answers once, statuses as a list."""
    by_text = {json.dumps(answer): answer for answer in of_runs if answer != NONE}
    distinct = [by_text[text] for text in sorted(by_text)]
    if not distinct:
        return NONE
    first = distinct[0]
    if len(distinct) == 1:
        return first
    if distinct == [NO, YES]:
        return ["not each time"]
    if len(first) > 1:  # a kind with a status, or the like
        for answer in distinct:
            if answer[:-1] != first[:-1]:
                return ["or", *distinct]
        return [*first[:-1], [answer[-1] for answer in distinct]]
    return ["or", *distinct]


def split(happened: Sequence[Sequence[Any]]) -> list[Happened]:
    """Return the runs of a question."""
    runs: list[list[Sequence[Any]]] = [[]]
    for happening in happened:
        if list(happening) == [OTHER]:
            runs.append([])
        else:
            runs[-1].append(happening)
    return [Happened(run) for run in runs]


def answers(happened: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, dict[str, Answer]]:
    """Return the answers by group and column; a host that sends no lifespan has another."""
    runs = {question: split(happenings) for question, happenings in happened.items()}
    groups = ROWS["answers" if runs["usual"][0].has("lifespan") else "without-lifespan"]

    def each_time(function: Callable[..., Answer]) -> Callable[..., Answer]:
        """Return what asks each run; an argument that is a question becomes its first run."""

        def ask(of: Sequence[Happened], *more: str) -> Answer:
            arguments: list[Happened | str | None] = []
            for argument in more:
                if argument in QUESTIONS:
                    arguments.append(runs.get(argument, [None])[0])
                else:
                    arguments.append(argument)
            return merged([function(run, *arguments) for run in of])

        return ask

    asking = {}
    for name, function in (SHARED | globals()).items():
        if callable(function):
            asking[name] = each_time(function)
    return answered(groups, asking, runs)
