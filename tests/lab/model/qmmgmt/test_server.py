"""The rules of qmmgmt: what is told of a computer and of its queues, and what they can be made to do."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.binary.outgoing import TransmissionQueue as Way
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.sending import Sending
from msmq_wire.lab.model.data.elements import ModelMessage, OutgoingTransferInfo
from msmq_wire.lab.model.data.enumerations import (
    AdministrativeAction,
    ModelQueueType,
    OutgoingQueueState,
    PositionState,
    QueueAccessType,
    QueueShareMode,
)
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.queue import find_queue
from msmq_wire.rpc.constants import MgmtObjectType
from msmq_wire.rpc.interfaces.qmmgmt import QMMgmtActionRequest, QMMgmtGetInfoRequest
from msmq_wire.rpc.management_properties import NO_VALUE, ConnectionAttempt, TransferSource
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmmgmt.scene import FAR, MACHINE, ORDERS, QUEUE, Scene, type_of
from tests.lab.model.scene import make_packet, make_queue, open_descriptor, position, put
from tests.rules import rule_table

_SESSION = MgmtObject(type=MgmtObjectType.MGMT_SESSION)
_NO_QUEUE = MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=None)
_NAMELESS = MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=QueueFormat())
_SENDER = GUID(b"another manager.")
_INFO = OutgoingTransferInfo(
    eod_first_non_ack=SequenceInfo(seq_id=9, seq_no=4, prev_no=3),
    eod_last_ack=SequenceInfo(seq_id=9, seq_no=3, prev_no=2),
    eod_last_ack_count=2,
    eod_last_ack_time=1_700_000_100,
    eod_last_non_ack=SequenceInfo(seq_id=9, seq_no=6, prev_no=5),
    eod_next_seq=SequenceInfo(seq_id=9, seq_no=7, prev_no=6),
    eod_no_ack_count=3,
    eod_no_read_count=8,
    eod_resend_count=1,
    eod_resend_interval=30,
    eod_resend_time=1_700_000_130,
)


def asking(what: MgmtObject, *propids: int, room: PropVariant = NO_VALUE) -> QMMgmtGetInfoRequest:
    """A question as a client that checks nothing would put it."""
    return QMMgmtGetInfoRequest(
        p_object_format=what, cp=len(propids), a_prop=propids, ap_var=(room,) * len(propids)
    )


def refused(scene: Scene, request: QMMgmtGetInfoRequest) -> int | None:
    """The status of a question that fails, and leaves the values as they were."""
    answer = scene.client.call("R_QMMgmtGetInfo", request)
    assert answer.fault is None
    assert answer.response.ap_var == request.ap_var
    return answer.status


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.rule("MQMR-3-1")
def test_who_is_no_administrator_is_refused() -> None:
    scene = Scene(permits=lambda association, action: action == "ask" and association.number == 2)
    assert refused(scene, asking(MgmtObject(), 4)) == Status.MQ_ERROR_ACCESS_DENIED
    assert scene.act("DISCONNECT") == Status.MQ_ERROR_ACCESS_DENIED
    assert scene.manager.connection_active


@pytest.mark.rule("MQMR-3.1.4.1-3")
def test_what_stands_in_the_room_for_values_is_of_no_interest(scene: Scene) -> None:
    asked = asking(MgmtObject(), 4, room=PropVariant(vt=BodyType.VT_UI4, arm=5))
    (value,) = scene.client.call("R_QMMgmtGetInfo", asked).response.ap_var
    assert value.arm == WcharText.of("CONNECTED")


@rule_table(
    "what, propid, status",
    ("MQMR-3.1.4.1-4", _SESSION, 1, Status.MQ_ERROR_INVALID_PARAMETER),
    ("MQMR-3.1.4.1-5", MgmtObject(), 7, Status.MQ_ERROR_ILLEGAL_PROPID),
    ("MQMR-3.1.4.1-6", _NO_QUEUE, 28, Status.MQ_ERROR_ILLEGAL_PROPID),
    ("MQMR-3.1.4.1-7", _NO_QUEUE, 7, Status.MQ_ERROR_ILLEGAL_FORMATNAME),
    ("MQMR-3.1.4.1-7", _NAMELESS, 7, Status.MQ_ERROR_ILLEGAL_FORMATNAME),
)
@pytest.mark.rule("MQMR-3.1.4.1-9")
def test_a_question_that_cannot_be_answered_leaves_the_values_as_they_were(
    what: MgmtObject, propid: int, status: int
) -> None:
    assert refused(Scene(), asking(what, propid)) == status


@pytest.mark.rule("MQMR-3.1.4.1-8")
def test_a_queue_is_asked_about_without_being_opened_or_made(scene: Scene) -> None:
    gone = MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=QueueFormat.of(FormatName.parse(ORDERS + ";late")))
    assert refused(scene, asking(gone, 7)) == Status.MQ_ERROR_QUEUE_NOT_FOUND
    assert scene.queue.subqueue_collection == []
    open_descriptor(scene.manager, ORDERS, QueueAccessType.RECEIVE_ACCESS, QueueShareMode.DENY_RECEIVE)
    assert scene.get(7, ORDERS) == 0
    assert len(scene.queue.open_queue_descriptor_collection) == 1


@pytest.mark.rule("MQMR-3.1.4.1-10", "MQMR-3.1.4.1-11", "MQMR-3.1.4.1-13", "MQMR-3.1.4.1-14")
@pytest.mark.parametrize(
    ("kind", "name", "propids"),
    [(MACHINE, None, range(1, 7)), (QUEUE, ORDERS, range(1, 28)), (QUEUE, FAR, range(1, 28))],
)
def test_every_property_has_its_type_or_no_value(kind: Any, name: str | None, propids: range) -> None:
    scene = Scene()
    scene.outgoing()
    for propid in propids:
        assert scene.raw(propid, name).vt in (type_of(propid, kind), BodyType.VT_NULL)


@pytest.mark.rule("MQMR-3.1.4.1-15", "MQMR-3.1.4.1-16")
def test_the_computer_tells_its_active_and_its_private_queues(scene: Scene) -> None:
    far = scene.outgoing()
    assert scene.get(1) == ()
    assert scene.get(2) == ("host\\private$\\orders",)
    open_descriptor(scene.manager, ORDERS, QueueAccessType.PEEK_ACCESS)
    put(far)
    assert scene.get(1) == (ORDERS, FAR)


@pytest.mark.rule("MQMR-3.1.4.1-17")
def test_the_directory_server_is_the_first_one_with_two_backslashes(scene: Scene) -> None:
    scene.manager.directory_server_list = ("DC01", "DC02")
    assert scene.raw(3) == NO_VALUE
    scene.manager.directory_integrated = True
    assert scene.get(3) == "\\\\DC01"
    scene.manager.directory_server_list = ()
    assert scene.get(3) is None


@pytest.mark.rule("MQMR-3.1.4.1-12", "MQMR-3.1.4.1-18", "MQMR-3.1.4.1-19", "MQMR-3.1.4.2-8", "MQMR-3.1.4.2-9")
def test_the_computer_is_connected_until_it_is_told_otherwise(scene: Scene) -> None:
    assert (scene.get(4), scene.get(5)) == ("CONNECTED", "")
    assert scene.act("DISCONNECT") == Status.MQ_OK
    assert scene.get(4) == "DISCONNECTED"
    assert scene.act("CONNECT") == Status.MQ_OK
    assert scene.get(4) == "CONNECTED"


@pytest.mark.rule("MQMR-3.1.4.1-20", "MQMR-3.1.4.1-27", "MQMR-3.1.4.1-28")
def test_messages_and_bytes_are_counted(scene: Scene) -> None:
    first = put(scene.queue, b"one")
    put(scene.queue, b"two")
    put(make_queue(scene.manager, "bills"), b"three")
    assert scene.get(7, ORDERS) == 2
    assert scene.get(8, ORDERS) == scene.queue.total_bytes > 0
    assert scene.get(6) == sum(one.total_bytes for one in scene.manager.queue_collection.values())
    position(first).state = PositionState.DELETED
    assert scene.get(7, ORDERS) == 1


@pytest.mark.rule("MQMR-3.1.4.1-29", "MQMR-3.1.4.1-30")
def test_a_journal_is_counted_and_its_bytes_while_the_queue_keeps_one(scene: Scene) -> None:
    journal = scene.queue.journal_queue_reference
    assert journal is not None
    put(journal, b"kept")
    assert (scene.get(9, ORDERS), scene.get(10, ORDERS)) == (1, 0)
    scene.queue.journaling = True
    assert scene.get(10, ORDERS) == journal.total_bytes
    scene.queue.journal_queue_reference = None
    assert (scene.get(9, ORDERS), scene.get(10, ORDERS)) == (0, 0)


@pytest.mark.rule("MQMR-3.1.4.1-21", "MQMR-3.1.4.1-22", "MQMR-3.1.4.1-24", "MQMR-3.1.4.1-31")
def test_a_queue_tells_its_names_and_where_it_is(scene: Scene) -> None:
    scene.manager.qualified_computer_name = "host.example"
    assert [scene.get(propid, ORDERS) for propid in (1, 2, 4, 11)] == [
        "host\\private$\\orders",
        "DIRECT=OS:host.example\\private$\\orders",
        "LOCAL",
        "LOCAL CONNECTION",
    ]
    scene.outgoing()
    assert [scene.get(propid, FAR) for propid in (1, 2, 4, 11)] == [FAR, FAR, "REMOTE", "INACTIVE"]


@pytest.mark.rule("MQMR-3.1.4.1-23", "MQMR-3.1.4.1-25")
def test_a_queue_tells_its_type_and_whether_it_is_transactional(scene: Scene) -> None:
    for kind, text in (
        (ModelQueueType.PUBLIC, "PUBLIC"),
        (ModelQueueType.PRIVATE, "PRIVATE"),
        (ModelQueueType.SYSTEM, "MACHINE"),
        (ModelQueueType.CONNECTOR, "CONNECTOR"),
    ):
        scene.queue.queue_type = kind
        assert scene.get(3, ORDERS) == text
    far = scene.outgoing()
    far.multicast = True
    assert scene.get(3, FAR) == "MULTICAST"
    assert scene.get(5, ORDERS) == "NO"
    scene.queue.transactional = True
    assert scene.get(5, ORDERS) == "YES"


@pytest.mark.rule("MQMR-3.1.4.1-26")
@pytest.mark.parametrize(
    ("offline", "foreign", "kind", "text"),
    [
        (True, True, ModelQueueType.PRIVATE, "NO"),
        (True, False, ModelQueueType.PUBLIC, "UNKNOWN"),
        (False, True, ModelQueueType.PRIVATE, "YES"),
        (False, False, ModelQueueType.PUBLIC, "NO"),
    ],
)
def test_whether_a_queue_is_foreign_only_the_directory_knows(
    scene: Scene, offline: bool, foreign: bool, kind: ModelQueueType, text: str
) -> None:
    scene.manager.directory_offline, scene.manager.foreign_system = offline, foreign
    scene.queue.queue_type = kind
    assert scene.get(6, ORDERS) == text


@pytest.mark.rule("MQMR-3.1.4.1-31", "MQMR-3.1.4.1-32")
@pytest.mark.parametrize(
    ("state", "text", "hops"),
    [
        (OutgoingQueueState.CONNECTED, "CONNECTED", True),
        (OutgoingQueueState.DISCONNECTED, "DISCONNECTED", False),
        (OutgoingQueueState.DISCONNECTING, "DISCONNECTING", False),
        (OutgoingQueueState.INACTIVE, "INACTIVE", False),
        (OutgoingQueueState.LOCKED, "LOCKED", False),
        (OutgoingQueueState.NEED_VALIDATION, "NEED VALIDATION", False),
        (OutgoingQueueState.WAITING, "WAITING", True),
        (OutgoingQueueState.ON_HOLD, "ONHOLD", False),
    ],
)
def test_an_outgoing_queue_tells_its_state_and_the_next_hops_while_it_has_some(
    scene: Scene, state: OutgoingQueueState, text: str, hops: bool
) -> None:
    far = scene.outgoing()
    far.state, far.next_hops = state, ("IP=192.0.2.7", "IP=192.0.2.8")
    assert scene.get(11, FAR) == text
    assert scene.get(12, FAR) == (far.next_hops if hops else None)
    far.multicast = True
    if state is OutgoingQueueState.CONNECTED:
        assert scene.get(12, FAR) == (FAR,)
    assert scene.get(12, ORDERS) is None


@pytest.mark.rule("MQMR-3.1.4.1-33", "MQMR-3.1.4.1-34", "MQMR-3.1.4.1-35", "MQMR-3.1.4.1-36")
@pytest.mark.rule("MQMR-3.1.4.1-37", "MQMR-3.1.4.1-38", "MQMR-3.1.4.1-39", "MQMR-3.1.4.1-40")
@pytest.mark.rule("MQMR-3.1.4.1-41", "MQMR-3.1.4.1-42", "MQMR-3.1.4.1-43")
def test_an_outgoing_queue_tells_how_far_its_sequence_is(scene: Scene) -> None:
    far = scene.outgoing()
    far.outgoing_transfer_info_reference = _INFO
    assert {propid: scene.get(propid, FAR) for propid in range(13, 24)} == {
        13: _INFO.eod_last_ack,
        14: 1_700_000_100,
        15: 2,
        16: _INFO.eod_first_non_ack,
        17: _INFO.eod_last_non_ack,
        18: _INFO.eod_next_seq,
        19: 8,
        20: 3,
        21: 1_700_000_130,
        22: 30,
        23: 1,
    }
    assert [scene.get(propid, ORDERS) for propid in range(13, 24)] == [None] * 11
    far.outgoing_transfer_info_reference = OutgoingTransferInfo(eod_last_ack=_INFO.eod_last_ack)
    assert scene.get(13, FAR) is None


@pytest.mark.rule("MQMR-3.1.4.1-44")
def test_a_queue_tells_which_sequences_come_into_it(scene: Scene) -> None:
    assert scene.get(24, ORDERS) == ()
    sources = tuple(
        TransferSource(
            format_name=ORDERS,
            sender_identifier=_SENDER,
            sequence_identifier=1 << 63 | number,
            sequence_number=number,
            last_access_time=1_700_000_000,
            reject_count=2,
        )
        for number in (1, 2)
    )
    scene.queue.incoming_transactional_transfer_info_collection = sources
    assert scene.get(24, ORDERS) == sources


@pytest.mark.rule("MQMR-3.1.4.1-45")
def test_an_outgoing_queue_tells_how_connections_were_made(scene: Scene) -> None:
    far = scene.outgoing()
    far.connection_history = (
        ConnectionAttempt(status=0x80000001, time=1_700_000_000, error=0xC00E0001, addresses=("\\\\far",)),
        ConnectionAttempt(status=2, time=1_700_000_001),
    )
    assert scene.get(25, FAR) == far.connection_history
    assert scene.get(25, ORDERS) is None


@pytest.mark.rule("MQMR-3.1.4.1-46", "MQMR-3.1.4.1-47")
def test_subqueues_are_counted_and_named(scene: Scene) -> None:
    for name in ("late", "bad"):
        find_queue(scene.manager, FormatName.parse(f"{ORDERS};{name}"))
    assert (scene.get(26, ORDERS), scene.get(27, ORDERS)) == (2, ("late", "bad"))
    assert scene.get(1, ORDERS + ";late") == "host\\private$\\orders;late"


def acting(what: MgmtObject, action: str) -> QMMgmtActionRequest:
    """An action as a client that checks nothing would ask for it."""
    return QMMgmtActionRequest(p_object_format=what, lpwsz_action=WcharText.of(action))


@pytest.mark.rule("MQMR-3.1.4.2-1")
def test_an_action_may_be_written_in_any_case(scene: Scene) -> None:
    answer = scene.client.call("R_QMMgmtAction", acting(MgmtObject(), "disConnect"))
    assert answer.status == Status.MQ_OK
    assert not scene.manager.connection_active


@rule_table(
    "what, action",
    ("MQMR-3.1.4.2-2", MgmtObject(), "RESTART"),
    ("MQMR-3.1.4.2-2", MgmtObject(), ""),
    ("MQMR-3.1.4.2-3", _SESSION, "CONNECT"),
    ("MQMR-3.1.4.2-4", MgmtObject(), "PAUSE"),
    ("MQMR-3.1.4.2-4", _NO_QUEUE, "TIDY"),
)
def test_an_action_that_there_is_not_for_an_object_is_refused(what: MgmtObject, action: str) -> None:
    answer = Scene().client.call("R_QMMgmtAction", acting(what, action))
    assert (answer.fault, answer.status) == (None, Status.MQ_ERROR_INVALID_PARAMETER)


@pytest.mark.rule("MQMR-3.1.4.2-5", "MQMR-3.1.4.2-6")
def test_only_an_outgoing_queue_that_is_there_can_be_paused(scene: Scene) -> None:
    assert scene.act("PAUSE", ORDERS) == Status.MQ_ERROR_INVALID_PARAMETER
    assert scene.act("RESUME", FAR) == Status.MQ_ERROR_QUEUE_NOT_FOUND
    answer = scene.client.call("R_QMMgmtAction", acting(_NO_QUEUE, "PAUSE"))
    assert answer.status == Status.MQ_ERROR_ILLEGAL_FORMATNAME


@pytest.mark.rule("MQMR-3.1.4.2-14")
def test_a_local_queue_has_no_sequence_to_send_again(scene: Scene) -> None:
    reported: list[Any] = []
    scene.manager.administered.append(lambda queue, action: reported.append(action))
    put(scene.queue)
    assert scene.act("EOD_RESEND", ORDERS) == Status.MQ_OK
    assert (reported, len(scene.queue.message_position_list)) == ([], 1)


@pytest.mark.rule("MQMR-3.1.4.2-10")
def test_tidy_purges_every_queue_as_the_rule_says(scene: Scene) -> None:
    put(scene.queue)
    held = put(make_queue(scene.manager, "bills"))
    position(held).state = PositionState.LOCKED
    assert scene.act("TIDY") == Status.MQ_OK
    assert len(scene.queue.message_position_list) == 0
    assert position(held).state is PositionState.PURGE_PENDING


class Sender:
    """A queue manager whose outgoing queue is sent by the binary protocol, to nobody who answers."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.wanted: list[Way] = []
        Sending(BinaryProtocol(self.scene.manager), self.wanted.append)
        self.far = self.scene.outgoing()

    def send(self) -> None:
        """Put a message into the outgoing queue."""
        packet = make_packet(b"x")
        assert enqueue_message(self.far, ModelMessage(packet=packet, size=len(packet))) == Status.MQ_OK


@pytest.mark.rule("MQMR-3.1.4.2-11", "MQMR-3.1.4.2-12")
def test_a_queue_that_is_paused_sends_nothing_until_it_is_resumed() -> None:
    sender = Sender()
    sender.send()
    (way,) = sender.wanted
    assert (len(way), sender.scene.get(11, FAR)) == (1, "WAITING")
    assert sender.scene.act("PAUSE", FAR) == Status.MQ_OK
    assert (len(way), sender.scene.get(11, FAR), sender.scene.get(7, FAR)) == (0, "ONHOLD", 1)
    sender.send()
    assert (len(way), sender.scene.get(7, FAR)) == (0, 2)
    assert sender.scene.act("RESUME", FAR) == Status.MQ_OK
    assert (len(way), sender.scene.get(11, FAR)) == (2, "WAITING")


@pytest.mark.rule("MQMR-3.1.4.2-13")
def test_a_sequence_is_sent_again_when_an_administrator_wants_it(scene: Scene) -> None:
    far = scene.outgoing()
    reported: list[tuple[Any, AdministrativeAction]] = []
    scene.manager.administered.append(lambda queue, action: reported.append((queue, action)))
    assert scene.act("EOD_RESEND", FAR) == Status.MQ_OK
    assert reported == [(far, AdministrativeAction.RESEND)]
