"""What TCP and ICMP show of the network below a session: `NetworkEvidence`.

The rule kept here: plain frozen values, no behaviour. Only what was captured is told. Where the capture
itself lost frames of the connection, ``certain`` is False: then nothing here accuses the network.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from msmq_wire.reassembly.tcp_evidence import ForgedBy
from msmq_wire.sessions.moment import Moment
from msmq_wire.wire.private import HOST


class SentEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What TCP shows of one direction; the sender is the side that sends here. RFC 9293 3.8

    ``retransmissions`` counts segments with data or FIN that were captured before in this direction;
    frames that the capture holds twice are no retransmissions. ``recovered`` counts holes that the sender
    filled after the receiver had asked for them: these bytes were lost before they came to the place of the
    capture. ``first_retransmission`` and ``last_retransmission`` are the first and the last of both.

    ``unanswered`` counts the retransmissions at the end since the other side sent anything;
    ``unanswered_since`` is the last data before the first of them, ``unanswered_time`` the nanoseconds
    from it to the last of them, ``idle_before`` the nanoseconds for which the other side had been silent
    when that data was sent. They are 0 and None where the other side never sent anything.
    ``unacknowledged`` counts the bytes captured here that the other side never acknowledged, where it sent
    an acknowledgment at all.

    ``zero_windows`` counts segments by which the sender says that its receive window is full,
    ``window_closings`` how often it became full; ``first_zero_window`` and ``last_zero_window`` are the
    first and the last of these segments. ``longest_zero_window`` is the longest time that it stayed full, in
    nanoseconds, as far as it was captured. ``window_closed`` says that it was full at the end.
    """

    retransmissions: int = 0
    recovered: int = 0
    first_retransmission: Moment | None = None
    last_retransmission: Moment | None = None
    unanswered: int = 0
    unanswered_since: Moment | None = None
    unanswered_time: int | None = None
    idle_before: int | None = None
    unacknowledged: int = 0
    zero_windows: int = 0
    window_closings: int = 0
    first_zero_window: Moment | None = None
    last_zero_window: Moment | None = None
    longest_zero_window: int | None = None
    window_closed: bool = False


class ConnectionReset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The reset that ended a connection, or one that fits nothing in it. RFC 9293 3.10.7.4

    ``direction`` is that of the side whose address it bears: 0 client, 1 server. ``idle`` is the
    nanoseconds since the segment of the connection before it, ``silent`` since the one of this side: who
    answers the first data after idling with a reset was silent for long. ``hop_limit`` is that of the reset,
    ``usual_hop_limit`` that of the segment of this side before it; None where unknown.

    ``forged_by`` says why somebody else than this side seems to have sent it: its hop limit is another one
    than all that this side had (``hop_limit``), or its sequence number is outside of the connection
    (``sequence_number``: a guess, or left from an earlier connection of the same ports). None: nothing speaks
    against the side itself, which is no proof.
    """

    at: Moment
    direction: int
    idle: int | None = None
    silent: int | None = None
    hop_limit: int | None = None
    usual_hop_limit: int | None = None
    forged_by: ForgedBy | None = None


class PacketTooBig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Somebody said that packets of one direction are too big for the next link. RFC 1191, RFC 4443 3.2

    ``router`` is the address of who said so, ``mtu`` the bytes that the next link takes, None where the
    message does not say. ``count`` messages with both were captured, from ``first`` to ``last``.
    """

    direction: int
    router: Annotated[str, HOST]
    mtu: int | None
    count: int
    first: Moment
    last: Moment


class NetworkEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What TCP and ICMP show of the network, or of the host, below a session; see `Session.network`.

    ``directions`` are those from the client and from the server. ``reset`` is the reset that ended the
    connection, the first forged one where there was any. ``too_big`` are at most 4 different ones.
    ``unanswered_syns`` counts the SYNs of a connection to which nothing at all came back: no SYN-ACK, no
    reset and no ICMP message. ``certain`` is False where the capture lost frames of this connection: bytes
    were acknowledged, or missing in between, that were never captured. What the file says that it dropped
    as a whole is not known here.
    """

    directions: tuple[SentEvidence, SentEvidence] = (SentEvidence(), SentEvidence())
    reset: ConnectionReset | None = None
    too_big: tuple[PacketTooBig, ...] = ()
    unanswered_syns: int = 0
    certain: bool = True
