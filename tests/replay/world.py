"""A RemoteRead server of the model, its clients, and the records that a capture of them would give."""

from __future__ import annotations

from typing import Any

from msmq_wire.engines.codec import inspect
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.lab.model.remote_read.server import RemoteReadServer
from msmq_wire.reassembly.sections import join_sections
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, TransferBuffer
from msmq_wire.replay import replay
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.interfaces.remote_read import (
    CancelReceiveRequest,
    CloseCursorRequest,
    CloseQueueRequest,
    ContextRequest,
    EndReceiveRequest,
    OpenQueueRequest,
    StartReceiveRequest,
)
from msmq_wire.rpc.transfer_properties import message_properties
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import read_descriptor
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.scene import format_name, make_manager, make_queue, pass_time, put

__all__ = ["SERVER", "Observed", "World", "bind", "call_record", "deviations"]

SERVER = "192.0.2.10:2103"
_MILLISECOND = 1_000_000
_START = 1_795_000_000_000
_OWNERS = {
    one.name: {method.spec.document.removeprefix("MS-") for method in one.methods.values()} | {"RPCE"}
    for one in INTERFACES.values()
}
"""Whose rules a reply of an interface can break: those of its document, and of the RPC runtime."""
_OF_EARLIER_CALLS = (ReplayKind.TWICE, ReplayKind.REMOVED)
"""What breaks the rule of the call that took the message, of whatever interface that is."""
_METHODS = {
    method.name: (one.name, method.opnum) for one in INTERFACES.values() for method in one.methods.values()
}


def bind(stream: int, group: int) -> Record:
    """A connection is bound, in an association group."""
    packet = RpcBind(
        call_id=1,
        alter_context=False,
        answered=True,
        nak_reason=None,
        contexts=(),
        auth_type=0,
        auth_level=1,
        header_signing=False,
        account="",
        note="",
        max_xmit_frag=4280,
        max_recv_frag=4280,
        association_group=group,
        secondary_address="2103",
    )
    return Record(id=0, type="rpc_bind", stream=stream, packet=packet)


def call_record(
    method: str,
    request: Any,
    response: Any = None,
    *,
    begun: int = 0,
    ended: int = 1,
    stream: int = 1,
    client: str = "192.0.2.21",
    fault: int | None = None,
    **more: Any,
) -> list[Record]:
    """The records of a call that ran between two milliseconds, with the message that it brought.

    Ids are given by `deviations`; the message names its call as parent 0.
    """
    interface, opnum = _METHODS[method]
    values: dict[str, Any] = {
        "interface": interface,
        "opnum": opnum,
        "method": method,
        "syntax": "ndr",
        "request": request,
        "response": response,
        "status": fault if fault is not None else getattr(response, "status", None),
        "fault": fault is not None,
        "latency": (ended - begun) * _MILLISECOND,
    }
    found = Record(
        id=0,
        type="rpc_call",
        time=(_START + ended) * _MILLISECOND,
        src=f"{client}:{50000 + stream}",
        dst=SERVER,
        stream=stream,
        frames=(ended,),
        packet=RpcCall(**values | more),
    )
    buffer = getattr(response, "ptb", None)
    if isinstance(buffer, CACTransferBufferV2):
        received = message_properties(buffer, filled=not values["status"])
        packet = TransferBuffer(queue=None, properties=received)
        return [found, Record(id=0, parent=0, type="transfer_buffer", time=found.time, packet=packet)]
    sections = getattr(response, "pp_packet_sections", None)
    descriptor = read_descriptor(response)
    whole = None if descriptor is None else descriptor.lp_buffer
    if sections:
        joined = join_sections(sections)
        result = inspect(joined.data, as_="message_packet", missing=joined.missing)
    elif whole:
        result = inspect(whole, as_="user_message")
    else:
        return [found]
    return [found, Record(id=0, parent=0, type=result.type or "", time=found.time, packet=result.packet)]


def deviations(*calls: list[Record]) -> list[ReplayDeviation]:
    """What a replay says of calls, in this order."""
    records: list[Record] = []
    for call in calls:
        first = len(records) + 1
        for number, one in enumerate(call, first):
            values = {name: getattr(one, name) for name in one.__struct_fields__}
            parent = None if one.parent is None else first
            records.append(Record(**values | {"id": number, "parent": parent}))
    found = list(replay(records))
    assert [one for one in found if one.certain and one.contradiction] == []
    own = (one for one in found if one.kind not in _OF_EARLIER_CALLS)
    assert [one for one in own if one.rule.prefix not in _OWNERS[one.interface]] == []
    return found


class Observed:
    """A client and its connection. ``ready`` is when it has its last answer, in milliseconds."""

    def __init__(self, number: int, group: int) -> None:
        self.association = ClientAssociation(number=number)
        self.number = number
        self.group = group
        self.ready = 0
        self.handles: list[ContextHandle] = []
        self.cursors: list[tuple[ContextHandle, int]] = []
        self.received: list[tuple[ContextHandle, int]] = []
        self.waiting: list[tuple[ContextHandle, int]] = []


class World:
    """One server, two queues and some clients; ``calls`` are the records of a capture, by when they ended."""

    def __init__(self, clients: int = 3) -> None:
        self.manager = make_manager()
        self.queues = [make_queue(self.manager, "orders"), make_queue(self.manager, "bills")]
        self.server = RemoteReadServer(self.manager)
        self.clients = [Observed(number, 0x100 + number) for number in range(1, clients + 1)]
        self._calls: list[tuple[int, list[Record]]] = []
        self._sent = 0
        self._names: dict[GUID, str] = {}

    @property
    def now(self) -> int:
        """Milliseconds."""
        return self.manager.timers.now

    def wait(self, milliseconds: int) -> None:
        """Let time pass."""
        pass_time(self.manager, milliseconds)

    def put(self, queue: int, priority: int = 3) -> None:
        """A message arrives."""
        self._sent += 1
        put(self.queues[queue], b"%d" % self._sent, priority=priority)

    def call(self, client: Observed, method: str, request: Any, delay: int = 1) -> CallResult | None:
        """Call a method when the client has the answer to its last call; the answer takes ``delay``."""
        self.wait(max(0, client.ready - self.now))
        begun = self.now
        answers: list[CallResult] = []

        def done(answer: CallResult) -> None:
            ended = self.now + delay
            client.ready = max(client.ready, ended + 1)
            answers.append(answer)
            queue = self._queue_of(client, request)
            record = call_record(
                method,
                request,
                answer.response,
                begun=begun,
                ended=ended,
                stream=client.number,
                client=f"192.0.2.{20 + client.number}",
                fault=answer.fault,
                queue=queue,
            )
            self._calls.append((ended, record))
            self._learn(client, method, request, answer)

        if isinstance(request, StartReceiveRequest):
            client.waiting.append((request.ph_context, request.dw_request_id))
        self.server.serve(client.association, _METHODS[method][1], request, done)
        return answers[0] if answers else None

    def _queue_of(self, client: Observed, request: Any) -> str | None:
        if isinstance(request, OpenQueueRequest):
            return str(request.p_queue_format.format_name)
        handle = getattr(request, "ph_context", None) or getattr(request, "pph_context", None)
        return self._names.get(handle.uuid) if isinstance(handle, ContextHandle) else None

    def _learn(self, client: Observed, method: str, request: Any, answer: CallResult) -> None:
        if isinstance(request, StartReceiveRequest):
            client.waiting.remove((request.ph_context, request.dw_request_id))
        if answer.status:
            return
        if method == "R_OpenQueue":
            client.handles.append(answer.response.pph_context)
            self._names[answer.response.pph_context.uuid] = str(request.p_queue_format.format_name)
        elif method == "R_CreateCursor":
            client.cursors.append((request.ph_context, answer.response.ph_cursor))
        elif isinstance(request, StartReceiveRequest) and request.ul_action in (0, 0x40000020):
            client.received.append((request.ph_context, request.dw_request_id))

    def open(self, client: Observed, queue: int, access: int, delay: int = 1) -> None:
        """R_OpenQueue."""
        name = QueueFormat.of(FormatName.parse(format_name(self.queues[queue])))
        self.call(client, "R_OpenQueue", OpenQueueRequest(p_queue_format=name, dw_access=access), delay)

    def start(
        self, client: Observed, handle: ContextHandle, request_id: int = 1, delay: int = 1, **more: Any
    ) -> None:
        """R_StartReceive."""
        values = {"dw_max_body_size": 1 << 20, "dw_max_compound_message_size": 1 << 20} | more
        request = StartReceiveRequest(ph_context=handle, dw_request_id=request_id, **values)
        self.call(client, "R_StartReceive", request, delay)

    def end(self, client: Observed, handle: ContextHandle, request_id: int, ack: int, delay: int = 1) -> None:
        """R_EndReceive."""
        request = EndReceiveRequest(ph_context=handle, dw_request_id=request_id, dw_ack=ack)
        self.call(client, "R_EndReceive", request, delay)

    def cancel(self, client: Observed, handle: ContextHandle, request_id: int, delay: int = 1) -> None:
        """R_CancelReceive."""
        request = CancelReceiveRequest(ph_context=handle, dw_request_id=request_id)
        self.call(client, "R_CancelReceive", request, delay)

    def make_cursor(self, client: Observed, handle: ContextHandle) -> None:
        """R_CreateCursor."""
        self.call(client, "R_CreateCursor", ContextRequest(ph_context=handle))

    def close_cursor(self, client: Observed, handle: ContextHandle, cursor: int) -> None:
        """R_CloseCursor."""
        self.call(client, "R_CloseCursor", CloseCursorRequest(ph_context=handle, h_cursor=cursor))

    def purge(self, client: Observed, handle: ContextHandle) -> None:
        """R_PurgeQueue."""
        self.call(client, "R_PurgeQueue", ContextRequest(ph_context=handle))

    def close(self, client: Observed, handle: ContextHandle, delay: int = 1) -> None:
        """R_CloseQueue."""
        self.call(client, "R_CloseQueue", CloseQueueRequest(pph_context=handle), delay)

    def calls(self) -> list[list[Record]]:
        """The records of the conversation, as a capture has them."""
        binds = [[bind(client.number, client.group)] for client in self.clients]
        return [*binds, *(call for _, call in sorted(self._calls, key=lambda one: one[0]))]

    def deviations(self) -> list[ReplayDeviation]:
        """What a replay says of the whole conversation."""
        return deviations(*self.calls())
