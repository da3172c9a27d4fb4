"""What becomes of messages. [MS-MQQB] 3.1.7.15, [MS-MQMQ] 2.2.18.1.6"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire import build_message, encode, inspect
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.sessions import NACK_REASONS, MessageLife, StoryFollower, follow
from msmq_wire.wire.types.enumerations import MessageClass
from tests.sessions.tape import QUEUE, RECEIVER, SECOND, SENDER, START, Tape

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"


def test_a_message_that_nothing_acknowledges_has_an_unknown_end(tape: Tape) -> None:
    tape.open()
    record = tape.message(1, label="order", priority=5)
    life = tape.life()
    assert (life.outcome, life.evidence) == ("unknown", (record.frames[0],))
    assert (life.queue, life.label, life.priority, life.delivery) == (QUEUE, "order", 5, "express")
    assert (life.size, life.session, life.via, life.certain) == (4, 0, "tcp", True)


def test_each_stronger_acknowledgment_moves_the_outcome_on(tape: Tape) -> None:
    tape.open()
    tape.message(1, delivery="recoverable", acknowledge=("pa", "pr"), admin_queue=QUEUE)
    tape.ack(1)
    assert tape.life().outcome == "acknowledged"
    tape.ack(1, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=1)
    assert tape.life().outcome == "stored"
    tape.administration_ack(1, MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE, 5001)
    assert tape.life().outcome == "delivered"
    last = tape.administration_ack(1, MessageClass.MQMSG_CLASS_ACK_RECEIVE, 5002)
    life = tape.life()
    assert (life.outcome, life.evidence[-1]) == ("received", last.frames[0])
    assert [one.message_class for one in life.acknowledgments] == [0x0002, 0x4000]


@pytest.mark.parametrize("class_", sorted(NACK_REASONS))
def test_every_negative_class_ends_a_message_and_is_said_in_words(tape: Tape, class_: int) -> None:
    tape.open()
    tape.message(1)
    tape.ack(1)
    nack = tape.administration_ack(1, class_)
    life = tape.life()
    outcomes = {0x8002: "expired", 0xC002: "expired", 0xC001: "purged"}
    assert (life.outcome, life.failed) == (outcomes.get(class_, "refused"), True)
    assert life.nack_class == class_
    assert NACK_REASONS[class_] in life.reason
    assert life.evidence[-1] == nack.frames[0]


def test_every_negative_class_of_the_document_has_words() -> None:
    assert set(NACK_REASONS) == {int(one) for one in MessageClass if one & 0x8000}


def test_an_application_that_received_it_outweighs_a_refusal_elsewhere(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.administration_ack(1, 0x8003, 5001)
    tape.administration_ack(1, 0x4000, 5002)
    assert tape.life().outcome == "received"


def test_a_final_ack_names_its_message_by_sender_and_number(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.final_ack(1, 0xC001)
    life = tape.life()
    assert (life.outcome, life.nack_class) == ("purged", 0xC001)
    assert [one.kind for one in life.acknowledgments] == ["final_ack"]
    assert tape.story().streams[0].final_acks == ((0xC001, 1),)


def test_an_acknowledgment_of_what_was_not_seen_is_a_stray(tape: Tape) -> None:
    tape.open()
    tape.administration_ack(77, 0x8000)
    (stray,) = tape.story().strays
    assert (stray.kind, stray.message_class) == ("administration_ack", 0x8000)
    assert stray.message_id == f"{SENDER}\\77"


def test_an_administration_ack_says_which_message_it_acknowledges(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.administration_ack(1, 0x0002)
    lives = list(tape.story().lives)
    assert [life.acknowledges for life in lives] == [None, f"{SENDER}\\1"]


def test_sent_again_before_its_ack_is_a_resend_and_after_it_a_duplicate(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.message(1)
    tape.ack(2)
    tape.tcp("closed")
    tape.open(on=1)
    tape.message(1, on=1)
    life = tape.life()
    assert (life.resends, life.duplicates, len(life.resent_at)) == (2, 1, 2)
    first, second = tape.story().sessions
    assert (first.directions[0].resent, first.directions[0].duplicates) == (1, 0)
    assert (second.directions[0].resent, second.directions[0].duplicates) == (1, 1)


@pytest.mark.parametrize("kept", [80, 120, 160, 200, 250])
def test_a_message_that_was_cut_when_it_was_seen_first_is_told_from_its_whole_copy(kept: int) -> None:
    tape, other = Tape(), Tape()
    tape.open(1)
    record = tape.message(1, on=1, tx=(1, 0), label="order", admin_queue=QUEUE, acknowledge=("pa",))
    cut = inspect(encode(record.packet)[:kept])
    assert cut.error is not None
    tape.records[-1] = msgspec.structs.replace(record, packet=cut.packet, error=cut.error)
    tape.tcp("closed", on=1)
    for one in (tape, other):
        one.open()
        one.message(1, tx=(1, 0), label="order", admin_queue=QUEUE, acknowledge=("pa",))
        one.order_ack(1)
    life, whole = tape.life(), other.life()
    assert (life.outcome, life.resends, whole.resends) == ("delivered", 1, 0)
    for name in ("queue", "label", "priority", "delivery", "outcome", "admin_queue", "size", "wanted"):
        assert getattr(life, name) == getattr(whole, name), name


@pytest.mark.parametrize(
    "host", ["192.0.2.10", None], ids=("another host", "another queue manager of the host")
)
def test_what_is_sent_with_a_higher_hop_count_is_a_hop_and_not_a_resend(tape: Tape, host: str | None) -> None:
    tape.open()
    record = tape.message(1)
    src = f"{host or str(record.src).partition(':')[0]}:50000"
    header = msgspec.structs.replace(record.packet.user_header, flags=record.packet.user_header.flags + 1)
    packet = msgspec.structs.replace(record.packet, user_header=header)
    tape.add("user_message", on=3, packet=packet, src=src, dst="192.0.2.30:1801")
    life = tape.life()
    assert (life.resends, life.hops) == (0, 0)
    assert [(hop.src, hop.hops, hop.session) for hop in life.route] == [(src, 1, 1)]


def test_a_time_that_passes_without_an_acknowledgment_expires_the_message(tape: Tape) -> None:
    tape.open()
    tape.message(1, time_to_reach_queue=10)
    assert tape.life().expired is None
    tape.wait(20)
    tape.tcp("fin")
    life = tape.life()
    assert (life.outcome, life.expired) == ("expired", "time_to_reach_queue")
    assert life.reach_by == START // SECOND + 10


def test_a_message_that_was_acknowledged_does_not_expire_on_its_way(tape: Tape) -> None:
    tape.open()
    tape.message(1, time_to_reach_queue=10)
    tape.ack(1)
    tape.wait(20)
    tape.tcp("fin")
    assert (tape.life().outcome, tape.life().expired) == ("acknowledged", None)


def test_a_time_to_be_received_that_passed_is_told_beside_the_outcome(tape: Tape) -> None:
    tape.open()
    tape.message(1, time_to_be_received=5)
    tape.administration_ack(1, 0x0002)
    tape.wait(20)
    tape.tcp("fin")
    assert (tape.life().outcome, tape.life().expired) == ("delivered", "time_to_be_received")


def test_the_oldest_messages_go_where_there_are_too_many(tape: Tape) -> None:
    tape.open()
    for number in range(1, 6):
        tape.message(number)
    follower = StoryFollower(messages=3)
    for record in tape.records:
        follower.feed(record)
    story = follower.finish()
    assert [life.message_id for life in story.lives] == [f"{SENDER}\\{number}" for number in (3, 4, 5)]
    assert story.left_out.lives == 2


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 3, 63, 64, 65, 200, 1000])
def test_every_message_has_one_life_in_the_story_or_where_those_go_that_leave(most: int, tape: Tape) -> None:
    tape.open()
    for number in range(1, 301):
        tape.message(number)
    left: list[Any] = []
    follower = StoryFollower(messages=most, leave=left.append)
    for record in tape.records:
        follower.feed(record)
    story = follower.finish()
    names = [life.message_id for life in (*left, *story.lives)]
    # The oldest go first, so all are in the order in which they came.
    assert names == [f"{SENDER}\\{number}" for number in range(1, 301)]
    assert len(story.lives) <= most
    assert story.left_out.lives == len(left)
    assert bool(left) == (most < 300)


@pytest.mark.slow
def test_messages_go_some_at_a_time(tape: Tape) -> None:
    tape.open()
    left: list[Any] = []
    follower = StoryFollower(messages=640, leave=left.append)
    for record in tape.records:
        follower.feed(record)
    gone = []
    for number in range(1, 664):
        follower.feed(tape.message(number))
        gone.append(len(left))
    # An eleventh more than a sixty-fourth, when there is one too many.
    assert gone[:640] == [0] * 640
    assert gone[640:] == [11] * 11 + [22] * 11 + [33]


def test_a_message_that_leaves_is_told_as_it_stands_then(tape: Tape) -> None:
    tape.open()
    tape.message(1, time_to_be_received=5)
    tape.administration_ack(1, 0x0002)
    tape.message(2)
    tape.message(3)
    tape.administration_ack(2, 0x0002)
    left: list[Any] = []
    follower = StoryFollower(messages=2, leave=left.append)
    for record in tape.records:
        follower.feed(record)
    story = follower.finish()
    outcomes = {life.message_id: life.outcome for life in left}
    # The ack of the second one came when it was gone.
    assert outcomes[f"{SENDER}\\1"] == "delivered"
    assert outcomes[f"{SENDER}\\2"] == "unknown"
    assert [(stray.kind, stray.message_id) for stray in story.strays] == [
        ("administration_ack", f"{SENDER}\\2")
    ]
    whole = {life.message_id: life for life in tape.story().lives}
    assert left[0] == msgspec.structs.replace(whole[f"{SENDER}\\1"], certain=left[0].certain)


def test_a_message_that_is_sent_again_after_it_left_begins_another_life(tape: Tape) -> None:
    tape.open()
    for number in (1, 2, 3, 1):
        tape.message(number)
    left: list[Any] = []
    follower = StoryFollower(messages=2, leave=left.append)
    for record in tape.records:
        follower.feed(record)
    names = [life.message_id for life in (*left, *follower.finish().lives)]
    assert sorted(names) == [f"{SENDER}\\{number}" for number in (1, 1, 2, 3)]


def test_lives_are_found_by_name_and_by_place(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    lives = tape.story().lives
    assert lives.by_id(lives[0].message_id) == lives[0]
    assert lives.by_id("not a name") is None
    assert lives[:1] == [lives[0]]


@pytest.mark.parametrize("plain", [False, True])
def test_of_acknowledgments_and_unless_asked_of_plain_messages_no_life_is_told(
    tape: Tape, plain: bool
) -> None:
    tape.open()
    tape.message(1, delivery="express", time_to_reach_queue=0xFFFFFFFF)
    tape.ack(1)
    tape.message(2)
    tape.administration_ack(2, 0x0002)
    lives = tape.story().lives
    told = [one.message_id for one in lives.odd(plain=plain) if isinstance(one, MessageLife)]
    assert told == ([lives[0].message_id] if plain else []) + [lives[1].message_id]
    assert len(list(lives.odd(plain=plain))) == 3


def test_a_final_ack_that_tells_no_class_has_class_0(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.final_ack(1, 0)
    assert [one.message_class for one in tape.life().acknowledgments] == [0]


def test_a_time_to_be_received_that_passed_expires_what_nothing_acknowledged(tape: Tape) -> None:
    tape.open()
    tape.message(1, time_to_be_received=5)
    tape.wait(20)
    tape.tcp("fin")
    life = tape.life()
    assert (life.outcome, life.expired) == ("expired", "time_to_be_received")
    assert life.reason == "its time to be received passed without an acknowledgment"


@pytest.mark.parametrize(
    ("properties", "delivery"),
    [
        ({}, None),
        ({"delivery_guarantee": 0}, "express"),
        ({"delivery_guarantee": 1}, "recoverable"),
        ({"delivery_guarantee": 1, "last_in_transaction": True}, "transactional"),
    ],
)
def test_a_message_in_a_transfer_buffer_says_how_it_is_delivered(
    tape: Tape, properties: dict[str, Any], delivery: str | None
) -> None:
    identifier = ObjectId(lineage=SENDER, uniquifier=1)
    packet = TransferBuffer(queue=QUEUE, properties=MessageProperties(identifier=identifier, **properties))
    tape.add("transfer_buffer", on=7, packet=packet)
    assert (tape.life().via, tape.life().delivery) == ("rpc", delivery)


def test_a_message_that_an_application_handed_over_is_delivered_as_its_packet_says(tape: Tape) -> None:
    properties = MessageProperties(identifier=ObjectId(lineage=SENDER, uniquifier=1), delivery_guarantee=0)
    tape.add("transfer_buffer", on=7, packet=TransferBuffer(queue=QUEUE, properties=properties))
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.order_ack(1)
    story = tape.story()
    assert [life.delivery for life in story.lives] == ["transactional"]
    assert ([stream.messages for stream in story.streams], story.strays) == ([1], ())


def test_what_was_read_remotely_first_goes_on_with_the_hops_it_made(tape: Tape) -> None:
    packet = build_message(QUEUE, b"body", source_queue_manager=SENDER, message_id=1)
    tape.add("message_packet", 1, 7, packet=packet)
    header = msgspec.structs.replace(packet.user_header, flags=packet.user_header.flags + 2)
    sent = tape.add("user_message", packet=msgspec.structs.replace(packet, user_header=header))
    assert [(hop.src, hop.hops) for hop in tape.life().route] == [(sent.src, 2)]


def test_an_acknowledgment_that_is_read_from_its_queue_counts(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    correlation = SENDER + (1).to_bytes(4, "little")
    packet = build_message(
        QUEUE,
        b"",
        source_queue_manager=RECEIVER,
        message_id=5001,
        message_class=0x4000,
        correlation_id=correlation,
    )
    read = tape.add("message_packet", 1, 7, packet=packet)
    life = tape.life()
    assert (life.outcome, life.evidence[-1]) == ("received", read.frames[0])
    assert [one.message_class for one in life.acknowledgments] == [0x4000]


def test_a_message_over_http_has_its_priority_and_ends_with_its_receipt() -> None:
    lives = follow(read_capture(CAPTURES / "clean_srmp.pcap", streams=True)).lives
    life = lives.by_id("7c0e5d1a-93b4-4f26-8a57-e1d2c3b4a596\\201")
    assert life is not None
    assert (life.via, life.priority, life.outcome) == ("http", 3, "delivered")
    assert [(one.kind, one.message_class) for one in life.acknowledgments] == [("receipt", 0x0002)]
