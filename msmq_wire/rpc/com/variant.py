"""VARIANT and BSTR on the wire, [MS-OAUT] 2.2.29 and 2.2.23.

Floating-point numbers, currencies and dates are kept as their bits: no method here takes one, and a number
that is read and written again must be the same. A SAFEARRAY or a record is bytes up to where ``cl_size``
says that the variant ends.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, ClassVar

from msmq_wire.rpc.com.conformant import ConformantFields, LittleEndianFields, Opaque
from msmq_wire.rpc.com.orpc import INTERFACE_POINTER, MInterfacePointer
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    HYPER,
    LONG,
    SHORT,
    SMALL,
    WCHAR,
    WORD,
    Arm,
    Conformant,
    Fields,
    NdrStruct,
    NullPointee,
    Union,
    Unique,
)
from msmq_wire.rpc.ndr.scalars import SIGNED_HYPER
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.types.wchar_text import WcharText

DISP_E_PARAMNOTFOUND = 0x80020004
"""In a VT_ERROR: the argument is not specified, [MS-OAUT] 3.1.4.4.3."""


class VariantType(IntEnum):
    """VARIANT type constants, [MS-OAUT] 2.2.7, of what a variant on the wire can hold."""

    VT_EMPTY = 0x0000
    VT_NULL = 0x0001
    VT_I2 = 0x0002
    VT_I4 = 0x0003
    VT_R4 = 0x0004
    VT_R8 = 0x0005
    VT_CY = 0x0006
    VT_DATE = 0x0007
    VT_BSTR = 0x0008
    VT_DISPATCH = 0x0009
    VT_ERROR = 0x000A
    VT_BOOL = 0x000B
    VT_VARIANT = 0x000C
    VT_UNKNOWN = 0x000D
    VT_DECIMAL = 0x000E
    VT_I1 = 0x0010
    VT_UI1 = 0x0011
    VT_UI2 = 0x0012
    VT_UI4 = 0x0013
    VT_I8 = 0x0014
    VT_UI8 = 0x0015
    VT_INT = 0x0016
    VT_UINT = 0x0017
    VT_RECORD = 0x0024
    VT_ARRAY = 0x2000
    VT_BYREF = 0x4000


_ARRAY, _BYREF, _TYPEMASK = 0x2000, 0x4000, 0x0FFF


class FlaggedWordBlob(NdrStruct, frozen=True, kw_only=True, gc=False):
    """FLAGGED_WORD_BLOB, what a BSTR points at: ``c_bytes`` 0xFFFFFFFF stands for a null BSTR."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-OAUT", "2.2.23.1")
    c_bytes: Annotated[int, DWORD, "Bytes of the text."] = 0
    cl_size: Annotated[int, DWORD, "Characters of the text."] = 0
    as_data: Annotated[WcharText, Conformant(WCHAR, size=this.cl_size), "The text."] = WcharText(b"")


class Decimal(NdrStruct, frozen=True, kw_only=True, gc=False):
    """DECIMAL: an integer of 96 bits, its sign and the place of its point."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-OAUT", "2.2.26")
    w_reserved: Annotated[int, WORD, "Not used."] = 0
    scale: Annotated[int, BYTE, "Digits behind the point."] = 0
    sign: Annotated[int, BYTE, "0x80: negative."] = 0
    hi32: Annotated[int, DWORD, "The high 32 bits."] = 0
    lo64: Annotated[int, HYPER, "The low 64 bits."] = 0


BSTR = Unique(ConformantFields(FlaggedWordBlob))
_SIZED = 8 * this.cl_size
_IN_PLACE: dict[VariantType, tuple[str, NdrType]] = {
    VariantType.VT_I8: ("ll_val", SIGNED_HYPER),
    VariantType.VT_I4: ("l_val", LONG),
    VariantType.VT_UI1: ("b_val", BYTE),
    VariantType.VT_I2: ("i_val", SHORT),
    VariantType.VT_R4: ("flt_val", DWORD),
    VariantType.VT_R8: ("dbl_val", HYPER),
    VariantType.VT_BOOL: ("bool_val", SHORT),
    VariantType.VT_ERROR: ("scode", DWORD),
    VariantType.VT_CY: ("cy_val", SIGNED_HYPER),
    VariantType.VT_DATE: ("date", HYPER),
    VariantType.VT_BSTR: ("bstr_val", BSTR),
    VariantType.VT_UNKNOWN: ("punk_val", INTERFACE_POINTER),
    VariantType.VT_DISPATCH: ("pdisp_val", INTERFACE_POINTER),
    VariantType.VT_I1: ("c_val", SMALL),
    VariantType.VT_UI2: ("ui_val", WORD),
    VariantType.VT_UI4: ("ul_val", DWORD),
    VariantType.VT_UI8: ("ull_val", HYPER),
    VariantType.VT_INT: ("int_val", LONG),
    VariantType.VT_UINT: ("uint_val", DWORD),
    VariantType.VT_DECIMAL: ("dec_val", Fields(Decimal)),
}
_BY_REFERENCE = {
    VariantType.VT_UI1: "pb_val",
    VariantType.VT_I2: "pi_val",
    VariantType.VT_I4: "pl_val",
    VariantType.VT_I8: "pll_val",
    VariantType.VT_R4: "pflt_val",
    VariantType.VT_R8: "pdbl_val",
    VariantType.VT_BOOL: "pbool_val",
    VariantType.VT_ERROR: "pscode",
    VariantType.VT_CY: "pcy_val",
    VariantType.VT_DATE: "pdate",
    VariantType.VT_BSTR: "pbstr_val",
    VariantType.VT_UNKNOWN: "ppunk_val",
    VariantType.VT_DISPATCH: "ppdisp_val",
    VariantType.VT_I1: "pc_val",
    VariantType.VT_UI2: "pui_val",
    VariantType.VT_UI4: "pul_val",
    VariantType.VT_UI8: "pull_val",
    VariantType.VT_INT: "pint_val",
    VariantType.VT_UINT: "puint_val",
    VariantType.VT_DECIMAL: "pdec_val",
}


def _opaque(name: str, what: str) -> Arm:
    # In front of the arm: sixteen bytes and the discriminant, in NDR64 with the gap behind it.
    return Arm(name, Opaque(what, _SIZED, before=20, before_wide=24))


_ARMS: dict[int, Arm] = {int(kind): Arm(name, type_) for kind, (name, type_) in _IN_PLACE.items()}
_ARMS |= {kind | _BYREF: Arm(name, Unique(_IN_PLACE[kind][1])) for kind, name in _BY_REFERENCE.items()}
_ARMS |= {
    VariantType.VT_EMPTY: Arm(),
    VariantType.VT_NULL: Arm(),
    _ARRAY: _opaque("parray", "a SAFEARRAY"),
    _ARRAY | _BYREF: _opaque("pparray", "a SAFEARRAY"),
    VariantType.VT_RECORD: _opaque("brec_val", "a record"),
    VariantType.VT_RECORD | _BYREF: _opaque("pbrec_val", "a record"),
}
# An array of whatever has one discriminant.
_SELECTOR = this.vt - (this.vt & _ARRAY) // _ARRAY * (this.vt & _TYPEMASK)


class Variant(NdrStruct, frozen=True, kw_only=True, gc=False):
    """wireVARIANTStr, what a VARIANT points at: ``arm`` is the value that ``vt`` selects."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-OAUT", "2.2.29.1")
    cl_size: Annotated[int, DWORD, "Its size in units of 8 bytes."] = 0
    rpc_reserved: Annotated[int, DWORD, "Not used."] = 0
    vt: Annotated[int, WORD, VariantType, "The type of the value."] = 0
    w_reserved1: Annotated[int, WORD, "Not used."] = 0
    w_reserved2: Annotated[int, WORD, "Not used."] = 0
    w_reserved3: Annotated[int, WORD, "Not used."] = 0
    arm: Annotated[Any, Union(_SELECTOR, DWORD, _ARMS), "The value."] = None


VARIANT = Unique(LittleEndianFields(Variant))
# A variant can point at a variant: the union is complete once the structure is.
_ARMS[VariantType.VT_VARIANT | _BYREF] = Arm("pvar_val", Unique(VARIANT))


def variant_type_name(vt: int) -> str:
    """``VT_I4``, ``VT_BYREF | VT_BOOL``, ``VT_ARRAY | VT_UI1``; a number where there is no name."""
    kinds = {int(kind): kind.name for kind in VariantType}
    flags = [name for bit, name in ((_BYREF, "VT_BYREF"), (_ARRAY, "VT_ARRAY")) if vt & bit]
    kind = vt & ~(_BYREF | _ARRAY)
    return " | ".join([*flags, kinds.get(kind, f"0x{kind:04x}")])


def pointed_at(variant: Variant | NullPointee | None) -> tuple[int, Any] | None:
    """The type and the value of a variant, through pointers to variants and to values.

    The type has VT_BYREF where the value was pointed at. An interface pointer is `MInterfacePointer`, or None
    for NULL. None for a VARIANT that is NULL or was not read.
    """
    seen: Any = variant
    while isinstance(seen, Variant) and seen.vt == VariantType.VT_VARIANT | _BYREF:
        seen = seen.arm
    if not isinstance(seen, Variant) or not isinstance(seen.vt, int):
        return None
    value = seen.arm
    if isinstance(value, NullPointee):
        value = None
    if seen.vt & ~_BYREF in (VariantType.VT_DISPATCH, VariantType.VT_UNKNOWN):
        value = value if isinstance(value, MInterfacePointer) else None
    return seen.vt, value
