"""Where messages and their acknowledgments were seen: in losses, in `why` and in timelines."""

from __future__ import annotations

import pytest

from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import FixedReason, PointsCapture
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.detection.diagnosis.timeline import SessionSteps, message_steps, step_view
from msmq_wire.detection.diagnosis.whereabouts import Loss, Whereabouts, short_points
from msmq_wire.detection.diagnosis.why import Explanation, why
from msmq_wire.sessions import Moment
from tests.sessions.points_tape import CLIENT, MS, SERVER, PointsTape
from tests.sessions.tape import SENDER, Tape

NEVER = "seen at the sender (sender.pcap), never at the receiver (receiver.pcap)"


def explained(tape: PointsTape | Tape, number: int = 1, capture: str = "") -> Explanation:
    story = tape.story()
    life = story.lives.by_id(f"{SENDER}\\{number}")
    assert life is not None
    return why(life, story, Phrases([(1, capture or "x.pcap")]))


@pytest.mark.parametrize(
    ("seen", "missing", "certain", "two", "text"),
    [
        (("a",), ("b",), True, True, "seen at the sender (a), never at the receiver (b)"),
        (("a",), ("b",), False, True, "seen at a, never at b"),
        (("a", "b"), ("c",), True, False, "seen at a and b, never at c"),
        (("a",), ("b", "c"), True, False, "seen at a, never at b and c"),
        (("a",), ("b",), True, False, "seen at a, never at b"),
    ],
)
def test_a_loss_names_sender_and_receiver_where_two_points_are_in_order(
    seen: tuple[str, ...], missing: tuple[str, ...], certain: bool, two: bool, text: str
) -> None:
    assert Loss(seen, missing, certain, two).text == text


def test_points_are_called_by_their_files_unless_these_are_alike() -> None:
    points = [VantagePoint(files=(name,)) for name in ("x/a.pcap", "y/a.pcap")]
    assert short_points(PointsCapture(SharedTraffic(points=tuple(points)))) == ("x/a.pcap", "y/a.pcap")
    assert short_points(PointsTape().capture) == ("sender.pcap", "receiver.pcap")


def three_points() -> PointsCapture:
    """A client, a firewall and a server, in this order; frame 1 was seen at the first two."""
    points = tuple(VantagePoint(files=(name,)) for name in ("client", "firewall", "server"))
    capture = PointsCapture(SharedTraffic(points=points))
    for one, other in ((0, 1), (1, 2), (0, 2)):
        capture.transits.add((CLIENT, SERVER), (one, other), MS)
    capture.add(0, 1, 3)
    capture.miss(1, 2, FixedReason("absent"))
    return capture


def test_of_three_points_those_behind_the_loss_did_not_see_it() -> None:
    tape = PointsTape()
    capture = three_points()
    tape.capture = capture
    Tape.add(tape, "user_message", capture=capture)
    where = Whereabouts(tape.story())
    loss = where.loss(Moment(1, 1, 0), f"{CLIENT}:1", f"{SERVER}:1801")
    assert loss == Loss(("client", "firewall"), ("server",), True, False)
    assert loss.between == "the places of client, firewall and server"


def test_a_capture_of_one_place_says_nothing() -> None:
    tape = Tape()
    tape.open()
    tape.message(1)
    where = Whereabouts(tape.story())
    assert where.loss(Moment(8, 8, 0), CLIENT, SERVER) is None
    assert where.arrival(Moment(8, 8, 0), CLIENT, SERVER) == ""
    assert explained(tape).sentence.endswith("left its sender, and nothing shows that it arrived.")


def test_why_a_message_did_not_come_says_between_which_places_it_was_lost() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        tape.message(1, label="Order 1")
    one = explained(tape)
    assert one.sentence == (
        f'Message "Order 1" from {CLIENT} to DIRECT=OS:msg01\\private$\\orders left its sender and was lost '
        f"on its way: {NEVER}."
    )
    assert one.action == (
        "look at what lies between the places of sender.pcap and receiver.pcap: firewalls, VPN, MTU, cables"
    )


def test_why_a_message_that_came_was_not_taken_looks_at_the_receiver() -> None:
    tape = PointsTape()
    tape.open()
    tape.message(1)
    one = explained(tape)
    assert one.sentence.endswith(
        "came to the receiver (receiver.pcap), and nothing shows that its queue manager took it."
    )
    assert one.action == f"look at the queue manager of {SERVER}"


def test_a_message_that_a_recording_may_have_missed_is_as_unknown_as_before() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0, "lost"):
        tape.message(1)
    assert explained(tape).sentence.endswith("left its sender, and nothing shows that it arrived.")


def test_a_message_that_came_when_it_was_sent_again_was_not_lost() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        tape.message(1)
    tape.message(1)
    assert "came to the receiver (receiver.pcap)" in explained(tape).sentence


def test_an_acknowledgment_that_did_not_come_back_is_told() -> None:
    tape = PointsTape()
    tape.open()
    tape.message(1)
    with tape.only(1):
        tape.ack(1)
    one = explained(tape, capture=tape.capture)
    assert one.outcome == "acknowledged"
    assert one.reason == (
        "a session ack says that the next host has it; but the acknowledgment in frame 9 of receiver was "
        f"seen at {SERVER} (receiver.pcap), never at {CLIENT} (sender.pcap): {CLIENT} does not know of it, "
        "and sends its message again."
    )


def test_the_steps_of_a_message_say_who_did_not_see_them() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        tape.message(1)
    story = tape.story()
    (opened, sent) = message_steps(tape.life(), story)
    assert opened.seen_at == ()
    assert sent.seen_at == ("x/sender.pcap: whole", "x/receiver.pcap: absent")
    words = Phrases([(1, tape.capture)])
    assert step_view(sent, words)["seen_at"] == list(sent.seen_at)
    assert "seen_at" not in step_view(opened, words)


def test_the_steps_of_a_session_say_who_did_not_see_them() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        tape.message(1)
    steps = SessionSteps(tape.capture, 0)
    for record in tape.records:
        steps.feed(record)
    shown = [step.seen_at for step in steps.steps]
    assert shown[:-1] == [()] * 6
    assert shown[-1] == ("x/sender.pcap: whole", "x/receiver.pcap: absent")
