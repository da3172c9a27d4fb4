"""Sequences of transactional messages: `OutgoingSequence` of a sender, `IncomingSequence` of a receiver.

The rule kept here: a message names as its predecessor the one before it that is still kept, or the last one
that an OrderAck covered; so what expired or was refused leaves no gap. The text keeps one sequence for a
session; here each queue has one, for the sender as for the receiver. [MS-MQQB] 3.1.1.5, 3.1.7.1.3
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from msmq_wire.model.data.timers import Timer
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

if TYPE_CHECKING:
    from msmq_wire.model.binary.outgoing import OutgoingMessage
    from msmq_wire.model.binary.protocol import BinaryProtocol

__all__ = ["IncomingSequence", "OutgoingSequence"]


class OutgoingSequence:
    """The transactional messages to one queue; ``resend`` is given those that no OrderAck came for.

    ``identifier`` is OutgoingTxSequenceID and ``next_number`` OutgoingTxSequenceNumber; ``last_ack`` is
    TxOutgoingSequence.LastAck.SeqNo, ``interval`` TxOutgoingSequence.ResendIntervalIndex.
    """

    def __init__(self, protocol: BinaryProtocol, resend: Callable[[list[OutgoingMessage]], None]) -> None:
        self.identifier: TxSequenceID = protocol.new_sequence(self)
        self.next_number = 1
        self.last_ack = 0
        self.interval = 0
        self.unacknowledged: dict[int, OutgoingMessage] = {}
        self._protocol = protocol
        self._resend = resend
        self._last_sent = 0
        self._timer: Timer | None = None

    def place(self, message: OutgoingMessage) -> UserMessage:
        """The packet with its place in the sequence, which it gets when it is sent for the first time."""
        header = message.packet.transaction_header
        assert header is not None
        if not message.tx_sequence_number:
            message.tx_sequence_number = self.next_number
            self.next_number += 1
            self.unacknowledged[message.tx_sequence_number] = message
        header = msgspec.structs.replace(
            header,
            tx_sequence_id=self.identifier,
            tx_sequence_number=message.tx_sequence_number,
            previous_tx_sequence_number=self._last_sent,
        )
        self._last_sent = message.tx_sequence_number
        if self._timer is None or not self._timer.running:
            self._start()
        return msgspec.structs.replace(message.packet, transaction_header=header)

    def _start(self) -> None:
        self._stop()
        seconds = self._protocol.settings.resend_intervals[self.interval]
        self._timer = self._protocol.manager.timers.start(seconds * 1000, self._unanswered)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _unanswered(self) -> None:
        """Transactional Ack Wait Timer Event. [MS-MQQB] 3.1.6.5

        The text lets the interval grow with each OrderAck; read as its note 24: with each one that is
        missed.
        """
        self.interval = min(self.interval + 1, len(self._protocol.settings.resend_intervals) - 1)
        self._last_sent = self.last_ack
        self._resend(list(self.unacknowledged.values()))

    def begin_again(self) -> None:
        """The session is gone; what is not acknowledged is sent again in the next one."""
        self._stop()
        self._last_sent = self.last_ack

    def leave_out(self, message: OutgoingMessage) -> None:
        """A message is not sent any more."""
        self.unacknowledged.pop(message.tx_sequence_number, None)
        if not self.unacknowledged:
            self._stop()

    def acknowledge(self, number: int) -> list[OutgoingMessage]:
        """Take an OrderAck; return the messages that it covers. [MS-MQQB] 3.1.5.6

        When nothing is left that was sent, the next message begins a new sequence.
        """
        number = min(number, self.next_number - 1)
        covered = list(takewhile(lambda one: one.tx_sequence_number <= number, self.unacknowledged.values()))
        for one in covered:
            del self.unacknowledged[one.tx_sequence_number]
        if number > self.last_ack:
            self.last_ack = number
            self.interval = 0
        self._last_sent = max(self._last_sent, self.last_ack)
        if self.unacknowledged:
            if covered:
                self._start()
        elif self.next_number > 1:
            self._stop()
            self.identifier = self._protocol.next_sequence(self)
            self.next_number = 1
            self.last_ack = self._last_sent = 0
        return covered


class IncomingSequence(msgspec.Struct, eq=False, kw_only=True):
    """IncomingTxSequenceID, IncomingTxSequenceNumber and what an OrderAck needs. [MS-MQQB] 3.1.1.3.1

    ``number`` is 0 before anything was accepted; ``last_order_ack`` is in the milliseconds of the timers;
    ``order_ack`` is the last OrderAck, which may wait to be sent.
    """

    identifier: TxSequenceID = TxSequenceID()
    number: int = 0
    reject_count: int = 0
    last_order_ack: int
    order_ack_timer: Timer | None = None
    order_ack: OutgoingMessage | None = None

    def accepts(self, header: TransactionHeader) -> bool:
        """Whether a message is the next one: in order, and not seen before. [MS-MQQB] 3.1.5.8.6"""
        stated, previous = header.tx_sequence_number, header.previous_tx_sequence_number
        if header.tx_sequence_id == self.identifier:
            return stated > self.number >= previous
        return header.tx_sequence_id.value > self.identifier.value and previous == 0 and stated > 0

    def advance(self, header: TransactionHeader) -> None:
        """The message was accepted."""
        self.identifier, self.number = header.tx_sequence_id, header.tx_sequence_number
        self.reject_count = 0
