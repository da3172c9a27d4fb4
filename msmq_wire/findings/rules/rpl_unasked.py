"""RPL-UNASKED: an acknowledgment comes that was not asked for."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-UNASKED",
    title="An acknowledgment that was not asked for",
    severity="low",
    spec=(
        SpecRef("MS-MQQB", "3.1.5.8.10"),
        SpecRef("MS-MQQB", "3.1.7.2.1"),
        SpecRef("MS-MQQB", "3.1.7.2.2"),
        SpecRef("MS-MQQB", "3.1.7.15"),
    ),
    meaning="A message says which acknowledgments it wants, and where. The message was captured, and it "
    "wants none of this kind: the program that made the acknowledgment ignores the flags of messages.",
    action="Find out what sends the acknowledgment. Look at the administration queue that it goes to.",
    harmless="A message of the same number was sent before the capture began, with other flags.",
    over="reply",
    check=contradicting(ReplayKind.UNASKED),
)
