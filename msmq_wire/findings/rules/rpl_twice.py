"""RPL-TWICE: a message is handed out twice."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-TWICE",
    title="A message is handed out twice",
    severity="high",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQRR", "3.1.4.9"), SpecRef("MS-MQQP", "3.1.4.2")),
    meaning="A message that is being received is locked until its receive ends. It was handed to a second "
    "reader although the first did not put it back, so it is processed twice.",
    action="Find both readers by their frames, and find out whether it does harm that the message is "
    "processed twice.",
    harmless="The first receive was undone in a way that was not captured, for example by an administrator "
    "at the server.",
    over="reply",
    check=contradicting(ReplayKind.TWICE),
)
