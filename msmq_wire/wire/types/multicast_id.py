"""MULTICAST_ID, [MS-MQMQ] 2.2.10."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.private import HOST


class MulticastID(WireStruct, frozen=True, kw_only=True, gc=False):
    """A multicast address and port; the byte order inside ``address`` is not specified."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.10")
    address: Annotated[int, Int32ul, HOST, "IPv4 address as one number."] = 0
    port: Annotated[int, Int32ul, "Port."] = 0
