"""tshark's analysis of TCP and ours agree for each connection, but for differences that are explained.

Compared are segments sent again (tshark's retransmission, fast retransmission and spurious retransmission),
segments with a window of 0, and segments behind bytes that were not captured (tshark's lost segment).
"""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from fixtures.build_frames import ACK, FIN, PSH, SYN, TCP, Captured, ethernet, ip, packed, pcap, tcp
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import StreamEvent, TcpSegment
from msmq_wire.reassembly.tcp_flow import Connection
from msmq_wire.records.endpoint import endpoint
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Item
from tests.effort import in_batches

pytestmark = pytest.mark.tshark

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*.pcap*"))
_ENDS = ("ip.src", "ipv6.src", "tcp.srcport", "ip.dst", "ipv6.dst", "tcp.dstport")
_AGAIN = ("retransmission", "fast_retransmission", "spurious_retransmission")
_ANALYSIS = (*_AGAIN, "zero_window", "lost_segment")
_MSMQ = "192.0.2.10:1801 192.0.2.21:49731"
_HTTP = "192.0.2.10:80 192.0.2.21:49731"


class Counts(NamedTuple):
    """What one connection shows."""

    again: int = 0
    zero_windows: int = 0
    holes: int = 0


class Difference(NamedTuple):
    """A connection about which the two do not agree, and why we count otherwise."""

    ends: str
    ours: Counts
    tshark: Counts
    why: str


_SOON = "tshark calls what comes again within 3 ms out of order, also where its bytes were captured before"
_LATE = "tshark calls it spurious: the other side had acknowledged it; but nobody asked for it again, and it \
was captured once: the capture swapped two frames"
_BARE = "tshark says it of a segment without data, too, whose sequence number is behind bytes not captured, \
and calls what fills that hole sent again"
_POINTS = "10.20.1.21:49731 10.20.2.10:1801"

DIFFERENCES = {
    "captures/clean_large_message.pcap": Difference(_MSMQ, Counts(2, 0, 1), Counts(1, 0, 1), _SOON),
    "captures/path_overlap_differing_bytes.pcap": Difference(_MSMQ, Counts(1), Counts(), _SOON),
    "captures/path_retransmission_partial_overlap.pcap": Difference(_MSMQ, Counts(2), Counts(), _SOON),
    "captures/path_srmp_out_of_order.pcap": Difference(_HTTP, Counts(4, 0, 2), Counts(3, 0, 2), _SOON),
    "captures/path_srmp_late_segment.pcap": Difference(_HTTP, Counts(0, 0, 1), Counts(1, 0, 1), _LATE),
    "captures/path_srmp_response_first.pcap": Difference(_HTTP, Counts(), Counts(1), _LATE),
    "findings/FPR-SAMPLE/miss_answer.pcap": Difference(_MSMQ, Counts(), Counts(0, 0, 1), _BARE),
    "findings/NET-PATH/hit_cut/receiver.pcap": Difference(_MSMQ, Counts(), Counts(22), _LATE),
    "findings/NET-PATH/miss_recording/receiver.pcap": Difference(
        _MSMQ, Counts(0, 0, 1), Counts(19, 0, 1), _LATE
    ),
    "places/loss_between/sender.pcap": Difference(_POINTS, Counts(8, 0, 1), Counts(9, 0, 2), _BARE),
    "places/recording_lost/receiver.pcap": Difference(_POINTS, Counts(0, 0, 7), Counts(0, 0, 8), _BARE),
    "places/three_points/1_sender.pcap": Difference(_POINTS, Counts(8), Counts(11, 0, 2), _BARE),
    "places/three_points/2_firewall.pcap": Difference(_POINTS, Counts(8), Counts(11, 0, 2), _BARE),
    "places/three_points/3_receiver.pcap": Difference(_POINTS, Counts(9, 0, 5), Counts(10, 0, 6), _BARE),
    "findings/SES-NAKED/hit_lost_frames.pcap": Difference(_MSMQ, Counts(0, 0, 1), Counts(0, 0, 2), _BARE),
}
"""All connections of the fixtures about which we do not agree."""


class Segments(PacketFinder):
    """Reassembles all segments, whatever they carry, and remembers their connections."""

    def __init__(self) -> None:
        super().__init__()
        self.all = TcpReassembler()
        self.connections: dict[int, tuple[str, Connection]] = {}
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)

    def segment(self, segment: TcpSegment) -> Sequence[Item]:
        ends = (segment.src, segment.sport, segment.dst, segment.dport)
        name = " ".join(sorted((endpoint(*ends[:2]), endpoint(*ends[2:]))))
        for event in self.all.feed(segment):
            if isinstance(event, StreamEvent) and event.kind == "syn_retransmission":
                self.counts[name]["again"] += 1
        flow = self.all.flow(ends)
        if flow is not None:
            self.connections[flow.connection.stream] = (name, flow.connection)
        return []


def ours(path: Path) -> dict[str, Counts]:
    """What we count for each connection of which something was odd, by its ends."""
    finder = Segments()
    decoder = FrameDecoder(finder)
    try:
        for frame in read_frames(path):
            decoder.frame(frame)
    except CaptureError:
        assert "path_" in path.name
    for name, connection in finder.connections.values():
        for flow in connection.flows:
            side = flow.evidence
            if side is not None:
                again = side.retransmissions + side.recovered
                finder.counts[name].update(again=again, zero=side.zero_windows, holes=side.holes)
    return _odd(finder.counts)


def theirs(path: Path) -> dict[str, Counts]:
    """The same by tshark; of tunnels the innermost packet counts."""
    fields = [*_ENDS, *(f"tcp.analysis.{name}" for name in _ANALYSIS)]
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields", "-E", "occurrence=l"]
    command += [part for name in fields for part in ("-e", name)]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        src4, src6, sport, dst4, dst6, dport, *found = line.split("\t")
        ends = [
            f"{four}:{port}" if four else f"[{six}]:{port}"
            for four, six, port in ((src4, src6, sport), (dst4, dst6, dport))
        ]
        again, zero, holes = any(found[: len(_AGAIN)]), bool(found[-2]), bool(found[-1])
        counts[" ".join(sorted(ends))].update(again=again, zero=zero, holes=holes)
    return _odd(counts)


def _odd(counts: dict[str, Counter[str]]) -> dict[str, Counts]:
    found = {name: Counts(one["again"], one["zero"], one["holes"]) for name, one in counts.items()}
    return {name: one for name, one in found.items() if any(one)}


def compare(name: str) -> None:
    expected = theirs(FIXTURES / name)
    difference = DIFFERENCES.get(name)
    if difference is not None:
        assert expected.pop(difference.ends, Counts()) == difference.tshark, difference.why
        expected |= {difference.ends: difference.ours} if any(difference.ours) else {}
    assert ours(FIXTURES / name) == expected


@pytest.mark.slow
@in_batches(CAPTURES, name="name")
def test_tshark_counts_the_same_for_each_connection(name: str) -> None:
    compare(name)


@pytest.mark.parametrize(
    "name", [*DIFFERENCES, "captures/path_zero_window_probe.pcap", "sessions/silent_end.pcap"]
)
def test_where_tshark_differs_it_is_known_why(name: str) -> None:
    compare(name)


class Transfer:
    """A transfer with faults of the network, as somebody in the middle captures it: 10 ms from each side."""

    def __init__(self, seed: int, *, six: bool) -> None:
        self._source = Random(seed)
        ends = ("2001:db8::21", "2001:db8::10") if six else ("192.0.2.21", "192.0.2.10")
        self._ends = packed(ends[0]), packed(ends[1])
        self._frames: list[Captured] = []
        self._time = 1_795_166_047_000_000_000
        self.again = self.zero_windows = self.holes = 0

    def _send(
        self, side: int, flags: int, seq: int, ack: int, payload: bytes = b"", window: int = 8192
    ) -> None:
        self._time += 100_000
        src, dst = self._ends[side], self._ends[1 - side]
        sport, dport = (49731, 1801) if side == 0 else (1801, 49731)
        inside = tcp(src, sport, dst, dport, seq, ack, flags, payload, window)
        data = ethernet(ip(src, dst, TCP, inside, 1 + len(self._frames)))
        self._frames.append(Captured(data, self._time, len(data)))

    def _wait(self, ms: int) -> None:
        self._time += ms * 1_000_000

    def capture(self, rounds: int) -> bytes:
        """In each round the client sends six segments, and something happens to the second."""
        seq, peer = 1001, 9001
        self._send(0, SYN, seq - 1, 0)
        self._wait(20)
        self._send(1, SYN | ACK, peer - 1, seq)
        self._wait(20)
        self._send(0, ACK, seq, peer)
        for _ in range(rounds):
            fault = self._source.choice(("", "", "before", "behind", "acknowledgment", "full", "last"))
            payloads = [self._source.randbytes(self._source.choice((10, 500, 1460))) for _ in range(6)]
            starts = [seq + sum(map(len, payloads[:number])) for number in range(7)]
            for number, payload in enumerate(payloads):
                if (fault, number) != ("before", 1):
                    self._send(0, PSH | ACK, starts[number], peer, payload)
            self.holes += fault == "before"
            self._wait(20)
            if fault in ("before", "behind"):
                # It was lost on either side of who captures: the receiver asks for it four times.
                for _ in range(4):
                    self._send(1, ACK, peer, starts[1])
                self._wait(20)
                self._send(0, PSH | ACK, starts[1], peer, payloads[1])
                self.again += 1
                self._wait(20)
            elif fault in ("acknowledgment", "last"):
                # Nobody hears of it: the client waits, and sends it again once or twice.
                for number in range(1 + (fault == "last")):
                    self._wait(300 * 2**number)
                    self._send(0, PSH | ACK, starts[5], peer, payloads[5])
                    self.again += 1
                self._wait(20)
            elif fault == "full":
                self._send(1, ACK, peer, starts[6], window=0)
                self._wait(700)
                self.zero_windows += 1
            seq = starts[6]
            self._send(1, ACK, peer, seq)
            self._wait(20)
        self._send(0, FIN | ACK, seq, peer)
        self._wait(300)
        self._send(0, FIN | ACK, seq, peer)
        self.again += 1
        self._send(1, FIN | ACK, peer, seq + 1)
        self._send(0, ACK, seq + 1, peer + 1)
        return pcap(self._frames)


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("seed", range(3))
def test_faults_of_a_network_are_counted_as_they_were_made(seed: int, six: bool, tmp_path: Path) -> None:
    transfer = Transfer(seed, six=six)
    path = tmp_path / "transfer.pcap"
    path.write_bytes(transfer.capture(40))
    made = [Counts(transfer.again, transfer.zero_windows, transfer.holes)]
    assert min(made[0]) > 1
    assert [*ours(path).values()] == [*theirs(path).values()] == made
