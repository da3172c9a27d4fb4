"""What one vantage point saw and the next one never did, as answers and as lines of the digest."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest

from msmq_wire.detection.diagnosis import Answer, Diagnosis, Digest, path_losses
from msmq_wire.records.joined_capture import Unseen
from msmq_wire.sessions import Story, StoryFollower
from tests.sessions.points_tape import CLIENT, MS, SERVER, PointsTape

LOST = "Seen at the sender (sender.pcap), never at the receiver (receiver.pcap): "
BACK = f"Seen at {SERVER} (receiver.pcap), never at {CLIENT} (sender.pcap): "
THERE = f"Seen at {CLIENT} (sender.pcap), never at {SERVER} (receiver.pcap): "
ACTION = "firewalls, VPN, MTU, cables"


class Told(NamedTuple):
    story: Story
    answers: tuple[Answer, ...]
    digest: Digest

    def sentences(self, question: int) -> tuple[str, ...]:
        return self.answers[question - 1].sentences

    def text(self, question: int) -> str:
        return "\n".join(self.sentences(question))


def told(tape: PointsTape) -> Told:
    follower, diagnosis = StoryFollower(), Diagnosis()
    for record in tape.records:
        follower.feed(record)
        diagnosis.feed(record)
    story = follower.finish()
    answers = diagnosis.answers(story)
    return Told(story, answers, diagnosis.digest(answers, story))


def silent(messages: int = 3, reason: Unseen = "absent", **options: bool | int | None) -> PointsTape:
    """One message that is acknowledged, and others that only the sender's point saw, 3 s apart."""
    tape = PointsTape(**options)  # type: ignore[arg-type]  # options of a tape
    tape.open()
    tape.message(1, label="Order 1")
    tape.ack(1)
    with tape.only(0, reason):
        for number in range(2, messages + 2):
            tape.wait(3)
            tape.message(number, label=f"Order {number}")
    tape.wait(300)
    tape.tcp("rst", 1)
    return tape


def test_messages_that_never_came_are_lost_on_their_way() -> None:
    found = told(silent())
    assert found.sentences(5) == (
        f"{LOST}3 messages from {CLIENT} to {SERVER}, between 2026-11-20 09:14:10Z and 09:14:16Z: "
        '"Order 2", "Order 3" and "Order 4" to msg01 orders (frames 10, 11 and 12 of sender). '
        "The recording receiver.pcap ran on until 2026-11-20 09:19:16Z. "
        f"{CLIENT} sent them, and something on the way to {SERVER} dropped them.",
    )
    (line,) = found.digest.lines
    assert line.text == (
        f'{LOST}3 messages from {CLIENT} to {SERVER} (first message "Order 2" to msg01 orders); also 3 '
        f"messages from {CLIENT} were not acknowledged in the capture."
    )
    assert (line.severity, line.confidence, line.layer, line.rule) == (
        "medium", "certain", "network", "NET-PATH",
    )  # fmt: skip
    assert line.action.endswith(f"the places of sender.pcap and receiver.pcap: {ACTION}.")
    assert found.answers[4].facts["lost_between_points"] == [
        {
            "from": CLIENT,
            "to": SERVER,
            "seen_at": ["sender.pcap"],
            "never_at": ["receiver.pcap"],
            "messages": 3,
            "came_again": 0,
            "first_time": 1_795_166_050_010_000_000,
            "last_time": 1_795_166_056_012_000_000,
        }
    ]


@pytest.mark.parametrize("reason", ["lost", "outside", "unknown"])
def test_what_a_recording_may_have_missed_is_not_lost_on_its_way(reason: Unseen) -> None:
    found = told(silent(reason=reason))
    assert "never at" not in found.text(5)
    assert [line.rule for line in found.digest.causes] == ["MSG-UNACKED"]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (
            "lost",
            "The recording receiver.pcap lost frames, about 33 % of those with data: 3 packets that came "
            "there are not in it.",
        ),
        (
            "outside",
            "receiver.pcap has packets between 2026-11-20 09:14:07Z and 09:19:16Z only: 3 packets were sent "
            "before or after that.",
        ),
    ],
)
def test_what_a_recording_missed_is_damage_of_that_recording(reason: Unseen, said: str) -> None:
    found = told(silent(reason=reason))
    assert said in found.sentences(19)
    first = found.digest.lines[0]
    assert (first.layer == "capture") == first.text.startswith("The recording") == (reason == "lost")


def test_without_an_order_of_the_points_nobody_is_called_sender() -> None:
    found = told(silent(apart=False))
    (line,) = found.digest.lines
    assert line.text.startswith("Seen at sender.pcap, never at receiver.pcap: 3 messages from ")
    assert line.confidence == "likely"


def test_a_message_that_passed_the_receiver_only_took_another_way() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(1):
        tape.message(1)
    tape.ack(1)
    found = told(tape)
    assert "never at" not in found.text(5)
    assert found.digest.lines == ()


def test_a_message_that_came_when_it_was_sent_again_is_no_loss() -> None:
    tape = PointsTape()
    tape.open()
    with tape.only(0):
        tape.message(1, label="Order 1")
    tape.wait(30)
    tape.tcp("rst")
    tape.open(on=1)
    tape.message(1, on=1, label="Order 1")
    tape.ack(1, on=1)
    found = told(tape)
    assert found.sentences(5)[0] == (
        "1 message was seen at the sender (sender.pcap), never at the receiver (receiver.pcap), from "
        f"{CLIENT} to {SERVER}; it came when it was sent again."
    )
    assert found.digest.lines == ()


def test_an_acknowledgment_that_never_came_back_explains_what_is_sent_again() -> None:
    tape = PointsTape()
    tape.open()
    tape.message(1, label="Order 1")
    with tape.only(1):
        tape.ack(1)
    tape.wait(30)
    tape.tcp("rst")
    tape.open(on=1)
    tape.message(1, on=1, label="Order 1")
    tape.ack(1, on=1)
    found = told(tape)
    assert (
        f"{BACK}1 acknowledgment from {SERVER} to {CLIENT}, at 2026-11-20 09:14:07Z (frame 9 of receiver). "
        f"{SERVER} acknowledged, and {CLIENT} does not know of it: it sends its messages again."
    ) in found.sentences(4)
    (line,) = found.digest.lines
    assert line.text == f"{BACK}1 acknowledgment from {SERVER} to {CLIENT}."
    assert (line.severity, line.layer) == ("low", "network")


@pytest.mark.parametrize(
    ("lost", "said", "cause"),
    [
        ("syn", f"the SYN was {THERE[:1].lower()}{THERE[1:-2]}.", f"{THERE}2 packets that open connections"),
        ("syn_ack", f"the SYN-ACK was {BACK[:1].lower()}{BACK[1:-2]}.", f"{BACK}1 SYN-ACK"),
        (
            "establish",
            f"EstablishConnection was {THERE[:1].lower()}{THERE[1:-2]}.",
            f"{THERE}1 packet that opens a connection",
        ),
    ],
)
def test_an_opening_that_was_lost_accuses_no_host(lost: str, said: str, cause: str) -> None:
    tape = PointsTape()
    tape.open(on=5)
    if lost == "syn":
        with tape.only(0):
            tape.tcp("syn")
            tape.wait(3)
            tape.tcp("syn_retransmission")
    elif lost == "syn_ack":
        tape.tcp("syn")
        with tape.only(1):
            tape.tcp("syn_ack", 1)
    else:
        tape.handshake()
        with tape.only(0):
            tape.establish()
    tape.wait(100)
    tape.message(9, on=5)
    tape.ack(1, on=5)
    found = told(tape)
    assert f"{CLIENT} to {SERVER}:1801: {said}" in found.sentences(2)
    for claim in ("said nothing", "is off", "nothing answered"):
        assert claim not in found.text(2)
    assert found.digest.lines[0].text.startswith(cause)
    assert {line.layer for line in found.digest.lines} == {"network"}


def test_a_message_that_came_to_the_receiver_says_so() -> None:
    tape = PointsTape()
    tape.open()
    tape.message(1, label="Order 1")
    tape.wait(300)
    tape.tcp("rst", 1)
    found = told(tape)
    assert "; it was seen at the receiver (receiver.pcap); " in found.text(5)
    (line,) = found.digest.lines
    assert ": seen at the receiver (receiver.pcap), the capture shows no acknowledgment by " in line.text
    assert line.action == f"Look at the queue manager of {SERVER}: the message came there."


def test_times_between_the_points_are_told_with_the_uncertainty_of_the_clocks() -> None:
    found = told(silent())
    assert found.sentences(4)[-2:] == (
        f"Packets from {CLIENT} to {SERVER} took 2.0 ms to 4.0 ms from sender.pcap to receiver.pcap (median "
        "3.0 ms, ± 0.1 ms by the clocks; 3 packets).",
        f"Packets from {SERVER} to {CLIENT} took 2.0 ms from receiver.pcap to sender.pcap (± 0.1 ms by the "
        "clocks; 3 packets).",
    )
    assert found.answers[3].facts["transit_times"][0] == {
        "from": CLIENT,
        "to": SERVER,
        "first": "sender.pcap",
        "second": "receiver.pcap",
        "packets": 3,
        "smallest": 2 * MS,
        "median": 3 * MS,
        "largest": 4 * MS,
        "uncertainty": 100_000,
    }


def test_without_a_comparison_of_the_clocks_no_time_is_told() -> None:
    found = told(silent(uncertainty=None))
    assert "took" not in found.text(4)
    assert any("their clocks cannot be compared" in one for one in found.answers[3].caveats)
    assert found.answers[3].facts["transit_times"][0]["median"] is None


def test_the_places_of_the_points_are_told() -> None:
    assert told(silent()).sentences(19)[:2] == (
        "sender.pcap and receiver.pcap recorded the same traffic: it is read as one.",
        f"sender.pcap is nearer {CLIENT}, and receiver.pcap nearer {SERVER}.",
    )


def test_pairs_of_hosts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_losses, "_MOST_GROUPS", 20)
    tape = PointsTape()
    with tape.only(0):
        for number in range(40):
            tape.message(number + 1, on=number)
            tape.records[-1] = msgspec.structs.replace(tape.records[-1], src=f"198.51.100.{number}:40000")
    found = told(tape)
    assert found.sentences(5)[10] == "And packets of 10 more pairs of hosts were lost so."
    assert len(found.answers[4].facts["lost_between_points"]) == 20
