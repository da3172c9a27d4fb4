"""A message from host to host in one lab: in over qmcomm here, out over TCP 1801, into the queue there."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from msmq_wire import GUID
from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.detection import Judge
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.model.qmcomm.client.client import QmcommClient
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.lab.server import LabServer
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.lab_process import LabProcess
from tests.lab.lab_scene import ANY_PORTS, HOST, ORDERS, ORDERS_TX, deviations_of, records_of
from tests.lab.qmcomm_driver import bind_qmcomm, good, run_steps

SEND = 2
HERE, THERE = GUID(b"a" * 16), GUID(b"b" * 16)
# The captures of these labs have times of today's clock, so the labs have that clock too.
TODAY = msgspec.structs.replace(ANY_PORTS, time=None)
NEAR = msgspec.structs.replace(TODAY, computer_name="a", identifier=HERE)
FAR = msgspec.structs.replace(TODAY, computer_name="b", identifier=THERE)


async def until(happened: Callable[[], bool]) -> None:
    """Wait for something that is bound to happen."""
    async with asyncio.timeout(10):
        while not happened():
            await asyncio.sleep(0.01)


async def send(port: int, name: str, *bodies: bytes, transactional: bool = False) -> None:
    """Send messages through the host at a port, as an application does."""
    application = QmcommClient(HOST, computer_name="desk", randomness=random.Random(1))
    async with await RpcClient.connect(HOST, port) as client:
        await bind_qmcomm(client)
        assert await run_steps(client, application.get_server_port()) == port
        queue = await good(client, application.open_queue(name, SEND))
        transaction = None
        if transactional:
            transaction = await good(client, application.begin_transaction())
        for body in bodies:
            properties = MessageProperties(body=body, label=WcharText.of("from host to host"))
            await good(client, application.send(queue, properties, transaction))
        if transaction is not None:
            assert await run_steps(client, application.commit(transaction)) == 0
        assert await run_steps(client, application.close_queue(queue)) == 0


def bodies(lab: LabServer, queue: str) -> list[bytes]:
    slots = lab.manager.queue_collection[queue].message_position_list
    return [one.message_reference.properties.body for one in slots]


@pytest.mark.slow
@pytest.mark.parametrize("transactional", [False, True])
async def test_a_message_for_another_host_arrives_there_and_both_captures_keep_the_rules(
    tmp_path: Path, transactional: bool
) -> None:
    near, far = tmp_path / "near.pcap", tmp_path / "far.pcap"
    queue = ORDERS_TX if transactional else ORDERS
    events: list[LabEvent] = []
    with CaptureWriter(far) as there, CaptureWriter(near) as here:
        async with LabServer(FAR, capture=there) as other:
            where = (await other.start()).binary
            settings = msgspec.structs.replace(NEAR, neighbours={"B": where})
            async with LabServer(settings, capture=here, write=events.append) as lab:
                rpc = (await lab.start()).rpc
                name = f"DIRECT=OS:b\\{queue}"
                await send(rpc[1], name, b"one", b"two", transactional=transactional)
                await until(lambda: len(bodies(other, queue)) == 2)
                assert bodies(other, queue) == [b"one", b"two"]
                assert bodies(lab, queue) == []
                (way,) = lab.manager.outgoing_queue_collection.values()
                if transactional:
                    await until(lambda: not len(way.message_position_list))
    for path in (near, far):
        records = records_of(path)
        carried = [one for one in records if one.type == "user_message"]
        assert [one.packet.user_header.source_queue_manager for one in carried] == [HERE, HERE]
        assert [one.packet.user_header.format_name("destination_queue") for one in carried] == [
            f"DIRECT=OS:b\\{queue}"
        ] * 2
        assert deviations_of(path) == []
        judge = Judge()
        findings = [one for record in records for one in judge.feed(record)]
        findings += judge.finish()
        # Express messages are acknowledged after seconds, and the capture ends with the connection.
        assert [one.id for one in findings if one.severity != "info"] == []
    called = [one.packet.method for one in records_of(near) if one.type == "rpc_call"]
    assert called.count("rpc_ACSendMessageEx") == 2
    assert {one.fields["queue"] for one in events if one.event == "message-in"} == {f"DIRECT=OS:b\\{queue}"}


@pytest.mark.slow
async def test_what_is_sent_to_a_host_that_is_none_of_the_neighbours_waits() -> None:
    events: list[LabEvent] = []
    settings = msgspec.structs.replace(NEAR, neighbours={"b": (HOST, 9)})
    async with LabServer(settings, write=events.append) as lab:
        rpc = (await lab.start()).rpc
        await send(rpc[1], f"DIRECT=OS:c\\{ORDERS}", b"one", b"two")
        (queue,) = lab.manager.outgoing_queue_collection.values()
        assert len(queue.message_position_list) == 2
        assert lab.manager.total_bytes > 0
        lab.manager.sweep()
        assert len(lab.manager.outgoing_queue_collection) == 1
    assert [one.fields for one in events if one.event == "no-neighbour"] == [{"host": "c"}]


async def test_outgoing_queues_that_nobody_needs_are_forgotten() -> None:
    async with LabServer(FAR) as other:
        where = (await other.start()).binary
        settings = msgspec.structs.replace(NEAR, neighbours={"b": where})
        async with LabServer(settings) as lab:
            rpc = (await lab.start()).rpc
            await send(rpc[1], f"DIRECT=OS:b\\{ORDERS_TX}", b"one", transactional=True)
            (queue,) = lab.manager.outgoing_queue_collection.values()
            await until(lambda: not len(queue.message_position_list))
            lab.manager.sweep()
            assert lab.manager.outgoing_queue_collection == {}


async def test_a_neighbour_that_is_down_is_tried_again() -> None:
    events: list[LabEvent] = []
    settings = msgspec.structs.replace(NEAR, neighbours={"b": (HOST, 1)})
    async with LabServer(settings, write=events.append) as lab:
        rpc = (await lab.start()).rpc
        await send(rpc[1], f"DIRECT=OS:b\\{ORDERS}", b"one")
        await until(lambda: any(one.event == "connect-failed" for one in events))
        # [MS-MQQB] 3.1.6.1: after five seconds.
        assert lab.manager.timers.next_due is not None
        assert lab.manager.timers.next_due - lab.manager.timers.now <= 5000


@pytest.mark.slow
async def test_a_client_makes_no_outgoing_queues_without_end() -> None:
    async with LabServer(NEAR) as lab:
        rpc = (await lab.start()).rpc
        application = QmcommClient(HOST, computer_name="desk", randomness=random.Random(1), settings={})
        async with await RpcClient.connect(*rpc) as client:
            await bind_qmcomm(client)
            statuses = [
                (await run_steps(client, application.open_queue(f"DIRECT=OS:h{number}\\q", SEND))).status
                for number in range(260)
            ]
        assert statuses.count(0) == 256
        assert set(statuses[256:]) == {0xC00E0025}


@pytest.mark.slow
def test_two_servers_send_to_each_other() -> None:
    with LabProcess("--computer-name", "b") as far:
        where = f"B={HOST}:{far.ports['binary']}"
        with LabProcess("--computer-name", "a", "--neighbour", where) as near:
            asyncio.run(send(near.ports["rpc"], f"DIRECT=OS:b\\{ORDERS}", b"one"))
            while not far.so_far("message-in"):
                pass
    (arrived,) = far.named("message-in")
    (left,) = near.named("message-in")
    assert arrived["id"] == left["id"]
    assert near.complaints.count("\n") == 1
