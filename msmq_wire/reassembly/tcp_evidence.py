"""What the segments of a connection show of the network below it, counted as they come.

The rule kept here: a fixed number of bytes for each connection, whatever comes, and none for a connection of
which nothing is odd. A frame that was captured twice is no retransmission, and a hole that nobody asked for
again is a fact about the capture.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from msmq_wire.units import MILLISECOND

ForgedBy: TypeAlias = Literal["hop_limit", "sequence_number"]

COPY_TIME = 10 * MILLISECOND
"""Nanoseconds within which a segment that comes again may be the same frame, captured twice."""
_COPIES = 64
"""How many packets a host may have sent between the two times that one frame was captured."""
_ASKED = 3
_REORDERED = 3 * MILLISECOND
"""So many acknowledgments of the byte before a hole ask for it, and one does where the hole is older."""


class FrameTime(msgspec.Struct, frozen=True, gc=False):
    """A frame, 1-based, and its time in nanoseconds since 1970; time 0 is unknown."""

    frame: int
    time: int


class SideEvidence(msgspec.Struct, gc=False):
    """What one side of a connection sent: fields as in `msmq_wire.sessions.network_evidence.SentEvidence`.

    ``holes`` counts segments behind bytes that had not been captured by then. ``asked`` counts
    acknowledgments of the byte before the hole that is open, the last of them with the identification
    ``asked_by``; ``closed_since`` is when the receive window became full, None while it is open.
    """

    retransmissions: int = 0
    recovered: int = 0
    holes: int = 0
    first_retransmission: FrameTime | None = None
    last_retransmission: FrameTime | None = None
    unanswered: int = 0
    unanswered_since: FrameTime | None = None
    unanswered_time: int | None = None
    idle_before: int | None = None
    unacknowledged: int = 0
    zero_windows: int = 0
    window_closings: int = 0
    first_zero_window: FrameTime | None = None
    last_zero_window: FrameTime | None = None
    longest_zero_window: int | None = None
    asked: int = 0
    asked_by: int = 0
    closed_since: int | None = None

    @property
    def is_odd(self) -> bool:
        """Whether anything here speaks of the network, or of a host."""
        return bool(self.retransmissions or self.recovered or self.zero_windows)

    def answered(self) -> None:
        """The other side sent something."""
        self.unanswered = 0
        self.unanswered_since = self.unanswered_time = self.idle_before = None

    def sent_again(self, at: FrameTime, *, recovers: bool) -> None:
        """Count a segment that was sent again; it ``recovers`` bytes that were not captured before."""
        if recovers:
            self.recovered += 1
        else:
            self.retransmissions += 1
        self.first_retransmission = self.first_retransmission or at
        self.last_retransmission = at

    def unanswered_by(self, at: FrameTime, sent: FrameTime, heard: int) -> None:
        """Say that the other side, last ``heard`` then, sent nothing since the data that was ``sent``."""
        if self.unanswered_since is None:
            self.unanswered_since = sent
            self.idle_before = between(heard, sent.time)
        self.unanswered += 1
        self.unanswered_time = between(self.unanswered_since.time, at.time)

    def asks(self, ident: int) -> None:
        """Count an acknowledgment that asks for a hole, but not the same packet again."""
        if not ident or ident != self.asked_by:
            self.asked, self.asked_by = self.asked + 1, ident

    def is_recovery(self, opened: int, time: int) -> bool:
        """Whether bytes for a hole that is there since ``opened`` were asked for, and sent again."""
        return self.asked >= _ASKED or (self.asked > 0 and time - opened >= _REORDERED)

    def window(self, size: int, at: FrameTime) -> None:
        """Take the receive window of a segment; its scale does not matter to whether it is 0."""
        if size:
            self.measure(at.time)
            self.closed_since = None
            return
        self.zero_windows += 1
        self.first_zero_window = self.first_zero_window or at
        self.last_zero_window = at
        if self.closed_since is None:
            self.window_closings += 1
            self.closed_since = at.time
        self.measure(at.time)

    def measure(self, time: int) -> None:
        """Take note how long the window was full by now."""
        if self.closed_since is not None:
            lasted = between(self.closed_since, time)
            self.longest_zero_window = max(self.longest_zero_window or 0, lasted or 0)


class ResetEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reset: fields as in `msmq_wire.sessions.network_evidence.ConnectionReset`; side 0 is the first."""

    at: FrameTime
    side: int
    idle: int | None
    silent: int | None
    hop_limit: int | None
    usual_hop_limit: int | None
    forged_by: ForgedBy | None


class TcpEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is told of a connection when it ends, is let go, or is open at the end of the capture.

    ``sides`` are what each end sent. ``lossy`` says that frames of it are missing from the capture.
    """

    sides: tuple[SideEvidence, SideEvidence]
    reset: ResetEvidence | None = None
    lossy: bool = False

    def seen_from(self, side: int) -> TcpEvidence:
        """The same, where ``side`` is the first."""
        if not side:
            return self
        reset = self.reset
        turned = None if reset is None else msgspec.structs.replace(reset, side=1 - reset.side)
        return TcpEvidence(sides=(self.sides[1], self.sides[0]), reset=turned, lossy=self.lossy)


class TooBigEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An ICMP message: the next link takes ``mtu`` bytes (0: not said), by the word of a ``router``."""

    router: bytes
    mtu: int


def is_same_packet(before: int, here: int) -> bool | None:
    """Whether the IPv4 identification of a packet is that of one before it, about; None where it is unknown.

    Whoever sends data again makes a new packet, which has a later number.
    """
    if before <= 0 or here <= 0:
        return None
    return (before - here) & 0xFFFF < _COPIES


def between(since: int, until: int) -> int | None:
    """Nanoseconds between two times, 0 where they are out of order; None where one is unknown."""
    return max(0, until - since) if since and until else None
