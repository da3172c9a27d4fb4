"""Sections of a message, [MS-MQRR] 2.2.6 and 3.1.4.7: two readings of one declaration."""

from __future__ import annotations

from typing import Annotated, Any, cast

import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    DWORD,
    NDR,
    NDR64,
    NdrStruct,
    Parameters,
    StubValue,
    Syntax,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.types.section_array import PointerArray, SectionArray
from msmq_wire.wire.expressions import this
from msmq_wire.wire.types.section_buffer import SectionBuffer


class Sections(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The end of a response of R_StartReceive."""

    count: Annotated[int, DWORD] = 0
    sections: Annotated[tuple[SectionBuffer, ...] | None, SectionArray(this.count)] = None
    status: Annotated[int, DWORD] = 0


SECTIONS = Parameters(Sections)
_FIRST = SectionBuffer(section_buffer_type=1, section_size_alloc=9, section_size=2, data=b"\xaa\xbb")
_SECOND = SectionBuffer(section_buffer_type=2, section_size_alloc=1, section_size=1, data=b"\xcc")
_STATUS = "07000000"


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (
            NDR,
            "02000000 00000200 02000000"
            "0100 0000 09000000 02000000 04000200  0200 0000 01000000 01000000 08000200"
            f"02000000 aabb 0000 01000000 cc 000000 {_STATUS}",
        ),
        (
            NDR64,
            "02000000 00000000 0000020000000000 0200000000000000"
            "01000000 09000000 02000000 00000000 0400020000000000"
            "02000000 01000000 01000000 00000000 0800020000000000"
            f"0200000000000000 aabb 000000000000 0100000000000000 cc 000000 {_STATUS}",
        ),
    ],
)
def test_the_idl_has_one_array_of_structures(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    result = inspect_stub(SECTIONS, stub, syntax)
    assert result.value == Sections(count=2, sections=(_FIRST, _SECOND), status=7)
    assert type(result.value.sections) is tuple
    assert result.anomalies == ()
    assert encode_stub(SECTIONS, StubValue(result.value, result.residue), syntax) == stub
    assert decode_stub(SECTIONS, stub, syntax).value == result.value


@pytest.mark.parametrize(
    ("syntax", "start", "digits"),
    [
        (
            NDR,
            4,
            "02000000 02000000 00000200 04000200"
            "0100 0000 09000000 02000000 08000200 02000000 aabb 0000"
            f"0200 0000 01000000 01000000 0c000200 01000000 cc 000000 {_STATUS}",
        ),
        (
            NDR64,
            8,
            "02000000 00000000 0200000000000000 0000020000000000 0400020000000000"
            "01000000 09000000 02000000 00000000 0800020000000000 0200000000000000 aabb 000000000000"
            f"02000000 01000000 01000000 00000000 0c00020000000000 0100000000000000 cc 000000 {_STATUS}",
        ),
    ],
)
def test_an_array_of_pointers_is_recognised_marked_and_comes_back(
    syntax: Syntax, start: int, digits: str
) -> None:
    stub = bytes.fromhex(digits)
    result = inspect_stub(SECTIONS, stub, syntax)
    assert result.value == Sections(count=2, sections=PointerArray((_FIRST, _SECOND)), status=7)
    assert type(result.value.sections) is PointerArray
    (found,) = result.anomalies
    assert (found.code, found.path, found.offset) == ("ndr.array-of-pointers", "sections", start)
    decoded = decode_stub(SECTIONS, stub, syntax)
    assert type(decoded.value.sections) is PointerArray
    assert encode_stub(SECTIONS, decoded, syntax) == stub


def test_with_one_section_the_order_of_referent_and_count_tells() -> None:
    section = "0000 0000 02000000 02000000 04000200 02000000 aabb 0000"
    idl = bytes.fromhex(f"01000000 00000200 01000000 {section} {_STATUS}")
    other = bytes.fromhex(f"01000000 01000000 00000200 {section} {_STATUS}")
    expected = (SectionBuffer(section_buffer_type=0, section_size_alloc=2, section_size=2, data=b"\xaa\xbb"),)
    for stub, kind in ((idl, tuple), (other, PointerArray)):
        decoded = decode_stub(SECTIONS, stub)
        assert decoded.value.sections == expected
        assert type(decoded.value.sections) is kind
        assert encode_stub(SECTIONS, decoded) == stub


def test_where_both_readings_fit_the_idl_wins() -> None:
    stub = bytes.fromhex(f"01000000 01000000 01000000 0000 0000 00000000 00000000 00000000 {_STATUS}")
    result = inspect_stub(SECTIONS, stub)
    assert result.value == Sections(count=1, sections=(SectionBuffer(),), status=7)
    assert type(result.value.sections) is tuple
    assert result.anomalies == ()


@pytest.mark.parametrize("syntax", [NDR, NDR64])
def test_no_sections_are_null(syntax: Syntax) -> None:
    stub = encode_stub(SECTIONS, StubValue(Sections(status=7)), syntax)
    assert decode_stub(SECTIONS, stub, syntax).value == Sections(status=7)


def test_a_count_that_fits_neither_reading_leaves_that_of_the_idl() -> None:
    stub = bytes.fromhex(f"03000000 00000200 01000000 0000 0000 00000000 00000000 00000000 {_STATUS}")
    result = inspect_stub(SECTIONS, stub)
    assert result.value == Sections(count=3, sections=(SectionBuffer(),), status=7)
    assert [(found.code, found.path) for found in result.anomalies] == [("ndr.size-is", "sections")]
    assert encode_stub(SECTIONS, StubValue(result.value, result.residue)) == stub


def test_cut_sections_yield_the_error_and_the_part_of_the_idl() -> None:
    stub = bytes.fromhex(
        "02000000 00000200 02000000"
        "0100 0000 09000000 02000000 04000200  0200 0000 01000000 01000000 08000200 02000000 aa"
    )
    with pytest.raises(DecodeError) as caught:
        decode_stub(SECTIONS, stub)
    error = caught.value
    assert (error.path, error.offset) == ("sections[0].data", 48)
    assert cast(Any, error.partial).sections[0].data == b"\xaa"
    assert cast(Any, error.partial).sections[0].section_size_alloc == 9


def test_a_section_with_a_pointer_to_nothing_differs_from_one_with_null() -> None:
    head = "01000000 00000200 01000000 0000 0000 00000000 00000000"
    for tail in ("00000000", "04000200 00000000"):
        stub = bytes.fromhex(f"{head} {tail} {_STATUS}")
        decoded = decode_stub(SECTIONS, stub)
        assert decoded.value.sections == (SectionBuffer(),)
        assert encode_stub(SECTIONS, decoded) == stub


def test_what_is_no_section_is_refused() -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(SECTIONS, StubValue(Sections(count=1, sections=(b"data",))))  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.path == "sections[0]"
