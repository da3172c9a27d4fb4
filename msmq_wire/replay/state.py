"""What a replay knows of the servers of a capture: handles, cursors, receives, messages.

The rule kept here: the world is open. What was before the capture is unknown, not absent; what a reply shows
is learned. Every fact has the time in which it became true, ``begun`` to ``ended`` of a call: before it may
have been otherwise, and after ``ended`` it is so. All tables are bounded: what goes first is what was not
used for longest, and what was forgotten is unknown again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec

from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.replay.observed_call import MessageIdentity, ObservedCall
from msmq_wire.replay.packet_deviations import frame_text
from msmq_wire.replay.rule_table import RuleRow, find
from msmq_wire.rpc.interfaces import METHODS
from msmq_wire.rpc.interfaces.method import Method
from msmq_wire.units import SECOND

SURE = 60 * SECOND
"""Nanoseconds that a server holds a message at least: RpcCancelTimeout is minutes, and not zero."""
CLEAN_UP = 300 * SECOND
"""Nanoseconds that a server holds a message by default. [MS-MQRR] 3.1.2.2"""
_KEPT = 1 << 16
_MOST_GAPS = 32

V = TypeVar("V")


class BoundedDict(OrderedDict[Hashable, V]):
    """A dict that forgets what was set first."""

    def put(self, key: Hashable, value: V) -> V:
        """Set a value, as the newest."""
        if key in self:
            self.move_to_end(key)
        self[key] = value
        if len(self) > _KEPT:
            self.popitem(last=False)
        return value


class EventTime(msgspec.Struct, frozen=True, gc=False):
    """Between when and when something was done, by what, in which frame."""

    begun: int
    ended: int
    method: str
    frame: int | None

    @classmethod
    def of(cls, call: ObservedCall) -> EventTime:
        """What a call did."""
        frames = call.record.frames
        return cls(call.begun, call.ended, call.method, frames[-1] if frames else None)

    @property
    def known(self) -> Method | None:
        """Its method; None for one of COM."""
        return METHODS.get(self.method)

    def row(self, check: str) -> RuleRow | None:
        """The row of its method that a check is about."""
        return find(check, self.method)

    def __str__(self) -> str:
        return self.method if self.frame is None else f"{self.method} (frame {self.frame})"


class KnownHandle(msgspec.Struct, eq=False, kw_only=True):
    """What stands for an open queue, or for a transaction; a closed one is kept until its key is given again.

    ``opened`` is None for one from before the capture. ``access`` is how it was opened, as an `AccessMode`
    that is good for one thing: receive, send, move or peek; None where that is not known. ``proxy`` says that
    its queue is on another server, ``outgoing`` that it holds what is still to be sent. ``group`` is the
    association group that it was given in, 0 unknown.
    ``closing`` is when a call may have begun to close it.
    """

    number: int
    server: str
    client: str
    queue: str | None = None
    access: int | None = None
    proxy: bool = False
    outgoing: bool = False
    group: int = 0
    opened: EventTime | None = None
    closed: EventTime | None = None
    closing: int | None = None


class Ending(msgspec.Struct, frozen=True, gc=False):
    """A call that ended a receive, or tried to: ``ok`` None where it is not known what came of it."""

    happened: EventTime
    removes: bool
    ok: bool | None


class KnownRead(msgspec.Struct, eq=False, kw_only=True):
    """A receive that brought a message, and how it ended."""

    handle: KnownHandle
    request_id: int | None
    happened: EventTime
    transactional: bool = False
    message: KnownMessage | None = None
    ending: Ending | None = None


class KnownMessage(msgspec.Struct, eq=False, kw_only=True):
    """A message that was seen in a queue.

    ``sequence`` is what is known of its lookup identifier, 0 for nothing. ``holder`` is the receive that got
    it last, ``removed`` what took it out of the queue. ``passed`` is what is wrong with a read that gave
    another message if this one was still there, and when that read ended.
    """

    identity: MessageIdentity | None
    sequence: int
    priority: int | None
    seen: EventTime
    holder: KnownRead | None = None
    removed: EventTime | None = None
    passed: tuple[ReplayDeviation, int] | None = None


class KnownCursor(msgspec.Struct, eq=False):
    """A cursor, of which handle, and what closed it."""

    handle: KnownHandle
    closed: EventTime | None = None


class OpenedQueue(msgspec.Struct, eq=False):
    """A queue that was opened, the handles that keep it open, and whether it was opened to receive."""

    handles: list[KnownHandle]
    receives: bool


class SentMessage(msgspec.Struct, frozen=True):
    """A message that an application sent: what it has to be received with, by attribute.

    ``values`` has None where the sender left the attribute to its server, UNSET where it is not compared.
    """

    happened: EventTime
    values: Mapping[str, Any]
    transaction: bool


class ShownMessage(msgspec.Struct, frozen=True, gc=False):
    """What a message is where a capture shows it; None where that was not seen whole, or may change.

    ``key`` are the 20 bytes that name it, ``by`` what shows it, in which ``frame``, ``host`` is who has the
    message then, ``sender`` who sent it there, ``time_to_reach_queue`` its seconds. Of ``label`` and ``body``
    a number is kept.
    """

    key: bytes
    by: str
    frame: int | None
    host: str
    sender: str
    sent_time: int | None
    time_to_reach_queue: int | None
    label: int | None
    size: int | None
    body: int | None

    @property
    def where(self) -> str:
        """What shows it, and in which frame."""
        return self.by + frame_text(self.frame)


class PendingDeviation(msgspec.Struct, frozen=True):
    """A deviation that a call which is not yet captured may explain.

    Calls are captured when they end: what one did before ``until`` may come later. ``stands`` says whether
    there was such a call.
    """

    deviation: ReplayDeviation
    until: int
    stands: Callable[[], bool]


Found: TypeAlias = ReplayDeviation | PendingDeviation


class ServerState:
    """All that is known. Tables are bounded to 65,536 entries each."""

    def __init__(self) -> None:
        self.handles: BoundedDict[KnownHandle] = BoundedDict()
        self.cursors: BoundedDict[KnownCursor] = BoundedDict()
        self.reads: BoundedDict[KnownRead] = BoundedDict()
        self.messages: BoundedDict[KnownMessage] = BoundedDict()
        self.available: BoundedDict[OrderedDict[Hashable, KnownMessage]] = BoundedDict()
        self.purged: BoundedDict[EventTime] = BoundedDict()
        self.answered: BoundedDict[EventTime] = BoundedDict()
        self.waited: BoundedDict[EventTime] = BoundedDict()
        self.cancelled: BoundedDict[EventTime] = BoundedDict()
        self.groups: BoundedDict[int] = BoundedDict()
        self.sent: BoundedDict[SentMessage] = BoundedDict()
        self.shown: BoundedDict[ShownMessage] = BoundedDict()
        self.named: BoundedDict[EventTime] = BoundedDict()
        self.openings: BoundedDict[OpenedQueue] = BoundedDict()
        self.deleted: BoundedDict[EventTime] = BoundedDict()
        self.arrivals: BoundedDict[tuple[MessageIdentity, int, EventTime]] = BoundedDict()
        self.ports: BoundedDict[tuple[int, EventTime]] = BoundedDict()
        self._blind: BoundedDict[deque[tuple[int, int]]] = BoundedDict()
        self._handles = 0

    def new_handle(self, call: ObservedCall, *, opened: bool) -> KnownHandle:
        """A handle that a call opened, or else that it shows to be there."""
        self._handles += 1
        return KnownHandle(
            number=self._handles,
            server=call.server,
            client=call.client,
            queue=call.queue,
            group=self.group(call),
            opened=EventTime.of(call) if opened else None,
        )

    def group(self, call: ObservedCall) -> int:
        """The association group of the connection of a call, 0 where its bind was not captured."""
        return self.groups.get(call.stream, 0)

    def miss(self, server: str, client: str, begun: int, ended: int) -> None:
        """Something that a client did, or that befell it, was not captured or cannot be read."""
        gaps = self._blind.get((server, client)) or self._blind.put((server, client), deque())
        gaps.append((begun, ended))
        if len(gaps) > _MOST_GAPS:
            # They become one, from the first on.
            first = gaps.popleft()
            gaps[0] = (first[0], max(first[1], gaps[0][1]))

    def missed(self, handle: KnownHandle, since: int, until: int) -> bool:
        """Whether the client of a handle may have done something in a time that is not known."""
        gaps = self._blind.get((handle.server, handle.client), ())
        return any(begun <= until and ended >= since for begun, ended in gaps)

    def whole(self, handle: KnownHandle, until: int) -> bool:
        """Whether all is known that was done with a handle until then."""
        opened = handle.opened
        return opened is not None and not self.missed(handle, opened.begun, until)

    def stays_open(self, handle: KnownHandle, until: int) -> bool:
        """Whether nothing is known that may have closed a handle until then."""
        return self.whole(handle, until) and (handle.closing is None or handle.closing > until)

    def holds(self, read: KnownRead, until: int) -> bool:
        """Whether a receive held its message all the time until then, or removed it."""
        happened, ending, handle = read.happened, read.ending, read.handle
        if read.transactional or until - happened.ended > CLEAN_UP:
            return False
        if ending is not None and ending.happened.begun <= until and not (ending.removes and ending.ok):
            return False
        if handle.closing is not None and handle.closing <= until:
            return False
        return not self.missed(handle, happened.begun, until)

    def pending(self, read: KnownRead, until: int) -> bool:
        """Whether a receive still had to be ended then."""
        ending = read.ending
        return self.holds(read, until) and (ending is None or ending.happened.begun > until)

    def place(self, handle: KnownHandle) -> Hashable:
        """The queue of a handle as messages are kept by: its name, or the handle itself."""
        return (handle.server, handle.number if handle.queue is None else handle.queue.lower())
