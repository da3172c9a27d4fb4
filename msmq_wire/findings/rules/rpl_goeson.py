"""RPL-GOESON: a session goes on that was refused."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Context, Rule, Seen
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]


def _check(one: ReplayDeviation, context: Context) -> Iterator[Seen]:
    return contradicting(one, ReplayKind.GOES_ON, context)


RULE = Rule(
    id="RPL-GOESON",
    title="A session goes on that was refused",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.5.3.2"),),
    meaning="The answer to EstablishConnection has CS set, or names another queue manager than the request. "
    "The initiator must close the session and went on with it: it does not look at what it gets.",
    action="Find out what the initiator is, and what it sent to which queue manager afterwards.",
    harmless="Frames of different captures were put together.",
    over="reply",
    check=_check,
)
