"""When the next session is due, and whether a capture goes on for so long."""

from __future__ import annotations

import pytest

from msmq_wire.detection.overdue import NextSessions
from tests.sessions.tape import Tape


def _unacknowledged(closer: int, event: str = "fin") -> Tape:
    """A session in which a message of the client is not acknowledged; 0 is the client."""
    tape = Tape()
    tape.open()
    tape.message(1)
    tape.tcp(event, closer)
    tape.tcp("closed", closer)
    return tape


def _may_come(tape: Tape) -> bool:
    story = tape.story()
    return NextSessions(story).may_come(0, story.sessions[0].client)


@pytest.mark.parametrize(("seconds", "soon"), [(0.1, True), (9.9, True), (10.1, False)])
def test_a_sender_is_given_ten_seconds_to_come_back(seconds: float, soon: bool) -> None:
    tape = _unacknowledged(0)
    tape.wait(seconds)
    tape.tcp("syn", on=None, src="192.0.2.30:49200", dst="192.0.2.10:1801")
    assert _may_come(tape) is soon


def test_a_receiver_that_resets_has_refused_what_it_did_not_acknowledge() -> None:
    assert not _may_come(_unacknowledged(1, "rst"))
    assert _may_come(_unacknowledged(0, "rst"))
    assert _may_come(_unacknowledged(1))


@pytest.mark.parametrize(("seconds", "soon"), [(0.1, True), (119, True), (121, False)])
def test_a_next_session_is_given_the_time_that_acknowledgments_are_waited_for(
    seconds: float, soon: bool
) -> None:
    tape = _unacknowledged(1, "rst")
    tape.wait(20)
    tape.tcp("syn", on=1)
    tape.wait(seconds)
    tape.tcp("syn", on=None, src="192.0.2.30:49200", dst="192.0.2.10:1801")
    assert _may_come(tape) is soon


def test_a_next_session_that_is_over_brings_nothing_more() -> None:
    tape = _unacknowledged(1, "rst")
    tape.open(1)
    tape.tcp("fin", on=1)
    tape.tcp("closed", on=1)
    assert not _may_come(tape)


def test_a_session_that_is_still_open_has_no_next_one() -> None:
    tape = Tape()
    tape.open()
    tape.message(1)
    assert not _may_come(tape)


def test_what_began_before_it_is_no_next_session_wherever_it_stands_in_the_file() -> None:
    tape = _unacknowledged(0)
    tape.time -= 1_000_000_000
    tape.tcp("syn", on=1)
    tape.tcp("fin", on=1)
    tape.tcp("closed", on=1)
    assert _may_come(tape)
