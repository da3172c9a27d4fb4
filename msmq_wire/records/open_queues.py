"""What calls have to do with each other: the queue behind a handle, the receive that another call ends.

The rule kept here: handles belong to a server, whatever connection brings them. What is remembered is
bounded; what was forgotten is only not told.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import msgspec

from msmq_wire.rpc.constants import DirectoryObjectType
from msmq_wire.rpc.decoding import DecodedCall
from msmq_wire.rpc.interfaces import Members, Role
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from msmq_wire.wire.partial import reached_at, reached_number
from msmq_wire.wire.types.guid import GUID

_KEPT = 1 << 16
_NUMBERS = ("h_queue", "h_remote_queue", "h_qm_context")
"""Members by which a request names an open queue without a handle."""


class Links(msgspec.Struct, frozen=True, gc=False):
    """What the calls before tell of a call; fields as in `RpcCall`."""

    queue: str | None = None
    request_id: int | None = None
    opened_frame: int | None = None
    started_frame: int | None = None
    columns: tuple[int, ...] = ()


class _Opened(msgspec.Struct, frozen=True, gc=False):
    """An open queue, or a lookup and its columns.

    ``number`` is what else stands for it, and no longer when its handle is closed.
    """

    queue: str | None
    frame: int | None
    number: tuple[str, str, int] | None = None
    columns: tuple[int, ...] = ()


class OpenQueues:
    """Follows the handles, and the numbers that stand for queues, of all servers in a capture."""

    def __init__(self) -> None:
        self._opened: OrderedDict[Hashable, _Opened] = OrderedDict()
        self._started: OrderedDict[Hashable, int] = OrderedDict()

    def take(self, server: str, call: DecodedCall, frame: int) -> Links:
        """Take a call to ``server`` (its address, no port) that ``frame`` completes; say what it is about."""
        if call.method is None:
            return Links()
        role = call.method.role
        request = None if call.request is None else call.request.value
        response = None if call.response is None else call.response.value
        descriptor = read_descriptor(request)
        request_id = reached_number(request, "dw_request_id")
        if request_id is None:
            request_id = reached_number(descriptor, "dw_request_id")
        members = call.method.members
        queue = _named_queue(request, members)
        opened = next(
            (self._opened[key] for key in _keys(server, request, descriptor) if key in self._opened), None
        )
        if queue is None and opened is not None:
            queue = opened.queue
        started = None
        if role in (Role.END, Role.CANCEL):
            ends = [(key, request_id) for key in _keys(server, request, descriptor)]
            began = next((key for key in ends if key in self._started), None)
            if began is not None:
                # What has ended cannot be ended again: its number may come again.
                started = self._started[began] if call.status else self._started.pop(began)
        elif role is Role.START and response is not None and not call.status:
            for key in _keys(server, request, descriptor):
                self._start((key, request_id), frame)
            # RemoteQMEndReceive names the receive by the handle that it got, and no request.
            for key in _keys(server, response, None):
                self._start((key, None), frame)
        if not call.status:
            columns = _listed(request, members.properties) if role is Role.BEGIN_LOOKUP else ()
            self._remember(server, members, request, response, _Opened(queue, frame, columns=columns))
        if opened is None:
            return Links(queue, request_id, None, started)
        columns = opened.columns if role is Role.LOOK_UP else ()
        return Links(queue, request_id, opened.frame, started, columns)

    def _remember(self, server: str, members: Members, request: Any, response: Any, opened: _Opened) -> None:
        for member, known_as in members.numbers.items():
            number = reached_number(response, member) if known_as in _NUMBERS else None
            if number:
                opened = msgspec.structs.replace(opened, number=(server, known_as, number))
                self._open((server, known_as, number), opened)
        before, after = _handles(request), _handles(response)
        given = {handle.uuid for handle in after.values() if not handle.null}
        for uuid in given - {handle.uuid for handle in before.values()}:
            self._open((server, "handle", uuid), opened)
        # What comes back as another handle, or as none, is closed; what is not given back stays.
        for name in before.keys() & after.keys():
            if before[name].uuid not in given:
                closed = self._opened.pop((server, "handle", before[name].uuid), None)
                if closed is not None and self._opened.get(closed.number) is closed:
                    del self._opened[closed.number]

    def _open(self, key: Hashable, opened: _Opened) -> None:
        self._opened[key] = opened
        self._opened.move_to_end(key)
        if len(self._opened) > _KEPT:
            self._opened.popitem(last=False)

    def _start(self, key: Hashable, frame: int) -> None:
        self._started[key] = frame
        self._started.move_to_end(key)
        if len(self._started) > _KEPT:
            self._started.popitem(last=False)


def read_descriptor(value: Any) -> RemoteReadDesc | None:
    """The REMOTEREADDESC of a request or response of qm2qm, None without one."""
    found = getattr(value, "lp_remote_read_desc", None)
    if found is None:
        second = getattr(value, "lp_remote_read_desc2", None)
        found = second.p_remote_read_desc if isinstance(second, RemoteReadDesc2) else None
    return found if isinstance(found, RemoteReadDesc) else None


def _handles(value: Any) -> dict[str, ContextHandle]:
    """The handles in a request or a response, by the names of their members."""
    if not isinstance(value, msgspec.Struct):
        return {}
    return {
        name: member
        for name, member in zip(value.__struct_fields__, msgspec.structs.astuple(value), strict=True)
        if isinstance(member, ContextHandle) and isinstance(member.uuid, GUID)
    }


def _listed(request: Any, path: str) -> tuple[int, ...]:
    """The numbers in a member of a request."""
    found = reached_at(request, path)
    return found if isinstance(found, tuple) else ()


def _keys(server: str, value: Any, descriptor: RemoteReadDesc | None) -> list[tuple[str, str, Hashable]]:
    """What stands for an open queue, or for a receive, in a request or a response."""
    keys: list[tuple[str, str, Hashable]] = [
        (server, "handle", handle.uuid) for handle in _handles(value).values() if not handle.null
    ]
    for part in (value, descriptor):
        for name in _NUMBERS:
            number = reached_number(part, name)
            if number:
                keys.append((server, "h_queue" if name == "h_remote_queue" else name, number))
    return keys


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
