"""What calls have to do with each other: the queue behind a handle, the receive that another call ends.

The rule kept here: handles belong to a server, whatever connection brings them. Which handle a call uses,
opens and closes, and which receive it begins and ends, its `Members` say. What is closed is forgotten. What
is remembered is bounded; what was forgotten is only not told.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeVar

import msgspec

from msmq_wire.rpc.constants import DirectoryObjectType
from msmq_wire.rpc.decoding import DecodedCall
from msmq_wire.rpc.interfaces import Members, Role
from msmq_wire.rpc.interfaces.role import HandleKey, ReceiveKey
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.partial import reached_at, reached_number

_KEPT = 1 << 16

K = TypeVar("K")
V = TypeVar("V")


class CallContext(msgspec.Struct, frozen=True, gc=False):
    """What the calls before tell of a call; fields as in `RpcCall`."""

    queue: str | None = None
    request_id: int | None = None
    opened_frame: int | None = None
    started_frame: int | None = None
    columns: tuple[int, ...] = ()


class _Opened(msgspec.Struct, frozen=True, gc=False):
    """An open queue, or a lookup and its columns. ``keys`` stand for it, none once its handle is closed."""

    queue: str | None
    frame: int | None
    keys: tuple[HandleKey, ...]
    columns: tuple[int, ...] = ()


class OpenQueues:
    """Follows the handles, and the numbers that stand for queues, of all servers in a capture."""

    def __init__(self) -> None:
        self._opened: OrderedDict[tuple[str, HandleKey | None], _Opened] = OrderedDict()
        self._started: OrderedDict[tuple[str, ReceiveKey | None], int] = OrderedDict()

    def take(self, server: str, call: DecodedCall, frame: int) -> CallContext:
        """Take a call to ``server`` (its address, no port) that ``frame`` completes; say what it is about."""
        if call.method is None:
            return CallContext()
        role, members = call.method.role, call.method.members
        request = None if call.request is None else call.request.value
        response = None if call.response is None else call.response.value
        queue = _named_queue(request, members)
        used = members.used(request)
        opened = self._opened.get((server, used))
        if queue is None and opened is not None:
            queue = opened.queue
        started = None
        if role in (Role.END, Role.CANCEL):
            receive = server, members.ended(request)
            # What has ended cannot be ended again: its number may come again.
            started = self._started.get(receive) if call.status else self._started.pop(receive, None)
        elif role is Role.START and response is not None and not call.status:
            for begun in members.begun(request, response):
                _put(self._started, (server, begun), frame)
        if not call.status:
            columns = _listed(request, members.properties) if role is Role.BEGIN_LOOKUP else ()
            given = members.given(response)
            now = _Opened(queue, frame, given, columns)
            for key in given:
                if key != used:
                    _put(self._opened, (server, key), now)
            self._forget(server, members.closed(request, response))
        request_id = reached_number(request, members.request_id)
        if opened is None:
            return CallContext(queue, request_id, None, started)
        columns = opened.columns if role is Role.LOOK_UP else ()
        return CallContext(queue, request_id, opened.frame, started, columns)

    def _forget(self, server: str, handle: HandleKey | None) -> None:
        closed = self._opened.get((server, handle))
        for key in () if closed is None else closed.keys:
            if self._opened.get((server, key)) is closed:
                del self._opened[server, key]


def _put(table: OrderedDict[K, V], key: K, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > _KEPT:
        table.popitem(last=False)


def _listed(request: Any, path: str) -> tuple[int, ...]:
    """The numbers in a member of a request."""
    found = reached_at(request, path)
    return found if isinstance(found, tuple) else ()


def _named_queue(request: Any, members: Members) -> str | None:
    """The queue that a request names itself."""
    named = getattr(request, "p_queue_format", None)
    if named is None:
        named = getattr(getattr(request, "p_object_format", None), "arm", None)
    if isinstance(named, QueueFormat) and named.arm is not msgspec.UNSET:
        return named.shown_name
    path = getattr(request, "lpwcs_path_name", None)
    if members.object and reached_number(request, members.object_type) == DirectoryObjectType.MQDS_QUEUE:
        path = getattr(request, members.object, None)
    return getattr(path, "text", None)
