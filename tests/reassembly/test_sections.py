from __future__ import annotations

import struct
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.errors import DecodeError
from msmq_wire.reassembly.sections import JoinedPacket, join_sections, split_sections
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType
from tests.effort import in_batches
from tests.hex_files import hex_bytes
from tests.wire.cases import packet_bytes

FIXTURES = Path(__file__).parents[2] / "fixtures" / "packets" / "message_packet"
FULL, BINARY_1, BINARY_2, SRMP_1, SRMP_2 = SectionType
Padding = Literal["neither", "first", "second"]
PADDINGS: tuple[Padding, ...] = ("neither", "first", "second")
NO_LIMIT = 0xFFFFFFFF
MP, AH = 0x200000, 0x2000000
BODY = 120
"""Where the body of a `message` starts: 16 bytes BaseHeader, 48 UserHeader, 56 MessagePropertiesHeader."""
TRAILER = struct.pack("<IIB3x", 12, 0, 0)
"""An ExtensionHeader that announces no other header."""


def fixture(name: str) -> bytes:
    return hex_bytes(FIXTURES / f"{name}.hex")


def message(
    body: bytes,
    trailers: bytes = TRAILER,
    *,
    pad: bytes = b"\xee",
    sent: int = 0,
    reach: int = 60,
    srmp: bool = False,
) -> bytes:
    """A message packet without queues; for SRMP the body is the Data behind an envelope of one character."""
    data = b"" if srmp else body
    size = BODY + len(body) + (28 if srmp else 0)
    fill = pad * (-size % 4)
    base = struct.pack("<BBH4sII", 0x10, 0, 3, b"LIOR", size + len(fill) + len(trailers), reach)
    user = struct.pack("<16s16sIIII", bytes(16), bytes(16), NO_LIMIT, sent, 7, MP | (AH if srmp else 0))
    sizes = (len(data), len(data), 0, 0x800E, 0x6610, 0)
    properties = struct.pack("<BBH20sII6I", 0, 0, 0, bytes(20), 0, 0, *sizes)
    packet = base + user + properties
    if srmp:
        packet += struct.pack("<HHI4s", 0, 0, 2, b"<\0\0\0") + struct.pack("<HHIII", 500, 0, len(body), 0, 0)
    return packet + body + fill + trailers


def split(
    packet: bytes, limit: int, padding: Padding = "neither", reach: Literal["keep", "absolute"] = "keep"
) -> tuple[SectionBuffer, ...]:
    return split_sections(
        packet,
        max_body_size=limit,
        max_compound_message_size=limit,
        time_to_reach_queue=reach,
        padding=padding,
    )


def section(kind: int, data: bytes, alloc: int | None = None, size: int | None = None) -> SectionBuffer:
    return SectionBuffer(
        section_buffer_type=kind,
        section_size_alloc=len(data) if alloc is None else alloc,
        section_size=len(data) if size is None else size,
        data=data,
    )


def without(packet: bytes, missing: tuple[tuple[int, int], ...]) -> bytes:
    for start, length in reversed(missing):
        packet = packet[:start] + packet[start + length :]
    return packet


def codes(joined: JoinedPacket) -> list[str]:
    return [problem.code for problem in joined.problems]


# Splitting. Sizes are (type, SectionSizeAlloc, SectionSize); then the offset where the second section starts


@pytest.mark.parametrize(
    ("packet", "limit", "padding", "sections", "second"),
    [
        # Body of 5 bytes at 150, padding at 155, 188 bytes of trailing headers from 156.
        ("trailers_inside_packet_size", 5, "neither", [(FULL, 344, 344)], None),
        ("trailers_inside_packet_size", 4, "neither", [(BINARY_1, 155, 154), (BINARY_2, 188, 188)], 156),
        ("trailers_inside_packet_size", 0, "neither", [(BINARY_1, 155, 150), (BINARY_2, 188, 188)], 156),
        ("trailers_inside_packet_size", 2, "first", [(BINARY_1, 156, 152), (BINARY_2, 188, 188)], 156),
        ("trailers_inside_packet_size", 2, "second", [(BINARY_1, 155, 152), (BINARY_2, 189, 189)], 155),
        ("trailers_inside_packet_size", 5, "first", [(FULL, 344, 344)], None),
        ("trailers_after_packet_size", 4, "neither", [(BINARY_1, 155, 154), (BINARY_2, 188, 188)], 156),
        # Body of 4 bytes at 136, and nothing behind it.
        ("without_trailers", 4, "neither", [(FULL, 140, 140)], None),
        ("without_trailers", 3, "neither", [(BINARY_1, 140, 139)], None),
        ("without_trailers", 0, "second", [(BINARY_1, 140, 136)], None),
        # CompoundMessageHeader of 16 + 60 bytes at 188, trailing headers from 264.
        ("srmp_message", 76, "neither", [(FULL, 452, 452)], None),
        ("srmp_message", 75, "neither", [(SRMP_1, 264, 263), (SRMP_2, 188, 188)], 264),
        ("srmp_message", 16, "neither", [(SRMP_1, 264, 204), (SRMP_2, 188, 188)], 264),
        ("srmp_message", 3, "neither", [(SRMP_1, 264, 204), (SRMP_2, 188, 188)], 264),
        ("srmp_message", 0, "neither", [(SRMP_1, 264, 204), (SRMP_2, 188, 188)], 264),
    ],
)
def test_a_packet_is_split_where_the_body_ends_for_the_reader(
    packet: str, limit: int, padding: Padding, sections: list[tuple[int, int, int]], second: int | None
) -> None:
    data = fixture(packet)
    found = split(data, limit, padding)
    assert [(s.section_buffer_type, s.section_size_alloc, s.section_size) for s in found] == sections
    assert found[0].data == data[: sections[0][2]]
    assert [s.data for s in found[1:]] == ([] if second is None else [data[second:]])


@pytest.mark.parametrize(
    ("length", "pad", "padding", "alloc", "second"),
    [
        (8, 0, "neither", 128, 12),
        (8, 0, "first", 128, 12),
        (8, 0, "second", 128, 12),
        (9, 3, "neither", 129, 12),
        (9, 3, "first", 132, 12),
        (9, 3, "second", 129, 15),
        (10, 2, "neither", 130, 12),
        (10, 2, "first", 132, 12),
        (10, 2, "second", 130, 14),
        (11, 1, "neither", 131, 12),
        (11, 1, "first", 132, 12),
        (11, 1, "second", 131, 13),
    ],
)
def test_the_padding_behind_the_body_goes_where_it_is_told(
    length: int, pad: int, padding: Padding, alloc: int, second: int
) -> None:
    packet = message(b"b" * length)
    first, rest = split(packet, 3, padding)
    assert (first.section_size_alloc, first.section_size, rest.section_size) == (alloc, 123, second)
    assert rest.data == packet[-second:]
    joined = join_sections([first, rest])
    assert joined.missing == ((123, length - 3 + (0 if padding == "second" else pad)),)


def test_each_limit_counts_for_its_own_kind_of_message() -> None:
    binary, srmp = message(b"b" * 8), message(b"d" * 8, srmp=True)
    assert len(split_sections(binary, max_body_size=8, max_compound_message_size=0)) == 1
    assert len(split_sections(binary, max_body_size=7, max_compound_message_size=99)) == 2
    assert len(split_sections(srmp, max_body_size=0, max_compound_message_size=24)) == 1
    assert len(split_sections(srmp, max_body_size=99, max_compound_message_size=23)) == 2


@pytest.mark.parametrize(
    ("sent", "reach", "time"),
    [
        (1_600_000_000, 60, 1_600_000_060),
        (5, NO_LIMIT, NO_LIMIT),
        (0xFFFFFFF0, 0x0E, 0xFFFFFFFE),
        (0xFFFFFFF0, 0x20, NO_LIMIT),
        (0, NO_LIMIT, NO_LIMIT),
    ],
)
@pytest.mark.parametrize("limit", [0, 8])
def test_time_to_reach_queue_becomes_a_time_in_the_first_section_only(
    sent: int, reach: int, time: int, limit: int
) -> None:
    packet = message(b"b" * 8, sent=sent, reach=reach)
    kept, absolute = split(packet, limit), split(packet, limit, reach="absolute")
    expected = packet[:12] + time.to_bytes(4, "little") + packet[16:]
    assert kept[0].data == packet[: len(kept[0].data)]
    assert absolute[0].data == expected[: len(kept[0].data)]
    assert absolute[1:] == kept[1:]


def test_what_follows_a_packet_is_in_no_section() -> None:
    packet = message(b"b" * 8)
    assert split(packet + b"next", NO_LIMIT) == (section(FULL, packet),)


@pytest.mark.parametrize(
    "data", [b"", b"\x10", fixture("without_trailers")[:100], message(b"body" * 9)[:130]]
)
def test_what_does_not_decode_is_not_split(data: bytes) -> None:
    with pytest.raises(DecodeError):
        split(data, 0)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        split(message(b""), -1)


# Joining what was split


WHOLE = sorted(path.stem for path in FIXTURES.glob("*.hex") if not path.stem.endswith("top_bit"))


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 5, 16, 17, 50, 1000, NO_LIMIT])
@in_batches(WHOLE, name="name", every=1)
def test_joined_sections_are_the_packet_without_what_is_missing(
    name: str, limit: int, padding: Padding
) -> None:
    packet = fixture(name)
    whole = decode(packet, as_="message_packet")
    joined = join_sections(split(packet, limit, padding))
    assert joined.data == without(packet, joined.missing)
    assert joined.complete is (joined.missing == ())
    assert joined.problems == ()
    found = decode(joined.data, as_="message_packet", missing=joined.missing)
    assert encode(found, missing=joined.missing) == joined.data
    for header in ("extension_header", "subqueue_header", "dead_letter_header", "extended_address_header"):
        assert getattr(found, header) == getattr(whole, header)
    assert found.soap_header == whole.soap_header
    assert found.user_header == whole.user_header
    assert found.message_properties_header.label == whole.message_properties_header.label


@given(
    st.binary(max_size=70),
    st.integers(0, 90),
    st.sampled_from(PADDINGS),
    st.sampled_from([b"", TRAILER]),
    st.booleans(),
)
def test_any_body_and_limit_split_and_join(
    body: bytes, limit: int, padding: Padding, trailers: bytes, srmp: bool
) -> None:
    packet = message(body, trailers, srmp=srmp)
    joined = join_sections(split(packet, limit, padding))
    assert joined.data == without(packet, joined.missing)
    assert joined.problems == ()
    found = decode(joined.data, as_="message_packet", missing=joined.missing)
    assert encode(found, missing=joined.missing) == joined.data
    assert (found.extension_header is not None) is bool(trailers)
    part = found.compound_message_header.data if srmp else found.message_properties_header.message_body
    assert part == body[: max(0, limit - 16) if srmp else limit]


@pytest.mark.parametrize("limit", [0, 4, 5, 7, 13, 15, 16])
@pytest.mark.parametrize("name", ["encrypted_padded", "encrypted_padded_in_its_word"])
def test_an_encrypted_body_is_cut_in_the_bytes_that_were_allocated(name: str, limit: int) -> None:
    packet = packet_bytes(f"user_message/{name}")
    start = len(packet) - 16
    first = split(packet, limit)[0]
    assert (first.section_size, first.section_size_alloc) == (start + limit, len(packet))
    joined = join_sections([first])
    assert (joined.problems, joined.complete) == ((), limit == 16)
    found = decode(joined.data, as_="message_packet", missing=joined.missing)
    assert found.message_properties_header.message_body == packet[start : start + limit]


@pytest.mark.parametrize("name", WHOLE)
def test_a_joined_packet_can_be_inspected(name: str) -> None:
    joined = join_sections(split(fixture(name), 1))
    result = inspect(joined.data, as_="message_packet", missing=joined.missing)
    assert result.error is None
    assert result.remainder == b""


def test_a_full_packet_is_complete() -> None:
    packet = message(b"body")
    assert join_sections([section(FULL, packet)]) == JoinedPacket(
        data=packet, missing=(), complete=True, problems=()
    )


def test_a_session_header_behind_packet_size_is_no_problem() -> None:
    packet = message(b"b" * 7)
    packet = packet[:2] + b"\x13" + packet[3:] + bytes(16)
    assert codes(join_sections(split(packet, NO_LIMIT))) == []
    assert codes(join_sections(split(packet, 2))) == []


# Sections that contradict themselves or each other


PACKET = message(b"b" * 9)
FIRST, SECOND = split(PACKET, 3)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        pytest.param([SECOND, FIRST], ["sections.order"], id="second before first"),
        pytest.param([FIRST, SECOND, SECOND], ["sections.count", "sections.sum"], id="three"),
        pytest.param(
            [FIRST, section(SRMP_2, SECOND.data)], ["sections.order"], id="second of the other kind"
        ),
        pytest.param(
            [section(FULL, PACKET), SECOND], ["sections.order", "sections.sum"], id="behind a full one"
        ),
        pytest.param([section(FULL, PACKET), section(FULL, b"")], ["sections.order"], id="two full ones"),
        pytest.param([section(BINARY_2, PACKET)], ["sections.order"], id="second alone"),
        pytest.param(
            [section(BINARY_1, FIRST.data, 129, 99), SECOND], ["sections.section-size"], id="size lies"
        ),
        pytest.param(
            [section(BINARY_1, FIRST.data, 100), SECOND],
            ["section_buffer.section-size-alloc", "sections.alloc", "sections.sum"],
            id="size above alloc",
        ),
        pytest.param(
            [FIRST, section(BINARY_2, SECOND.data, 13)],
            ["section_buffer.section-size-alloc-whole"],
            id="second with another alloc",
        ),
        pytest.param(
            [section(FULL, PACKET, 999)],
            ["section_buffer.section-size-alloc-whole"],
            id="full with another alloc",
        ),
        pytest.param([section(9, PACKET)], ["section_buffer.section-buffer-type"], id="unknown type"),
        pytest.param(
            [section(SRMP_1, FIRST.data, 129), SECOND],
            ["sections.order", "sections.kind", "sections.body", "sections.sum"],
            id="srmp sections of a binary message",
        ),
        pytest.param([section(FULL, PACKET[:-1])], ["sections.sum"], id="full but short"),
        pytest.param([FIRST], ["sections.sum"], id="second one lost"),
        pytest.param(
            [section(BINARY_1, FIRST.data, 130), SECOND],
            ["sections.alloc", "sections.sum"],
            id="alloc is no body",
        ),
    ],
)
def test_what_contradicts_itself_is_joined_and_told(
    sections: list[SectionBuffer], expected: list[str]
) -> None:
    joined = join_sections(sections)
    assert codes(joined) == expected
    assert sorted(joined.data) == sorted(b"".join(s.data for s in sections))


def test_a_second_section_that_comes_first_is_put_behind() -> None:
    assert join_sections([SECOND, FIRST]).data == FIRST.data + SECOND.data
    assert join_sections([SECOND, FIRST]).missing == ((123, 9),)


def test_a_problem_says_which_section_and_where_its_bytes_are() -> None:
    [problem] = join_sections([FIRST, section(BINARY_2, SECOND.data, 12, 11)]).problems[-1:]
    assert (problem.path, problem.offset, problem.length) == ("[1].section_size", 123, 12)


def test_a_packet_that_lacks_bytes_is_not_complete() -> None:
    assert not join_sections([section(FULL, PACKET[:-1])]).complete
    assert not join_sections([FIRST, SECOND]).complete


@pytest.mark.parametrize(
    ("sections", "code"),
    [
        pytest.param([], "sections", id="none"),
        pytest.param([SECOND], "signature", id="second alone"),
        pytest.param([section(FULL, b"")], "missing-bytes", id="empty"),
        pytest.param([section(FULL, PACKET[:15])], "sections", id="less than a BaseHeader"),
        pytest.param([section(BINARY_1, b"x" * 200, 300), SECOND], "signature", id="no signature"),
        pytest.param([section(FULL, PACKET[:2] + b"\x0b" + PACKET[3:])], "packet-type", id="internal packet"),
    ],
)
def test_sections_that_cannot_be_a_packet_are_an_error(sections: list[SectionBuffer], code: str) -> None:
    with pytest.raises(DecodeError) as caught:
        join_sections(sections)
    assert caught.value.code == code


@given(
    st.lists(
        st.builds(
            section,
            st.integers(0, 6),
            st.one_of(
                st.binary(max_size=40),
                st.builds(lambda n: PACKET[:n], st.integers(16, len(PACKET))),
                st.builds(
                    lambda at, b: PACKET[:at] + b + PACKET[at + len(b) :],
                    st.integers(8, 130),
                    st.binary(min_size=1, max_size=4),
                ),
            ),
            st.integers(0, 0xFFFFFFFF),
            st.integers(0, 0xFFFFFFFF),
        ),
        max_size=3,
    )
)
def test_any_sections_are_a_joined_packet_or_a_decode_error(sections: list[SectionBuffer]) -> None:
    try:
        joined = join_sections(sections)
    except DecodeError:
        return
    assert len(joined.data) == sum(len(s.data) for s in sections)
    assert all(start <= len(joined.data) and length > 0 for start, length in joined.missing)
