"""Transactional sequences. [MS-MQQB] 3.1.1.5, 3.1.5.8.6"""

from __future__ import annotations

import msgspec

from msmq_wire.sessions import TransactionalStream
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.sessions.tape import RECEIVER, SENDER, Tape


def stream(tape: Tape) -> TransactionalStream:
    (one,) = tape.story().streams
    return one


def test_numbers_in_order_leave_no_gap(tape: Tape) -> None:
    tape.open()
    for number in (1, 2, 3):
        tape.message(number, tx=(number, number - 1))
    one = stream(tape)
    assert (one.messages, one.first_number, one.last_number, one.gaps, one.repeats) == (3, 1, 3, (), 0)
    assert one.awaiting_numbers == (1, 2, 3)
    assert one.certain


def test_a_number_that_the_next_message_names_and_nobody_saw_is_a_gap(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.message(3, tx=(3, 2))
    (gap,) = stream(tape).gaps
    assert (gap.after, gap.previous, gap.number, gap.filled) == (1, 2, 3, None)


def test_a_resend_fills_a_gap_and_is_no_repeat(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.message(3, tx=(3, 2))
    record = tape.message(2, tx=(2, 1))
    tape.message(2, tx=(2, 1))
    one = stream(tape)
    assert one.gaps[0].filled is not None
    assert one.gaps[0].filled.frame == record.frames[0]
    assert one.repeats == 1


def test_numbers_left_out_with_the_right_predecessor_are_no_gap(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.message(5, tx=(5, 1))
    one = stream(tape)
    assert one.gaps == ()
    assert [(bridge.number, bridge.previous) for bridge in one.bridges] == [(5, 1)]


def test_a_sequence_that_began_before_the_capture_has_no_gap_at_its_start(tape: Tape) -> None:
    tape.open()
    tape.message(8, tx=(8, 7))
    one = stream(tape)
    assert (one.first_number, one.gaps, one.bridges) == (8, (), ())


def test_an_order_ack_covers_every_number_up_to_its_own(tape: Tape) -> None:
    tape.open()
    for number in (1, 2, 3):
        tape.message(number, tx=(number, number - 1))
    ack = tape.order_ack(2)
    one = stream(tape)
    assert (one.acknowledged, one.acknowledged_by, one.awaiting_numbers) == (2, RECEIVER, (3,))
    assert tape.life(1).order_ack == one.first_order_ack
    assert tape.life(1).evidence[-1] == ack.frames[0]
    assert (tape.life(2).outcome, tape.life(3).outcome) == ("delivered", "unknown")


def test_an_order_ack_for_another_sequence_is_a_stray(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.order_ack(1, TxSequenceID(ordinal=2, time_stamp=7))
    (stray,) = tape.story().strays
    assert (stray.kind, stray.tx_sequence_id, stray.number) == ("order_ack", 7 << 32 | 2, 1)
    assert tape.life(1).order_ack is None


def test_an_order_ack_beyond_what_was_seen_is_told(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    ack = tape.order_ack(4)
    ahead = stream(tape).acknowledged_ahead
    assert ahead is not None
    assert ahead.frame == ack.frames[0]


def test_a_hole_in_the_session_makes_gaps_uncertain(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.gap()
    tape.message(3, tx=(3, 2))
    assert [gap.certain for gap in stream(tape).gaps] == [False]


def test_a_transactional_message_arrives_twice_only_after_its_order_ack(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.ack(1, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=1)
    tape.message(1, tx=(1, 0))
    assert (tape.life(1).resends, tape.life(1).duplicates) == (1, 0)
    tape.order_ack(1)
    tape.message(1, tx=(1, 0))
    assert (tape.life(1).resends, tape.life(1).duplicates) == (2, 1)


def test_an_order_ack_without_a_queue_manager_goes_to_the_hosts_it_travels_between(tape: Tape) -> None:
    tape.open()
    for sender, host in ((SENDER, "192.0.2.21"), (RECEIVER, "192.0.2.31")):
        record = tape.message(1, tx=(1, 0), source_queue_manager=sender)
        tape.records[-1] = msgspec.structs.replace(record, src=f"{host}:49731")
    ack = tape.order_ack(1)
    tape.records[-1] = msgspec.structs.replace(ack, dst="192.0.2.31:49731")
    assert [(one.src, one.acknowledged) for one in tape.story().streams] == [
        ("192.0.2.21:49731", 0),
        ("192.0.2.31:49731", 1),
    ]
