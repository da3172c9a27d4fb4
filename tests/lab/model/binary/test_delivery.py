"""Delivery into the queues, refusals, duplicates and acknowledgments. [MS-MQQB] 3.1.5.8, 3.1.7.2, 3.1.7.15"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from msmq_wire import GUID, decode, encode
from msmq_wire.lab.model.binary.acknowledgments import administration_ack, final_ack, order_ack, order_queue
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.lab.model.data.stored_message import message_name
from msmq_wire.lab.model.events.message import dequeue_message, purge_queue
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import NULL_GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.lab.model.binary.world import (
    ADMIN,
    ORDERS,
    ORDERS_TX,
    RECEIVER,
    SENDER,
    START,
    Kind,
    World,
    bodies,
    classes,
    dead,
    journal,
    message,
    receive,
    transaction,
)
from tests.lab.model.scene import make_queue, open_descriptor

ACK = MessageClass.MQMSG_CLASS_ACK_RECEIVE
REACHED = MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE
BAD_QUEUE = MessageClass.MQMSG_CLASS_NACK_BAD_DST_Q
THIRD = GUID.parse("b1c95d02-3d6a-4c4b-8d05-f21b9ac83e44")
NO_QUEUE = "DIRECT=OS:receiver\\private$\\nothing"
INSECURE = BinarySettings(send_insecure_nacks=True)
ALL: dict[str, Any] = {"acknowledge": ["pa", "pr", "na", "nr"], "admin_queue": ADMIN}


def packets(world: World, kind: str) -> list[Any]:
    return [record.packet for record in world.records if record.type == kind]


def finals(world: World) -> list[int]:
    return [packet.message_properties_header.message_class for packet in packets(world, "final_ack")]


@pytest.fixture
def world() -> World:
    return World(settings=INSECURE)


@pytest.mark.rule("MQQB-3.1.5.8.5-1", "MQQB-3.1.5.8.8-1", "MQQB-3.1.5.8.8-2", "MQQB-3.1.7.10-1")
def test_a_message_is_stored_as_it_came(world: World) -> None:
    sent = world.sent(message("recoverable", b"hello", label="greeting", priority=6))
    world.run(1000)
    (position,) = world.orders.message_position_list
    stored = position.message_reference
    assert decode(stored.packet) == sent.packet
    assert stored.identifier == message_name(sent.packet) == bytes(SENDER) + (1).to_bytes(4, "little")
    assert (stored.label, stored.priority, stored.recoverable) == ("greeting", 6, True)
    assert (stored.sent_time, stored.arrival_time) == (START, START)
    assert stored.size == len(stored.packet) == world.orders.total_bytes
    assert not stored.transactional


@pytest.mark.rule("MQQB-3.1.5.8.5-1")
def test_a_private_queue_is_found_by_its_number(world: World) -> None:
    number = world.orders.private_queue_number
    world.outgoing.send(message(queue=f"PRIVATE={RECEIVER}\\{number:08x}", body=b"by number"))
    world.run(1000)
    assert bodies(world.orders) == [b"by number"]


@pytest.mark.rule(
    "MQQB-3.1.5.8.2-11", "MQQB-3.1.5.8.2-12", "MQQB-3.1.5.8.2-17", "MQQB-3.1.7.15-3", "MQQB-3.1.7.15-13"
)
@pytest.mark.parametrize(
    ("packet", "expected"),
    [
        ({"queue": NO_QUEUE}, BAD_QUEUE),
        ({"queue": "DIRECT=OS:elsewhere\\private$\\orders"}, BAD_QUEUE),
        ({"queue": ORDERS + ";sub"}, BAD_QUEUE),
        ({"queue": ORDERS + ";JOURNAL"}, BAD_QUEUE),
        ({"queue": f"PRIVATE={RECEIVER}\\000000ff"}, BAD_QUEUE),
        ({"queue": f"PRIVATE={SENDER}\\00000001"}, BAD_QUEUE),
        ({"queue": ORDERS_TX}, MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_MSG),
    ],
)
def test_what_has_no_queue_here_is_refused(world: World, packet: dict[str, Any], expected: int) -> None:
    world.outgoing.send(message(body=b"refused", **packet, **ALL))
    world.run(30_000)
    assert classes(world.admin) == [expected]
    assert bodies(world.admin) == [b"refused"]
    assert (bodies(world.orders), bodies(world.orders_tx)) == ([], [])
    assert world.outcomes == ["acknowledged"]
    assert (world.orders.subqueue_collection, finals(world)) == ([], [])


@pytest.mark.rule("MQQB-3.1.5.8.2-20", "MQQB-3.1.5.8.2-21")
def test_hops_are_counted_for_other_queue_managers_only(world: World) -> None:
    for queue in (f"PRIVATE={SENDER}\\00000001", ORDERS):
        packet = message(queue=queue, **ALL)
        world.outgoing.send(replace(packet, user_header=packet.user_header.with_bits(rc=0x1D)))
    world.run(30_000)
    assert classes(world.admin) == [MessageClass.MQMSG_CLASS_NACK_HOP_COUNT_EXCEEDED, REACHED]


@pytest.mark.rule("MQQB-3.1.5.8.2-22")
def test_a_transactional_message_over_its_last_hop_gets_a_final_ack(world: World) -> None:
    packet = message("transactional", queue=f"PRIVATE={SENDER}\\00000001")
    world.outgoing.send(replace(packet, user_header=packet.user_header.with_bits(rc=0x1D)))
    world.run(30_000)
    assert finals(world) == [MessageClass.MQMSG_CLASS_NACK_HOP_COUNT_EXCEEDED]


@pytest.mark.rule("MQQB-3.1.5.8.2-19", "MQQB-3.1.5.8.5-2")
def test_a_message_for_another_queue_manager_waits_for_the_next_hop(world: World) -> None:
    world.receiver.routing_table = {THIRD: "third"}
    name = f"PRIVATE={THIRD}\\00000001"
    world.sent(message(queue=name, body=b"over a router", **ALL))
    world.sent(message("transactional", queue=name, body=b"in order"))
    world.run(30_000)
    assert world.outcomes == ["refused", "acknowledged"]
    (outgoing,) = world.receiver.outgoing_queue_collection.values()
    assert (outgoing.pathname, outgoing.destination_queue_manager) == (name, THIRD)
    assert bodies(outgoing) == [b"over a router"]
    (waiting,) = outgoing.message_position_list
    user = decode(waiting.message_reference.packet, "user_message").user_header
    assert (user.bit("rc"), user.source_queue_manager, user.message_id) == (1, SENDER, 1)
    # It has not reached its queue.
    assert classes(world.admin) == []


def test_outgoing_queues_for_others_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("msmq_wire.lab.model.events.queue._MOST_FORWARDED", 2)
    world.receiver.routing_table = {THIRD: "third"}
    for number in (1, 2, 3, 2):
        world.sent(message(queue=f"PRIVATE={THIRD}\\{number:08x}", **ALL))
    world.run(30_000)
    assert [len(one.message_position_list) for one in world.receiver.outgoing_queue_collection.values()] == [
        1,
        2,
    ]
    assert classes(world.admin) == [BAD_QUEUE]


@pytest.mark.rule("MQQB-3.1.5.8.2-18", "MQQB-3.1.7.15-2")
def test_by_default_nobody_is_told_that_a_queue_does_not_exist() -> None:
    world = World()
    world.outgoing.send(message(queue=NO_QUEUE, **ALL))
    world.outgoing.send(message(queue=ORDERS_TX, **ALL))
    world.run(30_000)
    assert classes(world.admin) == [MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_MSG]


@pytest.mark.rule("MQQB-3.1.5.8.2-12", "MQQB-3.1.5.8.2-18", "MQQB-3.1.5.8.10-1", "MQQB-3.1.7.2.1-2")
@pytest.mark.parametrize(
    ("asked", "queue", "expected"),
    [
        ("pa pr nr", NO_QUEUE, []),
        ("pa pr nr", ORDERS_TX, []),
        ("na", NO_QUEUE, [BAD_QUEUE]),
        ("na pr nr", ORDERS, [ACK]),
        ("pa na nr", ORDERS, [REACHED]),
    ],
)
def test_nobody_is_told_what_was_not_asked_for(
    world: World, asked: str, queue: str, expected: list[int]
) -> None:
    world.outgoing.send(message(queue=queue, acknowledge=asked.split(), admin_queue=ADMIN))
    world.run(30_000)
    if bodies(world.orders):
        receive(world.orders)
    world.run(30_000)
    assert classes(world.admin) == expected


@pytest.mark.rule("MQQB-3.1.7.2.1-3")
def test_what_is_purged_is_told_to_who_asked_for_it(world: World) -> None:
    for asked in ("pr na", "nr"):
        world.outgoing.send(message(acknowledge=asked.split(), admin_queue=ADMIN))
        world.run(30_000)
        purge_queue(world.orders)
        world.run(30_000)
    assert classes(world.admin) == [MessageClass.MQMSG_CLASS_NACK_Q_PURGED]


@pytest.mark.rule("MQQB-3.1.5.8.2-14", "MQQB-3.1.5.8.2-15", "MQQB-3.1.5.8.2-16")
def test_a_transactional_message_needs_a_transactional_queue(world: World) -> None:
    world.outgoing.send(message("transactional", b"first", queue=ORDERS, jn=1, **ALL))
    world.outgoing.send(message("transactional", b"second", queue=ORDERS, **ALL))
    without_na = {**ALL, "acknowledge": ["pa", "pr", "nr"]}
    world.outgoing.send(message("transactional", b"third", queue=ORDERS, **without_na))
    world.run(30_000)
    refused = MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_Q
    assert (classes(world.admin), finals(world)) == ([refused] * 2, [refused] * 3)
    assert world.outcomes == ["refused"] * 3
    assert bodies(world.orders) == []
    assert dead(world.sender, transactional=True) == [b"first"]
    # What was refused has had its place: the sequence goes on.
    assert [stream.gaps for stream in world.story().streams] == [()]


@pytest.mark.rule("MQQB-3.1.5.8.2-13")
def test_a_transactional_message_without_a_queue_is_refused_each_time(world: World) -> None:
    for number in range(2):
        world.outgoing.send(message("transactional", b"%d" % number, queue=NO_QUEUE, jn=1, **ALL))
    world.run(120_000)
    assert (classes(world.admin), finals(world)) == ([BAD_QUEUE] * 2, [BAD_QUEUE] * 2)
    assert world.outcomes == ["refused"] * 2
    assert packets(world, "order_ack") == []
    assert world.remote.delivery.sequence(SENDER, NO_QUEUE) is None
    # When there is one, the sequence goes on from what was acknowledged.
    queue = make_queue(world.receiver, "nothing", transactional=True)
    world.outgoing.send(message("transactional", b"2", queue=NO_QUEUE))
    world.run(120_000)
    assert bodies(queue) == [b"2"]
    assert world.outcomes[2:] == ["ordered"]


def encrypted(kind: Kind = "express") -> UserMessage:
    """A message that says its body is encrypted."""
    packet = message(kind, security_header=SecurityHeader(), **ALL)
    header, properties = packet.security_header, packet.message_properties_header
    assert header is not None
    assert properties is not None
    properties = replace(properties, privacy_level=5)
    return replace(packet, security_header=header.with_bits(eb=1), message_properties_header=properties)


@pytest.mark.rule("MQQB-3.1.7.15-13")
def test_a_message_is_refused_where_it_cannot_be_read_or_authenticated(world: World) -> None:
    world.orders.authentication = True
    world.outgoing.send(message(**ALL))
    world.run(30_000)
    assert classes(world.admin) == [MessageClass.MQMSG_CLASS_NACK_BAD_SIGNATURE]
    world.orders.authentication = False
    world.outgoing.send(encrypted())
    world.run(30_000)
    assert classes(world.admin)[1:] == [MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION]
    # What is encrypted is not sent back.
    assert bodies(world.admin) == [b"body", b""]


@pytest.mark.rule("MQQB-3.1.5.8.3-14")
def test_without_keys_the_final_ack_of_an_encrypted_message_says_bad_encryption(world: World) -> None:
    world.outgoing.send(encrypted("transactional"))
    world.run(30_000)
    assert finals(world) == [MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION]
    assert bodies(world.orders_tx) == []


@pytest.mark.rule("MQQB-3.1.7.1.2-5")
def test_a_message_that_comes_too_late_is_refused(world: World) -> None:
    packet = message(jn=1, sent_time=START - 100, time_to_reach_queue=100, **ALL)
    world.outgoing.send(packet)
    wire = world.wire
    flying = wire.ends[0].take()
    wire.ends[1].feed(flying)
    wire.ends[0].feed(wire.ends[1].take())
    wire.ends[1].feed(wire.ends[0].take())
    wire.ends[0].feed(wire.ends[1].take())
    data = wire.ends[0].take()
    world.timers.advance(1000)
    wire.ends[1].feed(data)
    world.run(30_000)
    assert bodies(world.orders) == []
    assert classes(world.admin) == [MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT]
    assert dead(world.receiver) == [b"body"]


@pytest.mark.rule("MQQB-3.1.5.8.8-3", "MQQB-3.1.5.8.8-4", "MQQB-3.1.5.8.8-5", "MQQB-3.1.5.8.8-6")
def test_a_full_queue_refuses(world: World) -> None:
    world.orders.quota = world.orders_tx.quota = 1
    for kind in ("express", "transactional"):
        for number in range(2):
            body = bytes(600) + b"%d" % number
            world.outgoing.send(message(kind, body, jn=1, **ALL))
    world.run(30_000)
    assert (len(bodies(world.orders)), len(bodies(world.orders_tx))) == (1, 1)
    full = MessageClass.MQMSG_CLASS_NACK_Q_EXCEED_QUOTA
    assert sorted(classes(world.admin)) == [REACHED, REACHED, full, full]
    assert finals(world) == [full]
    assert dead(world.receiver) == [bytes(600) + b"1"]


@pytest.mark.rule("MQQB-3.1.5.8.2-5", "MQQB-3.1.5.8.6-9", "MQQB-3.1.5.8.8-7")
@pytest.mark.parametrize("kind", ["express", "recoverable", "transactional"])
def test_a_full_queue_manager_closes_the_session_and_the_message_comes_again(kind: Any) -> None:
    world = World()
    world.receiver.throttled = True
    world.outgoing.send(message(kind, **ALL))
    world.run(12_000)
    assert [wire.ends[1].close_reason for wire in world.wires] == ["quota"] * 3
    assert world.outcomes == []
    world.receiver.throttled = False
    world.run(60_000)
    assert bodies(world.orders) + bodies(world.orders_tx) == [b"body"]
    assert len(world.outcomes) == 1
    assert classes(world.admin) == [REACHED]


@pytest.mark.rule("MQQB-3.1.5.8.1-3", "MQQB-3.1.5.8.2-2", "MQQB-3.1.5.8.2-5", "MQQB-3.1.5.8.2-7")
def test_a_duplicate_is_dropped_and_counted() -> None:
    world = World()
    wire = world.open()
    packet = message(body=b"twice", message_id=9)
    world.outgoing.send(packet)
    world.outgoing.send(packet)
    other = GUID.parse("00000000-0000-4000-8000-000000000001")
    user = replace(packet.user_header, source_queue_manager=other)
    world.outgoing.send(replace(packet, user_header=user))
    world.run(30_000)
    assert bodies(world.orders) == [b"body", b"twice", b"twice"]
    assert wire.ends[1].received.messages == wire.ends[0].sent.messages == 4
    assert world.outcomes == ["acknowledged"] * 4


@pytest.mark.rule("MQQB-3.1.5.8.1-2", "MQQB-3.1.5.8.2-8", "MQQB-3.1.6.7-1", "MQQB-3.1.6.7-2")
def test_a_number_is_remembered_for_half_an_hour_after_it_was_seen_last() -> None:
    world = World()
    packet = message(message_id=9)

    def send_after(minutes: int) -> int:
        world.run(minutes * 60_000)
        world.outgoing.send(packet)
        world.run(0)
        return len(bodies(world.orders))

    # The timer goes off every half hour, and forgets what is older than that.
    assert [send_after(0), send_after(29), send_after(29), send_after(29)] == [1, 1, 1, 1]
    assert send_after(91) == 2


@pytest.mark.rule("MQQB-3.1.5.8.2-6")
def test_the_history_of_numbers_is_bounded_and_the_oldest_goes() -> None:
    world = World(settings=BinarySettings(history_size=2))
    for number in (1, 2, 1, 3, 1, 2):
        world.outgoing.send(message(body=b"%d" % number, message_id=number))
        world.run(0)
    assert bodies(world.orders) == [b"1", b"2", b"3", b"2"]


@pytest.mark.rule(
    "MQQB-3.1.5.8.1-1",
    "MQQB-3.1.5.8.6-4",
    "MQQB-3.1.5.8.6-5",
    "MQQB-3.1.5.8.6-6",
    "MQQB-3.1.5.8.6-7",
    "MQQB-3.1.5.8.6-9",
)
def test_a_sequence_takes_the_next_message_only(world: World) -> None:
    wire = world.open()
    for identifier, number, previous, rejected in (
        (5, 1, 0, 0),
        (5, 2, 1, 0),
        (5, 2, 1, 1),
        (5, 4, 3, 2),
        (5, 5, 2, 0),
        (4, 9, 0, 1),
        (6, 2, 1, 2),
        (6, 0, 0, 3),
        (6, 3, 0, 0),
    ):
        header = replace(
            transaction(),
            tx_sequence_id=TxSequenceID(ordinal=identifier),
            tx_sequence_number=number,
            previous_tx_sequence_number=previous,
        )
        packet = message("transactional", b"%d.%d" % (identifier, number), message_id=number + 1)
        packet = replace(packet, transaction_header=header)
        server = wire.ends[1]
        assert server.outgoing is not None
        assert world.remote.delivery.deliver(packet, encode(packet), server.outgoing) is True
        sequence = world.remote.delivery.sequence(SENDER, ORDERS_TX)
        assert sequence is not None
        assert sequence.reject_count == rejected
    assert bodies(world.orders_tx) == [b"5.1", b"5.2", b"5.5", b"6.3"]
    sequence = world.remote.delivery.sequence(SENDER, ORDERS_TX)
    assert sequence is not None
    assert (sequence.identifier.value, sequence.number) == (6, 3)


@pytest.mark.rule("MQQB-3.1.5.8.6-1", "MQQB-3.1.5.8.6-2", "MQQB-3.1.5.8.6-3", "MQQB-3.1.6.9-1")
def test_an_order_ack_follows_half_a_second_after_the_last_message_of_a_burst() -> None:
    world = World()
    world.outgoing.send(message("transactional"))
    world.run(400)
    world.outgoing.send(message("transactional"))
    world.run(499)
    assert packets(world, "order_ack") == []
    world.run(1)
    (packet,) = packets(world, "order_ack")
    assert isinstance(packet, OrderAck)
    body = packet.order_ack_body
    assert body is not None
    assert (body.tx_sequence_number, body.tx_previous_sequence_number) == (2, 1)
    sent = world.settled[0][0].packet.transaction_header
    assert sent is not None
    assert body.tx_sequence_id == sent.tx_sequence_id
    assert world.outcomes == ["ordered", "ordered"]


@pytest.mark.rule("MQQB-3.1.5.8.6-2")
def test_a_burst_that_does_not_end_is_acknowledged_in_ten_seconds() -> None:
    world = World()
    for _ in range(30):
        world.outgoing.send(message("transactional"))
        world.run(400)
    first = next(record for record in world.records if record.type == "order_ack")
    assert first.time is not None
    assert 10_000 <= first.time // 1_000_000 - START * 1000 <= 10_900


def order_acks(world: World) -> list[int]:
    """How far the OrderAcks say that messages arrived."""
    found = [packet.order_ack_body for packet in packets(world, "order_ack") if isinstance(packet, OrderAck)]
    return [body.tx_sequence_number for body in found if body is not None]


def test_a_sender_that_begins_again_with_what_is_here_is_told_at_once() -> None:
    world = World()
    for _ in range(3):
        world.outgoing.send(message("transactional"))
    world.run(100)
    world.wire.drop()
    world.run(5000)
    assert len(world.wires) == 2
    # Nothing of the half second that follows the last message has passed since the session began.
    assert (order_acks(world), world.outcomes) == ([3], [])
    # They leave when this session has acknowledged them, too.
    world.run(500)
    assert world.outcomes == ["ordered"] * 3
    assert len(world.orders_tx.message_position_list) == 3


def test_sessions_that_are_too_short_for_an_order_ack_still_get_everything_through() -> None:
    world = World(settings=BinarySettings(window_size=4, retry_interval=50))
    for number in range(40):
        world.outgoing.send(message("transactional", b"%d" % number))
    for _ in range(30):
        world.run(20)
        world.wire.drop()
        world.run(50)
    assert world.outcomes == ["ordered"] * 40
    assert bodies(world.orders_tx) == [b"%d" % number for number in range(40)]
    assert world.timers.now < 10_000


@pytest.mark.rule("MQQB-3.1.6.9-2")
def test_one_session_is_told_once_of_what_it_sends_again() -> None:
    world = World()
    world.outgoing.send(message("transactional"))
    world.run(100)
    world.wire.drop()
    world.run(5000)
    (packet,) = packets(world, "user_message")[:1]
    way = world.wire.ends[1].outgoing
    assert way is not None
    assert isinstance(packet, UserMessage)
    for _ in range(5):
        assert world.remote.delivery.deliver(packet, encode(packet), way)
    world.run(0)
    assert order_acks(world) == [1]


def test_an_order_ack_that_is_lost_when_the_next_session_begins_is_sent_in_it() -> None:
    world = World(settings=BinarySettings(retry_interval=0))
    world.outgoing.send(message("transactional"))
    world.settle()
    sequence = world.remote.delivery.sequence(SENDER, ORDERS_TX)
    assert sequence is not None
    assert sequence.order_ack_timer is not None
    # The connection is lost before anything is carried of what the timer sends.
    world.timers.advance(sequence.order_ack_timer.due)
    world.wire.drop()
    world.settle()
    began = world.timers.now
    assert (world.wire.number, sequence.last_order_ack) == (0, began)
    world.run(0)
    assert (world.wire.number, world.wire.ends[1].begun) == (1, began)
    assert order_acks(world) == [1]
    world.run(500)
    assert world.outcomes == ["ordered"]


def test_only_the_newest_order_ack_is_sent_again() -> None:
    world = World()
    for _ in range(4):
        world.outgoing.send(message("transactional"))
        world.run(1000)
    assert len(order_acks(world)) == 4
    world.wire.drop()
    world.outgoing.send(message("transactional"))
    world.run(5000)
    # The fourth may not have arrived, and the fifth is new.
    assert len(order_acks(world)) == 4 + 2


@pytest.mark.rule("MQQB-3.1.5.8.2-4", "MQQB-3.1.7.17-6", "MQQB-3.1.7.17-8")
def test_acknowledgments_of_a_session_by_address_go_to_that_address(world: World) -> None:
    world.outgoing.send(message("transactional"))
    world.outgoing.send(message("transactional", queue=ORDERS))
    world.run(30_000)
    names = {
        packet.user_header.format_name("destination_queue")
        for packet in packets(world, "order_ack") + packets(world, "final_ack")
    }
    assert names == {"DIRECT=TCP:192.0.2.21\\PRIVATE$\\order_queue$"}


@pytest.mark.rule("MQQB-3.1.7.17-7")
def test_acknowledgments_of_a_session_by_identifier_go_to_queue_four() -> None:
    world = World(known=True)
    number = world.orders_tx.private_queue_number
    world.outgoing.send(message("transactional", queue=f"PRIVATE={RECEIVER}\\{number:08x}"))
    world.run(1000)
    (packet,) = packets(world, "order_ack")
    assert packet.user_header.format_name("destination_queue") == f"PRIVATE={SENDER}\\00000004"
    assert packet.user_header.flags == 0x200C00


@pytest.mark.rule(
    "MQQB-3.1.5.8.10-1",
    "MQQB-3.1.5.11-1",
    "MQQB-3.1.7.2-1",
    "MQQB-3.1.7.2.1-1",
    "MQQB-3.1.7.2.1-2",
    "MQQB-3.1.7.15-9",
    "MQQB-3.1.7.15-11",
)
def test_a_receiver_is_acknowledged_when_it_takes_the_message(world: World) -> None:
    for kind in ("express", "recoverable"):
        world.outgoing.send(message(kind, **ALL))
    world.outgoing.send(message("transactional", jp=1, **ALL))
    world.run(30_000)
    assert (classes(world.admin), finals(world)) == ([REACHED] * 3, [])
    for queue in (world.orders, world.orders, world.orders_tx):
        receive(queue)
    world.run(30_000)
    assert (classes(world.admin)[3:], finals(world)) == ([ACK] * 3, [ACK])
    acknowledged = [position.message_reference for position in world.admin.message_position_list]
    assert [one.recoverable for one in acknowledged] == [False, True, True] * 2
    assert [one.properties.correlation_identifier[16:] for one in acknowledged] == [
        number.to_bytes(4, "little") for number in (1, 2, 3)
    ] * 2
    assert {one.properties.correlation_identifier[:16] for one in acknowledged} == {bytes(SENDER)}
    assert acknowledged[0].properties.response_queue_format_name == ORDERS
    assert journal(world.sender) == [b"body"]


@pytest.mark.rule("MQQB-3.1.7.2.2-1")
@pytest.mark.parametrize(
    ("flags", "final"), [({}, False), ({"fa": 1}, True), ({"jn": 1}, True), ({"jp": 1}, True)]
)
def test_a_final_ack_is_sent_to_who_wants_one(world: World, flags: dict[str, Any], final: bool) -> None:
    journaled = {name: bit for name, bit in flags.items() if name != "fa"}
    header = transaction(fa=flags.get("fa", 0))
    world.outgoing.send(message("transactional", transaction=header, **journaled))
    world.run(1000)
    receive(world.orders_tx)
    world.run(1000)
    assert finals(world) == [ACK] * final
    if final:
        (packet,) = packets(world, "final_ack")
        assert isinstance(packet, FinalAck)
        body = packet.final_ack_body
        assert body is not None
        assert (body.tx_sequence_number, body.tx_previous_sequence_number, body.message_id) == (1, 0, 1)
        assert body.source_guid == SENDER
        assert packet.user_header.bit("dm") == 1


@pytest.mark.rule("MQQB-3.1.7.2.1-3", "MQQB-3.1.7.17-1")
def test_what_is_purged_deleted_or_timed_out_is_told(world: World) -> None:
    def one(**more: Any) -> None:
        world.outgoing.send(message("transactional", jn=1, **more, **ALL))
        world.run(1000)

    one()
    purge_queue(world.orders_tx)
    one(time_to_be_received=60)
    world.run(61_000)
    one()
    delete_queue(world.receiver, world.orders_tx)
    world.run(1000)
    expected = [
        MessageClass.MQMSG_CLASS_NACK_Q_PURGED,
        MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT,
        MessageClass.MQMSG_CLASS_NACK_Q_DELETED,
    ]
    assert [one for one in classes(world.admin) if one != REACHED] == expected
    assert finals(world) == expected
    assert dead(world.sender, transactional=True) == [b"body"] * 3


@pytest.mark.rule("MQQB-3.1.7.2.1-3")
def test_a_receiver_that_rejects_is_told_so(world: World) -> None:
    world.outgoing.send(message("transactional", jn=1, **ALL))
    world.run(1000)
    (position,) = world.orders_tx.message_position_list
    position.message_reference.user_acknowledgement_class = MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED
    receive(world.orders_tx)
    world.run(1000)
    rejected = MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED
    assert (classes(world.admin)[1:], finals(world)) == ([rejected], [rejected])


@pytest.mark.rule("MQQB-3.1.5.8.10-1")
def test_that_it_arrived_is_told_before_that_somebody_took_it(world: World) -> None:
    descriptor = open_descriptor(world.receiver, ORDERS)
    got: list[int] = []
    dequeue_message(descriptor, lambda status, _: got.append(status))
    world.outgoing.send(message(**ALL))
    world.run(30_000)
    assert (got, classes(world.admin)) == ([0], [REACHED, ACK])


@pytest.mark.rule("MQQB-3.1.7.15-14")
def test_an_administration_queue_of_the_receiver_gets_its_acknowledgment_there(world: World) -> None:
    here = make_queue(world.receiver, "admin")
    name = "DIRECT=OS:receiver\\private$\\admin"
    world.outgoing.send(message(acknowledge=["pa"], admin_queue=name))
    world.run(30_000)
    assert (classes(here), classes(world.admin)) == ([REACHED], [])
    assert world.types(1).count("user_message") == 0


def test_a_queue_with_a_journal_keeps_what_was_received(world: World) -> None:
    world.orders.journaling = True
    world.outgoing.send(message(body=b"kept", time_to_be_received=100, time_to_reach_queue=100))
    world.outgoing.send(message(body=b"purged"))
    world.run(30_000)
    receive(world.orders)
    purge_queue(world.orders)
    world.run()
    journal = world.orders.journal_queue_reference
    assert journal is not None
    assert bodies(journal) == [b"kept"]
    assert [position.message_reference.sent_time for position in journal.message_position_list] == [START]


@pytest.mark.rule(
    "MQQB-3.1.7.15-4", "MQQB-3.1.7.15-5", "MQQB-3.1.7.15-6", "MQQB-3.1.7.15-7", "MQQB-3.1.7.15-8"
)
@pytest.mark.parametrize(
    ("aq", "queue"),
    [
        (2, f"PRIVATE={SENDER}\\00000005"),
        (3, f"PRIVATE={RECEIVER}\\00000005"),
        (5, "PUBLIC=00000000-0000-4000-8000-000000000001"),
        (6, "PRIVATE=00000000-0000-4000-8000-000000000001\\00000005"),
        (7, ADMIN),
    ],
)
def test_an_administration_acknowledgment_goes_to_the_queue_that_the_message_names(
    aq: int, queue: str
) -> None:
    asked: dict[str, Any] = {"acknowledge": ["pa"], "admin_queue": queue}
    packet = message(queue=f"PRIVATE={RECEIVER}\\00000001", **asked)
    made = administration_ack(RECEIVER, packet, REACHED)
    assert made is not None
    assert (packet.user_header.bit("aq"), made.user_header.format_name("destination_queue")) == (aq, queue)


@pytest.mark.rule("MQQB-3.1.7.15-10", "MQQB-3.1.7.15-12")
def test_an_administration_acknowledgment_says_the_rest_as_the_text_wants_it() -> None:
    times: dict[str, Any] = {"time_to_reach_queue": 60, "time_to_be_received": 60}
    made = administration_ack(RECEIVER, message(jn=1, jp=1, **times, **ALL), BAD_QUEUE)
    assert made is not None
    user, properties = made.user_header, made.message_properties_header
    assert properties is not None
    assert (user.bit("jn"), user.bit("jp"), properties.flags, properties.privacy_level) == (0, 0, 0, 0)
    assert (made.base_header.time_to_reach_queue, user.time_to_be_received) == (0xFFFFFFFF, 0xFFFFFFFF)
    assert (made.security_header, user.format_name("response_queue")) == (None, ORDERS)


@pytest.mark.rule("MQQB-3.1.7.15-1", "MQQB-3.1.7.15-15")
def test_names_that_are_none_are_acknowledged_to_nobody() -> None:
    packet = message(**ALL)
    assert administration_ack(RECEIVER, message(), ACK) is None
    user = packet.user_header.admin_queue
    broken = replace(user, direct_format_name=type(user.direct_format_name)(b"\xff\xff"))  # type: ignore[type-var, union-attr]  # a direct name
    header = replace(packet.user_header, admin_queue=broken)
    assert administration_ack(RECEIVER, replace(packet, user_header=header), ACK) is None


@pytest.mark.rule("MQQB-3.1.7.17-2", "MQQB-3.1.7.17-3", "MQQB-3.1.7.17-4", "MQQB-3.1.7.17-5")
def test_the_acknowledgments_of_sequences_have_the_layout_of_the_text() -> None:
    queue = order_queue(SENDER, "192.0.2.21", direct=True)
    made = order_ack(queue, RECEIVER, TxSequenceID(ordinal=2, time_stamp=3), 7)
    assert made is not None
    assert made.message_properties_header is not None
    assert made.message_properties_header.message_body == bytes.fromhex(
        "02000000 03000000 07000000 06000000" + "00" * 20
    )
    packet = message("transactional", message_id=0x11223344)
    header = transaction()
    header = replace(
        header,
        tx_sequence_id=TxSequenceID(ordinal=2, time_stamp=3),
        tx_sequence_number=9,
        previous_tx_sequence_number=4,
    )
    final = final_ack(order_queue(SENDER, "", direct=True), RECEIVER, packet, header, ACK)
    assert final is not None
    assert final.message_properties_header is not None
    assert final.message_properties_header.message_body == (
        bytes.fromhex("02000000 03000000 09000000 04000000") + bytes(SENDER) + bytes.fromhex("44332211")
    )
    assert final.user_header.queue_manager_address == SENDER
    assert made.user_header.queue_manager_address == NULL_GUID
    assert order_queue(SENDER, "2001:db8::1", direct=True) == "DIRECT=TCP:2001:db8::1\\PRIVATE$\\order_queue$"
    assert order_queue(SENDER, "nowhere", direct=True) == f"PRIVATE={SENDER}\\00000004"
    for one, class_, recoverable in ((made, MessageClass.MQMSG_CLASS_ORDER_ACK, 0), (final, ACK, 1)):
        assert isinstance(one, UserMessage)
        user, properties = one.user_header, one.message_properties_header
        assert properties is not None
        assert (properties.label.text, properties.body_type, properties.flags) == ("QM Ordering Ack", 0, 0)
        assert (user.bit("dm"), user.bit("jn"), user.bit("jp"), user.bit("aq")) == (recoverable, 0, 0, 0)
        assert (properties.message_class, properties.privacy_level) == (class_, 0)
        assert one.base_header.flags == 0
