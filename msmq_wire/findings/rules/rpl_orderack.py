"""RPL-ORDERACK: an OrderAck goes back, or jumps over a gap."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-ORDERACK",
    title="An OrderAck that cannot be right",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.1.6.2"), SpecRef("MS-MQQB", "3.1.5.8.6")),
    meaning="A receiver accepts transactional messages in order, without gaps, and acknowledges them in "
    "order. Here the number goes back, or it covers a message whose predecessor was never sent. The sender "
    "deletes messages that may not have arrived.",
    action="Compare the destination queue with what was sent; find out whether the server of that queue was "
    "restored from a backup.",
    harmless="The missing message took another path, or was sent before the capture began.",
    over="reply",
    check=contradicting(ReplayKind.ORDER_ACK),
)
