"""What each of two vantage points saw of records, messages and connections."""

from __future__ import annotations

import pytest

from msmq_wire.records.joined_capture import Sight, Unseen
from msmq_wire.sessions import point_sights
from tests.sessions.points_tape import PointsTape
from tests.sessions.tape import Tape

WHOLE = Sight("whole")


def test_a_capture_of_one_place_has_no_point_sights() -> None:
    tape = Tape()
    tape.open()
    assert tape.story().point_sights is None


def test_what_both_points_saw_is_not_kept() -> None:
    tape = PointsTape()
    tape.open()
    tape.message(1)
    found = tape.story().point_sights
    assert found is not None
    assert found.captures == [tape.capture]
    assert list(found.partly_seen()) == []
    assert found.of(8) == ()


@pytest.mark.parametrize("reason", ["absent", "lost", "outside", "unknown"])
def test_a_message_that_one_point_did_not_see_says_why(reason: Unseen) -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0, reason):
        sent = tape.message(1)
    found = tape.story().point_sights
    assert found is not None
    sights = (("x/sender.pcap", WHOLE), ("x/receiver.pcap", Sight("none", reason)))
    assert found.of(sent.id) == sights
    ((seen, same),) = found.partly_seen()
    assert (seen.type, seen.at.record, seen.src, same) == ("user_message", sent.id, sent.src, sights)


def test_a_copy_that_comes_late_makes_a_message_whole() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        sent = tape.message(1)
    found = tape.story().point_sights
    assert found is not None
    tape.capture.miss(sent.frames[0], 1, type("Late", (), {"reason": lambda self: None})())
    assert found.of(sent.id) == ()
    assert list(found.partly_seen()) == []


def test_a_connection_has_the_number_of_records_that_each_point_saw() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        tape.message(1)
        tape.message(2)
    with tape.only(1):
        tape.ack(2)
    found = tape.story().point_sights
    assert found is not None
    assert found.of_stream(tape.capture, 0) == (("x/sender.pcap", 9, 10), ("x/receiver.pcap", 8, 10))
    assert found.of_stream(tape.capture, 1) == found.of_stream(tape.capture, None) == ()


def test_records_that_prove_nothing_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_sights, "_MOST", 8)
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        first = tape.message(1)
    for number in range(2, 30):
        with tape.only(0, "outside"):
            tape.message(number)
    found = tape.story().point_sights
    assert found is not None
    assert found.of(first.id)
    assert found.more > 0
    assert len(list(found.partly_seen())) <= 8
    # How many were seen is not known any more.
    assert found.of_stream(tape.capture, 0) == ()
