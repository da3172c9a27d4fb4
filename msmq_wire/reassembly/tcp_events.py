"""What TCP reassembly takes and gives: segments in, stream events out. Plain values, no behaviour."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from msmq_wire.reassembly.tcp_evidence import TcpEvidence

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10

Endpoints: TypeAlias = tuple[bytes, int, bytes, int]
"""(src, sport, dst, dport)"""
Direction: TypeAlias = Literal[0, 1]
Reason: TypeAlias = Literal["loss", "snaplen", "pending-limit"]
Kind: TypeAlias = Literal[
    "syn",
    "syn_ack",
    "syn_retransmission",
    "established",
    "start_midstream",
    "fin",
    "rst",
    "closed",
    "evicted",
    "bare_ack",
    "unseen",
    "capture_end",
]


class TcpSegment(msgspec.Struct, frozen=True, gc=False):
    """One segment as captured: packed addresses (4 or 16 bytes), numbers as on the wire.

    ``cut`` counts payload bytes that were on the wire after ``payload`` but not captured (snap length).
    ``frame`` is 1-based, ``time`` is nanoseconds since the epoch, UTC. ``path`` says what it was captured in,
    as `msmq_wire.reassembly.encapsulation` has it. ``window`` is the number in the header, before its scale,
    -1 where it is unknown. ``hop_limit`` (TTL) and ``ident`` are those of the IP header, 0 where unknown, as
    the identification is with IPv6. Source: RFC 9293 3.1.
    """

    src: bytes
    sport: int
    dst: bytes
    dport: int
    seq: int
    ack: int
    flags: int
    payload: bytes
    frame: int
    time: int
    cut: int = 0
    path: bytes = b""
    window: int = -1
    hop_limit: int = 0
    ident: int = 0


class StreamBytes(msgspec.Struct, frozen=True, gc=False):
    """The next bytes of a direction; ``frame`` and ``time`` are those of the segment that carried them."""

    stream: int
    direction: Direction
    offset: int
    data: bytes
    frame: int
    time: int


class StreamGap(msgspec.Struct, frozen=True, gc=False):
    """Bytes missing from the capture; ``length`` is None when unknown, and then offsets do not move.

    ``frame`` and ``time`` are those of the first segment behind them, else of the one that showed the loss;
    of what was cut those of the segment. ``since`` is the frame of the last one before them, 0 for none.
    """

    stream: int
    direction: Direction
    offset: int
    length: int | None
    reason: Reason
    frame: int
    time: int
    since: int = 0


class StreamConflict(msgspec.Struct, frozen=True, gc=False):
    """A later copy in ``frame`` differs from the copy kept.

    ``offset`` is the first byte that differs, ``length`` reaches to the last; bytes between may be equal, or
    in a gap.
    """

    stream: int
    direction: Direction
    offset: int
    length: int
    frame: int
    time: int


class StreamEvent(msgspec.Struct, frozen=True, gc=False):
    """A step in the life of a connection; ``fin`` comes after the last byte of its direction.

    ``closed``, ``evicted`` and ``capture_end`` have what the segments showed of the network, None where
    nothing was odd; ``capture_end`` is of connections that are open then and showed something.
    """

    stream: int
    kind: Kind
    direction: Direction
    frame: int
    time: int
    evidence: TcpEvidence | None = None


TcpEvent: TypeAlias = StreamBytes | StreamGap | StreamConflict | StreamEvent
