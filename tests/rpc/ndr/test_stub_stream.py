"""Reader and writer of stubs: alignment, what is kept beside the value, shortages."""

from __future__ import annotations

import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Syntax
from msmq_wire.rpc.ndr.stub_stream import (
    MAX_DEPTH,
    MAX_PROBLEMS,
    NO_RESIDUE,
    NdrReader,
    NdrWriter,
    Residue,
)


@pytest.mark.parametrize(
    ("start", "to", "end"), [(0, 8, 0), (1, 1, 1), (1, 2, 2), (1, 4, 4), (5, 8, 8), (8, 8, 8), (9, 4, 12)]
)
def test_alignment_counts_from_the_start_of_the_stub(start: int, to: int, end: int) -> None:
    reader, writer = NdrReader(bytes(16), NDR), NdrWriter(NDR)
    reader.take(start)
    writer.write(bytes(start))
    reader.align(to)
    writer.align(to)
    assert (reader.pos, writer.pos) == (end, end)
    assert reader.residue() is NO_RESIDUE


def test_a_gap_that_is_not_zero_is_kept_with_its_place() -> None:
    reader = NdrReader(b"\1\0\xbd\xbd\2", NDR)
    reader.take(1)
    reader.align(4)
    assert reader.residue() == Residue(filler=((1, b"\0\xbd\xbd"),))


def test_a_gap_that_the_end_cuts_is_counted_and_left_out_again() -> None:
    reader = NdrReader(b"\1\7", NDR)
    reader.take(1)
    reader.align(4)
    reader.align(8)
    assert reader.pos == 2
    assert reader.residue() == Residue(filler=((1, b"\7"),), missing=6)
    writer = NdrWriter(NDR, reader.residue())
    writer.write(b"\1")
    writer.align(8)
    assert writer.getvalue() == b"\1\7"


@pytest.mark.parametrize(
    ("syntax", "data", "value"),
    [
        (NDR, "01020304", 0x04030201),
        (NDR_BIG_ENDIAN, "01020304", 0x01020304),
        (NDR64, "0102030405060708", 0x0807060504030201),
    ],
)
def test_a_count_has_the_width_of_the_syntax(syntax: Syntax, data: str, value: int) -> None:
    stub = bytes.fromhex(data)
    writer = NdrWriter(syntax)
    writer.count(value)
    assert NdrReader(stub, syntax).count() == value
    assert writer.getvalue() == stub


def test_a_count_is_aligned_to_its_width() -> None:
    reader = NdrReader(bytes(8) + b"\5" + bytes(7), NDR64)
    reader.take(1)
    assert reader.count() == 5
    assert reader.pos == 16


@pytest.mark.parametrize(("syntax", "length", "needed"), [(NDR, 3, 4), (NDR64, 7, 8)])
def test_a_cut_count_says_what_it_needs(syntax: Syntax, length: int, needed: int) -> None:
    with pytest.raises(DecodeError, match=f"{needed} bytes needed, {length} left") as caught:
        NdrReader(bytes(length), syntax).count()
    assert (caught.value.code, caught.value.offset) == ("missing-bytes", 0)


def test_bytes_that_are_not_there_are_an_error_and_the_reader_stays() -> None:
    reader = NdrReader(b"abc", NDR)
    assert reader.take(2) == b"ab"
    with pytest.raises(DecodeError) as caught:
        reader.take(2)
    assert (caught.value.offset, reader.pos) == (2, 2)
    assert reader.take(1) == b"c"


def test_room_is_judged_without_reading() -> None:
    reader = NdrReader(bytes(40), NDR)
    reader.room(10, 4)
    with pytest.raises(DecodeError, match="11 elements of at least 4 bytes, 40 bytes left"):
        reader.room(11, 4)
    with pytest.raises(DecodeError):
        reader.room(2**64 - 1, 2**32)


def test_nesting_has_an_end() -> None:
    reader = NdrReader(b"", NDR)
    for _ in range(MAX_DEPTH):
        reader.enter()
    with pytest.raises(DecodeError) as caught:
        reader.enter()
    assert caught.value.code == "too-deep"


def test_problems_are_noted_only_by_who_judges_and_not_without_end() -> None:
    judging, reading = NdrReader(b"", NDR, judging=True), NdrReader(b"", NDR)
    for place in range(MAX_PROBLEMS + 10):
        judging.problem("range", "", place, 0)
        reading.problem("range", "", place, 0)
    assert [problem.offset for problem in judging.problems] == list(range(MAX_PROBLEMS))
    assert reading.problems == []


def test_restoring_a_mark_drops_the_residue_since() -> None:
    reader = NdrReader(b"\1\xff\0\0\2\0\0\0", NDR, judging=True)
    reader.take(1)
    mark = reader.mark()
    reader.align(4)
    reader.referents.append(reader.count())
    reader.counts.append((0, 1, 2))
    reader.tags.append((0, 1))
    reader.problem("range", "", 0, 0)
    reader.varying = reader.unions = reader.depth = 3
    reader.restore(mark)
    assert reader.residue() is NO_RESIDUE
    assert reader.problems == []
    assert (reader.pos, reader.depth, reader.varying, reader.unions) == (1, 0, 0, 0)


def test_referents_come_from_the_residue_then_from_the_writer() -> None:
    writer = NdrWriter(NDR, Residue(referent_ids=(7, 9)))
    assert [writer.referent() for _ in range(4)] == [7, 9, 0x00020008, 0x0002000C]


def test_counts_and_tags_of_the_residue_stand_for_those_of_the_declaration() -> None:
    writer = NdrWriter(NDR, Residue(counts=((1, 9, 2),), tags=((0, 5),)))
    assert [writer.counts(3), writer.counts(3), writer.counts(3)] == [(3, 0), (9, 2), (3, 0)]
    assert [writer.tag(1), writer.tag(1)] == [5, 1]


@pytest.mark.parametrize(
    "residue",
    [
        Residue(filler=((0, b"\1"),)),
        Residue(filler=((3, b"\1\1"),)),
        Residue(filler=((90, b"\1"),)),
        Residue(missing=4),
        Residue(missing=9),
    ],
)
def test_the_residue_of_another_value_is_refused(residue: Residue) -> None:
    writer = NdrWriter(NDR, residue)
    writer.write(b"\1")
    writer.align(4)
    with pytest.raises(EncodeError, match="residue of another value"):
        writer.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1, "-1 is not in 0 to 4294967295"),
        (1 << 32, "4294967296 is not in 0 to 4294967295"),
        (None, "a NoneType where a number belongs"),
    ],
)
def test_a_count_out_of_range_is_refused(value: int, text: str) -> None:
    with pytest.raises(EncodeError, match=f"^{text}$"):
        NdrWriter(NDR).count(value)
