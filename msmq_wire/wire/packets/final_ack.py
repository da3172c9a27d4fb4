"""FinalAck, [MS-MQQB] 2.2.5."""

from typing import ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.packets.acknowledgment import ACK_MUSTS, body_of
from msmq_wire.wire.packets.user_message import UserMessage


class FinalAck(UserMessage, frozen=True, kw_only=True, gc=False):
    """Says what became of one transactional message; to the queue order_queue$ of the sender."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.5")
    INSIDE: ClassVar = {"final_ack_body": ("message_properties_header.message_body", FinalAckBody)}
    MUSTS: ClassVar[Musts] = (
        *UserMessage.MUSTS,
        *ACK_MUSTS,
        Must(
            "delivery-mode",
            this.user_header.flags & 0x60 == 0x20,
            at="user_header.flags",
            message="DM must be 1 in a FinalAck packet",
        ),
        Must(
            "message-class",
            this.message_properties_header.message_class >= 0x4000,
            at="message_properties_header.message_class",
            message="MessageClass must be that of a final acknowledgment, 0x4000 or more",
        ),
    )

    @property
    def final_ack_body(self) -> FinalAckBody | None:
        """The body, None unless it has its 36 bytes."""
        return body_of(self, FinalAckBody)
