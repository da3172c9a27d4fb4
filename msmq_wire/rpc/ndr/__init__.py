"""NDR 2.0 and NDR64: types that are declared once and parse and build in every transfer syntax.

[C706] 14, [MS-RPCE] 2.2.4 and 2.2.5.
"""

from __future__ import annotations

from msmq_wire.rpc.ndr.arrays import Conformant, ConformantVarying, String
from msmq_wire.rpc.ndr.pointers import NULL_POINTEE, EmbeddedRef, Full, NullPointee, Unique
from msmq_wire.rpc.ndr.scalars import (
    BYTE,
    DWORD,
    ENUM,
    HYPER,
    LONG,
    SHORT,
    SMALL,
    UUID,
    WCHAR,
    WORD,
    XACTUOW,
    Ranged,
)
from msmq_wire.rpc.ndr.structures import Fields, NdrStruct, Parameters, members
from msmq_wire.rpc.ndr.stub import StubValue, decode_stub, encode_stub, inspect_stub
from msmq_wire.rpc.ndr.syntax import NDR, NDR64, NDR_BIG_ENDIAN, Syntax
from msmq_wire.rpc.ndr.unions import Arm, Union

__all__ = [
    "BYTE",
    "DWORD",
    "ENUM",
    "HYPER",
    "LONG",
    "NDR",
    "NDR64",
    "NDR_BIG_ENDIAN",
    "NULL_POINTEE",
    "SHORT",
    "SMALL",
    "UUID",
    "WCHAR",
    "WORD",
    "XACTUOW",
    "Arm",
    "Conformant",
    "ConformantVarying",
    "EmbeddedRef",
    "Fields",
    "Full",
    "NdrStruct",
    "NullPointee",
    "Parameters",
    "Ranged",
    "String",
    "StubValue",
    "Syntax",
    "Union",
    "Unique",
    "decode_stub",
    "encode_stub",
    "inspect_stub",
    "members",
]
