"""SessionAck, [MS-MQQB] 2.2.6."""

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Limit, Node, Rest, Tell
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.musts import Musts
from msmq_wire.wire.packets.base import (
    INTERNAL_MUSTS,
    PACKET_SIZE,
    BinaryPacket,
    Total,
    announced_session_header,
    packet_type,
)
from msmq_wire.wire.types.enumerations import InternalPacketType


class SessionAck(BinaryPacket, frozen=True, kw_only=True, gc=False):
    """Acknowledges user packets of the other direction; here PacketSize counts the SessionHeader."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.6")
    base_header: Annotated[BaseHeader, Node(BaseHeader), "Common header."] = BaseHeader(
        flags=0x1B, packet_size=36
    )
    _limit: ClassVar[Annotated[int, Limit(this.base_header.packet_size)]]
    internal_header: Annotated[InternalHeader, Node(InternalHeader), "Packet type."] = InternalHeader(
        flags=InternalPacketType.SESSION_ACK
    )
    session_header: Annotated[SessionHeader, Node(SessionHeader), "The acknowledgment."] = SessionHeader()
    _end: ClassVar[Annotated[int, Tell()]]
    undeclared: Annotated[
        bytes, Rest(this.base_header.packet_size - this._end), "Bytes up to PacketSize that no header claims."
    ] = b""

    TOTALS: ClassVar = (
        Total(PACKET_SIZE, of=("base_header", "internal_header", "session_header", "undeclared")),
    )
    MUSTS: ClassVar[Musts] = (
        packet_type(InternalPacketType.SESSION_ACK, SPEC),
        announced_session_header(True, SPEC),
        *INTERNAL_MUSTS,
    )
