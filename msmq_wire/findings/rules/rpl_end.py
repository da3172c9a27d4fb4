"""RPL-END: the end of a receive is accepted that was not begun."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-END",
    title="A server confirms the end of a receive that was not seen",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4.9"), SpecRef("MS-MQRR", "3.1.4.15"), SpecRef("MS-MQQP", "3.1.4.2")),
    meaning="The server told the client that its message left the queue, or went back. The capture shows no "
    "such receive, so the message may not be where the client expects it.",
    action="Find the receive that the client meant, by its request identifier, and find out where its "
    "message is now.",
    harmless="A receive on a connection that was not captured.",
    over="reply",
    check=contradicting(ReplayKind.END),
)
