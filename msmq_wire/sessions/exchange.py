"""`SessionExchange`: the packets of one session, as a listener is told of them. [MS-MQQB] 3.1

The rule kept here: only whole packets say something; a cut one takes away what was known of its side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from msmq_wire.sessions.accepted import AcceptedSequence
from msmq_wire.sessions.listener import Refusal, SessionListener
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.session import Counts
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import NULL_GUID

_CS = 0x10
_MASK = 0xFFFF
_HALF = 0x8000
_PAUSED = 1
_MOST_CARRIED = 1024
"""Sequences of one connection that are known to be on it."""
_FIRST = SessionHeader(window_size=0)
"""What a side says before its first SessionHeader."""


class _Side(msgspec.Struct, eq=False):
    """What one side said: its first whole headers by type, its last SessionHeader and its largest window.

    ``header`` is None where there may have been another one. ``received`` is how many packets it
    acknowledged, whatever was sent.
    """

    header: Counts | None
    headers: dict[type, Any] = {}
    window: int = 0
    received: int = 0


class SessionExchange:
    """Tells ``listener`` of a session; ``whole`` says that nothing of it is missing or was cut."""

    __slots__ = ("_carried", "_listener", "_overrun", "_refusal", "_sides", "whole")

    def __init__(self, listener: SessionListener, *, started: bool) -> None:
        self._listener = listener
        first = _FIRST if started else None
        self._sides = _Side(first), _Side(first)
        self._refusal: tuple[Refusal, Moment] | None = None
        self._overrun = False
        self._carried: set[AcceptedSequence] = set()
        self.whole = started

    def established(self, packet: Any, header: Any, direction: int, at: Moment) -> None:
        """Take the header of a whole EstablishConnection packet."""
        request = self._request(header, direction, at)
        if request is None:
            return
        if (reached(reached(packet, "internal_header"), "flags") or 0) & _CS:
            self._refusal = "refused", at
        elif header.client_guid != request.client_guid:
            self._refusal = "client_guid", at
        elif request.server_guid not in (NULL_GUID, header.server_guid):
            self._refusal = "server_guid", at

    def agreed(self, header: Any, direction: int, at: Moment) -> None:
        """Take ConnectionParameters, None for a packet that was cut."""
        self._goes_on(direction, at)
        if header is not None:
            self._request(header, direction, at)

    def _request(self, header: Any, direction: int, at: Moment) -> Any:
        """What a header answers, if it is the first that does."""
        if self._sides[direction].headers.setdefault(type(header), header) is not header or not direction:
            return None
        request = self._sides[0].headers.get(type(header))
        if request is not None:
            self._listener.answered(request, header, at)
        return request

    def _goes_on(self, direction: int, at: Moment) -> None:
        if self._refusal is not None and direction == 0:
            self._listener.goes_on(*self._refusal, at)
            self._refusal = None

    def session_ack(self, header: Counts | None, direction: int, at: Moment) -> None:
        """Take a SessionAck, None for one that was cut."""
        self._goes_on(direction, at)
        before = self._sides[direction].header
        if header is not None:
            if before is not None and not _is_news(header, before):
                self._listener.acknowledged_again(header.ack_sequence_number, at)
            self.acknowledges(header, direction)

    def acknowledges(self, header: Counts | None, direction: int) -> None:
        """Take a SessionHeader, None for one that may have been cut off."""
        own = self._sides[direction]
        own.header = header
        if header is None:
            self.whole = False
            return
        own.window = max(own.window, header.window_size)
        more = (header.ack_sequence_number - own.received) & _MASK
        own.received += more if more < _HALF else 0

    def sent(self, count: int, direction: int, moments: Sequence[Moment]) -> None:
        """Take user packets; ``count`` is how many that side sent with them."""
        self._goes_on(direction, moments[0])
        one, other = self._sides
        waiting = count - (one if direction else other).received
        if waiting <= one.window or waiting <= other.window or self._overrun or not self.whole:
            return
        agreed = [side.headers.get(ConnectionParametersHeader) for side in self._sides]
        window = max(one.window, other.window, *(each.window_size for each in agreed if each is not None))
        if waiting > window and None not in agreed:
            self._overrun = True
            first = max(waiting - len(moments), window) + 1
            self._listener.overrun(first, window, moments[first - waiting - 1])

    def carries(self, sequence: AcceptedSequence) -> None:
        """Take a message of a transactional sequence."""
        sequence.whole &= self.whole
        if sequence not in self._carried:
            if len(self._carried) < _MOST_CARRIED:
                self._carried.add(sequence)
            else:
                sequence.whole = False

    def misses(self) -> None:
        """A packet was not seen whole: of the sequences on the connection nobody knows what was sent."""
        for sequence in self._carried:
            sequence.whole = False


def _is_news(header: Counts, before: Counts) -> bool:
    """Whether a SessionHeader says more than the one before it, or that a queue pauses.

    A paused queue has a window of 1. It can pause again, and nothing says that it went on. [MS-MQQB] 3.1.7.13
    """
    if header.ack_sequence_number != before.ack_sequence_number:
        return True
    if header.recoverable_msg_ack_flags:
        stored = header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags
        if stored != (before.recoverable_msg_ack_seq_number, before.recoverable_msg_ack_flags):
            return True
    return header.window_size == _PAUSED or before.window_size not in (0, header.window_size)
