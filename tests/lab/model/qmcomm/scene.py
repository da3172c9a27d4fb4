"""A qmcomm server with a client, a neighbour that answers as it is told, and requests by their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msmq_wire.lab.model.data.elements import OpenQueueDescriptor, Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.events.queue import create_queue
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.lab.model.qmcomm.environment import QmcommEnvironment, QueueAction
from msmq_wire.lab.model.qmcomm.local_queue_context import LocalQueueContextHandle, RemoteQueueProxyHandle
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.rpc.interfaces.qm2qm import HandleResponse, RemoteQMOpenQueueResponse
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    CreateObjectInternalRequest,
    EnlistInternalTransactionRequest,
)
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    CreateRemoteCursorRequest,
    OpenQueueInternalRequest,
    OpenRemoteQueueRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, TransferSend
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.scene import ServerScene, Waiting, system_queue

PATH = "host\\private$\\orders"
ORDERS = f"DIRECT=OS:{PATH}"
ELSEWHERE = "DIRECT=OS:elsewhere\\private$\\far"
REMOTE_HANDLE = ContextHandle(uuid=GUID(b"a remote handle!"))
PUBLIC = GUID(b"a public queue!!")
OTHER_MANAGER = GUID(b"another manager!")
UOW = GUID(b"a unit of work!!")
UNKNOWN = ContextHandle(uuid=GUID(b"an unknown one!!"))


class OtherQueueManager:
    """What is called at another queue manager; methods without an answer wait."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.waiting: list[Callable[[CallResult], None]] = []
        self.answers: dict[str, CallResult | None] = {
            "RemoteQMOpenQueue": CallResult(RemoteQMOpenQueueResponse(ph_context=REMOTE_HANDLE)),
            "RemoteQMCloseQueue": CallResult(HandleResponse()),
            "RemoteQMCloseCursor": CallResult(StatusResponse()),
            "RemoteQMPurgeQueue": CallResult(StatusResponse()),
        }

    def __call__(self, name: str, request: Any, done: Callable[[CallResult], None]) -> None:
        self.calls.append((name, request))
        answer = self.answers.get(name)
        if answer is None:
            self.waiting.append(done)
        else:
            done(answer)

    @property
    def names(self) -> list[str]:
        """The methods that were called."""
        return [name for name, _ in self.calls]


class Directory:
    """Public queues and queue managers by their identifiers, and what was asked for."""

    def __init__(self, queues: dict[GUID, tuple[str, str]], managers: dict[GUID, str] | None = None) -> None:
        self.queues = queues
        self.managers = managers or {}
        self.asked: list[tuple[str, GUID]] = []

    def queue(self, identifier: GUID) -> tuple[str, str] | None:
        self.asked.append(("Queue", identifier))
        return self.queues.get(identifier)

    def queue_manager(self, identifier: GUID) -> str | None:
        self.asked.append(("QueueManager", identifier))
        return self.managers.get(identifier)


class Coordinator:
    """A DTC that knows one cookie, says what it is told to say, and notes what it is asked."""

    def __init__(self, whereabouts: bytes | None = b"here", *, enlists: bool = True) -> None:
        self.whereabouts = whereabouts
        self.enlists = enlists
        self.asked: list[tuple[str, Any]] = []

    def extended_whereabouts(self) -> bytes | None:
        self.asked.append(("whereabouts", None))
        return self.whereabouts

    def import_transaction(self, cookie: bytes) -> Any:
        self.asked.append(("import", cookie))
        return ("transaction", cookie) if cookie == b"cookie" else None

    def enlist(self, transaction: Any) -> bool:
        self.asked.append(("enlist", transaction))
        return self.enlists


class Scene(ServerScene[QmcommServer]):
    """A server of a queue manager with the private queue ``orders``, and one client."""

    def __init__(self, **environment: Any) -> None:
        self.other = OtherQueueManager()
        self.bound: list[str] = []
        super().__init__(QmcommServer, environment=QmcommEnvironment(**{"bind": self._bind, **environment}))

    def _bind(self, computer: str) -> OtherQueueManager | None:
        self.bound.append(computer)
        return self.other if computer in ("elsewhere", "host") else None

    def start(self, stem: str, request: Any) -> Waiting:
        """A call of the client that may wait."""
        return self.client.start(stem, request)

    def open(self, name: str = ORDERS, access: int = 1, share: int = 0, **more: Any) -> Any:
        """Open a queue for the application: the response, which is MQ_OK."""
        response = self.call("rpc_qm_open_queue_internal", opening(name, access, share, **more))
        assert response.status == Status.MQ_OK
        return response

    def open_far(self) -> RemoteQueueProxyHandle:
        """Open a queue of the other queue manager."""
        response = self.open(ELSEWHERE, h_remote_queue=7, dwp_queue=8, dwp_remote_context=9)
        proxy = self.thing(response.ph_queue)
        assert isinstance(proxy, RemoteQueueProxyHandle)
        return proxy

    def add_public_queue(self) -> Queue:
        """The public queue ``shared``."""
        queue = system_queue(self.manager, "shared")
        queue.queue_type, queue.identifier = ModelQueueType.PUBLIC, PUBLIC
        assert create_queue(self.manager, queue) == Status.MQ_OK
        return queue

    def open_for_others(self, access: int = 1, share: int = 0) -> Any:
        """Open a queue for a client of another server: the response, which is MQ_OK."""
        response = self.call("r_qm_open_remote_queue", opening_for_others(access=access, share=share))
        assert response.status == Status.MQ_OK
        return response

    def begin(self, identifier: GUID = UOW) -> ContextHandle:
        """Begin an internal transaction: its handle."""
        request = EnlistInternalTransactionRequest(p_uow=identifier)
        response = self.call("r_qm_enlist_internal_transaction", request)
        assert response.status == Status.MQ_OK
        handle: ContextHandle = response.ph_int_xact
        return handle

    def descriptor(self, handle: ContextHandle) -> OpenQueueDescriptor:
        """The descriptor of an open queue of the client."""
        thing = self.thing(handle)
        assert isinstance(thing, LocalQueueContextHandle)
        return thing.open_queue_descriptor_reference

    def state(self) -> dict[str, Any]:
        """All that a call could have changed, and what the other queue manager was asked."""
        return super().state() | {"asked": list(self.other.calls)}


def creating(name: str = ".\\private$\\new", **more: Any) -> CreateObjectInternalRequest:
    """A request of R_QMCreateObjectInternal for a queue with a label."""
    label = PropVariant(vt=31, arm=WcharText.of("a label"))
    members = {"cp": 1, "a_prop": (108,), "ap_var": (label,), **more}
    return CreateObjectInternalRequest(lpwcs_path_name=WcharText.of(name), **members)


def opening_for_others(
    name: str = ORDERS, access: int = 1, share: int = 0, **more: Any
) -> OpenRemoteQueueRequest:
    """A request of R_QMOpenRemoteQueue."""
    return OpenRemoteQueueRequest(
        p_queue_format=queue_format(name), dw_desired_access=access, dw_share_mode=share, **more
    )


def queue_format(name: str) -> QueueFormat:
    """The QUEUE_FORMAT of a format name."""
    return QueueFormat.of(FormatName.parse(name))


def object_format(name: str = ORDERS) -> ObjectFormat:
    """The OBJECT_FORMAT of a format name."""
    return ObjectFormat(arm=queue_format(name))


def opening(name: str = ORDERS, access: int = 1, share: int = 0, **more: Any) -> OpenQueueInternalRequest:
    """A request of rpc_QMOpenQueueInternal, with room for the name of a remote queue."""
    more.setdefault("lplp_remote_queue_name", NULL_POINTEE)
    return OpenQueueInternalRequest(
        p_queue_format=queue_format(name), dw_desired_access=access, dw_share_mode=share, **more
    )


def remote_cursor(h_queue: int, **more: Any) -> CreateRemoteCursorRequest:
    """A request of R_QMCreateRemoteCursor, with the zeroed buffer that Windows sends."""
    return CreateRemoteCursorRequest(ptb1=CACTransferBufferV1(arm=TransferSend(), **more), h_queue=h_queue)


def denied(stem: str, request: Any) -> list[tuple[QueueAction, str | None]]:
    """What is asked, and of which queue, before a server that permits nothing denies a call."""
    asked: list[tuple[QueueAction, str | None]] = []

    def permits(_: ClientAssociation, action: QueueAction, queue: Queue | None) -> bool:
        asked.append((action, queue.pathname if queue else None))
        return False

    assert Scene(permits=permits).refusal(stem, request) == Status.MQ_ERROR_ACCESS_DENIED
    return asked


def cases(rules: str, status: int, *requests: Any) -> list[tuple[str, Any, int]]:
    """A row for each request that rules answer with a status: the rules, the request and the status."""
    return [(rules, request, status) for request in requests]
