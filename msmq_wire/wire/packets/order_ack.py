"""OrderAck, [MS-MQQB] 2.2.4."""

from typing import ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.packets.acknowledgment import ACK_MUSTS, body_of
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass


class OrderAck(UserMessage, frozen=True, kw_only=True, gc=False):
    """Acknowledges how far a transactional sequence arrived; to the queue order_queue$ of the sender."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.4")
    INSIDE: ClassVar = {"order_ack_body": ("message_properties_header.message_body", OrderAckBody)}
    # Delivery is express by the text and recoverable by the rules that build the packet: both are read.
    MUSTS: ClassVar[Musts] = (
        *UserMessage.MUSTS,
        *ACK_MUSTS,
        Must(
            "message-class",
            this.message_properties_header.message_class == MessageClass.MQMSG_CLASS_ORDER_ACK,
            at="message_properties_header.message_class",
            message="MessageClass must be MQMSG_CLASS_ORDER_ACK",
        ),
    )

    @property
    def order_ack_body(self) -> OrderAckBody | None:
        """The body, None unless it has its 36 bytes."""
        return body_of(self, OrderAckBody)
