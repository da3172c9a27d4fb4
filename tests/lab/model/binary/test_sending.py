"""Messages for other queue managers, from an application to the queue there. [MS-MQQB] 3.1.7.12"""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.lab.model.binary.sending import Sending
from msmq_wire.lab.model.data.elements import (
    ModelQueueManager,
    OpenQueueDescriptor,
    OutgoingQueue,
    OutgoingTransferInfo,
    Queue,
)
from msmq_wire.lab.model.data.enumerations import OutgoingQueueState, QueueAccessType
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.events.enqueue import enqueue_message_to_an_open_queue
from msmq_wire.lab.model.events.message import dequeue_message, purge_queue
from msmq_wire.lab.model.events.queue import (
    pause_queue,
    queue_to_manage,
    resend_transactional_sequence,
    resume_queue,
)
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.lab.model.qmcomm.sent_message import sent_message
from msmq_wire.rpc.constants import ConnectionStatus
from msmq_wire.rpc.management_properties import TransferSource
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.enumerations import MessageClass
from tests.lab.model.binary.world import (
    ADMIN,
    ORDERS,
    ORDERS_TX,
    SENDER,
    START,
    Kind,
    World,
    bodies,
    classes,
    dead,
    message,
)
from tests.lab.model.events.scene import Told
from tests.lab.model.scene import open_descriptor

BY_ADDRESS = "DIRECT=TCP:192.0.2.10\\private$\\orders"
BY_ADDRESS_TX = f"{BY_ADDRESS}_tx"
UOW = b"a unit of work.."
SEND, ADMINISTER = QueueAccessType.SEND_ACCESS, QueueAccessType.RECEIVE_ADMIN_ACCESS


class Scene(World):
    """The sender's outgoing queues lead to the receiver; ``reasons`` has why messages left them."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.receiver.addresses = ("192.0.2.10",)
        self.wanted: list[str] = []
        self.sending = Sending(self.local, self._connect)
        self.reasons: list[int] = []
        self.sender.position_deleted.append(self._deleted)

    def _connect(self, outgoing: Any) -> None:
        self.wanted.append(outgoing.remote_host_name)
        self.connect(outgoing)

    def _deleted(self, queue: Any, position: Any, reason: int) -> None:
        if isinstance(queue, OutgoingQueue):
            self.reasons.append(reason)

    def opened(self, name: str = ORDERS, access: QueueAccessType = SEND) -> OpenQueueDescriptor:
        return open_descriptor(self.sender, name, access)

    def send(self, body: bytes = b"body", name: str = ORDERS, kind: Kind = "express", **more: Any) -> None:
        """What an application sends to a queue of another queue manager."""
        made = message_of(message(kind, body, queue=name, **more))
        assert enqueue_message_to_an_open_queue(self.opened(name), made) == 0
        self.settle()

    def waiting(self, name: str = ORDERS) -> list[bytes]:
        """The bodies in the outgoing queue of a name."""
        queue = self.opened(name).queue_reference
        assert isinstance(queue, OutgoingQueue)
        return bodies(queue)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.rule(
    "MQQB-3.1.7.1-4", "MQQB-3.1.7.1.1-2", "MQQB-3.1.7.1.6-1", "MQQB-3.1.7.12-4", "MQQB-3.1.7.16-1"
)
@pytest.mark.parametrize("kind", ["express", "recoverable", "transactional"])
def test_a_message_for_another_queue_manager_arrives_there_and_leaves_its_outgoing_queue(kind: Kind) -> None:
    scene = Scene()
    name = ORDERS_TX if kind == "transactional" else ORDERS
    scene.send(name=name, kind=kind)
    assert bodies(scene.orders_tx if kind == "transactional" else scene.orders) == [b"body"]
    assert (scene.waiting(name), scene.sender.total_bytes > 0) == ([b"body"], True)
    scene.run(60_000)
    assert scene.waiting(name) == []
    assert scene.sender.total_bytes == 0
    assert scene.reasons == [MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE]


@pytest.mark.rule("MQQB-3.1.7.1-1", "MQQB-3.1.7.12-3")
def test_what_is_sent_waits_until_the_other_queue_manager_can_be_reached(scene: Scene) -> None:
    scene.reachable = False
    for number in range(3):
        scene.send(b"%d" % number)
    assert (scene.waiting(), bodies(scene.orders)) == ([b"0", b"1", b"2"], [])
    scene.reachable = True
    scene.run(60_000)
    assert (scene.waiting(), bodies(scene.orders)) == ([], [b"0", b"1", b"2"])


@pytest.mark.rule("MQQB-3.1.5.2.1-1", "MQQB-3.1.5.2.1-2", "MQQB-3.1.5.2.1-3", "MQQB-3.1.7.4-1")
def test_one_session_leads_to_an_address_whatever_queues_are_named_there(scene: Scene) -> None:
    scene.send(b"1")
    scene.send(b"2", "DIRECT=OS:RECEIVER\\private$\\Orders")
    scene.send(b"3", "DIRECT=OS:receiver\\private$\\orders_tx", "transactional")
    assert scene.wanted == ["receiver"]
    scene.send(b"4", BY_ADDRESS)
    assert scene.wanted == ["receiver", "192.0.2.10"]
    assert bodies(scene.orders) == [b"1", b"2", b"4"]


def test_addresses_to_which_nothing_leads_any_more_are_forgotten(scene: Scene) -> None:
    scene.send()
    scene.run(600_000)
    scene.send(name=BY_ADDRESS)
    scene.send(b"again")
    assert scene.wanted == ["receiver", "192.0.2.10", "receiver"]
    assert bodies(scene.orders) == [b"body", b"body", b"again"]


@pytest.mark.rule("MQQB-3.1.7.11-1")
@pytest.mark.parametrize("commits", [True, False])
def test_what_is_sent_in_a_transaction_goes_when_it_commits(scene: Scene, commits: bool) -> None:
    transaction = create_transaction(scene.sender, UOW)
    properties = MessageProperties(
        body=b"body",
        identifier=ObjectId(lineage=SENDER, uniquifier=scene.sender.new_message_id()),
        transaction_identifier=ObjectId(lineage=SENDER, uniquifier=5),
        first_in_transaction=True,
        last_in_transaction=True,
        delivery_guarantee=1,
        priority=0,
        destination_queue_format_name=ORDERS_TX,
    )
    made = sent_message(properties, scene.sender, transaction)
    assert enqueue_message_to_an_open_queue(scene.opened(ORDERS_TX), made, transaction) == 0
    scene.settle()
    assert scene.wanted == []
    (transaction_commit if commits else transaction_abort)(scene.sender, UOW)
    scene.run(60_000)
    assert bodies(scene.orders_tx) == [b"body"] * commits


@pytest.mark.rule("MQQB-3.1.7.12-1")
@pytest.mark.parametrize(
    "name",
    [
        "DIRECT=HTTP://receiver/msmq/private$/orders",
        "MULTICAST=234.1.1.1:8001",
        "PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\00000001",
    ],
)
def test_what_the_binary_protocol_does_not_carry_or_cannot_find_stays(scene: Scene, name: str) -> None:
    made = message_of(message())
    assert enqueue_message_to_an_open_queue(scene.opened(name), made) == 0
    scene.run()
    assert (scene.wanted, scene.waiting(name)) == ([], [b"body"])


@pytest.mark.rule("MQQB-3.1.7.12-1")
def test_a_locked_queue_sends_nothing(scene: Scene) -> None:
    scene.sender.hardened_security = True
    scene.send()
    scene.run()
    assert (scene.wanted, scene.waiting()) == ([], [b"body"])


def test_a_packet_that_is_none_stays_where_it_is(scene: Scene) -> None:
    made = message_of(message())
    made.packet = b"no packet"
    assert enqueue_message_to_an_open_queue(scene.opened(), made) == 0
    assert scene.wanted == []


def test_who_takes_a_message_out_has_taken_it_back(scene: Scene) -> None:
    scene.reachable = False
    scene.send(b"1")
    scene.send(b"2")
    scene.send(b"3", ORDERS_TX, "transactional")
    scene.send(b"4", ORDERS_TX, "transactional")
    for name in (ORDERS, ORDERS_TX):
        reported = Told()
        dequeue_message(scene.opened(name, ADMINISTER), reported, timeout=0)
        assert reported.status == Status.MQ_OK
    scene.reachable = True
    scene.run(60_000)
    assert (bodies(scene.orders), bodies(scene.orders_tx)) == ([b"2"], [b"4"])


def test_a_purged_outgoing_queue_sends_nothing_and_tells_nobody(scene: Scene) -> None:
    scene.reachable = False
    scene.send(admin_queue=ADMIN, acknowledge=("pa", "na", "pr", "nr"))
    queue = scene.opened().queue_reference
    assert queue is not None
    purge_queue(queue)
    scene.reachable = True
    scene.run(60_000)
    assert (bodies(scene.orders), bodies(scene.admin)) == ([], [])


@pytest.mark.rule("MQQB-3.1.7.1.2-3")
def test_what_came_too_late_to_be_sent_is_told_once(scene: Scene) -> None:
    scene.reachable = False
    scene.send(admin_queue=ADMIN, acknowledge=("na", "nr"), time_to_reach_queue=60, sent_time=1_795_166_047)
    scene.run(120_000)
    scene.reachable = True
    scene.send(b"later")
    scene.run(60_000)
    assert (bodies(scene.orders), scene.waiting()) == ([b"later"], [])
    assert classes(scene.admin) == [MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT]
    assert MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT in scene.reasons


@pytest.mark.parametrize("kind", ["express", "recoverable", "transactional"])
def test_what_is_too_late_is_told_also_where_nobody_can_be_reached(scene: Scene, kind: Kind) -> None:
    scene.reachable = False
    asked: dict[str, Any] = {"admin_queue": ADMIN, "acknowledge": ("na",), "jn": 1}
    scene.send(kind=kind, time_to_reach_queue=60, **asked)
    scene.send(b"in time", time_to_reach_queue=600)
    scene.timers.advance(60_000)
    assert classes(scene.admin) == []
    scene.timers.advance(62_000)
    assert classes(scene.admin) == [MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT]
    assert (scene.waiting(), scene.reasons) == ([b"in time"], [0x8002])
    assert dead(scene.sender, transactional=kind == "transactional") == [b"body"]
    scene.reachable = True
    scene.run(600_000)
    assert bodies(scene.orders) == [b"in time"]
    assert len(classes(scene.admin)) == 1


def test_what_was_sent_in_time_is_not_too_late_before_its_session_is_lost(scene: Scene) -> None:
    scene.send(time_to_reach_queue=1, admin_queue=ADMIN, acknowledge=("na",), kind="recoverable")
    scene.timers.advance(3_000)
    assert scene.reasons == []
    scene.reachable = False
    scene.wire.drop()
    scene.timers.advance(4_000)
    assert scene.reasons == [MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT]
    assert classes(scene.admin) == [MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT]


def test_what_is_too_late_when_a_session_is_open_leaves_its_queue_at_once(scene: Scene) -> None:
    scene.send(b"first")
    made = message_of(message(body=b"late", time_to_reach_queue=10, sent_time=1_795_166_000))
    made.sent_time = 0
    assert enqueue_message_to_an_open_queue(scene.opened(), made) == 0
    assert scene.reasons == [MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT]
    assert scene.waiting() == [b"first"]


def test_a_refused_transactional_message_leaves_with_the_class_of_its_final_ack(scene: Scene) -> None:
    scene.send(name="DIRECT=OS:receiver\\private$\\nowhere", kind="transactional", jn=1)
    scene.run(60_000)
    assert scene.reasons == [MessageClass.MQMSG_CLASS_NACK_BAD_DST_Q]


@pytest.mark.rule("MQQB-3.1.7.16-2")
def test_a_message_that_is_put_back_is_not_sent_twice(scene: Scene) -> None:
    scene.reachable = False
    scene.send()
    transaction = create_transaction(scene.sender, UOW)
    descriptor = scene.opened(ORDERS, ADMINISTER)
    dequeue_message(descriptor, lambda *_: None, timeout=0, transaction=transaction)
    transaction_abort(scene.sender, UOW)
    scene.reachable = True
    scene.run(60_000)
    assert bodies(scene.orders) == [b"body"]


def test_what_applications_send_and_what_the_queue_manager_sends_have_numbers_of_one_row() -> None:
    scene = Scene()
    numbers = [scene.sender.new_message_id()]
    numbers += [scene.sent().message_id, scene.sender.new_message_id()]
    assert numbers == [1, 2, 3]


def display(manager: ModelQueueManager, name: str) -> Queue:
    """A queue as an administrator would see it now."""
    queue = queue_to_manage(manager, FormatName.parse(name))
    assert queue is not None
    for reported in manager.looked_at:
        reported(queue)
    return queue


def sending(scene: Scene, name: str = ORDERS_TX) -> tuple[OutgoingQueue, OutgoingTransferInfo]:
    """The outgoing queue of a name, and how far it is."""
    queue = display(scene.sender, name)
    assert isinstance(queue, OutgoingQueue)
    return queue, queue.outgoing_transfer_info_reference


@pytest.mark.rule(
    "MQQB-3.1.1.5-1",
    "MQQB-3.1.5.4.2-3",
    "MQQB-3.1.5.4.2-7",
    "MQQB-3.1.5.6-13",
    "MQQB-3.1.5.6-14",
    "MQQB-3.1.5.6-15",
    "MQQB-3.1.5.8.6-8",
    "MQQB-3.1.5.8.8-8",
    "MQQB-3.1.5.8.8-9",
    "MQQB-3.1.5.8.8-10",
    "MQQB-3.1.5.8.8-12",
    "MQQB-3.1.7.1.3-4",
)
def test_an_administrator_sees_how_far_a_sequence_is_at_both_ends() -> None:
    scene = Scene()
    scene.send(b"one", BY_ADDRESS_TX, "transactional", jn=1)
    scene.send(b"two", BY_ADDRESS_TX, "transactional")
    queue, info = sending(scene, BY_ADDRESS_TX)
    assert (queue.state, queue.next_hops) == (OutgoingQueueState.CONNECTED, ("IP=192.0.2.10",))
    identifier = info.eod_next_seq.seq_id
    assert info == OutgoingTransferInfo(
        eod_first_non_ack=SequenceInfo(seq_id=identifier, seq_no=1, prev_no=0),
        eod_last_non_ack=SequenceInfo(seq_id=identifier, seq_no=2, prev_no=1),
        eod_next_seq=SequenceInfo(seq_id=identifier, seq_no=3, prev_no=2),
        eod_no_ack_count=2,
        eod_resend_interval=30,
        eod_resend_time=START + 30,
    )
    (source,) = display(scene.receiver, ORDERS_TX).incoming_transactional_transfer_info_collection
    assert source == TransferSource(
        format_name=BY_ADDRESS_TX,
        sender_identifier=SENDER,
        sequence_identifier=identifier,
        sequence_number=2,
        last_access_time=START,
    )

    scene.run(2_000)
    info = sending(scene, BY_ADDRESS_TX)[1]
    assert (info.eod_no_ack_count, info.eod_no_read_count, info.eod_last_ack_count) == (0, 1, 1)
    assert info.eod_last_ack == SequenceInfo(seq_id=identifier, seq_no=2, prev_no=1)
    assert START <= info.eod_last_ack_time <= START + 2
    assert info.eod_next_seq == SequenceInfo(seq_id=identifier + 1, seq_no=1, prev_no=0)
    assert info.eod_resend_time == 0
    scene.send(b"three", BY_ADDRESS_TX, "transactional")
    (source,) = display(scene.receiver, ORDERS_TX).incoming_transactional_transfer_info_collection
    assert (source.sequence_identifier, source.sequence_number) == (identifier + 1, 1)
    assert source.last_access_time == START + 2


@pytest.mark.rule(
    "MQQB-3.1.5.2-2",
    "MQQB-3.1.5.2-3",
    "MQQB-3.1.5.2.3-10",
    "MQQB-3.1.5.2.3-12",
    "MQQB-3.1.5.3.2-7",
    "MQQB-3.1.5.4.2-6",
)
def test_a_queue_that_cannot_connect_waits_and_one_without_a_way_is_inactive() -> None:
    scene = Scene()
    scene.reachable = False
    scene.send(name=ORDERS)
    assert sending(scene, ORDERS)[0].state is OutgoingQueueState.WAITING
    assert sending(scene, ORDERS)[0].next_hops == ()
    (failed,) = sending(scene, ORDERS)[0].connection_history
    assert (failed.status, failed.time) == (ConnectionStatus.UNKNOWN_FAILURE, START)
    assert failed.error == Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE
    scene.reachable = True
    scene.run(10_000)
    *_, tried, received, open_ = sending(scene, ORDERS)[0].connection_history
    assert (tried.status, open_.status) == (ConnectionStatus.IN_PROCESS, ConnectionStatus.ESTABLISHED)
    assert received.status == ConnectionStatus.ESTABLISH_PACKET_RECEIVED
    assert tried.error == received.error == open_.error == 0
    # One session leads to all queues of a computer.
    scene.opened(f"{ORDERS}_far")
    assert sending(scene, f"{ORDERS}_far")[0].state is OutgoingQueueState.CONNECTED
    scene.opened("DIRECT=OS:nowhere\\private$\\orders")
    assert sending(scene, "DIRECT=OS:nowhere\\private$\\orders")[0].state is OutgoingQueueState.INACTIVE


@pytest.mark.rule(
    "MQQB-3.1.5.2-2",
    "MQQB-3.1.5.2.1-7",
    "MQQB-3.1.5.2.3-10",
    "MQQB-3.1.5.3.2-7",
    "MQQB-3.1.5.4.2-3",
    "MQQB-3.1.5.4.2-6",
    "MQMR-3.1.4.1-32",
)
def test_a_next_hop_with_a_name_is_shown_by_its_addresses_and_once_connected_by_one() -> None:
    scene, ways = Scene(), list[TransmissionQueue]()
    scene.connect = ways.append  # type: ignore[assignment, method-assign]  # here the name is resolved, as a dialer does
    scene.send(name=ORDERS)
    (way,) = ways
    way.addresses = ("192.0.2.9", "192.0.2.10", "fe80::10%2")
    way.failed(ConnectionStatus.SOCKET_CONNECT_FAILURE)
    queue = sending(scene, ORDERS)[0]
    assert queue.state is OutgoingQueueState.WAITING
    assert queue.next_hops == ("IP=192.0.2.9", "IP=192.0.2.10", "IPv6=fe80::10")
    World.connect(scene, way)
    scene.settle()
    queue = sending(scene, ORDERS)[0]
    assert (queue.state, queue.next_hops) == (OutgoingQueueState.CONNECTED, ("IP=192.0.2.10",))
    assert [(one.status, one.addresses) for one in queue.connection_history] == [
        (ConnectionStatus.SOCKET_CONNECT_FAILURE, ("192.0.2.9",)),
        (ConnectionStatus.IN_PROCESS, ("192.0.2.10",)),
        (ConnectionStatus.ESTABLISH_PACKET_RECEIVED, ("192.0.2.10",)),
        (ConnectionStatus.ESTABLISHED, ("192.0.2.10",)),
    ]


@pytest.mark.rule("MQQB-3.1.5.2.1-7", "MQQB-3.1.5.2-2")
def test_a_name_is_resolved_anew_for_each_attempt() -> None:
    scene, ways = Scene(), list[TransmissionQueue]()
    scene.connect = ways.append  # type: ignore[assignment, method-assign]  # nothing is connected
    scene.send(name=ORDERS)
    ways[0].addresses = ("192.0.2.9",)
    ways[0].failed(ConnectionStatus.SOCKET_CONNECT_FAILURE)
    scene.run(10_000)
    assert len(ways) == 2
    ways[1].failed(ConnectionStatus.DNS_FAILURE)
    queue = sending(scene, ORDERS)[0]
    assert queue.next_hops == ()
    assert [one.addresses for one in queue.connection_history] == [("192.0.2.9",), ()]


@pytest.mark.rule("MQQB-3.1.5.2-3")
def test_why_there_is_no_connection_stands_in_its_history() -> None:
    scene = Scene()
    scene.remote.accepting = False
    scene.send(name=ORDERS)
    assert sending(scene, ORDERS)[0].connection_history[-1].status == ConnectionStatus.CONNECTION_REFUSED


@pytest.mark.rule("MQQB-3.1.7.12-1", "MQQB-3.1.7.13-5", "MQQB-3.1.7.14-1", "MQQB-3.1.7.14-2")
def test_what_is_paused_comes_back_from_its_way_and_goes_when_it_is_resumed() -> None:
    scene = Scene()
    scene.reachable = False
    scene.send(b"1", name=ORDERS)
    queue = sending(scene, ORDERS)[0]
    pause_queue(queue)
    scene.reachable = True
    scene.send(b"2", name=ORDERS)
    scene.run(60_000)
    assert bodies(scene.orders) == []
    assert scene.waiting() == [b"1", b"2"]
    resume_queue(queue)
    scene.run(60_000)
    assert bodies(scene.orders) == [b"1", b"2"]


@pytest.mark.rule("MQQB-3.1.7.13-1", "MQQB-3.1.7.13-2", "MQQB-3.1.7.13-3", "MQQB-3.1.7.13-4")
def test_who_pauses_a_queue_tells_the_other_side_to_send_one_at_a_time() -> None:
    scene = Scene()
    # Its acknowledgment comes back in the session, and is not acknowledged yet.
    scene.send(name=ORDERS, kind="recoverable", acknowledge=("pa",), admin_queue=ADMIN)
    assert classes(scene.admin) == [MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE]
    pause_queue(sending(scene, ORDERS)[0])
    scene.run(299_000)
    (header,) = [
        record.packet.session_header
        for record in scene.records
        if record.type == "session_ack" and (record.dst or "").endswith(":1801")
    ]
    assert (header.window_size, header.ack_sequence_number, header.user_msg_sequence_number) == (1, 1, 1)
    assert (header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags) == (1, 1)
    client, server = scene.wire.ends
    assert (server.received_window_size, client.closed) == (1, False)
    scene.run(1000)
    assert client.close_reason == "idle"


@pytest.mark.rule("MQQB-3.1.5.9-1", "MQQB-3.1.7.1.3-14")
def test_a_queue_whose_session_was_idle_is_disconnected() -> None:
    scene = Scene()
    scene.send(name=ORDERS)
    scene.run(300_000)
    assert sending(scene, ORDERS)[0].state is OutgoingQueueState.CONNECTED
    scene.run(300_000)
    assert scene.wire.ends[0].close_reason == "idle"
    assert sending(scene, ORDERS)[0].state is OutgoingQueueState.DISCONNECTED


def test_a_sequence_that_is_wanted_again_comes_twice_and_is_kept_once() -> None:
    scene = Scene()
    scene.send(b"one", ORDERS_TX, "transactional")
    before = scene.types(0).count("user_message")
    resend_transactional_sequence(sending(scene)[0])
    scene.settle()
    assert scene.types(0).count("user_message") == before + 1
    assert bodies(scene.orders_tx) == [b"one"]
