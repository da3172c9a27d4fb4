"""FPR-SENSOR: a message like the anonymised sample that a sensor caught."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.fingerprints import Fingerprint, fingerprinted
from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import TO_SERVER, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage

_BIT_26 = 1 << 26
_PACKET_SIZE = 226
_AQ, _RQ = 2, 6
_TYPES = 7 << 13 | 7 << 16
_REPEATED = 0x01010101
"""A number with four equal bytes is a multiple of this."""
_NUMBERS = ("time_to_be_received", "sent_time", "message_id")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if record.error is not None or _is_like(record.packet):
        yield from fingerprinted(record, _marks(record))


def _is_like(packet: UserMessage) -> bool:
    """Whether a whole message has one of the marks."""
    header = packet.user_header
    return (
        header.flags & _TYPES == _AQ << 13 | _RQ << 16
        or bool(header.flags & _BIT_26)
        or packet.base_header.packet_size == _PACKET_SIZE
        or header.sent_time % _REPEATED == 0
        or header.message_id % _REPEATED == 0
        or header.source_queue_manager[:8] == header.source_queue_manager[8:]
    )


def _marks(record: Record) -> Iterator[Fingerprint]:
    header = reached(record.packet, "user_header")
    flags = reached(header, "flags")
    if flags is None:
        return
    if flags & _BIT_26:
        yield "user_header.flags", "bit 26 is set"
    if flags & _TYPES == _AQ << 13 | _RQ << 16:
        yield "user_header.flags", f"AQ is {_AQ} and RQ is {_RQ}"
    if reached(record.packet, "base_header.packet_size") == _PACKET_SIZE:
        yield "base_header.packet_size", f"PacketSize is {_PACKET_SIZE}"
    if _is_repeated(header.source_queue_manager):
        yield "user_header.source_queue_manager", "all bytes of SourceQueueManager are one letter"
    for name in _NUMBERS:
        if _is_repeated(getattr(header, name).to_bytes(4, "little")):
            yield f"user_header.{name}", f"all bytes of {name} are one letter"


def _is_repeated(data: bytes) -> bool:
    """Whether all bytes are the same ASCII letter."""
    return data[:1].isalpha() and data == data[:1] * len(data)


RULE = Rule(
    id="FPR-SENSOR",
    title="A packet like a hostile sample caught by a sensor",
    severity="high",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="A hostile packet that a sensor on port 1801 received was published, with its fields "
    "overwritten with letters. Its layout is unusual: bit 26 is set, AQ is 2 with RQ 6, and PacketSize is "
    "not a multiple of 4.",
    action="Find out what the sender is; check that the receiver has its updates. See whether FLG-USER-X3 "
    "and FRM-LEFTOVER report the same packet.",
    harmless="A replay of the published packet.",
    explains=(
        "FLG-QTYPE",
        "FLG-USER-X3",
        "FRM-LEFTOVER",
        "FRM-PAD-LEN",
        "TIM-EXPIRED",
        "TIM-SKEW",
        "RPL-CONTENT",
    ),
    explains_later=("FRM-SIZE-STREAM", "SES-NAKED"),
    types=("user_message",),
    when=(
        (this.user_header.flags & _TYPES == _AQ << 13 | _RQ << 16)
        | (this.user_header.flags & _BIT_26 != 0)
        | (this.base_header.packet_size == _PACKET_SIZE)
        | ((this.user_header.sent_time != 0) & (this.user_header.sent_time % _REPEATED == 0))
        | ((this.user_header.message_id != 0) & (this.user_header.message_id % _REPEATED == 0)),
        CodedCondition.of(_is_repeated, "user_header.source_queue_manager"),
    ),
    check=_check,
    suricata=(
        SuricataSignature(
            number=870,
            on=TO_SERVER,
            packet=UserMessage,
            match=(
                this.user_header.flags & _BIT_26 != 0,
                this.user_header.flags & _TYPES == _AQ << 13 | _RQ << 16,
            ),
        ),
    ),
)
