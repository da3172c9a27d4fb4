"""Our client against our server: calls, fragments, answers in any order, handles, the end of connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.capture.reader import read_capture
from msmq_wire.errors import EncodeError, MsmqWireError
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.lab.rpc_server import RpcServer
from msmq_wire.lab.rpc_service import RpcLimits
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.interfaces import qm2qm, qmcomm, qmcomm2
from msmq_wire.rpc.interfaces import remote_read as rr
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, PortResponse, StatusResponse
from msmq_wire.rpc.ndr import NDR, NDR64, Syntax
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID
from tests.lab.conftest import REFUSED, SmallServer

RR = rr.INTERFACE
PORT, OPEN, CLOSE, CLOSE_CURSOR, PURGE, RECEIVE, ENLIST = 0, 2, 3, 5, 6, 7, 12
MISMATCH, BAD_STUB_DATA = 0x1C00001A, 0x6F7


async def connected(port: int, **options: object) -> RpcClient:
    client = await RpcClient.connect("127.0.0.1", port, **options)  # type: ignore[arg-type]  # passed on
    await client.bind(RR)
    return client


@contextlib.asynccontextmanager
async def talking(small_server: SmallServer, **options: Any) -> AsyncIterator[tuple[RpcServer, RpcClient]]:
    """A server with these options, and a client of it."""
    async with RpcServer([small_server], **options) as server:
        _, port = await server.listen()
        async with await connected(port) as client:
            yield server, client


async def opened(client: RpcClient) -> ContextHandle:
    answer = await client.call(RR, OPEN, rr.OpenQueueRequest(dw_access=1))
    handle: ContextHandle = answer.response.pph_context
    return handle


def wait(handle: ContextHandle, number: int = 1) -> rr.StartReceiveRequest:
    return rr.StartReceiveRequest(ph_context=handle, dw_request_id=number, ul_timeout=INFINITE)


@pytest.mark.slow
@pytest.mark.parametrize("syntax", [NDR, NDR64], ids=["ndr", "ndr64"])
async def test_a_call_is_answered_in_the_syntax_agreed_on(small_server: SmallServer, syntax: Syntax) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        async with await RpcClient.connect("127.0.0.1", port) as client:
            await client.bind(RR, syntaxes=(syntax,))
            assert await client.call(RR, PORT, NoParameters()) == CallResult(PortResponse(return_value=2105))
            handle = await opened(client)
            closed = await client.call(RR, CLOSE, rr.CloseQueueRequest(pph_context=handle))
            assert closed.response.pph_context.null
    assert small_server.served == ["port", "open", "close"]
    assert small_server.gone == [1]


@pytest.mark.slow
async def test_a_fault_is_an_answer_with_a_status(small_server: SmallServer) -> None:
    async with talking(small_server) as (_, client):
        answer = await client.call(RR, OPEN, rr.OpenQueueRequest(dw_access=0))
        assert answer == CallResult(fault=REFUSED)
        # The connection is as good as before.
        assert (await client.call(RR, PORT, NoParameters())).fault is None


@pytest.mark.slow
async def test_requests_and_responses_of_any_size_pass_in_fragments(small_server: SmallServer) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        async with await connected(port, fragment=1432) as client:
            handle = await opened(client)
            for size in (0, 1, 1400, 1408, 1409, 131_072):
                token = bytes(number & 0xFF for number in range(size))
                request = rr.QMEnlistRemoteTransactionRequest(
                    cb_propagation_token=size, pb_propagation_token=token
                )
                assert await client.call(RR, ENLIST, request) == CallResult(StatusResponse(status=sum(token)))
            for size in (0, 1, 1399, 3_000_000):
                answer = await client.call(
                    RR, RECEIVE, rr.StartReceiveRequest(ph_context=handle, dw_max_body_size=size)
                )
                (section,) = answer.response.pp_packet_sections
                assert section.data == bytes(size)


@pytest.mark.slow
async def test_answers_come_in_the_order_in_which_they_are_ready(small_server: SmallServer) -> None:
    clock = LoopClock(small_server.manager.timers)
    async with talking(small_server, clock=clock) as (server, client):
        handle = await opened(client)
        order: list[int] = []

        async def receive(number: int, timeout: int) -> None:
            request = rr.StartReceiveRequest(ph_context=handle, dw_request_id=number, ul_timeout=timeout)
            answer = await client.call(RR, RECEIVE, request)
            assert answer.response.p_sequence_id == number
            order.append(number)

        async with asyncio.TaskGroup() as group:
            group.create_task(receive(1, 120))
            group.create_task(receive(2, 60))
            group.create_task(receive(3, 0))
        assert order == [3, 2, 1]
        assert server.calls == 0
    clock.stop()


@pytest.mark.slow
async def test_a_handle_that_the_client_does_not_hold_is_a_fault_and_is_not_served(
    small_server: SmallServer,
) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        async with await connected(port) as one, await connected(port) as other:
            handle = await opened(one)
            for wrong in (ContextHandle(uuid=GUID(b"z" * 16)), ContextHandle()):
                assert await one.call(RR, PURGE, rr.ContextRequest(ph_context=wrong)) == CallResult(
                    fault=MISMATCH
                )
            assert await other.call(RR, PURGE, rr.ContextRequest(ph_context=handle)) == CallResult(
                fault=MISMATCH
            )
            damaged = ContextHandle(attributes=1, uuid=handle.uuid)
            assert (await one.call(RR, PURGE, rr.ContextRequest(ph_context=damaged))).fault == MISMATCH
            # NULL is for the method where the handle comes back.
            assert (await one.call(RR, CLOSE, rr.CloseQueueRequest())).fault is None
            assert small_server.served == ["open", "close"]


@pytest.mark.slow
async def test_connections_of_one_group_share_handles_and_the_last_one_runs_them_down(
    small_server: SmallServer,
) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        first = await connected(port)
        second = await RpcClient.connect("127.0.0.1", port)
        await second.bind(RR, group=first.group)
        handle = await opened(first)
        await first.close()
        answer = await second.call(RR, PURGE, rr.ContextRequest(ph_context=handle))
        assert answer == CallResult(StatusResponse(status=0))
        assert small_server.gone == []
        await second.close()
        while server.connections:
            await asyncio.sleep(0.005)
        assert small_server.gone == [first.group]
        third = await RpcClient.connect("127.0.0.1", port)
        with pytest.raises(MsmqWireError, match="reason 0"):
            await third.bind(RR, group=first.group)
        await third.close()


@pytest.mark.slow
async def test_an_interface_that_is_not_served_is_told_and_another_one_can_be_bound_then(
    small_server: SmallServer,
) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        async with await RpcClient.connect("127.0.0.1", port) as client:
            with pytest.raises(MsmqWireError, match="does not offer qm2qm"):
                await client.bind(qm2qm.INTERFACE)
            with pytest.raises(MsmqWireError, match="RemoteRead was not bound"):
                await client.call(RR, PORT, NoParameters())
            # An alter_context this time.
            await client.bind(RR)
            assert (await client.call(RR, PORT, NoParameters())).fault is None


@pytest.mark.slow
async def test_who_stops_waiting_gives_the_call_up_and_keeps_the_connection(
    small_server: SmallServer,
) -> None:
    async with talking(small_server) as (server, client):
        handle = await opened(client)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.call(RR, RECEIVE, wait(handle))
        assert (await client.call(RR, PORT, NoParameters())).fault is None
        assert client.connected
        # The model goes on with it; the answer goes nowhere.
        assert len(small_server.waiting) == 1
        assert server.calls == 1
        small_server.wake()
        assert server.calls == 0
        assert (await client.call(RR, PORT, NoParameters())).fault is None


LIMITED = {
    "R_OpenQueue": (RR, 2),
    "R_OpenQueueForMove": (RR, 11),
    "R_QMEnlistRemoteTransaction": (RR, 12),
    "RemoteQMOpenQueue": (qm2qm.INTERFACE, 2),
}


@pytest.mark.rule("MQRR-3.1.2.1-1", "MQRR-3.1.2.1-2", "MQRR-3.1.2.1-3", "CMQQP-3.2.4.1-12")
def test_the_calls_that_are_given_up_after_five_minutes_are_those_of_the_documents() -> None:
    limits = {
        method.name: (interface, opnum, method.call_timeout)
        for interface in (RR, qm2qm.INTERFACE, qmcomm.INTERFACE, qmcomm2.INTERFACE)
        for opnum, method in interface.methods.items()
        if method.call_timeout is not None
    }
    assert limits == {name: (*where, 300_000) for name, where in LIMITED.items()}


@pytest.mark.slow
@pytest.mark.rule("MQRR-3.1.2.1-1", "CMQQP-3.2.4.1-12")
async def test_a_call_that_is_not_answered_in_its_time_is_given_up_and_the_connection_kept(
    small_server: SmallServer,
) -> None:
    method = msgspec.structs.replace(RR.methods[RECEIVE], call_timeout=20)
    limited = msgspec.structs.replace(RR, methods={RECEIVE: method})
    async with talking(small_server) as (server, client):
        handle = await opened(client)
        answer = await client.call(limited, RECEIVE, wait(handle))
        assert answer == CallResult(fault=0x0000071A)
        assert (await client.call(RR, PORT, NoParameters())).fault is None
        assert len(small_server.waiting) == 1
        small_server.wake()
        assert server.calls == 0
        at_once = rr.StartReceiveRequest(ph_context=handle, dw_request_id=2)
        assert (await client.call(limited, RECEIVE, at_once)).response.p_sequence_id == 2


@pytest.mark.slow
async def test_a_cancelled_call_is_answered_nevertheless(small_server: SmallServer) -> None:
    async with talking(small_server) as (_, client):
        pending = await client.begin(RR, RECEIVE, wait(await opened(client), 7))
        client.cancel(pending)
        await client.call(RR, PORT, NoParameters())
        assert not pending.answer.done()
        small_server.wake()
        assert (await pending.answer).response.p_sequence_id == 7


@pytest.mark.slow
async def test_who_waits_is_told_when_the_connection_ends(small_server: SmallServer) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        client = await connected(port)
        handle = await opened(client)
        pending = [await client.begin(RR, RECEIVE, wait(handle, number)) for number in range(3)]
        client.abort()
        for one in pending:
            with pytest.raises(MsmqWireError, match="connection ended"):
                await one.answer
        assert not client.connected
        with pytest.raises(MsmqWireError, match="connection ended"):
            await client.call(RR, PORT, NoParameters())
        await client.close()
        while server.connections:
            await asyncio.sleep(0.005)
        assert small_server.gone == [1]
        assert server.calls == 0
        # What the model says later is too late.
        small_server.wake()


@pytest.mark.slow
async def test_a_server_that_ends_tells_its_clients(small_server: SmallServer) -> None:
    server = RpcServer([small_server])
    _, port = await server.listen()
    client = await connected(port)
    pending = await client.begin(RR, RECEIVE, wait(await opened(client)))
    await server.close()
    with pytest.raises(MsmqWireError, match="shuts down"):
        await pending.answer
    assert small_server.gone == [1]
    assert server.connections == 0
    await client.close()
    with pytest.raises(MsmqWireError, match="cannot connect"):
        await RpcClient.connect("127.0.0.1", port)


@pytest.mark.slow
async def test_what_is_out_of_the_range_of_the_interface_is_not_served(small_server: SmallServer) -> None:
    async with talking(small_server) as (_, client):
        handle = await opened(client)
        request = rr.EndReceiveRequest(ph_context=handle, dw_ack=3)
        small_server.r_end_receive = None  # type: ignore[attr-defined]  # never called
        assert await client.call(RR, 9, request) == CallResult(fault=BAD_STUB_DATA)


def test_an_answer_that_cannot_be_encoded_is_a_fault_and_a_complaint(small_server: SmallServer) -> None:
    complaints: list[BaseException] = []

    async def talk() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, reported: complaints.append(reported["exception"])
        )
        async with talking(small_server) as (_, client):
            request = rr.CloseCursorRequest(ph_context=await opened(client))
            assert await client.call(RR, CLOSE_CURSOR, request) == CallResult(fault=0x1C000012)

    asyncio.run(talk())
    (complaint,) = complaints
    assert isinstance(complaint, EncodeError)


# R_StartReceive, [MS-MQRR] 3.1.4.7: SectionSize and SectionSizeAlloc are 5, pSectionBuffer is NULL.
_NULL_WITH_A_SIZE = bytes.fromhex(
    "01000000 00000000 0200000000000000 01000000 00000200"
    "01000000 00000000 05000000 05000000 00000000 00000000"
)


@pytest.mark.slow
async def test_an_answer_with_null_for_an_array_that_has_a_size_is_refused(
    small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        async with await RpcClient.connect("127.0.0.1", port) as client:
            await client.bind(RR, syntaxes=(NDR,))
            request = rr.StartReceiveRequest(ph_context=await opened(client), dw_request_id=1)
            monkeypatch.setattr("msmq_wire.lab.rpc_calls.encode_stub", lambda *_: _NULL_WITH_A_SIZE)
            with pytest.raises(MsmqWireError, match="the answer to R_StartReceive breaks NDR: "):
                await client.call(RR, RECEIVE, request)


@pytest.mark.slow
async def test_nack_answers_with_a_failure_and_serves_nothing(small_server: SmallServer) -> None:
    async with talking(small_server, faults=FaultPlan(nack=1.0)) as (_, client):
        request = rr.QMEnlistRemoteTransactionRequest()
        assert (await client.call(RR, ENLIST, request)).status == 0xC00E0027
        assert await client.call(RR, OPEN, rr.OpenQueueRequest(dw_access=1)) == CallResult(fault=0xC00E0027)
    assert small_server.served == []


@pytest.mark.slow
@pytest.mark.parametrize("plan", [FaultPlan(drop=1.0), FaultPlan(cut=1.0)], ids=["drop", "cut"])
async def test_a_connection_that_breaks_inside_an_answer_is_told(
    small_server: SmallServer, plan: FaultPlan
) -> None:
    async with RpcServer([small_server], faults=plan, seed=5) as server:
        _, port = await server.listen()
        client = await RpcClient.connect("127.0.0.1", port)
        with pytest.raises(MsmqWireError, match="connection ended"):
            await client.bind(RR)
        await client.close()


@pytest.mark.slow
async def test_a_duplicated_request_is_served_twice_and_answered_once(small_server: SmallServer) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        faults = FaultPlan(duplicate=1.0).connection(1)
        async with await connected(port, faults=faults) as client:
            answer = await client.call(RR, PORT, NoParameters())
            assert answer == CallResult(PortResponse(return_value=2105))
            while server.calls or small_server.served != ["port", "port"]:
                await asyncio.sleep(0.005)


@pytest.mark.slow
async def test_a_client_that_loses_its_connections_gets_through_in_the_end(small_server: SmallServer) -> None:
    plan = FaultPlan(drop=0.2, cut=0.2)
    async with RpcServer([small_server], faults=plan, seed=1) as server:
        _, port = await server.listen()
        answered, attempts = 0, 0
        while answered < 20:
            attempts += 1
            faults = plan.connection("client", attempts)
            async with await RpcClient.connect("127.0.0.1", port, faults=faults) as client:
                with contextlib.suppress(MsmqWireError):
                    await client.bind(RR)
                    assert (await client.call(RR, PORT, NoParameters())).fault is None
                    answered += 1
        assert attempts > 20
        while server.connections:
            await asyncio.sleep(0.005)
        assert server.calls == 0
        assert len(small_server.gone) <= attempts


@pytest.mark.slow
async def test_both_sides_capture_the_same_conversation(small_server: SmallServer, tmp_path: Path) -> None:
    with (
        CaptureWriter(tmp_path / "server.pcap") as served,
        CaptureWriter(tmp_path / "client.pcap") as asked,
    ):
        async with RpcServer([small_server], capture=served) as server:
            _, port = await server.listen()
            async with await connected(port, capture=asked) as client:
                handle = await opened(client)
                request = rr.StartReceiveRequest(ph_context=handle, dw_max_body_size=20_000)
                await client.call(RR, RECEIVE, request)
                await client.call(RR, CLOSE, rr.CloseQueueRequest(pph_context=handle))
    calls = [
        [
            (one.packet.method, one.packet.status, one.src, one.dst)
            for one in read_capture(tmp_path / name)
            if isinstance(one.packet, RpcCall)
        ]
        for name in ("server.pcap", "client.pcap")
    ]
    assert calls[0] == calls[1]
    assert [call[0] for call in calls[0]] == ["R_OpenQueue", "R_StartReceive", "R_CloseQueue"]


@pytest.mark.slow
async def test_delayed_answers_arrive_in_order(small_server: SmallServer) -> None:
    async with talking(small_server, faults=FaultPlan(delay=0.02)) as (_, client):
        answers = [await client.begin(RR, PORT, NoParameters()) for _ in range(20)]
        for one in answers:
            assert (await one.answer).response.return_value == 2105


@pytest.mark.slow
async def test_two_hundred_clients_at_once_are_all_served(small_server: SmallServer) -> None:
    async with RpcServer([small_server], limits=RpcLimits(connections=200)) as server:
        _, port = await server.listen()

        async def visit() -> None:
            async with await connected(port) as client:
                handle = await opened(client)
                meeting.append(1)
                while len(meeting) < 200:
                    await asyncio.sleep(0.01)
                purged = await client.call(RR, PURGE, rr.ContextRequest(ph_context=handle))
                assert purged == CallResult(StatusResponse(status=0))

        meeting: list[int] = []
        async with asyncio.TaskGroup() as group:
            for _ in range(200):
                group.create_task(visit())
        while server.connections:
            await asyncio.sleep(0.005)
        assert sorted(small_server.gone) == list(range(1, 201))
