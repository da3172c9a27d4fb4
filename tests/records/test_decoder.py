"""What is followed and what is counted, and the same records from any split of a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.reassembly.tcp_events import ACK, FIN, PSH, RST, SYN, Endpoints, TcpSegment
from msmq_wire.records.decoder import decoded
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT, endpoint
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Item, Record
from tests.hex_files import hex_bytes

PACKETS = Path(__file__).resolve().parents[2] / "fixtures" / "packets"
CLIENT, SERVER = bytes((192, 0, 2, 21)), bytes((192, 0, 2, 10))


def bytes_of(name: str) -> bytes:
    return hex_bytes(PACKETS / f"{name}.hex")


PARAMETERS = bytes_of("connection_parameters/frame_5_request")
SESSION_ACK = bytes_of("session_ack/frame_8")
MESSAGE = bytes_of("user_message/direct_destination")
PING = bytes_of("ping/frame_1_request")


def sent(
    frame: int,
    seq: int,
    payload: bytes = b"",
    *,
    flags: int = PSH | ACK,
    back: bool = False,
    port: int = 1801,
) -> TcpSegment:
    """A segment of the client, or ``back`` from the server; both number their first byte 1."""
    ends = (CLIENT, 50_000), (SERVER, port)
    (src, sport), (dst, dport) = reversed(ends) if back else ends
    return TcpSegment(src, sport, dst, dport, seq, 1, flags, payload, frame, frame * 1000)


def handshake(port: int = 1801) -> list[TcpSegment]:
    return [
        sent(1, 0, flags=SYN, port=port),
        sent(2, 0, flags=SYN | ACK, back=True, port=port),
        sent(3, 1, flags=ACK, port=port),
    ]


class Decoder:
    """A `PacketFinder` that decodes what it finds; steps of connections show with ``streams``."""

    def __init__(
        self, *, streams: bool = False, capture: str = "", ports: Collection[int] = (), first_id: int = 1
    ) -> None:
        self.finder = PacketFinder(capture=capture, ports=ports, first_id=first_id)
        self._streams = streams

    def _decoded(self, items: Iterable[Item]) -> list[Record]:
        return list(decoded(items, streams=self._streams))

    def segment(self, segment: TcpSegment) -> list[Record]:
        return self._decoded(self.finder.segment(segment))

    def datagram(
        self, src: bytes, sport: int, dst: bytes, dport: int, payload: bytes, frame: int, time: int
    ) -> list[Record]:
        return self._decoded(self.finder.datagram(src, sport, dst, dport, payload, frame, time))

    def unreachable(self, original: Endpoints, code: int, frame: int, time: int) -> list[Record]:
        return self._decoded(self.finder.unreachable(original, code, frame, time))

    def finish(self) -> list[Record]:
        return self._decoded(self.finder.finish())


def fed(decoder: Decoder, *segments: TcpSegment) -> list[Record]:
    return [record for segment in segments for record in decoder.segment(segment)]


@pytest.mark.parametrize(
    ("address", "port", "text"),
    [
        (bytes((192, 0, 2, 1)), 1801, "192.0.2.1:1801"),
        (bytes(4), 0, "0.0.0.0:0"),
        (bytes.fromhex("20010db8" + "00" * 11 + "01"), 65535, "[2001:db8::1]:65535"),
        (bytes(16), 1, "[::]:1"),
        (bytes.fromhex("20010db8000000010000000000000001"), 1801, "[2001:db8:0:1::1]:1801"),
    ],
)
def test_an_endpoint_is_written_with_brackets_around_ipv6(address: bytes, port: int, text: str) -> None:
    assert endpoint(address, port) == text


def test_a_packet_becomes_a_record_with_its_place() -> None:
    decoder = Decoder(capture="x.pcap", first_id=7)
    parameters, message = fed(
        decoder, *handshake(), sent(4, 1, PARAMETERS + MESSAGE[:50]), sent(5, 83, MESSAGE[50:])
    )
    assert (parameters.id, parameters.type, parameters.capture) == (10, "connection_parameters", "x.pcap")
    assert (parameters.frames, parameters.time, parameters.stream) == ((4,), 4000, 0)
    assert (parameters.offset, parameters.length, parameters.consumed) == (0, 32, 32)
    assert (parameters.src, parameters.dst) == ("192.0.2.21:50000", "192.0.2.10:1801")
    assert (message.id, message.type, message.frames, message.time) == (11, "user_message", (4, 5), 5000)
    assert (message.offset, message.length, message.remainder) == (32, len(MESSAGE), b"")
    assert decoder.finder.understood == 5


def test_the_other_direction_has_offsets_and_names_of_its_own() -> None:
    decoder = Decoder()
    fed(decoder, *handshake(), sent(4, 1, PARAMETERS))
    (back,) = fed(decoder, sent(5, 1, SESSION_ACK, back=True))
    assert (back.src, back.dst, back.offset) == ("192.0.2.10:1801", "192.0.2.21:50000", 0)


def test_finish_gives_the_packet_that_was_left_open() -> None:
    decoder = Decoder()
    assert fed(decoder, *handshake(), sent(4, 1, MESSAGE[:70])) == []
    (cut,) = decoder.finish()
    assert (cut.type, cut.length, cut.frames) == ("user_message", 70, (4,))
    assert cut.error is not None
    assert cut.error.code == "missing-bytes"
    assert cut.packet.user_header.message_id == 2049


def test_a_reset_ends_what_was_open_and_a_new_connection_starts_a_new_stream() -> None:
    decoder = Decoder()
    fed(decoder, *handshake(), sent(4, 1, MESSAGE[:70]))
    (cut,) = fed(decoder, sent(5, 71, flags=RST))
    assert (cut.type, cut.length, cut.stream) == ("user_message", 70, 0)
    again = [sent(6, 900, flags=SYN), sent(7, 901, SESSION_ACK)]
    (ack,) = fed(decoder, *again)
    assert (ack.type, ack.stream, ack.offset) == ("session_ack", 1, 0)


def test_a_connection_that_is_replaced_leaves_nothing_open() -> None:
    decoder = Decoder()
    for number in range(50):
        start = 10_000 * number
        # Data behind the next SYN ends the connection before it, whose packet was cut.
        found = fed(
            decoder,
            sent(2 * number + 1, start, flags=SYN),
            sent(2 * number + 2, start + 1, SESSION_ACK[:20]),
        )
        assert [record.type for record in found] == ["session_ack"] * (number > 0)
        assert len(decoder.finder.packets._framers) == 1


def test_streams_tell_the_steps_and_where_they_were_seen() -> None:
    decoder = Decoder(streams=True)
    end = [sent(5, 33, flags=FIN | ACK)]
    records = fed(decoder, *handshake(), sent(4, 1, PARAMETERS), *end)
    steps = [(record.type, record.event, record.frames) for record in records]
    assert steps == [
        ("tcp_stream", "syn", (1,)),
        ("tcp_stream", "syn_ack", (2,)),
        ("tcp_stream", "established", (3,)),
        ("connection_parameters", None, (4,)),
        ("tcp_stream", "fin", (5,)),
    ]


def test_a_step_that_is_not_shown_has_its_number_all_the_same() -> None:
    segments = [
        *handshake(),
        sent(4, 1, PARAMETERS),
        sent(5, 33, flags=FIN | ACK),
        sent(6, 1, SESSION_ACK, back=True),
    ]
    shown, all_ = fed(Decoder(), *segments), fed(Decoder(streams=True), *segments)
    assert [(record.id, record.type) for record in shown] == [
        (4, "connection_parameters"),
        (6, "session_ack"),
    ]
    assert [record.id for record in all_] == [1, 2, 3, 4, 5, 6]


def test_a_conflict_is_told_without_streams_too() -> None:
    decoder = Decoder()
    other = MESSAGE[:40] + b"\xff\xff" + MESSAGE[42:60]
    (conflict,) = fed(decoder, *handshake(), sent(4, 1, MESSAGE[:60]), sent(5, 1, other))
    assert (conflict.type, conflict.event, conflict.frames) == ("tcp_stream", "conflict", (5,))
    assert (conflict.offset, conflict.length) == (40, 2)
    (message,) = fed(decoder, sent(6, 61, MESSAGE[60:]))
    assert (message.frames, message.length) == ((4, 6), len(MESSAGE))


def test_another_port_is_followed_from_the_first_packet_with_its_handshake() -> None:
    decoder = Decoder(streams=True)
    assert fed(decoder, *handshake(2101)) == []
    records = fed(decoder, sent(4, 1, MESSAGE, port=2101))
    assert [record.event for record in records] == ["syn", "syn_ack", "established", None]
    assert records[-1].dst == "192.0.2.10:2101"
    assert (decoder.finder.understood, decoder.finder.skipped) == (4, {})
    (back,) = fed(decoder, sent(5, 1, SESSION_ACK, back=True, port=2101))
    assert back.type == "session_ack"


def test_a_port_named_is_followed_like_1801() -> None:
    decoder = Decoder(ports={2101})
    records = fed(
        decoder, *handshake(2101), sent(4, 1, MESSAGE[:9], port=2101), sent(5, 10, MESSAGE[9:], port=2101)
    )
    assert [record.type for record in records] == ["user_message"]


def test_what_is_not_followed_is_counted() -> None:
    decoder = Decoder()
    assert fed(decoder, *handshake(80), sent(4, 1, b"GET / HTTP/1.1\r\n\r\n", port=80)) == []
    assert fed(decoder, sent(5, 19, flags=ACK, port=80)) == []
    assert (decoder.finder.understood, decoder.finder.skipped, decoder.finder.notices) == (
        0,
        {"TCP, not MSMQ": 5},
        {},
    )


def test_a_handshake_without_a_word_after_it_is_counted_at_the_end() -> None:
    decoder = Decoder(streams=True)
    assert fed(decoder, *handshake(2101)) == []
    assert decoder.finder.skipped == {}
    assert decoder.finish() == []
    assert decoder.finder.skipped == {"TCP, not MSMQ": 3}


@pytest.mark.parametrize(
    ("port", "payload", "what"),
    [
        (443, b"\x16\x03\x01\x00\x05\x01\0\0\0\0", "TLS on port 443: may carry SRMP, cannot be read"),
        (8443, b"\x16\x03\x03\x00\x05\x01\0\0\0\0", "TLS on port 8443: may carry SRMP, cannot be read"),
        (443, b"\x17\x03\x03\x00\x05hello", None),
        (80, b"GET /msmq/q HTTP/1.1\r\n", None),
        (25, b"POST /other HTTP/1.1\r\n", None),
    ],
)
def test_traffic_that_may_be_msmq_is_named(port: int, payload: bytes, what: str | None) -> None:
    decoder = Decoder()
    assert fed(decoder, sent(1, 1, payload, port=port)) == []
    assert decoder.finder.notices == ({} if what is None else {what: 1})
    assert decoder.finder.skipped == {"TCP, not MSMQ": 1}


def test_a_ping_is_a_record_without_stream() -> None:
    decoder = Decoder()
    (ping,) = decoder.datagram(CLIENT, 50_000, SERVER, PING_PORT, PING, 1, 1000)
    assert (ping.type, ping.stream, ping.offset, ping.length) == ("ping", None, 0, 24)
    assert (ping.src, ping.dst) == ("192.0.2.21:50000", "192.0.2.10:3527")
    (answer,) = decoder.datagram(SERVER, PING_PORT, CLIENT, 50_000, PING, 2, 2000)
    assert answer.id == 2


def test_a_cut_ping_and_one_with_another_signature_are_pings_all_the_same() -> None:
    decoder = Decoder()
    (cut,) = decoder.datagram(CLIENT, 1, SERVER, PING_PORT, PING[:10], 1, 1000)
    assert cut.error is not None
    assert (cut.length, cut.error.code) == (10, "missing-bytes")
    (other,) = decoder.datagram(CLIENT, 1, SERVER, PING_PORT, PING[:2] + b"UH" + PING[4:], 2, 2000)
    assert other.error is None
    assert [anomaly.code for anomaly in other.anomalies] == ["ping.signature"]


def test_discovery_is_known_by_its_port_and_its_first_bytes() -> None:
    decoder = Decoder()
    request = b"\0\1\0\0" + bytes(48)
    (asked,) = decoder.datagram(CLIENT, 50_000, SERVER, 1801, request, 1, 1000)
    assert (asked.type, asked.stream, asked.length) == ("topology_client_request", None, 52)
    (cut,) = decoder.datagram(SERVER, 1801, CLIENT, 50_000, b"\0\2\0\0" + bytes(20), 2, 2000)
    assert cut.type == "topology_server_reply"
    assert cut.error is not None
    assert (cut.error.code, cut.error.path) == ("missing-bytes", "connected_network_mask")
    assert decoder.datagram(CLIENT, 50_000, SERVER, 1802, request, 3, 3000) == []


@pytest.mark.parametrize(
    ("sport", "dport", "payload", "reason"),
    [
        (53, 50_000, PING, "UDP, not MSMQ"),
        (50_000, PING_PORT, b"", "UDP port 3527, no ping"),
        (PING_PORT, 50_000, bytes(23), "UDP port 3527, no ping"),
        (1801, 53, bytes(60), "UDP port 1801, no discovery"),
        (50_000, 1801, b"", "UDP port 1801, no discovery"),
    ],
)
def test_other_datagrams_are_counted(sport: int, dport: int, payload: bytes, reason: str) -> None:
    decoder = Decoder()
    assert decoder.datagram(CLIENT, sport, SERVER, dport, payload, 1, 1000) == []
    assert (decoder.finder.understood, decoder.finder.skipped) == (0, {reason: 1})


def test_an_icmp_unreachable_is_told_of_msmq_ports_only_and_with_streams_only() -> None:
    decoder = Decoder(streams=True)
    (reported,) = decoder.unreachable((CLIENT, 50_000, SERVER, MSMQ_PORT), 3, 4, 4000)
    assert (reported.type, reported.event, reported.reason) == ("tcp_stream", "icmp_unreachable", "code 3")
    assert (reported.src, reported.dst, reported.stream) == ("192.0.2.21:50000", "192.0.2.10:1801", None)
    assert decoder.unreachable((CLIENT, 50_000, SERVER, 53), 3, 5, 5000) == []
    assert (decoder.finder.understood, decoder.finder.skipped) == (1, {"ICMP, not about MSMQ": 1})
    quiet = Decoder()
    assert quiet.unreachable((CLIENT, 50_000, SERVER, PING_PORT), 3, 1, 1000) == []
    assert (quiet.finder.understood, quiet.finder.next_id) == (1, 2)


def test_fragments_show_as_the_frames_of_what_they_carried() -> None:
    decoder = Decoder()
    fed(decoder, *handshake())
    decoder.finder.carried_by(7, (5, 6, 7))
    tail = sent(7, 11 + len(MESSAGE), SESSION_ACK[10:])
    first, second = fed(decoder, sent(4, 1, MESSAGE + SESSION_ACK[:10]), tail)
    assert first.frames == (4,)
    assert second.frames == (4, 5, 6, 7)


def test_a_file_error_is_a_record_with_the_next_number() -> None:
    decoder = Decoder(capture="x.pcap", first_id=4)
    error = decoder.finder.file_error("the file is cut", 120)
    assert (error.id, error.type, error.capture, error.reason, error.offset) == (
        4,
        "error",
        "x.pcap",
        "the file is cut",
        120,
    )
    assert (error.frames, error.time, error.src, error.stream) == ((), None, None, None)


STREAM = PARAMETERS + b"junk" + MESSAGE + SESSION_ACK + MESSAGE + SESSION_ACK


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_split_into_segments_gives_the_same_packets(cuts: list[int]) -> None:
    edges = sorted({0, len(STREAM), *cuts})
    decoder = Decoder()
    fed(decoder, *handshake())
    pieces = list(pairwise(edges))
    segments = [sent(4 + n, 1 + a, STREAM[a:b]) for n, (a, b) in enumerate(pieces)]
    records = fed(decoder, *segments) + decoder.finish()
    found = [(record.type, record.offset, record.length, record.missing) for record in records]
    size = len(MESSAGE)
    assert found == [
        ("connection_parameters", 0, 32, None),
        ("gap", 32, 4, 0),
        ("user_message", 36, size, None),
        ("session_ack", 36 + size, 36, None),
        ("user_message", 72 + size, size, None),
        ("session_ack", 72 + 2 * size, 36, None),
    ]
    # Every byte of a packet came in one of its frames.
    for record in records:
        carried = [pieces[frame - 4] for frame in record.frames]
        assert carried[0][0] <= record.offset
        assert record.offset + record.length + (record.missing or 0) <= carried[-1][1]


@given(st.binary(max_size=300), st.binary(max_size=300), st.sampled_from([1801, 2101]))
def test_any_bytes_give_records_and_every_segment_is_counted(first: bytes, second: bytes, port: int) -> None:
    decoder = Decoder()
    segments = [*handshake(port), sent(4, 1, first, port=port), sent(5, 1 + len(first), second, port=port)]
    records = fed(decoder, *segments) + decoder.finish()
    assert decoder.finder.understood + sum(decoder.finder.skipped.values()) == len(segments)
    if port == 1801:
        assert sum(record.length + (record.missing or 0) for record in records) == len(first + second)


def test_other_content_on_an_msmq_port_is_named() -> None:
    decoder = Decoder()
    fed(decoder, *handshake(), sent(4, 1, b"\x16\x03\x01\x00\x05\x01" + bytes(20)))
    (gap,) = decoder.finish()
    assert (gap.type, gap.reason, gap.length) == ("gap", "no-signature", 26)
    assert decoder.finder.notices == {"TLS on port 1801: may carry SRMP, cannot be read": 1}


def test_an_internal_packet_of_unknown_type_is_a_row_of_its_own() -> None:
    decoder = Decoder()
    unknown = SESSION_ACK[:18] + b"\x07" + SESSION_ACK[19:]
    first, second = fed(decoder, *handshake(), sent(4, 1, unknown + SESSION_ACK))
    assert (first.type, first.length, second.type) == ("unknown_packet", 36, "session_ack")
    assert first.error is not None
    assert (first.error.code, first.consumed, first.remainder) == ("packet-type", 20, unknown[20:])
    assert first.anomalies == ()


@pytest.mark.parametrize("cut", [8, 12, 16, 19])
def test_a_packet_cut_before_its_type_breaks_no_must(cut: int) -> None:
    decoder = Decoder()
    whole = sent(4, 1, PARAMETERS)
    first, gap = fed(
        decoder, *handshake(), msgspec.structs.replace(whole, payload=PARAMETERS[:cut], cut=32 - cut)
    )
    assert (first.type, first.anomalies, gap.type, gap.missing) == ("unknown_packet", (), "gap", 32 - cut)
