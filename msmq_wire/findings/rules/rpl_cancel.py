"""RPL-CANCEL: a read was cancelled and brought a message."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-CANCEL",
    title="A read that was cancelled returns a message",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4.8"), SpecRef("MS-MQQP", "3.1.4.6")),
    meaning="The server said that the read is over, and then answered it with a message. A client that has "
    "given up ends no receive: the message stays locked until the server puts it back.",
    action="Check whether the client ends the receive; if not, the message comes a second time after five "
    "minutes.",
    over="reply",
    check=contradicting(ReplayKind.CANCEL),
)
