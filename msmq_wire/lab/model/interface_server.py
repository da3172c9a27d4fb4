"""What all RPC servers share: calls that are answered once, clients, and their context handles.

The rule kept here: a server is a function of the model. It gets a call, changes the model, and answers, now
or when the model tells it something; it never waits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import msgspec

from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.rpc.interfaces.method import Interface, Method
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID

BAD_STUB_DATA = 0x000006F7
"""RPC_X_BAD_STUB_DATA: the fault for every request that the RPC runtime refuses. [MS-RPCE] 3.1.3.5.2"""


class CallResult(msgspec.Struct, frozen=True):
    """What came of a call: the value of the response, or the status of a fault."""

    response: Any = None
    fault: int | None = None

    @property
    def status(self) -> int | None:
        """The status of the fault or of the response; None where a method returns none."""
        return self.fault if self.fault is not None else getattr(self.response, "status", None)


Done: TypeAlias = Callable[[CallResult], None]


class ClientAssociation(msgspec.Struct, eq=False, kw_only=True):
    """A client of a server, and the context handles that it holds, by their GUID.

    ``auth_level`` is that of [MS-RPCE] 2.2.1.1.8; ``account`` whom the client says it is.
    """

    number: int
    account: str = ""
    auth_level: int = 1
    handles: dict[GUID, Any] = {}

    def handle(self, manager: ModelQueueManager, thing: Any) -> ContextHandle:
        """A new context handle that stands for ``thing``."""
        handle = ContextHandle(uuid=manager.new_guid())
        self.handles[handle.uuid] = thing
        return handle

    def thing(self, handle: ContextHandle, kind: type | tuple[type, ...] = object) -> Any:
        """What a context handle of this client stands for; None where it is not of this kind."""
        found = self.handles.get(handle.uuid)
        return found if isinstance(found, kind) else None

    def forget(self, handle: ContextHandle) -> None:
        """The handle stands for nothing any more."""
        self.handles.pop(handle.uuid, None)


class ServerCall(msgspec.Struct, eq=False, kw_only=True):
    """A call that is being served. It is answered once; what comes later is too late."""

    association: ClientAssociation
    method: Method
    done: Done
    answered: bool = False

    def reply(self, response: Any) -> None:
        """Answer with a response."""
        self._answer(CallResult(response=response))

    def throw(self, status: int) -> None:
        """Answer with a fault."""
        self._answer(CallResult(fault=int(status)))

    def _answer(self, answer: CallResult) -> None:
        if not self.answered:
            self.answered = True
            self.done(answer)


class InterfaceServer(ABC):
    """An interface served for a queue manager.

    A method ``R_OpenQueue`` is served by ``r_open_queue(call, request)``; what a subclass does not serve is
    refused as the RPC runtime does.
    """

    INTERFACE: ClassVar[Interface]
    UNKNOWN_METHOD: ClassVar[int] = 0x1C010002
    """nca_s_op_rng_error"""

    def __init__(self, manager: ModelQueueManager) -> None:
        self.manager = manager

    def at(self, object_uuid: GUID | None) -> InterfaceServer:
        """Who serves a call that names an object: this one, but where objects have calls of their own."""
        return self

    def serve(
        self, association: ClientAssociation, opnum: int, request: Any, done: Done
    ) -> ServerCall | None:
        """Take a call; ``done`` gets its answer, now or later. None where there is no such method."""
        method = self.INTERFACE.methods.get(opnum)
        serve = None if method is None else getattr(self, method.stem, None)
        if method is None or serve is None:
            done(CallResult(fault=self.UNKNOWN_METHOD))
            return None
        call = ServerCall(association=association, method=method, done=done)
        serve(call, request)
        return call

    @abstractmethod
    def rundown(self, association: ClientAssociation) -> None:
        """The client is gone: let go of all that it held."""
