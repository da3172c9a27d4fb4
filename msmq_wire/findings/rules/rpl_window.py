"""RPL-WINDOW: more is sent than the window lets through."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-WINDOW",
    title="More was sent than the window allows",
    severity="low",
    spec=(SpecRef("MS-MQQB", "3.1.7.1"),),
    meaning="The window is the number of packets that a sender may have without an acknowledgment. At that "
    "number the sender must stop. This sender had more unacknowledged packets than the largest "
    "window that either side announced.",
    action="Check whether the receiver keeps up, and which implementation the sender is.",
    harmless="The two directions were captured in another order than they were sent in.",
    over="reply",
    check=contradicting(ReplayKind.WINDOW),
)
