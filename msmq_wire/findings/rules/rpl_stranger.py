"""RPL-STRANGER: an acknowledgment comes from another queue manager."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-STRANGER",
    title="An acknowledgment from another queue manager",
    severity="high",
    spec=(
        SpecRef("MS-MQQB", "3.1.1.6.2"),
        SpecRef("MS-MQQB", "3.1.5.8.10"),
        SpecRef("MS-MQQB", "3.1.7.2.1"),
        SpecRef("MS-MQQB", "3.1.7.2.2"),
    ),
    meaning="Only the queue manager that a message is sent to can say that it arrived, was received or is "
    "in order. This acknowledgment names another queue manager as its source. A sender that accepts it "
    "deletes a message that may not have arrived.",
    action="Find out what sends the acknowledgment, and whether the message is in its queue.",
    harmless="The queue manager was installed again and has a new identifier.",
    over="reply",
    check=contradicting(ReplayKind.STRANGER),
)
