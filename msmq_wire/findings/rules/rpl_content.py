"""RPL-CONTENT: a message is read otherwise than the capture shows it elsewhere."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-CONTENT",
    title="A message differs from its copy, or contradicts itself",
    severity="medium",
    spec=(
        SpecRef("MS-MQRR", "2.2.5.1"),
        SpecRef("MS-MQRR", "3.1.4.7"),
        SpecRef("MS-MQQP", "2.2.2.1"),
        SpecRef("MS-MQMQ", "2.2.19.2"),
    ),
    meaning="The capture shows one message twice, with the same identifier: once when it was sent or read "
    "earlier, and once now. SentTime, the label or the body differ between the two, or the deadline to reach "
    "the queue is not SentTime plus TimeToReachQueue. No queue manager changes these values.",
    action="Compare the values that the finding names. Somebody changed the message in the queue or on its "
    "way, two messages got one identifier, or the sender or the reader builds its packets itself.",
    harmless="Two queue managers with one GUID, see ID-CLONE. Values that a queue manager may change are "
    "not compared: addresses, the headers after a message, its class, a body that came encrypted.",
    over="reply",
    check=contradicting(ReplayKind.CONTENT),
)
