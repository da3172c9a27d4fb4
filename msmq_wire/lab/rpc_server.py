"""A DCE/RPC server over TCP (ncacn_ip_tcp) for the servers of the model."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Sequence

from msmq_wire.capture.conversation_writer import CapturedConnection, CaptureWriter, Endpoint, endpoint
from msmq_wire.errors import DecodeError, MsmqWireError
from msmq_wire.lab.backpressure import Backpressure
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.faults import ConnectionFaults, FaultPlan, FaultySender
from msmq_wire.lab.log import LabLog, why
from msmq_wire.lab.model.interface_server import InterfaceServer
from msmq_wire.lab.rpc_calls import RpcCalls
from msmq_wire.lab.rpc_fragments import agreed_fragment
from msmq_wire.lab.rpc_negotiation import Reject, accept
from msmq_wire.lab.rpc_service import RpcLimits, RpcService
from msmq_wire.rpc.ndr import NDR64, Syntax
from msmq_wire.rpc.pdu.decoding import COMMON_HEADER, decode_pdu
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.framer import FramedPdu, PduFramer
from msmq_wire.rpc.pdu.values import (
    PFC_CONC_MPX,
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    AlterContext,
    AlterContextResp,
    Bind,
    BindAck,
    BindNak,
    CoCancel,
    ContextResult,
    Orphaned,
    Pdu,
    Request,
    Shutdown,
)

_BACKLOG = 512
_SHORTEST_ROUND, _LONGEST_ROUND = 0.02, 15.0
_GRACE = 1.0

_WHOLE = PFC_FIRST_FRAG | PFC_LAST_FRAG
_UNKNOWN_AUTHENTICATION = 0x000006D3
_PDU_COST = 64
"""Bytes that a PDU takes besides its own while it waits for its turn."""


class RpcServer(Closing):
    """Serves interfaces on TCP ports, without authentication: a bind that brings some is refused.

    ``clock`` drives the timers of the model whenever a call changes it; ``capture`` takes down what passes;
    ``faults`` with ``seed`` say what goes wrong on purpose; of several transfer syntaxes that a client offers
    for an interface ``preferred`` is taken. What one client asks for in one association is run down when its
    last connection is gone (``rundown`` of each server). Use it as a context, or `close` it.
    """

    def __init__(
        self,
        servers: Sequence[InterfaceServer],
        *,
        limits: RpcLimits = RpcLimits(),  # noqa: B008  (a value that does not change)
        clock: LoopClock | None = None,
        capture: CaptureWriter | None = None,
        faults: FaultPlan | None = None,
        seed: int = 0,
        preferred: Syntax = NDR64,
        log: LabLog | None = None,
    ) -> None:
        self._service = RpcService(
            servers,
            limits=limits,
            clock=clock,
            capture=capture,
            faults=faults,
            seed=seed,
            preferred=preferred,
            log=LabLog(lambda: 0) if log is None else log,
        )
        self._listeners: list[asyncio.Server] = []
        self._round: asyncio.TimerHandle | None = None

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return len(self._service.connections)

    @property
    def calls(self) -> int:
        """How many calls are in progress."""
        return self._service.calls

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Serve a port, any free one for 0, and return it; `MsmqWireError` where that is not possible."""
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(
                lambda: _RpcConnection(self._service), host, port, backlog=_BACKLOG
            )
        except OSError as error:
            raise MsmqWireError(f"cannot serve {host} port {port}: {why(error)}") from error
        self._listeners.append(listener)
        if self._round is None:
            self._look_around()
        return endpoint(listener.sockets[0].getsockname())

    async def close(self) -> None:
        """Take no more connections and tell the clients to go; those that stay are broken off soon."""
        if self._round is not None:
            self._round.cancel()
            self._round = None
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.close()
        connections = tuple(self._service.connections)
        for connection in connections:
            connection.retire()
        gone = [connection.closed for connection in connections]
        if gone:
            _, slow = await asyncio.wait(gone, timeout=_GRACE)
            for connection in connections:
                if connection.closed in slow:
                    connection.drop()
            await asyncio.wait(gone)
        for listener in listeners:
            await listener.wait_closed()

    def _look_around(self) -> None:
        """Break off the connections that took too long, and look again after a while."""
        loop = asyncio.get_running_loop()
        limits = self._service.limits
        shortest = min(limits.bind_seconds, limits.idle_seconds, limits.stalled_seconds)
        delay = min(max(shortest / 4, _SHORTEST_ROUND), _LONGEST_ROUND)
        self._round = loop.call_later(delay, self._look_around)
        for connection in self._service.connections:
            connection.check(loop.time())


class _RpcConnection(asyncio.Protocol):
    """A client of an `RpcService`; ``closed`` is done when the connection is gone.

    Who does not keep to the protocol, or takes too long, loses it. One PDU is taken in a turn of the loop,
    and none while the client does not read (`Backpressure`).
    """

    def __init__(self, service: RpcService) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._service = service
        self._framer = PduFramer()
        self._inbox: deque[bytes] = deque()
        self._inbox_bytes = 0
        self._received = 0
        self._since = self._progress = asyncio.get_running_loop().time()
        self._garbage = False
        self._open = False
        self._client_ended = False
        self._calls: RpcCalls | None = None
        self._captured: CapturedConnection | None = None
        self._faults: ConnectionFaults | None = None
        self._transport: asyncio.Transport
        self._flow: Backpressure
        self._sender: FaultySender
        self._peer: Endpoint
        self._port = 0

    @property
    def waiting_since(self) -> float:
        """When it made progress last. A client whose call waits for a message is not the slow one."""
        if self._calls is not None and self._calls.running:
            return asyncio.get_running_loop().time()
        return self._progress

    @property
    def held(self) -> int:
        """Bytes of requests that are not whole and of answers that are not sent."""
        incoming = 0 if self._calls is None else self._calls.held
        unsent = self._transport.get_write_buffer_size() + self._sender.pending
        waiting = self._inbox_bytes + _PDU_COST * len(self._inbox)
        return waiting + self._framer.held_bytes + incoming + unsent

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a new connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if peer is None:
            # It is gone again.
            transport.abort()
            return
        self._flow = Backpressure(transport, self._work)
        self._open = True
        here = endpoint(transport.get_extra_info("sockname"))
        self._peer, self._port = endpoint(peer), here[1]
        self._service.connections.enter(self)
        # A client that is gone without a word is found out in the end.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._faults = self._service.faults()
        if self._service.capture is not None:
            self._captured = self._service.capture.connection(self._peer, here)
        self._sender = FaultySender(transport, self._faults, self._sent)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything; with its last connection the association runs down."""
        self._end()
        self._service.connections.leave(self)
        if self._captured is not None:
            self._captured.ended(exc, from_client=self._client_ended)
        self.closed.set_result(None)
        calls, self._calls = self._calls, None
        if calls is not None:
            self._service.part(calls.association, self)

    def data_received(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._open:
            return
        self._since = asyncio.get_running_loop().time() if self._calls is not None else self._since
        if self._captured is not None:
            self._captured.feed(True, data)
        self._received += len(data)
        for event in self._framer.feed(data, 0, 0):
            if not isinstance(event, FramedPdu):
                self._garbage = True
                break
            self._inbox.append(event.data)
            self._inbox_bytes += len(event.data)
        self._garbage = self._garbage or (self._framer.lost and self._received >= COMMON_HEADER)
        self._flow.wake()
        self._service.connections.weigh(self)

    def eof_received(self) -> None:
        """The client sends no more, and needs no more answers."""
        self._client_ended = True

    def pause_writing(self) -> None:
        """Stop reading: the client does not read."""
        self._flow.pause()

    def resume_writing(self) -> None:
        """Read again: the client reads."""
        self._flow.resume()

    def drop(self) -> None:
        """Abort the connection."""
        if self._captured is not None:
            self._captured.reset(from_client=False)
        self._end()
        self._transport.abort()

    def give_up(self) -> None:
        """Break off a connection whose place another one needs."""
        self._service.log.say("rpc-slow", peer=self._peer[0])
        self.drop()

    def retire(self) -> None:
        """Tell the client to go; close when it has the answers that are ready."""
        if self._open:
            if self._calls is not None:
                self._sender.send(encode_pdu(Shutdown(_WHOLE)))
            self._hang_up()

    def check(self, now: float) -> None:
        """Break the connection off if nothing came of it for too long until ``now``."""
        limits = self._service.limits
        stalled = self._flow.stalled_since
        if stalled is not None:
            late = now - stalled > limits.stalled_seconds
        elif self._calls is None:
            late = now - self._since > limits.bind_seconds
        else:
            late = not self._calls.running and now - self._since > limits.idle_seconds
        if late:
            self.drop()

    def _sent(self, data: bytes) -> None:
        if self._captured is not None:
            self._captured.feed(False, data)

    def _hang_up(self) -> None:
        self._sender.close()
        self._end()

    def _end(self) -> None:
        """Take nothing and answer nothing any more."""
        if self._open:
            self._open = False
            self._sender.stop()
            self._inbox.clear()
            self._inbox_bytes = 0
            if self._calls is not None:
                self._calls.end()

    def _work(self) -> bool:
        """Take the next PDU; whether there are more."""
        if self._inbox:
            data = self._inbox.popleft()
            self._inbox_bytes -= len(data)
            self._progress = asyncio.get_running_loop().time()
            try:
                known = self._take(decode_pdu(data))
            except DecodeError:
                known = False
            if not known:
                self.drop()
        if self._open and self._garbage and not self._inbox:
            self.drop()
        if self._open:
            self._service.connections.weigh(self)
        return bool(self._inbox)

    def _take(self, pdu: Pdu) -> bool:
        """Do what a PDU says; False where it does not belong here."""
        calls = self._calls
        match pdu:
            case AlterContext() if calls is not None:
                self._alter(pdu, calls)
            case AlterContext():
                return False
            case Bind() if calls is None:
                self._bind(pdu)
            case Request() if calls is not None:
                return calls.request(pdu)
            case CoCancel() | Orphaned() if calls is not None:
                calls.give_up(pdu)
            case _:
                return False
        return True

    def _send(self, data: bytes) -> None:
        if self._open:
            self._since = self._progress = asyncio.get_running_loop().time()
            self._sender.send(data)
            self._service.connections.weigh(self)

    def _refuse(self, pdu: Bind, reason: int) -> None:
        self._send(encode_pdu(BindNak(_WHOLE, pdu.call_id, reject_reason=reason, versions=((5, 0), (5, 1)))))
        self._hang_up()

    def _bind(self, pdu: Bind) -> None:
        if pdu.sec_trailer is not None:
            self._refuse(pdu, Reject.AUTHENTICATION_TYPE_NOT_RECOGNIZED)
            return
        if len(pdu.contexts) > self._service.limits.contexts:
            self._refuse(pdu, Reject.LOCAL_LIMIT_EXCEEDED)
            return
        association = self._service.join(pdu.assoc_group_id, self._peer[0], self)
        if association is None:
            self._refuse(pdu, Reject.REASON_NOT_SPECIFIED)
            return
        calls = self._calls = RpcCalls(self._service, association, self._send, self._faults)
        calls.fragment = agreed_fragment(self._service.limits.fragment, pdu.max_recv_frag)
        address = f"{self._port}\0".encode()
        self._send(
            encode_pdu(
                BindAck(
                    _WHOLE | pdu.pfc_flags & PFC_CONC_MPX,
                    pdu.call_id,
                    rpc_vers_minor=pdu.rpc_vers_minor,
                    max_xmit_frag=calls.fragment,
                    max_recv_frag=agreed_fragment(self._service.limits.fragment, pdu.max_xmit_frag),
                    assoc_group_id=association.number,
                    sec_addr=address,
                    sec_addr_padding=bytes(-(26 + len(address)) & 3),
                    results=self._accept(pdu, calls),
                )
            )
        )

    def _alter(self, pdu: AlterContext, calls: RpcCalls) -> None:
        if pdu.sec_trailer is not None:
            calls.fault(pdu.call_id, 0, _UNKNOWN_AUTHENTICATION)
            return
        if len(calls.contexts) + len(pdu.contexts) > self._service.limits.contexts:
            self._refuse(pdu, Reject.LOCAL_LIMIT_EXCEEDED)
            return
        self._send(
            encode_pdu(
                AlterContextResp(
                    _WHOLE | pdu.pfc_flags & PFC_CONC_MPX,
                    pdu.call_id,
                    rpc_vers_minor=pdu.rpc_vers_minor,
                    max_xmit_frag=calls.fragment,
                    max_recv_frag=self._service.limits.fragment,
                    assoc_group_id=calls.association.number,
                    sec_addr_padding=bytes(2),
                    results=self._accept(pdu, calls),
                )
            )
        )

    def _accept(self, pdu: Bind, calls: RpcCalls) -> tuple[ContextResult, ...]:
        results, contexts = accept(pdu.contexts, self._service.known, self._service.preferred)
        calls.contexts.update((one.context_id, one) for one in contexts)
        return results
