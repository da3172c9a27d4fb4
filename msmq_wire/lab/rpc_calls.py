"""The calls of one connection of a DCE/RPC server: requests join, go to a server of the model, get an answer.

The rules kept here:

* Calls are served in the order in which their requests are whole, and answered in the order in which their
  answers are ready.
* Who asks for what is not there gets a fault; only what breaks the protocol is told to the connection.
* A cancel is told, and changes nothing: no method of these interfaces looks for one. A call that the client
  gave up goes on in the model, and is not answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from msmq_wire.errors import EncodeError
from msmq_wire.lab.faults import ConnectionFaults
from msmq_wire.lab.model.interface_server import (
    BAD_STUB_DATA,
    CallResult,
    ClientAssociation,
    InterfaceServer,
)
from msmq_wire.lab.rpc_fragments import JoinedStub, fragments
from msmq_wire.lab.rpc_negotiation import AcceptedContext, stub_syntax
from msmq_wire.lab.rpc_service import RpcService
from msmq_wire.rpc.interfaces import Method
from msmq_wire.rpc.ndr import StubValue, Syntax, encode_stub, inspect_stub
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    PFC_DID_NOT_EXECUTE,
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    PFC_MAYBE,
    CoCancel,
    Fault,
    Orphaned,
    Request,
    Response,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle

_REQUEST_TOO_LARGE = 0x00000005  # [MS-RPCE] 3.3.3.5.4
_SECURITY_PACKAGE = 0x00000721
_UNSPECIFIED = 0x1C000012
_CONTEXT_MISMATCH = 0x1C00001A
_INVALID_CONTEXT_ID = 0x1C00001C
_NO_SUCH_METHOD = 0x1C010002
_NO_SUCH_INTERFACE = 0x1C010003
_TOO_BUSY = 0x1C010014


class _Incoming(msgspec.Struct, eq=False):
    """A request that is not whole yet; ``refused`` says that the rest of it is of no interest."""

    first: Request
    stub: JoinedStub
    cancels: int = 0
    refused: bool = False


class _Running(msgspec.Struct, eq=False):
    """A call in progress; ``silent`` says that nobody wants the answer."""

    context_id: int
    method: Method
    syntax: Syntax
    cancels: int = 0
    silent: bool = False


class RpcCalls:
    """The calls of a client that is bound.

    ``association`` holds its context handles, ``contexts`` its presentation contexts by number. ``send``
    takes the PDUs of one answer at a time, none larger than ``fragment``.
    """

    def __init__(
        self,
        service: RpcService,
        association: ClientAssociation,
        send: Callable[[bytes], None],
        faults: ConnectionFaults | None,
    ) -> None:
        self.association = association
        self.contexts: dict[int, AcceptedContext] = {}
        self.fragment = service.limits.fragment
        self._service = service
        self._send = send
        self._faults = faults
        self._incoming: _Incoming | None = None
        self._running: dict[int, _Running] = {}

    @property
    def running(self) -> int:
        """How many calls are in progress."""
        return len(self._running)

    @property
    def held(self) -> int:
        """Bytes of the request that is not whole."""
        return 0 if self._incoming is None else self._incoming.stub.size

    def end(self) -> None:
        """Nothing is answered any more."""
        self._service.calls -= len(self._running)
        self._running.clear()
        self._incoming = None

    def request(self, pdu: Request) -> bool:
        """Take a request or a fragment of one; False where the client breaks the protocol."""
        incoming = self._incoming
        if pdu.pfc_flags & PFC_FIRST_FRAG:
            # A client sends one request whole before the next ([MS-RPCE] 3.3.1.5.8).
            if incoming is not None or pdu.call_id in self._running:
                return False
            incoming = self._incoming = _Incoming(pdu, JoinedStub(self._service.limits.request_bytes))
        elif incoming is None or incoming.first.call_id != pdu.call_id:
            return False
        last = bool(pdu.pfc_flags & PFC_LAST_FRAG)
        if last:
            self._incoming = None
        if incoming.refused:
            return True
        if pdu.sec_trailer is not None:
            incoming.refused = True
            self.fault(pdu.call_id, pdu.context_id, _SECURITY_PACKAGE)
        elif not incoming.stub.add(pdu.stub):
            incoming.refused = True
            self.fault(pdu.call_id, pdu.context_id, _REQUEST_TOO_LARGE)
        elif last:
            self._dispatch(incoming)
        return True

    def give_up(self, pdu: CoCancel | Orphaned) -> None:
        """The client cancels a call, or wants nothing of it any more; it may be over already."""
        incoming, running = self._incoming, self._running.get(pdu.call_id)
        of_incoming = incoming is not None and incoming.first.call_id == pdu.call_id
        if isinstance(pdu, CoCancel):
            if running is not None:
                running.cancels += 1
            elif incoming is not None and of_incoming:
                incoming.cancels += 1
        elif running is not None:
            # It keeps its number: the call is in progress still.
            running.silent = True
        elif of_incoming:
            self._incoming = None

    def fault(
        self, call_id: int, context_id: int, status: int, *, cancels: int = 0, executed: bool = False
    ) -> None:
        """Answer with a fault."""
        flags = PFC_FIRST_FRAG | PFC_LAST_FRAG | (0 if executed else PFC_DID_NOT_EXECUTE)
        count = min(cancels, 0xFF)
        self._send(
            encode_pdu(Fault(flags, call_id, context_id=context_id, cancel_count=count, status=status))
        )

    def _dispatch(self, incoming: _Incoming) -> None:
        """Serve a request that is whole, or tell what is wrong with it."""
        first = incoming.first
        found = self._find(first)
        if isinstance(found, int):
            self.fault(first.call_id, first.context_id, found)
            return
        server, method, syntax = found
        stub = inspect_stub(method.request, incoming.stub.join(), stub_syntax(syntax, first.big_endian))
        problem = BAD_STUB_DATA if stub.breaks_ndr else self._handle_problem(method, stub.value)
        if problem is not None:
            self.fault(first.call_id, first.context_id, problem)
            return
        silent = bool(first.pfc_flags & PFC_MAYBE)
        call = _Running(first.context_id, method, syntax, incoming.cancels, silent)
        self._running[first.call_id] = call
        self._service.calls += 1
        if self._faults is not None and self._faults.refused():
            self._answer(first.call_id, call, refusal(method))
            return
        with self._service.event():
            server.at(first.object_uuid).serve(
                self.association,
                first.opnum,
                stub.value,
                lambda answer: self._answer(first.call_id, call, answer),
            )

    def _find(self, first: Request) -> tuple[InterfaceServer, Method, Syntax] | int:
        """The method that is called, or the status of a fault."""
        context = self.contexts.get(first.context_id)
        if context is None:
            return _INVALID_CONTEXT_ID
        server = self._service.servers.get(context.interface)
        if server is None:
            return _NO_SUCH_INTERFACE
        if context.syntax is None:
            return _INVALID_CONTEXT_ID
        method = server.INTERFACE.methods.get(first.opnum)
        if method is None or not hasattr(server, method.stem):
            return _NO_SUCH_METHOD
        if self._service.calls >= self._service.limits.calls:
            return _TOO_BUSY
        return server, method, context.syntax

    def _handle_problem(self, method: Method, value: Any) -> int | None:
        """The status of a fault for a context handle that this client does not hold, or for too many."""
        # They are parameters themselves, never in a structure ([MS-RPCE] 2.2.4.3).
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        handles = {name: one for name, one in fields.items() if isinstance(one, ContextHandle)}
        for name, handle in handles.items():
            # One that comes back in the response may be NULL: what that means the method says.
            known = handle.uuid in self.association.handles and not handle.attributes
            if not known and not (handle.null and name in method.response.names):
                return _CONTEXT_MISMATCH
        if not handles and not self._service.room_for_handle(self.association):
            return _TOO_BUSY
        return None

    def _answer(self, call_id: int, call: _Running, answer: CallResult) -> None:
        """Send an answer, unless the connection or the call ended before it was ready."""
        if self._running.get(call_id) is not call:
            return
        del self._running[call_id]
        self._service.calls -= 1
        if call.silent:
            return
        status = answer.fault
        if status is None:
            try:
                stub = encode_stub(call.method.response, StubValue(answer.response), call.syntax)
            except EncodeError as error:
                message = f"{call.method.name} was answered with what cannot be encoded"
                asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})
                status = _UNSPECIFIED
            else:
                self._respond(call_id, call, stub)
                return
        self.fault(call_id, call.context_id, status, cancels=call.cancels, executed=True)

    def _respond(self, call_id: int, call: _Running, stub: bytes) -> None:
        count = min(call.cancels, 0xFF)
        self._send(
            b"".join(
                encode_pdu(
                    Response(
                        flags,
                        call_id,
                        alloc_hint=left,
                        context_id=call.context_id,
                        cancel_count=count,
                        stub=part,
                    )
                )
                for flags, left, part in fragments(stub, self.fragment)
            )
        )


def refusal(method: Method) -> CallResult:
    """The failure instead of what could have been done: a status, or a fault where the method has none."""
    status = int(Status.MQ_ERROR_INSUFFICIENT_RESOURCES)
    if method.returns_status:
        return CallResult(response=method.response.cls(status=status))
    return CallResult(fault=status)
