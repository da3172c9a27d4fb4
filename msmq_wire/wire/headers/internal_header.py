"""InternalHeader, [MS-MQQB] 2.2.1."""

from typing import Annotated, ClassVar

from construct import Int16ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this, within
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import BitTable, Must, Musts, unused
from msmq_wire.wire.types.enumerations import InternalPacketType


class InternalHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Type of an internal packet, and whether a connection is refused."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.1")
    reserved: Annotated[int, Int16ul, "Must be 0."] = 0
    flags: Annotated[int, Int16ul, "Packet type and connection state."] = 1

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        pt=(0, 4, InternalPacketType, "packet type"),
        cs=(4, "connection refused"),
        **unused(5, 15),
    )
    MUSTS: ClassVar[Musts] = (
        Must("reserved", this.reserved == 0, at="reserved", message="Reserved must be 0"),
        Must("packet-type", within(this.flags & 0xF, 1, 3), at="flags", message="PT must be 1, 2 or 3"),
        Must(
            "connection-state",
            (this.flags & 0x10 == 0) | (this.flags & 0xF != InternalPacketType.SESSION_ACK),
            at="flags",
            message="CS must not be set in a SessionAck packet",
        ),
    )
