"""Numbers of user packets and their acknowledgments. [MS-MQMQ] 2.2.20.4, [MS-MQQB] 3.1.5.5"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.sessions.followed_message import moment_of
from msmq_wire.sessions.sent_packet import SentPacket
from msmq_wire.sessions.sequence import SentSequence
from msmq_wire.wire.headers.session_header import SessionHeader
from tests.sessions.tape import SECOND, Tape


def test_an_ack_covers_every_number_up_to_its_own(tape: Tape) -> None:
    tape.open()
    for number in (1, 2, 3):
        tape.message(number)
    tape.ack(2)
    direction = tape.session().directions[0]
    assert (direction.sequence_number, direction.acknowledged, direction.unacknowledged) == (3, 2, 1)
    assert direction.unacknowledged_ids == (tape.life(3).message_id,)
    assert tape.life(2).acknowledged is not None
    assert tape.life(3).acknowledged is None


def test_bit_k_stores_the_recoverable_number_plus_k_and_no_other(tape: Tape) -> None:
    tape.open()
    tape.message(1, delivery="recoverable")
    tape.message(2)
    tape.message(3, delivery="recoverable")
    tape.message(4, delivery="recoverable")
    # Recoverable numbers 1, 2 and 3 are messages 1, 3 and 4.
    tape.ack(4, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=0b101)
    assert [tape.life(number).stored is not None for number in (1, 2, 3, 4)] == [True, False, False, True]
    direction = tape.session().directions[0]
    assert (direction.stored, direction.unstored, direction.recoverable) == (2, 1, 3)
    assert direction.unstored_ids == (tape.life(3).message_id,)


def test_a_header_on_a_user_message_acknowledges_the_other_direction(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.message(2, 1, header=SessionHeader(ack_sequence_number=1, user_msg_sequence_number=1))
    session = tape.session()
    assert session.directions[0].unacknowledged == 0
    assert session.directions[1].unacknowledged == 1
    assert session.notes == ()


def test_an_ack_that_goes_back_is_noted_and_takes_nothing_away(tape: Tape) -> None:
    tape.open()
    for number in (1, 2, 3):
        tape.message(number)
    tape.ack(3)
    tape.ack(1)
    session = tape.session()
    assert [(note.kind, note.stated, note.expected) for note in session.notes] == [("ack_back", 1, 3)]
    assert session.directions[0].acknowledged == 3


def test_an_ack_for_more_than_was_sent_is_noted_and_acknowledges_nothing(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.ack(5)
    for number in range(2, 8):
        tape.message(number)
    session = tape.session()
    assert [(note.kind, note.stated, note.expected) for note in session.notes] == [("ack_ahead", 5, 1)]
    assert session.directions[0].unacknowledged == 7


def test_an_ack_counts_for_a_message_of_an_earlier_frame_that_is_told_later(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    record = tape.ack(2)
    tape.message(2)
    late = tape.records.pop()
    tape.add("user_message", packet=late.packet, frames=(record.frames[0] - 1,), length=200)
    session = tape.session()
    assert session.notes == ()
    assert session.directions[0].unacknowledged == 0


def test_stored_bits_without_any_recoverable_message_are_noted(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.ack(1, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=1)
    assert [note.kind for note in tape.session().notes] == ["stored_unseen"]


def test_a_bit_beyond_the_last_recoverable_message_is_noted(tape: Tape) -> None:
    tape.open()
    tape.message(1, delivery="recoverable")
    tape.ack(1, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=0b11)
    session = tape.session()
    assert [(note.kind, note.stated, note.expected) for note in session.notes] == [("stored_ahead", 2, 1)]
    assert session.directions[0].stored == 1


def test_a_wrong_count_is_noted_where_nothing_is_missing(tape: Tape) -> None:
    tape.open()
    tape.message(1, header=SessionHeader(user_msg_sequence_number=4, recoverable_msg_seq_number=2))
    found = [(note.kind, note.direction, note.stated, note.expected) for note in tape.session().notes]
    assert found == [("sent_count", 0, 4, 1), ("recoverable_count", 0, 2, 0)]


def test_after_a_hole_counts_renumber_instead_of_being_wrong(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.gap()
    tape.message(4, header=SessionHeader(user_msg_sequence_number=4))
    tape.ack(4)
    session = tape.session()
    assert session.notes == ()
    direction = session.directions[0]
    assert (direction.messages, direction.sequence_number, direction.unacknowledged) == (2, 4, 0)
    assert not direction.certain
    assert not tape.life(4).certain


def test_the_window_closes_when_as_many_packets_wait_as_it_allows(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.ack(1, window_size=2)
    for number in (2, 3):
        tape.message(number)
    tape.ack(3, window_size=2)
    tape.message(4)
    direction = tape.session().directions[0]
    assert (direction.window_closings, direction.window_size, direction.smallest_window) == (1, 2, 2)
    assert tape.session().directions[1].announced == (64, 2)


def test_the_longest_wait_is_that_of_the_oldest_packet_an_ack_covers(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.wait(3)
    tape.message(2)
    tape.wait(1)
    tape.ack(2)
    direction = tape.session().directions[0]
    assert direction.longest_wait == 4 * SECOND + 2_000_000
    assert direction.longest_wait_at == direction.first_message


@pytest.mark.slow
@given(st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_acks_of_what_was_sent_leave_exactly_the_rest(bursts: list[int]) -> None:
    tape = Tape()
    tape.open()
    sent = 0
    for burst in bursts:
        for _ in range(burst):
            sent += 1
            tape.message(sent)
        tape.ack(sent - 1)
    direction = tape.session().directions[0]
    assert (direction.acknowledged, direction.unacknowledged) == (sent - 1, 1)
    assert tape.session().notes == ()


@pytest.mark.parametrize("side", [0, 1])
def test_each_direction_has_its_own_numbers(tape: Tape, side: int) -> None:
    tape.open()
    tape.message(1, side)
    tape.ack(1, 1 - side)
    assert [one.unacknowledged for one in tape.session().directions] == [0, 0]
    assert tape.session().directions[side].messages == 1


@pytest.mark.check
def test_more_waiting_packets_than_numbers_tell_apart_are_counted_and_uncertain() -> None:
    found: list[str] = []
    sequence = SentSequence(lambda kind, *_: found.append(kind), base_known=True)
    tape = Tape()
    moment = moment_of(tape.message(1))
    for _ in range((1 << 15) + 3):
        sequence.sent(None, None, moment, False, False, 1)
    assert sequence.finish().unacknowledged == (1 << 15) + 3
    sequence.acknowledge(SessionHeader(ack_sequence_number=(1 << 15) + 3), moment)
    assert (sequence.finish().unacknowledged, found) == (0, [])


class _Watched(deque[SentPacket]):
    """Packets that wait, and how many of them were looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[SentPacket]:
        return map(self._look, super().__iter__())

    def __reversed__(self) -> Iterator[SentPacket]:
        return map(self._look, super().__reversed__())

    def _look(self, one: SentPacket) -> SentPacket:
        self.looked_at += 1
        return one


@pytest.mark.slow
def test_a_count_that_tells_of_missed_packets_looks_at_those_behind_the_count_before(tape: Tape) -> None:
    sent = SentSequence(lambda *_: None, base_known=False)
    waiting = sent._waiting = _Watched()
    for number in range(1, 201):
        sent.sent(None, None, moment_of(tape.message(number)), False, False, 1)
        # One of two packets is missing from the capture.
        counts = SessionHeader(user_msg_sequence_number=2 * number)
        sent.states(counts, moment_of(tape.add("session_ack", 1)))
    assert waiting.looked_at <= 3 * 200
    assert [one.number for one in waiting] == [2 * number for number in range(1, 201)]


@pytest.mark.slow
def test_acks_that_count_ahead_again_and_again_are_not_followed_for_ever(tape: Tape) -> None:
    sent = SentSequence(lambda *_: None, base_known=False)
    waiting = sent._waiting = _Watched()
    for number in range(1, 1001):
        sent.sent(None, None, moment_of(tape.message(number)), True, False, 1)
    moment = moment_of(tape.add("session_ack", 1))
    for number in range(1001, 1301):
        sent.acknowledge(SessionHeader(recoverable_msg_ack_seq_number=number), moment)
    assert waiting.looked_at <= (1 << 16) + 16 * 1000 + 1000
    assert sent.finish().recoverable_sequence_number == 1300


def test_an_ack_behind_a_hole_tells_of_the_one_packet_that_was_missed(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.gap()
    tape.message(3)
    tape.ack(3)
    session = tape.session()
    direction = session.directions[0]
    assert session.notes == ()
    assert (direction.messages, direction.sequence_number, direction.unacknowledged) == (2, 3, 0)


def test_acks_ahead_of_their_messages_wait_for_them_sixty_four_at_a_time(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    acks = [tape.ack(2) for _ in range(65)]
    tape.message(2)
    # It lies before all of them, and only the first one was told without it.
    tape.records[-1] = msgspec.structs.replace(tape.records[-1], frames=(acks[0].frames[0] - 1,))
    (note,) = tape.session().notes
    assert (note.kind, note.first.frame, note.count) == ("ack_ahead", acks[0].frames[0], 1)
