"""TXN-FORM: an OrderAck or FinalAck that its receiver treats as a message."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.enumerations import MessageClass

_FLAGS = "user_message.ordering-ack-flags"
_CODES = (_FLAGS, "user_message.ordering-ack-queue")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    packet = record.packet
    is_order = packet.message_properties_header.message_class == MessageClass.MQMSG_CLASS_ORDER_ACK
    alike = f"label and class are those of {'an OrderAck' if is_order else 'a FinalAck'}"
    for anomaly, place in broken(record, _CODES):
        wrong = "the queue is neither private queue 4, the order queue, nor order_queue$"
        if anomaly.code == _FLAGS:
            wrong = f"BaseHeader.Flags is 0x{packet.base_header.flags:04x}, not 0"
        yield Detection(message=f"{alike}, but {wrong}", evidence=(place,))


RULE = Rule(
    id="TXN-FORM",
    title="An OrderAck or FinalAck that its receiver does not recognize",
    severity="low",
    spec=(SpecRef("MS-MQQB", "3.1.5.1.1"), SpecRef("MS-MQQB", "2.2.4"), SpecRef("MS-MQQB", "2.2.5")),
    meaning="The packet has the label and the class of an OrderAck or a FinalAck, but not its flags or its "
    "queue. The receiver treats the packet as an ordinary message. So the receiver keeps waiting for the "
    "acknowledgment, and sends its transactional messages again.",
    action="Find out what sends it; look for transactional messages that stay unconfirmed.",
    harmless="A program with its own implementation of the protocol, or a copy of an acknowledgment that "
    "an application forwarded.",
    types=("user_message",),
    codes=_CODES,
    check=_check,
    without_suricata="label, class and queue are in no fixed place",
)
