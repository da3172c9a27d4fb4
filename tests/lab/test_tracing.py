"""A traced message from host to host: [MS-MQQB] 3.1.5.8.9, 3.1.7.1.7. All texts are written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.record_lab import TRACED, record_traced
from msmq_wire import GUID, build_message
from msmq_wire.capture.reader import read_capture
from msmq_wire.lab.binary_client import BinaryClient
from msmq_wire.lab.model.qmcomm.sent_message import user_message_of
from msmq_wire.lab.server import LabServer
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.packets.user_message import UserMessage
from tests.lab.lab_scene import ANY_PORTS, QUIET, client_manager
from tests.lab.model.scene import make_manager

A, B, C = "192.0.2.10", "192.0.2.11", "192.0.2.12"
REPORTS = GUID.parse("e5a0c3d7-91b4-4f6e-8a2d-3c5b7f9e1d60")
# A lab with neighbours counts its messages from the seconds since 1970: 1,795,166,047 is 0x6B000F5F.
RECEIVED = (
    "<MESSAGE ID>6B000F60</MESSAGE ID>\r\n"
    "<TARGET QUEUE>PRIVATE=C277E190-3D6A-4C4B-8D05-F21B9AC83E44\\00000001</TARGET QUEUE>\r\n"
)
TO_B = f"{RECEIVED}<NEXT HOP>192.0.2.11</NEXT HOP>\r\n<HOP COUNT>00 </HOP COUNT>\r\n"
TO_C = f"{RECEIVED}<NEXT HOP>192.0.2.12</NEXT HOP>\r\n<HOP COUNT>01 </HOP COUNT>\r\n"
BY_A = "A07E:6B000F60:00 received by A07E4F31-3D6A-4C4B-8D05-F21B9AC83E44 at 09:14:07 AM Fri,Nov 20 26"
BY_B = "A07E:6B000F60:01 received by B1C95D02-3D6A-4C4B-8D05-F21B9AC83E44 at 09:14:07 AM Fri,Nov 20 26"
BY_C = "A07E:6B000F60:01 received by C277E190-3D6A-4C4B-8D05-F21B9AC83E44 at 09:14:07 AM Fri,Nov 20 26"


def hops_of(path: Path) -> list[tuple[str, str, int, str, str]]:
    """Each user message: its hosts, RC, and the label and body of a report."""
    found = []
    for record in read_capture(path, type="user_message"):
        packet: Any = record.packet
        properties = packet.message_properties_header
        report = properties.message_class == 1
        label = properties.label.text
        body = properties.message_body.decode("utf-16-le") if report else ""
        ends = [str(end).partition(":")[0] for end in (record.src, record.dst)]
        found.append((ends[0], ends[1], packet.user_header.bit("rc"), label, body))
    return found


def test_the_path_of_a_traced_message_is_reported_hop_by_hop(tmp_path: Path) -> None:
    record_traced(tmp_path)
    traced = [(A, B, 0, "traced order", ""), (B, C, 1, "traced order", "")]
    by_b = [(B, A, 0, BY_B, RECEIVED), (B, A, 0, BY_B, TO_C)]
    by_c = [(C, B, 0, BY_C, RECEIVED), (B, A, 1, BY_C, RECEIVED)]
    assert hops_of(tmp_path / "lab_traced.pcap") == [*traced, *by_b, *by_c]
    assert hops_of(tmp_path / "lab_traced_at_sender.pcap") == [traced[0], *by_b, by_c[1]]


def test_the_sender_reports_to_its_own_queue(tmp_path: Path) -> None:
    labels = record_traced(tmp_path)["lab_traced"]
    assert sorted(labels) == sorted([(BY_A, TO_B), (BY_B, RECEIVED), (BY_B, TO_C), (BY_C, RECEIVED)])
    assert set(TRACED) == {"lab_traced", "lab_traced_at_sender"}


def sent(**properties: Any) -> UserMessage:
    """What an application sends."""
    manager = make_manager()
    manager.report_queue = properties.pop("report_queue", manager.report_queue)
    manager.public_queue_owners = properties.pop("owners", {})
    name = ObjectId(lineage=manager.identifier, uniquifier=7)
    given = {"destination_queue_format_name": "DIRECT=OS:b\\private$\\orders", **properties}
    return user_message_of(MessageProperties(identifier=name, **given), manager)


@pytest.mark.rule("MQDMPR-3.1.7.1.30-5")
def test_ptrace_has_a_message_traced() -> None:
    packet = sent(tracing_requested=True, report_queue=REPORTS)
    # [MS-MQMQ] 2.2.19.1: priority 3, DH 0x0020, TR 0x0100.
    assert packet.base_header.flags == 0x0123
    assert packet.debug_header == DebugHeader(flags=1, queue_identifier=REPORTS)
    assert sent(report_queue=REPORTS).base_header.flags == 0x0003


def test_ptrace_without_a_report_queue_names_none() -> None:
    packet = sent(tracing_requested=True)
    assert (packet.base_header.flags, packet.debug_header) == (0x0123, DebugHeader(flags=0))


def test_a_public_queue_elsewhere_is_sent_to_its_queue_manager() -> None:
    owner = GUID(b"b" * 16)
    name = f"PUBLIC={REPORTS}"
    assert sent(destination_queue_format_name=name).user_header.queue_manager_address != owner
    packet = sent(destination_queue_format_name=name, owners={REPORTS: owner})
    assert packet.user_header.queue_manager_address == owner


@pytest.mark.slow
async def test_a_client_reports_to_the_server_and_counts_its_messages_only() -> None:
    settings = msgspec.structs.replace(ANY_PORTS, public_queues={REPORTS: "reports"})
    traced = build_message("DIRECT=OS:lab\\private$\\orders", report_queue=REPORTS)
    async with LabServer(settings) as lab:
        host, port = (await lab.start()).binary
        async with BinaryClient(client_manager(), host, port, log=QUIET, window_size=2) as client:
            outcomes = await client.send([traced])
        slots = lab.manager.queue_collection["reports"].message_position_list
        labels = [one.message_reference.label for one in slots]
    assert outcomes == {"acknowledged": 1}
    assert [label.partition(" received by ")[0] for label in labels] == ["0000:00000001:00"] * 2
    reporters = {label.partition(" received by ")[2].partition(" ")[0] for label in labels}
    assert reporters == {"00000000-0000-0000-0000-000000000001", str(settings.identifier).upper()}
