"""What is told of a protocol session: `Session`, its two `SessionDirection`s, its `SessionNote`s.

The rule kept here: plain frozen values, no behaviour. Numbers count from 1 and do not wrap, also where the
wire has 16 bits. What a hole in the capture makes doubtful says so: ``certain`` is False.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

from msmq_wire.representation import struct_line
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.network_evidence import NetworkEvidence
from msmq_wire.wire.types.guid import GUID

SessionState: TypeAlias = Literal[
    "tcp_only", "refused_tcp", "establishing", "refused", "parameters", "open", "closed", "reset"
]
Reached: TypeAlias = Literal["tcp_only", "establishing", "parameters", "open"]
CloseReason: TypeAlias = Literal[
    "refused",
    "not_open",
    "second_establish",
    "message_counts",
    "initialization_timeout",
    "ack_timeout",
    "idle",
]
ClosedBy: TypeAlias = Literal["fin", "reset", "unreachable", "silent", "capture_end"]
NoteKind: TypeAlias = Literal[
    "message_before_open",
    "ack_before_open",
    "establish_again",
    "establish_unasked",
    "establish_after_open",
    "parameters_before_establish",
    "parameters_unasked",
    "parameters_again",
    "server_guid",
    "client_guid",
    "time_stamp",
    "ack_back",
    "ack_ahead",
    "stored_ahead",
    "stored_unseen",
    "sent_count",
    "recoverable_count",
]


class Counts(Protocol):
    """What a SessionHeader says, however it was read: fields as there."""

    @property
    def ack_sequence_number(self) -> int: ...
    @property
    def recoverable_msg_ack_seq_number(self) -> int: ...
    @property
    def recoverable_msg_ack_flags(self) -> int: ...
    @property
    def user_msg_sequence_number(self) -> int: ...
    @property
    def recoverable_msg_seq_number(self) -> int: ...
    @property
    def window_size(self) -> int: ...


class OfferedParameters(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one side sent in ConnectionParameters: milliseconds, milliseconds, packets. [MS-MQQB] 2.2.2.1"""

    recoverable_ack_timeout: int
    ack_timeout: int
    window_size: int


class PingExchange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ping request, its response, or both. [MS-MQQB] 2.1.2, 2.2.7

    ``client`` asks and ``server`` answers (``address:port``). ``request`` is None for a response that nobody
    asked for in this capture, ``response`` for a request without one. ``requests`` counts the requests with
    this cookie. ``refused`` is RF of the response. ``unreachable`` is the ICMP message that came instead.
    """

    client: str
    server: str
    cookie: int
    request: Moment | None = None
    response: Moment | None = None
    requests: int = 0
    client_queue_manager: GUID | None = None
    server_queue_manager: GUID | None = None
    refused: bool = False
    unreachable: Moment | None = None


class SessionNote(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a session did that [MS-MQQB] does not foresee: the first of a kind and direction, and how often.

    ``direction`` is that of the packet that shows it: 0 from the client, 1 from the server. ``stated`` is the
    number (or GUID) in the packet, ``expected`` what the packets before it make it, 16 bits wide as on the
    wire, None where there is none. ``certain`` is False where bytes of the session, or its start, are
    missing from the capture.

    * ``message_before_open``: a user packet before ConnectionParameters were exchanged (3.1.5.8)
    * ``ack_before_open``: a SessionAck packet before that (3.1.5.5)
    * ``establish_again``, ``establish_unasked``, ``establish_after_open``: EstablishConnection a second time
      from one side, from the server without a request, or after ConnectionParameters (3.1.5.3)
    * ``parameters_before_establish``, ``parameters_unasked``, ``parameters_again``: ConnectionParameters
      before both EstablishConnection, from the server without a request, or a second time (3.1.5.4)
    * ``server_guid``, ``client_guid``, ``time_stamp``: the response differs from the request (3.1.5.3)
    * ``ack_back``: AckSequenceNumber is lower than one before ([MS-MQMQ] 2.2.20.4)
    * ``ack_ahead``: AckSequenceNumber is higher than the number of packets sent
    * ``stored_ahead``: a RecoverableMsgAckFlags bit stands for a message that was not sent
    * ``stored_unseen``: recoverable messages are acknowledged and none was sent
    * ``sent_count``, ``recoverable_count``: UserMsgSequenceNumber or RecoverableMsgSeqNumber is not the count
      of packets sent (3.1.5.5.5)
    """

    kind: NoteKind
    direction: int
    first: Moment
    stated: int | GUID | None = None
    expected: int | GUID | None = None
    count: int = 1
    certain: bool = True


class SessionDirection(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The user packets that one side sent, and what the other side acknowledged of them. [MS-MQQB] 3.1.1.4

    ``messages`` counts the user packets seen (UserMessage, OrderAck, FinalAck), ``recoverable`` and
    ``transactional`` those with DM and TH among them, ``acknowledgments`` the OrderAck and FinalAck
    packets; ``bytes`` is their size. ``sequence_number`` and ``recoverable_sequence_number`` number the
    last one, which is more than was counted where packets are known to be missing.

    ``acknowledged`` is the highest number that the other side acknowledged as received, ``stored`` the
    number of recoverable packets that it acknowledged as written to disk, ``session_acks`` how many
    SessionHeaders it took; ``first_ack`` and ``last_ack`` are the first and last of them.
    ``unacknowledged`` counts packets without an acknowledgment, ``unacknowledged_ids`` names the first of
    them (``guid\\number``), ``waiting_since`` is the first one's; ``unstored`` counts recoverable packets
    that no bit of RecoverableMsgAckFlags stands for, ``unstored_ids`` names the first of them.

    ``resent`` counts packets whose message had been sent before on this way, ``duplicates`` those of them
    whose earlier copy had been acknowledged (a transactional one: by an OrderAck). ``announced`` are the
    windows that the side that sends here announced, each that differs from the one before, at most 64.
    ``window_size`` is the last window that the other side announced, ``smallest_window`` the smallest,
    ``window_closings`` counts how often as many packets were unacknowledged as the window allows.
    ``longest_wait`` is the nanoseconds from a packet to the acknowledgment that covers it, at most, and
    ``longest_wait_at`` is the packet.
    """

    messages: int = 0
    recoverable: int = 0
    transactional: int = 0
    acknowledgments: int = 0
    bytes: int = 0
    first_message: Moment | None = None
    last_message: Moment | None = None
    sequence_number: int = 0
    recoverable_sequence_number: int = 0
    acknowledged: int = 0
    stored: int = 0
    session_acks: int = 0
    first_ack: Moment | None = None
    last_ack: Moment | None = None
    unacknowledged: int = 0
    unacknowledged_ids: tuple[str, ...] = ()
    waiting_since: Moment | None = None
    unstored: int = 0
    unstored_ids: tuple[str, ...] = ()
    resent: int = 0
    duplicates: int = 0
    announced: tuple[int, ...] = ()
    window_size: int | None = None
    smallest_window: int | None = None
    window_closings: int = 0
    longest_wait: int | None = None
    longest_wait_at: Moment | None = None
    gaps: int = 0
    certain: bool = True


class Session(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A TCP connection of the binary protocol, from its SYN to its end. [MS-MQQB] 3.1.1.3.1, 3.1.5

    ``number`` is 0-based by order of appearance, ``stream`` that of the records. ``client`` opened the
    connection; where its start was not captured, it is the other side of port 1801, else who spoke first.
    ``started`` says that the SYN (or its answer) was captured.

    ``reached`` is how far it came, ``state`` how it stood at the end:

    * ``tcp_only``: no EstablishConnection; ``syn_ack`` tells whether TCP was answered at all
    * ``establishing``: an EstablishConnection request and no response that accepts it
    * ``parameters``: such a response, and no ConnectionParameters response
    * ``open``: messages can pass
    * ``refused_tcp`` (``state`` only): a reset or an ICMP message answered the SYN
    * ``refused`` (``state`` only): CS was set
    * ``closed``, ``reset`` (``state`` only): the connection was closed, or reset, however far it came

    ``closed_by`` is ``fin``, ``reset``, ``unreachable`` (ICMP), ``silent`` (the other side never answered, or
    nothing came for so long that it was given up) or ``capture_end`` (it was still there); ``close`` is the
    first FIN or the reset, ``closer`` who sent it (``client``, ``server``). A connection that the two hosts
    replaced by another one without closing it is ``silent`` too.

    ``reason`` is the rule of the text that demands the closing, where what was captured fits one: ``refused``
    (3.1.5.3.2), ``not_open`` (a packet that an open session alone may have, 3.1.5.8, 3.1.5.5),
    ``second_establish`` (3.1.5.3), ``message_counts`` (3.1.5.5.5), ``initialization_timeout`` (3.1.6.6),
    ``ack_timeout`` (3.1.6.3), ``idle`` (3.1.6.2). It is a conclusion: no packet says why a session is closed.

    ``last_syn`` is the last SYN that was sent again; ``proxied`` says that a PROXY header begins what the
    client sent.

    ``directions`` are those from the client and from the server. ``parameters`` are what client and server
    sent. ``previous`` is the number of the session before, of the same client queue manager to the same host;
    ``ping`` the latest exchange before the SYN between the two hosts. ``quality_of_service``, ``ping_sent``
    (SE is 0) and ``server_class`` are bits of the request's OperatingSystem, None without a request.
    ``notes`` tell what was out of order. ``network`` is what TCP and ICMP show of the network below, None
    where nothing was odd.
    ``certain`` is False where bytes of it, or its start, are missing from the capture.
    """

    number: int
    capture: str
    stream: int | None
    client: str
    server: str
    state: SessionState
    reached: Reached
    started: bool
    client_queue_manager: GUID | None = None
    server_queue_manager: GUID | None = None
    requested_queue_manager: GUID | None = None
    first: Moment
    last: Moment
    syn: Moment | None = None
    syn_retransmissions: int = 0
    last_syn: Moment | None = None
    proxied: bool = False
    syn_ack: Moment | None = None
    establish_request: Moment | None = None
    establish_response: Moment | None = None
    parameters_request: Moment | None = None
    parameters_response: Moment | None = None
    opened: Moment | None = None
    close: Moment | None = None
    closed_by: ClosedBy = "capture_end"
    closer: Literal["client", "server"] | None = None
    reason: CloseReason | None = None
    refused_by: Literal["client", "server"] | None = None
    parameters: tuple[OfferedParameters | None, OfferedParameters | None] = (None, None)
    directions: tuple[SessionDirection, SessionDirection] = (SessionDirection(), SessionDirection())
    ping_sent: bool | None = None
    server_class: bool | None = None
    quality_of_service: bool | None = None
    previous: int | None = None
    ping: PingExchange | None = None
    notes: tuple[SessionNote, ...] = ()
    network: NetworkEvidence | None = None
    certain: bool = True

    __repr__ = struct_line
