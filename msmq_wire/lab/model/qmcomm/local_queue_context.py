"""Open queues of an application at its supporting server, which qmcomm and qmcomm2 share. [MS-MQMP] 3.1.1

The rule kept here: what is called by its context handle belongs to the client that holds it, as RPC has it;
what is called by a number is looked up in the server's one table, whoever asks. Both are kept here and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from msmq_wire.lab.model.data.elements import ModelQueueManager, OpenQueueDescriptor, QueueHandle
from msmq_wire.lab.model.events.queue import close_queue
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMCloseQueueRequest
from msmq_wire.rpc.types.context_handle import ContextHandle

RemoteBinding: TypeAlias = Callable[[str, Any, Callable[[CallResult], None]], None]
"""How another queue manager is called: name of the method, its request, and who gets the answer.

The name is as in the interface (``RemoteQMStartReceive`` of qm2qm, ``R_QMCreateRemoteCursor`` of qmcomm).
"""


class LocalQueueContextHandle(QueueHandle, eq=False, kw_only=True):
    """An RPC_QUEUE_HANDLE of a local queue. [MS-MQMP] 3.1.1.3

    Applications know it by ``handle``, and for rpc_ACReceiveMessageEx by ``context``.
    """

    open_queue_descriptor_reference: OpenQueueDescriptor

    @property
    def context(self) -> int:
        """The number of its descriptor."""
        return self.open_queue_descriptor_reference.handle


class CursorProxy(msgspec.Struct, eq=False, kw_only=True):
    """A cursor at another queue manager. [MS-MQMP] 3.1.1.6"""

    handle: int
    remote_cursor_handle: int = 0
    is_remote_cursor_handle_initialized: bool = False


class RemoteQueueProxyHandle(QueueHandle, eq=False, kw_only=True):
    """An RPC_QUEUE_HANDLE of a queue of another queue manager. [MS-MQMP] 3.1.1.5"""

    context: int
    remote_handle: ContextHandle
    remote_binding_handle: RemoteBinding
    remote_context: int
    path_name: str
    format_name: str
    cursor_proxy_collection: list[CursorProxy] = msgspec.field(default_factory=list)


def add_local_queue(
    manager: ModelQueueManager, association: ClientAssociation, descriptor: OpenQueueDescriptor
) -> LocalQueueContextHandle:
    """An open queue of this queue manager gets a context handle of the client."""
    opened = LocalQueueContextHandle(open_queue_descriptor_reference=descriptor)
    opened.handle = association.handle(manager, opened)
    manager.queue_handle_table[opened.context] = opened
    return opened


def add_remote_queue(
    manager: ModelQueueManager,
    association: ClientAssociation,
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
    manager.queue_handle_table[proxy.context] = proxy
    return proxy


def forget_queue(
    manager: ModelQueueManager,
    association: ClientAssociation,
    opened: LocalQueueContextHandle | RemoteQueueProxyHandle,
) -> None:
    """The handle and the number of an open queue stand for nothing any more."""
    association.forget(opened.handle)
    manager.queue_handle_table.pop(opened.context, None)


def add_cursor_proxy(
    manager: ModelQueueManager, proxy: RemoteQueueProxyHandle, remote_cursor_handle: int | None = None
) -> CursorProxy:
    """A cursor of a remote queue gets a number; it is initialised when the other one's number is known."""
    cursor = CursorProxy(
        handle=manager.new_handle(),
        remote_cursor_handle=remote_cursor_handle or 0,
        is_remote_cursor_handle_initialized=remote_cursor_handle is not None,
    )
    proxy.cursor_proxy_collection.append(cursor)
    return cursor


def local_queue_of_context(manager: ModelQueueManager, context: int) -> LocalQueueContextHandle | None:
    """The local queue of a pdwQMContext, whichever client opened it. [MS-MQMP] 3.1.1.2, 3.1.5.3"""
    opened = manager.queue_handle_table.get(context)
    return opened if isinstance(opened, LocalQueueContextHandle) else None


def remote_queue_of_context(manager: ModelQueueManager, context: int) -> RemoteQueueProxyHandle | None:
    """The remote queue of a pdwQMContext, whichever client opened it. [MS-MQMP] 3.1.1.4, 3.1.5.3"""
    opened = manager.queue_handle_table.get(context)
    return opened if isinstance(opened, RemoteQueueProxyHandle) else None


def rundown_queue_handles(manager: ModelQueueManager, association: ClientAssociation) -> None:
    """Every open queue of a client that is gone is closed, here or there. [MS-MQMP] 3.1.7.1

    It does not matter which of the interfaces does it, or if both do.
    """
    for thing in list(association.handles.values()):
        if isinstance(thing, LocalQueueContextHandle):
            close_queue(manager, thing.open_queue_descriptor_reference)
        elif isinstance(thing, RemoteQueueProxyHandle):
            request = RemoteQMCloseQueueRequest(pph_context=thing.remote_handle)
            thing.remote_binding_handle("RemoteQMCloseQueue", request, _whatever_comes)
        else:
            continue
        forget_queue(manager, association, thing)


def _whatever_comes(_: CallResult) -> None:
    """The queue is let go of, whether the other queue manager says so or not."""
