"""What is said of messages that did not arrive, and how much is kept of them."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.detection.diagnosis import delivery_failures
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.delivery_failures import DeliveryFailures
from msmq_wire.detection.finding import Evidence, Finding
from msmq_wire.detection.folding import Fold
from msmq_wire.sessions import Story
from tests.sessions.tape import Tape


def _silent(senders: int) -> Story:
    """Messages of so many hosts that a server does not acknowledge."""
    tape = Tape()
    for on in range(senders):
        begin = len(tape.records)
        tape.open(on)
        tape.message(on + 1, on=on)
        own = f"198.51.100.{on + 1}"
        for at, one in enumerate(tape.records[begin:], begin):
            ends = {"src": (one.src or "").replace("192.0.2.21", own)}
            ends["dst"] = (one.dst or "").replace("192.0.2.21", own)
            tape.records[at] = msgspec.structs.replace(one, **ends)
    tape.wait(300)
    tape.tcp("syn", on=senders)
    return tape.story()


def test_all_senders_are_counted_that_one_server_did_not_answer() -> None:
    story, sums, builder = _silent(30), DeliveryFailures(), AnswerBuilder()
    for life in story.lives:
        sums.feed(life, taken=False)
    sums.add_causes(story, Fold(), builder)
    (cause,) = builder.causes
    assert " from 198.51.100.1, 198.51.100.2, 198.51.100.3 and 27 more to " in cause.text
    assert len(cause.who) == 17


def _reported(story: Story, candidates: Fold) -> AnswerBuilder:
    sums, builder = DeliveryFailures(), AnswerBuilder()
    for life in story.lives:
        sums.feed(life, taken=False)
    sums.add_causes(story, candidates, builder)
    return builder


@pytest.mark.parametrize("seconds", [0xFFFFFFFF, 1])
def test_what_the_sender_may_send_again_after_the_capture_is_a_note(seconds: int) -> None:
    tape = Tape()
    tape.open()
    tape.message(1, time_to_reach_queue=seconds)
    tape.wait(3)
    tape.tcp("fin")
    tape.tcp("closed")
    builder = _reported(tape.story(), Fold())
    assert builder.causes == []
    assert builder.notes == [
        "1 message was not acknowledged before the connection closed, and the capture ends before the sender "
        "could send again"
    ]


def test_a_packet_that_breaks_a_rule_may_be_why_nobody_acknowledged_it() -> None:
    tape = Tape()
    tape.open()
    sent = tape.message(1)
    tape.tcp("fin")
    candidates = Fold()
    candidates.add(
        Finding(
            id="FRM-SEG", title="", severity="low", confidence="certain", message="",
            evidence=(Evidence(record=sent.id, src=sent.src, dst=sent.dst),),
        )
    )  # fmt: skip
    (cause,) = _reported(tape.story(), candidates).causes
    assert cause.rules == ("MSG-UNACKED",)


def test_of_very_many_queues_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_failures, "_MOST", 2)
    (life,) = _silent(1).lives
    sums = DeliveryFailures()
    for number in range(100):
        sums.feed(msgspec.structs.replace(life, queue=f"DIRECT=OS:msg01\\q{number}"), taken=False)
    assert [pile.count for pile in sums._groups.values()] == [1, 1, 98]
    assert sum(len(pile.queues) for pile in sums._groups.values()) == 18


def test_a_message_that_was_not_captured_expired_where_its_time_was_over() -> None:
    tape, builder, sums = Tape(), AnswerBuilder(), DeliveryFailures()
    tape.open()
    tape.administration_ack(7, 0x8002)
    story = tape.story()
    for life in story.lives:
        sums.feed(life, taken=True)
    sums.add_causes(story, Fold(), builder)
    (cause,) = builder.causes
    assert cause.text.startswith("192.0.2.10 told 192.0.2.21 that a message expired: it did not reach its")
    assert cause.severity == "low"


def test_a_message_whose_queue_was_deleted_was_not_refused() -> None:
    tape = Tape()
    tape.open()
    tape.administration_ack(7, 0xC000)
    (cause,) = _reported(tape.story(), Fold()).causes
    assert cause.text == (
        "192.0.2.10 told 192.0.2.21 that a message was lost: its queue was deleted before anybody received "
        "it (class 0xc000); the message itself was not captured"
    )


def test_what_became_of_several_messages_is_said_of_several() -> None:
    assert delivery_failures.in_plural("its queue was purged before anybody received it") == (
        "their queue was purged before anybody received them"
    )


def test_of_a_message_that_was_received_no_refusal_is_told_though_it_was_not_captured() -> None:
    tape = Tape()
    tape.open()
    tape.administration_ack(7, 0x4000, own=5001)
    tape.administration_ack(7, 0xC001, own=5002)
    tape.administration_ack(8, 0xC001, own=5003)
    (cause,) = _reported(tape.story(), Fold()).causes
    assert [moment.record for moment in cause.moments] == [10]
    assert cause.rules == ("MSG-REFUSED",)
