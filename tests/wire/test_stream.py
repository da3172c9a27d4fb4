"""Streams that know packet offsets: bounded, and aware of bytes that were left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError
from msmq_wire.wire.stream import WireReader, WireWriter, counted

_DATA = bytes(range(10))


def test_bytes_are_taken_in_order() -> None:
    reader = WireReader(_DATA)
    assert (reader.take(3), reader.take(0), reader.take(4)) == (b"\0\1\2", b"", b"\3\4\5\6")
    assert (reader.tell(), reader.consumed, reader.remaining) == (7, 7, 3)


def test_seeking_tells_where_it_came_to() -> None:
    reader = WireReader(_DATA)
    assert [reader.seek(4), reader.seek(2, 1), reader.seek(-1, 2)] == [4, 6, 9]
    assert reader.tell() == 9


@pytest.mark.parametrize(
    ("limit", "length", "code", "partial"),
    [
        (None, 11, "missing-bytes", _DATA),
        (None, 1 << 40, "missing-bytes", _DATA),
        (4, 5, "past-packet-size", b"\0\1\2\3"),
        (0, 1, "past-packet-size", b""),
        (20, 11, "missing-bytes", _DATA),
        (10, 11, "past-packet-size", _DATA),
        (None, -1, "negative-length", None),
    ],
)
def test_a_length_that_is_not_there_is_refused_and_moves_nothing(
    limit: int | None, length: int, code: str, partial: bytes | None
) -> None:
    reader = WireReader(_DATA)
    if limit is not None:
        reader.bound(limit)
    with pytest.raises(DecodeError) as caught:
        reader.take(length)
    assert (caught.value.code, caught.value.offset, caught.value.partial) == (code, 0, partial)
    assert reader.tell() == 0


def test_a_limit_can_be_lifted() -> None:
    reader = WireReader(_DATA)
    reader.bound(4)
    assert reader.read(5) == b""
    reader.unbound()
    assert reader.read(5) == _DATA[:5]


def test_looking_ahead_moves_nothing_and_ends_at_the_limit() -> None:
    reader = WireReader(_DATA)
    reader.take(2)
    assert reader.peek(2, 2) == b"\4\5"
    reader.bound(5)
    assert reader.peek(2, 2) is None
    assert reader.tell() == 2


def test_looking_ahead_past_the_end_of_a_cut_packet_is_an_error_where_it_stands() -> None:
    reader = WireReader(_DATA)
    reader.bound(20)
    reader.take(8)
    with pytest.raises(DecodeError) as caught:
        reader.peek(4, 2)
    assert (caught.value.code, caught.value.offset <= 10) == ("missing-bytes", True)


@pytest.mark.parametrize(
    ("data", "distance"),
    [
        ("61000000", 2),
        ("0000", 0),
        ("00610000", 2),
        ("610000620000", 4),
        ("6100", -1),
        ("000061", 0),
        ("", -1),
    ],
)
def test_a_terminator_is_found_at_whole_units_only(data: str, distance: int) -> None:
    assert WireReader(bytes.fromhex(data)).find(b"\0\0", 2) == distance


def test_reading_across_a_gap_yields_the_bytes_that_are_there() -> None:
    # Ten bytes are here of a packet of fifteen: offsets 4 to 8 were left out.
    reader = WireReader(_DATA, missing=((4, 5),))
    assert reader.end == 15
    assert (reader.take(6), reader.tell(), reader.consumed) == (b"\0\1\2\3", 6, 4)
    assert (reader.take(4), reader.consumed) == (b"\4", 5)
    assert (reader.take(5), reader.remaining) == (b"\5\6\7\x08\x09", 0)


def test_a_number_that_a_gap_cuts_is_not_read() -> None:
    reader = WireReader(_DATA, missing=((2, 2),))
    assert len(reader.read(4)) < 4
    assert reader.tell() == 0


@given(
    st.binary(min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), max_size=3),
    st.lists(st.integers(0, 20), max_size=8),
)
def test_what_is_read_with_gaps_is_written_with_gaps(
    data: bytes, gaps: list[tuple[int, int]], lengths: list[int]
) -> None:
    ranges: list[tuple[int, int]] = []
    for start, length in sorted(gaps):
        if not ranges or start > sum(ranges[-1]):
            ranges.append((start, length))
    reader, writer = WireReader(data, missing=ranges), WireWriter(missing=ranges)
    for length in lengths:
        if length > reader.remaining:
            break
        absent = writer.absent(length)
        part = reader.take(length)
        assert len(part) == length - absent
        writer.write(part)
        writer.skip(absent)
        assert (writer.tell(), writer.written) == (reader.tell(), reader.consumed)
    assert writer.getvalue() == data[: reader.consumed]


def test_a_number_of_bytes_reads_well() -> None:
    assert [counted(number) for number in (0, 1, 2)] == ["0 bytes", "1 byte", "2 bytes"]
