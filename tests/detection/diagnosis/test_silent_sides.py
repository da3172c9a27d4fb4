"""To which hosts nothing was captured any more, and where that is no gap of the recording."""

from __future__ import annotations

import pytest

from msmq_wire.detection.diagnosis import Diagnosis
from msmq_wire.detection.diagnosis.silent_sides import silent_sides
from tests.sessions.tape import Tape

CLIENT, OTHER = "192.0.2.21", "192.0.2.10:1801"


def silent(*, on: tuple[int, ...] = (0, 1), gone: tuple[int, ...] = (0, 1), seconds: float = 20) -> Tape:
    """The client goes on for so long in connections, of which some have nothing of the server any more.

    Of these it acknowledges bytes that were not captured.
    """
    tape = Tape()
    for number in on:
        tape.open(number)
        tape.message(1, on=number)
        tape.ack(1, on=number)
    for message in (2, 3):
        tape.wait(seconds / 2)
        for number in on:
            tape.message(message, on=number)
            if number in gone:
                tape.tcp("unseen", on=number)
            else:
                tape.ack(message, on=number)
    return tape


def told(tape: Tape) -> list[tuple[str, int | None]]:
    return [(one.host, one.last.frame) for one in silent_sides(tape.story())]


def test_a_host_that_sends_on_and_has_nothing_sent_to_it_is_named_with_the_last_packet() -> None:
    # The server's last acknowledgment, in the second connection.
    tape = silent()
    last = next(one for one in reversed(tape.records) if one.type == "session_ack")
    assert told(tape) == [(CLIENT, last.frames[-1])]
    diagnosis, story = Diagnosis(), tape.story()
    for record in tape.records:
        diagnosis.feed(record)
    answers = diagnosis.answers(story)
    said = f"o packet to {CLIENT} is in the capture after frame {last.frames[-1]}"
    assert any(said in text for one in answers if one.number == 19 for text in one.sentences)


@pytest.mark.parametrize(
    "tape",
    [
        pytest.param(silent(gone=()), id="all is there"),
        pytest.param(silent(gone=(0,)), id="another connection has packets of both sides"),
        pytest.param(silent(seconds=2), id="not for long"),
    ],
)
def test_a_host_that_is_told_nothing_is_no_gap(tape: Tape) -> None:
    assert told(tape) == []
