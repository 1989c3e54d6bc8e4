"""Judge what was seen of an application by the rules of a case."""

from collections.abc import Mapping

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.outcome import COMPLETE_OR_FAILED, ENDED, answers, ending, how_it_went
from lifespec.conformance.app.target import Job
from lifespec.conformance.finding import Assessment, How
from lifespec.conformance.judge import Judge, breaks, skip
from lifespec.conformance.rules import rules

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


class ApplicationJudge(Judge):
    """Judge what was seen of an application in a case, and in the first one."""

    def __init__(self, job: Job, seen: Observation, first: Observation) -> None:
        self.spec = job.spec
        self.limit = job.limit
        self.seen = seen
        self.first = first

    def run(self, how: How) -> Assessment:
        """Return an outcome with how the lifespan went."""
        return Assessment(how, how_it_went(self.seen, self.limit))

    def held(self, held: object) -> Assessment:
        """Return an outcome that holds or not, with how the lifespan went."""
        if held:
            return self.run("held")
        return self.run("broken")

    def kept(self) -> Assessment:
        """Judge by the messages that broke the rule, and by the keys of the state at the end."""
        seen, rule = self.seen, self.wanted.rule
        broken = [message for message in seen.broken if message.rule == rule]
        for message in broken:  # one that is forbidden counts before any that is open
            if not message.open:
                return Assessment("broken", message.observed)
        if broken:
            how: How = "broken"
            # what no specification forbids breaks no MUST; a SHOULD may still be missed by it
            if "must" in rules()[rule].level(self.spec):
                how = "unspecified"
            return Assessment(how, broken[0].observed)
        if rule == "state-keys-text":
            for key in seen.facts_of("key-at-end"):
                return Assessment("broken", key)
        self.had_occasion(rule)
        return self.run("held")

    def had_occasion(self, rule: str) -> None:
        """Raise NotJudged if the application did nothing that could have broken a rule."""
        seen = self.seen
        if rule == "shutdown-answered-once":
            if seen.shutdown.how not in COMPLETE_OR_FAILED or seen.shutdown.when != "shutdown":
                skip("shutdown-unanswered")
        elif rule == "message-is-text":
            if "failed" not in (seen.startup.how, seen.shutdown.how):
                skip("no-failure")
        elif rule == "state-keys-text":
            if not seen.has_state:
                skip("state-empty")
        elif not seen.sent:
            skip("sent-nothing")

    def answered(self) -> Assessment:
        seen = self.seen
        answer = seen.startup
        is_of_shutdown = self.wanted.rule.startswith("shutdown-")
        if is_of_shutdown:
            answer = seen.shutdown
            if seen.startup.how != "complete":
                skip("does-not-start")
        has_ended_instead = answer.how in ENDED and answer.when != "serving"
        if has_ended_instead and seen.refused:  # another rule names the event that was refused
            if is_of_shutdown and seen.sent[-1].startswith("lifespan.startup."):
                return breaks("shutdown-answered-with", event=seen.sent[-1])
            skip("had-refused", why=seen.refused)
        return self.run(ANSWERED.get(answer.when, {}).get(answer.how, "skip"))

    def answers_too(self) -> Assessment:
        if self.first.startup.how not in COMPLETE_OR_FAILED:
            skip("does-not-start")
        return self.held(self.seen.startup.how in COMPLETE_OR_FAILED)

    def as_usual(self) -> Assessment:
        return self.held(answers(self.seen) == answers(self.first))

    def raises(self) -> Assessment:  # noqa: PLR0911  one for each reaction
        seen = self.seen
        of_events = self.wanted.rule == "receive-refuses-unknown"
        match seen.reaction:
            case "":
                return self.run("skip")
            case "raised":
                if of_events and not seen.received:  # before the event that it should refuse
                    return self.run("skip")
                return Assessment("held", ending(seen))
            case "sent":
                return breaks("it-sent", event=seen.sent[-1])
            case "silent":
                return breaks("did-nothing", limit=self.limit)
            case "received":
                return breaks("it-called-receive")
            case _:  # it has returned, or its process has ended
                return Assessment("broken", ending(seen))

    def ends(self) -> Assessment:
        if self.seen.ended_when_cancelled:
            return Assessment("held", ending(self.seen))
        return Assessment("broken", ending(self.seen))

    def no_exit(self) -> Assessment:
        return self.held(self.seen.startup.how != "exited")

    def no_raise(self) -> Assessment:
        """Warn in every specification: none of them forbids to raise there."""
        seen = self.seen
        if seen.startup.how in COMPLETE_OR_FAILED:
            return self.run("held")
        # before it received the event it may refuse the scope; and what was refused is told apart
        if seen.startup.how == "raised" and seen.received and not seen.refused:
            return self.run("missed")
        return self.run("skip")
