"""LEN-CMP: the sizes in CompoundMessageHeader reach past the packet or past each other."""

from __future__ import annotations

from msmq_wire.detection.false_lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly

_OUTSIDE = ("compound_message_header.message-body", "compound_message_header.message-body-wrap")
# What the HTTP message says of itself is something else: still inside the packet.
_OTHERWISE = (
    "compound_message_header.http-body-size",
    "compound_message_header.msg-body-offset",
    "compound_message_header.msg-body-size",
)
_CODES = (*_OUTSIDE, "compound_message_header.http-body-size-wrap", *_OTHERWISE)
_MEASURES = {"compound_message_header.data": "compound_message_header.http_body_size"}


def _explain(record: Record, anomaly: Anomaly) -> tuple[str, Severity | None]:
    if anomaly.code in _OTHERWISE:
        return anomaly.message, "medium"
    header = reached(record.packet, "compound_message_header")
    if anomaly.code not in _OUTSIDE:
        return anomaly.message, None
    return (
        f"MsgBodyOffset {header.msg_body_offset} and MsgBodySize {header.msg_body_size} reach past "
        f"HTTPBodySize {header.http_body_size}"
    ), None


RULE = Rule(
    id="LEN-CMP",
    title="Sizes in CompoundMessageHeader contradict the packet",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQRR", "2.2.5.1.2.2"),),
    meaning="HTTPBodySize is the length of the HTTP message in a packet. MsgBodyOffset and MsgBodySize say "
    "where the body lies in it. If they point outside, a reader takes other bytes for the body.",
    action="Find out who wrote the packet. If the message was read from a queue, look at the SRMP message "
    "that it arrived in.",
    harmless="A proxy changed the message. The sizes then disagree with the HTTP message, but stay inside "
    "the packet, and the severity is medium.",
    prefers=FRAMED,
    types=("user_message", "message_packet"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(
        codes=_CODES, measures=_MEASURES, severity="high", explain=_explain, tells=("user_header.flags",)
    ),
)
