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
    meaning="A sender must stop while as many packets wait for an acknowledgment as the window allows. This "
    "one had more unacknowledged packets than the largest window that either side announced.",
    action="Check whether the receiver keeps up, and which implementation the sender is.",
    harmless="The two directions were captured in another order than they were sent in.",
    over="reply",
    check=contradicting(ReplayKind.WINDOW),
)
