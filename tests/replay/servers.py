"""Servers of qm2qm, qmcomm, qmcomm2 and qmmgmt of one queue manager, and the records of a capture of them."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.lab.model.qm2qm.server import Qm2qmServer
from msmq_wire.lab.model.qmcomm.environment import QmcommEnvironment
from msmq_wire.lab.model.qmcomm.qmcomm2 import Qmcomm2Server
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.lab.model.qmmgmt.server import QmmgmtServer
from msmq_wire.records.record import Record
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.interfaces.method import Method
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2, read_descriptor
from msmq_wire.wire.names import FormatName
from tests.lab.model.scene import make_manager, make_packet, make_queue, pass_time, put
from tests.replay.world import bind, call_record, deviations

__all__ = ["LOOKUP", "METHODS", "ORDERS", "START", "START2", "Call", "Reader", "Servers", "granted", "rules"]

ORDERS = "DIRECT=OS:host\\private$\\orders"
START, START2 = "RemoteQMStartReceive", "RemoteQMStartReceive2"
LOOKUP = "RemoteQMStartReceiveByLookupId"
METHODS: dict[str, tuple[str, Method]] = {
    method.name: (one.name, method) for one in INTERFACES.values() for method in one.methods.values()
}


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call that was answered, as the client and the server see it."""

    method: str
    request: Any
    answer: CallResult
    begun: int
    ended: int
    stream: int
    client: str
    queue: str | None

    def records(self, response: Any = None) -> list[Record]:
        """What a capture has of it; with another ``response`` than the server's."""
        fault = self.answer.fault if response is None else None
        return call_record(
            self.method,
            self.request,
            self.answer.response if response is None else response,
            begun=self.begun,
            ended=self.ended,
            stream=self.stream,
            client=self.client,
            fault=fault,
            queue=self.queue,
        )


def granted(call: Call) -> list[Record]:
    """The call as a server answers it that does not check."""
    method = METHODS[call.method][1]
    response = method.response.cls() if call.answer.response is None else call.answer.response
    values = {"status": 0} if method.returns_status else {}
    return call.records(msgspec.structs.replace(response, **values))


def rules(found: list[ReplayDeviation]) -> list[str]:
    """The numbers of the rules that are broken."""
    return [str(one.rule) for one in found]


class Reader:
    """A client: its connections to qmcomm with qmcomm2, and to qm2qm, have one association group."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.local = ClientAssociation(number=2 * number)
        self.remote = ClientAssociation(number=2 * number + 1)
        self.ready = 0
        self.handles: list[tuple[ContextHandle, int]] = []
        self.sessions: list[tuple[ContextHandle, int]] = []
        self.cursors: list[tuple[int, int]] = []
        self.received: list[ContextHandle] = []
        self.own_cursors: list[int] = []


class Servers:
    """One queue manager with two queues, its servers and clients; ``calls`` are as they were answered."""

    def __init__(self, clients: int = 1, **environment: Any) -> None:
        self.manager = make_manager()
        self.queues = [make_queue(self.manager, "orders"), make_queue(self.manager, "bills")]
        self.servers: dict[str, Any] = {
            "qm2qm": Qm2qmServer(self.manager),
            "qmcomm": QmcommServer(self.manager, QmcommEnvironment(**environment)),
            "qmcomm2": Qmcomm2Server(self.manager),
            "qmmgmt": QmmgmtServer(self.manager),
        }
        self.clients = [Reader(number) for number in range(1, clients + 1)]
        self.calls: list[Call] = []
        self._names: dict[Any, str] = {}
        self._sent = 0

    def put(self, queue: int = 0, priority: int = 3) -> None:
        """A message arrives."""
        self._sent += 1
        packet = make_packet(b"%d" % self._sent, priority=priority, message_id=self._sent)
        put(self.queues[queue], priority=priority, packet=packet)

    def wait(self, milliseconds: int) -> None:
        """Let time pass."""
        pass_time(self.manager, milliseconds)

    def call(
        self, method: str, request: Any = None, client: Reader | None = None, delay: int = 1, **values: Any
    ) -> CallResult | None:
        """Call a method, with a request or its members; None while it waits."""
        who = self.clients[0] if client is None else client
        interface, declared = METHODS[method]
        asked = declared.request.cls(**values) if request is None else request
        timers = self.manager.timers
        self.wait(max(0, who.ready - timers.now))
        begun = timers.now
        answers: list[CallResult] = []

        def done(answer: CallResult) -> None:
            ended = timers.now + delay
            who.ready = max(who.ready, ended + 1)
            answers.append(answer)
            self._keep(who, method, asked, answer, begun, ended)

        association = who.remote if interface == "qm2qm" else who.local
        self.servers[interface].serve(association, declared.opnum, asked, done)
        return answers[0] if answers else None

    def ask(self, method: str, number: int, known: dict[str, Any], values: dict[str, Any]) -> None:
        """Read from the queue of a number, or call with values, some of them names of what is known."""
        if method in (START, START2, LOOKUP):
            self.read(method, number, **values)
            return
        named = {name: value for name, value in values.items() if isinstance(value, str)}
        self.call(method, None, **values | {name: known.get(value, value) for name, value in named.items()})

    def last_granted(self) -> dict[int, list[Record]]:
        """The last call by its place, as a server answers it that does not check."""
        return {len(self.calls) - 1: granted(self.calls[-1])}

    def _keep(self, who: Reader, method: str, asked: Any, answer: CallResult, begun: int, ended: int) -> None:
        queue = self._queue(asked)
        interface = METHODS[method][0]
        self.calls.append(
            Call(
                method=method,
                request=asked,
                answer=answer,
                begun=begun,
                ended=ended,
                stream=2 * who.number + (interface == "qm2qm"),
                client=f"192.0.2.{20 + who.number}",
                queue=queue,
            )
        )
        if answer.status:
            return
        got = answer.response
        if method == "rpc_QMOpenQueueInternal" and not got.ph_queue.null:
            who.handles.append((got.ph_queue, got.pdw_qm_context))
            self._names |= {got.ph_queue.uuid: queue, ("context", got.pdw_qm_context): queue}
        elif method == "R_QMOpenRemoteQueue":
            self._names |= {("queue", got.ph_queue): queue, got.pph_context.uuid: queue}
        elif method == "RemoteQMOpenQueue":
            self._names[got.ph_context.uuid] = self._names.get(("queue", asked.h_queue), "")
            who.sessions.append((got.ph_context, asked.h_queue))
        elif method == "R_QMCreateRemoteCursor":
            who.cursors.append((asked.h_queue, got.ph_cursor))
        elif method in (START, START2, LOOKUP) and not got.pph_context.null:
            who.received.append(got.pph_context)

    def _queue(self, asked: Any) -> str | None:
        named = getattr(asked, "p_queue_format", None)
        if isinstance(named, QueueFormat):
            return None if named.format_name is None else str(named.format_name)
        for member in ("ph_queue", "h_queue", "pph_context"):
            found = getattr(asked, member, None)
            if isinstance(found, ContextHandle):
                return self._names.get(found.uuid)
        number = getattr(asked, "h_queue", None)
        descriptor = read_descriptor(asked)
        if number is None and descriptor is not None:
            number = descriptor.h_remote_queue
        if number is not None:
            return self._names.get(("queue", number))
        return self._names.get(("context", getattr(asked, "h_qm_context", None)))

    def open(
        self, access: int = 1, queue: int = 0, client: Reader | None = None, **more: Any
    ) -> tuple[ContextHandle, int]:
        """rpc_QMOpenQueueInternal: the handle and the context."""
        values: dict[str, Any] = {"dw_desired_access": access, "lplp_remote_queue_name": NULL_POINTEE} | more
        values.setdefault("p_queue_format", self.format(queue))
        self.call("rpc_QMOpenQueueInternal", None, client, **values)
        return (self.clients[0] if client is None else client).handles[-1]

    def format(self, queue: int = 0) -> QueueFormat:
        """The QUEUE_FORMAT of a queue."""
        return QueueFormat.of(FormatName.parse(f"DIRECT=OS:{self.queues[queue].pathname}"))

    def open_remote(self, access: int = 1, queue: int = 0, client: Reader | None = None) -> int:
        """R_QMOpenRemoteQueue and RemoteQMOpenQueue: the number of the queue."""
        asked: dict[str, Any] = {"p_queue_format": self.format(queue), "dw_desired_access": access}
        opened = self.call("R_QMOpenRemoteQueue", None, client, **asked)
        assert opened is not None
        assert opened.status == 0
        number: int = opened.response.ph_queue
        self.call("RemoteQMOpenQueue", None, client, h_queue=number, p_queue=number, dwp_context=number)
        return number

    def read(
        self,
        method: str,
        number: int,
        client: Reader | None = None,
        delay: int = 1,
        lookup_id: int = 0,
        **more: Any,
    ) -> CallResult | None:
        """One of the three starts of qm2qm."""
        wanted = RemoteReadDesc(**{"h_remote_queue": number, "dw_queue": number, "dw_request_id": 1} | more)
        if method == START:
            return self.call(method, None, client, delay, lp_remote_read_desc=wanted)
        second = RemoteReadDesc2(p_remote_read_desc=wanted)
        lookup = {"lookup_id": lookup_id} if method == LOOKUP else {}
        return self.call(method, None, client, delay, lp_remote_read_desc2=second, **lookup)

    def records(self, changed: dict[int, list[Record]] | None = None) -> list[list[Record]]:
        """The conversation as a capture has it; some calls by their place in ``calls`` are other records."""
        binds = [
            [bind(2 * client.number + which, 0x100 + client.number)]
            for client in self.clients
            for which in (0, 1)
        ]
        calls = [
            (call.ended, (changed or {}).get(number) or call.records())
            for number, call in enumerate(self.calls)
        ]
        return [*binds, *(one for _, one in sorted(calls, key=lambda pair: pair[0]))]

    def found(self, changed: dict[int, list[Record]] | None = None) -> list[ReplayDeviation]:
        """What a replay says of it."""
        return deviations(*self.records(changed))
