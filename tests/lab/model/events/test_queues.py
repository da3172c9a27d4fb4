"""Events about queues, rule by rule. [MS-MQDMPR] 3.1.7.1.3 to 3.1.7.1.8, 3.1.7.3.8"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.data.elements import ModelQueueManager, OutgoingQueue, Queue
from msmq_wire.lab.model.data.enumerations import (
    ModelQueueType,
    OutgoingQueueState,
    PositionState,
    QueueAccessType,
    QueueShareMode,
    RemoteReadState,
)
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.message import dequeue_message, peek_message, purge_queue
from msmq_wire.lab.model.events.queue import (
    close_queue,
    create_queue,
    delete_queue,
    expand_format_name,
    find_queue,
    open_queue,
)
from msmq_wire.lab.model.events.transaction import create_transaction
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.model.events.scene import opened, reasons
from tests.lab.model.scene import (
    START,
    format_name,
    make_manager,
    make_queue,
    open_descriptor,
    pass_time,
    position,
    put,
    states,
)
from tests.rules import rule_table

RECEIVE = QueueAccessType.RECEIVE_ACCESS
SEND = QueueAccessType.SEND_ACCESS
PEEK = QueueAccessType.PEEK_ACCESS
NONE = QueueShareMode.DENY_NONE
DENY = QueueShareMode.DENY_RECEIVE
UNSUPPORTED = Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION
NOT_FOUND = Status.MQ_ERROR_QUEUE_NOT_FOUND
NACK_Q_DELETED = 0xC000
NACK_Q_PURGED = 0xC001
GUID_TEXT = "7b1f3c52-9a0e-4d61-8f27-c4e8d1a05b93"


def new(manager: ModelQueueManager, pathname: str) -> Queue:
    return Queue(queue_manager=manager, pathname=pathname)


@pytest.mark.rule("MQDMPR-3.1.7.1.3-3")
@pytest.mark.parametrize("pathname", ["", "host", "host\\", "host\\private$\\", "host\\a\\b\\c", "\\q"])
def test_a_pathname_that_is_none_makes_no_queue(manager: ModelQueueManager, pathname: str) -> None:
    assert create_queue(manager, new(manager, pathname)) == Status.MQ_ERROR_ILLEGAL_QUEUE_PATHNAME
    assert not manager.queue_collection


@rule_table(
    "pathname, queue_type, journal",
    ("MQDMPR-3.1.7.1.3-5 MQDMPR-3.1.7.1.3-10", "host\\private$\\q", ModelQueueType.PRIVATE, True),
    ("MQDMPR-3.1.7.1.3-12", "host\\q", ModelQueueType.PUBLIC, True),
    ("MQDMPR-3.1.7.1.3-11", "host\\q;journal", ModelQueueType.SYSTEM, True),
    ("MQDMPR-3.1.7.1.3-6", "host\\private$\\q;sub", ModelQueueType.PRIVATE, False),
)
def test_the_pathname_decides_what_kind_of_queue_it_is(
    manager: ModelQueueManager, pathname: str, queue_type: ModelQueueType, journal: bool
) -> None:
    queue = new(manager, pathname)
    assert create_queue(manager, queue) == Status.MQ_OK
    assert queue.queue_type is queue_type
    assert (queue.journal_queue_reference is not None) is journal


@pytest.mark.rule("MQDMPR-3.1.7.1.3-4", "MQDMPR-3.1.7.1.3-7", "MQDMPR-3.1.7.1.3-8", "MQDMPR-3.1.7.1.3-9")
@pytest.mark.rule("MQDMPR-3.1.7.1.3-13", "MQDMPR-3.1.7.1.3-14", "MQDMPR-3.1.7.1.3-26")
def test_a_new_queue_keeps_what_was_asked_for_and_is_empty(manager: ModelQueueManager) -> None:
    queue = new(manager, "host\\private$\\q")
    queue.label, queue.quota, queue.journal_quota, queue.transactional = "a label", 7, 9, True
    queue.total_bytes = 99
    queue.journal_queue_reference = queue
    queue.subqueue_collection = [queue]
    assert create_queue(manager, queue) == Status.MQ_OK
    assert (queue.label, queue.quota, queue.transactional) == ("a label", 7, True)
    assert (queue.queue_manager, queue.total_bytes, queue.active) == (manager, 0, False)
    assert (len(queue.message_position_list), queue.subqueue_collection) == (0, [])
    assert queue.create_time == queue.modify_time == START
    assert queue.journal_queue_reference is not None
    assert queue.journal_queue_reference is not queue
    assert queue.journal_queue_reference.quota == 9
    assert manager.queue_collection == {"private$\\q": queue}


@pytest.mark.rule("MQDMPR-3.1.7.1.3-17", "MQDMPR-3.1.7.1.3-25")
def test_private_queues_get_numbers_and_identifiers_of_their_own(manager: ModelQueueManager) -> None:
    queues = [make_queue(manager, name) for name in "abc"]
    assert len({one.private_queue_number for one in queues} - {0}) == 3
    assert len({one.identifier for one in queues} - {NULL_GUID}) == 3


def test_a_queue_is_created_once(manager: ModelQueueManager) -> None:
    queue = make_queue(manager, "q")
    assert create_queue(manager, new(manager, "HOST\\PRIVATE$\\Q")) == Status.MQ_ERROR_QUEUE_EXISTS
    assert list(manager.queue_collection.values()) == [queue]


@pytest.mark.rule("MQDMPR-3.1.7.1.4-2", "MQDMPR-3.1.7.1.4-4", "MQDMPR-3.1.7.1.4-7")
def test_a_queue_goes_with_its_messages(manager: ModelQueueManager, queue: Queue) -> None:
    reported = reasons(manager)
    messages = [put(queue, b"a"), put(queue, b"b")]
    assert delete_queue(manager, queue) == Status.MQ_OK
    assert reported == [NACK_Q_DELETED, NACK_Q_DELETED]
    assert {position(one).state for one in messages} == {PositionState.DELETED}
    assert (len(queue.message_position_list), queue.total_bytes) == (0, 0)
    assert manager.queue_collection == {}
    assert delete_queue(manager, queue) == NOT_FOUND


@pytest.mark.rule("MQDMPR-3.1.7.1.4-3")
def test_who_has_a_deleted_queue_open_is_left_without_it(manager: ModelQueueManager, queue: Queue) -> None:
    descriptor = opened(queue)
    open_cursor(descriptor)
    got: list[int] = []
    dequeue_message(descriptor, lambda status, message: got.append(status))
    delete_queue(manager, queue)
    assert got == [Status.MQ_ERROR_QUEUE_DELETED]
    assert descriptor.queue_reference is None
    assert descriptor.waiting_message_read_operation_collection == []
    assert (manager.timers.running, manager.cursors) == (0, {})


@pytest.mark.rule("MQDMPR-3.1.7.1.5-1", "MQDMPR-3.1.7.1.5-2")
@pytest.mark.parametrize("name", ["", "nonsense", "DIRECT=", f"DL={GUID_TEXT}", "DIRECT=OS:a\\b,nonsense"])
def test_what_is_no_format_name_opens_nothing(manager: ModelQueueManager, name: str) -> None:
    assert open_queue(manager, name, SEND) == (Status.MQ_ERROR_ILLEGAL_FORMATNAME, None)
    assert manager.descriptors == {}


@rule_table(
    "access, mode, status",
    ("MQDMPR-3.1.7.1.5-4", RECEIVE, NONE, UNSUPPORTED),
    ("MQDMPR-3.1.7.1.5-5", SEND, DENY, Status.MQ_ERROR_UNSUPPORTED_ACCESS_MODE),
)
def test_several_queues_are_opened_to_send_only(
    manager: ModelQueueManager, access: QueueAccessType, mode: QueueShareMode, status: int
) -> None:
    names = ",".join(format_name(make_queue(manager, name)) for name in "ab")
    assert open_queue(manager, names, access, mode) == (status, None)
    assert manager.descriptors == {}


@pytest.mark.rule("MQDMPR-3.1.7.1.5-3", "MQDMPR-3.1.7.1.5-6", "MQDMPR-3.1.7.1.5-7", "MQDMPR-3.1.7.1.5-8")
@pytest.mark.rule("MQDMPR-3.1.7.1.5-9", "MQDMPR-3.1.7.1.5-10", "MQDMPR-3.1.7.1.5-12", "MQDMPR-3.1.7.1.5-13")
@pytest.mark.rule("MQDMPR-3.1.7.1.6-2", "MQDMPR-3.1.7.1.6-3")
def test_several_queues_are_opened_and_closed_together(manager: ModelQueueManager) -> None:
    queues = [make_queue(manager, name) for name in "ab"]
    names = ",".join(map(format_name, queues))
    descriptor = open_descriptor(manager, names, SEND)
    assert (descriptor.multiple, descriptor.queue_reference) == (True, None)
    assert (descriptor.access_type, descriptor.share_mode, descriptor.format_name) == (SEND, NONE, names)
    assert descriptor.remote_read_state is RemoteReadState.NONE
    inner = descriptor.open_queue_descriptor_collection
    assert [one.queue_reference for one in inner] == queues
    assert len({one.handle for one in (descriptor, *inner)}) == 3
    assert len({one.context_value for one in (descriptor, *inner)}) == 3
    close_queue(manager, descriptor)
    assert manager.descriptors == {}
    assert [one.open_queue_descriptor_collection for one in queues] == [[], []]


@pytest.mark.rule("MQDMPR-3.1.7.1.5-11")
def test_one_queue_that_cannot_be_opened_closes_the_others(manager: ModelQueueManager, queue: Queue) -> None:
    names = f"{format_name(queue)},DIRECT=OS:host\\private$\\zzz"
    assert open_queue(manager, names, SEND) == (NOT_FOUND, None)
    assert (manager.descriptors, queue.open_queue_descriptor_collection) == ({}, [])


@rule_table(
    "name, access, status",
    ("MQDMPR-3.1.7.1.5-14", "DIRECT=HTTP://host/msmq/q", RECEIVE, UNSUPPORTED),
    ("MQDMPR-3.1.7.1.5-15", f"MACHINE={GUID_TEXT};DEADLETTER", SEND, UNSUPPORTED),
    ("MQDMPR-3.1.7.1.5-16", "MULTICAST=234.1.1.1:8001", PEEK, UNSUPPORTED),
    ("MQDMPR-3.1.7.1.5-18", "DIRECT=OS:host\\private$\\zzz", RECEIVE, NOT_FOUND),
    ("MQDMPR-3.1.7.1.5-21", "DIRECT=OS:host\\private$\\zzz", SEND, NOT_FOUND),
    ("MQDMPR-3.1.7.1.5-23", f"PUBLIC={GUID_TEXT}", SEND, UNSUPPORTED),
)
def test_names_that_open_nothing(
    manager: ModelQueueManager, name: str, access: QueueAccessType, status: int
) -> None:
    make_queue(manager)
    assert open_queue(manager, name, access) == (status, None)
    assert manager.descriptors == {}


def test_a_public_queue_whose_queue_manager_is_known_is_opened_to_send(manager: ModelQueueManager) -> None:
    owner = GUID(b"b" * 16)
    manager.public_queue_owners = {GUID.parse(GUID_TEXT): owner}
    status, descriptor = open_queue(manager, f"PUBLIC={GUID_TEXT}", SEND)
    assert status == Status.MQ_OK
    assert descriptor is not None
    queue = descriptor.queue_reference
    assert isinstance(queue, OutgoingQueue)
    assert (queue.pathname, queue.destination_queue_manager) == (f"PUBLIC={GUID_TEXT}", owner)
    assert open_queue(manager, f"PUBLIC={GUID_TEXT}", RECEIVE) == (NOT_FOUND, None)


@pytest.mark.rule("MQDMPR-3.1.7.1.5-25")
def test_a_private_number_that_no_queue_of_this_machine_has_is_not_found(manager: ModelQueueManager) -> None:
    name = f"PRIVATE={manager.identifier}\\000000ff"
    assert open_queue(manager, name, SEND) == (NOT_FOUND, None)


@pytest.mark.rule("MQDMPR-3.1.7.1.5-26", "MQDMPR-3.1.7.1.5-31", "MQDMPR-3.1.7.1.5-37")
@rule_table(
    "name",
    ("MQDMPR-3.1.7.1.5-20", "DIRECT=OS:elsewhere\\private$\\q"),
    ("MQDMPR-3.1.7.1.5-20", "DIRECT=TCP:192.0.2.9\\q"),
    ("MQDMPR-3.1.7.1.5-19", "DIRECT=HTTP://elsewhere/msmq/q"),
    ("", f"PRIVATE={GUID_TEXT}\\0000000f"),
    ("", "MULTICAST=234.1.1.1:8001"),
)
def test_a_queue_elsewhere_that_is_opened_to_send_gets_an_outgoing_queue(
    manager: ModelQueueManager, name: str
) -> None:
    descriptor = open_descriptor(manager, name, SEND)
    queue = descriptor.queue_reference
    assert isinstance(queue, OutgoingQueue)
    assert (queue.label, queue.destination_format_name, descriptor.format_name) == (name, name, name)
    assert queue.identifier != NULL_GUID
    assert queue.state is OutgoingQueueState.INACTIVE
    assert queue.multicast is name.startswith("MULTICAST")
    assert queue.open_queue_descriptor_collection == [descriptor]
    assert manager.queue_collection == {}


@pytest.mark.rule("MQDMPR-3.1.7.1.5-32")
def test_the_next_one_who_opens_a_queue_elsewhere_finds_its_outgoing_queue(
    manager: ModelQueueManager,
) -> None:
    queues = [
        open_descriptor(manager, name, access).queue_reference
        for name in ("DIRECT=OS:elsewhere\\private$\\q", "DIRECT=OS:ELSEWHERE\\PRIVATE$\\Q")
        for access in (SEND, QueueAccessType.RECEIVE_ADMIN_ACCESS, QueueAccessType.PEEK_ADMIN_ACCESS)
    ]
    assert len(queues) == 6
    assert all(one is queues[0] for one in queues)
    assert len(manager.outgoing_queue_collection) == 1


@pytest.mark.rule("MQDMPR-3.1.7.1.5-18")
@pytest.mark.parametrize("access", [RECEIVE, PEEK])
def test_an_outgoing_queue_is_not_read_as_the_queue_that_it_leads_to(
    manager: ModelQueueManager, access: QueueAccessType
) -> None:
    name = "DIRECT=OS:elsewhere\\private$\\q"
    open_queue(manager, name, SEND)
    assert open_queue(manager, name, access) == (NOT_FOUND, None)


@pytest.mark.parametrize("access", [QueueAccessType.RECEIVE_ADMIN_ACCESS, QueueAccessType.PEEK_ADMIN_ACCESS])
def test_to_administer_an_outgoing_queue_makes_none(
    manager: ModelQueueManager, access: QueueAccessType
) -> None:
    name = "DIRECT=OS:elsewhere\\private$\\q"
    assert open_queue(manager, name, access) == (NOT_FOUND, None)
    assert manager.outgoing_queue_collection == {}


@pytest.mark.rule("MQDMPR-3.1.7.1.5-30")
def test_hardened_security_locks_what_is_not_sent_over_http(manager: ModelQueueManager) -> None:
    manager.hardened_security = True
    states = []
    for name in ("DIRECT=OS:elsewhere\\q", "DIRECT=HTTPS://elsewhere/msmq/q"):
        queue = open_descriptor(manager, name, SEND).queue_reference
        assert isinstance(queue, OutgoingQueue)
        states.append(queue.state)
    assert states == [OutgoingQueueState.LOCKED, OutgoingQueueState.INACTIVE]


@pytest.mark.rule("MQDMPR-3.1.7.1.5-17")
def test_a_queue_is_found_by_every_name_that_it_has(manager: ModelQueueManager) -> None:
    queue = make_queue(manager, "q")
    public = new(manager, "host\\everyone")
    create_queue(manager, public)
    names = {
        "DIRECT=OS:HOST\\PRIVATE$\\Q": queue,
        f"PRIVATE={manager.identifier}\\{queue.private_queue_number:08x}": queue,
        f"PUBLIC={public.identifier}": public,
        "DIRECT=OS:.\\private$\\q;JOURNAL": queue.journal_queue_reference,
    }
    for name, expected in names.items():
        assert find_queue(manager, FormatName.parse(name)) is expected, name
    subqueue = find_queue(manager, FormatName.parse("DIRECT=OS:host\\private$\\q;late"))
    assert queue.subqueue_collection == [subqueue]
    again = find_queue(manager, FormatName.parse("DIRECT=OS:host\\private$\\q;LATE"))
    assert again is subqueue


@rule_table(
    "first, second, allowed",
    ("MQDMPR-3.1.7.1.5-33", (RECEIVE, DENY), (PEEK, DENY), False),
    ("MQDMPR-3.1.7.1.5-34", (RECEIVE, DENY), (RECEIVE, NONE), False),
    pytest.param("", (RECEIVE, DENY), (PEEK, NONE), True, id="peeks are let in"),
    pytest.param("", (RECEIVE, DENY), (SEND, NONE), True, id="senders are let in"),
    ("MQDMPR-3.1.7.1.5-35", (PEEK, DENY), (RECEIVE, NONE), False),
    pytest.param("", (PEEK, DENY), (PEEK, NONE), True, id="peeks do not shut each other out"),
    ("MQDMPR-3.1.7.1.5-36", (RECEIVE, NONE), (RECEIVE, DENY), False),
    pytest.param("", (RECEIVE, NONE), (RECEIVE, NONE), True, id="readers share"),
)
def test_who_was_first_decides_who_may_share(
    queue: Queue,
    first: tuple[QueueAccessType, QueueShareMode],
    second: tuple[QueueAccessType, QueueShareMode],
    allowed: bool,
) -> None:
    opened(queue, *first)
    status, descriptor = open_queue(queue.queue_manager, format_name(queue), *second)
    assert status == (Status.MQ_OK if allowed else Status.MQ_ERROR_SHARING_VIOLATION)
    assert len(queue.open_queue_descriptor_collection) == 1 + (descriptor is not None) == 1 + allowed


@pytest.mark.rule("MQDMPR-3.1.7.1.5-37", "MQDMPR-3.1.7.1.5-38", "MQDMPR-3.1.7.1.5-39", "MQDMPR-3.1.7.1.5-40")
@pytest.mark.rule("MQDMPR-3.1.7.1.5-41", "MQDMPR-3.1.7.1.5-42")
def test_an_opening_says_what_was_asked_for(queue: Queue) -> None:
    one, two = opened(queue, RECEIVE, NONE), opened(queue, PEEK, NONE)
    assert (two.access_type, two.share_mode, two.remote_read_state) == (PEEK, NONE, RemoteReadState.NONE)
    assert (two.queue_reference, two.format_name, two.multiple) == (queue, format_name(queue), False)
    assert len({one.handle, two.handle, one.context_value, two.context_value}) == 4
    assert queue.open_queue_descriptor_collection == [one, two]
    assert queue.active


@pytest.mark.rule("MQDMPR-3.1.7.1.6-1")
def test_closing_what_was_deleted_does_nothing(manager: ModelQueueManager, queue: Queue) -> None:
    descriptor = opened(queue)
    delete_queue(manager, queue)
    close_queue(manager, descriptor)
    assert manager.descriptors == {}


@pytest.mark.rule("MQDMPR-3.1.7.1.6-4", "MQDMPR-3.1.7.1.6-5", "MQDMPR-3.1.7.1.6-6", "MQDMPR-3.1.7.1.6-7")
@pytest.mark.parametrize("tag", [None, 5])
def test_closing_ends_waiting_reads_and_cursors(
    manager: ModelQueueManager, queue: Queue, tag: int | None
) -> None:
    descriptor, other = opened(queue), opened(queue)
    open_cursor(descriptor)
    got: list[int] = []
    dequeue_message(descriptor, lambda status, message: got.append(status), tag=tag)
    peek_message(other, lambda status, message: got.append(status))
    close_queue(manager, descriptor)
    assert got == [Status.MQ_ERROR_OPERATION_CANCELLED]
    assert (descriptor.cursor_collection, manager.cursors) == ([], {})
    assert queue.open_queue_descriptor_collection == [other]
    put(queue, b"for the other one")
    assert got == [Status.MQ_ERROR_OPERATION_CANCELLED, Status.MQ_OK]


@pytest.mark.rule("MQDMPR-3.1.7.1.7-1", "MQDMPR-3.1.7.1.7-2")
def test_a_purge_takes_what_can_be_read_and_marks_what_is_held(
    manager: ModelQueueManager, queue: Queue
) -> None:
    reported = reasons(manager)
    put(queue, b"held")
    gone = put(queue, b"free")
    dequeue_message(opened(queue), lambda status, message: None, two_phase_read=True)
    purge_queue(queue)
    assert states(queue) == ["PurgePending"]
    assert position(gone).state is PositionState.DELETED
    assert reported == [NACK_Q_PURGED]


@pytest.mark.rule("MQDMPR-3.1.7.1.8-1", "MQDMPR-3.1.7.1.8-2", "MQDMPR-3.1.7.1.8-3")
def test_a_transaction_is_known_by_its_identifier(manager: ModelQueueManager) -> None:
    transaction = create_transaction(manager, b"x" * 16)
    assert transaction.identifier == b"x" * 16
    assert manager.transaction_collection == {b"x" * 16: transaction}


@pytest.mark.rule("MQDMPR-3.1.7.3.8-1")
@pytest.mark.parametrize("name", ["DIRECT=OS:host\\q", f"PUBLIC={GUID_TEXT}", "direct=os:HOST\\q"])
def test_a_single_name_is_left_as_it_is(name: str) -> None:
    assert expand_format_name(name) == name


LISTS = {
    "1": ["DIRECT=OS:b\\q", f"DL={GUID_TEXT[:-1]}2", "DIRECT=OS:a\\q"],
    "2": ["DIRECT=OS:B\\Q", f"DL={GUID_TEXT[:-1]}1", f"DL={GUID_TEXT[:-1]}3"],
    "3": ["DIRECT=OS:c\\q"],
}


def resolved(name: FormatName) -> list[str] | None:
    return LISTS.get(name.guid[-1])


@rule_table(
    "name, expanded",
    (
        "MQDMPR-3.1.7.3.8-2 MQDMPR-3.1.7.3.8-4 MQDMPR-3.1.7.3.8-6 MQDMPR-3.1.7.3.8-7 MQDMPR-3.1.7.3.8-9",
        f"DL={GUID_TEXT[:-1]}1",
        "DIRECT=OS:a\\q,DIRECT=OS:b\\q,DIRECT=OS:c\\q",
    ),
    (
        "MQDMPR-3.1.7.3.8-3",
        "DIRECT=OS:b\\q,DIRECT=OS:a\\q,DIRECT=OS:B\\q",
        "DIRECT=OS:a\\q,DIRECT=OS:b\\q",
    ),
    ("MQDMPR-3.1.7.3.8-8", f"DL={GUID_TEXT[:-1]}3", "DIRECT=OS:c\\q"),
    ("MQDMPR-3.1.7.3.8-5", f"DIRECT=OS:b\\q,DL={GUID_TEXT[:-1]}9", None),
)
def test_lists_are_replaced_by_what_is_in_them(name: str, expanded: str | None) -> None:
    assert expand_format_name(name, resolved) == expanded


@given(st.text(max_size=60), st.sampled_from(QueueAccessType), st.sampled_from(QueueShareMode))
def test_no_text_that_is_opened_raises(text: str, access: QueueAccessType, mode: QueueShareMode) -> None:
    manager = make_manager()
    make_queue(manager)
    status, descriptor = open_queue(manager, text, access, mode)
    assert (status == Status.MQ_OK) is (descriptor is not None)
    if descriptor is not None:
        close_queue(manager, descriptor)
    pass_time(manager, 1)
    assert manager.descriptors == {}
