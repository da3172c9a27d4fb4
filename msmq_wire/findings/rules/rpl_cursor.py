"""RPL-CURSOR: a cursor is accepted that is not the handle's."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-CURSOR",
    title="A server accepts a cursor that it must refuse",
    severity="medium",
    spec=(
        SpecRef("MS-MQRR", "3.1.4.4"),
        SpecRef("MS-MQRR", "3.1.4.5"),
        SpecRef("MS-MQRR", "3.1.4.7"),
        SpecRef("MS-MQQP", "3.1.4.1"),
        SpecRef("MS-MQMP", "3.1.5.3"),
    ),
    meaning="The cursor is closed, was never made, or belongs to another handle. One client then steps "
    "through the queue from the position of another, and messages are skipped.",
    action="Compare the messages that both readers got.",
    harmless="The cursor was made on a connection that was not captured.",
    over="reply",
    check=contradicting(ReplayKind.CURSOR),
)
