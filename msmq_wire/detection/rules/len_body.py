"""LEN-BODY: the sizes of body and extension reach past the packet or contradict each other."""

from __future__ import annotations

from msmq_wire.detection.false_lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly

_WRAP = "message_properties_header.sizes-wrap"
_CODES = (
    "message_properties_header.allocation-body-size",
    "message_properties_header.allocation-body-size-maximum",
    _WRAP,
)
_MEASURES = {
    "message_properties_header.extension_data": "message_properties_header.extension_size",
    "message_properties_header.message_body": "message_properties_header.message_size",
}


def _explain(record: Record, anomaly: Anomaly) -> tuple[str, Severity | None]:
    header = reached(record.packet, "message_properties_header")
    if anomaly.code == _WRAP:
        return anomaly.message, "high"
    if anomaly.code == _CODES[0]:
        sizes = f"AllocationBodySize {header.allocation_body_size} is below MessageSize {header.message_size}"
        return sizes, None
    size = record.packet.base_header.packet_size
    return f"AllocationBodySize {header.allocation_body_size} is above PacketSize {size}", None


RULE = Rule(
    id="LEN-BODY",
    title="Sizes of the body contradict the packet",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"),),
    meaning="MessageSize is the size of the body in the packet. AllocationBodySize is the memory that a "
    "receiver reserves for it, at least as much. A body or extension that reaches past the packet (severity "
    "high) makes a careless receiver copy bytes that are not part of this message.",
    action="Find out what the sender is, and what the receiver did after this packet.",
    harmless="A client that is not from Microsoft and leaves AllocationBodySize 0. A body that a remote "
    "read shortened on request is not judged.",
    prefers=FRAMED,
    types=("user_message", "message_packet", "order_ack", "final_ack"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(
        codes=_CODES, measures=_MEASURES, severity="medium", of_errors="high", explain=_explain
    ),
)
