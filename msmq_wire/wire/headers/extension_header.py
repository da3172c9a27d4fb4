"""ExtensionHeader, [MS-MQRR] 2.2.5.2."""

from typing import Annotated, ClassVar

from construct import Int8ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import OWN_SIZE, Bytes, Rest, WireStruct
from msmq_wire.wire.musts import BitTable, Must, Musts


class ExtensionHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Says which headers follow it at the end of a message packet."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5.2")
    header_size: Annotated[int, Int32ul, OWN_SIZE, "Bytes of this header, 12."] = 12
    remaining_headers_size: Annotated[int, Int32ul, "Bytes of all headers after this one."] = 176
    flags: Annotated[int, Int8ul, "Which headers follow."] = 0x12
    reserved: Annotated[bytes, Bytes(3), "Ignored."] = bytes(3)
    undeclared: Annotated[bytes, Rest(this.header_size - 12), "What HeaderSize counts beyond 12 bytes."] = b""

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        dl=(0, "DeadLetterHeader follows"),
        sq=(1, "SubqueueHeader follows"),
        x2=2,
        di=(3, "dead-letter queue is invalid"),
        ea=(4, "ExtendedAddressHeader follows"),
        x5=5,
        x6=6,
        x7=7,
    )
    MUSTS: ClassVar[Musts] = (
        Must("header-size", this.header_size == 12, at="header_size", message="HeaderSize must be 12"),
        Must("subqueue", this.flags & 2 != 0, at="flags", message="SQ must be set"),
        Must("extended-address", this.flags & 0x10 != 0, at="flags", message="EA must be set"),
    )
