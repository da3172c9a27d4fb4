"""Frames of a capture are found in its files, and those of its files in the capture."""

from __future__ import annotations

import numpy as np

from msmq_wire.capture.numbering import Numbering, PointsNumbering
from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import PointsCapture


def test_frames_of_files_in_turn_go_on_from_file_to_file() -> None:
    numbering = Numbering(["a", "b"], [0, 3])
    places, own = numbering.locate(np.array([1, 3, 4, 9]))
    assert (places.tolist(), own.tolist()) == ([0, 0, 1, 1], [1, 3, 1, 6])


def test_frames_of_places_are_numbered_as_they_were_merged() -> None:
    points = tuple(VantagePoint(files=files) for files in (("a", "b"), ("c",), ("d",)))
    capture = PointsCapture(SharedTraffic(points=points))
    # Frame 2 of c is a copy of frame 2 of a; all of d are copies.
    for file, number in ((0, 1), (2, 1), (0, 2), (2, 3), (2, 4), (1, 1)):
        capture.add(file, number, seen=1)
    numbering = PointsNumbering(capture)
    places, own = numbering.locate(np.arange(1, 7))
    assert [numbering.paths[place] for place in places.tolist()] == ["a", "c", "a", "c", "c", "b"]
    assert own.tolist() == [1, 1, 2, 3, 4, 1]
    assert numbering.given("a", np.array([1, 2, 3])).tolist() == [1, 3, 0]
    assert numbering.given("b", np.array([1])).tolist() == [6]
    assert numbering.given("c", np.array([1, 2, 3, 4, 5])).tolist() == [2, 0, 4, 5, 0]
    assert numbering.given("d", np.array([0, 1, 2])).tolist() == [0, 0, 0]
    nothing, _ = numbering.locate(np.array([], np.int64))
    assert nothing.tolist() == []
