"""LEN-OACK: an order acknowledgment or final acknowledgment whose body is not 36 bytes."""

from __future__ import annotations

from collections.abc import Iterable

from msmq_wire.detection.false_lengths import FRAMED, place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.acknowledgment import is_order_queue
from msmq_wire.wire.types.enumerations import MessageClass

_SIZE = 36


def _check(record: Record, context: Context) -> Iterable[Detection]:
    properties = reached(record.packet, "message_properties_header")
    size = reached(properties, "message_size")
    if size is None or size == _SIZE:
        return ()
    # By [MS-MQQB] 3.1.5.1.1 an OrderAck of another size is a user message.
    if record.type == "user_message" and not (
        properties.message_class == MessageClass.MQMSG_CLASS_ORDER_ACK
        and is_order_queue(record.packet.user_header)
    ):
        return ()
    seen = Detection(
        message=f"MessageSize is {size} bytes, it must be {_SIZE}",
        evidence=(place_of(record, "message_properties_header.message_size"),),
    )
    return (seen,)


RULE = Rule(
    id="LEN-OACK",
    title="An acknowledgment whose body is not 36 bytes",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "2.2.4"), SpecRef("MS-MQQB", "2.2.5")),
    meaning="OrderAck and FinalAck give a position in a transactional sequence, in a body of 36 bytes. If "
    "the body has another size, the sender of the messages does not learn the position. It keeps waiting, "
    "or takes other bytes for the position.",
    action="Find out what sends acknowledgments for this host; look for transactional messages that stay "
    "unconfirmed.",
    harmless="An ordinary message that was sent to order_queue$ by mistake with the class of an "
    "acknowledgment.",
    explains=("FRM-MUST",),
    prefers=FRAMED,
    types=("user_message", "final_ack"),
    when=(
        (this.message_properties_header.message_class == MessageClass.MQMSG_CLASS_ORDER_ACK)
        & (this.message_properties_header.message_size != _SIZE),
    ),
    check=_check,
)
