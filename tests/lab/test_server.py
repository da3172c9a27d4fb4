"""The lab as a whole: impacket reads its queues, captures are read back, replay tells right from wrong."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from msmq_wire import GUID
from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.engines.codec import decode
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.binary_client import BinaryClient
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.http_client import HttpClient
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.lab.model.data.enumerations import PositionState, QueueAccessType
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.interface_server import ServerCall
from msmq_wire.lab.model.remote_read.pending import QueueContext
from msmq_wire.lab.model.remote_read.server import RemoteReadServer
from msmq_wire.lab.queue_reader import connect_qm2qm, connect_reader
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.lab.server import LabServer, raise_file_limit
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import remote_read as rr
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.srmp.building import build_srmp
from msmq_wire.wire.names import FormatName
from tests.lab.conftest import Run
from tests.lab.lab_process import LabProcess
from tests.lab.lab_scene import (
    ANY_PORTS,
    HOST,
    ORDERS,
    QUIET,
    client_manager,
    deviations_of,
    message,
    messages,
    records_of,
)
from tests.needs import need

ORACLE = Path(__file__).parents[1] / "oracles" / "lab_client.py"
READER = GUID(b"r" * 16)
NAME = f"DIRECT=OS:lab\\{ORDERS}"


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path, LabProcess]:
    """What impacket was told by a server in another process, the capture of it, and the server."""
    need("impacket")
    path = tmp_path_factory.mktemp("lab") / "impacket.pcap"
    with LabProcess("--capture", str(path)) as server:
        asyncio.run(fill(server.ports["binary"]))
        ran = subprocess.run(
            [sys.executable, str(ORACLE), str(server.ports["rpc"])],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), path, server


async def fill(port: int) -> None:
    async with BinaryClient(client_manager(), HOST, port, log=QUIET, window_size=2) as client:
        await client.send(messages("express", 6))


@pytest.mark.slow
def test_impacket_peeks_receives_moves_cancels_and_purges(
    conversation: tuple[dict[str, Any], Path, LabProcess],
) -> None:
    said, _, server = conversation
    assert said == {
        "port": server.ports["rpc"],
        "peek": ["0x00000000", 1, 1, "body 0"],
        "peek next": ["0x00000000", 2, 1, "body 1"],
        "receive without access": "0xc00e0006",
        "close cursor": "0x00000000",
        "receive": ["0x00000000", 1, 1, "body 0"],
        "nack": "0x00000000",
        "receive again": ["0x00000000", 1, 1, "body 0"],
        "ack": "0x00000000",
        "ack again": "0xc00e0007",
        "move": "0x00000000",
        "receive what was moved": True,
        "ack what was moved": "0x00000000",
        "purge": "0x00000000",
        "receive from an empty queue": "0xc00e001b",
        "cancelled and cancel": ["0xc00e0008", "0x00000000"],
        "close": "0x00000000",
        "purge after close": "fault: nca_s_fault_context_mismatch ",
    }


@pytest.mark.slow
def test_the_capture_holds_every_call_and_every_message(
    conversation: tuple[dict[str, Any], Path, LabProcess],
) -> None:
    _, path, server = conversation
    records = records_of(path)
    calls = [record.packet for record in records if isinstance(record.packet, RpcCall)]
    logged = [one["method"] for one in server.named("rpc-call")]
    # The last call names a handle that the client does not hold: it never reaches the interface.
    assert sorted(call.method for call in calls if call.method) == sorted([*logged, "R_PurgeQueue"])
    assert sum(record.type == "user_message" for record in records) == len(server.named("message-in")) == 6
    assert sum(record.type == "message_packet" for record in records) == 6
    assert [anomaly.code for record in records for anomaly in record.anomalies] == []
    for packet in (record.packet for record in records if record.type == "message_packet"):
        overlay, extended = packet.user_header.queue_manager_address, packet.extended_address_header
        assert (overlay.address_length, overlay.address_type, overlay.address_scope) == (4, 1, 0)
        assert overlay.address == bytes((127, 0, 0, 1, 0, 0, 0, 0))
        assert (extended.address_type, extended.address) == (1, bytes((127, 0, 0, 1)) + bytes(12))
        assert packet.extension_header.flags == 0x12
    assert [record.error for record in records if record.error] == []


@pytest.mark.slow
def test_replay_finds_nothing_wrong(conversation: tuple[dict[str, Any], Path, LabProcess]) -> None:
    assert deviations_of(conversation[1]) == []


def test_the_server_ends_clean_and_says_what_it_is(
    conversation: tuple[dict[str, Any], Path, LabProcess],
) -> None:
    server = conversation[2]
    assert server.status == 0
    assert "not a production queue manager" in server.complaints
    assert server.complaints.count("\n") == 1


@pytest.mark.slow
def test_qm2qm_and_remote_read_give_the_same_messages(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "both.pcap"

    async def talk() -> None:
        with CaptureWriter(path) as capture:
            async with LabServer(ANY_PORTS, capture=capture) as lab:
                services = await lab.start()
                put(lab.manager, 4)
                async with await connect_qm2qm(*services.rpc, identifier=READER) as old:
                    number = await old.open(NAME)
                    seen = await old.peek(number)
                    taken = await old.receive(number)
                    assert seen.packet == taken.packet
                    assert await old.close_queue(number) == 0
                async with await connect_reader(
                    *services.rpc, identifier=READER, randomness=random.Random(1)
                ) as reader:
                    assert await reader.run(reader.calls.get_server_port()) == services.rpc[1]
                    opened = await reader.open(NAME)
                    refused = await reader.refuse(opened)
                    taken = await reader.receive(opened)
                    assert taken.sequence_id == refused.sequence_id == 2
                    body = decode(taken.packet, "message_packet").message_properties_header.message_body
                    assert body == b"body 1"
                    assert await reader.close_queue(opened) == 0
                    with pytest.raises(MsmqWireError, match="MQ_ERROR_QUEUE_NOT_FOUND"):
                        await reader.open("DIRECT=OS:lab\\private$\\nowhere")
        assert len(lab.manager.queue_collection[ORDERS].message_position_list) == 2

    run(talk())
    assert deviations_of(path) == []


@pytest.mark.slow
@pytest.mark.rule("MQRR-3.1.4.1-3", "MQQP-3.1.4.8-9", "MQMP-3.1.4.24-8")
def test_where_the_port_of_rpc_is_in_use_the_next_one_is_11_further_on(run: Run) -> None:
    async def talk() -> None:
        async with LabServer(ANY_PORTS) as first:
            taken = (await first.start()).rpc[1]
            settings = msgspec.structs.replace(ANY_PORTS, rpc_port=taken)
            async with LabServer(settings) as second, LabServer(settings) as third:
                ports = [(await one.start()).rpc[1] for one in (second, third)]
                assert [divmod(port - taken, 11)[1] for port in ports] == [0, 0]
                assert taken < ports[0] < ports[1]
                async with await connect_reader(
                    HOST, ports[1], identifier=READER, randomness=random.Random(1)
                ) as reader:
                    assert await reader.run(reader.calls.get_server_port()) == ports[1]

    run(talk())


@pytest.mark.slow
async def test_a_port_that_cannot_be_served_for_another_reason_is_told() -> None:
    async with LabServer(msgspec.structs.replace(ANY_PORTS, host="192.0.2.1")) as lab:
        with pytest.raises(MsmqWireError, match=r"cannot serve 192\.0\.2\.1 port 0"):
            await lab.start()


@pytest.mark.slow
async def test_an_srmp_post_is_in_its_queue_once_and_is_read_as_it_came(tmp_path: Path) -> None:
    path = tmp_path / "srmp.pcap"
    events: list[LabEvent] = []
    with CaptureWriter(path) as capture:
        async with LabServer(ANY_PORTS, capture=capture, write=events.append) as lab:
            services = await lab.start()
            async with HttpClient(*services.http) as client:
                for queue in ("orders", "orders"):
                    assert (await client.request(post(queue))).status == 200
                for queue in ("none", "orders_tx"):
                    assert (await client.request(post(queue))).status == 400
                answer = await client.request(b"GET /queues HTTP/1.1\r\nHost: lab\r\n\r\n", "GET")
                rows = {row["queue"]: row["messages"] for row in json.loads(answer.body)}
                assert rows[ORDERS] == 1
            async with await connect_reader(
                *services.rpc, identifier=READER, randomness=random.Random(1)
            ) as reader:
                opened = await reader.open(NAME)
                taken = await reader.receive(opened)
                packet = decode(taken.packet, "message_packet")
                assert packet.compound_message_header.data == post("orders")
                assert packet.compound_message_header.message_body == b"by post"
                await reader.close_queue(opened)
    assert [one.fields["status"] for one in events if one.event == "srmp-post"] == [200, 200, 400, 400]
    found = [record.type for record in records_of(path)]
    assert found.count("srmp_message") == 5
    assert deviations_of(path) == []


def post(queue: str, number: int = 9) -> bytes:
    return build_srmp(
        f"http://lab/msmq/private$/{queue}",
        b"by post",
        source_qm_guid=UUID(int=7),
        message_number=number,
        sent_at=1_700_000_000,
        label="posted",
    )


@pytest.mark.slow
async def test_faults_refuse_what_could_have_been_done() -> None:
    settings = msgspec.structs.replace(ANY_PORTS, faults=FaultPlan(nack=1.0))
    async with LabServer(settings) as lab:
        services = await lab.start()
        async with HttpClient(*services.http) as client:
            assert (await client.request(post("orders"))).status == 500
        async with BinaryClient(client_manager(), *services.binary, log=QUIET) as sender:
            with pytest.raises(MsmqWireError, match=r"opens no session: .*; 1 message was not ack"):
                await sender.send(messages("express", 1), patience=0.5)
    assert len(lab.manager.queue_collection[ORDERS].message_position_list) == 0


@pytest.mark.slow
async def test_a_port_that_is_taken_is_told_and_leaves_nothing_behind() -> None:
    async with LabServer(ANY_PORTS) as lab:
        services = await lab.start()
        second = LabServer(msgspec.structs.replace(ANY_PORTS, http_port=services.http[1]))
        async with second:
            with pytest.raises(MsmqWireError, match=f"cannot serve 127.0.0.1 port {services.http[1]}"):
                await second.start()


@pytest.mark.parametrize("names", [("private$\\a", "private$\\A"), ("no\nname",), ("",)])
def test_queues_that_cannot_be_made_are_told(names: tuple[str, ...]) -> None:
    with pytest.raises(MsmqWireError, match=r"is there twice|is no name of a queue"):
        LabServer(msgspec.structs.replace(ANY_PORTS, queues=names))


def test_the_limit_of_open_files_is_raised_once() -> None:
    raise_file_limit()
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft >= min(4096, hard)
    raise_file_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)


def put(manager: ModelQueueManager, count: int) -> None:
    """Messages in the queue; the body of each is 6 bytes."""
    for number in range(count):
        packet = message("express", b"body %d" % number, ORDERS)
        assert enqueue_message(manager.queue_collection[ORDERS], message_of(packet)) == 0


class Honest(RemoteReadServer):
    """The server of the model; each of its subclasses breaks one rule."""

    def opened(self, call: ServerCall, request: Any) -> Any:
        """The descriptor that a request names."""
        return call.association.thing(request.ph_context, QueueContext).descriptor


class LetsPeekersReceive(Honest):
    def r_start_receive(self, call: ServerCall, request: rr.StartReceiveRequest) -> None:
        descriptor = self.opened(call, request)
        before, descriptor.access_type = descriptor.access_type, QueueAccessType.RECEIVE_ACCESS
        super().r_start_receive(call, request)
        descriptor.access_type = before


class LetsPeekersPurge(Honest):
    def r_purge_queue(self, call: ServerCall, request: rr.ContextRequest) -> None:
        descriptor = self.opened(call, request)
        before, descriptor.access_type = descriptor.access_type, QueueAccessType.RECEIVE_ACCESS
        super().r_purge_queue(call, request)
        descriptor.access_type = before


class GivesToTwoReaders(Honest):
    def r_start_receive(self, call: ServerCall, request: rr.StartReceiveRequest) -> None:
        super().r_start_receive(call, request)
        queue = self.opened(call, request).queue_reference
        for position in queue.message_position_list:
            position.state = PositionState.AVAILABLE


class DeliversTwice(Honest):
    def r_end_receive(self, call: ServerCall, request: rr.EndReceiveRequest) -> None:
        super().r_end_receive(call, msgspec.structs.replace(request, dw_ack=RemoteReadAck.RR_NACK))


class EndsWhatWasNeverBegun(Honest):
    def r_end_receive(self, call: ServerCall, request: rr.EndReceiveRequest) -> None:
        super().r_end_receive(
            ServerCall(association=call.association, method=call.method, done=print), request
        )
        call.reply(StatusResponse(status=Status.MQ_OK))


class TakesARequestTwice(Honest):
    def _in_use(self, context: QueueContext, request_id: int) -> bool:
        return False


class SendsTooMuch(Honest):
    def r_start_receive(self, call: ServerCall, request: rr.StartReceiveRequest) -> None:
        super().r_start_receive(call, msgspec.structs.replace(request, dw_max_body_size=1 << 20))


class CancelsWhatWasAnswered(Honest):
    def r_cancel_receive(self, call: ServerCall, request: rr.CancelReceiveRequest) -> None:
        call.reply(StatusResponse(status=Status.MQ_OK))


class TakesAnyCursor(Honest):
    def r_start_receive(self, call: ServerCall, request: rr.StartReceiveRequest) -> None:
        super().r_start_receive(call, msgspec.structs.replace(request, h_cursor=0))


class TakesAnyAction(Honest):
    def r_start_receive(self, call: ServerCall, request: rr.StartReceiveRequest) -> None:
        peek = ReceiveAction.MQ_ACTION_PEEK_CURRENT
        action = peek if request.ul_action == _NO_ACTION else request.ul_action
        super().r_start_receive(call, msgspec.structs.replace(request, ul_action=action))


class LooksUpAnother(Honest):
    def r_start_receive(self, call: ServerCall, request: rr.StartReceiveRequest) -> None:
        lookup = request.lookup_id and request.lookup_id + 1
        super().r_start_receive(call, msgspec.structs.replace(request, lookup_id=lookup))


class NamesAnotherStatus(Honest):
    def r_purge_queue(self, call: ServerCall, request: rr.ContextRequest) -> None:
        call.reply(StatusResponse(status=1))


class KeepsClosedHandles(Honest):
    def r_close_queue(self, call: ServerCall, request: rr.CloseQueueRequest) -> None:
        call.reply(rr.CloseQueueResponse())


_NO_ACTION = 7
_WRONG: dict[type[Honest], str] = {
    LetsPeekersReceive: "access",
    LetsPeekersPurge: "purge",
    GivesToTwoReaders: "twice",
    DeliversTwice: "gone",
    EndsWhatWasNeverBegun: "end",
    TakesARequestTwice: "reqid",
    SendsTooMuch: "size",
    CancelsWhatWasAnswered: "cancel",
    TakesAnyCursor: "cursor",
    TakesAnyAction: "action",
    LooksUpAnother: "lookup",
    NamesAnotherStatus: "status",
    KeepsClosedHandles: "handle",
}


async def ask_everything(client: RpcClient) -> None:
    """A conversation in which each rule is asked about once."""

    async def call(opnum: int, request: Any) -> Any:
        return (await client.call(rr.INTERFACE, opnum, request)).response

    def opening(access: int) -> rr.OpenQueueRequest:
        name = QueueFormat.of(FormatName.parse(NAME))
        return rr.OpenQueueRequest(p_queue_format=name, dw_access=access, p_client_id=READER, major=6)

    def start(handle: Any, number: int, **changes: Any) -> rr.StartReceiveRequest:
        request = rr.StartReceiveRequest(
            ph_context=handle,
            dw_request_id=number,
            dw_max_body_size=1 << 20,
            dw_max_compound_message_size=1 << 20,
        )
        changed: rr.StartReceiveRequest = msgspec.structs.replace(request, **changes)
        return changed

    def end(handle: Any, number: int, ack: int = RemoteReadAck.RR_ACK) -> rr.EndReceiveRequest:
        return rr.EndReceiveRequest(ph_context=handle, dw_ack=ack, dw_request_id=number)

    peeking = (await call(2, opening(0x20))).pph_context
    await call(7, start(peeking, 1))
    await call(6, rr.ContextRequest(ph_context=peeking))
    handle = (await call(2, opening(1))).pph_context
    peek = ReceiveAction.MQ_ACTION_PEEK_CURRENT
    await call(7, start(handle, 1, ul_action=peek, dw_max_body_size=3))
    await call(7, start(handle, 2))
    await call(7, start(handle, 2))
    await call(9, end(handle, 2))
    await call(9, end(handle, 2))
    await call(7, start(handle, 3))
    await call(7, start(handle, 8))
    await call(8, rr.CancelReceiveRequest(ph_context=handle, dw_request_id=3))
    await call(9, end(handle, 8, RemoteReadAck.RR_NACK))
    await call(9, end(handle, 3, RemoteReadAck.RR_NACK))
    await call(7, start(handle, 4, ul_action=peek, h_cursor=77))
    await call(7, start(handle, 5, ul_action=_NO_ACTION))
    lookup = ReceiveAction.MQ_LOOKUP_PEEK_CURRENT
    await call(7, start(handle, 6, ul_action=lookup, lookup_id=3))
    await call(8, rr.CancelReceiveRequest(ph_context=handle, dw_request_id=99))
    await call(6, rr.ContextRequest(ph_context=handle))
    await call(3, rr.CloseQueueRequest(pph_context=handle))
    await call(4, rr.ContextRequest(ph_context=handle))


async def judged(
    path: Path, server: Callable[[ModelQueueManager], RemoteReadServer]
) -> list[tuple[str, str]]:
    with CaptureWriter(path) as capture:
        async with LabServer(ANY_PORTS, capture=capture, interfaces=lambda one: [server(one)]) as lab:
            services = await lab.start()
            put(lab.manager, 5)
            async with await RpcClient.connect(*services.rpc) as client:
                await client.bind(rr.INTERFACE)
                await ask_everything(client)
    return [(one.kind, one.spec.section) for one in deviations_of(path)]


def test_an_honest_server_breaks_no_rule(tmp_path: Path) -> None:
    assert asyncio.run(judged(tmp_path / "honest.pcap", Honest)) == []


@pytest.mark.parametrize("server", _WRONG, ids=lambda server: server.__name__)
def test_a_server_that_breaks_one_rule_is_caught(tmp_path: Path, server: type[Honest]) -> None:
    found = asyncio.run(judged(tmp_path / "wrong.pcap", server))
    kinds = [kind for kind, _ in found]
    assert _WRONG[server] in kinds
    assert all(section.startswith("3.1.4") for _, section in found)
