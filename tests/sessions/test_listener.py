"""Whoever listens to a follower is told what packets show, once, when they are taken."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from msmq_wire import GUID
from msmq_wire.sessions import StoryFollower
from msmq_wire.sessions.accepted import AcceptedSequence, EarlyOrderAck
from msmq_wire.sessions.listener import MessageAck, SentCopies
from msmq_wire.sessions.moment import Moment
from msmq_wire.wire.headers.session_header import SessionHeader
from tests.sessions.tape import RECEIVER, Tape

_OTHER = GUID.parse("0b5f1d7c-2f5e-4a55-9d0e-6c1f3c0a9b11")
Told = list[tuple[Any, ...]]


class _Notes:
    """Keeps what it is told, each with the number of its record."""

    def __init__(self) -> None:
        self.reported: Told = []

    def begin(self) -> None:
        self.reported.append(("begin",))

    def answered(self, request: Any, response: Any, at: Moment) -> None:
        self.reported.append(("answered", type(response).stem(), request is not response, at.record))

    def goes_on(self, refusal: str, since: Moment, at: Moment) -> None:
        self.reported.append(("goes_on", refusal, since.record, at.record))

    def acknowledged_again(self, number: int, at: Moment) -> None:
        self.reported.append(("again", number, at.record))

    def overrun(self, waiting: int, window: int, at: Moment) -> None:
        self.reported.append(("overrun", waiting, window, at.record))

    def acknowledged(self, copies: SentCopies, ack: MessageAck, at: Moment) -> None:
        said = ("final" if ack.final else "administration", ack.message_class, len(copies.acks))
        self.reported.append((*said, copies.copies, copies.frame, ack.source == RECEIVER, at.record))

    def order_ack(
        self, identifier: int, sequence: AcceptedSequence, number: int, by: GUID, stream: int, at: Moment
    ) -> None:
        assert (identifier, by, stream) == (7 << 32 | 1, RECEIVER, 0)
        self.reported.append(("order", number, sequence.accepted, sequence.last, sequence.whole, at.record))
        if number > sequence.accepted:
            sequence.early.append(EarlyOrderAck(number, at.time or 0))

    def filled(self, early: EarlyOrderAck) -> None:
        self.reported.append(("filled", early.number))


def _reported(tape: Tape) -> Told:
    notes, follower = _Notes(), StoryFollower()
    follower.listen(notes)
    for record in tape.records:
        follower.feed(record)
    return notes.reported


_OPENED = [
    ("answered", "establish_connection_header", True, 5),
    ("answered", "connection_parameters_header", True, 7),
]


def _refused(tape: Tape) -> None:
    tape.handshake()
    tape.establish()
    tape.establish(1, client_guid=_OTHER)
    for number in (1, 2):
        tape.message(number)


def _refused_by_cs(tape: Tape) -> None:
    tape.handshake()
    tape.establish()
    tape.establish(1, cs=True)
    tape.message(1, 1)
    tape.parameters()


def _answered_by_another(tape: Tape) -> None:
    tape.handshake()
    tape.establish(server_guid=_OTHER)
    tape.establish(1)
    tape.ack(1, side=0)


def _acknowledged_twice(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    for _ in range(2):
        tape.ack(1)
    # A bit for another packet is news.
    tape.ack(1, recoverable_msg_ack_seq_number=1, recoverable_msg_ack_flags=1)


def _overrun(tape: Tape, *, hole: bool = False) -> None:
    tape.handshake()
    tape.establish()
    tape.establish(1)
    tape.parameters(window_size=2)
    tape.parameters(1, window_size=1)
    if hole:
        tape.add("gap", missing=1, reason="not-captured")
    for number in (1, 2):
        tape.message(number)
    tape.ack(1, window_size=1)
    for number in (3, 4, 5):
        tape.message(number)


def _acknowledgments(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.administration_ack(1, 0x0002)
    tape.message(1)
    tape.final_ack(1, 0x4000)
    tape.final_ack(2, 0x4000)
    # A report says nothing of what became of the message.
    tape.administration_ack(1, 0x0001, own=5002)


def _order_acks(tape: Tape) -> None:
    tape.open()
    tape.order_ack(1)
    tape.message(1, tx=(1, 0))
    tape.message(3, tx=(3, 2))
    tape.order_ack(3)
    tape.time -= 2_000_000
    tape.message(2, tx=(2, 1))
    tape.order_ack(3)


def _order_ack_behind_a_hole(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.add("gap", missing=1, reason="not-captured")
    tape.order_ack(1)


@pytest.mark.parametrize(
    ("scene", "reported"),
    [
        (Tape.open, _OPENED),
        (_refused, [_OPENED[0], ("goes_on", "client_guid", 5, 6)]),
        (_refused_by_cs, [_OPENED[0], ("goes_on", "refused", 5, 7)]),
        (_answered_by_another, [_OPENED[0], ("goes_on", "server_guid", 5, 6)]),
        (_acknowledged_twice, [*_OPENED, ("again", 1, 10)]),
        (_overrun, [*_OPENED, ("overrun", 3, 2, 12)]),
        (partial(_overrun, hole=True), _OPENED),
        (
            _acknowledgments,
            [
                *_OPENED,
                ("administration", 0x0002, 0, 1, 8, True, 9),
                ("final", 0x4000, 1, 2, 8, True, 11),
            ],
        ),
        (
            _order_acks,
            [
                *_OPENED,
                ("order", 3, 1, 3, True, 11),
                ("filled", 3),
                ("order", 3, 3, 3, True, 13),
            ],
        ),
        (_order_ack_behind_a_hole, [*_OPENED, ("order", 1, 1, 1, False, 10)]),
    ],
)
def test_what_a_packet_shows_is_told_when_it_is_taken(
    scene: Callable[[Tape], None], reported: Told, tape: Tape
) -> None:
    scene(tape)
    assert _reported(tape) == reported


def test_another_capture_knows_nothing_of_the_messages_of_the_one_before(tape: Tape) -> None:
    tape.open()
    tape.message(1, tx=(1, 0))
    tape.add("tcp_stream", event="syn", capture="second")
    for record in (tape.final_ack(1, 0x4000), tape.order_ack(1)):
        tape.records[record.id - 1] = msgspec.structs.replace(record, capture="second")
    assert _reported(tape) == [*_OPENED, ("begin",)]


def test_a_message_that_is_followed_no_longer_is_not_known(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.final_ack(1, 0x4000)
    for number in (2, 3):
        tape.message(number)
    tape.final_ack(1, 0x4000)
    notes, follower = _Notes(), StoryFollower(messages=1)
    follower.listen(notes)
    for record in tape.records:
        follower.feed(record)
    assert [one for one in notes.reported if one[0] == "final"] == [("final", 0x4000, 0, 1, 8, True, 9)]


def test_a_session_header_on_a_message_counts_as_an_acknowledgment(tape: Tape) -> None:
    tape.open()
    tape.message(1)
    tape.message(7, 1, header=SessionHeader(ack_sequence_number=1))
    tape.ack(1)
    assert _reported(tape) == [*_OPENED, ("again", 1, 10)]
