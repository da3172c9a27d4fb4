"""TopologyPacketHeader, [MS-MQSD] 2.2.1."""

from typing import Annotated, ClassVar

from construct import Int8ul, Int16ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.enumerations import TopologyPacketType

DISCOVERY = {bytes((0, kind, 0, 0)): kind.name.lower() for kind in TopologyPacketType}
"""What a header as it must be says of its packet, by stem. Other protocols use UDP 1801 as the port of a
client: what begins in another way is none of discovery."""


class TopologyPacketHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """First 4 bytes of every packet of directory service discovery."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQSD", "2.2.1")
    version: Annotated[int, Int8ul, "0; a server ignores it."] = 0
    type: Annotated[int, Int8ul, TopologyPacketType, "Whether this is a request or a reply."] = (
        TopologyPacketType.TOPOLOGY_CLIENT_REQUEST
    )
    reserved: Annotated[int, Int16ul, "0; a server ignores it."] = 0
