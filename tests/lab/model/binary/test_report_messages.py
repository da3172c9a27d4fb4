"""Report messages of queue managers: when they come, and what they say. All texts are written by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from msmq_wire import GUID
from msmq_wire.engines.codec import decode
from msmq_wire.lab.model.binary.report_messages import report_message, report_queue_of
from msmq_wire.lab.model.data.elements import ModelQueueManager, Queue
from msmq_wire.lab.model.events.queue import create_queue
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.types.enumerations import MessageClass, QueueType
from tests.lab.model.binary.world import ORDERS, ORDERS_TX, RECEIVER, SENDER, START, World, classes, message

REPORTS = GUID.parse("e5a0c3d7-91b4-4f6e-8a2d-3c5b7f9e1d60")
THIRD = GUID.parse("b1c95d02-3d6a-4c4b-8d05-f21b9ac83e44")
# [MS-MQQB] 3.1.5.8.9, 3.1.7.1.7; 1,795,166,047 seconds after 1970 it is Friday, 2026-11-20 09:14:07.
BY_RECEIVER = "A1D3:00000001:00 received by C277E190-3D6A-4C4B-8D05-F21B9AC83E44 at 09:14:07 AM Fri,Nov 20 26"
BY_SENDER = "A1D3:00000001:00 received by A1D30C5B-247E-4F45-9A31-C5D20E6F7788 at 09:14:07 AM Fri,Nov 20 26"
RECEIVED = (
    "<MESSAGE ID>00000001</MESSAGE ID>\r\n"
    "<TARGET QUEUE>DIRECT=OS:receiver\\private$\\orders</TARGET QUEUE>\r\n"
)
SENT = f"{RECEIVED}<NEXT HOP>192.0.2.10</NEXT HOP>\r\n<HOP COUNT>00 </HOP COUNT>\r\n"


def report_queue(manager: ModelQueueManager) -> Queue:
    """A public queue for reports."""
    queue = Queue(queue_manager=manager, pathname=f"{manager.computer_name}\\reports", identifier=REPORTS)
    assert create_queue(manager, queue) == 0
    return queue


def texts(queue: Queue) -> list[tuple[str, str]]:
    """The label and the body of each report in a queue."""
    found = []
    for position in queue.message_position_list:
        properties = position.message_reference.properties
        found.append((position.message_reference.label, properties.body.decode("utf-16-le")))
    return found


def traced(**more: Any) -> Any:
    return message(report_queue=REPORTS, **more)


@pytest.mark.rule(
    "MQQB-3.1.5.8.9-1", "MQQB-3.1.5.8.9-2", "MQQB-3.1.5.8.9-3", "MQQB-3.1.5.8.9-4", "MQQB-3.1.5.8.9-7"
)
def test_a_message_that_arrives_is_reported_to_the_report_queue() -> None:
    world = World()
    reports = report_queue(world.receiver)
    world.sent(traced())
    world.run(1000)
    assert texts(reports) == [(BY_RECEIVER, RECEIVED)]
    (position,) = reports.message_position_list
    packet = decode(position.message_reference.packet, "user_message")
    user, properties = packet.user_header, packet.message_properties_header
    assert properties is not None
    assert (properties.message_class, properties.body_type, properties.flags) == (1, 0, 0)
    assert properties.label == (BY_RECEIVER + "\0").encode("utf-16-le")
    assert (user.bit("dq"), user.bit("dm"), user.sent_time) == (QueueType.PUBLIC, 0, START)
    assert user.format_name("destination_queue") == f"PUBLIC={REPORTS}"
    assert (user.source_queue_manager, user.message_id) == (RECEIVER, 1)
    base = packet.base_header
    assert (base.bit("tr"), base.bit("pr"), packet.debug_header) == (0, 3, None)
    # [MS-MQDMPR] 3.1.1.12: the defaults of a message.
    assert (base.time_to_reach_queue, user.time_to_be_received) == (345_600, 0xFFFFFFFF)


@pytest.mark.rule("MQQB-3.1.7.1.7-1", "MQQB-3.1.7.1.7-2", "MQQB-3.1.7.1.7-3", "MQQB-3.1.7.1.7-4")
def test_a_message_that_is_sent_is_reported_with_its_next_hop() -> None:
    world = World()
    reports = report_queue(world.sender)
    world.sent(traced())
    world.run(1000)
    assert texts(reports) == [(BY_SENDER, SENT)]
    (position,) = reports.message_position_list
    assert decode(position.message_reference.packet, "user_message").user_header.message_id == 2


def test_each_time_that_a_message_is_sent_is_reported() -> None:
    world = World()
    sent, received = report_queue(world.sender), report_queue(world.receiver)
    world.sent(traced())
    world.settle()
    world.wire.drop()
    world.run(10_000)
    assert [body for _, body in texts(sent)] == [SENT, SENT]
    # The receiver knows it already.
    assert texts(received) == [(BY_RECEIVER, RECEIVED)]


def test_the_report_comes_before_the_administration_acknowledgment() -> None:
    world = World()
    reports = report_queue(world.receiver)
    world.sent(traced(admin_queue=f"PUBLIC={REPORTS}", acknowledge=["pa"]))
    world.run(1000)
    assert classes(reports) == [
        MessageClass.MQMSG_CLASS_REPORT,
        MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE,
    ]


@pytest.mark.parametrize(
    "refused",
    [
        {"queue": "DIRECT=OS:receiver\\private$\\nothing"},
        {"queue": ORDERS_TX},
        {"queue": f"PRIVATE={THIRD}\\00000001"},
        {"kind": "transactional", "queue": ORDERS},
    ],
)
def test_what_is_refused_is_not_reported_as_received(refused: dict[str, Any]) -> None:
    world = World()
    reports = report_queue(world.receiver)
    world.sent(traced(**refused))
    world.run(1000)
    assert texts(reports) == []


@pytest.mark.rule("MQQB-3.1.5.8.9-5", "MQQB-3.1.5.8.9-6")
@pytest.mark.parametrize("transactional", [False, True])
def test_a_report_without_a_queue_is_discarded(transactional: bool) -> None:
    world = World()
    if transactional:
        report_queue(world.receiver).transactional = True
    world.sent(traced())
    world.run(30_000)
    assert [one for one in world.types() if one not in ("user_message", "session_ack")] == [
        "establish_connection",
        "establish_connection",
        "connection_parameters",
        "connection_parameters",
    ]
    assert world.types().count("user_message") == 1


@pytest.mark.parametrize(
    ("message_class", "queue"),
    [
        (MessageClass.MQMSG_CLASS_NORMAL, REPORTS),
        (0x2100, REPORTS),
        (MessageClass.MQMSG_CLASS_REPORT, None),
        (MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE, None),
        (MessageClass.MQMSG_CLASS_NACK_BAD_DST_Q, None),
    ],
)
def test_reports_and_acknowledgments_are_not_reported(message_class: int, queue: GUID | None) -> None:
    assert report_queue_of(traced(message_class=message_class)) == queue


def test_a_packet_is_traced_by_tr_and_names_its_queue_in_the_debug_header() -> None:
    packet = traced()
    untraced = packet.base_header.with_bits(tr=0)
    assert report_queue_of(replace(packet, base_header=untraced)) is None
    assert report_queue_of(replace(packet, debug_header=DebugHeader())) is None
    assert report_queue_of(replace(packet, debug_header=None)) is None


def test_the_zone_of_an_address_is_not_reported() -> None:
    packet = replace(traced(), user_header=traced().user_header.with_bits(rc=0x1D))
    report = report_message(packet, REPORTS, THIRD, RECEIVER, START, "fe80::1%eth0")
    assert report is not None
    assert report.message_properties_header is not None
    lines = report.message_properties_header.message_body.decode("utf-16-le").splitlines()
    assert lines[2:] == ["<NEXT HOP>fe80::1</NEXT HOP>", "<HOP COUNT>1D </HOP COUNT>"]
    assert report.user_header.queue_manager_address == THIRD


def test_a_router_counts_the_hop_before_it_reports_and_forwards() -> None:
    world = World()
    reports = report_queue(world.receiver)
    world.receiver.routing_table = {THIRD: "third"}
    name = f"PRIVATE={THIRD}\\00000001"
    world.sent(traced(queue=name, admin_queue=f"PUBLIC={REPORTS}", acknowledge=["pa"]))
    world.run(1000)
    ((label, body),) = texts(reports)
    assert label == BY_RECEIVER.replace(":00 received", ":01 received")
    assert body == RECEIVED.replace("DIRECT=OS:receiver\\private$\\orders", name.upper())
    (outgoing,) = world.receiver.outgoing_queue_collection.values()
    (waiting,) = outgoing.message_position_list
    assert decode(waiting.message_reference.packet, "user_message").user_header.bit("rc") == 1
    assert decode(waiting.message_reference.packet, "user_message").user_header.source_queue_manager == SENDER
