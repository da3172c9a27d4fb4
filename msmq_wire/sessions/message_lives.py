"""`LifeTracker`: one value for each message, with all evidence that was captured of it.

The rule kept here: evidence is kept as it was seen, with its frames; what it comes to is said in one place,
`outcomes`. Memory is a few hundred bytes a message; of what takes too much of the budget the oldest go.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Literal, overload

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.message import MessageValues
from msmq_wire.records.message_values import delivery_of
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.sessions.budget import Budget
from msmq_wire.sessions.copies import CopyTracker
from msmq_wire.sessions.followed_message import (
    FollowedMessage,
    Sight,
    UserMessageReader,
    content_of,
    message_key,
    message_name,
    moment_of,
    system_queue,
)
from msmq_wire.sessions.id_collisions import IdCollisions, colliding_with
from msmq_wire.sessions.life import Hop, MessageAcknowledgment, MessageLife
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.trace_tracker import TraceTracker
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID

_GO_TOGETHER = 64
"""The part of all messages that goes at once."""
UNIT = 64
"""Bytes by which messages are counted: small numbers take no memory of their own."""
LIFE = 800
_HISTORY = 640
_ENTRY = 256
"""Bytes of a message, of what happens to few of them, and of an entry there."""
_MAX_HISTORY = 64
"""Entries of one kind that are kept for one message."""
_MAX_CALLS = 1 << 12
_INFINITE = 0xFFFFFFFF
_DECISIONS: dict[str | None, int] = {"positive": 0x4000, "negative": 0xC000}
"""What a commitment receipt says, as a class; another word, or none, says nothing. [MC-MQSRM] 2.2.5.5"""


class MessageLives(Sequence[MessageLife]):
    """The lives of all messages that are kept, by order of appearance; each is made when it is looked at."""

    def __init__(
        self,
        messages: dict[bytes | str, FollowedMessage],
        tell: Callable[[FollowedMessage], MessageLife],
        is_plain: Callable[[FollowedMessage], bool] | None = None,
    ) -> None:
        self._by_key = messages
        self._messages = list(messages.values())
        self._tell = tell
        self._is_plain = is_plain

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> MessageLife: ...
    @overload
    def __getitem__(self, index: slice) -> list[MessageLife]: ...
    def __getitem__(self, index: int | slice) -> MessageLife | list[MessageLife]:
        if isinstance(index, slice):
            return [self._tell(message) for message in self._messages[index]]
        return self._tell(self._messages[index])

    def __iter__(self) -> Iterator[MessageLife]:
        return map(self._tell, self._messages)

    def odd(self, *, plain: bool = False) -> Iterator[MessageLife | FollowedMessage]:
        """The lives of messages; of acknowledgments, and without ``plain`` of plain ones, what was kept."""
        is_plain = None if plain else self._is_plain
        for message in self._messages:
            if message.acknowledged_key is not None and message.place is None:
                yield message
            else:
                yield message if is_plain is not None and is_plain(message) else self._tell(message)

    def kept(self, message_id: str) -> FollowedMessage | None:
        """What was kept of ``guid\\number``, the first of several; None if it was not seen."""
        return self._by_key.get(_key_of(message_id))

    def by_id(self, message_id: str) -> MessageLife | None:
        """The life of ``guid\\number``, the first of several; None if it was not seen."""
        message = self.kept(message_id)
        return None if message is None else self._tell(message)

    def sent_in(self, records: Container[int]) -> dict[int, MessageLife]:
        """The lives of the messages that records sent, by the ids of these."""
        return {
            at.record: self._tell(one)
            for one in self._messages
            for at in (one.first, *(one.history.resent_at if one.history else ()))
            if at.record in records and one.via != "report"
        }

    @cached_property
    def _of_collisions(self) -> Mapping[int, MessageLife]:
        """Those whose identifier another one has, by the records that sent them as far as these are kept."""
        return {
            at.record: life
            for life in map(self._tell, colliding_with(self._messages))
            for at in (life.first, *life.resent_at, *(hop.at for hop in life.route))
        }

    @cached_property
    def _twin_names(self) -> frozenset[str]:
        return frozenset(life.message_id for life in self._of_collisions.values())

    def of(self, record: int, message_id: str) -> MessageLife | None:
        """The life of the message in a record; of several with its identifier the one that it is."""
        if message_id in self._twin_names:
            return self._of_collisions.get(record)
        return self.by_id(message_id)


class LifeTracker:
    """Keeps what is seen of messages, at most ``most`` of them and as far as ``budget`` goes: the latest.

    ``leave`` is told of each that goes, ``left_out`` counts them.
    """

    def __init__(
        self,
        most: int | None = None,
        leave: Callable[[FollowedMessage], None] | None = None,
        *,
        budget: Budget | None = None,
    ) -> None:
        self.reader = UserMessageReader()
        self.messages: dict[bytes | str, FollowedMessage] = {}
        self.collisions = IdCollisions(self.messages)
        self.copies = CopyTracker(self.messages, self.collisions, self.reader)
        budget = budget or Budget()
        self._share = budget.share(self._give)
        self.traces = TraceTracker(budget)
        self._most = most
        self._leave = leave
        self._sends: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self.left_out = 0

    def sent(
        self, record: Record, moment: Moment, ordered: Callable[[FollowedMessage], bool]
    ) -> tuple[FollowedMessage | None, Sight]:
        """Take a ``user_message`` record: what is kept of it, and whether it was sent on this way before.

        ``ordered`` tells whether an OrderAck covers a transactional message.
        """
        key = self.reader.key(record)
        if key is None:
            return None, "first"
        content = content_of(record)
        key, known = self.collisions.find(key, content, record.src or "")
        if known is None:
            first = self.reader.read(key, record, moment, "tcp")
            first.content = content
            return self._keep(first), "first"
        if known.via != "tcp":
            # A remote call brought it here, or brings it away.
            flags = reached(record.packet.user_header, "flags")
            if flags is not None:
                # Who hands a message over need not say how it goes on.
                known.delivery = delivery_of(flags)
            _append(known.begun_history().hops, _hop(record, moment, (flags or 0) & 0x1F))
            self.weigh(known)
            return known, "hop"
        if (known.label is None or known.queue is None) and record.error is None:
            # It was cut when it was seen first.
            self.reader.complete(known, key, record)
            known.content = content
        src = host_of(record.src)
        hops = (reached(record.packet.user_header, "flags") or 0) & 0x1F
        ways = [(host_of(known.src), known.flags & 0x1F)]
        if known.history is not None:
            ways += [(host_of(hop.src), hop.hops) for hop in known.history.hops]
        if (src, hops) in ways:
            transactional = known.delivery == "transactional"
            again = ordered(known) if transactional else known.acknowledged is not None
            known.resends += 1
            known.duplicates += again
            _append(known.begun_history().resent_at, moment)
            self.weigh(known)
            return known, "duplicate" if again else "resent"
        _append(known.begun_history().hops, _hop(record, moment, hops))
        self.weigh(known)
        return known, "hop"

    def put(self, message: FollowedMessage) -> None:
        """Keep a message that was not seen before, and that was weighed."""
        self.messages[message.key] = message
        self._share.take(message.charged * UNIT)
        self.traces.traced(message)
        self._bound()

    def placed(self, message: FollowedMessage, session: int) -> None:
        """Say which session carried the message that was taken last."""
        if message.session is None:
            message.session = session
        elif message.history is not None and message.history.hops:
            hops = message.history.hops
            if hops[-1].session is None:
                hops[-1] = msgspec.structs.replace(hops[-1], session=session)

    def acknowledgment(self, message: FollowedMessage, ends: tuple[str, str], moment: Moment) -> bool:
        """Take a message that may be an administration ack; tell whether it is one of a message not seen."""
        if message.acknowledged_key is None:
            return False
        original = self.collisions.named(message.acknowledged_key, ends[1])
        if original is None or original is message:
            return True
        class_, name = message.message_class or 0, message_name(message.key)
        self.acknowledged(original, "administration_ack", class_, ends, moment, name)
        return False

    def acknowledged(
        self,
        message: FollowedMessage,
        kind: Literal["final_ack", "administration_ack", "receipt"],
        class_: int,
        ends: tuple[str, str],
        moment: Moment,
        name: str | None = None,
    ) -> None:
        """Keep an acknowledgment of a message, the first of its kind and class."""
        known = message.begun_history().acknowledgments
        if not any(one.kind == kind and one.message_class == class_ for one in known):
            _append(
                known,
                MessageAcknowledgment(
                    kind=kind,
                    message_class=class_,
                    at=moment,
                    src=ends[0],
                    dst=ends[1],
                    message_id=name,
                ),
            )
            self.weigh(message)

    def read(self, record: Record) -> FollowedMessage | None:
        """Take the packet of a stored message that a remote read brought."""
        key = self.reader.key(record)
        if key is None:
            return None
        moment = moment_of(record)
        known = self.messages.get(key)
        if known is None:
            known = self._keep(self.reader.read(key, record, moment, "rpc"))
            if record.type == "message_packet":
                known.time_to_reach_queue = _given(known.time_to_reach_queue, known.sent_time)
        return known

    def found_in(self, message: FollowedMessage, queue: str | None, moment: Moment) -> None:
        """Say in which queue a remote read found a message."""
        name = system_queue(queue)
        if name is None:
            return
        copies = message.begun_history().copies
        if not any(known == name for known, _ in copies):
            copies.append((name, moment))
        self.weigh(message)

    def call(self, record: Record) -> None:
        """Take an ``rpc_call``: the identifier that a message got which it sends."""
        call = record.packet
        identifier = getattr(getattr(call, "response", None), "p_message_id", None)
        number = getattr(identifier, "uniquifier", None)
        if isinstance(call, RpcCall) and identifier is not None and isinstance(number, int):
            self._sends[record.capture, record.id] = message_key(identifier.lineage, number)
            if len(self._sends) > _MAX_CALLS:
                self._sends.popitem(last=False)

    def buffer(self, record: Record) -> FollowedMessage | None:
        """Take a ``transfer_buffer``: a message that an application sends or gets over RPC."""
        packet = record.packet
        if not isinstance(packet, TransferBuffer):
            return None
        properties = packet.properties
        key = None if record.parent is None else self._sends.get((record.capture, record.parent))
        identifier = properties.identifier
        if key is None and isinstance(getattr(identifier, "uniquifier", None), int):
            assert identifier is not None
            key = message_key(identifier.lineage, identifier.uniquifier)
        if key is None or not any(key):
            return None
        known = self.messages.get(key)
        if known is not None:
            return known
        message = MessageValues(record, "buffer")
        return self._keep(
            FollowedMessage(
                key,
                moment_of(record),
                "rpc",
                record.src or "",
                record.dst or "",
                size=message["body_size"],
                queue=packet.queue or message["queue"],
                label=message["label"],
                message_class=message["message_class"],
                priority=message["priority"],
                delivery=message["delivery"],
                sent_time=message["sent_time"],
                time_to_reach_queue=properties.time_to_reach_queue,
                time_to_be_received=properties.time_to_be_received,
                flags=bool(properties.negative_journaling_requested) << 8
                | bool(properties.positive_journaling_requested) << 9,
                wanted=properties.acknowledgements_requested or 0,
                admin_queue=properties.administration_queue_format_name,
                traced=bool(properties.tracing_requested),
            )
        )

    def http(self, record: Record) -> FollowedMessage | None:
        """Take an ``srmp_message`` that came over HTTP."""
        packet = record.packet
        if not isinstance(packet, SrmpMessage) or record.parent is not None or packet.message_id is None:
            return None
        key, moment = _key_of(packet.message_id), moment_of(record)
        message = self.messages.get(key)
        if message is None:
            message = self._keep(_http_message(key, packet, record, moment))
        else:
            message.resends += 1
            _append(message.begun_history().resent_at, moment)
        self.weigh(message)
        if packet.response is not None:
            history = message.begun_history()
            history.http_status = packet.response.status
            if packet.certain and 200 <= packet.response.status < 300:
                history.accepted = history.accepted or moment
        return message

    def receipt(self, record: Record) -> tuple[int, bytes | str] | None:
        """Take an ``srmp_receipt``; return class and key of the message that it is about, if not seen."""
        header = getattr(getattr(record.packet, "envelope", None), "header", None)
        receipt = getattr(header, "delivery_receipt", None)
        class_: int | None = 0x0002
        if receipt is None:
            receipt = getattr(header, "commitment_receipt", None)
            class_ = _DECISIONS.get(getattr(receipt, "decision", None))
        name = getattr(receipt, "id", None)
        if record.parent is not None or not isinstance(name, str) or class_ is None:
            return None
        number, _, host = name.removeprefix("uuid:").partition("@")
        key = _key_of(f"{host}\\{number}")
        message = self.messages.get(key) or self.messages.get(name)
        if message is None:
            return class_, key
        self.acknowledged(message, "receipt", class_, ends_of(record), moment_of(record))
        return None

    def _keep(self, message: FollowedMessage) -> FollowedMessage:
        self.messages[message.key] = message
        self.weigh(message, new=True)
        self.traces.traced(message)
        self._bound()
        return message

    def report(self, record: Record, message: FollowedMessage) -> None:
        """Take a message that may be a report message, in whatever brought it."""
        if self.traces.report(record, message):
            self.weigh(message)

    def with_reported(self) -> dict[bytes | str, FollowedMessage]:
        """All messages, and those that only report messages tell of, in the order in which they appear."""
        reported = [one for one in self.traces.uncaptured() if one.key not in self.messages]
        if not reported:
            return self.messages
        together = sorted((*self.messages.values(), *reported), key=lambda one: one.first.record)
        return {one.key: one for one in together}

    def room(self) -> int:
        """How many messages more surely are kept, as far as their number goes."""
        return sys.maxsize if self._most is None else self._most - len(self.messages)

    def put_all(self, messages: list[FollowedMessage]) -> bool:
        """Keep messages that were weighed, and for which there is room, if none of them was seen before."""
        new = {message.key: message for message in messages}
        if len(new) < len(messages) or not self.collisions.none_of(new):
            return False
        self.messages.update(new)
        self._share.take(UNIT * sum(message.charged for message in messages))
        return True

    def _bound(self) -> None:
        if self._most is not None and len(self.messages) > self._most:
            self._go(self._most // _GO_TOGETHER + 1)

    def weigh(self, message: FollowedMessage, *, new: bool = False) -> None:
        """Count what a message takes now, unless it is gone."""
        if not new and not message.charged:
            return
        texts = (message.queue, message.label, message.admin_queue)
        size = LIFE + len(message.key) + sum(len(text) for text in texts if text)
        history = message.history
        if history is not None:
            kinds = (history.resent_at, history.hops, history.acknowledgments, history.reads, history.moved)
            size += _HISTORY + _ENTRY * sum(map(len, kinds))
        units = size // UNIT + 1
        self._share.take((units - message.charged) * UNIT)
        message.charged = units

    def _give(self) -> None:
        self._go(len(self.messages) // _GO_TOGETHER + 1)

    def _go(self, count: int) -> None:
        """Let the oldest go: some at a time, as deleted keys make the first one slow to find."""
        units = 0
        for key in list(islice(self.messages, count)):
            gone = self.messages.pop(key)
            self.collisions.forget(key, gone.src)
            self.copies.forget(key)
            units += gone.charged
            gone.charged = 0
            self.left_out += 1
            if self._leave is not None:
                self._leave(gone)
        self._share.take(-units * UNIT)


def ends_of(record: Record) -> tuple[str, str]:
    """Source and destination of a record, empty where they are not known."""
    return record.src or "", record.dst or ""


def _given(end: int | None, sent_time: int | None) -> int | None:
    """The seconds that a sender gave, from SentTime and their end in a stored message: [MS-MQRR] 2.2.5.1.

    Without limit the end is the highest number, or what that makes of SentTime in 32 bits.
    """
    if end is None or sent_time is None or end == _INFINITE:
        return end
    return (end - sent_time) & _INFINITE if end >= sent_time - 1 else None


def _http_message(key: bytes | str, packet: SrmpMessage, record: Record, moment: Moment) -> FollowedMessage:
    message = MessageValues(record, "srmp")
    msmq = getattr(None if packet.envelope is None else packet.envelope.header, "msmq", None)
    return FollowedMessage(
        key,
        moment,
        "http",
        record.src or "",
        record.dst or "",
        size=message["body_size"],
        queue=message["queue"],
        label=message["label"],
        message_class=message["message_class"],
        priority=message["priority"],
        delivery=message["delivery"],
        flags=bool(getattr(msmq, "dead_letter", False)) << 8 | bool(getattr(msmq, "journal", False)) << 9,
        traced=bool(getattr(msmq, "trace", False)),
    )


_manager = lru_cache(maxsize=4096)(GUID.parse)


def _key_of(message_id: str) -> bytes | str:
    """The key of ``guid\\number``; text of another form stays."""
    host, _, number = message_id.rpartition("\\")
    try:
        return message_key(_manager(host), int(number))
    except (ValueError, OverflowError):
        return message_id


def _hop(record: Record, moment: Moment, hops: int) -> Hop:
    return Hop(at=moment, src=record.src or "", dst=record.dst or "", session=None, hops=hops)


def _append(entries: list[Any], entry: Any) -> None:
    if len(entries) < _MAX_HISTORY:
        entries.append(entry)
