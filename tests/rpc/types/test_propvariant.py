"""PROPVARIANT, [MS-MQMQ] 2.2.13 to 2.2.16."""

from __future__ import annotations

import struct
from typing import Any, cast

import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    Conformant,
    StubValue,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.types.propvariant import PROPVARIANT, Blob, CountedArray, PropVariant
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_GUID = GUID.parse("00112233-4455-6677-8899-aabbccddeeff")
_WIRE = "33221100554477668899aabbccddeeff"


def _head(vt: int, *, wide: bool) -> bytes:
    head = struct.pack("<HBBIH", vt, 1, 2, 3, vt)
    return head + bytes(6) if wide else head


@pytest.mark.parametrize(
    ("vt", "arm", "ndr", "ndr64"),
    [
        (0, None, "", ""),
        (1, None, "", ""),
        # NDR: one byte at once, two bytes at once, four after two, eight after six; NDR64: all after six.
        (16, -2, "fe", "fe00000000000000"),
        (17, 0xFE, "fe", "fe00000000000000"),
        (2, -2, "feff", "feff000000000000"),
        (18, 0xFFFE, "feff", "feff000000000000"),
        (11, -1, "ffff", "ffff000000000000"),
        (3, -2, "0000 feffffff", "feffffff00000000"),
        (19, 7, "0000 07000000", "0700000000000000"),
        (20, -2, "000000000000 feffffffffffffff", "feffffffffffffff"),
        (21, 7, "000000000000 0700000000000000", "0700000000000000"),
        (72, _GUID, f"0000 00000200 {_WIRE}", f"0000020000000000 {_WIRE}"),
        (72, None, "0000 00000000", "0000000000000000"),
        (
            31,
            WcharText.of("a"),
            "0000 00000200 02000000 00000000 02000000 61000000",
            "0000020000000000 0200000000000000 0000000000000000 0200000000000000 61000000",
        ),
        (
            65,
            Blob(cb_size=2, p_blob_data=b"\xaa\xbb"),
            "0000 02000000 00000200 02000000 aabb",
            "02000000 00000000 0000020000000000 0200000000000000 aabb",
        ),
        (
            0x1011,
            CountedArray(c_elems=2, p_elems=b"\xaa\xbb"),
            "0000 02000000 00000200 02000000 aabb",
            "02000000 00000000 0000020000000000 0200000000000000 aabb",
        ),
        (
            0x1013,
            CountedArray(c_elems=1, p_elems=(7,)),
            "0000 01000000 00000200 01000000 07000000",
            "01000000 00000000 0000020000000000 0100000000000000 07000000",
        ),
        (
            0x1048,
            CountedArray(c_elems=1, p_elems=(_GUID,)),
            f"0000 01000000 00000200 01000000 {_WIRE}",
            f"01000000 00000000 0000020000000000 0100000000000000 {_WIRE}",
        ),
        (
            0x101F,
            CountedArray(c_elems=2, p_elems=(None, WcharText.of("a"))),
            "0000 02000000 00000200 02000000 00000000 04000200 02000000 00000000 02000000 61000000",
            "02000000 00000000 0000020000000000 0200000000000000 0000000000000000 0400020000000000"
            "0200000000000000 0000000000000000 0200000000000000 61000000",
        ),
        (0x1012, CountedArray(), "0000 00000000 00000000", "00000000 00000000 0000000000000000"),
    ],
)
def test_every_type_of_value_lies_where_its_syntax_has_it(vt: int, arm: Any, ndr: str, ndr64: str) -> None:
    value = PropVariant(vt=vt, w_reserved1=1, w_reserved2=2, w_reserved3=3, arm=arm)
    for syntax, digits in ((NDR, ndr), (NDR64, ndr64)):
        stub = _head(vt, wide=syntax.wide) + bytes.fromhex(digits)
        decoded = decode_stub(PROPVARIANT, stub, syntax)
        assert decoded.value == value
        assert decoded.remainder == b""
        assert encode_stub(PROPVARIANT, StubValue(value), syntax) == stub
    stub = encode_stub(PROPVARIANT, StubValue(value), NDR_BIG_ENDIAN)
    assert decode_stub(PROPVARIANT, stub, NDR_BIG_ENDIAN).value == value


def test_variants_hold_variants() -> None:
    inner = PropVariant(vt=19, arm=7)
    outer = PropVariant(vt=0x100C, arm=CountedArray(c_elems=1, p_elems=(inner,)))
    stub = bytes.fromhex(
        "0c10 00 00 00000000 0c10 0000 01000000 0000020001000000 1300 00 00 00000000 1300 0000 07000000"
    )
    assert decode_stub(PROPVARIANT, stub).value == outer
    assert encode_stub(PROPVARIANT, StubValue(outer)) == stub


def test_variants_in_an_array_start_at_eights() -> None:
    array = Conformant(PROPVARIANT)
    stub = bytes.fromhex(
        "02000000 00000000 1100 00 00 00000000 1100 07 0000000000 1100 00 00 00000000 1100 08"
    )
    values = (PropVariant(vt=17, arm=7), PropVariant(vt=17, arm=8))
    assert decode_stub(array, stub).value == values
    assert encode_stub(array, StubValue(values)) == stub


def test_a_count_that_is_not_that_of_its_array_is_told() -> None:
    stub = _head(0x1011, wide=False) + bytes.fromhex("0000 03000000 00000200 02000000 aabb")
    result = inspect_stub(PROPVARIANT, stub)
    assert [(found.code, found.path, found.offset) for found in result.anomalies] == [
        ("ndr.size-is", "arm.p_elems", 20)
    ]
    assert encode_stub(PROPVARIANT, StubValue(result.value, result.residue)) == stub


@pytest.mark.parametrize("vt", [4, 5, 7, 8, 30, 0x1002, 0x2013, 0xFFFF])
def test_a_type_without_an_arm_is_an_error(vt: int) -> None:
    with pytest.raises(DecodeError, match=f"{vt} selects nothing") as caught:
        decode_stub(PROPVARIANT, _head(vt, wide=False) + bytes(30))
    assert (caught.value.code, caught.value.path, caught.value.offset) == ("unknown-selector", "arm", 8)
    assert cast(Any, caught.value.partial).vt == vt


@pytest.mark.parametrize(
    "value",
    [
        PropVariant(vt=4),
        PropVariant(vt=0, arm=1),
        PropVariant(vt=17, arm=256),
        PropVariant(vt=17, arm=None),
        PropVariant(vt=65, arm=b"blob"),
        PropVariant(vt=0x1013, arm=CountedArray(c_elems=1, p_elems=b"1234")),
        PropVariant(vt=0x100C, arm=CountedArray(c_elems=1, p_elems=(7,))),
    ],
)
def test_a_variant_that_contradicts_itself_is_refused(value: PropVariant) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(PROPVARIANT, StubValue(value))
    assert caught.value.path.startswith("arm")
