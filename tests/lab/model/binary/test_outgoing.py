"""`TransmissionQueue`: order, what is kept, sent again, left out and journaled. [MS-MQQB] 3.1.7.1, 3.1.5.5"""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from msmq_wire import GUID
from msmq_wire.lab.model.binary.acknowledgments import final_ack, order_ack, order_queue
from msmq_wire.lab.model.binary.ledger import Ledger
from msmq_wire.lab.model.binary.outgoing import ByteQuota, TransmissionQueue
from msmq_wire.lab.model.binary.outgoing_message import OutgoingMessage, OutgoingSequence
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.lab.model.binary.world import (
    ADMIN,
    ORDERS_TX,
    RECEIVER,
    SENDER,
    START,
    World,
    bodies,
    classes,
    dead,
    journal,
    message,
    queue_manager,
)
from tests.lab.model.scene import make_queue

Ack = TypeVar("Ack", OrderAck, FinalAck)


@pytest.fixture
def world() -> World:
    return World()


def numbers(world: World) -> list[tuple[int, int]]:
    """Place and predecessor of the transactional messages that arrived."""
    headers = [getattr(record.packet, "transaction_header", None) for record in world.records]
    return [(one.tx_sequence_number, one.previous_tx_sequence_number) for one in headers if one]


def arrived(world: World) -> list[bytes]:
    """The bodies of the messages that arrived, duplicates too."""
    return [
        record.packet.message_properties_header.message_body
        for record in world.records
        if record.type == "user_message" and record.dst == "192.0.2.10:1801"
    ]


def transaction_of(sent: OutgoingMessage) -> TransactionHeader:
    header = sent.packet.transaction_header
    assert header is not None
    return header


def as_ack(kind: type[Ack], packet: UserMessage | None) -> Ack:
    """A packet as who receives it decodes it."""
    assert packet is not None
    return kind(**{name: getattr(packet, name) for name in packet.__struct_fields__})


def acknowledge(world: World, number: int, identifier: TxSequenceID) -> None:
    """Bring the sender an OrderAck."""
    queue = order_queue(SENDER, "", direct=False)
    world.local.ledger.order_acknowledged(as_ack(OrderAck, order_ack(queue, RECEIVER, identifier, number)))


@pytest.mark.rule("MQQB-3.1.5.5.1-4")
def test_messages_are_sent_by_priority_and_then_as_they_came() -> None:
    world = World(settings=BinarySettings(window_size=1))
    world.reachable = False
    for number, priority in enumerate((3, 0, 7, 3, 7)):
        world.outgoing.send(message(body=b"%d" % number, priority=priority))
    world.outgoing.send(message("transactional", b"tx"))
    world.outgoing.send(message(body=b"6", priority=0))
    world.reachable = True
    world.run(60_000)
    assert arrived(world) == [b"2", b"4", b"0", b"3", b"1", b"tx", b"6"]


@pytest.mark.rule("MQQB-3.1.7.1.1-1")
def test_messages_get_source_number_and_time(world: World) -> None:
    world.reachable = False
    bare = message()
    user = replace(bare.user_header, source_queue_manager=GUID(bytes(16)))
    world.timers.advance(5000)
    sent = world.sent(replace(bare, user_header=user))
    header = sent.packet.user_header
    assert (header.source_queue_manager, header.message_id, header.sent_time) == (SENDER, 1, START + 5)
    kept = message(message_id=77, sent_time=99)
    again = world.sent(kept)
    assert again.packet == kept
    following = world.sent()
    assert following.message_id == 2


@pytest.mark.rule("MQQB-3.1.7.1.1-1")
def test_numbers_go_round_without_zero() -> None:
    manager = queue_manager("sender", SENDER, Timers())
    protocol = BinaryProtocol(manager, message_id_ordinal=0xFFFFFFFE)
    queue = protocol.outgoing_queue()
    sent = [queue.send(message()) for _ in range(3)]
    assert [one.message_id for one in sent if one] == [0xFFFFFFFF, 1, 2]


@pytest.mark.rule("MQQB-3.1.5.2-1", "MQQB-3.1.5.9-5", "MQQB-3.1.6.1-1", "MQQB-3.1.7.12-2")
def test_a_connection_is_wanted_once_and_again_after_five_seconds() -> None:
    timers, wanted = Timers(), []
    protocol = BinaryProtocol(queue_manager("sender", SENDER, timers))
    queue = protocol.outgoing_queue(connect=lambda one: wanted.append((timers.now, one)))
    queue.send(message())
    queue.send(message())
    assert wanted == [(0, queue)]
    queue.failed()
    queue.send(message())
    timers.advance(4999)
    assert len(wanted) == 1
    timers.advance(5000)
    assert len(wanted) == 2
    session = protocol.initiate(queue)
    session.disconnected()
    timers.advance(10_000)
    assert [time for time, _ in wanted] == [0, 5000, 10_000]


@pytest.mark.rule("MQQB-3.1.7.12-2")
def test_nobody_connects_while_nothing_waits(world: World) -> None:
    world.open()
    world.run(60_000)
    world.wire.drop()
    world.run(60_000)
    assert len(world.wires) == 1
    world.outgoing.send(message(body=b"later"))
    world.run(1)
    assert (len(world.wires), bodies(world.orders)) == (2, [b"body", b"later"])


@pytest.mark.rule("MQQB-3.1.3.2-2", "MQQB-3.1.6.1-3", "MQQB-3.1.7.1.3-12", "MQQB-3.1.7.1.6-3")
@pytest.mark.parametrize("kind", ["express", "recoverable", "transactional"])
def test_what_was_sent_and_not_acknowledged_is_sent_again(world: World, kind: Any) -> None:
    wire = world.open()
    for number in range(3):
        world.outgoing.send(message(kind, b"%d" % number))
    world.settle()
    wire.drop()
    world.run(60_000)
    assert arrived(world) == [b"body", b"0", b"1", b"2", b"body", b"0", b"1", b"2"]
    assert bodies(world.orders) + bodies(world.orders_tx) == [b"body", b"0", b"1", b"2"]
    assert len(world.outgoing) == 0


@pytest.mark.rule(
    "MQQB-3.1.1.5-2", "MQQB-3.1.5.6-11", "MQQB-3.1.7.1.3-1", "MQQB-3.1.7.1.3-2", "MQQB-3.1.7.1.3-3"
)
def test_a_sequence_has_places_and_a_new_one_begins_when_all_is_acknowledged(world: World) -> None:
    for _ in range(3):
        world.outgoing.send(message("transactional"))
    world.run(30_000)
    world.outgoing.send(message("transactional"))
    world.run(30_000)
    assert numbers(world) == [(1, 0), (2, 1), (3, 2), (1, 0)]
    found = [(one.tx_sequence_id >> 32, one.tx_sequence_id & 0xFFFF) for one in world.story().streams]
    assert found == [(START, 1), (START, 2)]


def test_each_queue_has_a_sequence_of_its_own(world: World) -> None:
    make_queue(world.receiver, "more", transactional=True)
    world.reachable = False
    for number in range(4):
        queue = ORDERS_TX if number % 2 else "DIRECT=OS:receiver\\private$\\more"
        world.outgoing.send(message("transactional", queue=queue))
    world.reachable = True
    world.run(30_000)
    assert numbers(world) == [(1, 0), (1, 0), (2, 1), (2, 1)]
    streams = world.story().streams
    assert [one.acknowledged for one in streams] == [2, 2]
    assert len({one.tx_sequence_id for one in streams}) == 2


def without_order_acks(count: int = 0, **settings: Any) -> World:
    """Who receives sends no OrderAck of its own; ``count`` messages are there, and a session said so."""
    world = World(
        settings=BinarySettings(**settings), receiver_settings=BinarySettings(order_ack_timeout=1 << 40)
    )
    for number in range(count):
        world.outgoing.send(message("transactional", b"%d" % number))
    world.run(1000)
    return world


def sequence_of(world: World) -> OutgoingSequence:
    sequence = world.outgoing.sequence(ORDERS_TX)
    assert sequence is not None
    return sequence


def test_only_what_no_order_ack_covered_is_sent_again() -> None:
    world = without_order_acks(4)
    acknowledge(world, 2, sequence_of(world).identifier)
    assert world.outcomes == ["ordered", "ordered"]
    world.wire.drop()
    world.run(20_000)
    assert numbers(world)[4:] == [(3, 2), (4, 3)]


@pytest.mark.rule(
    "MQQB-3.1.5.6-2",
    "MQQB-3.1.5.6-3",
    "MQQB-3.1.5.6-4",
    "MQQB-3.1.5.6-6",
    "MQQB-3.1.5.6-7",
    "MQQB-3.1.5.6-8",
    "MQQB-3.1.5.6-16",
)
def test_the_interval_grows_with_each_order_ack_until_nothing_is_unacknowledged() -> None:
    world = without_order_acks(6, resend_intervals=(10, 20, 30, 40))
    sequence = sequence_of(world)
    # OrderAck, then EodResendCount, EodResendInterval, EodNoAckCount, EodLastAck and EodLastAckCount.
    for came, *expected in (
        (1, 1, 20, 5, 1, 1),
        (2, 2, 30, 4, 2, 2),
        (2, 3, 40, 4, 2, 3),
        (1, 3, 40, 4, 2, 4),
        (5, 3, 40, 1, 5, 5),
        (6, 0, 10, 0, 6, 6),
    ):
        acknowledge(world, came, sequence.identifier)
        info = sequence.transfer_info(START, 0)
        found = [info.eod_resend_count, info.eod_resend_interval, info.eod_no_ack_count]
        assert [*found, info.eod_last_ack.seq_no, info.eod_last_ack_count] == expected
    assert info.eod_last_ack_time == START + 1
    assert world.outcomes == ["ordered"] * 6


@pytest.mark.rule("MQQB-3.1.2.6-1", "MQQB-3.1.5.6-16", "MQQB-3.1.6.5-3")
def test_the_next_time_out_comes_after_the_interval_that_an_order_ack_left() -> None:
    world = without_order_acks(resend_intervals=(10, 20, 30, 40), cleanup_interval=1 << 40)
    sent = world.timers.now
    for _ in range(3):
        world.outgoing.send(message("transactional"))
    world.run(1000)
    acknowledge(world, 1, sequence_of(world).identifier)
    # The timer that runs is left alone; then the interval has grown by the OrderAck, and by each time-out.
    found: list[int] = []
    while len(found) < 4:
        found.append(sequence_of(world).transfer_info(START, 0).eod_resend_time - START)
        world.run(found[-1] * 1000 - world.timers.now)
    assert found == [sent // 1000 + after for after in (10, 10 + 30, 10 + 30 + 40, 10 + 30 + 40 + 40)]


@pytest.mark.rule(
    "MQQB-3.1.1.5-2", "MQQB-3.1.5.5.1-1", "MQQB-3.1.5.5.3-3", "MQQB-3.1.5.5.5-3", "MQQB-3.1.5.6-9"
)
@pytest.mark.parametrize("first", ["order_ack", "session_ack"])
def test_a_transactional_message_leaves_when_both_acknowledgments_are_there(first: str) -> None:
    world = without_order_acks()
    for _ in range(2):
        world.outgoing.send(message("transactional"))
    world.settle()
    identifier = sequence_of(world).identifier
    if first == "order_ack":
        acknowledge(world, 2, identifier)
    else:
        world.run(1000)
    assert (world.outcomes, len(world.outgoing)) == ([], 2)
    if first == "order_ack":
        world.run(1000)
    else:
        acknowledge(world, 2, identifier)
    assert (world.outcomes, len(world.outgoing)) == (["ordered"] * 2, 0)
    # Then the next sequence begins.
    world.outgoing.send(message("transactional"))
    world.settle()
    assert numbers(world) == [(1, 0), (2, 1), (1, 0)]
    assert sequence_of(world).identifier.ordinal == identifier.ordinal + 1


@pytest.mark.rule("MQQB-3.1.6.5-2")
def test_what_has_an_order_ack_and_no_session_acknowledgment_is_sent_again_too() -> None:
    world = without_order_acks()
    for _ in range(2):
        world.outgoing.send(message("transactional"))
    client, server = world.wire.ends
    while not client.sent.messages:
        world.wire.step(5000)
    client.take()
    acknowledge(world, 1, sequence_of(world).identifier)
    world.timers.advance(world.timers.now + 30_000)
    server.feed(client.take())
    found = world.remote.delivery.sequence(SENDER, ORDERS_TX)
    assert found is not None
    assert (world.outcomes, found.number, bodies(world.orders_tx)) == ([], 2, [b"body"] * 2)


@pytest.mark.rule("MQQB-3.1.6.5-2")
def test_what_is_sent_again_waits_for_another_session_acknowledgment() -> None:
    world = without_order_acks(1)
    world.run(29_000)
    assert numbers(world) == [(1, 0)] * 2
    acknowledge(world, 1, sequence_of(world).identifier)
    assert world.outcomes == []
    world.run(500)
    assert world.outcomes == ["ordered"]


@pytest.mark.rule("MQQB-3.1.5.6-5", "MQQB-3.1.5.6-6")
def test_last_ack_takes_the_number_that_came() -> None:
    world = without_order_acks(2)
    sequence = sequence_of(world)
    world.outgoing.send(message("transactional", b"2"))
    world.settle()
    # The third has no session acknowledgment yet, so the sequence goes on.
    acknowledge(world, 9, sequence.identifier)
    info = sequence.transfer_info(START, 0)
    assert (info.eod_last_ack.seq_no, info.eod_no_ack_count, world.outcomes) == (9, 0, ["ordered"] * 2)
    world.outgoing.send(message("transactional", b"3"))
    world.settle()
    assert sequence.transfer_info(START, 0).eod_no_ack_count == 1
    acknowledge(world, 3, sequence.identifier)
    info = sequence.transfer_info(START, 0)
    assert (info.eod_last_ack.seq_no, info.eod_no_ack_count) == (9, 0)
    world.run(1000)
    # The fourth waits for an OrderAck that covers it.
    assert (world.outcomes, len(world.outgoing)) == (["ordered"] * 3, 1)
    acknowledge(world, 4, sequence.identifier)
    assert world.outcomes == ["ordered"] * 4


@pytest.mark.rule("MQQB-3.1.3.2-1", "MQQB-3.1.3.2-2")
def test_a_session_begins_with_the_first_interval_and_no_acknowledgment() -> None:
    world = without_order_acks(3)
    sequence = sequence_of(world)
    for number in (1, 2):
        acknowledge(world, number, sequence.identifier)
    assert (sequence.interval, sequence.acks, sequence.last_ack) == (2, 2, 2)
    world.wire.drop()
    world.run(5000)
    # The receiver says at once that it has the third. It leaves when this session has acknowledged it, too.
    assert (sequence.acks, sequence.interval, world.outcomes) == (1, 0, ["ordered"] * 2)
    world.run(500)
    assert world.outcomes == ["ordered"] * 3


@pytest.mark.rule("MQQB-3.1.5.6-10")
def test_a_final_ack_of_a_message_that_has_left_says_nothing_about_the_next_sequence() -> None:
    world = without_order_acks()
    first = world.sent(message("transactional", b"first", jp=1))
    world.run(1000)
    acknowledge(world, 1, sequence_of(world).identifier)
    world.outgoing.send(message("transactional", b"second"))
    world.run(1000)
    header = transaction_of(first)
    received = MessageClass.MQMSG_CLASS_ACK_RECEIVE
    queue = order_queue(SENDER, "", direct=False)
    packet = final_ack(queue, RECEIVER, first.packet, header, received)
    world.local.ledger.finally_acknowledged(as_ack(FinalAck, packet))
    acknowledge(world, 1, sequence_of(world).identifier)
    assert world.outcomes == ["ordered", "ordered"]
    assert journal(world.sender) == [b"first"]


@pytest.mark.rule("MQQB-3.1.5.6-12")
def test_an_order_ack_of_another_sequence_says_nothing(world: World) -> None:
    world.outgoing.send(message("transactional"))
    world.settle()
    acknowledge(world, 1, TxSequenceID(ordinal=9, time_stamp=9))
    assert world.outcomes == []


def test_an_order_ack_ahead_covers_what_was_sent_and_no_more() -> None:
    world = World(settings=BinarySettings(window_size=2))
    kept = [world.sent(message("transactional")) for _ in range(5)]
    while not world.wire.ends[0].sent.messages:
        world.wire.step(5000)
    header = transaction_of(kept[0])
    acknowledge(world, 0xFFFFFFFF, header.tx_sequence_id)
    assert [one.received_order_ack for one in kept] == [True, True, False, False, False]
    world.run(60_000)
    assert world.outcomes == ["ordered"] * 5
    assert bodies(world.orders_tx) == [b"body"] * 5


@pytest.mark.rule("MQQB-3.1.6.5-1", "MQQB-3.1.7.1.3-5")
def test_without_an_order_ack_messages_are_sent_again_in_growing_intervals() -> None:
    quiet = BinarySettings(order_ack_timeout=1 << 40, cleanup_interval=1 << 40)
    world = World(receiver_settings=quiet, settings=BinarySettings(cleanup_interval=1 << 40))
    world.outgoing.send(message("transactional", b"a"))
    world.outgoing.send(message("transactional", b"b"))
    world.run(100_000_000)
    times = [
        (record.time // 1_000_000_000 - START)
        for record in world.records
        if record.type == "user_message" and record.time and record.packet.transaction_header
    ]
    expected = [0]
    for seconds in (30, 30, 30, 300, 300, 300, 1800, 1800, 1800, 21_600, 21_600, 21_600, 21_600):
        expected.append(expected[-1] + seconds)
    assert times == [time for time in expected for _ in range(2)]
    assert set(numbers(world)) == {(1, 0), (2, 1)}
    assert bodies(world.orders_tx) == [b"a", b"b"]
    assert world.wire.up


@pytest.mark.rule("MQQB-3.1.7.1.2-1", "MQQB-3.1.7.1.2-2", "MQQB-3.1.7.1.2-4")
def test_a_message_that_expires_while_it_waits_is_not_sent(world: World) -> None:
    world.reachable = False
    asked: dict[str, Any] = {"acknowledge": ["na"], "admin_queue": ADMIN}
    world.outgoing.send(message(body=b"late", jn=1, time_to_reach_queue=10, **asked))
    world.outgoing.send(message("transactional", b"late tx", jn=1, time_to_reach_queue=10, **asked))
    world.outgoing.send(message(body=b"in time", time_to_reach_queue=20))
    world.timers.advance(11_000)
    world.reachable = True
    world.run(30_000)
    assert bodies(world.orders) == [b"in time"]
    assert world.outcomes == ["expired", "expired", "acknowledged"]
    assert classes(world.admin) == [MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT] * 2
    assert dead(world.sender) == [b"late"]
    assert dead(world.sender, transactional=True) == [b"late tx"]


@pytest.mark.rule("MQQB-3.1.7.1.3-6", "MQQB-3.1.7.1.6-2")
def test_what_expires_in_the_middle_of_a_sequence_leaves_no_gap(world: World) -> None:
    kept = [
        world.outgoing.send(
            message("transactional", b"%d" % number, time_to_reach_queue=60 if number == 1 else 0xFFFFFFFF)
        )
        for number in range(3)
    ]
    # All three were sent, the first arrives, and the rest only when the second is too late.
    assert all(kept)
    client, server = world.wire.ends
    while not client.sent.messages:
        server.feed(client.take())
        client.feed(server.take())
    whole = client.take()
    server.feed(whole[: len(whole) // 3])
    world.reachable = False
    world.wire.drop()
    world.timers.advance(61_000)
    world.reachable = True
    world.run(60_000)
    assert bodies(world.orders_tx) == [b"0", b"2"]
    assert numbers(world) == [(1, 0), (3, 1)]
    assert world.outcomes == ["expired", "ordered", "ordered"]
    assert [(one.number, one.previous) for one in world.story().streams[0].bridges] == [(3, 1)]


@pytest.mark.rule("MQQB-3.1.5.5.4-1")
@pytest.mark.parametrize("kind", ["express", "recoverable"])
def test_an_acknowledged_message_is_journaled_where_its_sender_wants_it(world: World, kind: Any) -> None:
    world.outgoing.send(message(kind, b"kept", jp=1))
    world.outgoing.send(message(kind, b"not kept"))
    world.run(30_000)
    assert journal(world.sender) == [b"kept"]


@pytest.mark.rule("MQQB-3.1.5.7-2", "MQQB-3.1.5.7-3")
@pytest.mark.parametrize(
    ("class_", "outcome", "journaled", "died"),
    [
        (MessageClass.MQMSG_CLASS_ACK_RECEIVE, "received", 1, 0),
        (MessageClass.MQMSG_CLASS_NACK_Q_PURGED, "refused", 0, 1),
    ],
)
def test_a_final_ack_decides_also_before_the_order_ack(
    world: World, class_: int, outcome: str, journaled: int, died: int
) -> None:
    sent = world.sent(message("transactional", jn=1, jp=1))
    world.settle()
    header = transaction_of(sent)
    packet = final_ack(order_queue(SENDER, "", direct=False), RECEIVER, sent.packet, header, class_)
    for _ in range(2):
        world.local.ledger.finally_acknowledged(as_ack(FinalAck, packet))
    assert (world.outcomes, sent.final_class) == ([outcome], class_)
    assert len(journal(world.sender)) == journaled
    assert len(dead(world.sender, transactional=True)) == died
    world.run(60_000)
    assert world.outcomes == [outcome]
    assert len(world.outgoing) == 0


@pytest.mark.rule("MQQB-3.1.5.7-4")
def test_a_final_ack_about_another_queue_manager_says_nothing(world: World) -> None:
    sent = world.sent(message("transactional", jn=1))
    header = transaction_of(sent)
    user = replace(sent.packet.user_header, source_queue_manager=RECEIVER)
    other = replace(sent.packet, user_header=user)
    queue = order_queue(SENDER, "", direct=False)
    packet = final_ack(queue, RECEIVER, other, header, MessageClass.MQMSG_CLASS_ACK_RECEIVE)
    world.local.ledger.finally_acknowledged(as_ack(FinalAck, packet))
    assert world.outcomes == []


def test_a_full_queue_takes_nothing_more_until_something_left() -> None:
    ledger = Ledger(queue_manager("sender", SENDER, Timers()), BinarySettings())
    budget = ByteQuota(most=10_000)
    queue = TransmissionQueue(ledger, budget=budget)
    other = TransmissionQueue(ledger, budget=budget)
    first = queue.send(message())
    while other.send(message()):
        pass
    assert first is not None
    assert len(queue) + len(other) == 4
    for _ in range(2):
        queue.withdraw(first)
        assert len(queue) + len(other) == 3
    assert other.send(message()) is not None
    other.clear()
    assert (budget.used, len(other)) == (0, 0)


def test_what_waits_for_who_came_first_gives_way(world: World) -> None:
    queues = []
    for number in range(3):
        session = world.remote.accept()
        session.remote_queue_manager = GUID((number + 1).to_bytes(16, "little"))
        queues.append(world.remote.opened(session))
        assert world.remote.opened(session) is queues[-1]
        for _ in range(3):
            queues[-1].send(message(body=bytes(4_000_000)))
    # The third comes when more than half of the room is taken.
    assert [len(queue) for queue in queues] == [0, 3, 3]


@pytest.mark.rule("MQQB-3.1.5.2.3-5")
def test_a_session_by_address_takes_whoever_is_there(world: World) -> None:
    world.open()
    world.run(30_000)
    world.wire.drop()
    other = GUID.parse("00000000-0000-4000-8000-000000000001")
    world.receiver.identifier = other
    world.outgoing.send(message(body=b"to another"))
    world.run(30_000)
    requests = [
        record.packet.establish_connection_header.server_guid
        for record in world.records
        if record.type == "establish_connection"
    ]
    assert requests == [GUID(bytes(16)), RECEIVER, GUID(bytes(16)), other]
    assert bodies(world.orders) == [b"body", b"to another"]


@pytest.mark.rule("MQQB-3.1.7.1-3")
def test_the_newest_session_of_a_queue_manager_gets_what_waits_for_it() -> None:
    world = World(settings=BinarySettings(send_insecure_nacks=True))
    asked: dict[str, Any] = {"acknowledge": ["pa"], "admin_queue": ADMIN}
    world.outgoing.send(message(**asked))
    while not bodies(world.orders):
        world.wire.step(5000)
    # The other side does not hear of the end of the first connection.
    world.wire.up = False
    world.wire.ends[0].disconnected()
    world.run(30_000)
    assert len(world.wires) == 2
    assert classes(world.admin) == [MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE]
    assert bodies(world.orders) == [b"body"]
