"""VARIANT and BSTR, against bytes written by hand from [MS-OAUT] 2.2.29 and 2.2.23."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.com.orpc import MInterfacePointer
from msmq_wire.rpc.com.variant import (
    VARIANT,
    Decimal,
    FlaggedWordBlob,
    Variant,
    VariantType,
    pointed_at,
    variant_type_name,
)
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NULL_POINTEE,
    StubValue,
    Syntax,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.stub_stream import MAX_DEPTH
from msmq_wire.wire.types.wchar_text import WcharText

BYREF = 0x4000
HEAD = "00000200 00000000"  # a referent, and the gap in front of what is aligned to 8

# clSize, rpcReserved, vt, three reserved words, the discriminant; then the value.
EXAMPLES: tuple[tuple[str, str, Any], ...] = (
    ("VT_EMPTY", "03000000 00000000 0000 0000 0000 0000 00000000", None),
    ("VT_I4", "03000000 00000000 0300 0000 0000 0000 03000000 c4090000", 2500),
    ("VT_I4, negative", "03000000 00000000 0300 0000 0000 0000 03000000 ffffffff", -1),
    ("VT_BOOL", "03000000 00000000 0b00 0000 0000 0000 0b000000 ffff", -1),
    ("VT_ERROR", "03000000 00000000 0a00 0000 0000 0000 0a000000 04000280", 0x80020004),
    ("VT_UI1", "03000000 00000000 1100 0000 0000 0000 11000000 07", 7),
    # The value is aligned to 8: four bytes lie between.
    ("VT_I8", "04000000 00000000 1400 0000 0000 0000 14000000 00000000 feffffffffffffff", -2),
    ("VT_R8 of 1", "04000000 00000000 0500 0000 0000 0000 05000000 00000000 000000000000f03f", 0x3FF0 << 48),
    ("VT_BOOL by reference", "03000000 00000000 0b40 0000 0000 0000 0b400000 04000200 0000", 0),
    ("VT_DISPATCH, NULL", "03000000 00000000 0900 0000 0000 0000 09000000 00000000", None),
    (
        "VT_DISPATCH",
        "04000000 00000000 0900 0000 0000 0000 09000000 04000200 02000000 02000000 4d45",
        MInterfacePointer(ul_cnt_data=2, ab_data=b"ME"),
    ),
    (
        "VT_DISPATCH by reference",
        "05000000 00000000 0940 0000 0000 0000 09400000 04000200 08000200 02000000 02000000 4d45",
        MInterfacePointer(ul_cnt_data=2, ab_data=b"ME"),
    ),
    (
        "VT_BSTR",
        "05000000 00000000 0800 0000 0000 0000 08000000 04000200 02000000 04000000 02000000 6100 6200",
        FlaggedWordBlob(c_bytes=4, cl_size=2, as_data=WcharText(b"a\0b\0")),
    ),
    (
        "VT_DECIMAL",
        "05000000 00000000 0e00 0000 0000 0000 0e000000 00000000 0000 02 80 00000000 7b00000000000000",
        Decimal(scale=2, sign=0x80, lo64=123),
    ),
    (
        "VT_VARIANT by reference",
        "07000000 00000000 0c40 0000 0000 0000 0c400000 04000200 08000200 00000000"
        "03000000 00000000 0300 0000 0000 0000 03000000 05000000",
        Variant(cl_size=3, vt=VariantType.VT_I4, arm=5),
    ),
)


@pytest.mark.parametrize(("name", "text", "arm"), EXAMPLES, ids=[name for name, _, _ in EXAMPLES])
def test_a_variant_is_what_its_bytes_say_and_is_written_back(name: str, text: str, arm: Any) -> None:
    data = bytes.fromhex(HEAD + text)
    read = inspect_stub(VARIANT, data)
    assert (read.error, read.anomalies, read.remainder) == (None, (), b"")
    assert read.value.arm == arm
    assert encode_stub(VARIANT, StubValue(read.value)) == data


def test_in_ndr64_the_value_is_aligned_to_eight() -> None:
    data = bytes.fromhex(
        "0000020000000000 03000000 00000000 0300 0000 0000 0000 03000000 00000000 c4090000 00000000"
    )
    read = decode_stub(VARIANT, data, NDR64)
    assert read.value == Variant(cl_size=3, vt=VariantType.VT_I4, arm=2500)
    assert encode_stub(VARIANT, StubValue(read.value), NDR64) == data


def test_a_variant_is_little_endian_in_a_stub_that_is_not() -> None:
    data = bytes.fromhex("00020000 00000000 03000000 00000000 0300 0000 0000 0000 03000000 c4090000")
    read = decode_stub(VARIANT, data, NDR_BIG_ENDIAN)
    assert read.value.arm == 2500
    assert encode_stub(VARIANT, read, NDR_BIG_ENDIAN) == data


def test_a_safearray_is_bytes_up_to_where_the_variant_ends() -> None:
    text = "05000000 00000000 1120 0000 0000 0000 00200000 0102030405060708090a0b0c0d0e0f10 11121314 00"
    data = bytes.fromhex(HEAD + text)
    read = inspect_stub(VARIANT, data)
    assert read.error is None
    assert read.value.arm == bytes(range(1, 21))
    assert read.remainder == b"\0"
    assert [one.code for one in read.anomalies] == ["ndr.opaque"]
    assert encode_stub(VARIANT, StubValue(read.value, read.residue, read.remainder)) == data


@pytest.mark.parametrize("size", [0, 2, 0xFFFFFFFF])
def test_a_safearray_that_ends_nowhere_is_an_error(size: int) -> None:
    data = bytes.fromhex(HEAD) + size.to_bytes(4, "little")
    read = inspect_stub(VARIANT, data + bytes.fromhex("00000000 1120 0000 0000 0000 00200000 01020304"))
    assert read.error is not None
    assert read.error.code in ("negative-length", "missing-bytes")
    assert read.error.path == "arm"


def test_a_discriminant_that_is_not_the_type_is_told_and_kept() -> None:
    data = bytes.fromhex(HEAD + "03000000 00000000 0300 0000 0000 0000 0b000000 05000000")
    read = inspect_stub(VARIANT, data)
    assert [one.code for one in read.anomalies] == ["ndr.union-tag"]
    assert encode_stub(VARIANT, StubValue(read.value, read.residue)) == data


def test_a_type_that_no_variant_has_is_an_error() -> None:
    read = inspect_stub(VARIANT, bytes.fromhex(HEAD + "03000000 00000000 4800 0000 0000 0000 48000000"))
    assert read.error is not None
    assert read.error.code == "unknown-selector"


def test_variants_in_variants_end_at_the_deepest_level_that_is_read() -> None:
    inner = bytes.fromhex("07000000 00000000 0c40 0000 0000 0000 0c400000 04000200 08000200 00000000")
    read = inspect_stub(VARIANT, bytes.fromhex(HEAD) + inner * (MAX_DEPTH + 2))
    assert read.error is not None
    assert read.error.code == "too-deep"


@pytest.mark.parametrize(
    ("variant", "found"),
    [
        (Variant(vt=VariantType.VT_I4, arm=5), (VariantType.VT_I4, 5)),
        (Variant(vt=VariantType.VT_I4 | BYREF, arm=5), (VariantType.VT_I4 | BYREF, 5)),
        (
            Variant(vt=VariantType.VT_VARIANT | BYREF, arm=Variant(vt=VariantType.VT_BOOL, arm=-1)),
            (VariantType.VT_BOOL, -1),
        ),
        (Variant(vt=VariantType.VT_VARIANT | BYREF, arm=NULL_POINTEE), None),
        (
            Variant(vt=VariantType.VT_DISPATCH | BYREF, arm=NULL_POINTEE),
            (VariantType.VT_DISPATCH | BYREF, None),
        ),
        (None, None),
    ],
)
def test_what_a_variant_points_at_is_its_value(variant: Variant | None, found: Any) -> None:
    assert pointed_at(variant) == found


@pytest.mark.parametrize(
    ("vt", "name"),
    [(3, "VT_I4"), (0x400B, "VT_BYREF | VT_BOOL"), (0x2011, "VT_ARRAY | VT_UI1"), (0x63, "0x0063")],
)
def test_a_type_has_a_name_with_its_flags(vt: int, name: str) -> None:
    assert variant_type_name(vt) == name


@given(
    example=st.sampled_from([text for _, text, _ in EXAMPLES]),
    changes=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), max_size=4),
    end=st.integers(0, 80),
    syntax=st.sampled_from((NDR, NDR64, NDR_BIG_ENDIAN)),
)
def test_changed_and_cut_bytes_are_written_back_or_an_error(
    example: str, changes: list[tuple[int, int]], end: int, syntax: Syntax
) -> None:
    data = bytearray(bytes.fromhex(HEAD + example))
    for place, byte in changes:
        data[place % len(data)] = byte
    cut = bytes(data[:end])
    read = inspect_stub(VARIANT, cut, syntax)
    if read.error is None:
        again = StubValue(read.value, read.residue, read.remainder)
        assert encode_stub(VARIANT, again, syntax) == cut
    else:
        assert read.error.offset <= len(cut)
