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
NEAR = 1.0  # seconds by which two runs differ that end at the same limit


def raised(run: Happened) -> str:
    """Return the class of the exception that surfaced, "" if there was none."""
    found = run.first("request raises") or run.first("raises")
    return str(found[1]) if found else ""


def statuses(run: Happened) -> str:
    """Return the exit status, "" if it did not end."""
    return str(value(run, "exit", "")[1])


def ended_alone(run: Happened) -> bool:
    """Tell whether a server ended without a signal."""
    client = run.has("opened") or run.has("closes") or raised(run)
    signalled = run.has("SIGTERM") or run.has("SIGINT")
    return run.has("exit") and not client and not signalled


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
    texts = [str(each[-1]) for each in run.all if each[0] in ("prints", "raises", "request raises")]
    return yes_or_no(any(fault in text for text in texts for fault in FAULTS))


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
    return ["ends", statuses(run)] if ended_alone(run) else ["serves nothing"]


def outcome_of_both(run: Happened, other: Happened | None) -> Answer:
    """Say what becomes of a host whose application raises NotImplementedError, or ValueError."""
    found = outcome(run), outcome(other or run)
    return found[0] if found[0] == found[1] else ["with ValueError", *found]


def second_signal(run: Happened, single: Happened | None) -> Answer:
    """Say what a second signal does to a shutdown that hangs.

    It does nothing if the host ends when it ends after a single one: at a limit of its own.
    """
    if not run.has(*SHUTDOWN) or len(run.where("SIGTERM") + run.where("SIGINT")) < len("ab"):
        return NONE
    ends = [each and each.first(SIGNALLED)[1:] for each in (run, single)]
    if ends[0] and ends[1] and abs(ends[0][0] - ends[1][0]) < NEAR:
        return ["no effect"]
    return stopped(run)


def stopped(run: Happened) -> Answer:
    """Say what becomes of a host whose shutdown fails or hangs."""
    if not run.has(*SHUTDOWN):
        return NONE
    return ["ends", statuses(run)] if run.has("exit") else ["does not end"]


def ending(run: Happened) -> Answer:
    """Say what becomes of a host whose application does not stop."""
    if run.has(*SHUTDOWN) and raised(run):
        return ["raises", raised(run)]
    answer = stopped(run)
    return ["ends, no status"] if answer[0] == "ends" and not run.has("SIGTERM") else answer


def startup_limit(run: Happened) -> Answer:
    """Say how long a host waits for an answer to startup, and what it does then."""
    if run.has("request"):
        return ["serves"]
    return limit(run) if raised(run) or ended_alone(run) else no_limit(run)


def shutdown_limit(run: Happened) -> Answer:
    """Say the same of shutdown."""
    if not run.has(*SHUTDOWN):
        return NONE
    return limit(run) if run.has("exit") else no_limit(run)


def limit(run: Happened) -> Answer:
    """Say after which time a host went on, and how."""
    seconds, error = waited(run), raised(run)
    if error:
        return ["after, raises", str(seconds), error] if seconds else ["raises", error]
    if not seconds:
        return ["ends, no status"]
    if run.has("opened"):
        return ["after", str(seconds)]
    return ["after, status", str(seconds), statuses(run)]


def no_limit(run: Happened) -> Answer:
    """Say how long it was waited for, in tens of seconds."""
    return ["no limit", str(waited(run) // 10 * 10)]


def request_state(run: Happened) -> Answer:
    """Say whether a request sees what startup wrote."""
    if not run.has("request"):
        return ["raises", raised(run)]
    seen = run.first("request")[1]
    return {"no state": ["no state"], "no pool": NO}.get(seen, YES)


def copied(run: Happened) -> Answer:
    """Say whether each request has a dict of its own, if it sees what startup wrote."""
    requests = [each for each in run.all if each[0] == "request"]
    if requests[0][1] != "the pool":
        return NONE
    return yes_or_no("the same dict" not in requests[0] and NOTE not in requests[-1])


def copied_again(run: Happened) -> Answer:
    """Say the same of two requests of one connection, after one of another."""
    return copied(run) if run.where("request")[2:] else NONE


def at_shutdown(run: Happened) -> Answer:
    """Say what the state has at shutdown, if startup could write into it."""
    found = run.first("state at shutdown")
    if not found:
        return NONE
    if found[1] != "the pool":
        return NO
    return ["yes, and a request's"] if NOTE in found else YES


def has(run: Happened, *start: str) -> Answer:
    return yes_or_no(run.has(*start))


def merged(found: Sequence[Answer]) -> Answer:
    """Return what several runs answered as one: equal answers once, statuses as a list."""
    by_text = {json.dumps(each): each for each in found if each != NONE}
    distinct = [by_text[text] for text in sorted(by_text)]
    if len(distinct) < len("ab"):
        return distinct[0] if distinct else NONE
    if distinct == [NO, YES]:
        return ["not each time"]
    if len({(*each[:-1], len(each)) for each in distinct}) == 1 and distinct[0][1:]:
        return [*distinct[0][:-1], [each[-1] for each in distinct]]
    return ["or", *distinct]


def split(happened: Sequence[Sequence[Any]]) -> list[Happened]:
    """Return the runs of a question."""
    runs: list[list[Sequence[Any]]] = [[]]
    for each in happened:
        if [*each] == [OTHER]:
            runs.append([])
        else:
            runs[-1].append(each)
    return [Happened(each) for each in runs]


def answers(happened: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, dict[str, Answer]]:
    """Return the answers by group and column; a host that sends no lifespan has another."""
    runs = {question: split(each) for question, each in happened.items()}
    groups = ROWS["answers" if runs["usual"][0].has("lifespan") else "without-lifespan"]

    def each_time(function: Callable[..., Answer]) -> Callable[..., Answer]:
        """Return what asks each run; an argument that is a question becomes its first run."""

        def ask(of: Sequence[Happened], *more: str) -> Answer:
            others = [runs.get(each, [None])[0] if each in QUESTIONS else each for each in more]
            return merged([function(run, *others) for run in of])

        return ask

    functions = (SHARED | globals()).items()
    asking = {name: each_time(each) for name, each in functions if callable(each)}
    return answered(groups, asking, runs)
