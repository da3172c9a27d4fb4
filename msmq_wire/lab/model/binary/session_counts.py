"""The counts of a session: what was sent and received in it, and what was acknowledged. [MS-MQQB] 3.1.1.4

The rule kept here: counts do not wrap, although the wire has 16 bits of them. A number from the wire is the
one that fits what is not acknowledged yet, and where none fits it says nothing.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import takewhile
from typing import Generic, TypeVar

from msmq_wire.wire.headers.session_header import SessionHeader

_MASK = 0xFFFF
_FLAGS = 32
"""Bits of RecoverableMsgAckFlags."""

T = TypeVar("T")


class SentCounts(Generic[T]):
    """User packets that were sent, as ``T``, and wait to be acknowledged.

    ``messages`` is MessageSentCount, ``recoverable`` is RecoverableMessageSentCount.
    """

    def __init__(self) -> None:
        self.messages = 0
        self.recoverable = 0
        self._acknowledged = 0
        self._waiting: deque[tuple[int, T]] = deque()
        self._unstored: OrderedDict[int, T] = OrderedDict()

    @property
    def unacknowledged(self) -> int:
        """UnAckedMessageCount."""
        return self.messages - self._acknowledged

    @property
    def waiting(self) -> bool:
        """Whether anything waits to be acknowledged, as received or as stored."""
        return bool(self._waiting or self._unstored)

    def add(self, message: T, *, recoverable: bool) -> None:
        """Count a packet."""
        self.messages += 1
        self._waiting.append((self.messages, message))
        if recoverable:
            self.recoverable += 1
            self._unstored[self.recoverable] = message

    def acknowledge(self, header: SessionHeader) -> tuple[list[T], list[T]]:
        """Mark Acknowledged Messages: those that are now known as received, and as stored.

        [MS-MQQB] 3.1.5.5.1 to 3.1.5.5.3
        """
        received: list[T] = []
        number = self._number(header.ack_sequence_number, self.messages, self.unacknowledged)
        if number is not None:
            self._acknowledged = number
            while self._waiting and self._waiting[0][0] <= number:
                received.append(self._waiting.popleft()[1])
        return received, self._stored(header)

    def _stored(self, header: SessionHeader) -> list[T]:
        low, flags = header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags
        if not self._unstored or not (low or flags):
            return []
        first = self._number(low, self.recoverable, self.recoverable - next(iter(self._unstored)))
        if first is None:
            return []
        numbers = list(takewhile(lambda number: number <= first, self._unstored))
        numbers += [first + bit for bit in range(_FLAGS) if flags >> bit & 1]
        return [self._unstored.pop(number) for number in numbers if number in self._unstored]

    @staticmethod
    def _number(stated: int, counted: int, most: int) -> int | None:
        """The number that 16 bits stand for, at most ``most`` below ``counted``."""
        behind = (counted - stated) & _MASK
        return counted - behind if behind <= most else None


class ReceivedCounts:
    """User packets that were received, and which of them are not acknowledged.

    ``messages`` is MessageReceivedCount, ``recoverable`` is RecoverableMessageReceivedCount,
    ``unacknowledged`` is UnackedReceivedMsgCount, ``flags`` is RecoverableMsgAckFlags.
    """

    def __init__(self) -> None:
        self.messages = 0
        self.recoverable = 0
        self.unacknowledged = 0
        self.flags = 0
        self._last_acknowledged = 0

    @property
    def full(self) -> bool:
        """Whether one more recoverable packet has no bit left. [MS-MQQB] 3.1.5.8.7"""
        return self.recoverable - self._last_acknowledged >= _FLAGS

    def add(self) -> None:
        """Count a packet. [MS-MQQB] 3.1.5.8.2"""
        self.messages += 1
        self.unacknowledged += 1

    def store(self) -> None:
        """Count a packet that was added as recoverable, and remember it as stored. [MS-MQQB] 3.1.5.8.7"""
        self.flags |= 1 << (self.recoverable - self._last_acknowledged)
        self.recoverable += 1

    def agrees(self, header: SessionHeader) -> bool:
        """Validate Message Counts: whether what the other side sent is what came. [MS-MQQB] 3.1.5.5.5"""
        sent, recoverable = header.user_msg_sequence_number, header.recoverable_msg_seq_number
        return sent == self.messages & _MASK and recoverable == self.recoverable & _MASK

    def header(self, sent: SentCounts[T], window: int) -> SessionHeader:
        """A SessionHeader that acknowledges all of it; nothing is unacknowledged afterwards."""
        first = self._last_acknowledged + 1 if self.flags else 0
        made = SessionHeader(
            ack_sequence_number=self.messages & _MASK,
            recoverable_msg_ack_seq_number=first & _MASK,
            recoverable_msg_ack_flags=self.flags,
            user_msg_sequence_number=sent.messages & _MASK,
            recoverable_msg_seq_number=sent.recoverable & _MASK,
            window_size=window,
        )
        self.flags = 0
        self.unacknowledged = 0
        self._last_acknowledged = self.recoverable
        return made
