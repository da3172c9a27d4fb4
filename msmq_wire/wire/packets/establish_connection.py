"""EstablishConnection, [MS-MQQB] 2.2.3."""

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Limit, Node, Rest, Tell
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
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


class EstablishConnection(BinaryPacket, frozen=True, kw_only=True, gc=False):
    """Opens a session, or answers that."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.3")
    base_header: Annotated[BaseHeader, Node(BaseHeader), "Common header."] = BaseHeader(
        flags=0x0B, packet_size=572
    )
    _limit: ClassVar[Annotated[int, Limit(this.base_header.packet_size)]]
    internal_header: Annotated[InternalHeader, Node(InternalHeader), "Packet type."] = InternalHeader(
        flags=InternalPacketType.ESTABLISH_CONNECTION
    )
    establish_connection_header: Annotated[
        EstablishConnectionHeader, Node(EstablishConnectionHeader), "Who talks to whom."
    ] = EstablishConnectionHeader()
    _end: ClassVar[Annotated[int, Tell()]]
    undeclared: Annotated[
        bytes, Rest(this.base_header.packet_size - this._end), "Bytes up to PacketSize that no header claims."
    ] = b""

    TOTALS: ClassVar = (
        Total(
            PACKET_SIZE, of=("base_header", "internal_header", "establish_connection_header", "undeclared")
        ),
    )
    MUSTS: ClassVar[Musts] = (
        packet_type(InternalPacketType.ESTABLISH_CONNECTION, SPEC),
        announced_session_header(False, SpecRef("MS-MQMQ", "2.2.19.1")),
        *INTERNAL_MUSTS,
    )
