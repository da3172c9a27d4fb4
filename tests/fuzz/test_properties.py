"""What holds for every structure and every input; profiles in tests/conftest.py say how many."""

from __future__ import annotations

import io
import itertools
import runpy
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from msmq_wire import strategies
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.writer import write_pcap
from msmq_wire.engines.codec import InspectResult, decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.engines.reference import MAX_ANOMALIES
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.reassembly.packet_framer import FramedPacket, FramerEvent, PacketFramer
from msmq_wire.reassembly.sections import join_sections, split_sections
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from msmq_wire.wire.types.section_buffer import SectionType

_STEMS = sorted(STRUCTURES)
_ON_UDP = {"ping", "topology_client_request", "topology_server_reply"}
_ON_TCP = sorted(set(PACKETS) - {"message_packet", *_ON_UDP})
_AH = 0x2000000
_RAW_IP = 101


def _valid_examples() -> dict[str, Any]:
    """For every stem the first fixture that is whole and breaks no MUST."""
    found: dict[str, Any] = {}
    for stem, data in runpy.run_path(str(Path(__file__).with_name("seeds.py")))["fixtures"]():
        result = inspect(data, stem)
        if result.error is None and not result.anomalies and not result.remainder:
            found.setdefault(stem, result.packet)
    return found


_EXAMPLES = _valid_examples()


def _with_every_value(test: Callable[..., None]) -> Callable[..., None]:
    """Add a value of every stem to what a property draws: few hundred draws do not reach all of them."""
    for stem in _STEMS:
        test = example((stem, _EXAMPLES[stem]))(test)
    return test


def _with_every_cut(test: Callable[..., None]) -> Callable[..., None]:
    """Add bytes of every stem, without the last one, to what a property draws."""
    for stem in _STEMS:
        test = example((stem, encode(_EXAMPLES[stem])[:-1]))(test)
    return test


@st.composite
def _structures(draw: st.DrawFn, *, edge: bool = False) -> tuple[str, Any]:
    """A stem and a value of it."""
    stem = draw(st.sampled_from(_STEMS))
    event(stem)
    return stem, draw(strategies.edge(stem) if edge else strategies.structure(stem))


@st.composite
def _mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A stem and bytes that were such a structure once."""
    stem = draw(st.sampled_from(_STEMS))
    event(stem)
    return stem, draw(strategies.mutated(stem))


def _on_tcp() -> st.SearchStrategy[bytes]:
    """The bytes of a packet that travels over TCP."""
    return st.sampled_from(_ON_TCP).flatmap(strategies.structure).map(encode)


def _judge(stem: str | None, data: bytes) -> InspectResult:
    """Any bytes give a value or a DecodeError, and the bytes of a value come back."""
    result = inspect(data, stem)
    assert result.remainder == data[result.consumed :]
    assert len(result.anomalies) <= MAX_ANOMALIES
    try:
        value = decode(data, stem)
    except DecodeError as caught:
        reported = str(caught)
        assert reported == str(result.error)
        return result
    assert result.error is None
    assert encode(value) == data[: result.consumed]
    return result


@pytest.mark.slow
@_with_every_value
@given(_structures())
def test_a_valid_value_survives_the_wire_and_breaks_no_must(drawn: tuple[str, Any]) -> None:
    stem, value = drawn
    data = encode(value)
    result = inspect(data, stem)
    assert result.error is None
    assert result.packet == value
    assert result.anomalies == ()
    assert result.remainder == b""
    if isinstance(value, WireStruct):
        assert fit(value) == value


@pytest.mark.slow
@_with_every_value
@given(_structures(edge=True))
def test_a_value_at_the_ends_of_its_ranges_survives_the_wire(drawn: tuple[str, Any]) -> None:
    stem, value = drawn
    data = encode(value)
    assert decode(data, stem) == value
    assert _judge(stem, data).remainder == b""


@pytest.mark.slow
@_with_every_cut
@given(_mutated())
def test_changed_bytes_are_a_value_or_a_decode_error(drawn: tuple[str, bytes]) -> None:
    stem, data = drawn
    result = _judge(stem, data)
    event("a value" if result.error is None else result.error.code)
    if stem in PACKETS:
        _judge(None, data)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_a_value_or_a_decode_error_whatever_they_are_taken_for(data: bytes) -> None:
    for stem in (None, *_STEMS):
        _judge(stem, data)


@_with_every_cut
@given(_mutated())
def test_a_value_decoded_from_changed_bytes_fits_or_is_refused(drawn: tuple[str, bytes]) -> None:
    stem, data = drawn
    result = inspect(data, stem)
    if result.error is not None or not isinstance(result.packet, WireStruct):
        return
    try:
        fitted = fit(result.packet)
    except EncodeError:
        event("refused")
        return
    assert fit(fitted) == fitted


@pytest.mark.slow
def test_a_run_reaches_every_structure_and_draws_most_of_them() -> None:
    reported: Counter[str] = Counter()
    drawn: Counter[str] = Counter()

    def tell(case: tuple[str, Any]) -> None:
        reported[case[0]] += 1

    def draw(case: tuple[str, Any]) -> None:
        drawn[case[0]] += 1

    settings(max_examples=1, database=None)(_with_every_value(given(_structures())(tell)))()
    settings(max_examples=600, derandomize=True, database=None)(given(_structures())(draw))()
    assert set(reported) == set(_STEMS)
    assert len(drawn) > 0.8 * len(_STEMS)


@pytest.mark.slow
@given(st.lists(_on_tcp(), min_size=1, max_size=4), st.data())
def test_any_split_of_a_stream_gives_the_same_packets(packets: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(packets)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    events = _framed(stream, cuts)
    assert [event.data for event in events if isinstance(event, FramedPacket)] == packets
    assert len(events) == len(packets)
    assert all(isinstance(event, FramedPacket) and event.complete for event in events)


@pytest.mark.slow
@given(st.lists(_on_tcp() | st.binary(max_size=40), max_size=5), st.data())
def test_any_split_of_a_stream_with_noise_gives_the_same_events(
    parts: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    whole, split = _framed(stream, []), _framed(stream, cuts)
    assert [_content(event) for event in whole] == [_content(event) for event in split]
    at = 0
    for framed in whole:
        assert framed.offset == at
        at += len(framed.data) if isinstance(framed, FramedPacket) else framed.length or 0
    assert at == len(stream)


def _framed(stream: bytes, cuts: list[int]) -> list[FramerEvent]:
    framer = PacketFramer()
    events: list[FramerEvent] = []
    edges = sorted({0, *cuts, len(stream)})
    for frame, (start, stop) in enumerate(itertools.pairwise(edges), 1):
        events += framer.feed(stream[start:stop], frame, frame)
    return events + framer.finish()


def _content(framed: FramerEvent) -> tuple[Any, ...]:
    if isinstance(framed, FramedPacket):
        return framed.offset, framed.data, framed.complete
    return framed.offset, framed.length, framed.reason, framed.data


@pytest.mark.slow
@given(
    strategies.structure("message_packet"),
    st.integers(0, 100),
    st.sampled_from(("neither", "first", "second")),
)
def test_sections_put_together_are_the_packet_without_what_is_missing(
    packet: MessagePacket, limit: int, padding: Any
) -> None:
    data = encode(packet)
    sections = split_sections(data, max_body_size=limit, max_compound_message_size=limit, padding=padding)
    joined = join_sections(sections)
    expected = bytearray(data)
    for start, length in reversed(joined.missing):
        del expected[start : start + length]
    assert joined.data == expected
    assert joined.problems == ()
    assert joined.complete == (not joined.missing)
    first = sections[0]
    if first.section_buffer_type == SectionType.stFullPacket:
        event("full packet")
        assert joined.data == data
        return
    event("SRMP" if packet.user_header.flags & _AH else "binary")
    result = inspect(joined.data, "message_packet", missing=joined.missing)
    assert result.error is None
    assert encode(result.packet, missing=joined.missing) == joined.data
    for name in ("user_header", "transaction_header", "security_header", "extension_header"):
        assert getattr(result.packet, name) == getattr(packet, name)


@pytest.mark.slow
@given(st.lists(_on_tcp(), min_size=1, max_size=4), st.integers(1, 700), st.booleans())
def test_packets_written_to_a_capture_file_come_out_of_it(
    packets: list[bytes], size: int, swapped: bool
) -> None:
    stream = b"".join(packets)
    segments = [(1 + at, stream[at : at + size]) for at in range(0, len(stream), size)]
    if swapped:
        # Neighbours that overtake each other, behind the first one.
        for at in range(1, len(segments) - 1, 2):
            segments[at : at + 2] = segments[at + 1], segments[at]
    file = io.BytesIO()
    write_pcap(file, [_frame(number, seq, data) for number, (seq, data) in enumerate([(0, b""), *segments])])
    reader = CaptureReader(io.BytesIO(file.getvalue()))
    records = list(reader)
    assert [(r.offset, r.length) for r in records] == [
        (sum(map(len, packets[:index])), len(packet)) for index, packet in enumerate(packets)
    ]
    assert [encode(record.packet) for record in records] == packets
    assert reader.summary.frames == reader.summary.understood == len(segments) + 1


def _frame(number: int, seq: int, payload: bytes) -> Frame:
    """A frame of one connection over IPv4; number 0 is its SYN."""
    flags = 0x10 if number else 0x02
    tcp = struct.pack(">HHIIBBHHH", 40000, 1801, seq, 0, 5 << 4, flags, 65535, 0, 0) + payload
    ipv4 = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0)
    data = ipv4 + b"\xc0\0\2\1" + b"\xc0\0\2\2" + tcp
    return Frame(number + 1, number, _RAW_IP, data, len(data), 0)


@pytest.mark.parametrize("stem", _STEMS)
def test_no_bytes_at_all_are_nothing_or_an_error(stem: str) -> None:
    result = _judge(stem, b"")
    assert result.consumed == 0
