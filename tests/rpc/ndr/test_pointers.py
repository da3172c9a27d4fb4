"""Unique, full and embedded ref pointers, [C706] 14.3.10 to 14.3.12."""

from __future__ import annotations

import pickle
from typing import Annotated, Any, cast

import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NULL_POINTEE,
    Conformant,
    ConformantVarying,
    EmbeddedRef,
    Fields,
    Full,
    NdrStruct,
    NullPointee,
    Parameters,
    StubValue,
    Syntax,
    Unique,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.pointers import Pointer, PresentEmpty
from msmq_wire.rpc.ndr.stub_stream import Residue
from msmq_wire.wire.expressions import this


class Pair(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Two pointers around a number."""

    first: Annotated[int | None, Unique(DWORD)] = None
    middle: Annotated[int, DWORD] = 0
    second: Annotated[int | None, Unique(Unique(DWORD))] = None


class Referring(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A pointer that must not be NULL."""

    target: Annotated[int | None, EmbeddedRef(DWORD)] = 0


PAIR = Fields(Pair)
REFERRING = Fields(Referring)


@pytest.mark.parametrize("kind", [Unique, Full])
@pytest.mark.parametrize(
    ("syntax", "data", "value", "referents"),
    [
        (NDR, "00000000", None, ()),
        (NDR, "0100000007000000", 7, (1,)),
        (NDR_BIG_ENDIAN, "0000000100000007", 7, (1,)),
        (NDR64, "0000000000000000", None, ()),
        (NDR64, "010000000000008007000000", 7, (0x8000000000000001,)),
    ],
)
def test_a_pointer_is_its_pointee_or_none(
    kind: type[Pointer], syntax: Syntax, data: str, value: Any, referents: tuple[int, ...]
) -> None:
    type_, stub = kind(DWORD), bytes.fromhex(data)
    decoded = decode_stub(type_, stub, syntax)
    assert decoded == StubValue(value, Residue(referent_ids=referents))
    assert encode_stub(type_, decoded, syntax) == stub


def test_pointees_follow_the_structure_in_the_order_of_their_pointers() -> None:
    stub = bytes.fromhex("aa000000 05000000 bb000000 01000000 cc000000 02000000")
    decoded = decode_stub(PAIR, stub)
    assert decoded.value == Pair(first=1, middle=5, second=2)
    assert decoded.residue.referent_ids == (0xAA, 0xBB, 0xCC)
    assert encode_stub(PAIR, decoded) == stub


def test_pointees_of_an_array_follow_the_whole_array() -> None:
    type_ = Conformant(Unique(DWORD))
    stub = bytes.fromhex("03000000 01000000 00000000 02000000 0a000000 0b000000")
    decoded = decode_stub(type_, stub)
    assert decoded.value == (10, None, 11)
    assert encode_stub(type_, decoded) == stub


def test_a_pointer_to_a_null_pointer_is_not_null() -> None:
    type_ = Unique(Unique(DWORD))
    pointing, null = bytes.fromhex("0100000000000000"), bytes(4)
    assert decode_stub(type_, pointing).value is NULL_POINTEE
    assert decode_stub(type_, null).value is None
    assert encode_stub(type_, decode_stub(type_, pointing)) == pointing
    assert encode_stub(type_, decode_stub(type_, null)) == null


def test_the_value_of_a_pointer_to_null_is_false_and_one_of_its_kind() -> None:
    assert not NULL_POINTEE
    assert repr(NULL_POINTEE) == "NULL_POINTEE"
    assert pickle.loads(pickle.dumps(NULL_POINTEE)) is NULL_POINTEE


def test_where_null_is_no_bytes_a_pointer_to_no_bytes_still_comes_back() -> None:
    type_ = Unique(Conformant(BYTE), null=b"")
    null, empty = bytes(4), bytes.fromhex("0100000000000000")
    assert decode_stub(type_, null).value == decode_stub(type_, empty).value == b""
    assert isinstance(decode_stub(type_, empty).value, PresentEmpty)
    for stub in (null, empty):
        assert encode_stub(type_, decode_stub(type_, stub)) == stub


def test_without_residue_referents_are_made_and_differ() -> None:
    stub = encode_stub(PAIR, StubValue(Pair(first=1, middle=5, second=2)))
    assert stub == bytes.fromhex("00000200 05000000 04000200 01000000 08000200 02000000")


def test_the_same_referent_twice_is_two_values_that_come_back() -> None:
    # A unique pointer is no alias: the pointee is there twice.
    stub = bytes.fromhex("aa000000 05000000 aa000000 01000000 aa000000 02000000")
    decoded = decode_stub(PAIR, stub)
    assert decoded.value == Pair(first=1, middle=5, second=2)
    assert encode_stub(PAIR, decoded) == stub


def test_a_null_ref_pointer_is_a_problem_and_comes_back() -> None:
    result = inspect_stub(REFERRING, bytes(4))
    assert result.value == Referring(target=None)
    assert [(found.code, found.path) for found in result.anomalies] == [("ndr.ref-pointer", "target")]
    assert encode_stub(REFERRING, StubValue(result.value, result.residue)) == bytes(4)


class Counted(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An array behind a pointer, and its size behind both."""

    data: Annotated[bytes | None, Unique(Conformant(BYTE, size=this.count))] = None
    twice: Annotated[bytes | NullPointee | None, Full(Unique(ConformantVarying(BYTE, size=this.count)))] = (
        None
    )
    count: Annotated[int, DWORD] = 0


COUNTED = Fields(Counted)


@pytest.mark.parametrize(
    ("stub", "paths", "nulls"),
    [
        ("00000000 00000000 00000000", [], 0),
        ("00000000 00000000 02000000", ["data"], 1),
        ("00000000 01000000 02000000 00000000", ["data", "twice"], 2),
        ("01000000 01000000 02000000 02000000 aabb 0000 00000000", ["twice"], 1),
        ("01000000 00000000 02000000 02000000 aabb", [], 0),
        ("01000000 00000000 00000000 00000000", [], 0),
    ],
)
def test_null_where_an_array_has_a_size_is_a_problem_and_comes_back(
    stub: str, paths: list[str], nulls: int
) -> None:
    data = bytes.fromhex(stub)
    result = inspect_stub(COUNTED, data)
    assert [(found.code, found.path) for found in result.anomalies] == [
        ("ndr.null-array", path) for path in paths
    ]
    assert result.residue.nulls == nulls
    assert encode_stub(COUNTED, decode_stub(COUNTED, data)) == data


@pytest.mark.parametrize(
    ("value", "path"),
    [(Counted(count=1), "data"), (Counted(data=b"a", twice=NULL_POINTEE, count=1), "twice")],
)
def test_null_where_an_array_has_a_size_is_not_written(value: Counted, path: str) -> None:
    with pytest.raises(
        EncodeError, match="NULL where size_is says 1: give the elements, or the size 0"
    ) as caught:
        encode_stub(COUNTED, StubValue(value))
    assert caught.value.path == path
    # One more than was read is one too many.
    with pytest.raises(EncodeError):
        encode_stub(COUNTED, StubValue(Counted(twice=NULL_POINTEE, count=1), Residue(nulls=1)))


def test_null_is_no_problem_where_the_size_is_a_constant() -> None:
    result = inspect_stub(Unique(Conformant(BYTE, size=20)), bytes(4))
    assert (result.value, result.anomalies) == (None, ())


class SizedLater(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Parameters: an array, and its size behind it."""

    data: Annotated[bytes | None, Unique(Conformant(BYTE), size=this.count)] = None
    count: Annotated[int, DWORD] = 0


SIZED_LATER = Parameters(SizedLater)


@pytest.mark.parametrize(
    ("syntax", "stub", "codes"),
    [
        (NDR, "00000000 05000000", ["ndr.null-array"]),
        (NDR_BIG_ENDIAN, "00000000 00000005", ["ndr.null-array"]),
        (NDR64, "0000000000000000 05000000", ["ndr.null-array"]),
        (NDR, "00000000 00000000", []),
        (NDR, "01000000 02000000 aabb 0000 02000000", []),
    ],
)
def test_the_size_can_be_a_later_parameter(syntax: Syntax, stub: str, codes: list[str]) -> None:
    data = bytes.fromhex(stub)
    result = inspect_stub(SIZED_LATER, data, syntax)
    assert [found.code for found in result.anomalies] == codes
    assert [found.path for found in result.anomalies] == ["data"] * len(codes)
    assert encode_stub(SIZED_LATER, decode_stub(SIZED_LATER, data, syntax), syntax) == data


def test_an_embedded_ref_pointer_has_a_referent() -> None:
    stub = bytes.fromhex("0100000007000000")
    assert decode_stub(REFERRING, stub).value == Referring(target=7)
    assert encode_stub(REFERRING, decode_stub(REFERRING, stub)) == stub


def test_a_missing_pointee_names_its_pointer_and_keeps_what_was_before() -> None:
    stub = bytes.fromhex("aa000000 05000000 bb000000 01000000 cc000000 0200")
    with pytest.raises(DecodeError) as caught:
        decode_stub(PAIR, stub)
    error = caught.value
    assert (error.code, error.path, error.offset) == ("missing-bytes", "second", 20)
    assert (cast(Any, error.partial).first, cast(Any, error.partial).middle) == (1, 5)


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"first": 1 << 32}, "first"),
        ({"first": "1"}, "first"),
        ({"first": NULL_POINTEE}, "first"),
        ({"second": "1"}, "second"),
        ({"second": NULL_POINTEE, "middle": -1}, "middle"),
    ],
)
def test_a_wrong_pointee_is_refused_by_name(members: dict[str, Any], path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(PAIR, StubValue(Pair(**members)))
    assert caught.value.path == path


def test_referents_of_ndr64_do_not_fit_ndr() -> None:
    wide = StubValue(7, Residue(referent_ids=(1 << 40,)))
    with pytest.raises(EncodeError):
        encode_stub(Unique(DWORD), wide)
    with pytest.raises(EncodeError) as caught:
        encode_stub(PAIR, StubValue(Pair(first=1), wide.residue))
    assert caught.value.path == "first"
