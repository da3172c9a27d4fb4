"""Deviations without what must not leave the house, told as findings are.

The rule kept here: the captured records are judged. What is printed comes from a second `Replayer`, which
sees redacted records only; where that one does not come to the same, the title of the rule stands for the
sentence.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from msmq_wire.detection import RULES
from msmq_wire.detection.rule import Rule
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.records.run import Run, in_order
from msmq_wire.replay import Replayer
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.replay.packet_deviations import INTERFACE
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.sessions import StoryFollower


def rule_of(one: ReplayDeviation) -> Rule:
    """The rule of findings about deviations of its kind."""
    return RULES[f"RPL-{one.kind.upper()}"]


class RedactingReplayer:
    """A `Replayer` whose deviations are redacted as ``redactor`` redacts records.

    ``followers`` follow sessions, of the captured records and, where something is redacted, of redacted ones.
    They are those of somebody who takes everything first.
    """

    def __init__(self, redactor: Redactor, followers: Iterable[StoryFollower]) -> None:
        self._redactor = redactor
        self._replayer, *tellers = map(Replayer, followers)
        self._teller = tellers[0] if tellers else None

    def feed(self, record: Record) -> list[ReplayDeviation]:
        """Judge a record as it was captured."""
        found = self._replayer.feed(record)
        if self._teller is None:
            return found
        return self._reported(found, self._teller.feed(self._redactor.record(record)))

    def take(self, run: Run) -> list[tuple[int, ReplayDeviation]]:
        """Judge everything of a run, as feeding its records does; each with the id of its record."""
        if self._teller is None:
            return self._replayer.take(run)
        return [(record.id, one) for record in in_order(run) for one in self.feed(record)]

    def finish(self) -> list[ReplayDeviation]:
        """Judge the last replies."""
        found = self._replayer.finish()
        return found if self._teller is None else self._reported(found, self._teller.finish())

    def _reported(
        self, found: list[ReplayDeviation], tellable: list[ReplayDeviation]
    ) -> list[ReplayDeviation]:
        reported = {(one.record, one.rule, one.path): one for one in tellable}
        return [reported.get((one.record, one.rule, one.path)) or self._silenced(one) for one in found]

    def _silenced(self, one: ReplayDeviation) -> ReplayDeviation:
        reported = self._redactor.redacted(one)
        return msgspec.structs.replace(
            reported,
            server=host_of(reported.src if one.interface == INTERFACE else reported.dst),
            queue=None,
            message=rule_of(one).title,
            expected="",
            came="",
        )
