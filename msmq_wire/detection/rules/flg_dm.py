"""FLG-DM: a delivery mode that is not defined, or not allowed in a transaction."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.detection.suricata_signature import ON_WIRE, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage

_CODES = (
    "user_header.delivery-mode",
    "user_header.transaction-delivery",
    "user_message.transaction-priority",
    "order_ack.transaction-priority",
    "final_ack.transaction-priority",
    "message_packet.transaction-priority",
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        base, user = record.packet.base_header, record.packet.user_header
        values = f"DM (delivery) is {user.bit('dm')}, TH (transaction) {user.bit('th')}"
        values += f", PR (priority) {base.bit('pr')}"
        yield Detection(message=f"{values}: {anomaly.message}", evidence=(place,))


_FLAGS = this.user_header.flags
_TH, _DM, _UNDEFINED, _PR = 1 << 20, 0b11 << 5, 1 << 6, 0b111


RULE = Rule(
    id="FLG-DM",
    title="Delivery mode, transaction or priority is not allowed",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"), SpecRef("MS-MQMQ", "2.2.19.1")),
    meaning="DM is 0 for express and 1 for recoverable messages. A message in a transaction is recoverable, "
    "and its priority is 0.",
    action="Find out what the sender is: a queue manager sets these fields itself.",
    harmless="A program with its own, faulty implementation of the protocol.",
    codes=_CODES,
    check=_check,
    suricata=(
        SuricataSignature(
            number=230,
            on=ON_WIRE,
            packet=UserMessage,
            match=(_FLAGS & _UNDEFINED != 0,),
            says="a delivery mode that is not defined",
        ),
        SuricataSignature(
            number=231,
            on=ON_WIRE,
            packet=UserMessage,
            match=(_FLAGS & _TH != 0, _FLAGS & _DM == 0),
            says="an express message in a transaction",
        ),
        SuricataSignature(
            number=232,
            on=ON_WIRE,
            packet=UserMessage,
            match=(_FLAGS & _TH != 0, this.base_header.flags & _PR != 0),
            says="a priority in a transaction",
        ),
    ),
)
