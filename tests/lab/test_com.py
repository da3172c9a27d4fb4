"""ReceiveCurrent_v1 over ORPC, for a DCOM client that is not ours. [MC-MQAC] 3.11.4.1.11"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.capture.reader import read_capture
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.server import LabServer
from tests.lab.lab_scene import ANY_PORTS, ORDERS, deviations_of, message

pytestmark = pytest.mark.needs("impacket")

ORACLE = Path(__file__).parents[1] / "oracles" / "com_client.py"
NAME = f"DIRECT=OS:lab\\{ORDERS}"
NOT_FOUND, QUEUE_NOT_FOUND, DISCONNECTED = 0xC00E0088, 0xC00E0003, 0x80010108


async def client(port: int, name: str, count: int) -> Any:
    """What impacket makes of it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ORACLE), str(port), name, str(count), stdout=-1, stderr=-1
    )
    output, complaints = await process.communicate()
    assert process.returncode == 0, complaints.decode()
    return json.loads(output)


@pytest.mark.slow
async def test_impacket_receives_messages_through_objects(tmp_path: Path) -> None:
    path = tmp_path / "com.pcap"
    found: dict[str, Any] = {}
    with CaptureWriter(path) as capture:
        async with LabServer(ANY_PORTS, capture=capture) as lab:
            port = (await lab.start()).rpc[1]
            queue = lab.manager.queue_collection[ORDERS]
            for kind in ("express", "recoverable"):
                enqueue_message(queue, message_of(message(kind, b"body")))
            found.update(await client(port, NAME, 3))
            assert len(queue.message_position_list) == 0
    assert found["receives"] == [
        {"status": 0, "label": "express message"},
        {"status": 0, "label": "recoverable message"},
        {"status": NOT_FOUND, "label": None},
    ]
    assert (found["opened"], found["another"], found["released"]) == (0, True, DISCONNECTED)
    calls = [one.packet for one in read_capture(path) if one.type == "com_call"]
    assert [one.method for one in calls if one.interface == "IMSMQQueue"] == ["ReceiveCurrent"] * 4
    assert deviations_of(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DIRECT=OS:lab\\private$\\none"])
async def test_impacket_is_told_that_a_queue_does_not_open(name: str) -> None:
    async with LabServer(ANY_PORTS) as lab:
        port = (await lab.start()).rpc[1]
        assert await client(port, name, 1) == {"opened": QUEUE_NOT_FOUND}
