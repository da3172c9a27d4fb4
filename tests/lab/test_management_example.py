"""The examples of [MS-MQMR] 4, step by step, between two labs: private queues, messages, PAUSE."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.lab.management_client import connect_management
from msmq_wire.lab.model.qmmgmt.client import act
from msmq_wire.lab.server import LabServer
from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.statuses import Status
from tests.detection.diagnosis.test_questions import answers
from tests.lab.lab_scene import HOST, ORDERS, deviations_of
from tests.lab.test_neighbours import FAR, NEAR, bodies, send, until

_PRIVATE_QUEUES, _MESSAGES, _STATE = 2, 7, 11
_PUBLIC = "31ea4ab9-9264-4d60-b3b4-d1a7b9d49c2e"


def test_section_4_a_public_queue_is_asked_to_pause() -> None:
    method, request = next(act(ManagementAction.PAUSE, f"PUBLIC={_PUBLIC}"))
    queue = request.p_object_format.arm
    assert method == "R_QMMgmtAction"
    assert request.p_object_format.type == MgmtObjectType.MGMT_QUEUE
    # QUEUE_FORMAT_TYPE_PUBLIC
    assert (queue.m_qft, queue.m_suffix_and_flags, str(queue.arm)) == (1, 0, _PUBLIC)
    assert request.lpwsz_action.text.rstrip("\0") == "PAUSE"


@pytest.mark.slow
async def test_section_4_1_queues_are_listed_messages_sent_and_the_outgoing_queue_is_paused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "here.pcap"
    async with LabServer(FAR) as other:
        there = await other.start()
        async with await connect_management(HOST, there.rpc[1]) as administrator:
            listed = await administrator.get(None, [_PRIVATE_QUEUES])
        queues = listed.values[_PRIVATE_QUEUES]
        assert isinstance(queues, tuple)
        assert f"b\\{ORDERS}" in queues
        # The client makes a format name of a listed path name, and sends to it.
        name = f"DIRECT=OS:b\\{ORDERS}"
        settings = msgspec.structs.replace(NEAR, neighbours={"b": there.binary})
        with CaptureWriter(path) as capture:
            async with LabServer(settings, capture=capture) as lab:
                port = (await lab.start()).rpc[1]
                await send(port, name, b"one")
                await until(lambda: len(bodies(other, ORDERS)) == 1)
                async with await connect_management(HOST, port) as administrator:
                    assert await administrator.act(ManagementAction.PAUSE, name) == Status.MQ_OK
                    await send(port, name, b"two", b"three")
                    reported = await administrator.get(name, [_MESSAGES, _STATE])
                    # What was sent first stands there, too, until the next host acknowledges it.
                    assert reported.values[_MESSAGES] in (2, 3)
                    assert reported.values[_STATE] == "ONHOLD"
                    assert bodies(other, ORDERS) == [b"one"]
                    assert await administrator.act(ManagementAction.RESUME, name) == Status.MQ_OK
                    await until(lambda: len(bodies(other, ORDERS)) == 3)
    assert deviations_of(path) == []
    kept = answers(path)[14]
    assert any("messages" in one and "ONHOLD: it was paused" in one for one in kept.sentences)
    assert any(one.endswith(f"to RESUME DIRECT=OS:b\\{ORDERS}.") for one in kept.sentences)
