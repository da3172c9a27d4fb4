"""RPL-ORDER: a message was passed over."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-ORDER",
    title="A server skips a message that should come first",
    severity="low",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQQP", "3.1.4.1"), SpecRef("MS-MQMQ", "2.2.19.1")),
    meaning="Messages are read by priority, and then in the order of their arrival. Another message was in "
    "the queue before and after this read and should have come first, but did not.",
    action="Check whether the order matters to the application, and whether the server has two copies of "
    "the queue.",
    harmless="Another reader held the message in between and put it back.",
    over="reply",
    check=contradicting(ReplayKind.ORDER),
)
