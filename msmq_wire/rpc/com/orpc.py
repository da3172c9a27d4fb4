"""What every call on an object carries in front of its parameters: ORPCTHIS and ORPCTHAT, [MS-DCOM] 2.2.13.

MInterfacePointer is how an interface pointer lies among parameters; the OBJREF in it is opened by
`msmq_wire.rpc.com.objref`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msmq_wire.rpc.com.conformant import ConformantFields
from msmq_wire.rpc.ndr import BYTE, DWORD, UUID, WORD, Conformant, Fields, NdrStruct, Unique
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.musts import Must
from msmq_wire.wire.private import HOST, PUBLIC
from msmq_wire.wire.types.guid import GUID, NULL_GUID


class ComVersion(NdrStruct, frozen=True, kw_only=True, gc=False):
    """COMVERSION: version of the DCOM protocol, 5.1 to 5.7."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.11")
    major_version: Annotated[int, WORD, "Its first number."] = 5
    minor_version: Annotated[int, WORD, "Its second number."] = 7


class OrpcExtent(NdrStruct, frozen=True, kw_only=True, gc=False):
    """ORPC_EXTENT: data beside the parameters, in a format that a GUID names."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.13.1")
    id: Annotated[GUID, UUID, PUBLIC, "The format of the data."] = NULL_GUID
    size: Annotated[int, DWORD, "Bytes of the data, without what rounds them up to 8."] = 0
    data: Annotated[bytes, Conformant(BYTE, size=(this.size + 7) // 8 * 8), "The data."] = b""


class OrpcExtentArray(NdrStruct, frozen=True, kw_only=True, gc=False):
    """ORPC_EXTENT_ARRAY: an even number of places, those behind ``size`` are NULL."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.13.2")
    size: Annotated[int, DWORD, "How many there are."] = 0
    reserved: Annotated[int, DWORD, "Not used."] = 0
    extent: Annotated[
        tuple[OrpcExtent | None, ...] | None,
        Unique(Conformant(Unique(ConformantFields(OrpcExtent)), size=(this.size + 1) // 2 * 2)),
        "The extensions.",
    ] = None


_EXTENSIONS = Unique(Fields(OrpcExtentArray))


class OrpcThis(NdrStruct, frozen=True, kw_only=True, gc=False):
    """ORPCTHIS: the first parameter of a request."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.13.3")
    version: Annotated[ComVersion, Fields(ComVersion), "The client's version of DCOM."] = ComVersion()
    flags: Annotated[int, DWORD, "Reserved."] = 0
    reserved1: Annotated[int, DWORD, "Not used."] = 0
    cid: Annotated[GUID, UUID, HOST, "Causality: one number for all calls that one thing makes."] = NULL_GUID
    extensions: Annotated[OrpcExtentArray | None, _EXTENSIONS, "Extensions."] = None

    MUSTS: ClassVar[tuple[Must, ...]] = (
        Must("flags", this.flags == 0, at="flags", message="the flags of ORPCTHIS must be 0"),
    )


class OrpcThat(NdrStruct, frozen=True, kw_only=True, gc=False):
    """ORPCTHAT: the first parameter of a response."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.13.4")
    flags: Annotated[int, DWORD, "Not used."] = 0
    extensions: Annotated[OrpcExtentArray | None, _EXTENSIONS, "Extensions."] = None


class MInterfacePointer(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MInterfacePointer: an OBJREF as counted bytes."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.14")
    ul_cnt_data: Annotated[int, DWORD, "Bytes of the OBJREF."] = 0
    ab_data: Annotated[bytes, Conformant(BYTE, size=this.ul_cnt_data), "The OBJREF."] = b""


ORPC_THIS = Fields(OrpcThis)
ORPC_THAT = Fields(OrpcThat)
INTERFACE_POINTER = Unique(ConformantFields(MInterfacePointer))
