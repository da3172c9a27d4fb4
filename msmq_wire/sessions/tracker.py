"""Follows every connection of the binary protocol: records in, `Session`s out. [MS-MQQB] 3.1.1.3.1

The rule kept here: memory follows the connections that are open, not the packets; a connection that has ended
is kept as its summary. Of what takes too much of the budget summaries go first, the oldest before the others,
then packets that wait, of the connection where none came for longest before the others, then the connection
that was silent for the longest time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from msmq_wire.reassembly.tcp_evidence import TooBigEvidence
from msmq_wire.records.endpoint import AT_MSMQ, host_of
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.sessions.budget import Budget
from msmq_wire.sessions.conversation import NETWORK, Conversation
from msmq_wire.sessions.discoveries import DISCOVERY_PACKETS, DiscoveryTracker
from msmq_wire.sessions.followed_message import FollowedMessage, Sight, is_whole, moment_of
from msmq_wire.sessions.listener import SessionListener
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.ping_tracker import PingTracker
from msmq_wire.sessions.session import Counts, Session
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_ENDED = 1320
_MOMENT = 140
"""Bytes of a summary, and of a moment in it."""
_NAME = 100
_NOTE = 300
_MAX_OTHERS = 1 << 14
"""Connections on other ports whose SYN is remembered until it is known what they carry."""
_USER = frozenset(("user_message", "order_ack", "final_ack"))
_INTERNAL = frozenset(("establish_connection", "connection_parameters", "session_ack"))
SESSION_PACKETS = _USER | _INTERNAL | {"ping"} | DISCOVERY_PACKETS
"""The types of records that are packets of the binary protocol."""
SESSION_RECORDS = SESSION_PACKETS | {"tcp_stream", "gap", UNKNOWN_PACKET}
"""The types of records that tell something of sessions."""

Key = tuple[str, int]


class SessionTracker:
    """Follows sessions; ``finish()`` gives those that are kept, by their numbers.

    ``messages`` are those that are followed, by their keys. ``leave`` is given each summary that ``budget``
    has no room for, ``left_out`` counts them, and ``forgotten`` capture and stream of one that goes on;
    ``overlooked`` counts packets whose end is unknown for that. ``listener`` is told of sessions that begin.
    """

    def __init__(
        self,
        messages: Mapping[bytes | str, FollowedMessage] | None = None,
        *,
        budget: Budget | None = None,
        leave: Callable[[Session], None] | None = None,
        forgotten: Callable[[str, int], None] = lambda capture, stream: None,
    ) -> None:
        self._forgotten = forgotten
        self.pings = PingTracker()
        self.discoveries = DiscoveryTracker()
        self._messages = messages
        self._share = (budget or Budget()).share(self._give)
        self._leave = leave
        self._open: OrderedDict[Key, Conversation] = OrderedDict()
        self._holding: OrderedDict[Conversation, None] = OrderedDict()  # those where packets wait
        self._others: OrderedDict[Key, list[Record]] = OrderedDict()
        self._latest: dict[tuple[str, str], Conversation] = {}
        self._numbered: dict[int, Conversation] = {}
        self._ended: OrderedDict[int, Session] = OrderedDict()
        self._previous: dict[tuple[GUID, str], int] = {}
        self._touched: dict[Conversation, None] = {}
        self._latest_touched: Conversation | None = None
        self._count = 0
        self._now: int | None = None
        self.listener: SessionListener | None = None
        self.left_out = 0
        self.overlooked = 0

    def feed(
        self,
        record: Record,
        key: bytes | str | None = None,
        message: FollowedMessage | None = None,
        moment: Moment | None = None,
        *,
        sight: Sight = "first",
    ) -> Conversation | None:
        """Take a record in order of ids; return the connection that it belongs to, None if to none.

        ``key`` names the message in it, ``message`` is what is kept of that and gets its acknowledgments;
        ``sight`` says whether it was sent on this way before.
        """
        if record.time is not None:
            self._now = record.time
        conversation = self._feed(record, key, message, moment, sight)
        if conversation is not None and conversation.taken:
            assert conversation.stream is not None
            self._open.move_to_end((conversation.capture, conversation.stream))
            self._weigh(conversation)
        return conversation

    def open(self, capture: str, stream: int) -> Conversation | None:
        """The connection of packets of a stream, where it is followed already."""
        return self._open.get((capture, stream))

    def touched(self, conversation: Conversation, moment: Moment) -> None:
        """Say that a packet of an open connection was taken, other than by `feed`; `weigh` counts it."""
        if moment.time is not None:
            self._now = moment.time
        if conversation is not self._latest_touched:
            self._latest_touched = conversation
            self._touched.pop(conversation, None)
            self._touched[conversation] = None

    def weigh(self) -> None:
        """Count what was `touched`."""
        for conversation in self._touched:
            assert conversation.stream is not None
            self._open.move_to_end((conversation.capture, conversation.stream))
            self._weigh(conversation)
        self._touched.clear()
        self._latest_touched = None

    def _feed(
        self,
        record: Record,
        key: bytes | str | None,
        message: FollowedMessage | None,
        moment: Moment | None,
        sight: Sight,
    ) -> Conversation | None:
        type_ = record.type
        if type_ in _USER:
            conversation = self._of(record)
            if conversation is not None:
                self._message(conversation, record, key, message, moment or moment_of(record), sight)
            return conversation
        if type_ == "ping":
            self.pings.feed(record)
            return None
        if type_ in DISCOVERY_PACKETS:
            self.discoveries.feed(record)
            return None
        if type_ == "tcp_stream":
            return self._tcp(record)
        if type_ == "gap":
            known = self._open.get((record.capture, -1 if record.stream is None else record.stream))
            if known is not None:
                known.lost(known.direction(record), moment_of(record))
            elif record.stream is not None and AT_MSMQ in _ends(record):
                known = self._of(record)
            return known
        if type_ in _INTERNAL:
            return self._internal(record, moment or moment_of(record))
        if type_ == UNKNOWN_PACKET:
            conversation = self._of(record)
            if conversation is not None:
                conversation.lost(conversation.direction(record), moment_of(record))
            return conversation
        return None

    def finish(self) -> tuple[Session, ...]:
        """Summarise what is still open; return all sessions in order of their numbers."""
        for key in list(self._open):
            self._end(key)
        return tuple(self._ended[number] for number in sorted(self._ended))

    def _message(
        self,
        conversation: Conversation,
        record: Record,
        key: bytes | str | None,
        message: FollowedMessage | None,
        moment: Moment,
        sight: Sight,
    ) -> None:
        direction = conversation.direction(record)
        if sight in ("resent", "duplicate"):
            sequence = conversation.sequences[direction]
            sequence.resent += 1
            sequence.duplicates += sight == "duplicate"
        packet = record.packet
        flags = reached(reached(packet, "user_header"), "flags") or 0
        counts = counts_of(packet)
        whole = record.error is None
        sequence = conversation.message(
            direction, moment, key, message, flags, record.length, counts, whole=whole
        )
        if record.type != "user_message":
            sequence.acknowledgments += 1
        if conversation.exchange is not None and not is_whole(record):
            conversation.exchange.misses()

    def _internal(self, record: Record, moment: Moment) -> Conversation | None:
        conversation = self._of(record)
        if conversation is None:
            return None
        direction, whole = conversation.direction(record), record.error is None
        if record.type == "session_ack":
            conversation.session_ack(counts_of(record.packet), direction, moment, whole=whole)
        elif record.type == "connection_parameters":
            conversation.agreed(record.packet, direction, moment, whole=whole)
        elif conversation.established(record.packet, direction, moment, whole=whole):
            self._reconnects(conversation)
        return conversation

    def _reconnects(self, conversation: Conversation) -> None:
        """Find the session before, of the same client with the same host."""
        client = conversation.client_queue_manager
        if client is None or client == NULL_GUID:
            return
        key = (client, host_of(conversation.server))
        before = conversation.previous = self._previous.get(key)
        replaced = None if before is None else self._numbered.get(before)
        if replaced is not None:
            replaced.replaced = conversation.first
        self._previous[key] = conversation.number

    def _tcp(self, record: Record) -> Conversation | None:
        event = record.event or ""
        if record.stream is None:
            return self._unreachable(record)
        key = (record.capture, record.stream)
        conversation = self._open.get(key)
        if event == "capture_end":
            # Nothing happens there: the connection goes on.
            if conversation is not None:
                conversation.learns(record)
            return conversation
        if conversation is None:
            if event in ("closed", "evicted"):
                self._others.pop(key, None)
                return None
            if AT_MSMQ in _ends(record):
                conversation = self._begin(key, record)
            else:
                self._wait(key, record)
                return None
        conversation.tcp(event, conversation.direction(record), moment_of(record))
        conversation.learns(record)
        if event in ("closed", "evicted"):
            self._end(key)
        return conversation

    def _wait(self, key: Key, record: Record) -> None:
        """Keep the first steps of a connection on another port."""
        steps = self._others.setdefault(key, [])
        if len(steps) < 4:
            steps.append(record)
        if len(self._others) > _MAX_OTHERS:
            self._others.popitem(last=False)

    def _unreachable(self, record: Record) -> Conversation | None:
        if isinstance(record.network, TooBigEvidence):
            src, dst = record.src or "", record.dst or ""
            about = self._latest.get((src, dst)) or self._latest.get((dst, src))
            if about is not None:
                about.learns(record)
            return about
        if self.pings.unreachable(record):
            return None
        conversation = self._latest.get((record.src or "", record.dst or ""))
        if conversation is not None:
            conversation.tcp(record.event or "", 1, moment_of(record))
        return conversation

    def _of(self, record: Record) -> Conversation | None:
        """The connection of a packet, begun if it is not known."""
        if record.stream is None:
            return None
        key = (record.capture, record.stream)
        conversation = self._open.get(key)
        if conversation is None:
            conversation = self._begin(key, record)
        return conversation

    def _begin(self, key: Key, record: Record) -> Conversation:
        steps = self._others.pop(key, None)
        first = steps[0] if steps else record
        started = first.type == "tcp_stream" and first.event in ("syn", "syn_ack")
        src, dst = first.src or "", first.dst or ""
        answers = src.endswith(AT_MSMQ) and not dst.endswith(AT_MSMQ)
        swapped = first.event == "syn_ack" if started else answers
        client, server = (dst, src) if swapped else (src, dst)
        conversation = Conversation(
            self._count,
            first,
            client,
            server,
            started=started,
            messages=self._messages,
            listener=self.listener,
        )
        self._weigh(conversation)
        conversation.ping = self.pings.before(client, server)
        self._numbered[self._count] = conversation
        self._count += 1
        self._open[key] = self._latest[client, server] = conversation
        for step in steps or ():
            conversation.tcp(step.event or "", conversation.direction(step), moment_of(step))
        if record.type == "gap":
            conversation.lost(conversation.direction(record), moment_of(record))
        return conversation

    def _weigh(self, conversation: Conversation) -> None:
        size = conversation.size
        if size != conversation.taken:
            self._share.take(size - conversation.taken)
            conversation.taken = size
            self._holding.pop(conversation, None)
            if conversation.held:
                self._holding[conversation] = None

    def _give(self) -> None:
        """Let the oldest summary go, or what waits longest, or the connection that was silent for longest."""
        if not self._ended and self._holding:
            longest = next(iter(self._holding))
            self.overlooked += longest.held
            longest.overlook()
            self._weigh(longest)
            return
        if not self._ended and self._open:
            longest_silent = next(iter(self._open))
            self._forgotten(*longest_silent)
            self._end(longest_silent)
        if self._ended:
            _, session = self._ended.popitem(last=False)
            self._share.take(-_size(session))
            self.left_out += 1
            self.pings.forget(session)
            if session.client_queue_manager is not None:
                key = (session.client_queue_manager, host_of(session.server))
                if self._previous.get(key) == session.number:
                    del self._previous[key]
            if self._leave is not None:
                self._leave(session)

    def _end(self, key: Key) -> None:
        conversation = self._open.pop(key)
        self._holding.pop(conversation, None)
        del self._numbered[conversation.number]
        ends = (conversation.client, conversation.server)
        if self._latest.get(ends) is conversation:
            del self._latest[ends]
        before = self.pings.before(*ends)
        if conversation.ping is not None and before is not None and before.cookie == conversation.ping.cookie:
            # Its answer may have come after the SYN.
            conversation.ping = before
        session = self._ended[conversation.number] = conversation.finish(self._now)
        self._share.take(_size(session) - conversation.taken)
        conversation.taken = 0


def counts_of(packet: Any) -> Counts | None:
    """The SessionHeader of a packet, if there is a whole one."""
    header: Counts | None = reached(packet, "session_header")
    return None if reached(header, "window_size") is None else header


def _size(session: Session) -> int:
    """What a summary takes."""
    names = sum(len(one.unacknowledged_ids) + len(one.unstored_ids) for one in session.directions)
    moments = (
        session.syn, session.syn_ack, session.establish_request, session.establish_response, session.opened,
        session.parameters_request, session.parameters_response, session.close,
        *(one.first_message for one in session.directions), *(one.last_ack for one in session.directions),
    )  # fmt: skip
    count = sum(one is not None for one in moments)
    network = NETWORK * (session.network is not None)
    return _ENDED + _MOMENT * count + _NAME * names + _NOTE * len(session.notes) + network


def _ends(record: Record) -> tuple[str, ...]:
    """The ports of a record."""
    return tuple(f":{(place or '').rpartition(':')[2]}" for place in (record.src, record.dst))
