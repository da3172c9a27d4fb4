"""Names of captures with several points: where a frame is, and what each point saw of it."""

from __future__ import annotations

from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import FixedReason, PointsCapture
from msmq_wire.records.joined_capture import JoinedCapture, Sight, files_of, frames_by_file


def capture(*points: tuple[str, ...]) -> PointsCapture:
    return PointsCapture(SharedTraffic(points=tuple(VantagePoint(files=files) for files in points)))


def test_a_capture_is_called_by_the_files_of_its_points() -> None:
    assert capture(("x/a.pcap",), ("x/b.pcap",)) == "x/a.pcap and b.pcap"
    assert capture(("x/a.pcap",), ("y/a.pcap",)) == "x/a.pcap and y/a.pcap"
    assert capture(("a1", "a2"), ("b",), ("c",)) == "a1 to a2, b and c"
    assert files_of(capture(("a1", "a2"), ("b",))) == ("a1", "a2", "b")


def test_frames_are_located_in_the_file_that_they_are_from() -> None:
    both = capture(("a",), ("b",))
    given = [both.add(0, 1, 3), both.add(0, 2, 3), both.add(1, 7, 2), both.add(0, 3, 1)]
    assert given == [1, 2, 3, 4]
    assert [both.locate(frame) for frame in given] == [("a", 1), ("a", 2), ("b", 7), ("a", 3)]
    assert frames_by_file(both, given) == {"a": (1, 2, 3), "b": (7,)}


def test_each_point_tells_what_it_saw() -> None:
    both = capture(("a",), ("b",))
    both.add(0, 1, 3)
    both.add(0, 2, 1, outside=2)
    both.add(0, 3, 1)
    both.miss(3, 1, FixedReason("absent"))
    both.add(0, 4, 1)
    both.miss(4, 1, FixedReason("lost"))
    both.add(0, 5, 1)
    both.miss(5, 1, FixedReason(None))
    both.add(0, 6, 1)
    whole = Sight("whole")
    assert both.seen_at((1,)) == (whole, whole)
    assert both.seen_at((2,)) == (whole, Sight("none", "outside"))
    assert both.seen_at((3,)) == (whole, Sight("none", "absent"))
    assert both.seen_at((1, 3)) == (whole, Sight("part", "absent"))
    assert both.seen_at((3, 4)) == (whole, Sight("none", "lost"))
    assert both.seen_at((5,)) == (whole, whole)
    assert both.seen_at((6, 3)) == (whole, Sight("none", "unknown"))
    assert both.seen_at(()) == (Sight("none", "unknown"),) * 2
    assert both.seen_at((99,)) == (Sight("none", "unknown"),) * 2


def test_other_names_tell_of_the_same_frames() -> None:
    both = capture(("a",), ("b",))
    named = both.renamed(("file 1", "file 2"))
    both.add(1, 5, 2)
    assert named == "file 1 and file 2"
    assert named.locate(1) == ("file 2", 5)
    assert named.seen_at((1,)) == both.seen_at((1,))


def test_a_ring_has_no_points() -> None:
    ring = JoinedCapture(("a", "b"))
    assert ring.point_files == ()
    assert ring.seen_at((1,)) == ()
