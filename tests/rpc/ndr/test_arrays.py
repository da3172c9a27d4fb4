"""Conformant and varying arrays and strings, [C706] 14.3.3 to 14.3.5."""

from __future__ import annotations

from typing import Annotated, Any, cast

import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    HYPER,
    LONG,
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    UUID,
    WCHAR,
    WORD,
    Conformant,
    ConformantVarying,
    Fields,
    NdrStruct,
    Parameters,
    Ranged,
    String,
    StubValue,
    Syntax,
    Unique,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.stub_stream import NO_RESIDUE, Residue
from msmq_wire.wire.expressions import this
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText


class Sized(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A size, a length and an array that goes by them."""

    size: Annotated[int, DWORD] = 0
    length: Annotated[int, DWORD] = 0
    items: Annotated[bytes, ConformantVarying(BYTE, size=this.size, length=this.length)] = b""


class Behind(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A pointer whose size is a member behind it."""

    data: Annotated[bytes | None, Unique(Conformant(BYTE, size=this.size))] = None
    size: Annotated[int, DWORD] = 0


SIZED = Parameters(Sized)
BEHIND = Fields(Behind)


def _codes(type_: Any, stub: bytes, syntax: Syntax = NDR) -> list[tuple[str, str, int, int]]:
    result = inspect_stub(type_, stub, syntax)
    assert result.error is None
    assert encode_stub(type_, StubValue(result.value, result.residue, result.remainder), syntax) == stub
    return [(found.code, found.path, found.offset, found.length) for found in result.anomalies]


@pytest.mark.parametrize(
    ("type_", "syntax", "digits", "value"),
    [
        (Conformant(BYTE), NDR, "03000000 010203", b"\1\2\3"),
        (Conformant(BYTE), NDR64, "0300000000000000 010203", b"\1\2\3"),
        (Conformant(BYTE), NDR, "00000000", b""),
        (Conformant(WORD), NDR, "02000000 0100 0200", (1, 2)),
        (Conformant(WORD), NDR_BIG_ENDIAN, "00000002 0001 0002", (1, 2)),
        (Conformant(LONG), NDR, "02000000 ffffffff 01000000", (-1, 1)),
        # max_count is aligned to 4, eight-byte elements to 8; without elements there is no gap.
        (Conformant(HYPER), NDR, "01000000 00000000 0500000000000000", (5,)),
        (Conformant(HYPER), NDR, "00000000", ()),
        (Conformant(HYPER), NDR64, "0100000000000000 0500000000000000", (5,)),
        (
            Conformant(UUID),
            NDR,
            "01000000 33221100554477668899aabbccddeeff",
            (GUID.parse("00112233-4455-6677-8899-aabbccddeeff"),),
        ),
        (
            Conformant(UUID),
            NDR_BIG_ENDIAN,
            "00000001 00112233445566778899aabbccddeeff",
            (GUID.parse("00112233-4455-6677-8899-aabbccddeeff"),),
        ),
        (Conformant(WCHAR), NDR, "02000000 6100 6200", WcharText(b"a\0b\0")),
        (Conformant(WCHAR), NDR_BIG_ENDIAN, "00000002 0061 0062", WcharText(b"a\0b\0")),
        (ConformantVarying(BYTE), NDR, "02000000 00000000 02000000 0102", b"\1\2"),
        (
            ConformantVarying(BYTE),
            NDR64,
            "0200000000000000 0000000000000000 0200000000000000 0102",
            b"\1\2",
        ),
        (String(), NDR, "02000000 00000000 02000000 6100 0000", WcharText.of("a")),
        (String(), NDR_BIG_ENDIAN, "00000002 00000000 00000002 0061 0000", WcharText.of("a")),
        (
            String(),
            NDR64,
            "0200000000000000 0000000000000000 0200000000000000 6100 0000",
            WcharText.of("a"),
        ),
    ],
)
def test_an_array_reads_and_writes(type_: Array, syntax: Syntax, digits: str, value: Any) -> None:
    stub = bytes.fromhex(digits)
    decoded = decode_stub(type_, stub, syntax)
    assert decoded == StubValue(value, NO_RESIDUE)
    assert type(decoded.value) is type(value)
    assert encode_stub(type_, decoded, syntax) == stub
    assert _codes(type_, stub, syntax) == []


def test_a_gap_in_front_of_elements_is_kept() -> None:
    stub = bytes.fromhex("01000000 deadbeef 0500000000000000")
    decoded = decode_stub(Conformant(HYPER), stub)
    assert decoded.residue == Residue(filler=((4, bytes.fromhex("deadbeef")),))
    assert encode_stub(Conformant(HYPER), decoded) == stub


def test_max_count_offset_and_length_that_agree_are_no_problem() -> None:
    stub = bytes.fromhex("03000000 02000000 03000000 00000000 02000000 aabb")
    assert _codes(SIZED, stub) == []
    assert decode_stub(SIZED, stub) == StubValue(Sized(size=3, length=2, items=b"\xaa\xbb"))


@pytest.mark.parametrize(
    ("counts", "codes", "kept"),
    [
        ("04000000 00000000 02000000", ["ndr.size-is"], (0, 4, 0)),
        ("03000000 01000000 02000000", ["ndr.array-offset"], (0, 3, 1)),
        (
            "03000000 02000000 02000000",
            ["ndr.array-offset", "ndr.past-max-count"],
            (0, 3, 2),
        ),
        ("03000000 ffffffff 02000000", ["ndr.array-offset", "ndr.past-max-count"], (0, 3, 0xFFFFFFFF)),
        ("01000000 00000000 02000000", ["ndr.size-is", "ndr.past-max-count"], (0, 1, 0)),
        ("ffffffff 00000000 02000000", ["ndr.size-is"], (0, 0xFFFFFFFF, 0)),
    ],
)
def test_counts_that_differ_from_the_declaration_are_told_and_come_back(
    counts: str, codes: list[str], kept: tuple[int, int, int]
) -> None:
    stub = bytes.fromhex(f"03000000 02000000 {counts} aabb")
    assert _codes(SIZED, stub) == [(code, "items", 8, 12) for code in codes]
    decoded = decode_stub(SIZED, stub)
    assert decoded.value.items == b"\xaa\xbb"
    assert decoded.residue == Residue(counts=(kept,))


def test_a_length_that_is_not_length_is_is_told() -> None:
    stub = bytes.fromhex("03000000 02000000 03000000 00000000 01000000 aa")
    assert _codes(SIZED, stub) == [("ndr.length-is", "items", 8, 12)]


def test_a_size_behind_its_pointer_is_compared() -> None:
    fine = bytes.fromhex("01000000 02000000 02000000 aabb")
    assert _codes(BEHIND, fine) == []
    assert decode_stub(BEHIND, fine).value == Behind(data=b"\xaa\xbb", size=2)
    lying = bytes.fromhex("01000000 03000000 02000000 aabb")
    assert _codes(BEHIND, lying) == [("ndr.size-is", "data", 8, 4)]


def test_max_count_comes_from_the_declaration_when_a_value_is_made() -> None:
    stub = encode_stub(SIZED, StubValue(Sized(size=9, length=2, items=b"\xaa\xbb")))
    assert stub == bytes.fromhex("09000000 02000000 09000000 00000000 02000000 aabb")


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64])
@pytest.mark.parametrize(
    ("type_", "element"),
    [(Conformant(WORD), 2), (Conformant(Unique(String())), 4), (Conformant(UUID), 16)],
)
def test_a_count_is_believed_only_as_far_as_bytes_are_there(
    type_: Array, element: int, syntax: Syntax
) -> None:
    count = bytes([0xFF]) * (8 if syntax.wide else 4)
    with pytest.raises(DecodeError) as caught:
        decode_stub(type_, count + bytes(64), syntax)
    assert caught.value.code == "missing-bytes"
    assert caught.value.offset == len(count)
    assert caught.value.message.endswith("64 bytes left")


@pytest.mark.parametrize(
    ("type_", "syntax", "digits", "partial"),
    [
        (Conformant(BYTE), NDR, "04000000 0102", b"\1\2"),
        (Conformant(BYTE), NDR, "04000000", None),
        (Conformant(WCHAR), NDR, "04000000 6100 6200 63", WcharText(b"a\0b\0")),
        (Conformant(WCHAR), NDR_BIG_ENDIAN, "00000004 0061 0062 00", WcharText(b"a\0b\0")),
        (String(), NDR_BIG_ENDIAN, "00000004 00000000 00000004 0061", WcharText(b"a\0")),
    ],
)
def test_what_there_is_of_cut_bytes_is_partial(
    type_: Array, syntax: Syntax, digits: str, partial: bytes | None
) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_stub(type_, bytes.fromhex(digits), syntax)
    assert caught.value.partial == partial
    assert type(caught.value.partial) is type(partial)


def test_a_cut_array_of_structures_keeps_the_elements_before() -> None:
    type_ = Conformant(BEHIND)
    stub = bytes.fromhex("02000000 01000000 01000000 02000000 02000000 01000000 aa 000000 02000000 bb")
    with pytest.raises(DecodeError) as caught:
        decode_stub(type_, stub)
    error = caught.value
    assert (error.path, error.offset) == ("[1].data", 32)
    assert cast(Any, error.partial)[0] == Behind(data=b"\xaa", size=1)
    assert cast(Any, error.partial)[1].data == b"\xbb"


def test_a_problem_in_an_element_has_its_index() -> None:
    class Limited(NdrStruct, frozen=True, kw_only=True, gc=False):
        """A number with a range."""

        number: Annotated[int, Ranged(DWORD, 0, 1)] = 0

    stub = bytes.fromhex("03000000 00000000 07000000 01000000")
    assert _codes(Conformant(Fields(Limited)), stub) == [("ndr.range", "[1].number", 8, 4)]


@pytest.mark.parametrize(("digits", "text"), [("6100", "a"), ("", ""), ("61000000 6200", "a")])
def test_a_string_without_its_terminator_is_told(digits: str, text: str) -> None:
    data = bytes.fromhex(digits)
    count = (len(data) // 2).to_bytes(4, "little")
    stub = count + bytes(4) + count + data
    assert _codes(String(), stub) == [("ndr.string-terminator", "", 0, len(stub))]
    assert decode_stub(String(), stub).value == data
    assert WcharText(data).text.partition("\0")[0] == text


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Conformant(BYTE), (1, 2)),
        (Conformant(BYTE), "ab"),
        (Conformant(BYTE), None),
        (Conformant(WCHAR), b"abc"),
        (String(), "text"),
        (Conformant(DWORD), [1, 2]),
        (Conformant(DWORD), None),
        (Conformant(DWORD), (1, 1 << 32)),
        (Conformant(DWORD), (1, None)),
        (Conformant(UUID), (b"short",)),
        (Conformant(BEHIND), (1,)),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(type_: Array, value: Any) -> None:
    with pytest.raises(EncodeError):
        encode_stub(type_, StubValue(value))


def test_the_index_of_a_wrong_element_is_told() -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(Conformant(BEHIND), StubValue((Behind(), Behind(size=-1))))
    assert caught.value.path == "[1].size"


def test_a_size_that_is_no_number_is_refused() -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(SIZED, StubValue(Sized(size="many")))  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.path == "size"
