"""One connection while it is followed: what came of the steps that [MS-MQQB] 3.1.5 has for a session.

The rule kept here: packets are judged in the order in which they were captured; what is out of order is
noted, and the session goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.sessions.accepted import AcceptedSequence
from msmq_wire.sessions.close_reason import close_reason
from msmq_wire.sessions.exchange import SessionExchange
from msmq_wire.sessions.followed_message import FollowedMessage, moment_of
from msmq_wire.sessions.listener import SessionListener
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.network_evidence import NetworkEvidence
from msmq_wire.sessions.network_steps import with_step
from msmq_wire.sessions.sequence import EMPTY_DIRECTIONS, SentSequence
from msmq_wire.sessions.session import (
    ClosedBy,
    Counts,
    NoteKind,
    OfferedParameters,
    PingExchange,
    Reached,
    Session,
    SessionNote,
    SessionState,
)
from msmq_wire.units import SECOND
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_CS = 0x10
_SIDES: tuple[Literal["client"], Literal["server"]] = ("client", "server")
_TCP = 1150
_TALK = 1900
_WAITING = 300
_NOTE = 300
NETWORK = 1500
"""Bytes of a connection, of what its two sides sent, of a packet that waits for its acknowledgment or to be
stored, of a note, and of what is known of the network."""
_Pair: TypeAlias = tuple[Moment | None, Moment | None]
_NEITHER: _Pair = (None, None)
_COUNTS = ("sent_count", "recoverable_count")
_QUIET = SECOND
"""Nanoseconds after which a SYN without an answer counts as not answered: TCP has sent it again by then."""


def _with(pair: _Pair, direction: int, moment: Moment) -> _Pair:
    return (pair[0], moment) if direction else (moment, pair[1])


class Conversation:
    """A connection of the binary protocol; see `Session` for what its fields mean.

    ``messages`` are those that are followed; ``certain`` says that nothing is known to be missing;
    ``exchange`` tells a listener, if there is one; ``taken`` is for whoever counts what this takes of a
    budget.
    """

    __slots__ = (
        "_again", "_messages", "_noted", "_sequences", "capture", "certain", "client",
        "client_queue_manager", "close", "closed_by",
        "closer", "establish", "exchange", "first", "last", "last_syn", "network", "number", "opened",
        "operating_system",
        "parameters", "parameters_at", "ping", "previous", "proxied", "refused_by", "refused_tcp", "replaced",
        "requested", "server", "server_queue_manager", "started", "stream", "syn", "syn_ack",
        "syn_retransmissions", "taken", "time_stamp",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        record: Record,
        client: str,
        server: str,
        *,
        started: bool,
        messages: Mapping[bytes | str, FollowedMessage] | None = None,
        listener: SessionListener | None = None,
    ) -> None:
        self.number = number
        self.capture = record.capture
        self.stream = record.stream
        self.client = client
        self.server = server
        self.started = started
        self.first = self.last = moment_of(record)
        self.syn: Moment | None = None
        self.syn_retransmissions = 0
        self.last_syn: Moment | None = None
        self.proxied = False
        self.syn_ack: Moment | None = None
        self.establish: _Pair = _NEITHER
        self.parameters_at: _Pair = _NEITHER
        self.parameters: tuple[OfferedParameters | None, OfferedParameters | None] = (None, None)
        self.opened: Moment | None = None
        self.close: Moment | None = None
        self.closed_by: ClosedBy | None = None
        self.closer: Literal["client", "server"] | None = None
        self.refused_by: Literal["client", "server"] | None = None
        self.refused_tcp = False
        self.client_queue_manager: GUID | None = None
        self.server_queue_manager: GUID | None = None
        self.requested: GUID | None = None
        self.time_stamp: int | None = None
        self.operating_system: int | None = None
        self.previous: int | None = None
        self.replaced: Moment | None = None
        self.ping: PingExchange | None = None
        self.network: NetworkEvidence | None = None
        self._noted: dict[tuple[NoteKind, int], SessionNote] = {}
        self._again: Counter[tuple[NoteKind, int]] | None = None
        self.certain = started
        self._messages = {} if messages is None else messages
        self._sequences: tuple[SentSequence, SentSequence] | None = None
        self.exchange = None if listener is None else SessionExchange(listener, started=started)
        self.taken = 0

    @property
    def sequences(self) -> tuple[SentSequence, SentSequence]:
        """What client and server sent; of many connections only the handshake is there."""
        if self._sequences is None:
            known, messages = self.started, self._messages
            self._sequences = (
                SentSequence(self._note_of_client, base_known=known, messages=messages),
                SentSequence(self._note_of_server, base_known=known, messages=messages),
            )
        return self._sequences

    @property
    def held(self) -> int:
        """How many packets wait in both directions."""
        return sum(one.held for one in self._sequences or ())

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        size = _TCP + _NOTE * len(self._noted) + NETWORK * (self.network is not None)
        return size if self._sequences is None else size + _TALK + _WAITING * self.held

    def overlook(self) -> None:
        """Let go of what waits, for which there is no memory."""
        for one in self._sequences or ():
            one.overlook()

    def direction(self, record: Record) -> int:
        """The direction of a record: 0 from the client."""
        return self.from_(record.src)

    def from_(self, src: str | None) -> int:
        """The direction of what comes from an address: 0 from the client."""
        return 0 if src == self.client else 1

    def tcp(self, event: str, direction: int, moment: Moment) -> None:
        """Take a step of the TCP connection."""
        self.last = moment
        match event:
            case "syn":
                self.syn = self.syn or moment
            case "syn_ack":
                self.syn_ack = self.syn_ack or moment
            case "syn_retransmission" if direction == 0:
                self.syn_retransmissions += 1
                self.last_syn = moment
            case "proxied":
                self.proxied = True
            case "fin":
                self._ends("fin", direction, moment)
            case "rst":
                if direction == 1 and self.syn is not None and self.syn_ack is None and not self._talked:
                    self.refused_tcp = True
                self._ends("reset", direction, moment)
            case "icmp_unreachable":
                if self.syn_ack is None and not self._talked:
                    self.refused_tcp = True
                    self.close, self.closed_by = self.close or moment, "unreachable"
            case "evicted":
                self.closed_by = self.closed_by or "silent"

    def learns(self, record: Record) -> None:
        """Take what a step of the TCP connection, or an ICMP message about it, shows of the network."""
        self.network = with_step(self.network, record, self.direction(record))

    def _ends(self, by: ClosedBy, direction: int, moment: Moment) -> None:
        if self.close is None:
            self.close, self.closer, self.closed_by = moment, _SIDES[direction], by
        elif by == self.closed_by == "fin" and (moment.frame or 0) < (self.close.frame or 0):
            # The one that lost bytes precede is told later.
            self.close, self.closer = moment, _SIDES[direction]
        elif by == "reset" and self.closed_by != "fin":
            self.closed_by = by

    @property
    def _talked(self) -> bool:
        return any(self.establish) or any(one.messages for one in self._sequences or ())

    def established(self, packet: Any, direction: int, moment: Moment, *, whole: bool) -> bool:
        """Take an EstablishConnection packet; tell whether it names the client's queue manager first."""
        self.last = moment
        header = reached(packet, "establish_connection_header")
        if self.exchange is not None and whole and header is not None:
            self.exchange.established(packet, header, direction, moment)
        server = reached(header, "server_guid")
        client = reached(header, "client_guid")
        if self.establish[direction] is not None:
            self.note("establish_again", direction, moment)
            return False
        if direction == 1 and self.establish[0] is None:
            self.note("establish_unasked", direction, moment)
        if any(self.parameters_at) or self.opened:
            self.note("establish_after_open", direction, moment)
        self.establish = _with(self.establish, direction, moment)
        if (reached(reached(packet, "internal_header"), "flags") or 0) & _CS:
            self.refused_by = self.refused_by or _SIDES[direction]
        if direction == 1:
            self._answered(client, server, reached(header, "time_stamp"), moment)
        else:
            self.requested = None if server == NULL_GUID else server
            self.time_stamp = reached(header, "time_stamp")
            self.operating_system = reached(header, "operating_system")
        before, self.client_queue_manager = self.client_queue_manager, self.client_queue_manager or client
        return before is None and client is not None

    def _answered(self, client: GUID | None, server: GUID | None, stamp: int | None, moment: Moment) -> None:
        if self.requested is not None and server is not None and server != self.requested:
            self.note("server_guid", 1, moment, server, self.requested)
        asked = self.client_queue_manager
        if asked is not None and client is not None and client != asked:
            self.note("client_guid", 1, moment, client, asked)
        if self.time_stamp is not None and stamp is not None and stamp != self.time_stamp:
            self.note("time_stamp", 1, moment, stamp, self.time_stamp)
        self.server_queue_manager = server

    def agreed(self, packet: Any, direction: int, moment: Moment, *, whole: bool) -> None:
        """Take a ConnectionParameters packet."""
        self.last = moment
        header = reached(packet, "connection_parameters_header")
        if self.exchange is not None:
            self.exchange.agreed(header if whole else None, direction, moment)
        if self.parameters_at[direction] is not None:
            self.note("parameters_again", direction, moment)
            return
        if not all(self.establish):
            self.note("parameters_before_establish", direction, moment)
        if direction == 1 and self.parameters_at[0] is None:
            self.note("parameters_unasked", direction, moment)
        self.parameters_at = _with(self.parameters_at, direction, moment)
        if (reached(reached(packet, "internal_header"), "flags") or 0) & _CS:
            self.refused_by = self.refused_by or _SIDES[direction]
        window = reached(header, "window_size")
        if window is not None:
            sent = OfferedParameters(
                recoverable_ack_timeout=header.recoverable_ack_timeout,
                ack_timeout=header.ack_timeout,
                window_size=window,
            )
            self.parameters = (self.parameters[0], sent) if direction else (sent, self.parameters[1])
            self.sequences[direction].window(window, own=True)
            self.sequences[1 - direction].window(window)
        if direction == 1 and self.refused_by is None and (all(self.establish) or not self.certain):
            self.opened = self.opened or moment

    def message(
        self,
        direction: int,
        moment: Moment,
        key: bytes | str | None,
        message: FollowedMessage | None,
        flags: int,
        size: int,
        counts: Counts | None,
        *,
        whole: bool = True,
    ) -> SentSequence:
        """Take a user packet of ``size`` bytes with the message of a key; ``message`` if it has a life.

        ``flags`` are those of its UserHeader; one that is not ``whole`` was cut.
        """
        self.last = moment
        if self.opened is None:
            self._unopened("message_before_open", direction, moment)
        sequence = self.sequences[direction]
        sequence.sent(key, message, moment, flags & 0x60 == 0x20, bool(flags & 0x100000), size)
        if counts is not None:
            self._counted(counts, direction, moment)
        if not whole:
            # Whether the other side got the rest of it cannot be told.
            sequence.certain = False
        if self.exchange is not None:
            if counts is not None or not whole:
                self.exchange.acknowledges(counts if whole else None, direction)
            self.exchange.sent(sequence.messages, direction, (moment,))
        return sequence

    def messages(self, direction: int, messages: list[FollowedMessage], size: int) -> None:
        """Take user packets without a SessionHeader that follow each other, of ``size`` bytes together."""
        if self.opened is None:
            first = messages[0].first
            self._unopened("message_before_open", direction, first)
            if self.opened is None:
                self._noted_again(("message_before_open", direction), len(messages) - 1)
        sequence = self.sequences[direction]
        sequence.sent_all(messages, size)
        if self.exchange is not None:
            moments = [message.first for message in messages]
            self.exchange.sent(sequence.messages, direction, moments)

    def session_ack(
        self, counts: Counts | None, direction: int, moment: Moment, *, whole: bool = True
    ) -> None:
        """Take a SessionAck packet."""
        self.last = moment
        if self.opened is None:
            self._unopened("ack_before_open", direction, moment)
        if counts is not None:
            self._counted(counts, direction, moment)
        if self.exchange is not None:
            self.exchange.session_ack(counts if whole else None, direction, moment)

    def _counted(self, header: Counts, direction: int, moment: Moment) -> None:
        self.sequences[direction].states(header, moment)
        missed = not self.sequences[direction].certain
        self.sequences[1 - direction].acknowledge(header, moment, missed=missed)

    def _unopened(self, kind: NoteKind, direction: int, moment: Moment) -> None:
        self.note(kind, direction, moment)
        # What was not captured may have opened it.
        if not self.certain and self.refused_by is None:
            self.opened = moment

    def lost(self, direction: int, moment: Moment) -> None:
        """Take note that bytes are missing."""
        self.last = moment
        self.certain = False
        self.sequences[direction].lost()
        if self.exchange is not None:
            self.exchange.whole = False
            self.exchange.misses()

    def carries(self, sequence: AcceptedSequence) -> None:
        """Say that a message of a sequence came over it."""
        if self.exchange is not None:
            self.exchange.carries(sequence)

    def note(
        self,
        kind: NoteKind,
        direction: int,
        moment: Moment,
        stated: int | GUID | None = None,
        expected: int | GUID | None = None,
    ) -> None:
        """Note what is out of order."""
        if (kind, direction) in self._noted:
            self._noted_again((kind, direction))
            return
        self._noted[kind, direction] = SessionNote(
            kind=kind,
            direction=direction,
            first=moment,
            stated=stated,
            expected=expected,
            certain=self.certain,
        )

    def _noted_again(self, what: tuple[NoteKind, int], times: int = 1) -> None:
        if self._again is None:
            self._again = Counter()
        self._again[what] += times

    # What notes for a direction: counts are stated by the side that sends, the rest by the other.

    def _note_of_client(self, kind: NoteKind, moment: Moment, stated: int, expected: int) -> None:
        self.note(kind, 0 if kind in _COUNTS else 1, moment, stated, expected)

    def _note_of_server(self, kind: NoteKind, moment: Moment, stated: int, expected: int) -> None:
        self.note(kind, 1 if kind in _COUNTS else 0, moment, stated, expected)

    @property
    def state(self) -> SessionState:
        """How it stands."""
        if self.refused_tcp:
            return "refused_tcp"
        if self.refused_by is not None and self.opened is None:
            return "refused"
        if self.closed_by == "reset":
            return "reset"
        return "closed" if self.closed_by == "fin" else self.reached

    @property
    def reached(self) -> Reached:
        """How far it came."""
        if self.opened is not None:
            return "open"
        accepted = self.establish[1] is not None and self.refused_by is None
        if accepted or self.parameters_at[0] is not None:
            return "parameters"
        return "tcp_only" if self.establish[0] is None else "establishing"

    def finish(self, now: int | None) -> Session:
        """Summarise the session; ``now`` is the time of the last record."""
        empty = EMPTY_DIRECTIONS[self.started]
        first, second = self._sequences or (None, None)
        directions = (first.finish() if first else empty, second.finish() if second else empty)
        closed_by, network = self.closed_by, self.network
        if closed_by is None and self.replaced is not None and self.last.record < self.replaced.record:
            closed_by = "silent"
        if (
            closed_by in (None, "silent")
            and self.syn is not None
            and self.syn_ack is None
            and not self._talked
        ):
            since = self.syn.time
            waited = now is not None and since is not None and now - since >= _QUIET
            if self.syn_retransmissions or waited:
                closed_by = "silent"
                network = msgspec.structs.replace(
                    network or NetworkEvidence(), unanswered_syns=1 + self.syn_retransmissions
                )
        certain = self.certain
        again = self._again or Counter()
        flags = self.operating_system
        session = Session(
            number=self.number,
            capture=self.capture,
            stream=self.stream,
            client=self.client,
            server=self.server,
            state=self.state,
            reached=self.reached,
            started=self.started,
            client_queue_manager=self.client_queue_manager,
            server_queue_manager=self.server_queue_manager,
            requested_queue_manager=self.requested,
            first=self.first,
            last=self.last,
            syn=self.syn,
            syn_retransmissions=self.syn_retransmissions,
            last_syn=self.last_syn,
            proxied=self.proxied,
            syn_ack=self.syn_ack,
            establish_request=self.establish[0],
            establish_response=self.establish[1],
            parameters_request=self.parameters_at[0],
            parameters_response=self.parameters_at[1],
            opened=self.opened,
            close=self.close,
            closed_by=closed_by or "capture_end",
            closer=self.closer,
            refused_by=self.refused_by,
            parameters=self.parameters,
            directions=directions,
            ping_sent=None if flags is None else not flags & 0x100,
            server_class=None if flags is None else bool(flags & 0x200),
            quality_of_service=None if flags is None else bool(flags & 0x400),
            previous=self.previous,
            ping=self.ping,
            notes=tuple(
                msgspec.structs.replace(note, count=1 + again[kind], certain=note.certain and certain)
                for kind, note in self._noted.items()
            ),
            network=network,
            certain=certain,
        )
        reason = close_reason(session)
        return session if reason is None else msgspec.structs.replace(session, reason=reason)
