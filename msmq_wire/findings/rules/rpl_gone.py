"""RPL-GONE: a message is seen after it was removed."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-GONE",
    title="A message is read after it was removed",
    severity="high",
    spec=(SpecRef("MS-MQRR", "3.1.4.9"), SpecRef("MS-MQRR", "3.1.4.6"), SpecRef("MS-MQQP", "3.1.4.2")),
    meaning="The client acknowledged the message, or the queue was purged, and the server confirmed it. "
    "Then the same message was read again. Either a message is processed twice, or a message that was "
    "purged still exists.",
    action="Find out who read it the second time. Ask whether the server was restored from a backup, or "
    "lost its log.",
    harmless="After a purge: a message that was moved to a subqueue before the purge, and back later.",
    over="reply",
    check=contradicting(ReplayKind.REMOVED),
)
