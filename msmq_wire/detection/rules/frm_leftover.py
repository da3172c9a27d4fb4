"""FRM-LEFTOVER: bytes inside a packet that no header announces."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import field
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = (
    "user_message.undeclared",
    "order_ack.undeclared",
    "final_ack.undeclared",
    "message_packet.undeclared",
    "establish_connection.undeclared",
    "connection_parameters.undeclared",
    "session_ack.undeclared",
)
_PADDING = 3
_EXTENSION_HEADER = 12
_BIT_26_OR_27 = 0x0C000000


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly in record.anomalies:
        if anomaly.code not in _CODES or anomaly.length <= _PADDING:
            continue
        data = record.packet.undeclared
        seen = Detection(
            message=f"no header announces the last {len(data)} bytes of the packet",
            evidence=(evidence_of(record, anomaly.path, anomaly.offset, anomaly.length, data),),
        )
        flags = field(record, "user_header.flags") or 0
        if flags & _BIT_26_OR_27:
            yield Detection(
                message=f"{seen.message}, and UserHeader.Flags is 0x{flags:08X}",
                evidence=seen.evidence,
                severity="high",
                tells=("user_header.flags",),
            )
        elif len(data) >= _EXTENSION_HEADER and data[:4] == _EXTENSION_HEADER.to_bytes(4, "little"):
            yield Detection(
                message=seen.message,
                evidence=seen.evidence,
                severity="low",
                caveats=("they look like an ExtensionHeader, which ends the packets that a queue stores",),
            )
        else:
            yield seen


RULE = Rule(
    id="FRM-LEFTOVER",
    title="Bytes that no header announces",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.20"), SpecRef("MS-MQMQ", "2.2.19.1")),
    meaning="The flags announce every header of a packet, and PacketSize counts their bytes. These bytes "
    "are counted, but no defined flag announces them. If bit 26 or 27 of the flags is set, receivers may "
    "read a header there that no public document describes. Published hostile packets do this.",
    action="Look at the bytes, and at the sender. If bit 26 or 27 is set, treat the packet as hostile until "
    "you know more.",
    harmless="A stored packet that is sent unchanged ends with an ExtensionHeader of 12 bytes.",
    explains=("FRM-PAD-LEN",),
    behind=("FLG-SEC-SHAPE",),
    codes=_CODES,
    check=_check,
)
