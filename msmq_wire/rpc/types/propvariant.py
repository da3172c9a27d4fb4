"""PROPVARIANT: the value of a queue property, [MS-MQMQ] 2.2.13 to 2.2.16."""

from typing import Annotated, Any, ClassVar

from msmq_wire.rpc.constants import (
    ManagementConnected,
    ManagementQueueKnown,
    ManagementQueueLocation,
    ManagementQueueState,
    ManagementQueueType,
)
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    HYPER,
    LONG,
    SHORT,
    SMALL,
    UUID,
    WORD,
    Arm,
    Conformant,
    Fields,
    NdrStruct,
    String,
    Union,
    Unique,
)
from msmq_wire.rpc.ndr.scalars import SIGNED_HYPER
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import Public
from msmq_wire.wire.types.enumerations import BodyType


class Blob(NdrStruct, frozen=True, kw_only=True, gc=False):
    """BLOB: counted bytes."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.15")
    cb_size: Annotated[int, DWORD, "Bytes."] = 0
    p_blob_data: Annotated[bytes | None, Unique(Conformant(BYTE, size=this.cb_size)), "The bytes."] = None


class CountedArray(NdrStruct, frozen=True, kw_only=True, gc=False):
    """COUNTEDARRAY: CAUB, CAUI, CAL, CAUL, CAUH, CACLSID, CALPWSTR or CAPROPVARIANT.

    What the elements are is told by ``vt`` of the variant that holds it.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.16")
    c_elems: Annotated[int, DWORD, "How many elements there are."] = 0
    p_elems: Annotated[Any, Unique(Conformant(BYTE, size=this.c_elems)), "The elements."] = None


_VECTOR = int(BodyType.VT_VECTOR)
_VARIANT_VECTOR = _VECTOR | BodyType.VT_VARIANT


def _counted(element: Any) -> Fields:
    return Fields(CountedArray, {"c_elems": DWORD, "p_elems": Unique(Conformant(element, size=this.c_elems))})


_ARMS = {
    BodyType.VT_EMPTY: Arm(),
    BodyType.VT_NULL: Arm(),
    BodyType.VT_I1: Arm("c_val", SMALL),
    BodyType.VT_UI1: Arm("b_val", BYTE),
    BodyType.VT_I2: Arm("i_val", SHORT),
    BodyType.VT_UI2: Arm("ui_val", WORD),
    BodyType.VT_I4: Arm("l_val", LONG),
    BodyType.VT_UI4: Arm("ul_val", DWORD),
    BodyType.VT_I8: Arm("h_val", SIGNED_HYPER),
    BodyType.VT_UI8: Arm("uh_val", HYPER),
    BodyType.VT_BOOL: Arm("bool_val", SHORT),
    BodyType.VT_CLSID: Arm("puuid", Unique(UUID)),
    BodyType.VT_BLOB: Arm("blob", Fields(Blob)),
    BodyType.VT_LPWSTR: Arm("pwsz_val", Unique(String())),
    _VECTOR | BodyType.VT_UI1: Arm("caub", _counted(BYTE)),
    _VECTOR | BodyType.VT_UI2: Arm("caui", _counted(WORD)),
    _VECTOR | BodyType.VT_I4: Arm("cal", _counted(LONG)),
    _VECTOR | BodyType.VT_UI4: Arm("caul", _counted(DWORD)),
    _VECTOR | BodyType.VT_UI8: Arm("cauh", _counted(HYPER)),
    _VECTOR | BodyType.VT_CLSID: Arm("cauuid", _counted(UUID)),
    _VECTOR | BodyType.VT_LPWSTR: Arm("calpwstr", _counted(Unique(String()))),
}


# Texts that only say how a queue or a computer is.
_WORDS = frozenset().union(
    ManagementConnected,
    ManagementQueueKnown,
    ManagementQueueLocation,
    ManagementQueueState,
    ManagementQueueType,
)


class PropVariant(NdrStruct, frozen=True, kw_only=True, gc=False):
    """PROPVARIANT: ``arm`` is the value that ``vt`` selects."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.13")
    vt: Annotated[int, WORD, BodyType, "The type of the value."] = 0
    w_reserved1: Annotated[int, BYTE, "Not used."] = 0
    w_reserved2: Annotated[int, BYTE, "Not used."] = 0
    w_reserved3: Annotated[int, DWORD, "Not used."] = 0
    arm: Annotated[Any, Union(this.vt, WORD, _ARMS), Public(among=_WORDS), "The value."] = None


PROPVARIANT = Fields(PropVariant)
# A variant can hold variants: the union is complete once the structure is.
_ARMS[_VARIANT_VECTOR] = Arm("capropvar", _counted(PROPVARIANT))
