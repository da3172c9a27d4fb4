"""`RedactedFindings`: rules judge the captured records; messages are written from redacted ones.

The rule kept here: the rules judge the captured records, so redaction finds neither more nor less. What is
printed was made of redacted records alone, by a second judge that sees nothing else; where that one does not
come to the same finding at the same places, the title of the rule stands for the message. Whoever shows
records, findings and a story of one capture takes all three from `RedactedFindings`, which redacts each as it
must be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

import msgspec

from msmq_wire.detection import Finding, Judge
from msmq_wire.detection.diagnosis import Diagnosis
from msmq_wire.detection.judge import HopAuditor
from msmq_wire.detection.rule import Rule
from msmq_wire.records.record import Record
from msmq_wire.records.run import Run, in_order
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.sessions import Leaving, LeftOut, Story, StoryFollower

NOT_TOLD = "what was observed is not told: it may quote what is redacted"
"""The caveat of a finding whose message is the title of its rule."""

_Places: TypeAlias = tuple[tuple[int | None, tuple[int, ...], str, int, int], ...]
_Key: TypeAlias = tuple[str, str, str, _Places]
_R = TypeVar("_R", bound=Run)


def _halved(budget: int | None, redactor: Redactor) -> int | None:
    return budget // 2 if budget is not None and redactor.what else budget


class RedactingJudge:
    """A `Judge` whose findings are redacted as ``redactor`` redacts records; ``more`` is that of a judge.

    A topology names hosts, so what an ``auditor`` says is told only where nothing is redacted.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        redactor: Redactor,
        auditor: HopAuditor | None = None,
        *,
        budget: int | None = None,
        wanted: Callable[[Rule], bool] | None = None,
    ) -> None:
        self._redactor = redactor
        # Where something is redacted, two follow what the budget is for.
        budget = _halved(budget, redactor)
        self._judge = Judge(rules, auditor=auditor, budget=budget, wanted=wanted)
        self._teller = Judge(rules, budget=budget, wanted=wanted) if redactor.what else None
        self.more = self._judge.more

    def feed(self, record: Record) -> list[Finding]:
        """Judge a record as it was captured."""
        found = self._judge.feed(record)
        if self._teller is None:
            return found
        return self._reported(found, self._teller.feed(self._redactor.record(record)))

    def take(self, run: Run) -> list[Finding]:
        """Judge everything of a run, as feeding its records does."""
        return [one for _, one in self.taken(run)]

    def taken(self, run: Run) -> list[tuple[int, Finding]]:
        """The same, each with the id of the record with which feeding returns it."""
        if self._teller is None:
            return self._judge.taken(run)
        return [(record.id, one) for record in in_order(run) for one in self.feed(record)]

    def finish(self) -> list[Finding]:
        """Judge sessions, messages and the whole story."""
        found = self._judge.finish()
        return found if self._teller is None else self._reported(found, self._teller.finish())

    @property
    def followers(self) -> tuple[StoryFollower, ...]:
        """What follows captured records, and what follows redacted ones, where something is redacted."""
        return tuple(one.follower for one in (self._judge, self._teller) if one is not None)

    @property
    def story(self) -> Story | None:
        """What the captured records tell, once finished; it is not redacted."""
        return self._judge.story

    @property
    def left_out(self) -> LeftOut:
        """What was judged before the end, once finished."""
        return LeftOut() if self._judge.story is None else self._judge.story.left_out

    def _reported(self, found: Iterable[Finding], tellable: Iterable[Finding]) -> list[Finding]:
        same: defaultdict[_Key, list[Finding]] = defaultdict(list)
        for finding in tellable:
            same[_key(finding)].append(finding)
        reported = []
        for finding in found:
            partners = same[_key(finding)]
            shown = partners.pop(0) if partners else self._silenced(finding)
            reported.append(shown if finding.explained_by is None else self._explained(shown, finding))
        return reported

    def _explained(self, shown: Finding, finding: Finding) -> Finding:
        return msgspec.structs.replace(
            shown,
            explained_by=finding.explained_by,
            cause=self._redactor.redacted(finding.cause),
            first=finding.first,
        )

    def _silenced(self, finding: Finding) -> Finding:
        return msgspec.structs.replace(
            finding,
            message=finding.title,
            evidence=self._redactor.redacted(finding.evidence),
            caveats=(NOT_TOLD,),
        )


class RedactedFindings:
    """Captured records in; records, findings and the story as ``redactor`` lets them be shown out.

    ``rules`` are those asked, ``more`` is that of a judge. ``leave`` is given what the story follows no
    longer, redacted as the story is. ``diagnosis`` is fed the same as is shown.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        redactor: Redactor,
        leave: Callable[[Leaving], None] | None = None,
        *,
        budget: int | None = None,
        wanted: Callable[[Rule], bool] | None = None,
    ) -> None:
        # An acknowledgment has its numbers in its body, and no story shows a body: that stays for the story.
        self._names = redactor.only({Redaction.LABELS, Redaction.HOSTS})
        self._bodies = redactor.only({Redaction.BODIES})
        # Of the judge that redacts, half of its half each.
        shared = _halved(budget, redactor)
        self._leave = leave
        self._follower: StoryFollower | None = None
        self._judge: Judge | RedactingJudge
        self.diagnosis, self._feeds = Diagnosis(), True
        if redactor.what:
            self._follower = StoryFollower(budget=shared, leave=self._left)
            self._judge = RedactingJudge(rules, redactor, budget=shared, wanted=wanted)
        else:
            self._judge = judge = Judge(rules, budget=budget, leave=self._left, answers=True, wanted=wanted)
            if judge.diagnosis is not None:
                # The judge feeds it.
                self.diagnosis, self._feeds = judge.diagnosis, False
        self.more = self._judge.more

    def feed(self, record: Record) -> tuple[Record, list[Finding]]:
        """Take the next record as it was captured; return it as it may be shown, and what is found now."""
        found = self._judge.feed(record)
        if self._follower is not None:
            named = self._names.record(record)
            self._follower.feed(named)
            record = self._bodies.record(named)
        if self._feeds:
            self.diagnosis.feed(record, found)
        return record, found

    def judged(self, items: Iterable[Record | _R]) -> Iterator[tuple[Record | _R, list[Finding]]]:
        """The same of all that is read; where nothing is redacted a run stays whole."""
        for item in items:
            if isinstance(item, Record):
                yield self.feed(item)
            elif self._follower is None:
                found = self._judge.take(item)
                if self._feeds:
                    self.diagnosis.take(item, found)
                yield item, found
            else:
                yield from map(self.feed, in_order(item))

    def finish(self) -> tuple[list[Finding], Story]:
        """Judge sessions, messages and the whole story; return what is found, and the story to be shown."""
        found = self._judge.finish()
        story = self._judge.story if self._follower is None else self._follower.finish()
        assert story is not None
        if self._feeds:
            self.diagnosis.found(found)
        return found, story

    def _left(self, gone: Leaving) -> None:
        if self._feeds:
            self.diagnosis.leave(gone)
        if self._leave is not None:
            self._leave(gone)


def _key(finding: Finding) -> _Key:
    places = tuple((one.record, one.frames, one.path, one.offset, one.length) for one in finding.evidence)
    return finding.id, finding.severity, finding.confidence, places
