"""Clocks of senders and of recordings that differ."""

from __future__ import annotations

import pytest

from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.detection.judge import Judge
from msmq_wire.detection.registry import RULES
from tests.detection.diagnosis.test_path_losses import told
from tests.sessions.points_tape import MS, PointsTape
from tests.sessions.tape import Tape

SECOND = 1_000_000_000
HOUR = 3600


def tape_of(client: int, server: int | None, *, second: int | None = None) -> PointsTape:
    """Messages of both hosts, or of the client alone, whose clocks are so many seconds ahead.

    The clock of the second recording is ``second`` seconds ahead of that of the first one.
    """
    tape = PointsTape()
    if second is None:
        # One recording, as any other capture.
        tape.add = Tape.add.__get__(tape)  # type: ignore[method-assign]
    else:
        points = (
            VantagePoint(files=("first.pcap",)),
            VantagePoint(files=("second.pcap",), offset=-second * SECOND, uncertainty=MS),
        )
        tape.capture = PointsCapture(SharedTraffic(points=points))
    tape.open()
    for number in range(1, 6):
        tape.wait(10)
        tape.message(number, sent_time=tape.time // SECOND + client)
        tape.ack(number)
        if server is not None:
            tape.message(100 + number, 1, sent_time=tape.time // SECOND + server)
            tape.ack(number, 0)
    return tape


BOTH = "192.0.2.21, 192.0.2.10 and"


@pytest.mark.parametrize(
    ("client", "server", "second", "text"),
    [
        (-HOUR, -HOUR, -HOUR, f"first.pcap is 1 h ahead of those of {BOTH} second.pcap: 10 of 10 messages"),
        (0, 0, HOUR, f"second.pcap is 1 h ahead of those of {BOTH} first.pcap: 10 of 10 messages"),
        (0, 0, -HOUR, f"second.pcap is 1 h behind those of {BOTH} first.pcap: 10 of 10 messages"),
        (
            -HOUR,
            None,
            -HOUR,
            "first.pcap is 1 h ahead of those of 192.0.2.21 and second.pcap: 5 of 5 messages",
        ),
    ],
)
def test_a_recording_that_differs_from_all_senders_is_the_cause(
    client: int, server: int | None, second: int, text: str
) -> None:
    found = told(tape_of(client, server, second=second))
    (line,) = found.digest.lines
    assert (line.layer, line.rule, line.severity) == ("capture", "TIM-SKEW", "low")
    assert line.text == f"The clock of the recording {text} show it."
    assert line.action == f"Set the clock of the machine that recorded {text.partition(' ')[0]}."
    assert ("Times are those of first.pcap." in found.sentences(3)) == text.startswith("first")


def test_hosts_that_agree_with_different_recordings_have_clocks_that_differ() -> None:
    """Each host recorded itself, and the clock of the server is an hour ahead."""
    found = told(tape_of(0, HOUR, second=HOUR))
    (line,) = found.digest.lines
    assert line.layer == "host"
    assert line.text.startswith("The clock of 192.0.2.10 is 1 h ahead of that of the capture: ")


def test_recordings_and_senders_that_agree_are_no_cause() -> None:
    assert told(tape_of(0, 0, second=2)).digest.lines == ()


@pytest.mark.parametrize(
    ("client", "server", "layer"),
    [
        (HOUR, HOUR, "capture"),
        (5 * 24 * HOUR, 5 * 24 * HOUR - 60, "capture"),
        (HOUR, 2 * HOUR, "host"),
        (HOUR, 0, "host"),
        # One host may be wrong, or the capture.
        (HOUR, None, "host"),
    ],
)
def test_senders_that_all_differ_by_the_same_time_leave_the_capturing_host(
    client: int, server: int | None, layer: str
) -> None:
    tape = tape_of(client, server)
    lines = told(tape).digest.lines
    assert {line.layer for line in lines} == {layer}
    assert len(lines) == (2 if (client, server) == (HOUR, 2 * HOUR) else 1)
    judge = Judge({"TIM-SKEW": RULES["TIM-SKEW"]})
    findings = [one for record in tape.records for one in judge.feed(record)] + judge.finish()
    assert {one.layer for one in findings} == {layer}
    assert len(findings) == len(lines)


def test_the_capturing_host_is_named_with_the_hosts_that_differ() -> None:
    (line,) = told(tape_of(HOUR, HOUR)).digest.lines
    assert line.text == (
        "The clock of the capturing host is 1 h behind those of 192.0.2.21 and 192.0.2.10: 10 of 10 messages "
        "show it."
    )
    assert line.action == "Set the clock of the capturing host, or those of all these hosts."
