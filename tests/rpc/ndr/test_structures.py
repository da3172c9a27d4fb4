"""Structures and parameter lists, [C706] 14.3.6 and 14.4: layout, gaps, partial values, refusals."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, cast

import msgspec
import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    ENUM,
    HYPER,
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    UUID,
    WORD,
    Conformant,
    Fields,
    NdrStruct,
    Parameters,
    Ranged,
    StubValue,
    Syntax,
    Unique,
    decode_stub,
    encode_stub,
    inspect_stub,
    members,
)
from msmq_wire.rpc.ndr.stub_stream import Residue
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.types.guid import GUID, NULL_GUID


class Mixed(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Numbers of every size, out of order."""

    SPEC: ClassVar[SpecRef] = SpecRef("C706", "14.3.6")
    a: Annotated[int, BYTE, "One byte."] = 0
    b: Annotated[int, WORD, "Two."] = 0
    c: Annotated[int, BYTE, "One."] = 0
    d: Annotated[int, HYPER, "Eight."] = 0
    e: Annotated[int, ENUM, "Two, four in NDR64."] = 0


class Pointing(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A number, a pointer, a number in a range."""

    SPEC: ClassVar[SpecRef] = SpecRef("C706", "14.3.12")
    size: Annotated[int, DWORD, "Bytes."] = 0
    data: Annotated[bytes | None, Unique(Conformant(BYTE, size=this.size)), "The bytes."] = None
    last: Annotated[int, Ranged(DWORD, 0, 9), "Up to 9."] = 0

    MUSTS: ClassVar[Musts] = (Must("last", this.last != 5, at="last", message="last must not be 5"),)


class Outer(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A structure in a structure."""

    SPEC: ClassVar[SpecRef] = SpecRef("C706", "14.3.6")
    flag: Annotated[int, BYTE, "One byte."] = 0
    inner: Annotated[Pointing, Fields(Pointing), "The other."] = Pointing()
    end: Annotated[int, BYTE, "One byte."] = 0


class Listed(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Parameters."""

    SPEC: ClassVar[SpecRef] = SpecRef("C706", "14.4")
    first: Annotated[int, BYTE, "One byte."] = 0
    name: Annotated[GUID, UUID, "A GUID."] = NULL_GUID
    pointer: Annotated[int | None, Unique(DWORD), "A number or nothing."] = None
    second: Annotated[int, WORD, "Two bytes."] = 0


MIXED, POINTING, OUTER, LISTED = Fields(Mixed), Fields(Pointing), Fields(Outer), Parameters(Listed)
_GUID = GUID.parse("00112233-4455-6677-8899-aabbccddeeff")


def test_members_carry_type_value_type_and_documentation() -> None:
    found = members(Pointing)
    assert [member.name for member in found] == ["size", "data", "last"]
    assert [member.doc for member in found] == ["Bytes.", "The bytes.", "Up to 9."]
    assert found[0].type is DWORD
    assert found[0].value_type is int


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (NDR, "01 00 0200 03 000000 0400000000000000 0500"),
        (NDR_BIG_ENDIAN, "01 00 0002 03 000000 0000000000000004 0005"),
        (NDR64, "01 00 0200 03 000000 0400000000000000 05000000 00000000"),
    ],
)
def test_members_are_aligned_each_for_itself(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    decoded = decode_stub(MIXED, stub, syntax)
    assert decoded == StubValue(Mixed(a=1, b=2, c=3, d=4, e=5))
    assert encode_stub(MIXED, decoded, syntax) == stub


def test_gaps_inside_a_structure_are_kept() -> None:
    stub = bytes.fromhex("01 f1 0200 03 f2f3f4 0400000000000000 05000000 f5f6f7f8")
    decoded = decode_stub(MIXED, stub, NDR64)
    assert decoded.value == Mixed(a=1, b=2, c=3, d=4, e=5)
    assert decoded.residue == Residue(filler=((1, b"\xf1"), (5, b"\xf2\xf3\xf4"), (20, b"\xf5\xf6\xf7\xf8")))
    assert encode_stub(MIXED, decoded, NDR64) == stub


def test_the_end_of_a_structure_is_padded_in_ndr64_only() -> None:
    type_ = Conformant(MIXED)
    value = StubValue((Mixed(), Mixed()))
    assert len(encode_stub(type_, value, NDR)) == 8 + 18 + 6 + 18
    assert len(encode_stub(type_, value, NDR64)) == 8 + 24 + 24


def test_padding_that_is_missing_at_the_end_stays_missing() -> None:
    whole = encode_stub(MIXED, StubValue(Mixed(e=5)), NDR64)
    for length in range(20, 24):
        decoded = decode_stub(MIXED, whole[:length], NDR64)
        assert decoded == StubValue(Mixed(e=5), Residue(missing=24 - length))
        assert encode_stub(MIXED, decoded, NDR64) == whole[:length]


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (NDR, "01 000000 02000000 01000000 03000000 09 000000 02000000 aabb"),
        (NDR_BIG_ENDIAN, "01 000000 00000002 00000001 00000003 09 000000 00000002 aabb"),
        (
            NDR64,
            "01 00000000000000 02000000 00000000 0100000000000000 03000000 00000000"
            "09 00000000000000 0200000000000000 aabb",
        ),
    ],
)
def test_pointees_follow_the_outermost_structure(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    decoded = decode_stub(OUTER, stub, syntax)
    assert decoded.value == Outer(flag=1, inner=Pointing(size=2, data=b"\xaa\xbb", last=3), end=9)
    assert encode_stub(OUTER, decoded, syntax) == stub


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (NDR, "01 000000 33221100554477668899aabbccddeeff 01000000 07000000 0200"),
        (NDR_BIG_ENDIAN, "01 000000 00112233445566778899aabbccddeeff 00000001 00000007 0002"),
        (NDR64, "01 000000 33221100554477668899aabbccddeeff 00000000 0100000000000000 07000000 0200"),
    ],
)
def test_in_a_parameter_list_a_pointee_follows_its_pointer(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    decoded = decode_stub(LISTED, stub, syntax)
    assert decoded.value == Listed(first=1, name=_GUID, pointer=7, second=2)
    assert encode_stub(LISTED, decoded, syntax) == stub


def test_bytes_behind_the_last_parameter_are_the_remainder() -> None:
    stub = encode_stub(LISTED, StubValue(Listed(first=1))) + b"\0\0tail"
    decoded = decode_stub(LISTED, stub)
    assert decoded.remainder == b"\0\0tail"
    assert encode_stub(LISTED, decoded) == stub


@pytest.mark.parametrize(
    ("length", "path", "offset", "reached"),
    [
        (0, "flag", 0, set()),
        (1, "inner.size", 1, {"flag"}),
        (6, "inner.size", 4, {"flag"}),
        (8, "inner.data", 8, {"flag", "inner.size"}),
        (12, "inner.last", 12, {"flag", "inner.size"}),
        (16, "end", 16, {"flag", "inner.size", "inner.last"}),
        (17, "inner.data", 17, {"flag", "inner.size", "inner.last", "end"}),
        (24, "inner.data", 24, {"flag", "inner.size", "inner.last", "end"}),
        (25, "inner.data", 24, {"flag", "inner.size", "inner.last", "end", "inner.data"}),
    ],
)
def test_a_cut_structure_yields_what_was_reached(
    length: int, path: str, offset: int, reached: set[str]
) -> None:
    stub = bytes.fromhex("01 000000 02000000 01000000 03000000 09 000000 02000000 aabb")
    result = inspect_stub(OUTER, stub[:length])
    error = result.error
    assert error is not None
    assert (error.code, error.path, error.offset) == ("missing-bytes", path, offset)
    assert error.spec is not None
    assert result.remainder == b""
    found = set()
    if result.value is not None:
        for name in ("flag", "inner", "end"):
            value = getattr(result.value, name)
            if isinstance(value, Pointing):
                parts = ("size", "data", "last")
                found |= {f"inner.{part}" for part in parts if getattr(value, part) is not msgspec.UNSET}
            elif value is not msgspec.UNSET:
                found.add(name)
    assert found == reached


def test_a_partial_value_is_not_encoded() -> None:
    partial = inspect_stub(LISTED, b"\1").value
    assert partial == Listed(first=1, name=msgspec.UNSET, pointer=msgspec.UNSET, second=msgspec.UNSET)  # type: ignore[arg-type]  # what a cut leaves
    with pytest.raises(EncodeError, match="not decoded") as caught:
        encode_stub(LISTED, StubValue(partial))
    assert caught.value.path == "name"


def test_a_number_out_of_range_and_a_broken_must_have_places() -> None:
    stub = bytes.fromhex("01 000000 00000000 00000000 0a000000 09")
    anomalies = inspect_stub(OUTER, stub).anomalies
    assert [(found.code, found.path, found.offset, found.length) for found in anomalies] == [
        ("ndr.range", "inner.last", 12, 4)
    ]
    stub = bytes.fromhex("01 000000 00000000 00000000 05000000 09")
    (broken,) = inspect_stub(OUTER, stub).anomalies
    assert (broken.code, broken.path, broken.message) == (
        "pointing.last",
        "inner.last",
        "last must not be 5",
    )
    assert broken.spec == Pointing.SPEC


def test_a_problem_before_a_cut_is_told_with_its_path() -> None:
    result = inspect_stub(OUTER, bytes.fromhex("01 000000 00000000 00000000 0a000000"))
    assert result.error is not None
    assert [(found.code, found.path) for found in result.anomalies] == [("ndr.range", "inner.last")]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Outer(flag=256), "flag"),
        (Outer(flag=-1), "flag"),
        (Outer(flag="1"), "flag"),  # type: ignore[arg-type]  # wrong on purpose
        (Outer(inner=Mixed()), "inner"),  # type: ignore[arg-type]  # wrong on purpose
        (Outer(inner=Pointing(last=1 << 32)), "inner.last"),
        (Outer(inner=Pointing(data=7)), "inner.data"),  # type: ignore[arg-type]  # wrong on purpose
    ],
)
def test_a_wrong_member_is_refused_by_its_path(value: Outer, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(OUTER, StubValue(value))
    assert caught.value.path == path


def test_a_number_that_does_not_fit_is_refused_with_its_range() -> None:
    with pytest.raises(EncodeError, match=r"^256 is not in 0 to 255 at flag$"):
        encode_stub(OUTER, StubValue(Outer(flag=256)))
    with pytest.raises(EncodeError, match=r"^a str where a number belongs at flag$"):
        encode_stub(OUTER, StubValue(Outer(flag="1")))  # type: ignore[arg-type]  # wrong on purpose


def test_a_value_of_another_structure_is_refused() -> None:
    with pytest.raises(EncodeError, match="a Mixed where a Listed belongs"):
        encode_stub(LISTED, StubValue(Mixed()))


def test_a_cut_run_stops_at_the_member_that_is_cut() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_stub(MIXED, bytes.fromhex("01 00 0200 03"))
    assert (caught.value.path, caught.value.offset) == ("d", 5)
    assert (
        cast(Any, caught.value.partial).a,
        cast(Any, caught.value.partial).b,
        cast(Any, caught.value.partial).c,
    ) == (1, 2, 3)
