"""Frames of two vantage points as one stream: order, copies, what only one of them saw."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from msgspec.structs import replace

from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.vantage.merged_frames import MergedFrames
from msmq_wire.capture.vantage.packet_bytes import link_header, tcp_frame, udp_frame
from msmq_wire.capture.vantage.points import AddressTranslation, SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.capture.writer import write_pcap
from msmq_wire.reassembly.encapsulation import VIRTUAL_NETWORK, VLAN, part
from msmq_wire.reassembly.tcp_events import ACK, FIN, RST, SYN, Endpoints, TcpSegment
from msmq_wire.records.joined_capture import Sight, located
from tests.effort import in_batches, seeds

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_FOLDERS = ("captures", "diagnose", "digest", "rpc_captures", "sessions")
CAPTURES = sorted(path for folder in _FOLDERS for path in (_FIXTURES / folder).rglob("*.pcap*"))
_AHEAD = 3_000_000_000
_DELAY = 400_000
_MS = 1_000_000
_START = 1_700_000_000 * 1_000 * _MS
_WHOLE = Sight("whole")
CLIENT: Endpoints = (bytes((10, 0, 0, 1)), 50000, bytes((10, 0, 0, 2)), 1801)
SERVER: Endpoints = (*CLIENT[2:], *CLIENT[:2])


def segment(
    at: float,
    seq: int,
    payload: bytes = b"",
    *,
    ends: Endpoints = CLIENT,
    ack: int = 1,
    flags: int = ACK,
    path: bytes = b"",
    cut: int = 0,
    link_type: int = 1,
) -> Frame:
    """A frame at so many milliseconds."""
    carried = TcpSegment(*ends, seq, ack, flags, payload, 1, 0, cut, path)
    around = link_header(link_type, path, 4)
    assert around is not None
    data, length = tcp_frame(b"", carried, ends, around)
    return Frame(0, _START + int(at * _MS), link_type, data, length, 0)


def datagram(at: float, payload: bytes, ends: Endpoints = CLIENT) -> Frame:
    around = link_header(1, b"", 4)
    assert around is not None
    data, length = udp_frame(UdpDatagram(*ends, payload, 1, 0), ends, around)
    return Frame(0, _START + int(at * _MS), 1, data, length, 0)


def moved(frames: Iterable[Frame], by: int) -> list[Frame]:
    return [replace(one, time=one.time + by if one.time else one.time) for one in frames]


def capture_file(frames: Iterable[Frame]) -> io.BytesIO:
    file = io.BytesIO()
    write_pcap(file, frames)
    file.seek(0)
    return file


def opened(
    *points: Iterable[Frame] | bytes,
    offset: int = 0,
    translations: Sequence[AddressTranslation] = (),
    **options: int,
) -> tuple[PointsCapture, MergedFrames]:
    names = "abcd"[: len(points)]
    shared = SharedTraffic(
        points=tuple(
            VantagePoint(files=(name,), offset=offset if place else 0) for place, name in enumerate(names)
        ),
        translations=tuple(translations),
    )
    capture = PointsCapture(shared)
    given = {
        name: io.BytesIO(frames) if isinstance(frames, bytes) else capture_file(frames)
        for name, frames in zip(names, points, strict=True)
    }
    return capture, MergedFrames(capture, given=given, **options)  # type: ignore[arg-type]


class Merged:
    """Points that were merged."""

    def __init__(
        self,
        *points: Iterable[Frame] | bytes,
        translations: Sequence[AddressTranslation] = (),
        **options: int,
    ) -> None:
        self.capture, self.file = opened(*points, translations=translations, **options)
        self.frames = list(read_frames(io.BytesIO(self.file.read())))

    @property
    def segments(self) -> list[TcpSegment]:
        found = [one for frame in self.frames for one in dissect(frame)]
        return [one for one in found if isinstance(one, TcpSegment)]

    @property
    def payloads(self) -> list[bytes]:
        return [one.payload for one in self.segments]

    @property
    def places(self) -> list[tuple[str, int]]:
        return [self.capture.locate(one.number) for one in self.frames]

    def seen(self, number: int) -> list[str]:
        """What each point saw of a frame: the extent, or the reason."""
        return [one.reason or one.extent for one in self.capture.seen_at((number,))]


@in_batches(CAPTURES)
@pytest.mark.parametrize("columns", [False, True])
def test_a_later_copy_of_a_capture_changes_no_record(path: Path, columns: bool) -> None:
    frames = list(read_frames(str(path)))
    alone = list(CaptureReader(capture_file(frames), streams=True, columns=columns))
    capture, merged = opened(frames, moved(frames, _AHEAD + _DELAY), offset=-_AHEAD)
    with CaptureReader(cast("BinaryIO", merged), streams=True, columns=columns, joined=capture) as reader:
        both = [*reader, *reader.finish()]
    assert [repr(replace(located(one), capture="")) for one in both] == [
        repr(replace(one, capture="")) for one in alone
    ]
    assert merged.copies == len(frames) == reader.summary.frames
    assert all(capture.seen_at((one.number,)) == (_WHOLE, _WHOLE) for one in frames)


def test_frames_that_only_the_other_point_has_are_given_at_their_time() -> None:
    first = [segment(0, 10, b"a"), segment(20, 12, b"c")]
    second = [segment(0.4, 10, b"a"), segment(10, 11, b"b"), segment(20.4, 12, b"c")]
    both = Merged(first, second)
    assert both.payloads == [b"a", b"b", b"c"]
    assert both.places == [("a", 1), ("b", 2), ("a", 2)]
    assert both.file.copies == 2
    assert both.seen(2) == ["lost", "whole"]


def test_a_point_before_the_first_one_waits_for_it() -> None:
    frames = [segment(0, 10, b"a"), segment(1, 11, b"b"), segment(2, 12, b"c")]
    both = Merged(moved(frames, 50 * _MS), frames)
    assert both.places == [("a", 1), ("a", 2), ("a", 3)]


def test_a_retransmission_is_a_copy_of_no_other_segment() -> None:
    first = [segment(0, 10, b"ab"), segment(300, 10, b"ab")]
    for second in (first, first[1:], first[:1]):
        both = Merged(first, moved(second, _DELAY))
        assert both.places == [("a", 1), ("a", 2)]
        assert both.seen(1) == both.seen(2) == ["whole", "whole"]
    assert Merged(first[:1], moved(first, _DELAY)).places == [("a", 1), ("b", 2)]


def test_acknowledgments_are_counted_one_by_one() -> None:
    first = [segment(0, 5, ack=100), segment(1, 5, ack=100), segment(2, 5, ack=200)]
    both = Merged(first, [*first, segment(3, 5, ack=200)])
    assert both.places == [("a", 1), ("a", 2), ("a", 3), ("b", 4)]


def test_parts_of_a_large_segment_are_its_copies() -> None:
    whole = bytes(range(256)) * 20
    large = [segment(0, 1000, whole)]
    small = [segment(0.4, 1000 + at, whole[at : at + 1460]) for at in range(0, len(whole), 1460)]
    assert Merged(large, small).places == [("a", 1)]
    both = Merged(small, large)
    assert both.places == [("a", number) for number in range(1, 5)]
    assert [both.seen(number) for number in range(1, 5)] == [["whole", "whole"]] * 4
    # A sender's own capture is earlier than that of the receiver.
    assert Merged(moved(small, _MS), large).places == [("a", number) for number in range(1, 5)]


def test_of_a_large_segment_only_what_is_missing_is_given() -> None:
    whole = bytes(range(256)) * 20
    large = [segment(0, 1000, whole, flags=ACK | FIN)]
    small = [segment(0.4, 1000 + at, whole[at : at + 1460]) for at in (0, 2920)]
    both = Merged(small, large)
    assert [(one.seq, one.payload, one.flags & FIN) for one in both.segments] == [
        (2460, whole[1460:2920], 0),
        (5380, whole[4380:], FIN),
        (1000, whole[:1460], 0),
        (3920, whole[2920:4380], 0),
    ]
    assert both.places == [("b", 1), ("b", 1), ("a", 1), ("a", 2)]


def test_other_bytes_at_the_same_place_are_no_copy() -> None:
    both = Merged([segment(0, 10, b"good")], [segment(0.1, 10, b"evil"), segment(0.4, 10, b"good")])
    assert both.payloads == [b"good", b"evil"]


def test_a_whole_copy_takes_the_place_of_one_that_is_cut() -> None:
    cut, whole = segment(0, 10, b"ab", cut=4), segment(0.4, 10, b"abcdef")
    for points, place in ((([cut], [whole]), ("b", 1)), (([whole], [cut]), ("a", 1))):
        both = Merged(*points)
        assert both.payloads == [b"abcdef"]
        assert both.places == [place]
        assert both.frames[0].time == points[0][0].time


def test_a_connection_has_one_path_whatever_carries_it() -> None:
    vlan, network = part(VLAN, 7), VIRTUAL_NETWORK + b"\0\0\x05"
    for here in (b"", vlan, network, vlan + network):
        for there in (b"", vlan, network):
            first = [segment(0, 10, b"a", path=here), segment(20, 12, b"c", path=here)]
            second = [
                segment(at, 10 + number, bytes((97 + number,)), path=there)
                for number, at in enumerate((0.4, 10, 20.4))
            ]
            both = Merged(first, second)
            assert both.payloads == [b"a", b"b", b"c"]
            assert {one.path for one in both.segments} == {here}
            # Where the other point began earlier, its path stays that of the connection.
            both = Merged(first[1:], second)
            assert both.payloads == [b"a", b"b", b"c"]
            assert len({one.path for one in both.segments}) == 1


def test_copies_that_one_point_recorded_twice_are_those_of_the_first_point() -> None:
    vlan = part(VLAN, 7)
    plain = [segment(10 * at, 10 + at, b"%d" % at) for at in range(3)]
    tagged = [segment(10 * at + 0.1, 10 + at, b"%d" % at, path=vlan) for at in range(3)]
    for twice in (plain + tagged, moved(tagged, -_MS) + plain):
        twice = sorted(twice, key=lambda one: one.time or 0)
        for first, second in ((twice, plain), (plain, twice), (twice, twice)):
            both = Merged(first, second)
            assert both.places == [("a", number) for number in range(1, len(first) + 1)]
            assert both.file.copies == len(second)
            assert {one.path for one in both.segments} == ({b""} if first is plain else {b"", vlan})
            assert all(both.seen(one.number) == ["whole", "whole"] for one in both.frames)


def test_link_types_may_differ() -> None:
    for other in (0, 9, 12, 101, 108, 113, 228, 276):
        second = [segment(0.4, 10, b"a", link_type=other), segment(10, 11, b"b", link_type=other)]
        both = Merged([segment(0, 10, b"a"), segment(20, 12, b"c")], second)
        assert both.payloads == [b"a", b"b", b"c"]
        assert {one.path for one in both.segments} == {b""}


def test_translated_connections_have_the_addresses_of_the_first_point() -> None:
    outside: Endpoints = (bytes((198, 51, 100, 9)), 61000, *CLIENT[2:])
    back: Endpoints = (*outside[2:], *outside[:2])
    second = [segment(0.4, 10, b"a", ends=outside), segment(1, 1, b"b", ends=back, ack=11)]
    translations = (AddressTranslation(1, outside, CLIENT), AddressTranslation(1, back, SERVER))
    both = Merged([segment(0, 10, b"a")], second, translations=translations)
    assert both.payloads == [b"a", b"b"]
    assert [(one.src, one.sport, one.dst, one.dport) for one in both.segments] == [CLIENT, SERVER]
    # Datagrams of these hosts go through the same translation.
    first = [segment(0, 10, b"a"), datagram(2, b"ping")]
    second = [*second, datagram(2.4, b"ping", (outside[0], 4000, *outside[2:])), datagram(3, b"pong", back)]
    both = Merged(first, second, translations=translations)
    assert both.places == [("a", 1), ("b", 2), ("a", 2), ("b", 4)]
    (last,) = dissect(both.frames[-1])
    assert isinstance(last, UdpDatagram)
    assert (last.src, last.dst, last.payload) == (SERVER[0], SERVER[2], b"pong")


def test_datagrams_are_copies_where_their_payload_is_equal() -> None:
    first = [datagram(0, b"ping"), datagram(100, b"ping")]
    second = [datagram(0.4, b"ping"), datagram(50, b"pong"), datagram(100.4, b"ping")]
    assert Merged(first, second).places == [("a", 1), ("b", 2), ("a", 2)]


def test_other_frames_are_copies_where_a_router_changed_no_more_than_it_must() -> None:
    arp = Frame(0, _START, 1, bytes(12) + b"\x08\x06" + bytes(28), 42, 0)
    icmp = segment(1, 1).data[:23] + b"\x01" + segment(1, 1).data[24:34] + b"\x08\0" + bytes(30)
    echo = Frame(0, _START + _MS, 1, icmp, len(icmp), 0)
    routed = replace(echo, data=b"\x07" * 12 + icmp[12:22] + b"\x3f" + icmp[23:24] + b"\x12\x34" + icmp[26:])
    assert Merged([arp, echo], [replace(arp, data=b"\x09" * 12 + arp.data[12:]), routed]).places == [
        ("a", 1),
        ("a", 2),
    ]


def test_a_point_that_ends_early_was_not_recording() -> None:
    frames = [segment(1000 * at, 10 + at, b"x", ends=CLIENT) for at in range(4)]
    both = Merged(frames, moved(frames[:2], _DELAY))
    assert [both.seen(number) for number in range(1, 5)] == [
        ["whole", "whole"],
        ["whole", "whole"],
        ["whole", "outside"],
        ["whole", "outside"],
    ]


def test_bytes_are_absent_where_the_point_went_on_and_nobody_acknowledged_them() -> None:
    first = [segment(0, 10, b"a"), segment(1000, 11, b"b"), segment(30_000, 1, b"", ends=SERVER, ack=11)]
    second = [first[0], first[2]]
    assert Merged(first, moved(second, _DELAY)).seen(2) == ["whole", "absent"]
    # Their receiver has them: the recording lost them.
    acknowledged = [*first[:2], segment(30_000, 1, b"", ends=SERVER, ack=12)]
    assert Merged(acknowledged, moved([acknowledged[0], acknowledged[2]], _DELAY)).seen(2)[1] == "lost"
    # It sent them again, and those arrived.
    again = [*first[:2], segment(10_000, 11, b"b"), first[2]]
    assert Merged(again, moved([again[0], again[2], again[3]], _DELAY)).seen(2) == ["whole", "whole"]
    # The point saw nothing of that direction.
    other = [first[0], first[1], segment(30_000, 1, b"", ends=SERVER, ack=11)]
    assert Merged(other, moved(other[2:], -29_000 * _MS)).seen(2)[1] == "unknown"
    # Nothing says that the point went on recording.
    assert Merged(first[:2], moved([first[0], segment(1001, 1, ends=SERVER)], 1)).seen(2)[1] == "unknown"


def test_a_connection_that_a_point_never_saw_is_absent_beside_others_of_these_hosts() -> None:
    other: Endpoints = (CLIENT[0], 50001, *CLIENT[2:])
    around = [segment(0, 5, b"x", ends=other), segment(60_000, 6, b"y", ends=other)]
    syn = segment(10_000, 9, flags=SYN)
    assert Merged([around[0], syn, around[1]], around).seen(2) == ["whole", "absent"]
    assert Merged([around[0], syn, around[1]], around[:1] + moved(around[1:], 1)).seen(2)[1] == "absent"
    # Others before it only: the link may have been taken away.
    end = segment(60_000, 6, b"y", ends=(bytes((10, 0, 0, 7)), 1, bytes((10, 0, 0, 8)), 2))
    assert Merged([around[0], syn, end], [around[0], end]).seen(2)[1] == "unknown"


def test_a_reset_that_one_point_did_not_see_is_absent_there() -> None:
    frames = [segment(0, 10, b"a"), segment(500, 11, flags=RST), segment(60_000, 12, b"z")]
    assert Merged(frames, [frames[0], frames[2]]).seen(2) == ["whole", "absent"]


def test_acknowledgments_alone_are_never_absent() -> None:
    frames = [segment(0, 10, b"a"), segment(500, 11, ack=5), segment(60_000, 11, b"z")]
    assert Merged(frames, [frames[0], frames[2]]).seen(2) == ["whole", "unknown"]


def test_the_time_between_two_points_is_taken_of_what_both_saw() -> None:
    def routed(frame: Frame) -> Frame:
        return replace(frame, data=frame.data[:22] + bytes((frame.data[22] - 2,)) + frame.data[23:])

    sent = [segment(at, 10 + at, b"x") for at in range(3)]
    answers = [segment(10 + at, 1 + at, b"y", ends=SERVER) for at in range(2)]
    there = [routed(one) for one in moved(sent, 2 * _MS)] + moved(answers, -_MS)
    both = Merged(sent + answers, there)
    found = {ends: (points, one) for ends, points, one in both.capture.transits.all()}
    points, forth = found["10.0.0.1", "10.0.0.2"]
    assert points == (0, 1)
    assert (forth.count, forth.smallest, forth.largest, forth.fell) == (3, 2 * _MS, 2 * _MS, 3)
    _, back = found["10.0.0.2", "10.0.0.1"]
    assert (back.count, back.median, back.fell, back.rose) == (2, -_MS, 0, 0)


def test_drift_is_taken_away() -> None:
    frames = [segment(1000 * at, 10 + at, b"%d" % at) for at in range(100)]
    slow = [replace(one, time=_START + ((one.time or 0) - _START) * 9 // 10) for one in frames]
    point = VantagePoint(files=("b",), drift=1_000_000_000 // 9, at=_START)
    capture = PointsCapture(SharedTraffic(points=(VantagePoint(files=("a",)), point)))
    merged = MergedFrames(capture, given={"a": capture_file(frames), "b": capture_file(slow)})
    assert len(list(read_frames(io.BytesIO(merged.read())))) == 100
    assert merged.copies == 100


def test_frames_out_of_order_do_not_hold_up_the_others() -> None:
    first = [segment(at, 10 + at, b"%d" % (at % 10)) for at in range(50)]
    swapped = list(first)
    swapped[10], swapped[11] = swapped[11], swapped[10]
    far = replace(segment(20.5, 99, b"?"), time=4_000_000_000 * 1_000 * _MS)
    both = Merged([*swapped[:20], far, *swapped[20:]], moved(first, _DELAY))
    assert both.file.copies == 50
    assert len(both.frames) == 51


def test_what_waits_is_bounded_by_bytes() -> None:
    payload = bytes(1000)
    frames = [segment(at / 100, 10 + 1000 * at, payload) for at in range(300)]
    late = moved(frames, 4_000 * _MS)
    both = Merged(frames, [datagram(-1, b"first"), *late], held_bytes=20_000)
    # Copies of what was given already are known by their sums.
    assert both.places == [("b", 1), *(("a", number) for number in range(1, 301))]
    assert both.seen(2) == ["whole", "whole"]
    assert Merged(late, frames, held_bytes=20_000).file.copies == 300


def test_damage_of_one_file_does_not_stop_the_other() -> None:
    frames = [segment(at, 10 + at, b"%d" % (at % 10)) for at in range(10)]
    cut = capture_file(frames).getvalue()[:-5]
    both = Merged(frames, cut)
    assert len(both.frames) == 10
    assert [file.error is None for file in both.file.files] == [True, False]
    both = Merged(b"no capture at all", frames)
    assert both.places == [("b", number) for number in range(1, 11)]
    assert [str(file.error is not None) for file in both.file.files] == ["True", "False"]


@pytest.mark.parametrize("seed", seeds(200))
def test_any_bytes_are_merged(seed: int) -> None:
    draw = random.Random(seed)
    ends = [CLIENT, SERVER]
    frames = [
        segment(
            at, draw.randrange(30), bytes(draw.randrange(9)), ends=draw.choice(ends), ack=draw.randrange(40)
        )
        for at in range(60)
    ]
    data = bytearray(
        capture_file([*frames, datagram(61, b"ping"), segment(62, 5, b"x", path=part(VLAN, 3))]).read()
    )
    for _ in range(draw.randrange(1, 40)):
        data[draw.randrange(24, len(data))] = draw.randrange(256)
    capture, merged = opened(frames, bytes(data), held_bytes=draw.choice((1, 10_000, 1 << 26)))
    stream = merged.read()
    found = list(read_frames(io.BytesIO(stream)))
    assert len(found) + merged.copies >= len(frames)
    numbers = {(name, number) for name, number in (capture.locate(one.number) for one in found)}
    assert {number for name, number in numbers if name == "a"} <= set(range(1, 61))
    for one in found:
        assert len(capture.seen_at((one.number,))) == 2


def test_interfaces_with_other_link_types_stay_apart() -> None:
    def on(interface: int, link_type: int, at: float) -> Frame:
        return replace(segment(at, int(at), b"x", link_type=link_type), interface=interface)

    from msmq_wire.capture.vantage.frame_writer import FrameWriter

    writer = FrameWriter()
    frames = [on(0, 1, 1), on(2, 113, 2), on(0, 101, 3), on(70, 1, 4), on(70, 101, 5), on(0, 1, 6)]
    stream = writer.begin()
    for one in frames:
        writer.write(one.data, one.length, one.time or 0, one.link_type, one.interface)
        stream += writer.taken()
    found = list(read_frames(io.BytesIO(stream)))
    assert [(one.data, one.time, one.link_type) for one in found] == [
        (one.data, one.time, one.link_type) for one in frames
    ]
    assert [one.interface for one in found] == [0, 2, 0, 70, 71, 0]
