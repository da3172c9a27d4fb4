"""A DCE/RPC client over TCP: binds, and calls with the declared values. No authentication.

The rules kept here: an answer belongs to the call whose number it has, in whatever order answers come; who
waits for one gets it, or is told once that the connection is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

import msgspec

from msmq_wire.capture.conversation_writer import CapturedConnection, CaptureWriter, endpoint
from msmq_wire.errors import DecodeError, MsmqWireError
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.faults import ConnectionFaults, FaultySender
from msmq_wire.lab.log import why
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.rpc_fragments import MAX_FRAGMENT, JoinedStub, agreed_fragment, fragments
from msmq_wire.lab.rpc_negotiation import (
    AcceptedContext,
    accepted,
    features_element,
    keeps_connection,
    offer,
    stub_syntax,
)
from msmq_wire.rpc.interfaces import Interface, Method
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, Syntax, encode_stub, inspect_stub
from msmq_wire.rpc.pdu.decoding import COMMON_HEADER, decode_pdu
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.framer import FramedPdu, PduFramer
from msmq_wire.rpc.pdu.values import (
    PFC_CONC_MPX,
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    AlterContext,
    Bind,
    BindAck,
    BindNak,
    CoCancel,
    Fault,
    Orphaned,
    Pdu,
    Request,
    Response,
    Shutdown,
)
from msmq_wire.wire.types.guid import GUID

_WHOLE = PFC_FIRST_FRAG | PFC_LAST_FRAG
_MAX_RESPONSE = 64 << 20
_GRACE = 1.0
_BIND_SECONDS = 30.0
_CALL_CANCELLED = 0x0000071A
"""RPC_S_CALL_CANCELLED"""


class PendingCall(msgspec.Struct, eq=False, kw_only=True):
    """A call that was sent. ``answer`` is done when it is answered, or raises `MsmqWireError`."""

    call_id: int
    method: Method
    syntax: Syntax
    answer: asyncio.Future[CallResult]
    stub: JoinedStub


class RpcClient(Closing, asyncio.Protocol):
    """A connection to a server; made with `connect`. Use it as a context, or `close` it."""

    def __init__(
        self, name: str, capture: CaptureWriter | None, faults: ConnectionFaults | None, fragment: int
    ) -> None:
        self.group = 0
        """The association, which another connection may join with ``bind(..., group=)``."""
        self._name = name
        self._capture = capture
        self._captured: CapturedConnection | None = None
        self._faults = faults
        self._own_fragment = self._fragment = fragment
        self._framer = PduFramer(from_client=False)
        self._received = 0
        self._contexts: dict[GUID, AcceptedContext] = {}
        self._next_context = 0
        self._last_call = 0
        self._bound = False
        self._keeps = False
        self._binding: asyncio.Future[BindAck] | None = None
        self._pending: dict[int, PendingCall] = {}
        self._lost = ""
        self._server_ended = False
        self._room = asyncio.Event()
        self._room.set()
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport
        self._sender: FaultySender

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        capture: CaptureWriter | None = None,
        faults: ConnectionFaults | None = None,
        fragment: int = MAX_FRAGMENT,
    ) -> Self:
        """Connect to a server; `MsmqWireError` where there is none.

        ``capture`` takes down what passes, ``faults`` meet what this client sends; ``fragment`` is how large
        PDUs may be, at least 1432 bytes.
        """
        name = f"{host} port {port}"
        try:
            _, client = await asyncio.get_running_loop().create_connection(
                lambda: cls(name, capture, faults, fragment), host, port
            )
        except OSError as error:
            raise MsmqWireError(f"cannot connect to {name}: {why(error)}") from error
        return client

    @property
    def connected(self) -> bool:
        """Whether calls can be made still."""
        return not self._lost

    async def bind(
        self, *interfaces: Interface, syntaxes: Sequence[Syntax] = (NDR, NDR64), group: int = 0
    ) -> None:
        """Offer interfaces; one bind for the first of them, then an alter_context for more.

        Raises `MsmqWireError` where the server refuses the bind, or one of the interfaces, or says nothing.
        """
        elements = offer(interfaces, syntaxes, self._next_context)
        self._next_context += len(elements)
        if not self._bound:
            elements += (features_element(elements[-1]),)
            self._next_context += 1
        make = AlterContext if self._bound else Bind
        flags = _WHOLE | PFC_CONC_MPX
        fragment = self._own_fragment
        pdu = make(
            flags,
            self._new_call(),
            max_xmit_frag=fragment,
            max_recv_frag=fragment,
            assoc_group_id=group or self.group,
            contexts=elements,
        )
        answer = await self._negotiate(pdu)
        if not self._bound:
            self._keeps = keeps_connection(answer.results)
            self._fragment = agreed_fragment(fragment, answer.max_recv_frag)
            self.group = answer.assoc_group_id
            self._bound = True
        self._contexts.update((one.interface, one) for one in accepted(elements, answer.results))
        refused = [one.name for one in interfaces if one.uuid not in self._contexts]
        if refused:
            raise MsmqWireError(f"{self._name} does not offer {', '.join(refused)}")

    async def call(self, interface: Interface, opnum: int, request: Any) -> CallResult:
        """Make a call and wait for its answer: a response, or the status of a fault.

        ``request`` is the value that the method declares. Who stops to wait gives the call up: the server is
        told; so it is when the method's ``call_timeout`` is over, and the answer is a fault then. Raises
        `MsmqWireError` for a lost connection, `EncodeError` and `DecodeError` for stubs.
        """
        pending = await self.begin(interface, opnum, request)
        limit = pending.method.call_timeout
        try:
            async with asyncio.timeout(None if limit is None else limit / 1000):
                return await pending.answer
        except TimeoutError:
            # Cancelled with a cancel time-out of zero: asked, and not waited for.
            self.cancel(pending)
            self.give_up(pending)
            return CallResult(fault=_CALL_CANCELLED)
        except asyncio.CancelledError:
            self.give_up(pending)
            raise

    async def begin(self, interface: Interface, opnum: int, request: Any) -> PendingCall:
        """Send a request and do not wait for the answer; errors as for `call`."""
        context = self._contexts.get(interface.uuid)
        if context is None or context.syntax is None:
            raise MsmqWireError(f"{interface.name} was not bound")
        method = interface.methods[opnum]
        stub = encode_stub(method.request, StubValue(request), context.syntax)
        await self._room.wait()
        pending = self._send_request(context, method, stub)
        if self._faults is not None and self._faults.duplicated():
            # Nobody waits for the answer to the copy.
            self._send_request(context, method, stub)
        return pending

    def cancel(self, pending: PendingCall) -> None:
        """Ask the server to cancel a call; its answer comes nevertheless."""
        if pending.call_id in self._pending and not self._lost:
            self._send(CoCancel(_WHOLE, pending.call_id))

    def give_up(self, pending: PendingCall) -> None:
        """Tell the server that nobody waits for the answer any more.

        A server that does not keep the connection then ([MS-RPCE] 3.3.1.5.10) loses it.
        """
        if self._pending.pop(pending.call_id, None) is None or self._lost:
            return
        pending.answer.cancel()
        self._send(Orphaned(_WHOLE, pending.call_id))
        if not self._keeps:
            self._sender.close()

    async def close(self) -> None:
        """Close the connection; calls that are not answered are lost."""
        if not self._closed.done():
            self._sender.close()
            await asyncio.wait((self._closed,), timeout=_GRACE)
            self._transport.abort()
            await self._closed

    def abort(self) -> None:
        """Break the connection off at once, as a client does that crashes."""
        if self._captured is not None:
            self._captured.reset()
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the new connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._capture is not None:
            own, peer = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
            self._captured = self._capture.connection(endpoint(own), endpoint(peer))
        self._sender = FaultySender(transport, self._faults, self._sent)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all who wait."""
        self._sender.stop()
        if self._captured is not None:
            self._captured.ended(exc, from_client=not self._server_ended, broken_by_client=False)
        self._lose("the connection ended")
        self._room.set()
        self._closed.set_result(None)

    def eof_received(self) -> None:
        """The server sends no more."""
        self._server_ended = True

    def pause_writing(self) -> None:
        """The server does not read: send it no more requests."""
        self._room.clear()

    def resume_writing(self) -> None:
        """It reads again."""
        self._room.set()

    def data_received(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._captured is not None:
            self._captured.feed(False, data)
        self._received += len(data)
        for event in self._framer.feed(data, 0, 0):
            if self._lost:
                return
            if not isinstance(event, FramedPdu):
                self._break_off("the server sent what is no PDU")
                return
            try:
                self._take(decode_pdu(event.data))
            except DecodeError as error:
                self._break_off(f"the server sent a PDU that is wrong: {error}")
                return
        if self._framer.lost and self._received >= COMMON_HEADER:
            self._break_off("the server sent what is no PDU")

    def _sent(self, data: bytes) -> None:
        if self._captured is not None:
            self._captured.feed(True, data)

    def _new_call(self) -> int:
        self._last_call = self._last_call % 0xFFFF_FFFF + 1
        return self._last_call

    def _send(self, pdu: Pdu) -> None:
        self._sender.send(encode_pdu(pdu))

    def _send_request(self, context: AcceptedContext, method: Method, stub: bytes) -> PendingCall:
        if self._lost:
            raise MsmqWireError(self._lost)
        assert context.syntax is not None
        call_id = self._new_call()
        answer: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
        pending = self._pending[call_id] = PendingCall(
            call_id=call_id,
            method=method,
            syntax=context.syntax,
            answer=answer,
            stub=JoinedStub(_MAX_RESPONSE),
        )
        self._sender.send(
            b"".join(
                encode_pdu(
                    Request(
                        flags,
                        call_id,
                        alloc_hint=left,
                        context_id=context.context_id,
                        opnum=method.opnum,
                        stub=part,
                    )
                )
                for flags, left, part in fragments(stub, self._fragment)
            )
        )
        return pending

    async def _negotiate(self, pdu: Bind) -> BindAck:
        if self._lost:
            raise MsmqWireError(self._lost)
        if self._binding is not None:
            raise MsmqWireError("another bind is not answered yet")
        self._binding = asyncio.get_running_loop().create_future()
        try:
            self._send(pdu)
            async with asyncio.timeout(_BIND_SECONDS):
                return await self._binding
        except TimeoutError:
            raise MsmqWireError(f"{self._name} does not answer a bind: is it a port of RPC?") from None
        finally:
            self._binding = None

    def _take(self, pdu: Pdu) -> None:
        binding = self._binding
        match pdu:
            case BindAck() if binding is not None and not binding.done():
                binding.set_result(pdu)
            case BindNak() if binding is not None and not binding.done():
                reason = f"{self._name} refused the bind: reason {pdu.reject_reason}"
                binding.set_exception(MsmqWireError(reason))
            case Response():
                self._respond(pdu)
            case Fault() if pdu.call_id in self._pending:
                self._resolve(self._pending[pdu.call_id], CallResult(fault=pdu.status))
            case Fault() if binding is not None and not binding.done():
                reason = f"{self._name} refused the context: fault {pdu.status:#010x}"
                binding.set_exception(MsmqWireError(reason))
            case Fault():
                pass  # of a call that was given up
            case Shutdown():
                self._break_off("the server shuts down")
            case _:
                self._break_off(f"the server sent a PDU of type {pdu.ptype}")

    def _respond(self, pdu: Response) -> None:
        pending = self._pending.get(pdu.call_id)
        if pending is None:
            return
        if not pending.stub.add(pdu.stub):
            self._break_off(f"the answer to {pending.method.name} is too large")
        elif pdu.pfc_flags & PFC_LAST_FRAG:
            syntax = stub_syntax(pending.syntax, pdu.big_endian)
            stub = inspect_stub(pending.method.response, pending.stub.join(), syntax)
            if stub.breaks_ndr:
                # The strict check of a client's runtime. [MS-MQMR] 3.2.4, [MS-RPCE] 3.1.2.5.1
                del self._pending[pdu.call_id]
                broken = f"the answer to {pending.method.name} breaks NDR: "
                _fail(pending.answer, stub.error or MsmqWireError(broken + stub.anomalies[0].message))
            else:
                self._resolve(pending, CallResult(response=stub.value))

    def _resolve(self, pending: PendingCall, answer: CallResult) -> None:
        del self._pending[pending.call_id]
        if not pending.answer.done():
            pending.answer.set_result(answer)

    def _break_off(self, reason: str) -> None:
        self._lose(reason)
        self._sender.close()

    def _lose(self, reason: str) -> None:
        if self._lost:
            return
        self._lost = f"{self._name}: {reason}"
        if self._binding is not None:
            _fail(self._binding, MsmqWireError(self._lost))
        for pending in self._pending.values():
            _fail(pending.answer, MsmqWireError(self._lost))
        self._pending.clear()


def _fail(future: asyncio.Future[Any], error: MsmqWireError) -> None:
    if not future.done():
        future.set_exception(error)
        # Nobody has to ask: the loop complains about errors that were never looked at.
        future.exception()
