"""Open queues of an application at its supporting server, which qmcomm and qmcomm2 share. [MS-MQMP] 3.1.1

The rule kept here: the tables of the document are those of one client: its context handles. What both
interfaces know of an open queue stands here and in the client's handles, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import msgspec

from msmq_wire.model.elements import OpenQueueDescriptor, QueueManager
from msmq_wire.model.queue_events import close_queue
from msmq_wire.model.server import Answer, Association
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMCloseQueueRequest
from msmq_wire.rpc.types.context_handle import ContextHandle

__all__ = [
    "CursorProxy",
    "LocalQueueContextHandle",
    "RemoteBinding",
    "RemoteQueueProxyHandle",
    "add_cursor_proxy",
    "add_local_queue",
    "add_remote_queue",
    "local_queue_of_context",
    "remote_queue_of_context",
    "rundown_queue_handles",
]

_T = TypeVar("_T")

RemoteBinding: TypeAlias = Callable[[str, Any, Callable[[Answer], None]], None]
"""How another queue manager is called: name of the method, its request, and who gets the answer.

The name is as in the interface (``RemoteQMStartReceive`` of qm2qm, ``R_QMCreateRemoteCursor`` of qmcomm).
"""


class LocalQueueContextHandle(msgspec.Struct, eq=False, kw_only=True):
    """An RPC_QUEUE_HANDLE of a local queue. [MS-MQMP] 3.1.1.3

    Applications know it by ``handle``, and for rpc_ACReceiveMessageEx by the ``handle`` of its descriptor.
    """

    handle: ContextHandle = ContextHandle()
    open_queue_descriptor_reference: OpenQueueDescriptor


class CursorProxy(msgspec.Struct, eq=False, kw_only=True):
    """A cursor at another queue manager. [MS-MQMP] 3.1.1.6"""

    handle: int
    remote_cursor_handle: int = 0
    is_remote_cursor_handle_initialized: bool = False


class RemoteQueueProxyHandle(msgspec.Struct, eq=False, kw_only=True):
    """An RPC_QUEUE_HANDLE of a queue of another queue manager. [MS-MQMP] 3.1.1.5"""

    handle: ContextHandle = ContextHandle()
    context: int
    remote_handle: ContextHandle
    remote_binding_handle: RemoteBinding
    remote_context: int
    path_name: str
    format_name: str
    cursor_proxy_collection: list[CursorProxy] = []


def add_local_queue(
    manager: QueueManager, association: Association, descriptor: OpenQueueDescriptor
) -> LocalQueueContextHandle:
    """An open queue of this queue manager gets a context handle of the client."""
    opened = LocalQueueContextHandle(open_queue_descriptor_reference=descriptor)
    opened.handle = association.handle(manager, opened)
    return opened


def add_remote_queue(
    manager: QueueManager,
    association: Association,
    *,
    remote_handle: ContextHandle,
    remote_binding_handle: RemoteBinding,
    remote_context: int,
    path_name: str,
    format_name: str,
) -> RemoteQueueProxyHandle:
    """An open queue of another queue manager gets a context handle of the client, and a number."""
    proxy = RemoteQueueProxyHandle(
        context=manager.new_handle(),
        remote_handle=remote_handle,
        remote_binding_handle=remote_binding_handle,
        remote_context=remote_context,
        path_name=path_name,
        format_name=format_name,
    )
    proxy.handle = association.handle(manager, proxy)
    return proxy


def add_cursor_proxy(
    manager: QueueManager, proxy: RemoteQueueProxyHandle, remote_cursor_handle: int | None = None
) -> CursorProxy:
    """A cursor of a remote queue gets a number; it is initialised when the other one's number is known."""
    cursor = CursorProxy(
        handle=manager.new_handle(),
        remote_cursor_handle=remote_cursor_handle or 0,
        is_remote_cursor_handle_initialized=remote_cursor_handle is not None,
    )
    proxy.cursor_proxy_collection.append(cursor)
    return cursor


def local_queue_of_context(association: Association, context: int) -> LocalQueueContextHandle | None:
    """The local queue that the client knows by a pdwQMContext."""
    for opened in _all(association, LocalQueueContextHandle):
        if opened.open_queue_descriptor_reference.handle == context:
            return opened
    return None


def remote_queue_of_context(association: Association, context: int) -> RemoteQueueProxyHandle | None:
    """The remote queue that the client knows by a pdwQMContext."""
    for proxy in _all(association, RemoteQueueProxyHandle):
        if proxy.context == context:
            return proxy
    return None


def _all(association: Association, kind: type[_T]) -> Iterator[_T]:
    return (thing for thing in association.handles.values() if isinstance(thing, kind))


def rundown_queue_handles(manager: QueueManager, association: Association) -> None:
    """Every open queue of a client that is gone is closed, here or there. [MS-MQMP] 3.1.7.1

    It does not matter which of the interfaces does it, or if both do.
    """
    for identifier, thing in list(association.handles.items()):
        if isinstance(thing, LocalQueueContextHandle):
            close_queue(manager, thing.open_queue_descriptor_reference)
        elif isinstance(thing, RemoteQueueProxyHandle):
            request = RemoteQMCloseQueueRequest(pph_context=thing.remote_handle)
            thing.remote_binding_handle("RemoteQMCloseQueue", request, _whatever_comes)
        else:
            continue
        association.handles.pop(identifier, None)


def _whatever_comes(_: Answer) -> None:
    """The queue is let go of, whether the other queue manager says so or not."""
