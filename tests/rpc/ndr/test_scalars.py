"""Numbers and GUIDs, [C706] 14.2: size, alignment, byte order, ranges."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    ENUM,
    HYPER,
    LONG,
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    SHORT,
    SMALL,
    UUID,
    WORD,
    XACTUOW,
    Ranged,
    StubValue,
    Syntax,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.scalars import SIGNED_HYPER, Scalar
from msmq_wire.wire.types.guid import GUID

_GUID = GUID.parse("00112233-4455-6677-8899-aabbccddeeff")


@pytest.mark.parametrize(
    ("type_", "value", "little", "big"),
    [
        (BYTE, 0xFE, "fe", "fe"),
        (SMALL, -2, "fe", "fe"),
        (WORD, 0x0102, "0201", "0102"),
        (SHORT, -2, "feff", "fffe"),
        (DWORD, 0x01020304, "04030201", "01020304"),
        (LONG, -2, "feffffff", "fffffffe"),
        (HYPER, 0x0102030405060708, "0807060504030201", "0102030405060708"),
        (SIGNED_HYPER, -2, "feffffffffffffff", "fffffffffffffffe"),
        (ENUM, 4, "0400", "0004"),
        (UUID, _GUID, "33221100554477668899aabbccddeeff", "00112233445566778899aabbccddeeff"),
        # Sixteen bytes that are no number: the same in both orders.
        (
            XACTUOW,
            GUID(bytes(range(16))),
            "000102030405060708090a0b0c0d0e0f",
            "000102030405060708090a0b0c0d0e0f",
        ),
    ],
)
def test_a_scalar_reads_and_writes_in_both_byte_orders(
    type_: Scalar, value: Any, little: str, big: str
) -> None:
    for syntax, digits in ((NDR, little), (NDR_BIG_ENDIAN, big)):
        data = bytes.fromhex(digits)
        decoded = decode_stub(type_, data, syntax)
        assert decoded == StubValue(value)
        assert encode_stub(type_, decoded, syntax) == data


def test_an_enumeration_has_four_bytes_in_ndr64() -> None:
    assert decode_stub(ENUM, b"\4\0\0\0", NDR64).value == 4
    assert (ENUM.size(NDR), ENUM.alignment(NDR)) == (2, 2)
    assert (ENUM.size(NDR64), ENUM.alignment(NDR64)) == (4, 4)


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64])
@pytest.mark.parametrize(
    ("type_", "alignment"),
    [(BYTE, 1), (WORD, 2), (DWORD, 4), (HYPER, 8), (UUID, 4), (XACTUOW, 1)],
)
def test_alignment_is_the_size_of_the_largest_number_in_it(
    type_: Scalar, alignment: int, syntax: Syntax
) -> None:
    assert type_.alignment(syntax) == alignment


@pytest.mark.parametrize("type_", [BYTE, WORD, DWORD, HYPER, UUID, XACTUOW])
def test_a_cut_scalar_is_an_error(type_: Scalar) -> None:
    size = type_.size(NDR)
    with pytest.raises(DecodeError, match=f"{size} bytes needed, {size - 1} left"):
        decode_stub(type_, bytes(size - 1))


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (BYTE, 256),
        (BYTE, -1),
        (SMALL, 128),
        (WORD, 65536),
        (DWORD, 1 << 32),
        (DWORD, -1),
        (HYPER, 1 << 64),
        (DWORD, "1"),
        (DWORD, None),
        (DWORD, 1.0),
        (UUID, b"short"),
        (UUID, None),
        (XACTUOW, "0011223344556677"),
    ],
)
def test_what_does_not_fit_is_refused(type_: Scalar, value: Any) -> None:
    with pytest.raises(EncodeError):
        encode_stub(type_, StubValue(value))


def test_a_signed_number_is_refused_with_its_range() -> None:
    with pytest.raises(EncodeError, match=r"^128 is not in -128 to 127$"):
        encode_stub(SMALL, StubValue(128))


@pytest.mark.parametrize(("value", "fine"), [(0, False), (1, True), (2, True), (3, False)])
def test_a_number_outside_its_range_is_kept_and_told(value: int, fine: bool) -> None:
    type_ = Ranged(DWORD, 1, 2)
    data = bytes((value, 0, 0, 0))
    result = inspect_stub(type_, data)
    assert result.value == value
    assert [(found.code, found.offset, found.length) for found in result.anomalies] == (
        [] if fine else [("ndr.range", 0, 4)]
    )
    assert encode_stub(type_, StubValue(value)) == data
