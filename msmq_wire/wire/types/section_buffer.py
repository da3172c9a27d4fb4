"""SectionBuffer and SectionType, [MS-MQRR] 2.2.6 and 2.2.7."""

from enum import IntEnum
from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import one_of, this, within
from msmq_wire.wire.fields import Bytes, WireStruct
from msmq_wire.wire.musts import Must, Musts


class SectionType(IntEnum):
    """What part of a message packet a section holds, [MS-MQRR] 2.2.7."""

    stFullPacket = 0
    stBinaryFirstSection = 1
    stBinarySecondSection = 2
    stSrmpFirstSection = 3
    stSrmpSecondSection = 4


class SectionBuffer(WireStruct, frozen=True, kw_only=True, gc=False):
    """A section of a message packet, as remote read returns it.

    On the wire it is NDR; the schema here is its flat form: the three numbers, then the bytes that
    pSectionBuffer points at.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.6")
    section_buffer_type: Annotated[int, Int32ul, SectionType, "Which part of the packet this is."] = 0
    section_size_alloc: Annotated[int, Int32ul, "Bytes of that part before the body was cut."] = 0
    section_size: Annotated[int, Int32ul, "Bytes of data."] = 0
    data: Annotated[bytes, Bytes(this.section_size), "The bytes of the section."] = b""

    MUSTS: ClassVar[Musts] = (
        Must(
            "section-buffer-type",
            within(this.section_buffer_type, 0, 4),
            at="section_buffer_type",
            message="SectionBufferType must be one of SectionType",
        ),
        Must(
            "section-size-alloc-whole",
            (this.section_size_alloc == this.section_size) | one_of(this.section_buffer_type, 1, 3),
            at="section_size_alloc",
            message="SectionSizeAlloc must equal SectionSize in a full packet or second section",
        ),
        Must(
            "section-size-alloc",
            this.section_size_alloc >= this.section_size,
            at="section_size_alloc",
            message="SectionSizeAlloc must be at least SectionSize",
        ),
    )
