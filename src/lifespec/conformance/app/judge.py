"""Judge what was seen of an application by the rules of a case."""

from collections.abc import Callable, Mapping

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.outcome import ANSWERS, ENDED, answers, ending, run
from lifespec.conformance.app.target import Job
from lifespec.conformance.finding import How, Outcome
from lifespec.conformance.judge import Judge, breaks, skip
from lifespec.conformance.rules import rules

Occasion = tuple[Callable[[Observation], bool], str]

SENT: Occasion = (lambda seen: bool(seen.sent), "sent-nothing")
OCCASIONS: Mapping[str, Occasion] = {
    "shutdown-answered-once": (
        lambda seen: seen.shutdown.how in ANSWERS and seen.shutdown.when == "shutdown",
        "shutdown-unanswered",
    ),
    "message-is-text": (
        lambda seen: "failed" in (seen.startup.how, seen.shutdown.how),
        "no-failure",
    ),
    "state-keys-text": (lambda seen: seen.has_state, "state-empty"),
}
ANSWERED: Mapping[str, Mapping[str, How]] = {
    "startup": {
        "complete": "held",
        "failed": "held",
        "silent": "broken",
        "hung": "unspecified",  # no specification says how long startup may take
    },
    "shutdown": {
        "complete": "held",
        "failed": "held",
        "silent": "broken",
        "hung": "broken",
        "returned": "broken",
        "raised": "unspecified",
    },
}


class OfApplication(Judge):
    """Judge what was seen of an application in a case, and in the first one."""

    def __init__(self, job: Job, seen: Observation, first: Observation) -> None:
        self.spec, self.limit = job.spec, job.limit
        self.seen, self.first = seen, first

    def run(self, how: How) -> Outcome:
        """Return an outcome with how the lifespan went."""
        return Outcome(how, run(self.seen, self.limit))

    def kept(self) -> Outcome:
        """Judge by the messages that broke the rule, and by the keys of the state at the end."""
        seen, rule = self.seen, self.wanted.rule
        broken = [each for each in seen.broken if each.rule == rule]
        forbidden = [each for each in broken if not each.open]
        if forbidden:
            return Outcome("broken", forbidden[0].observed)
        if broken:
            only_open = "must" in rules()[rule].level(self.spec)
            return Outcome("unspecified" if only_open else "broken", broken[0].observed)
        if rule == "state-keys-text" and (wrong := seen.known("key-at-end")):
            return Outcome("broken", wrong[0])
        occasion, why = OCCASIONS.get(rule, SENT)
        return self.run("held") if occasion(seen) else skip(why)

    def answered(self) -> Outcome:
        seen, phase = self.seen, self.wanted.rule.partition("-")[0]
        answer = seen.startup if phase == "startup" else seen.shutdown
        if phase == "shutdown" and seen.startup.how != "complete":
            skip("does-not-start")
        if seen.refused and answer.how in ENDED and answer.when != "serving":
            if phase == "shutdown" and seen.sent[-1].startswith("lifespan.startup."):
                return breaks("shutdown-answered-with", event=seen.sent[-1])
            skip("had-refused", why=seen.refused)
        return self.run(ANSWERED.get(answer.when, {}).get(answer.how, "skip"))

    def answers_too(self) -> Outcome:
        if self.first.startup.how not in ANSWERS:
            skip("does-not-start")
        return self.run("held" if self.seen.startup.how in ANSWERS else "broken")

    def as_usual(self) -> Outcome:
        return self.run("held" if answers(self.seen) == answers(self.first) else "broken")

    def raises(self) -> Outcome:
        seen = self.seen
        of_events = self.wanted.rule == "receive-refuses-unknown"
        if not seen.reaction or (seen.reaction == "raised" and of_events and not seen.received):
            return self.run("skip")
        if seen.reaction == "sent":
            return breaks("it-sent", event=seen.sent[-1])
        if seen.reaction == "silent":
            return breaks("did-nothing", limit=self.limit)
        if seen.reaction == "received":
            return breaks("it-called-receive")
        return Outcome("held" if seen.reaction == "raised" else "broken", ending(seen))

    def ends(self) -> Outcome:
        return Outcome("held" if self.seen.ended_when_cancelled else "broken", ending(self.seen))

    def no_exit(self) -> Outcome:
        return self.run("broken" if self.seen.startup.how == "exited" else "held")

    def no_raise(self) -> Outcome:
        """Warn in every specification: none of them forbids to raise there."""
        seen = self.seen
        if seen.startup.how == "raised" and seen.received and not seen.refused:
            return self.run("missed")
        return self.run("held" if seen.startup.how in ANSWERS else "skip")
