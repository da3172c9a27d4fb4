"""A conversation with a RemoteRead server of the model, of which single calls can be answered otherwise."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.records.record import Record
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from tests.lab.model.scene import format_name, make_packet, make_queue, put
from tests.replay.world import Observed, World, deviations

__all__ = ["END", "END_TRANSACTIONAL", "METHODS", "START", "TRANSACTIONAL", "Talk", "otherwise", "refused"]

METHODS = next(one for one in INTERFACES.values() if one.name == "RemoteRead").methods
START, TRANSACTIONAL = "R_StartReceive", "R_StartTransactionalReceive"
END, END_TRANSACTIONAL = "R_EndReceive", "R_EndTransactionalReceive"
_REQUESTS = {method.name: method.request.cls for method in METHODS.values()}
_RESPONSES = {method.name: method.response.cls for method in METHODS.values()}
_LIMITS = {"dw_max_body_size": 1 << 20, "dw_max_compound_message_size": 1 << 20}
_WITHOUT_STATUS = ("R_OpenQueue", "R_OpenQueueForMove")
_Told = list[tuple[str, str]]


class Talk(World):
    """A conversation of two clients; the third queue is transactional."""

    def __init__(self) -> None:
        super().__init__(clients=2)
        self.queues.append(make_queue(self.manager, "paid", transactional=True))

    def taken(self, method: str, request_id: int = 1, queue: int = 0, **more: Any) -> ContextHandle:
        """A message that arrives and is received; the handle."""
        self.arrive(queue)
        handle = self.opened(queue)
        self.ask(method, ph_context=handle, dw_request_id=request_id, **more)
        return handle

    @property
    def client(self) -> Observed:
        """The first of them."""
        return self.clients[0]

    def ask(
        self, method: str, client: Observed | None = None, delay: int = 1, **values: Any
    ) -> CallResult | None:
        """Call a method with these parameters; a read has room for every message."""
        limits = _LIMITS if method in (START, TRANSACTIONAL) else {}
        request = _REQUESTS[method](**limits | values)
        return self.call(client or self.client, method, request, delay)

    def opened(self, queue: int = 0, access: int = 1, client: Observed | None = None) -> ContextHandle:
        """A handle to read from a queue."""
        who = client or self.client
        self.open(who, queue, access)
        return who.handles[-1]

    def name(self, queue: int = 0, sub: str = "") -> QueueFormat:
        """The name of a queue, or of a subqueue."""
        return QueueFormat.of(FormatName.parse(format_name(self.queues[queue]) + sub))

    def target(self, sub: str = ";sub", queue: int = 0) -> tuple[ContextHandle, int]:
        """A handle to move to, and its number."""
        answer = self.ask("R_OpenQueueForMove", p_queue_format=self.name(queue, sub), dw_access=4)
        assert answer is not None
        assert answer.response is not None
        return answer.response.pph_context, answer.response.p_move_context

    def arrive(self, queue: int = 0, priority: int = 3) -> int:
        """A message arrives that is like no other; its lookup identifier."""
        self._sent += 1
        packet = make_packet(b"%d" % self._sent, priority=priority, message_id=self._sent)
        return put(self.queues[queue], priority=priority, packet=packet).lookup_identifier

    def place(self, method: str, which: int = -1) -> int:
        """Where a call of a method stands in the capture."""
        return [number for number, call in enumerate(self.calls()) if _method(call) == method][which]

    def reported(self, changed: dict[int, list[Record]]) -> _Told:
        """Kind and rule of what is found where some calls are others, and nothing else is."""
        calls = self.calls()
        assert [(str(one.rule), one.message) for one in deviations(*calls)] == []
        found = deviations(*(changed.get(number, call) for number, call in enumerate(calls)))
        return [(str(one.kind), str(one.rule)) for one in found]

    def answered(self, method: str, which: int = -1, **changes: Any) -> _Told:
        """What is found where a call is answered otherwise."""
        place = self.place(method, which)
        return self.reported({place: otherwise(self.calls()[place], **changes)})

    def granted(self, method: str, which: int = -1) -> _Told:
        """What is found where a call is granted."""
        return self.answered(method, which, **({"status": 0} if method not in _WITHOUT_STATUS else {}))

    def brings(self, place: int, other: int) -> _Told:
        """What is found where a call brings the message of another one."""
        calls = self.calls()
        response = calls[other][0].packet.response
        return self.reported({place: [otherwise(calls[place], **_members(response))[0], *calls[other][1:]]})


def _method(call: list[Record]) -> str | None:
    return getattr(call[0].packet, "method", None)


def _members(value: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def otherwise(records: list[Record], took: int | None = None, **changes: Any) -> list[Record]:
    """A call with another answer, or one that took another time."""
    call = records[0]
    response = call.packet.response
    if response is None:
        response = _RESPONSES[call.packet.method]()
    response = msgspec.structs.replace(response, **changes)
    latency = call.packet.latency if took is None else took * 1_000_000
    packet = msgspec.structs.replace(
        call.packet,
        response=response,
        status=getattr(response, "status", None),
        fault=False,
        latency=latency,
    )
    return [msgspec.structs.replace(call, packet=packet), *records[1:]]


def refused(records: list[Record], status: int, *, fault: bool = False) -> list[Record]:
    """A call that fails with a status, or a fault."""
    call = records[0]
    response = None if fault else _RESPONSES[call.packet.method](status=status)
    packet = msgspec.structs.replace(call.packet, response=response, status=status, fault=fault)
    return [msgspec.structs.replace(call, packet=packet)]
