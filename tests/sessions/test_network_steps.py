"""What a session tells of the network below it, from captures made frame by frame."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from fixtures.build_frames import (
    ACK,
    FIN,
    ICMP,
    ICMPV6,
    PSH,
    RST,
    SYN,
    TCP,
    Captured,
    ethernet,
    icmp_unreachable,
    ip,
    packed,
    pcap,
    tcp,
)
from msmq_wire.capture import chunks
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.records.record import Record
from msmq_wire.sessions import (
    ConnectionReset,
    Moment,
    NetworkEvidence,
    PacketTooBig,
    SentEvidence,
    Session,
    StoryFollower,
    follow,
)

CLIENT, SERVER, ROUTER = "192.0.2.21", "192.0.2.10", "198.51.100.1"
CLIENT6, SERVER6, ROUTER6 = "2001:db8::21", "2001:db8::10", "2001:db8:1::1"
START = 1_795_166_047_000_000_000
MS = 1_000_000
ISNS = 1000, 9000
DATA = b"\x10\0\x03\0LIOR" + (20).to_bytes(4, "little") + bytes(8)
"""A packet of the binary protocol, as far as its header says."""


@pytest.fixture(autouse=True)
def by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few frames are read by column, too, where they are to be."""
    monkeypatch.setattr(chunks, "FEW_FRAMES", 0)


class Capture:
    """Frames of one connection; the ends are those of IPv4 unless others are given."""

    def __init__(self, client: str = CLIENT, server: str = SERVER) -> None:
        self.ends = packed(client), packed(server)
        self.frames: list[Captured] = []

    def frame(self, ms: int, packet: bytes) -> int:
        data = ethernet(packet)
        self.frames.append(Captured(data, START + ms * MS, len(data)))
        return len(self.frames)

    def segment(
        self, side: int, flags: int, offset: int, payload: bytes = b"", *, acks: int = 0, window: int = 8192
    ) -> bytes:
        """A segment as an IP packet; a new one has a new identification."""
        src, dst = self.ends[side], self.ends[1 - side]
        ports = (49731, 1801) if side == 0 else (1801, 49731)
        ack = ISNS[1 - side] + 1 + acks if flags & ACK else 0
        inside = tcp(src, ports[0], dst, ports[1], ISNS[side] + 1 + offset, ack, flags, payload, window)
        return ip(src, dst, TCP, inside, 0x2100 + len(self.frames))

    def send(self, ms: int, side: int, flags: int, offset: int, payload: bytes = b"", **more: int) -> int:
        return self.frame(ms, self.segment(side, flags, offset, payload, **more))

    def open(self) -> None:
        self.send(0, 0, SYN, -1)
        self.send(1, 1, SYN | ACK, -1)
        self.send(2, 0, ACK, 0)

    def records(self, *, columns: bool = False) -> list[Record]:
        return list(CaptureReader(io.BytesIO(pcap(self.frames)), streams=True, columns=columns))

    def session(self) -> Session:
        """What is told of the one session, whichever way the capture is read."""
        told = []
        for columns in (False, True):
            follower = StoryFollower()
            for record in self.records(columns=columns):
                follower.feed(record)
            (session,) = follower.finish().sessions
            told.append(session)
        assert told[0] == told[1]
        return told[0]


def moment(record: int, frame: int, ms: int) -> Moment:
    return Moment(record, frame, START + ms * MS)


def test_a_session_of_which_nothing_was_odd_has_no_evidence() -> None:
    made = Capture()
    made.open()
    made.send(10, 0, PSH | ACK, 0, DATA)
    made.send(20, 1, ACK, 0, acks=20)
    made.send(30, 0, FIN | ACK, 20)
    made.send(31, 1, FIN | ACK, 0, acks=21)
    made.send(32, 0, ACK, 21, acks=1)
    assert made.session().network is None


def test_directions_are_those_from_the_client_and_from_the_server() -> None:
    made = Capture()
    made.open()
    made.send(10, 0, PSH | ACK, 0, DATA)
    again = made.send(310, 0, PSH | ACK, 0, DATA)
    full = made.send(320, 1, ACK, 0, acks=20, window=0)
    reset = made.send(5320, 1, RST | ACK, 0, acks=20)
    network = made.session().network
    # Records: SYN, SYN-ACK, established, the packet, the reset, the end.
    assert network == NetworkEvidence(
        directions=(
            SentEvidence(
                retransmissions=1,
                first_retransmission=moment(6, again, 310),
                last_retransmission=moment(6, again, 310),
            ),
            SentEvidence(
                zero_windows=1,
                window_closings=1,
                first_zero_window=moment(6, full, 320),
                last_zero_window=moment(6, full, 320),
                longest_zero_window=5000 * MS,
                window_closed=True,
            ),
        ),
        reset=ConnectionReset(
            at=moment(6, reset, 5320),
            direction=1,
            idle=5000 * MS,
            silent=5000 * MS,
            hop_limit=128,
            usual_hop_limit=128,
        ),
    )


def test_a_session_that_is_open_at_the_end_is_told_of_behind_all_other_records() -> None:
    made = Capture()
    made.open()
    sent = made.send(10, 0, PSH | ACK, 0, DATA)
    before = made.records()
    first = made.send(310, 0, PSH | ACK, 0, DATA)
    last = made.send(910, 0, PSH | ACK, 0, DATA)
    # The direction of the server goes on, with nothing to hold against anybody.
    records = made.records()
    assert [(one.id, one.type) for one in records[:-1]] == [(one.id, one.type) for one in before]
    assert (records[-1].id, records[-1].event) == (len(records), "capture_end")
    assert (records[-1].frames, records[-1].time) == ((), None)
    session = made.session()
    assert (session.closed_by, session.last) == ("capture_end", moment(4, sent, 10))
    assert session.network == NetworkEvidence(
        directions=(
            SentEvidence(
                retransmissions=2,
                first_retransmission=moment(5, first, 310),
                last_retransmission=moment(5, last, 910),
                unanswered=2,
                unanswered_since=moment(5, sent, 10),
                unanswered_time=900 * MS,
                idle_before=9 * MS,
                unacknowledged=20,
            ),
            SentEvidence(),
        )
    )


def test_who_sends_and_who_is_asked_does_not_depend_on_who_was_captured_first() -> None:
    made = Capture()
    made.send(0, 1, PSH | ACK, 0, DATA, acks=0)
    made.send(1, 0, ACK, 0, acks=20)
    made.send(300, 1, PSH | ACK, 0, DATA, acks=0)
    network = made.session().network
    assert network is not None
    assert [one.retransmissions for one in network.directions] == [0, 1]


def test_a_capture_that_lost_frames_is_not_certain_of_the_network() -> None:
    made = Capture()
    made.open()
    made.send(10, 0, PSH | ACK, 0, DATA)
    made.send(310, 0, PSH | ACK, 0, DATA)
    made.send(311, 1, ACK, 0, acks=4000)
    made.send(312, 1, RST | ACK, 0, acks=4000)
    network = made.session().network
    assert network is not None
    assert not network.certain


@pytest.mark.parametrize(
    ("answer", "unanswered"),
    [
        (lambda made: None, 3),
        (lambda made: made.send(9100, 1, RST | ACK, -ISNS[1] - 1), 0),
        (lambda made: made.send(9100, 1, SYN | ACK, -1), 0),
        (
            lambda made: made.frame(
                9100, ip(packed(ROUTER), made.ends[0], ICMP, icmp_unreachable(1, made.segment(0, SYN, -1)))
            ),
            0,
        ),
    ],
    ids=["nothing", "reset", "syn_ack", "icmp"],
)
def test_syns_are_unanswered_where_nothing_at_all_came_back(
    answer: Callable[[Capture], object], unanswered: int
) -> None:
    made = Capture()
    for ms in (0, 3000, 9000):
        made.send(ms, 0, SYN, -1)
    answer(made)
    network = made.session().network
    assert (0 if network is None else network.unanswered_syns) == unanswered


def test_a_syn_at_the_end_of_the_capture_is_not_unanswered() -> None:
    made = Capture()
    made.send(0, 0, SYN, -1)
    assert made.session().network is None


def too_big(made: Capture, ms: int, about: bytes, router: str, mtu: int) -> int:
    """A router says to who sent a packet that the next link takes fewer bytes."""
    four = len(made.ends[0]) == 4
    src = about[12:16] if four else about[8:24]
    head = struct.pack(">BBHHH", 3, 4, 0, 0, mtu) if four else struct.pack(">BBHI", 2, 0, 0, mtu)
    quoted = about[: 28 if four else 48]
    return made.frame(ms, ip(packed(router), src, ICMP if four else ICMPV6, head + quoted))


@pytest.mark.parametrize(
    ("client", "server", "router"), [(CLIENT, SERVER, ROUTER), (CLIENT6, SERVER6, ROUTER6)]
)
def test_a_router_says_that_packets_are_too_big(client: str, server: str, router: str) -> None:
    made = Capture(client, server)
    made.open()
    there, back = made.segment(0, PSH | ACK, 0, bytes(1460)), made.segment(1, PSH | ACK, 0, bytes(1460))
    first = too_big(made, 10, there, router, 1400)
    last = too_big(made, 310, there, router, 1400)
    other = too_big(made, 320, back, router, 1300)
    unsaid = too_big(made, 330, back, router, 0)
    session = made.session()
    assert session.network is not None
    # Records: SYN, SYN-ACK, established, then these.
    assert session.network.too_big == tuple(
        PacketTooBig(direction=direction, router=router, mtu=mtu, count=count, first=since, last=until)
        for direction, mtu, count, since, until in (
            (0, 1400, 2, moment(4, first, 10), moment(5, last, 310)),
            (1, 1300, 1, moment(6, other, 320), moment(6, other, 320)),
            (1, None, 1, moment(7, unsaid, 330), moment(7, unsaid, 330)),
        )
    )
    steps = [(one.event, one.reason, one.stream) for one in made.records()][3:]
    names = ["MTU 1400", "MTU 1400", "MTU 1300", "MTU not said"]
    assert steps == [("packet_too_big", name, None) for name in names]


def test_of_many_different_sizes_four_are_told() -> None:
    made = Capture()
    made.open()
    about = made.segment(0, PSH | ACK, 0, bytes(1460))
    for number in range(500):
        too_big(made, 10 + number, about, ROUTER, 1000 + number)
    network = made.session().network
    assert network is not None
    assert [one.mtu for one in network.too_big] == [1000, 1001, 1002, 1003]


def test_a_packet_that_is_too_big_refuses_no_connection() -> None:
    made = Capture()
    about = made.segment(0, SYN, -1)
    made.send(0, 0, SYN, -1)
    too_big(made, 1, about, ROUTER, 576)
    made.send(2, 1, SYN | ACK, -1)
    session = made.session()
    assert (session.state, session.closed_by) == ("tcp_only", "capture_end")


def test_what_is_too_big_of_another_connection_tells_nothing_of_this_one() -> None:
    made, other = Capture(), Capture("192.0.2.22")
    made.open()
    too_big(made, 10, other.segment(0, PSH | ACK, 0, bytes(1460)), ROUTER, 1400)
    assert made.session().network is None


TWO_PLACES = PointsCapture(
    SharedTraffic(points=(VantagePoint(files=("a.pcap",)), VantagePoint(files=("b.pcap",))))
)


@pytest.mark.parametrize(
    ("capture", "usual", "forged_by"), [("a.pcap", 128, "hop_limit"), (TWO_PLACES, None, None)]
)
def test_hop_limits_are_compared_at_one_place(capture: str, usual: int | None, forged_by: str | None) -> None:
    made = Capture()
    made.open()
    made.send(10, 1, PSH | ACK, 0, DATA)
    reset = bytearray(made.segment(1, RST | ACK, 20))
    reset[8] = 61
    made.frame(20, bytes(reset))
    follower = StoryFollower()
    for record in made.records():
        follower.feed(msgspec.structs.replace(record, capture=capture))
    network = follower.finish().sessions[0].network
    assert network is not None
    assert network.reset is not None
    found = network.reset.hop_limit, network.reset.usual_hop_limit, network.reset.forged_by
    assert found == (61, usual, forged_by)


def test_evidence_takes_a_part_of_the_budget() -> None:
    made = Capture()
    made.open()
    made.send(10, 0, PSH | ACK, 0, DATA)
    plain = StoryFollower()
    for record in made.records():
        plain.feed(record)
    made.send(310, 0, PSH | ACK, 0, DATA)
    odd = StoryFollower()
    for record in made.records():
        odd.feed(record)
    assert odd.taken - plain.taken >= 1000


FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize(
    ("name", "session", "direction", "counts"),
    [
        # Retransmissions, those without an answer, zero windows; all as the scenes were written.
        ("captures/path_retransmission_exact.pcap", 0, 0, (1, 0, 0)),
        ("captures/path_zero_window_probe.pcap", 0, 1, (0, 0, 2)),
        ("sessions/silent_end.pcap", 0, 1, (3, 3, 0)),
    ],
)
def test_captures_that_show_something_tell_it(
    name: str, session: int, direction: int, counts: tuple[int, int, int]
) -> None:
    network = follow(read_capture(FIXTURES / name, streams=True)).sessions[session].network
    assert network is not None
    side = network.directions[direction]
    assert (side.retransmissions, side.unanswered, side.zero_windows) == counts
