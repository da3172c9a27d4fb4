"""The rules of RemoteQMStartReceiveByLookupId."""

from __future__ import annotations

import pytest

from msmq_wire.engines.codec import decode
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.enumerations import PositionState, QueueAccessType
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.queue import close_queue, delete_queue
from msmq_wire.lab.model.qm2qm.entries import RemoteReadEntry
from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc2
from tests.lab.model.qm2qm.scene import LOOKUP, NULL, RECEIVE, Scene, body_read, read_of
from tests.lab.model.scene import labels, pass_time, position, put, states
from tests.rules import rule_table

PEEK_CURRENT = ReceiveAction.MQ_LOOKUP_PEEK_CURRENT
PEEK_NEXT = ReceiveAction.MQ_LOOKUP_PEEK_NEXT
PEEK_PREV = ReceiveAction.MQ_LOOKUP_PEEK_PREV
RECEIVE_CURRENT = ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT
RECEIVE_NEXT = ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT
RECEIVE_PREV = ReceiveAction.MQ_LOOKUP_RECEIVE_PREV
PEEKS = (PEEK_CURRENT, PEEK_NEXT, PEEK_PREV)
RECEIVES = (RECEIVE_CURRENT, RECEIVE_NEXT, RECEIVE_PREV)
ALL_ONES = (1 << 64) - 1
USAGE, NOT_FOUND = Status.MQ_ERROR_TRANSACTION_USAGE, Status.MQ_ERROR_MESSAGE_NOT_FOUND


@pytest.fixture
def three() -> Scene:
    return Scene(bodies=(b"a", b"b", b"c"))


@pytest.mark.rule("MQQP-3.1.4.11-3")
def test_a_descriptor_that_is_null_is_an_invalid_handle(three: Scene) -> None:
    request = qm2qm.RemoteQMStartReceiveByLookupIdRequest(
        lookup_id=three.messages[0].lookup_identifier, lp_remote_read_desc2=RemoteReadDesc2()
    )
    assert three.client.call(LOOKUP, request).status == Status.MQ_ERROR_INVALID_HANDLE
    assert three.nothing_happened(three.messages[0])


@rule_table(
    "fields",
    ("MQQP-3.1.4.11-4", {"h_remote_queue": 0}),
    ("MQQP-3.1.4.11-5", {"ul_timeout": 1}),
    ("MQQP-3.1.4.11-6", {"h_cursor": 1}),
)
def test_a_lookup_has_a_queue_and_neither_time_nor_cursor(three: Scene, fields: dict[str, int]) -> None:
    answer = three.lookup(RECEIVE_CURRENT, three.messages[0].lookup_identifier, **fields)
    assert answer.status == Status.MQ_ERROR_INVALID_PARAMETER
    assert three.nothing_happened(three.messages[0])


@pytest.mark.parametrize(
    "action", [0, 0x80000000, 0x80000001, 0x40000013, 0x4000000F, 0x40000023, 0x50000010]
)
@pytest.mark.rule("MQQP-3.1.4.11-7")
def test_another_action_is_refused(three: Scene, action: int) -> None:
    answer = three.lookup(action, three.messages[0].lookup_identifier)
    assert answer.status == Status.MQ_ERROR_INVALID_PARAMETER
    assert three.nothing_happened(three.messages[0])


@rule_table(
    "action",
    ("MQQP-3.1.4.11-8", PEEK_CURRENT),
    ("MQQP-3.1.4.11-9", PEEK_PREV),
    ("MQQP-3.1.4.11-10", RECEIVE_CURRENT),
    ("MQQP-3.1.4.11-11", RECEIVE_PREV),
)
def test_a_lookup_identifier_of_0_has_a_next_message_only(three: Scene, action: int) -> None:
    assert three.lookup(action, 0).status == Status.MQ_ERROR_INVALID_PARAMETER
    assert three.nothing_happened(three.messages[0])


@pytest.mark.rule("MQQP-3.1.4.11-12", "MQQP-3.1.4.11-44")
def test_the_request_identifier_of_a_pending_read_is_no_matter_and_that_read_goes_on(scene: Scene) -> None:
    waiting = scene.start(RECEIVE, ul_timeout=1000, dw_request_id=7)
    answer = scene.lookup(PEEK_NEXT, 0, dw_request_id=7, dw_queue=4711)
    assert answer.status == NOT_FOUND
    assert scene.server.remote_read_entry_collection.find(scene.handle, 7) is not None
    assert scene.pending == 1
    put(scene.queue, b"m")
    assert waiting.status == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.11-13")
def test_a_queue_that_is_not_open_is_refused() -> None:
    scene = Scene(opened=False)
    message = put(scene.queue, b"m")
    assert scene.lookup(RECEIVE_NEXT, 0).status == Status.MQ_ERROR_INVALID_PARAMETER
    assert scene.nothing_happened(message)


@pytest.mark.rule("MQQP-3.1.4.11-15")
def test_an_entry_without_a_descriptor_reads_nothing(three: Scene) -> None:
    close_queue(three.manager, three.descriptor)
    assert three.lookup(RECEIVE_NEXT, 0).status == Status.MQ_ERROR_INVALID_PARAMETER
    assert three.nothing_happened(three.messages[0])


@pytest.mark.parametrize("action", RECEIVES)
@pytest.mark.rule("MQQP-3.1.4.11-16")
def test_a_handle_for_peeks_receives_nothing(action: int) -> None:
    scene = Scene(QueueAccessType.PEEK_ACCESS)
    message = put(scene.queue, b"m")
    assert scene.lookup(action, message.lookup_identifier).status == Status.MQ_ERROR_ACCESS_DENIED
    assert scene.nothing_happened(message)
    assert scene.lookup(PEEK_CURRENT, message.lookup_identifier).status == Status.MQ_OK


@pytest.mark.parametrize("receive", [False, True])
@rule_table(
    "seek, which, body",
    ("MQQP-3.1.4.11-24", 1, 0, b"a"),
    ("MQQP-3.1.4.11-25", 2, ALL_ONES, b"c"),
    ("MQQP-3.1.4.11-26", 2, "b", b"a"),
    ("MQQP-3.1.4.11-27", 0, "b", b"b"),
    ("MQQP-3.1.4.11-28", 1, "b", b"c"),
)
@pytest.mark.rule("MQQP-3.1.4.11-14", "MQQP-3.1.4.11-20", "MQQP-3.1.4.11-21", "MQQP-3.1.4.11-22")
@pytest.mark.rule("MQQP-3.1.4.11-23", "MQQP-3.1.4.11-29", "MQQP-3.1.4.11-30")
def test_an_action_and_an_identifier_name_a_message(
    three: Scene, receive: bool, seek: int, which: int | str, body: bytes
) -> None:
    lookup_id = three.messages[1].lookup_identifier if which == "b" else int(which)
    answer = three.lookup((RECEIVES if receive else PEEKS)[seek], lookup_id)
    assert answer.status == Status.MQ_OK
    assert body_read(answer) == body
    state = ["Locked" if receive and label.encode() == body else "Available" for label in "abc"]
    assert states(three.queue) == state


@pytest.mark.parametrize(
    ("ack", "left"), [(RemoteReadAck.RR_ACK, ["b", "c"]), (RemoteReadAck.RR_NACK, ["a", "b", "c"])]
)
@pytest.mark.rule("MQQP-3.1.4.11-30", "MQQP-3.1.4.11-45", "MQQP-3.1.4.11-17", "MQQP-3.1.4.11-18")
@pytest.mark.rule("MQQP-3.1.4.11-19")
def test_a_receive_by_identifier_is_ended_as_any_other(three: Scene, ack: int, left: list[str]) -> None:
    answer = three.lookup(RECEIVE_CURRENT, three.messages[0].lookup_identifier, dw_request_id=9)
    handle = answer.response.pph_context
    entry = three.client.association.thing(handle, RemoteReadEntry)
    assert (entry.open_queue_descriptor_handle, entry.request_id) == (three.handle, 9)
    assert (entry.timeout, entry.action) == (0, RECEIVE_CURRENT)
    assert entry.user_message_packet is three.messages[0]
    assert three.end(handle, ack).status == Status.MQ_OK
    assert labels(three.queue) == left
    assert states(three.queue) == ["Available"] * len(left)


@pytest.mark.parametrize("action", [*PEEKS, *RECEIVES])
@pytest.mark.rule("MQQP-3.1.4.11-31")
def test_an_identifier_of_no_message_finds_nothing(three: Scene, action: int) -> None:
    assert three.lookup(action, 4711).status == NOT_FOUND
    assert three.nothing_happened(three.messages[0])
    assert three.manager.timers.running == 0


@pytest.mark.rule("MQQP-3.1.4.11-32", "MQQP-3.1.2-3")
def test_nothing_in_the_direction_of_the_seek_is_not_found_and_not_waited_for(three: Scene) -> None:
    assert three.lookup(PEEK_NEXT, three.messages[2].lookup_identifier).status == NOT_FOUND
    assert three.lookup(RECEIVE_PREV, three.messages[0].lookup_identifier).status == NOT_FOUND
    assert three.purge().status == Status.MQ_OK
    assert three.lookup(PEEK_NEXT, 0).status == NOT_FOUND
    assert three.lookup(RECEIVE_PREV, ALL_ONES).status == NOT_FOUND
    assert three.manager.timers.running == 0


@rule_table(
    "action, allowed, status",
    ("MQQP-3.1.4.11-34", PEEK_CURRENT, False, USAGE),
    ("MQQP-3.1.4.11-35", PEEK_CURRENT, True, Status.MQ_OK),
    ("MQQP-3.1.4.11-36", RECEIVE_CURRENT, False, NOT_FOUND),
    ("MQQP-3.1.4.11-36", RECEIVE_CURRENT, True, NOT_FOUND),
)
def test_a_locked_message_is_read_only_where_it_may_be_peeked_at(
    three: Scene, action: int, allowed: bool, status: Status
) -> None:
    three.messages[0].allow_peek_when_locked = allowed
    assert three.read(RECEIVE).status == Status.MQ_OK
    answer = three.lookup(action, three.messages[0].lookup_identifier)
    assert answer.status == status
    assert answer.response.pph_context == NULL
    assert position(three.messages[0]).state is PositionState.LOCKED


@pytest.mark.rule("MQQP-3.1.4.11-37")
def test_a_queue_that_was_deleted_is_not_available(three: Scene) -> None:
    assert delete_queue(three.manager, three.queue) == Status.MQ_OK
    for lookup_id in (0, three.messages[0].lookup_identifier):
        assert three.lookup(RECEIVE_NEXT, lookup_id).status == Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
    assert three.nothing_happened()


@pytest.mark.rule("MQQP-3.1.4.11-38", "MQQP-3.1.4.11-39", "MQQP-3.1.4.11-40", "MQQP-3.1.4.11-41")
@pytest.mark.rule("MQQP-3.1.4.11-46", "MQQP-3.1.4.11-48")
def test_a_message_comes_as_its_packet_with_its_size_and_arrival(scene: Scene) -> None:
    pass_time(scene.manager, 3_000)
    message = put(scene.queue, b"the body")
    answer = scene.lookup(PEEK_CURRENT, message.lookup_identifier)
    read = read_of(answer)
    assert (answer.status, answer.response.pph_context) == (Status.MQ_OK, NULL)
    assert read.lp_buffer == message.packet
    assert read.dw_size == decode(message.packet, as_="user_message").base_header.packet_size
    assert (read.dw_arrive_time, read.reserved) == (1_700_000_003, 1)
    assert scene.nothing_happened(message)


@pytest.mark.rule("MQQP-3.1.4.11-42", "MQQP-2.2.2.2-1", "MQQP-2.2.2.2-2")
def test_the_sequential_identifier_has_no_priority_in_it(scene: Scene) -> None:
    message = ModelMessage(packet=b"p", priority=2, transactional=True)
    assert enqueue_message(scene.queue, message) == 0
    assert message.lookup_identifier == 5 << 56 | 1
    answer = scene.lookup(RECEIVE_CURRENT, message.lookup_identifier)
    assert answer.response.lp_remote_read_desc2.sequential_id == 1


@pytest.mark.rule("MQQP-3.1.4.11-43", "MQQP-3.1.4.11-47")
def test_a_failure_returns_neither_a_message_nor_a_handle(scene: Scene) -> None:
    answer = scene.lookup(RECEIVE_NEXT, 0, lp_buffer=b"12345", dw_size=5)
    read = read_of(answer)
    assert answer.status == NOT_FOUND
    assert (read.lp_buffer, read.dw_size, answer.response.pph_context) == (None, 0, NULL)
    assert scene.nothing_happened()


@pytest.mark.rule("MQQP-2.2.2.1-1")
def test_a_size_out_of_range_is_a_fault(three: Scene) -> None:
    assert three.lookup(RECEIVE_NEXT, 0, dw_size=0x420001).fault == 0x6F7
    assert three.nothing_happened(three.messages[0])
