"""ConnectionParameters, [MS-MQQB] 2.2.2."""

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Limit, Node, Rest, Tell
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
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


class ConnectionParameters(BinaryPacket, frozen=True, kw_only=True, gc=False):
    """Agrees on time-outs and window of a session."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.2")
    base_header: Annotated[BaseHeader, Node(BaseHeader), "Common header."] = BaseHeader(
        flags=0x0B, packet_size=32
    )
    _limit: ClassVar[Annotated[int, Limit(this.base_header.packet_size)]]
    internal_header: Annotated[InternalHeader, Node(InternalHeader), "Packet type."] = InternalHeader(
        flags=InternalPacketType.CONNECTION_PARAMETERS
    )
    connection_parameters_header: Annotated[
        ConnectionParametersHeader, Node(ConnectionParametersHeader), "Time-outs and window."
    ] = ConnectionParametersHeader()
    _end: ClassVar[Annotated[int, Tell()]]
    undeclared: Annotated[
        bytes, Rest(this.base_header.packet_size - this._end), "Bytes up to PacketSize that no header claims."
    ] = b""

    TOTALS: ClassVar = (
        Total(
            PACKET_SIZE, of=("base_header", "internal_header", "connection_parameters_header", "undeclared")
        ),
    )
    MUSTS: ClassVar[Musts] = (
        packet_type(InternalPacketType.CONNECTION_PARAMETERS, SPEC),
        announced_session_header(False, SpecRef("MS-MQMQ", "2.2.19.1")),
        *INTERNAL_MUSTS,
    )
