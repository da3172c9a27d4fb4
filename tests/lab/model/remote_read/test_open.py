"""RemoteRead: opening, closing, cursors and purging, rule by rule. [MS-MQRR] 3.1.4.1 to .6, 3.1.4.11"""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.data.enumerations import CursorState, QueueAccessType, QueueShareMode
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.lab.model.remote_read import server as remote_read
from msmq_wire.rpc.interfaces.remote_read import CloseQueueRequest, ContextRequest
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import DlId, MulticastId, ObjectId, QueueFormat
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.remote_read.scene import (
    ACCESS_DENIED,
    BAD_STUB_DATA,
    CANCELLED,
    CONTEXT_MISMATCH,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    MOVE,
    OK,
    PEEK,
    PEEK_CURRENT,
    QUEUE_NOT_AVAILABLE,
    QUEUE_NOT_FOUND,
    RECEIVE,
    SHARING_VIOLATION,
    STATUS_ACCESS_DENIED,
    STATUS_INVALID_HANDLE,
    TRANSACTION,
    UNKNOWN_HANDLE,
    UNKNOWN_METHOD,
    Scene,
    changed,
    open_request,
)
from tests.lab.model.scene import QUEUE_MANAGER, labels, put, states, system_queue
from tests.rules import rule_table

ORDERS = "DIRECT=OS:host\\private$\\orders"
OPENERS = {"r_open_queue": RECEIVE, "r_open_queue_for_move": MOVE}


def _port(scene: Scene) -> int:
    port: int = scene.client.call("r_get_server_port", NoParameters()).response.return_value
    return port


@pytest.mark.rule("MQRR-3.1.4.1-1", "MQRR-3.1.4.1-2", "MQRR-3.1.3-2", "MQRR-3.1.4.1-5", "MQRR-3.1.4.1-6")
def test_the_port_is_2103_and_stays_and_need_not_be_asked_for(scene: Scene) -> None:
    scene.client.open(scene.queue)
    with scene.unchanged():
        assert _port(scene) == 2103
        assert _port(scene) == 2103


@pytest.mark.rule("MQRR-3.1.4.1-3")
@pytest.mark.parametrize(("taken", "port"), [({2103}, 2114), ({2103, 2114}, 2125), ({2114}, 2103)])
def test_a_port_in_use_is_passed_over_in_steps_of_eleven(taken: set[int], port: int) -> None:
    assert _port(Scene(ports_in_use=taken)) == port


@pytest.mark.rule("MQRR-3.1.4.1-4")
def test_the_port_is_zero_where_none_was_free() -> None:
    assert _port(Scene(ports_in_use=range(65_536))) == 0


@pytest.mark.rule("MQRR-3.1.4-3", "MQRR-3.1.4-5")
@pytest.mark.parametrize("opnum", [1, 16, 255, 65_535])
def test_an_opnum_that_is_no_method_is_a_fault(scene: Scene, opnum: int) -> None:
    with scene.unchanged():
        assert scene.client.call_opnum(opnum, NoParameters()).fault == UNKNOWN_METHOD


INVALID_FORMATS = {
    "unknown": QueueFormat(m_qft=0),
    "connector": QueueFormat(m_qft=5, arm=QUEUE_MANAGER),
    "dl": QueueFormat(m_qft=6, arm=DlId(m_dl_guid=QUEUE_MANAGER)),
    "multicast": QueueFormat(m_qft=7, arm=MulticastId(m_address=0x010000E0, m_port=8001)),
    "http": QueueFormat(m_qft=3, arm=WcharText.of("HTTP://host/msmq/private$/orders")),
    "https": QueueFormat(m_qft=3, arm=WcharText.of("HTTPS://host/msmq/private$/orders")),
}


@pytest.mark.parametrize("stem", OPENERS)
@rule_table(
    "name",
    ("MQRR-3.1.4.2-3 MQRR-3.1.4.11-2", "unknown"),
    ("MQRR-3.1.4.2-4 MQRR-3.1.4.11-2", "connector"),
    ("MQRR-3.1.4.2-5 MQRR-3.1.4.11-2", "dl"),
    ("MQRR-3.1.4.2-6 MQRR-3.1.4.11-2", "multicast"),
    ("MQRR-3.1.4.2-8 MQRR-3.1.4.11-3", "http"),
    ("MQRR-3.1.4.2-8 MQRR-3.1.4.11-3", "https"),
)
def test_a_name_that_nobody_can_read_from_is_thrown_back(scene: Scene, name: str, stem: str) -> None:
    _refused(scene, stem, INVALID_PARAMETER, p_queue_format=INVALID_FORMATS[name])


def _refused(scene: Scene, stem: str, expected: int, **changes: Any) -> None:
    request = changed(open_request(ORDERS, OPENERS[stem]), **changes)
    with scene.unchanged():
        assert scene.client.call(stem, request).fault == expected
    assert not scene.client.association.handles


@pytest.mark.rule("MQRR-3.1.4.2-1", "MQRR-3.1.4.2-2", "MQRR-3.1.4.2-42", "MQRR-3.1.4.11-1")
@pytest.mark.rule("MQRR-3.1.4.11-22")
@pytest.mark.parametrize("stem", OPENERS)
def test_no_queue_format_is_thrown_back(scene: Scene, stem: str) -> None:
    _refused(scene, stem, INVALID_PARAMETER, p_queue_format=None)


@pytest.mark.rule("MQRR-3.1.4.2-15", "MQRR-3.1.4.11-8")
@pytest.mark.parametrize("stem", OPENERS)
def test_no_client_identifier_is_thrown_back(scene: Scene, stem: str) -> None:
    _refused(scene, stem, INVALID_PARAMETER, p_client_id=None)


@pytest.mark.rule("MQRR-3.1.4.2-7")
@pytest.mark.parametrize("m_qft", [9, 255])
def test_a_kind_of_name_beyond_the_union_is_a_fault_of_the_transport(scene: Scene, m_qft: int) -> None:
    _refused(scene, "r_open_queue", BAD_STUB_DATA, p_queue_format=QueueFormat(m_qft=m_qft))


@pytest.mark.rule("MQRR-3.1.4.2-14", "MQRR-3.1.4.11-7")
@pytest.mark.parametrize("stem", OPENERS)
@pytest.mark.parametrize("share", [2, 0x80000000, 0xFFFFFFFF])
def test_a_share_mode_that_is_none_is_thrown_back(scene: Scene, share: int, stem: str) -> None:
    _refused(scene, stem, INVALID_PARAMETER, dw_share_mode=share)


@pytest.mark.rule("MQRR-3.1.4.11-4")
@pytest.mark.parametrize("access", [0, RECEIVE, PEEK, 5, 0xFFFFFFFF])
def test_another_access_than_move_does_not_open_for_moves(scene: Scene, access: int) -> None:
    _refused(scene, "r_open_queue_for_move", INVALID_PARAMETER, dw_access=access)


IGNORED: dict[str, dict[str, Any]] = {
    "client": {"p_client_id": NULL_GUID},
    "routing": {"f_non_routing_server": 0, "p_client_id": GUID(b"\xff" * 16)},
    "odd flags": {"f_non_routing_server": 7, "f_workgroup": -1},
    "major": {"major": 255},
    "minor": {"minor": 255},
    "build": {"build_number": 65_535},
}


@pytest.mark.rule("MQRR-3.1.4.2-16", "MQRR-3.1.4.2-17", "MQRR-3.1.4.2-19", "MQRR-3.1.4.2-20")
@pytest.mark.rule("MQRR-3.1.4.2-21", "MQRR-3.1.4.2-22", "MQRR-3.1.4.11-9", "MQRR-3.1.4.11-10")
@pytest.mark.rule("MQRR-3.1.4.11-11", "MQRR-3.1.4.11-12", "MQRR-3.1.4.11-13")
@pytest.mark.parametrize("stem", OPENERS)
@pytest.mark.parametrize("what", IGNORED)
def test_who_and_what_the_client_is_does_not_matter(scene: Scene, what: str, stem: str) -> None:
    request = changed(open_request(ORDERS, OPENERS[stem]), **IGNORED[what])
    assert scene.client.call(stem, request).fault is None
    assert len(scene.client.association.handles) == 1
    assert len(scene.queue.open_queue_descriptor_collection) == 1


@pytest.mark.rule("MQRR-2.2.3-1", "MQRR-2.2.3-2", "MQRR-3.1.4.2-32", "MQRR-3.1.4.2-37", "MQRR-2.2.4-1")
@pytest.mark.parametrize("kind", ["PUBLIC", "PRIVATE", "OS", "TCP", "MACHINE", "SUBQUEUE"])
def test_every_kind_of_name_that_can_be_read_opens_its_queue(scene: Scene, kind: str) -> None:
    manager, orders = scene.manager, scene.queue
    manager.addresses = ("192.0.2.1",)
    manager.system_journal_queue = system_queue(manager, "journal$")
    formats = {
        "PUBLIC": QueueFormat(m_qft=1, arm=orders.identifier),
        "PRIVATE": QueueFormat(
            m_qft=2, arm=ObjectId(lineage=QUEUE_MANAGER, uniquifier=orders.private_queue_number)
        ),
        "OS": QueueFormat(m_qft=3, arm=WcharText.of("OS:HOST\\PRIVATE$\\Orders")),
        "TCP": QueueFormat(m_qft=3, arm=WcharText.of("TCP:192.0.2.1\\private$\\orders")),
        "MACHINE": QueueFormat(m_qft=4, m_suffix_and_flags=1, arm=QUEUE_MANAGER),
        "SUBQUEUE": QueueFormat(
            m_qft=8, m_suffix_and_flags=5, arm=WcharText.of("OS:host\\private$\\orders;urgent")
        ),
    }
    request = changed(open_request(ORDERS), p_queue_format=formats[kind])
    answer = scene.client.call("r_open_queue", request)
    assert answer.fault is None
    descriptor = scene.context(answer.response.pph_context).descriptor
    assert manager.descriptors[descriptor.handle] is descriptor
    expected = {"MACHINE": "host\\journal$", "SUBQUEUE": "host\\private$\\orders;urgent"}
    assert descriptor.queue_reference is not None
    assert descriptor.queue_reference.pathname == expected.get(kind, "host\\private$\\orders")


@pytest.mark.rule("MQRR-3.1.4.2-9", "MQRR-3.1.4.2-10", "MQRR-3.1.4.2-11", "MQRR-3.1.4.2-33")
@pytest.mark.rule("MQRR-3.1.4.2-34")
@pytest.mark.parametrize("access", [RECEIVE, PEEK, 0, 3, 0x21, 0xFFFFFFFF])
def test_every_access_but_receive_opens_to_peek(scene: Scene, access: int) -> None:
    put(scene.queue, b"a")
    handle = scene.client.open(scene.queue, access)
    receives = access == RECEIVE
    expected = QueueAccessType.RECEIVE_ACCESS if receives else QueueAccessType.PEEK_ACCESS
    assert scene.context(handle).descriptor.access_type is expected
    assert scene.client.take(handle, PEEK_CURRENT) == b"a"
    assert scene.client.begin(handle).status == (OK if receives else INVALID_PARAMETER)


@pytest.mark.rule("MQRR-3.1.4.2-12", "MQRR-3.1.4.2-35")
def test_deny_none_lets_others_open_the_queue(scene: Scene) -> None:
    handle = scene.client.open(scene.queue, RECEIVE, 0)
    scene.another_client().open(scene.queue, RECEIVE, 0)
    assert scene.context(handle).descriptor.share_mode is QueueShareMode.DENY_NONE
    assert len(scene.queue.open_queue_descriptor_collection) == 2


@pytest.mark.rule("MQRR-3.1.4.2-13", "MQRR-3.1.4.2-36", "MQRR-3.1.4.2-38")
@pytest.mark.parametrize(("first", "second"), [(1, 0), (1, 1), (0, 1)])
def test_deny_share_keeps_other_receivers_out(scene: Scene, first: int, second: int) -> None:
    handle = scene.client.open(scene.queue, RECEIVE, first)
    mode = QueueShareMode.DENY_RECEIVE if first else QueueShareMode.DENY_NONE
    assert scene.context(handle).descriptor.share_mode is mode
    other = scene.another_client()
    with scene.unchanged():
        answer = other.call("r_open_queue", open_request(scene.queue, RECEIVE, second))
        assert answer.fault == SHARING_VIOLATION
    assert not other.association.handles
    scene.client.close(handle)
    other.open(scene.queue, RECEIVE, second)


@pytest.mark.rule("MQRR-3.1.4.2-31", "MQRR-3.1.4.2-39", "MQRR-3.1.4.11-15", "MQRR-3.1.4.11-21")
@pytest.mark.rule("MQRR-3.1.4.2-42")
@pytest.mark.parametrize("stem", OPENERS)
@pytest.mark.parametrize(
    "name",
    [
        "DIRECT=OS:host\\private$\\nothing",
        "DIRECT=OS:another\\private$\\orders",
        "DIRECT=OS:host\\private$\\nothing;sub",
        "MACHINE=00000000-0000-0000-0000-000000000001;JOURNAL",
    ],
)
def test_a_queue_that_is_not_here_is_thrown_back(scene: Scene, name: str, stem: str) -> None:
    with scene.unchanged():
        assert scene.client.call(stem, open_request(name, OPENERS[stem])).fault == QUEUE_NOT_FOUND


@pytest.mark.parametrize("stem", OPENERS)
@rule_table(
    "status",
    ("MQRR-3.1.4.2-40 MQRR-3.1.4.11-21", 0xC00E0020),
    ("MQRR-3.1.4.2-41 MQRR-3.1.4.11-21", 0xC00E0045),
)
def test_what_open_queue_answers_is_thrown_as_it_is(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, status: int, stem: str
) -> None:
    monkeypatch.setattr(remote_read, "open_queue", lambda *arguments: (status, None))
    _refused(scene, stem, status)


@pytest.mark.rule("MQRR-2.1-4")
def test_a_client_without_the_right_is_refused_when_it_opens() -> None:
    scene = Scene(permits=lambda client, queue, access: access is QueueAccessType.PEEK_ACCESS)
    with scene.unchanged():
        answer = scene.client.call("r_open_queue", open_request(scene.queue, RECEIVE))
        assert answer.fault == ACCESS_DENIED
    scene.client.open(scene.queue, PEEK)


@pytest.mark.rule("MQRR-3.1.4.11-5", "MQRR-3.1.4.11-6", "MQRR-3.1.4.11-16", "MQRR-3.1.4.11-17")
@pytest.mark.parametrize("share", [0, 1])
def test_a_queue_opened_for_moves_has_move_access_and_its_share_mode(scene: Scene, share: int) -> None:
    answer = scene.client.call("r_open_queue_for_move", open_request(scene.queue, MOVE, share))
    descriptor = scene.context(answer.response.pph_context).descriptor
    assert descriptor.queue_reference is scene.queue
    assert descriptor.access_type is QueueAccessType.MOVE_ACCESS
    assert descriptor.share_mode is (QueueShareMode.DENY_RECEIVE if share else QueueShareMode.DENY_NONE)


@pytest.mark.rule("MQRR-3.1.4.11-18")
def test_a_queue_that_somebody_else_receives_from_alone_opens_for_moves(scene: Scene) -> None:
    scene.client.open(scene.queue, RECEIVE, 1)
    scene.another_client().open_for_move(scene.queue)
    assert len(scene.queue.open_queue_descriptor_collection) == 2


@pytest.mark.rule("MQRR-3.1.4.11-19", "MQRR-3.1.4.11-20", "MQRR-2.2.4-1")
def test_opening_for_moves_gives_a_handle_and_a_number_of_its_own(scene: Scene) -> None:
    opened = [scene.client.open_for_move(scene.queue) for _ in range(50)]
    numbers = {number for _, number in opened}
    assert len(numbers) == 50
    assert 0 not in numbers
    assert max(numbers) > 1 << 32
    for handle, number in opened:
        assert scene.context(handle).descriptor.context_value == number


@pytest.mark.rule("MQRR-3.1.4.11-23")
def test_the_number_of_a_target_goes_with_its_handle(scene: Scene) -> None:
    handle, number = scene.client.open_for_move("DIRECT=OS:host\\private$\\orders;done")
    source, message = scene.client.open(scene.queue), put(scene.queue, b"a")
    scene.client.close(handle)
    assert number not in {one.context_value for one in scene.manager.descriptors.values()}
    assert scene.client.move(source, number, message.lookup_identifier) == INVALID_HANDLE
    assert labels(scene.queue) == ["a"]


@pytest.mark.rule("MQRR-3.1.4.3-1", "MQRR-3.1.4.3-12")
def test_closing_null_fails(scene: Scene) -> None:
    scene.client.open(scene.queue)
    with scene.unchanged():
        answer = scene.client.close(ContextHandle())
        assert (answer.status, answer.response.pph_context) == (INVALID_HANDLE, ContextHandle())


@pytest.mark.rule("MQRR-3.1.4.3-2", "MQRR-3.1.4.3-3")
def test_a_handle_that_was_never_given_or_was_closed_cannot_be_closed(scene: Scene) -> None:
    handle = scene.client.open(scene.queue)
    assert scene.client.close(UNKNOWN_HANDLE).fault == CONTEXT_MISMATCH
    assert len(scene.manager.descriptors) == 1
    assert scene.client.close(handle).status == OK
    with scene.unchanged():
        assert scene.client.close(handle).fault == CONTEXT_MISMATCH


@pytest.mark.rule("MQRR-3.1.4.3-4", "MQRR-3.1.4.3-12")
def test_a_handle_whose_descriptor_is_gone_stays_when_it_is_closed(scene: Scene) -> None:
    handle = scene.client.open(scene.queue)
    scene.lose_descriptor(handle)
    answer = scene.client.close(handle)
    assert (answer.status, answer.response.pph_context) == (INVALID_HANDLE, handle)
    assert handle.uuid in scene.client.association.handles


@pytest.mark.rule("MQRR-3.1.4.3-5", "MQRR-3.1.4.3-7", "MQRR-3.1.4.3-10", "MQRR-3.1.4.3-11", "MQRR-2.2.4-1")
@pytest.mark.rule("MQRR-2.2.4.2-1")
@pytest.mark.parametrize("stem", OPENERS)
def test_closing_a_queue_ends_its_handle_and_its_cursors(scene: Scene, stem: str) -> None:
    handle = scene.client.open_in_any_way(scene.queue, OPENERS[stem])
    if stem == "r_open_queue":
        scene.client.create_cursor(handle)
    answer = scene.client.close(handle)
    assert (answer.status, answer.response.pph_context) == (OK, ContextHandle())
    assert not scene.client.association.handles
    assert not scene.queue.open_queue_descriptor_collection
    state = scene.state()
    assert (state["descriptors"], state["cursors"], state["timers"]) == ([], {}, 0)


@pytest.mark.rule("MQRR-3.1.4.3-6", "MQRR-2.2.4.1-1")
def test_closing_a_queue_cancels_receives_and_peeks_that_wait(scene: Scene, handle: ContextHandle) -> None:
    receive = scene.client.begin(handle, timeout=1000, request_id=1)
    peek = scene.client.begin(handle, PEEK_CURRENT, timeout=1000, request_id=2)
    assert receive.answer is None
    assert peek.answer is None
    assert scene.client.close(handle).status == OK
    assert (receive.status, peek.status) == (CANCELLED, CANCELLED)
    assert scene.state()["timers"] == 0
    assert len(scene.server.pending_request_table) == 0


@pytest.mark.rule("MQRR-3.1.4.3-8", "MQRR-3.1.4.3-9")
def test_closing_a_queue_gives_back_what_was_received_with_it_alone(scene: Scene) -> None:
    scene.put(b"a", b"b")
    handle, other = scene.client.open(scene.queue), scene.client.open(scene.queue)
    scene.client.take(handle)
    scene.client.take(other)
    scene.client.close(handle)
    assert states(scene.queue) == ["Available", "Locked"]
    assert len(scene.server.pending_request_table) == 1
    assert scene.manager.timers.running == 1
    assert scene.entry(other) is not None


def _calls(scene: Scene, handle: ContextHandle, what: str) -> int | None:
    client = scene.client
    return {
        "create_cursor": lambda: client.call("r_create_cursor", ContextRequest(ph_context=handle)).status,
        "close_cursor": lambda: client.close_cursor(handle, 1),
        "purge": lambda: client.purge(handle),
        "begin": lambda: client.begin(handle).status,
        "begin_in": lambda: client.begin(handle, transaction=TRANSACTION).status,
        "cancel": lambda: client.cancel(handle),
        "end": lambda: client.end(handle),
        "end_in": lambda: client.end(handle, transactional=True),
        "move": lambda: client.move(handle, 1, 1),
        "classify": lambda: client.classify(handle, 1),
    }[what]()


@pytest.mark.rule("MQRR-2.2.4.1-2", "MQRR-2.2.4.2-2")
@rule_table(
    "what",
    ("MQRR-3.1.4.4-1 MQRR-3.1.4.4-2", "create_cursor"),
    ("MQRR-3.1.4.5-1 MQRR-3.1.4.5-2", "close_cursor"),
    ("MQRR-3.1.4.6-1 MQRR-3.1.4.6-2", "purge"),
    ("MQRR-3.1.4.7-33 MQRR-3.1.4.7-34", "begin"),
    ("MQRR-3.1.4.13-33 MQRR-3.1.4.13-34", "begin_in"),
    ("MQRR-3.1.4.8-1 MQRR-3.1.4.8-2", "cancel"),
    ("MQRR-3.1.4.9-1 MQRR-3.1.4.9-2", "end"),
    ("MQRR-3.1.4.15-1 MQRR-3.1.4.15-2", "end_in"),
    ("MQRR-3.1.4.10-1 MQRR-3.1.4.10-2", "move"),
    ("MQRR-3.1.4.14-1 MQRR-3.1.4.14-2", "classify"),
)
def test_null_and_handles_of_others_and_closed_ones_are_refused_by_the_transport(
    scene: Scene, what: str
) -> None:
    put(scene.queue, b"a")
    closed = scene.client.open(scene.queue)
    scene.client.close(closed)
    others = scene.another_client().open(scene.queue)
    with scene.unchanged():
        for handle in (ContextHandle(), UNKNOWN_HANDLE, closed, others):
            assert _calls(scene, handle, what) == CONTEXT_MISMATCH


@pytest.mark.rule("MQRR-2.2.4.2-2")
def test_the_handle_of_another_client_cannot_be_closed(scene: Scene) -> None:
    others = scene.another_client().open(scene.queue)
    answer = scene.client.call("r_close_queue", CloseQueueRequest(pph_context=others))
    assert answer.fault == CONTEXT_MISMATCH
    assert len(scene.manager.descriptors) == 1


@rule_table(
    "what",
    ("MQRR-3.1.4.4-3", "create_cursor"),
    ("MQRR-3.1.4.5-3", "close_cursor"),
    ("MQRR-3.1.4.6-3", "purge"),
    ("MQRR-3.1.4.7-35", "begin"),
    ("MQRR-3.1.4.13-39", "begin_in"),
    ("MQRR-3.1.4.8-3", "cancel"),
    ("MQRR-3.1.4.10-3", "move"),
    ("MQRR-3.1.4.14-3", "classify"),
)
def test_a_handle_without_a_descriptor_fails_and_changes_nothing(scene: Scene, what: str) -> None:
    put(scene.queue, b"a")
    handle = scene.client.open(scene.queue)
    scene.lose_descriptor(handle)
    with scene.unchanged():
        assert _calls(scene, handle, what) == INVALID_HANDLE


@pytest.mark.rule("MQRR-3.1.4.4-4")
def test_a_handle_for_moves_has_no_cursors(scene: Scene) -> None:
    handle, _ = scene.client.open_for_move(scene.queue)
    assert _calls(scene, handle, "create_cursor") == INVALID_HANDLE
    assert not scene.manager.cursors


@pytest.mark.rule("MQRR-3.1.4.4-6")
def test_a_queue_that_was_deleted_gets_no_cursor(scene: Scene, handle: ContextHandle) -> None:
    delete_queue(scene.manager, scene.queue)
    assert _calls(scene, handle, "create_cursor") == QUEUE_NOT_AVAILABLE
    assert not scene.manager.cursors


@pytest.mark.rule("MQRR-3.1.4.4-5", "MQRR-3.1.4.4-7", "MQRR-3.1.4.4-8", "MQRR-3.1.4.4-9")
def test_a_cursor_stands_before_the_first_message_and_has_a_number_of_its_own(scene: Scene) -> None:
    put(scene.queue, b"a")
    handles = [scene.client.open(scene.queue), scene.client.open(scene.letters)]
    numbers = [scene.client.create_cursor(handle) for handle in handles for _ in range(2)]
    assert len(set(numbers)) == 4
    cursors = scene.context(handles[0]).descriptor.cursor_collection
    assert [cursor.handle for cursor in cursors] == numbers[:2]
    for cursor in cursors:
        assert cursor.cursor_state is CursorState.UNREAD
        assert cursor.message_position_reference == "start"


@pytest.mark.rule("MQRR-3.1.4.5-4", "MQRR-3.1.4.5-5", "MQRR-3.1.4.5-6")
def test_a_cursor_that_the_handle_does_not_have_cannot_be_closed(scene: Scene) -> None:
    handle, other = scene.client.open(scene.queue), scene.client.open(scene.queue)
    closed, others = scene.client.create_cursor(handle), scene.client.create_cursor(other)
    scene.client.close_cursor(handle, closed)
    with scene.unchanged():
        for number in (0, 0xFFFFFFFF, closed, others):
            assert scene.client.close_cursor(handle, number) == STATUS_INVALID_HANDLE


@pytest.mark.rule("MQRR-3.1.4.5-7", "MQRR-3.1.4.5-8", "MQRR-3.1.4.5-9")
def test_closing_a_cursor_answers_who_waits_with_it_and_nobody_else(scene: Scene) -> None:
    handle = scene.client.open(scene.queue)
    cursor, another = scene.client.create_cursor(handle), scene.client.create_cursor(handle)
    waiting = scene.client.begin(handle, cursor=cursor, timeout=1000, request_id=1)
    others = scene.client.begin(handle, cursor=another, timeout=1000, request_id=2)
    assert scene.client.close_cursor(handle, cursor) == OK
    assert waiting.status == CANCELLED
    assert others.answer is None
    assert list(scene.manager.cursors) == [another]
    assert (scene.entry(handle, 1), scene.entry(handle, 2) is None) == (None, False)


@pytest.mark.rule("MQRR-3.1.4.6-4", "MQRR-3.1.4.6-5")
def test_a_purge_takes_what_is_free_now_and_what_is_locked_later(scene: Scene, handle: ContextHandle) -> None:
    scene.put(b"a", b"b", b"c")
    scene.client.take(handle)
    assert scene.client.purge(handle) == OK
    assert (labels(scene.queue), states(scene.queue)) == (["a"], ["PurgePending"])
    assert [label for label, _ in scene.deleted] == ["b", "c"]


@pytest.mark.rule("MQRR-3.1.4.6-6")
def test_a_purge_of_an_empty_queue_succeeds(scene: Scene, handle: ContextHandle) -> None:
    with scene.unchanged():
        assert scene.client.purge(handle) == OK


@pytest.mark.rule("MQRR-3.1.4.6-7", "MQRR-3.1.4.6-8")
@pytest.mark.parametrize("access", [PEEK, MOVE])
def test_a_purge_needs_receive_access(scene: Scene, access: int) -> None:
    put(scene.queue, b"a")
    handle = scene.client.open_in_any_way(scene.queue, access)
    with scene.unchanged():
        assert scene.client.purge(handle) == STATUS_ACCESS_DENIED


def test_a_purge_of_a_deleted_queue_fails(scene: Scene, handle: ContextHandle) -> None:
    delete_queue(scene.manager, scene.queue)
    assert scene.client.purge(handle) == QUEUE_NOT_AVAILABLE
