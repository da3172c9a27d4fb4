"""`OutgoingMessage`: a message on its way, and `OutgoingSequence`, the order of transactional ones.

The rule kept here: a message names as its predecessor the one before it that is still kept, or the last one
that left because of an OrderAck; so what expired or was refused leaves no gap. The text keeps one sequence
for a session; here each queue has one, for the sender as for the receiver. [MS-MQQB] 3.1.1.5, 3.1.7.1.3
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import takewhile
from typing import Literal, Protocol, TypeAlias

import msgspec

from msmq_wire.lab.model.data.elements import OutgoingTransferInfo
from msmq_wire.lab.model.data.timers import Timer, Timers
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

Outcome: TypeAlias = Literal["acknowledged", "stored", "ordered", "received", "refused", "expired"]
"""Why a message needs not be sent any more: acknowledged by a session (express), acknowledged as stored
(recoverable), by an OrderAck or a FinalAck that is positive or negative (transactional), or too late."""


class OutgoingChannel(Protocol):
    """What leads to another queue manager, as it is used from below: see `TransmissionQueue`."""

    remote_queue_manager: GUID

    def send(self, packet: UserMessage) -> OutgoingMessage | None:
        """Take a message; None where there is no room."""

    def withdraw(self, message: OutgoingMessage) -> None:
        """Send a message no more."""

    def settle(self, message: OutgoingMessage, outcome: Outcome) -> None:
        """The message is kept no longer."""


class OutgoingMessage(msgspec.Struct, eq=False, kw_only=True):
    """A message on its way, an OutgoingMessagePosition. [MS-MQQB] 3.1.1.3.1.2

    ``number`` counts the messages of its queue. ``sequence`` is that of a transactional message of this queue
    manager, ``tx_sequence_number`` its place there, 0 before it was sent. ``waiting`` is True while it is to
    be sent in this session; ``received_session_ack`` and ``received_order_ack`` say what came for it there.
    ``outcome`` is None while it is kept, ``final_class`` the class of its FinalAck.
    """

    packet: UserMessage
    number: int
    size: int
    queue: OutgoingChannel
    sequence: OutgoingSequence | None = None
    tx_sequence_number: int = 0
    transmissions: int = 0
    waiting: bool = True
    received_session_ack: bool = False
    received_order_ack: bool = False
    outcome: Outcome | None = None
    final_class: int | None = None
    lateness: Timer | None = None

    @property
    def message_id(self) -> int:
        """Its number at the queue manager that sent it first."""
        return self.packet.user_header.message_id

    @property
    def recoverable(self) -> bool:
        """Whether it is kept until it is known to be stored."""
        return self.packet.user_header.bit("dm") == 1

    @property
    def wants_final_ack(self) -> bool:
        """Whether a copy is kept until a FinalAck comes: JN, JP, or FA. [MS-MQQB] 3.1.1.6.2"""
        user, transaction = self.packet.user_header, self.packet.transaction_header
        wanted = bool(user.bit("jn") or user.bit("jp"))
        return wanted or (transaction is not None and bool(transaction.bit("fa")))

    @property
    def place(self) -> tuple[int, int]:
        """What orders the messages of a queue."""
        return (0 if self.sequence else -self.packet.base_header.bit("pr")), self.number

    def acknowledged(self) -> None:
        """A session acknowledged it as received. [MS-MQQB] 3.1.5.5.1, 3.1.5.5.2"""
        self.received_session_ack = True
        if not self.recoverable:
            self.queue.settle(self, "acknowledged")

    def stored(self) -> None:
        """A session acknowledged it as stored. [MS-MQQB] 3.1.5.5.3"""
        if self.sequence is None:
            self.queue.settle(self, "stored")
        elif self.received_order_ack:
            self.queue.settle(self, "ordered")
            self.sequence.begin_anew()


class OutgoingSequence:
    """The transactional messages to one queue; ``resend`` is given those that are to be sent again.

    ``identifier`` is OutgoingTxSequenceID and ``next_number`` OutgoingTxSequenceNumber; ``kept`` are the
    messages that were sent and are still in OutgoingMessageTable. Of TxOutgoingSequence ``unacknowledged`` is
    UnackedSequence, ``last_ack`` LastAck.SeqNo, ``interval`` ResendIntervalIndex, ``acks`` LastAckCount and
    ``acked_at`` TimeOfLastAck in milliseconds.
    """

    def __init__(
        self,
        identifier: TxSequenceID,
        timers: Timers,
        resend_intervals: tuple[int, ...],
        resend: Callable[[list[OutgoingMessage]], None],
    ) -> None:
        self.identifier = identifier
        self.next_number = 1
        self.last_ack = 0
        self.interval = 0
        self.acks = 0
        self.acked_at: int | None = None
        self._acked = SequenceInfo()
        self.kept: dict[int, OutgoingMessage] = {}
        self.unacknowledged: deque[int] = deque()
        self._timers = timers
        self._resend_intervals = resend_intervals
        self._resend = resend
        self._last_sent = 0
        self._last_ordered = 0
        self._timer: Timer | None = None

    def place(self, message: OutgoingMessage) -> UserMessage:
        """The packet with its place in the sequence, which it gets when it is sent for the first time."""
        header = message.packet.transaction_header
        assert header is not None
        if not message.tx_sequence_number:
            message.tx_sequence_number = self.next_number
            self.next_number += 1
            self.kept[message.tx_sequence_number] = message
            self.unacknowledged.append(message.tx_sequence_number)
        header = msgspec.structs.replace(
            header,
            tx_sequence_id=self.identifier,
            tx_sequence_number=message.tx_sequence_number,
            previous_tx_sequence_number=self._last_sent,
        )
        self._last_sent = message.tx_sequence_number
        if self._timer is None or not self._timer.running:
            interval = self._resend_intervals[self.interval] * 1000
            self._timer = self._timers.start(interval, self._unanswered)
        return msgspec.structs.replace(message.packet, transaction_header=header)

    def stop(self) -> None:
        """Wait for no OrderAck: there is no session, or nothing that was sent."""
        if self._timer is not None:
            self._timer.cancel()

    def _unanswered(self) -> None:
        """Transactional Ack Wait Timer Event. [MS-MQQB] 3.1.6.5

        The text lets the interval grow with each OrderAck, its note 24 with each time-out; here both do.
        """
        self._wait_longer()
        self.resend()

    def _wait_longer(self) -> None:
        self.interval = min(self.interval + 1, len(self._resend_intervals) - 1)

    def begin_session(self) -> None:
        """A session is open, in which all that is kept is sent again. [MS-MQQB] 3.1.3.2

        The text gives new numbers to what is sent again; then it would arrive twice, so it keeps its own.
        """
        self.stop()
        self._last_sent = self._last_ordered
        self.last_ack = self.interval = self.acks = 0
        self.unacknowledged = deque(self.kept)
        for message in self.kept.values():
            message.received_session_ack = message.received_order_ack = False

    def resend(self) -> None:
        """Send again at once all that is kept. [MS-MQQB] 3.1.6.5"""
        self._last_sent = self._last_ordered
        for message in self.kept.values():
            message.received_session_ack = False
        self._resend(list(self.kept.values()))

    def transfer_info(self, since: int, unread: int) -> OutgoingTransferInfo:
        """How far it is, as an administrator is told. [MS-MQQB] 3.1.5.6, 3.1.5.8.8

        ``since`` is when the timers began, in seconds since 1970, ``unread`` how many of its messages wait
        for a FinalAck.
        """
        numbers, timer = self.unacknowledged, self._timer
        return OutgoingTransferInfo(
            eod_first_non_ack=self._info(numbers[0]) if numbers else SequenceInfo(),
            eod_last_ack=self._acked,
            eod_last_ack_count=self.acks,
            eod_last_ack_time=0 if self.acked_at is None else since + self.acked_at // 1000,
            eod_last_non_ack=self._info(numbers[-1]) if numbers else SequenceInfo(),
            eod_next_seq=self._info(self.next_number),
            eod_no_ack_count=len(numbers),
            eod_no_read_count=unread,
            eod_resend_count=self.interval,
            eod_resend_interval=self._resend_intervals[self.interval],
            eod_resend_time=since + timer.due // 1000 if timer is not None and timer.running else 0,
        )

    def _info(self, number: int) -> SequenceInfo:
        """The SEQUENCE_INFO of a message. [MS-MQQB] 3.1.1.5"""
        value = self.identifier.value
        return SequenceInfo(seq_id=value - (value >> 63 << 64), seq_no=number, prev_no=number - 1)

    def leave_out(self, message: OutgoingMessage) -> None:
        """A message is kept no longer."""
        self.kept.pop(message.tx_sequence_number, None)
        if message.received_order_ack:
            self._last_ordered = max(self._last_ordered, message.tx_sequence_number)
            self._last_sent = max(self._last_sent, self._last_ordered)
        if not self.kept:
            self.stop()

    def acknowledge(self, number: int) -> list[OutgoingMessage]:
        """Take an OrderAck; return the messages that leave because of it. [MS-MQQB] 3.1.5.6

        A message that no session has acknowledged stays until one does. [MS-MQQB] 3.1.5.5.3
        """
        self.acks += 1
        self.acked_at = self._timers.now
        self._wait_longer()
        if number > self.last_ack:
            self._acked = self._info(number)
            self.last_ack = number
        while self.unacknowledged and self.unacknowledged[0] <= self.last_ack:
            self.unacknowledged.popleft()
        if not self.unacknowledged:
            self.interval = 0
        covered = list(takewhile(lambda one: one.tx_sequence_number <= number, self.kept.values()))
        for one in covered:
            one.received_order_ack = True
        return [one for one in covered if one.received_session_ack]

    def begin_anew(self) -> None:
        """Begin a new sequence, where nothing is kept of this one. [MS-MQQB] 3.1.5.6, 3.1.1.5"""
        if self.kept or self.next_number == 1:
            return
        ordinal = self.identifier.ordinal + 1 & 0xFFFF_FFFF
        self.identifier = TxSequenceID(ordinal=ordinal, time_stamp=self.identifier.time_stamp)
        self.next_number = 1
        self.last_ack = self._last_sent = self._last_ordered = 0
        self.unacknowledged.clear()
