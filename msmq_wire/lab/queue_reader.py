"""Reads queues of a lab, or of whoever serves the same interfaces: RemoteRead, or qm2qm behind qmcomm.

The rule kept here: the calls and their order are those of the clients of the model; here they are made.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.faults import ConnectionFaults
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qm2qm.client import BIND, UNBIND, Qm2qmClient, answered_status
from msmq_wire.lab.model.remote_read.client import RemoteReadClient
from msmq_wire.lab.model.remote_read.client_values import OpenRemoteQueue, received_of, status_of
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.rpc.constants import AccessMode, ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import METHODS, qm2qm, qmcomm, remote_read
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.rpc.interfaces.qmcomm_queues import CloseRemoteQueueContext, OpenRemoteQueueRequest
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID

_T = TypeVar("_T")
_Steps: TypeAlias = Generator[tuple[str, Any], CallResult, _T]
_EVERYTHING = 0xFFFF_FFFF
_SEQUENTIAL = (1 << 56) - 1


class ReadMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a read: the packet with MQ_OK.

    ``sequence_id`` are the low 7 bytes of the lookup identifier; ``kind`` is how the packet is decoded.
    """

    status: int
    packet: bytes = b""
    kind: Literal["message_packet", "user_message"] = "message_packet"
    arrive_time: int = 0
    sequence_id: int | None = None


async def drive(client: RpcClient, interface: Interface, steps: _Steps[_T]) -> _T:
    """Make the calls of an operation. Errors are those of `RpcClient.call`.

    The one connection of a client is every binding handle that is asked for.
    """
    try:
        method, request = next(steps)
        while True:
            bound = method in (BIND, UNBIND)
            answer = CallResult() if bound else await client.call(interface, METHODS[method].opnum, request)
            method, request = steps.send(answer)
    except StopIteration as end:
        result: _T = end.value
        return result


class RemoteReadReader(Closing):
    """Queues of a server by RemoteRead, [MS-MQRR]; made with `connect_reader`, used as a context.

    ``calls`` makes the operations that `run` does; those that raise or return otherwise have a method here.
    """

    def __init__(self, client: RpcClient, identifier: GUID, randomness: random.Random) -> None:
        self._client = client
        self.calls = RemoteReadClient(identifier=identifier, randomness=randomness)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def open(self, format_name: str, *, receive: bool = True) -> OpenRemoteQueue:
        """Open a queue to receive from it, or to peek; `MsmqWireError` where the server refuses."""
        access = AccessMode.MQ_RECEIVE_ACCESS if receive else AccessMode.MQ_PEEK_ACCESS
        opened = await self.run(self.calls.open_queue(format_name, access))
        if opened.queue is None:
            raise _refused(format_name, opened.status)
        return opened.queue

    async def open_for_move(self, format_name: str) -> OpenRemoteQueue:
        """Open a queue to move messages into it; errors as for `open`."""
        opened = await self.run(self.calls.open_queue_for_move(format_name))
        if opened.queue is None:
            raise _refused(format_name, opened.status)
        return opened.queue

    async def peek(
        self, queue: OpenRemoteQueue, *, timeout: int = 0, cursor: int = 0, next_one: bool = False
    ) -> ReadMessage:
        """Read the first message, the one at a cursor or the one behind it; ``timeout`` in milliseconds."""
        action = ReceiveAction.MQ_ACTION_PEEK_NEXT if next_one else ReceiveAction.MQ_ACTION_PEEK_CURRENT
        return _read(await self.run(self.calls.peek(queue, action, cursor=cursor, timeout=timeout)))

    async def receive(self, queue: OpenRemoteQueue, *, timeout: int = 0) -> ReadMessage:
        """Take the first message; ``timeout`` in milliseconds."""
        return _read(await self.run(self.calls.receive(queue, timeout=timeout)))

    async def refuse(self, queue: OpenRemoteQueue, *, timeout: int = 0) -> ReadMessage:
        """Begin to receive the first message, and put it back with RR_NACK."""
        return _read(await self.run(self._refuse(queue, timeout)))

    async def close_queue(self, queue: OpenRemoteQueue) -> int:
        """Close a queue and its cursors; the status."""
        return await self.run(self.calls.close(queue))

    async def run(self, steps: _Steps[_T]) -> _T:
        """What an operation of ``calls`` comes to."""
        return await drive(self._client, remote_read.INTERFACE, steps)

    def _refuse(self, queue: OpenRemoteQueue, timeout: int) -> _Steps[Any]:
        number = self.calls.new_request_id()
        answer = yield (
            "R_StartReceive",
            remote_read.StartReceiveRequest(
                ph_context=queue.handle,
                ul_action=ReceiveAction.MQ_ACTION_RECEIVE,
                ul_timeout=timeout,
                dw_request_id=number,
                dw_max_body_size=_EVERYTHING,
                dw_max_compound_message_size=_EVERYTHING,
            ),
        )
        if status_of(answer) == Status.MQ_OK:
            yield (
                "R_EndReceive",
                remote_read.EndReceiveRequest(
                    ph_context=queue.handle, dw_ack=RemoteReadAck.RR_NACK, dw_request_id=number
                ),
            )
        return received_of(answer)


def _read(received: Any) -> ReadMessage:
    if received is None or received.packet is None:
        return ReadMessage(status=Status.MQ_ERROR if received is None else received.status)
    return ReadMessage(
        status=received.status,
        packet=received.packet,
        arrive_time=received.arrive_time,
        sequence_id=received.sequence_id & _SEQUENTIAL,
    )


def _refused(format_name: str, status: int) -> MsmqWireError:
    return MsmqWireError(f"the server does not open {format_name}: {status_name(status)}")


def status_name(status: int) -> str:
    """A status by its symbol, where it has one."""
    try:
        return Status(status & 0xFFFF_FFFF).name
    except ValueError:
        return f"{status & 0xFFFF_FFFF:#010x}"


class Qm2qmReader(Closing):
    """Queues of a server by qm2qm, [MS-MQQP], which qmcomm opens; used as a context."""

    def __init__(self, client: RpcClient, identifier: GUID) -> None:
        self._client = client
        self._identifier = identifier
        self._reads = Qm2qmClient(identifier)
        self._opened: dict[int, ContextHandle] = {}

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def open(self, format_name: str, *, receive: bool = True) -> int:
        """Open a queue to receive or to peek: its number; `MsmqWireError` where the server refuses."""
        access = AccessMode.MQ_RECEIVE_ACCESS if receive else AccessMode.MQ_PEEK_ACCESS
        request = OpenRemoteQueueRequest(
            p_queue_format=QueueFormat.of(FormatName.parse(format_name)),
            dw_desired_access=access,
            p_lic_guid=self._identifier,
        )
        answer = await self._client.call(qmcomm.INTERFACE, METHODS["R_QMOpenRemoteQueue"].opnum, request)
        if answered_status(answer) != Status.MQ_OK:
            raise _refused(format_name, answered_status(answer))
        reported = answer.response
        steps = self._reads.open_queue(reported.ph_queue, reported.dwp_queue, reported.pdw_context)
        status = await self._run(steps)
        if status != Status.MQ_OK:
            raise _refused(format_name, status)
        self._opened[reported.ph_queue] = reported.pph_context
        number: int = reported.ph_queue
        return number

    async def peek(self, queue: int, *, timeout: int = 0) -> ReadMessage:
        """Read the first message; ``timeout`` in milliseconds."""
        return _qm2qm_read(await self._run(self._reads.peek(queue, timeout)))

    async def receive(self, queue: int, *, timeout: int = 0) -> ReadMessage:
        """Take the first message; ``timeout`` in milliseconds."""
        return _qm2qm_read(await self._run(self._reads.receive(queue, timeout)))

    async def purge(self, queue: int) -> int:
        """Remove all messages; the status."""
        return await self._run(self._reads.purge(queue))

    async def close_queue(self, queue: int) -> int:
        """Close a queue; the status."""
        status = await self._run(self._reads.close_queue(queue))
        request = CloseRemoteQueueContext(pph_context=self._opened.pop(queue))
        await self._client.call(qmcomm.INTERFACE, METHODS["R_QMCloseRemoteQueueContext"].opnum, request)
        return status

    async def _run(self, steps: _Steps[_T]) -> _T:
        return await drive(self._client, qm2qm.INTERFACE, steps)


def _qm2qm_read(result: Any) -> ReadMessage:
    if result.message is None:
        return ReadMessage(status=result.status)
    return ReadMessage(
        status=result.status,
        packet=result.message.packet,
        kind="user_message",
        arrive_time=result.arrival_time,
        sequence_id=result.sequential_id,
    )


async def connect_reader(
    host: str,
    port: int,
    *,
    identifier: GUID,
    randomness: random.Random,
    capture: CaptureWriter | None = None,
    faults: ConnectionFaults | None = None,
) -> RemoteReadReader:
    """Connect to the port that the server at a port names for RemoteRead. [MS-MQRR] 3.2.4.1

    Raises `MsmqWireError` where there is no server, or none of this interface.
    """

    async def connected(at: int) -> RemoteReadReader:
        client = await RpcClient.connect(host, at, capture=capture, faults=faults)
        try:
            await client.bind(remote_read.INTERFACE)
        except MsmqWireError:
            await client.close()
            raise
        return RemoteReadReader(client, identifier, randomness)

    reader = await connected(port)
    named = await reader.run(reader.calls.get_server_port())
    if named in (0, port):
        return reader
    await reader.close()
    return await connected(named)


async def connect_qm2qm(
    host: str,
    port: int,
    *,
    identifier: GUID,
    capture: CaptureWriter | None = None,
    faults: ConnectionFaults | None = None,
) -> Qm2qmReader:
    """Connect to a server of qm2qm and qmcomm; errors as for `connect_reader`."""
    client = await RpcClient.connect(host, port, capture=capture, faults=faults)
    try:
        await client.bind(qmcomm.INTERFACE, qm2qm.INTERFACE)
    except MsmqWireError:
        await client.close()
        raise
    return Qm2qmReader(client, identifier)
