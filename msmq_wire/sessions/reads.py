"""Remote reads: who opened which queue, what was peeked or received, and whether that came to an end.

[MS-MQRR] 3.1.4.7, [MS-MQMP] 3.1.5.3 and [MS-MQQP] 3.1.4. The rule kept here: a receive that takes a message
is done when the client acknowledges it; until then the server may put the message back. Of what takes too
much of the budget the oldest go: reads, queues, or what is known of handles and calls, whichever takes most.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import METHODS, Role
from msmq_wire.rpc.interfaces.role import CLOSES, OPENS, READS
from msmq_wire.sessions.budget import Budget, Share
from msmq_wire.sessions.followed_message import FollowedMessage, message_name, moment_of, system_queue
from msmq_wire.sessions.moment import Moment

ReadEnd: TypeAlias = Literal["ack", "nack", "cancelled"]

_READ = 1000
_QUEUE = 700
_KNOWN = 300
"""Bytes of a read and of an opened queue beside their texts, and of what is known of a handle or a call."""
_CARRIED = 800
"""Bytes of a message that waits for what becomes of it, which may have left by itself."""
_MOST_READS = 1000
_MOST_MOVES = 64
"""Reads, and moves to other queues, that are kept for one message."""
_PURGES = 64
"""Purges of queues of one name, the first of more."""
_CANCELLED = 0xC00E0008
"""MQ_ERROR_OPERATION_CANCELLED."""
_LOW_56 = (1 << 56) - 1
_KNOWN_ACTIONS = frozenset(int(action) for action in ReceiveAction)


class RemoteQueue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A queue that a client opened over RPC.

    ``client`` and ``server`` are ``address:port``, ``account`` whom the client says it is (empty: not known).
    ``access`` and ``share_mode`` are numbers of `AccessMode` and `ShareMode`. ``status`` is that of the call
    (None without an answer, or where success has no status), ``closed`` the call that closed it. ``receives``
    and ``peeks`` count the reads that asked for a message, ``moves`` the messages moved from it and
    ``arrivals`` those moved to it, ``purges`` the purges; ``purged`` is the first of them that succeeded.
    """

    number: int
    client: str
    server: str
    interface: str
    method: str
    account: str
    queue: str | None
    opened: Moment
    access: int | None = None
    share_mode: int | None = None
    status: int | None = None
    fault: bool = False
    sealed: bool = False
    closed: Moment | None = None
    receives: int = 0
    peeks: int = 0
    moves: int = 0
    purges: int = 0
    purged: Moment | None = None
    arrivals: int = 0


class RemoteRead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A peek or a receive over RPC, from its call to what ended it.

    ``opened`` is the number of its `RemoteQueue`, None where that was not captured. ``action`` is a number of
    `ReceiveAction`; ``removes`` tells a receive from a peek (None where a sealed request does not tell).
    ``timeout`` is milliseconds, 0xFFFFFFFF for ever; ``waited`` the nanoseconds until the answer.
    ``lookup_id`` is the one asked for, ``found_lookup_id`` that of the message (its low 56 bits). ``status``
    is the HRESULT, ``answered`` whether an answer was captured.

    ``message`` is the id of the record that holds the message, ``message_id`` and ``label`` are its own.
    ``end`` is ``ack`` (the client has it: it leaves the queue), ``nack`` (it goes back) or ``cancelled``;
    ``ended`` is that call and ``end_status`` its status. ``pending`` is a receive that brought a message and
    that nothing ended before the capture did. ``transactional`` says that a transaction decides: then the
    message leaves the queue when that is committed, which no call tells.
    """

    number: int
    opened: int | None
    client: str
    server: str
    interface: str
    method: str
    account: str
    queue: str | None
    at: Moment
    action: int | None = None
    removes: bool | None = None
    lookup_id: int | None = None
    cursor: int | None = None
    timeout: int | None = None
    request_id: int | None = None
    waited: int | None = None
    status: int | None = None
    answered: bool = True
    fault: bool = False
    sealed: bool = False
    transactional: bool = False
    found_lookup_id: int | None = None
    message: int | None = None
    message_id: str | None = None
    label: str | None = None
    end: ReadEnd | None = None
    ended: Moment | None = None
    end_status: int | None = None
    pending: bool = False
    certain: bool = True


V = TypeVar("V")


class _Table(OrderedDict[Hashable, V]):
    """A dict whose entries are counted: ``entry`` bytes each, and the texts that ``texts`` finds in them."""

    def __init__(self, share: Share, entry: int, texts: Callable[[V], int] = lambda value: 0) -> None:
        super().__init__()
        self._share = share
        self._entry = entry
        self._texts = texts
        self.taken = 0

    def _take(self, size: int) -> None:
        self.taken += size
        self._share.take(size)

    def put(self, key: Hashable, value: V) -> None:
        """Keep a value, in its old place if there was one."""
        before = self.get(key)
        self._take(self._texts(value) + self._entry)
        if before is not None:
            self._take(-self._texts(before) - self._entry)
        self[key] = value

    def take_out(self, key: Hashable) -> V | None:
        """Return a value and forget it."""
        value = self.pop(key, None)
        if value is not None:
            self._take(-self._texts(value) - self._entry)
        return value


class ReadTracker:
    """Follows remote reads and the queues opened for them.

    ``leave`` is given each that ``budget`` has no room for, ``left_out`` counts the reads of them.
    """

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        leave: Callable[[RemoteRead | RemoteQueue], None] | None = None,
    ) -> None:
        share = (budget or Budget()).share(self._give)
        self._leave = leave
        self._queues: _Table[RemoteQueue] = _Table(share, _QUEUE, _texts_of)
        self._handles: _Table[int] = _Table(share, _KNOWN)
        self._reads: _Table[RemoteRead] = _Table(share, _READ, _texts_of)
        self._pending: _Table[int] = _Table(share, _KNOWN)
        self._calls: _Table[int] = _Table(share, _KNOWN)
        self._carried: _Table[FollowedMessage] = _Table(share, _CARRIED)
        self._lookups: _Table[FollowedMessage] = _Table(share, _CARRIED)
        self._purged: _Table[tuple[int, ...]] = _Table(share, _KNOWN)
        self._tables: tuple[_Table[Any], ...] = (
            self._queues, self._handles, self._reads, self._pending, self._calls, self._carried,
            self._lookups, self._purged,
        )  # fmt: skip
        self._counts = [0, 0]
        self.left_out = 0

    def _give(self) -> None:
        table = max(self._tables, key=lambda one: one.taken)
        if not table:
            return
        gone = table.take_out(next(iter(table)))
        if table is self._reads:
            self.left_out += 1
        if self._leave is not None and isinstance(gone, RemoteRead | RemoteQueue):
            self._leave(gone)

    def call(self, record: Record) -> None:
        """Take an ``rpc_call`` record."""
        call = record.packet
        if not isinstance(call, RpcCall) or call.method is None:
            return
        role = call.role
        moment = moment_of(record)
        place = (record.capture, host_of(record.dst))
        if role in READS:
            self._start(record, call, moment, place)
        elif role in (Role.END, Role.CANCEL):
            self._finish_read(call, moment, place)
        elif role in OPENS:
            self._open(record, call, moment, place)
        elif role in CLOSES:
            self._on_queue(call, place, closed=moment)
        elif role is Role.PURGE:
            queue = self._queue(call, place)
            purged = None if queue is None or call.status or call.fault else moment
            if queue is not None and purged is not None and queue.purged is None:
                self._purged.put(queue.queue, (*self._purged.get(queue.queue, ()), queue.number)[:_PURGES])
            self._on_queue(call, place, purges=1, purged=purged)
        elif role is Role.MOVE:
            self._on_queue(call, place, moves=1)
            message = self._looked_up(call, place)
            if not call.status and not call.fault:
                self._move(call, message, moment, place)
        elif role is Role.CLASSIFY:
            message = self._looked_up(call, place)
            class_ = getattr(call.request, "us_class", None)
            if message is not None and class_ and not call.status:
                history = message.begun_history()
                history.rejected, history.rejected_class = moment, class_

    def _move(
        self, call: RpcCall, message: FollowedMessage | None, moment: Moment, place: tuple[str, str]
    ) -> None:
        target = self._queues.get(self._handles.get((*place, call.members.moved_to(call.request))))
        if target is not None:
            self._queues.put(target.number, msgspec.structs.replace(target, arrivals=target.arrivals + 1))
        history = None if message is None else message.begun_history()
        if history is not None and len(history.moved) < _MOST_MOVES:
            history.moved.append(moment)
            history.moved_to.append("" if target is None else target.queue or "")

    def carried(self, record: Record, message: FollowedMessage) -> None:
        """Take the message that a call before brought: a child of its record."""
        number = self._calls.get((record.capture, record.parent))
        read = self._reads.get(number)
        if number is None or read is None or read.message is not None:
            return
        self._reads.put(
            number,
            msgspec.structs.replace(
                read, message=record.id, message_id=message_name(message.key), label=message.label
            ),
        )
        history = message.begun_history()
        if len(history.reads) < _MOST_READS:
            history.reads.append(number)
        if read.found_lookup_id is not None:
            place = (record.capture, host_of(read.server))
            self._lookups.put((*place, read.found_lookup_id), message)
        if system_queue(read.queue) is not None:
            # A copy in a journal or a dead-letter queue: its reader is not the one that it was sent to.
            return
        history.found = history.found or read.at
        if not read.removes:
            history.peeked = history.peeked or read.at
        elif read.transactional:
            # It leaves its queue when the transaction is committed, and no call tells: [MS-MQRR] 3.1.4.15
            return
        elif METHODS[read.method].role is Role.RECEIVE:
            history.received, history.received_by = history.received or read.at, read.client
        else:
            self._carried.put(number, message)

    def queue_of(self, record: Record) -> str | None:
        """The queue that the call read which brought a message."""
        read = self._reads.get(self._calls.get((record.capture, record.parent)))
        return None if read is None else read.queue

    def _start(self, record: Record, call: RpcCall, moment: Moment, place: tuple[str, str]) -> None:
        members = call.members
        action = call.asked(members.action)
        removes = None
        if action in _KNOWN_ACTIONS:
            removes = ReceiveAction(action).removes
        transaction = getattr(call.request, members.transaction, None)
        found = call.number_at(members.found)
        queue = self._queue(call, place)
        number = self._counts[0]
        self._counts[0] += 1
        read = RemoteRead(
            number=number,
            opened=None if queue is None else queue.number,
            client=record.src or "",
            server=record.dst or "",
            interface=call.interface,
            method=call.method or "",
            account=call.account,
            queue=call.queue,
            at=moment,
            action=action,
            removes=removes,
            lookup_id=call.asked(members.lookup_id),
            cursor=call.asked(members.cursor),
            timeout=call.asked(members.timeout),
            request_id=call.request_id,
            waited=call.latency,
            status=call.status,
            answered=call.response is not None or call.status is not None or call.sealed,
            fault=call.fault,
            sealed=call.sealed,
            transactional=isinstance(transaction, bytes) and any(transaction),
            found_lookup_id=found & _LOW_56 if found and not call.status else None,
            end="cancelled" if call.status == _CANCELLED else None,
            certain=call.complete and not call.guessed,
        )
        self._reads.put(number, read)
        self._calls.put((record.capture, record.id), number)
        self._on_queue(call, place, receives=int(removes is True), peeks=int(removes is False))
        if call.role is Role.RECEIVE or call.response is None or call.status:
            return
        for key in members.given(call.response):
            # Given again, it stands for the receive and for no queue.
            self._handles.take_out((*place, key))
        for begun in members.begun(call.request, call.response):
            if removes:
                self._pending.put((*place, begun), number)
            else:
                self._pending.take_out((*place, begun))

    def _finish_read(self, call: RpcCall, moment: Moment, place: tuple[str, str]) -> None:
        # Without the frame of its beginning it has ended, or began before the capture.
        ended = None if call.started_frame is None else call.members.ended(call.request)
        number = self._pending.get((*place, ended))
        read = self._reads.get(number)
        if number is None or read is None:
            return
        end: ReadEnd = "cancelled"
        if call.role is Role.END:
            end = "ack" if getattr(call.request, "dw_ack", None) == RemoteReadAck.RR_ACK else "nack"
        self._reads.put(number, msgspec.structs.replace(read, end=end, ended=moment, end_status=call.status))
        if call.status or call.fault:
            return
        message = self._carried.take_out(number)
        if message is not None and end == "ack":
            history = message.begun_history()
            history.received, history.received_by = history.received or moment, read.client

    def _open(self, record: Record, call: RpcCall, moment: Moment, place: tuple[str, str]) -> None:
        number = self._counts[1]
        self._counts[1] += 1
        access = call.asked(call.members.access)
        queue = RemoteQueue(
            number=number,
            client=record.src or "",
            server=record.dst or "",
            interface=call.interface,
            method=call.method or "",
            account=call.account,
            queue=call.queue,
            opened=moment,
            access=access,
            share_mode=call.asked("dw_share_mode"),
            status=call.status,
            fault=call.fault,
            sealed=call.sealed,
        )
        self._queues.put(number, queue)
        for key in () if call.status else call.members.given(call.response):
            self._handles.put((*place, key), number)

    def _queue(self, call: RpcCall, place: tuple[str, str]) -> RemoteQueue | None:
        # Without the frame of its opening it is closed, or was opened before the capture.
        used = None if call.opened_frame is None else call.members.used(call.request)
        return self._queues.get(self._handles.get((*place, used)))

    def _on_queue(
        self,
        call: RpcCall,
        place: tuple[str, str],
        *,
        closed: Moment | None = None,
        purged: Moment | None = None,
        receives: int = 0,
        peeks: int = 0,
        moves: int = 0,
        purges: int = 0,
    ) -> None:
        queue = self._queue(call, place)
        if queue is None:
            return
        self._queues.put(
            queue.number,
            msgspec.structs.replace(
                queue,
                closed=queue.closed or closed,
                purged=queue.purged or purged,
                receives=queue.receives + receives,
                peeks=queue.peeks + peeks,
                moves=queue.moves + moves,
                purges=queue.purges + purges,
            ),
        )

    @property
    def purged(self) -> bool:
        """Whether any queue was purged."""
        return bool(self._purged)

    def purges_of(self, queue: str | None) -> Iterator[RemoteQueue]:
        """The queues of a name that were purged, as they stand."""
        for number in () if queue is None else self._purged.get(queue, ()):
            found = self._queues.get(number)
            if found is not None:
                yield found

    def _looked_up(self, call: RpcCall, place: tuple[str, str]) -> FollowedMessage | None:
        lookup_id = call.asked(call.members.lookup_id)
        return None if lookup_id is None else self._lookups.get((*place, lookup_id & _LOW_56))

    def finish(self) -> tuple[tuple[RemoteRead, ...], tuple[RemoteQueue, ...]]:
        """All reads and all queues that are kept, by order of appearance."""
        return tuple(map(_settled, self._reads.values())), tuple(self._queues.values())


def _texts_of(one: RemoteRead | RemoteQueue) -> int:
    """Characters of the longest texts in it; names of hosts are short."""
    label = one.label if isinstance(one, RemoteRead) else None
    return len(one.queue or "") + len(one.account) + len(label or "")


def _settled(read: RemoteRead) -> RemoteRead:
    brought = read.message is not None or (bool(read.removes) and read.status == 0)
    pending = brought and bool(read.removes) and read.end is None and METHODS[read.method].role is Role.START
    return msgspec.structs.replace(read, pending=True) if pending else read
