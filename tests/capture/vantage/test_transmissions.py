"""What is taken of the way between two points: times, losses, and whose direction a point recorded."""

from __future__ import annotations

from msmq_wire.capture.pcap import Frame
from msmq_wire.records.transit import Transit
from tests.capture.vantage.test_merged_frames import CLIENT, SERVER, Merged, moved, segment

_MS = 1_000_000
HOSTS, BACK = ("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")


def transit(merged: Merged, ends: tuple[str, str] = HOSTS) -> Transit:
    found = {one: known for one, _, known in merged.capture.transits.all()}
    return found.get(ends, Transit())


def stream(count: int = 6) -> list[Frame]:
    """Segments of one byte, 100 ms apart."""
    return [segment(100 * number, 10 + number, b"x") for number in range(count)]


def test_a_segment_that_came_when_it_was_sent_again_is_lost_between_the_points() -> None:
    again = segment(250, 12, b"x")
    sender = sorted([*stream(), again], key=lambda frame: frame.time or 0)
    receiver = [frame for frame in sender if frame.time != stream()[2].time]
    known = transit(Merged(sender, moved(receiver, 2 * _MS)))
    assert known.missed == [1, 0]
    assert known.first_missed[0] == stream()[2].time
    # What was sent again is the copy of what came, and took as long as all others.
    assert (known.count, known.smallest, known.largest) == (6, 2 * _MS, 2 * _MS)
    # Sent first at 200 ms, and again at 250 ms.
    assert known.longest_held == [52 * _MS, 0]


def test_what_is_sent_again_in_other_segments_came_with_the_last_of_them() -> None:
    first, *rest = [segment(100 * number, 10 + 4 * number, b"abcd") for number in range(3)]
    lost = segment(120, 14, b"abcd")
    again = [segment(400, 14, b"ab"), segment(450, 16, b"cd")]
    sender = [first, lost, rest[1], *again]
    known = transit(Merged(sender, moved([first, rest[1], *again], 2 * _MS)))
    assert (known.missed, known.longest_held) == ([1, 0], [332 * _MS, 0])


def test_a_segment_that_a_point_recorded_twice_is_not_lost() -> None:
    sender = [copy for frame in stream() for copy in (frame, *moved([frame], 1000))]
    known = transit(Merged(sender, moved(stream(), 2 * _MS)))
    assert known.missed == [0, 0]


def test_a_segment_that_came_twice_and_once_is_not_lost_before_its_sender() -> None:
    """An acknowledgment was lost: the second sending came, too, where the first had come."""
    again = segment(250, 12, b"x")
    both = sorted([*stream(), again], key=lambda frame: frame.time or 0)
    known = transit(Merged(both, moved(both, 2 * _MS)))
    # One byte may be a question whether the other side is there.
    assert (known.missed, known.repeated) == ([0, 0], 0)


def test_segments_that_came_twice_are_counted() -> None:
    frames = [segment(100 * number, 10 + 4 * number, b"abcd") for number in range(3)]
    both = [*frames, segment(400, 18, b"abcd"), segment(700, 18, b"abcd")]
    assert transit(Merged(both, moved(both, 2 * _MS))).repeated == 2


def test_large_segments_that_a_card_cuts_are_not_lost() -> None:
    sender = [segment(100 * number, 10 + 4 * number, b"abcd") for number in range(4)]
    pieces = [
        segment(100 * number + part, 10 + 4 * number + 2 * part, b"abcd"[2 * part : 2 * part + 2])
        for number in range(4)
        for part in range(2)
    ]
    assert transit(Merged(sender, moved(pieces, 2 * _MS))).missed == [0, 0]


def test_each_direction_has_its_times() -> None:
    there, answers = stream(), [segment(100 * n + 50, 90 + n, b"y", ends=SERVER) for n in range(6)]
    frames = sorted([*there, *answers], key=lambda frame: frame.time or 0)
    other = sorted([*moved(there, 2 * _MS), *moved(answers, -3 * _MS)], key=lambda frame: frame.time or 0)
    merged = Merged(frames, other)
    assert transit(merged).median == 2 * _MS
    assert transit(merged, BACK).median == -3 * _MS
    assert merged.capture.transits.order(*HOSTS, 0, 1) == 1


def test_a_point_that_saw_nothing_of_a_direction_did_not_lose_it() -> None:
    there = stream()
    answers = [segment(100 * n + 50, 90 + n, b"y", ends=SERVER, ack=20) for n in range(6)]
    acknowledged = segment(900, 16, ends=CLIENT, ack=200)
    frames = sorted([*there, *answers, acknowledged], key=lambda frame: frame.time or 0)
    merged = Merged(frames, [*there, acknowledged])
    assert {merged.seen(frame.number)[1] for frame in merged.frames if frame.data[26:30] == SERVER[0]} == {
        "unknown"
    }
