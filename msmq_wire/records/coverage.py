"""What was captured of one connection, and what a claim about a place in it needs to have been captured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.wire.private import ENDPOINT, FILE

Need: TypeAlias = Literal[
    "opening",
    "both_sides",
    "before",
    "before_here",
    "around",
    "record",
    "after",
    "end",
    "whole",
    "order",
    "read",
    "both_ways",
    "two_way",
    "between",
    "next_openings",
    "to_source",
    "counted",
    "nothing_lost",
    "kept",
    "in_time",
    "after_sent",
    "one_network",
]
"""What a claim about a place needs to have been captured, as `NEEDS` says."""

NEEDS: Mapping[Need, str] = {
    "opening": "the SYN or SYN-ACK of the connection",
    "both_sides": "at least one segment of each side of the connection",
    "before": "all bytes of both sides before the evidence",
    "before_here": "all bytes before the evidence from the side that sent it",
    "around": "all bytes up to the end of the evidence",
    "record": "all bytes of the packet or call itself",
    "after": "all bytes of both sides after the evidence",
    "end": "the FIN or reset of the connection",
    "whole": "all bytes of the connection",
    "order": "segments in the order in which they were sent",
    "read": "no bytes that are in no packet",
    "both_ways": "traffic of both hosts, in both directions",
    "two_way": "both directions of every connection in the capture",
    "between": "all bytes of all connections between the two hosts",
    "next_openings": "the SYN or SYN-ACK of connections between the two hosts after the evidence",
    "to_source": "all bytes of all connections of the sender",
    "counted": "no frames that the capture file says were dropped",
    "nothing_lost": "no frames that are known to be lost",
    "kept": "no sessions or pings that were dropped to save memory",
    "in_time": "frames in the order of their time",
    "after_sent": "messages behind their SentTime, by the clock of their sender",
    "one_network": "no connection beside another one with the same addresses and ports, as of two tenants",
}
"""The needs, each with what has to have been captured."""

ENDS = "the capture ends before the connection does"
"""What is lacking of a connection that goes on behind the end of the capture."""
_LATE = "the beginning of this connection was not captured"
_NEXT_LATE = "the beginning of a later connection between these hosts was not captured"
_HALF = "only one direction of this connection was captured: the packets of the other side are not known"
_LOST = "bytes of this connection are missing from the capture"
_CUT = "packets of this connection were captured in part"
_DISORDER = "frames of this connection are not in the order of their time"
_UNSEEN = "the other side of this connection acknowledged bytes that were not captured"
FORGOTTEN = "this connection was dropped to save memory while it went on"
_UNREAD = "bytes of this connection are in no packet: they may have been messages"
NEVER = 1 << 62
"""A frame behind all others."""


class Position(NamedTuple):
    """Where a claim is about something: a record of a capture, with its frames and its two ends."""

    capture: str
    record: int
    frame: int
    src: str | None
    dst: str | None
    until: int = 0


class Coverage(msgspec.Struct):
    """What was captured of a connection; ``first`` and ``over`` are the ids of its first and last record.

    ``started`` says that its SYN or SYN-ACK was captured, ``seen`` which of its ends sent something that was,
    ``talked`` that it carried bytes, or was closed by who opened it. ``first_hole`` is the last frame before
    the first gap of each end, ``last_hole`` the first frame behind the last one, ``spans`` both of the first
    gaps; ``holes`` and ``missing`` count gaps and their bytes (those that are known), ``cut`` what the snap
    length cut off,
    ``unread`` runs of bytes that are in no packet. ``ended`` is the frame of its first FIN or reset,
    ``unseen`` the first that acknowledges what had not been captured, ``disordered`` the first whose time is
    before that of an earlier one; ``since`` is its first frame, ``begun`` the time of that, ``furthest`` the
    last frame and the latest time. ``dropped`` says that it was given up for memory, ``followed`` that
    another one between the same ends began after it.
    """

    capture: Annotated[str, FILE]
    stream: int
    ends: tuple[Annotated[str, ENDPOINT], Annotated[str, ENDPOINT]]
    first: int
    started: bool = False
    seen: tuple[bool, bool] = (False, False)
    first_hole: tuple[int, int] = (NEVER, NEVER)
    last_hole: tuple[int, int] = (-1, -1)
    spans: list[tuple[int, int]] = []
    holes: int = 0
    missing: int = 0
    cut: int = 0
    unread: int = 0
    ended: int = 0
    over: int = 0
    unseen: int = NEVER
    disordered: int = NEVER
    since: int = 0
    begun: int = 0
    furthest: tuple[int, int] = (0, 0)
    dropped: bool = False
    talked: bool = False
    followed: bool = False

    @property
    def one_sided(self) -> bool:
        """Whether nothing was captured of one end."""
        return not all(self.seen)

    @property
    def latest(self) -> int:
        """The latest time of a frame, in nanoseconds; 0 where no frame has one."""
        return self.furthest[1]

    @property
    def is_lacking(self) -> bool:
        """Whether something of it that was there was not captured."""
        half = self.talked and (self.one_sided or not self.started)
        damaged = self.holes or self.cut or self.unread or self.dropped
        return bool(half or damaged or self.disordered < NEVER or self.unseen < NEVER)

    @property
    def is_whole(self) -> bool:
        """Whether all of it was captured, as far as it goes."""
        damaged = self.holes or self.cut or self.unread or self.one_sided or self.dropped
        return self.started and not damaged and self.disordered == self.unseen == NEVER

    @property
    def hosts(self) -> frozenset[str]:
        """Both hosts."""
        return frozenset(map(host_of, self.ends))

    def side(self, src: str | None) -> int:
        """Which end that is."""
        return 0 if src == self.ends[0] else 1

    def lacks(self, need: Need, frame: int, src: str | None = None, until: int = 0) -> str:
        """What of a need was not seen at frames of what ``src`` sent; empty for nothing."""
        first, last = self.first_hole, self.last_hole
        gone = _LOST if self.holes else _CUT
        if self.dropped and need not in ("both_sides", "end", "read"):
            return FORGOTTEN
        match need:
            case "opening":
                return "" if self.started else _LATE
            case "next_openings":
                return _NEXT_LATE if not self.started and self.since > frame else ""
            case "both_sides":
                return _HALF if self.one_sided else ""
            case "before":
                reported = _DISORDER if self.disordered <= frame else _UNSEEN if self.unseen <= frame else ""
                return gone if min(first) < frame else reported
            case "before_here":
                return gone if first[self.side(src)] < frame else ""
            case "around":
                return gone if min(first) <= max(frame, until) else ""
            case "record":
                inside = any(since <= max(frame, until) and behind >= frame for since, behind in self.spans)
                more = self.holes + self.cut > len(self.spans) and self.spans[-1][1] <= frame <= max(last)
                return gone if inside or more else ""
            case "after":
                return gone if max(last) > frame else ""
            case "end":
                return "" if self.ended else ENDS
            case "whole":
                return gone if min(first) < NEVER else _UNSEEN if self.unseen < NEVER else ""
            case "order":
                return _DISORDER if self.disordered < NEVER else _UNSEEN if self.unseen < NEVER else ""
            case "read":
                return _UNREAD if self.unread else ""
            case _:
                return ""
