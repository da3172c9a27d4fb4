"""TXN-FORM: an OrderAck or FinalAck that its sender takes for a message."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.rule import Context, Rule, Seen, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.enumerations import MessageClass

_CODES = ("user_message.ordering-ack-flags", "user_message.ordering-ack-queue")


def _check(record: Record, context: Context) -> Iterator[Seen]:
    is_order = record.packet.message_properties_header.message_class == MessageClass.MQMSG_CLASS_ORDER_ACK
    for anomaly, place in broken(record, _CODES):
        yield Seen(message=f"{'OrderAck' if is_order else 'FinalAck'}: {anomaly.message}", evidence=(place,))


RULE = Rule(
    id="TXN-FORM",
    title="An OrderAck or FinalAck that its receiver does not recognize",
    severity="low",
    spec=(SpecRef("MS-MQQB", "3.1.5.1.1"), SpecRef("MS-MQQB", "2.2.4"), SpecRef("MS-MQQB", "2.2.5")),
    meaning="The packet has the label and the class of an OrderAck or a FinalAck, but not its flags or its "
    "queue. Its receiver treats it as an ordinary message. It goes on waiting for the acknowledgment, and "
    "sends the transactional messages again.",
    action="Find out what sends it; look for transactional messages that stay unconfirmed.",
    harmless="A program with its own implementation of the protocol, or a copy of an acknowledgment that "
    "was sent on.",
    types=("user_message",),
    codes=_CODES,
    check=_check,
    without_suricata="label, class and queue are in no fixed place",
)
