"""impacket, which shares no code with us, talks to the RemoteRead server of the model; tshark reads along."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.capture.reader import read_capture
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.lab.model.interface_server import InterfaceServer
from msmq_wire.lab.model.qm2qm.server import Qm2qmServer
from msmq_wire.lab.model.qmcomm.qmcomm2 import Qmcomm2Server
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.lab.model.qmmgmt.server import QmmgmtServer
from msmq_wire.lab.model.remote_read.server import RemoteReadServer
from msmq_wire.lab.rpc_server import RpcServer
from msmq_wire.records.rpc_packets import RpcCall
from tests.lab.model.scene import make_manager, make_queue

pytestmark = pytest.mark.needs("impacket")

SCRIPT = Path(__file__).with_name("impacket_client.py")


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """What impacket was told, and the capture of it."""
    path = tmp_path_factory.mktemp("lab") / "impacket.pcap"
    return asyncio.run(talk(path, RemoteReadServer)), path


async def talk(path: Path, *servers: Callable[[ModelQueueManager], InterfaceServer]) -> dict[str, str]:
    manager = make_manager(name="lab01", start=0)
    make_queue(manager)
    clock = LoopClock(manager.timers)
    with CaptureWriter(path) as capture:
        served = [one(manager) for one in servers]
        async with RpcServer(served, clock=clock, capture=capture) as server:
            _, port = await server.listen()
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(SCRIPT),
                str(port),
                *(["inconsistent"] if len(servers) > 1 else []),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(100):
                printed, complained = await process.communicate()
            assert process.returncode == 0, complained.decode()
            while server.connections:
                await asyncio.sleep(0.005)
    clock.stop()
    assert manager.descriptors == {}
    reported: dict[str, str] = json.loads(printed)
    return reported


@pytest.mark.slow
def test_every_call_is_answered_as_the_documents_say(conversation: tuple[dict[str, str], Path]) -> None:
    said = dict(conversation[0])
    handles = {said.pop("open"), said.pop("open in ndr64")}
    assert len(handles) == 2
    assert all(len(handle) == 40 and handle.startswith("00000000") for handle in handles)
    assert len(said.pop("cursor")) == 16
    assert "abstract_syntax_not_supported" in said.pop("other interface")
    assert "0x8 - Authentication type not recognized" in said.pop("ntlm")
    assert {name: answer.strip() for name, answer in said.items()} == {
        "port": "37080000",
        "open nowhere": "fault: Unknown DCE RPC fault status code: c00e0003",
        "receive from an empty queue": "00" * 24 + "1b000ec0",
        "no opnum": "fault: nca_s_op_rng_error",
        "bad stub": "fault: rpc_x_bad_stub_data",
        "unknown handle": "fault: nca_s_fault_context_mismatch",
        "bad acknowledgment": "fault: rpc_x_bad_stub_data",
        "purge": "00000000",
        "close": "00" * 24,
        "use after close": "fault: nca_s_fault_context_mismatch",
        "in fragments": "00000000",
    }


def test_the_capture_decodes_to_the_same_calls(conversation: tuple[dict[str, str], Path]) -> None:
    records = list(read_capture(conversation[1]))
    # The stub that was wrong on purpose is the only one that does not decode.
    assert [one.error.code for one in records if one.error is not None] == ["unknown-selector"]
    assert [one.type for one in records].count("gap") == 0
    calls = [one.packet for one in records if isinstance(one.packet, RpcCall)]
    assert [(one.method, one.syntax, one.status, one.fault) for one in calls if one.method is not None] == [
        ("R_OpenQueue", "ndr", None, False),
        ("R_GetServerPort", "ndr", None, False),
        ("R_OpenQueue", "ndr", 0xC00E0003, True),
        ("R_CreateCursor", "ndr", 0, False),
        ("R_StartReceive", "ndr", 0xC00E001B, False),
        ("R_OpenQueue", "ndr", 0x6F7, True),
        ("R_CreateCursor", "ndr", 0x1C00001A, True),
        ("R_EndReceive", "ndr", 0x6F7, True),
        ("R_PurgeQueue", "ndr", 0, False),
        ("R_CloseQueue", "ndr", 0, False),
        ("R_PurgeQueue", "ndr", 0x1C00001A, True),
        ("R_QMEnlistRemoteTransaction", "ndr", 0, False),
        ("R_OpenQueue", "ndr64", None, False),
    ]
    assert [one.status for one in calls if one.method is None] == [0x1C010002]


BAD_STUB, NO_HANDLE = "fault: rpc_x_bad_stub_data", "fault: nca_s_fault_context_mismatch"
NULL_ARRAYS = {
    "qmcomm descriptor": "p_security_descriptor",
    "qmcomm name": "lpwcs_format_name",
    "qmcomm2 certificate": "ptb.old.pp_sender_cert",
    "qm2qm packet": "lp_remote_read_desc.lp_buffer",
    "qmmgmt blob": "ap_var[0].arm.p_blob_data",
}
"""Requests with a NULL pointer to an array of five bytes or characters."""
OTHERS = (
    "qmcomm large room for a name",
    "qm2qm large packet",
    "qmmgmt no property",
    "RemoteRead acknowledgment",
    "RemoteRead token",
)
"""Requests with a number outside its range, or with fewer elements than they say."""


@pytest.mark.slow
@pytest.mark.rule("MQRR-3.1.4-1", "MQMR-3.1.4-1", "MQMR-3.1.4-2", "MQMR-3.1.4.1-1", "MQMP-3.1.4-2")
def test_a_request_that_contradicts_itself_gets_one_fault_in_every_interface(tmp_path: Path) -> None:
    path = tmp_path / "inconsistent.pcap"
    servers = (RemoteReadServer, QmcommServer, Qmcomm2Server, Qm2qmServer, QmmgmtServer)
    said = asyncio.run(talk(path, *servers))
    # NULL where the size is 0, or in front of the pointer to the array, is no contradiction.
    for what in ("qmcomm no room for a name", "qmcomm2 no pointer to a certificate"):
        assert (said.pop(what).strip(), said.pop(f"{what} in ndr64").strip()) == (NO_HANDLE, NO_HANDLE)
    for what in ("qm2qm no packet", "qm2qm no packet in ndr64", "qmmgmt empty blob"):
        assert not said.pop(what).startswith("fault")
    assert {what.removesuffix(" in ndr64") for what in said} == {*NULL_ARRAYS, *OTHERS}
    assert {answer.strip() for answer in said.values()} == {BAD_STUB}
    anomalies = [one for record in read_capture(path) for one in record.anomalies]
    assert {one.path for one in anomalies if one.code == "ndr.null-array"} == {
        f"request.{member}" for member in NULL_ARRAYS.values()
    }


@pytest.mark.check
@pytest.mark.tshark
def test_tshark_sees_the_same_conversation(conversation: tuple[dict[str, str], Path]) -> None:
    def frames(condition: str) -> int:
        command = [
            "tshark",
            "-r",
            str(conversation[1]),
            "-Y",
            condition,
            "-T",
            "fields",
            "-e",
            "frame.number",
        ]
        return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    assert frames("_ws.malformed or tcp.analysis.flags") == 0
    assert frames("dcerpc.pkt_type == 3") == 6
    assert frames("dcerpc.pkt_type == 12") == 4
    assert frames("dcerpc.pkt_type == 13 and dcerpc.cn_reject_reason == 8") == 1
    assert frames("dcerpc.pkt_type == 2") == 8
