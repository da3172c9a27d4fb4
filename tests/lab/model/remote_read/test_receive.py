"""RemoteRead: what a peek or a receive does to queue, cursor and table. [MS-MQRR] 3.1.4.7, 3.1.4.13"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire.lab.model.data.enumerations import CursorState, MessageSeekAction, OperationType
from msmq_wire.lab.model.events.message import dequeue_message_begin
from msmq_wire.lab.model.events.position import message_position_deleted
from msmq_wire.lab.model.remote_read import receive as remote_read_receive
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.model.remote_read.scene import (
    ACTION_RECEIVE,
    ALREADY_RECEIVED,
    CANCELLED,
    ILLEGAL_CURSOR_ACTION,
    INVALID_HANDLE,
    IO_TIMEOUT,
    LOOKUP_PEEK_CURRENT,
    LOOKUP_PEEK_NEXT,
    LOOKUP_PEEK_PREV,
    LOOKUP_RECEIVE_CURRENT,
    LOOKUP_RECEIVE_NEXT,
    LOOKUP_RECEIVE_PREV,
    MESSAGE_NOT_FOUND,
    OK,
    PEEK_CURRENT,
    PEEK_NEXT,
    TRANSACTION,
    TRANSACTION_USAGE,
    Scene,
    body,
    ways,
)
from tests.lab.model.scene import START, labels, pass_time, position, put, states
from tests.rules import rule_table

SEEKS = {
    LOOKUP_PEEK_CURRENT: (MessageSeekAction.SEEK_CURRENT, b"b"),
    LOOKUP_PEEK_NEXT: (MessageSeekAction.SEEK_NEXT, b"c"),
    LOOKUP_PEEK_PREV: (MessageSeekAction.SEEK_PREVIOUS, b"a"),
    LOOKUP_RECEIVE_CURRENT: (MessageSeekAction.SEEK_CURRENT, b"b"),
    LOOKUP_RECEIVE_NEXT: (MessageSeekAction.SEEK_NEXT, b"c"),
    LOOKUP_RECEIVE_PREV: (MessageSeekAction.SEEK_PREVIOUS, b"a"),
}
"""How a lookup seeks, and what it finds from the second of a, b and c."""


def _spy(monkeypatch: pytest.MonkeyPatch, event: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Note what an event of the model is raised with."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    raised: Callable[..., Any] = getattr(remote_read_receive, event)

    def noting(*arguments: Any, **named: Any) -> Any:
        calls.append((arguments, named))
        return raised(*arguments, **named)

    monkeypatch.setattr(remote_read_receive, event, noting)
    return calls


@pytest.mark.rule("MQRR-3.1.4.7-48", "MQRR-3.1.4.7-49", "MQRR-3.1.4.7-50", "MQRR-3.1.4.7-51")
@pytest.mark.rule("MQRR-3.1.4.7-52", "MQRR-3.1.4.13-57", "MQRR-3.1.4.13-58", "MQRR-3.1.4.13-59")
@pytest.mark.rule("MQRR-3.1.4.13-60", "MQRR-3.1.4.13-61", "MQRR-3.1.4.13-62")
@ways
@pytest.mark.parametrize("with_cursor", [True, False])
def test_a_receive_raises_dequeue_message_begin_with_what_the_client_gave(
    scene: Scene, handle: ContextHandle, monkeypatch: pytest.MonkeyPatch, with_cursor: bool, way: GUID | None
) -> None:
    put(scene.queue, b"a")
    calls = _spy(monkeypatch, "dequeue_message_begin")
    cursor = scene.client.create_cursor(handle) if with_cursor else 0
    scene.client.take(handle, cursor=cursor, timeout=1234, request_id=77)
    (arguments, named) = calls[0]
    assert arguments[0] is scene.context(handle).descriptor
    assert named["timeout"] == 1234
    assert named["cursor"] is (scene.manager.cursors[cursor] if with_cursor else None)
    assert named["tag"] == 77
    assert named["transaction"] is scene.manager.transaction_collection.get(way or b"")


@pytest.mark.rule("MQRR-3.1.1.2-1", "MQRR-3.1.2.2-1", "MQRR-3.1.2.2-2", "MQRR-3.1.4.7-42", "MQRR-3.1.4.7-43")
@pytest.mark.rule("MQRR-3.1.4.7-44", "MQRR-3.1.4.7-45", "MQRR-3.1.4.7-46", "MQRR-3.1.4.7-47")
@pytest.mark.rule("MQRR-3.1.4.7-53", "MQRR-3.1.4.13-51", "MQRR-3.1.4.13-52", "MQRR-3.1.4.13-53")
@pytest.mark.rule("MQRR-3.1.4.13-54", "MQRR-3.1.4.13-55", "MQRR-3.1.4.13-56", "MQRR-3.1.4.13-63")
@ways
def test_a_receive_makes_its_entry_before_the_event_and_completes_it_after(
    scene: Scene, handle: ContextHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = put(scene.queue, b"a")
    pass_time(scene.manager, (1 << 32) + 5)
    seen: list[tuple[Any, ...]] = []
    raised = dequeue_message_begin

    def looking(*arguments: Any, **named: Any) -> None:
        entry, timer = scene.pending(handle, 9)
        due = timer.due - scene.manager.timers.now
        seen.append((entry.request_id, entry.lookup_identifier, entry.time_stamp, due, timer.running))
        assert entry.queue_context_handle is scene.context(handle)
        raised(*arguments, **named)

    monkeypatch.setattr(remote_read_receive, "dequeue_message_begin", looking)
    scene.client.take(handle, request_id=9)
    assert seen == [(9, 0, 5, 300_000, True)]
    entry, timer = scene.pending(handle, 9)
    assert (entry.lookup_identifier, timer.running) == (message.lookup_identifier, True)


@pytest.mark.rule("MQRR-3.1.2.2-2")
def test_the_time_to_clean_up_can_be_configured() -> None:
    scene = Scene(cleanup_timeout=60_000)
    scene.taken()
    pass_time(scene.manager, 59_999)
    assert states(scene.queue) == ["Locked"]
    pass_time(scene.manager, 1)
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.4.7-54", "MQRR-3.1.4.13-64", "MQRR-3.1.4.7-136", "MQRR-3.1.4.13-122")
@ways
def test_a_receive_that_fails_leaves_no_entry_and_no_timer(scene: Scene, handle: ContextHandle) -> None:
    call = scene.client.begin(handle)
    assert call.status == IO_TIMEOUT
    assert call.response.pp_packet_sections is None
    assert scene.entry(handle) is None
    assert scene.state()["timers"] == 0
    assert scene.client.end(handle) == INVALID_HANDLE


@pytest.mark.rule("MQRR-3.1.4.7-55", "MQRR-3.1.4.7-56", "MQRR-3.1.4.7-57", "MQRR-3.1.4.7-58")
@pytest.mark.rule("MQRR-3.1.4.7-62")
@pytest.mark.parametrize("with_cursor", [True, False])
def test_peek_current_raises_peek_message_with_what_the_client_gave(
    scene: Scene, handle: ContextHandle, monkeypatch: pytest.MonkeyPatch, with_cursor: bool
) -> None:
    calls = _spy(monkeypatch, "peek_message")
    cursor = scene.client.create_cursor(handle) if with_cursor else 0
    waiting = scene.client.begin(handle, PEEK_CURRENT, cursor=cursor, timeout=1234, request_id=77)
    (arguments, named) = calls[0]
    assert arguments[0] is scene.context(handle).descriptor
    assert named["timeout"] == 1234
    assert named["cursor"] is (scene.manager.cursors[cursor] if with_cursor else None)
    assert scene.client.cancel(handle, 77) == OK
    assert waiting.status == CANCELLED


@pytest.mark.rule("MQRR-3.1.4.7-59", "MQRR-3.1.4.7-60", "MQRR-3.1.4.7-61", "MQRR-3.1.4.7-62")
def test_peek_next_raises_peek_next_message_with_what_the_client_gave(
    scene: Scene, handle: ContextHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(scene.queue, b"a")
    calls = _spy(monkeypatch, "peek_next_message")
    cursor = scene.client.create_cursor(handle)
    scene.client.take(handle, PEEK_CURRENT, cursor=cursor)
    waiting = scene.client.begin(handle, PEEK_NEXT, cursor=cursor, timeout=1234, request_id=77)
    (arguments, named) = calls[0]
    assert arguments[:2] == (scene.context(handle).descriptor, scene.manager.cursors[cursor])
    assert named["timeout"] == 1234
    assert scene.client.cancel(handle, 77) == OK
    assert waiting.status == CANCELLED


@pytest.mark.rule("MQRR-3.1.4.7-87")
@rule_table(
    "action",
    ("MQRR-3.1.4.7-63 MQRR-3.1.4.7-64 MQRR-3.1.4.7-65", LOOKUP_PEEK_CURRENT),
    ("MQRR-3.1.4.7-66 MQRR-3.1.4.7-67 MQRR-3.1.4.7-68", LOOKUP_PEEK_NEXT),
    ("MQRR-3.1.4.7-69 MQRR-3.1.4.7-70 MQRR-3.1.4.7-71", LOOKUP_PEEK_PREV),
)
def test_a_lookup_that_peeks_reads_by_lookup_identifier_and_leaves_all_as_it_was(
    scene: Scene, handle: ContextHandle, monkeypatch: pytest.MonkeyPatch, action: int
) -> None:
    messages = scene.put(b"a", b"b", b"c")
    calls = _spy(monkeypatch, "read_message_by_lookup_identifier")
    lookup_id = messages[1].lookup_identifier
    seek, expected = SEEKS[action]
    with scene.unchanged():
        assert scene.client.take(handle, action, lookup_id=lookup_id) == expected
    (arguments, named) = calls[0]
    assert arguments == (scene.context(handle).descriptor, lookup_id, seek)
    assert named["peek_operation"] is True


@ways
@rule_table(
    "action",
    (
        (
            "MQRR-3.1.4.7-72 MQRR-3.1.4.7-73 MQRR-3.1.4.7-74 MQRR-3.1.4.7-75 MQRR-3.1.4.7-76 "
            "MQRR-3.1.4.13-65 MQRR-3.1.4.13-66 MQRR-3.1.4.13-67 MQRR-3.1.4.13-68 MQRR-3.1.4.13-69 "
            "MQRR-3.1.4.13-70"
        ),
        LOOKUP_RECEIVE_CURRENT,
    ),
    (
        (
            "MQRR-3.1.4.7-77 MQRR-3.1.4.7-78 MQRR-3.1.4.7-79 MQRR-3.1.4.7-80 MQRR-3.1.4.7-81 "
            "MQRR-3.1.4.13-71 MQRR-3.1.4.13-72 MQRR-3.1.4.13-73 MQRR-3.1.4.13-74 MQRR-3.1.4.13-75 "
            "MQRR-3.1.4.13-76"
        ),
        LOOKUP_RECEIVE_NEXT,
    ),
    (
        (
            "MQRR-3.1.4.7-82 MQRR-3.1.4.7-83 MQRR-3.1.4.7-84 MQRR-3.1.4.7-85 MQRR-3.1.4.7-86 "
            "MQRR-3.1.4.13-77 MQRR-3.1.4.13-78 MQRR-3.1.4.13-79 MQRR-3.1.4.13-80 MQRR-3.1.4.13-81 "
            "MQRR-3.1.4.13-82"
        ),
        LOOKUP_RECEIVE_PREV,
    ),
)
def test_a_lookup_that_receives_locks_the_message_and_has_an_entry(
    scene: Scene, handle: ContextHandle, monkeypatch: pytest.MonkeyPatch, action: int, way: GUID | None
) -> None:
    messages = {body: put(scene.queue, body) for body in (b"a", b"b", b"c")}
    calls = _spy(monkeypatch, "read_message_by_lookup_identifier")
    lookup_id = messages[b"b"].lookup_identifier
    found = scene.client.take(handle, action, lookup_id=lookup_id)
    seek, expected = SEEKS[action]
    assert found == expected
    (arguments, named) = calls[0]
    assert arguments == (scene.context(handle).descriptor, lookup_id, seek)
    assert (named["peek_operation"], named["two_phase_read"]) == (False, True)
    assert named["transaction"] is scene.manager.transaction_collection.get(way or b"")
    after = ["Locked" if label == found.decode() else "Available" for label in labels(scene.queue)]
    assert states(scene.queue) == after
    entry, timer = scene.pending(handle)
    assert (entry.lookup_identifier, timer.due) == (messages[found].lookup_identifier, 300_000)
    assert scene.client.end(handle) == OK


@pytest.mark.rule("MQRR-3.1.4.7-87", "MQRR-3.1.4.7-88", "MQRR-3.1.4.7-135", "MQRR-3.1.4.13-37")
@pytest.mark.parametrize("transaction", [None, NULL_GUID])
def test_a_peek_is_over_when_it_is_answered(scene: Scene, transaction: GUID | None) -> None:
    put(scene.queue, b"a")
    handle = scene.client.open(scene.queue)
    with scene.unchanged():
        assert scene.client.take(handle, PEEK_CURRENT, transaction=transaction) == b"a"
    assert scene.client.end(handle, transactional=transaction is not None) == INVALID_HANDLE


@pytest.mark.rule("MQRR-3.1.4.7-89", "MQRR-3.1.4.7-135", "MQRR-3.1.4.9-24", "MQRR-3.1.4.15-26")
@pytest.mark.rule("MQRR-3.1.4.13-84", "MQRR-3.1.4.13-121")
@ways
def test_a_receive_holds_its_message_until_it_is_cleaned_up(scene: Scene, handle: ContextHandle) -> None:
    put(scene.queue, b"a")
    assert scene.client.take(handle) == b"a"
    pass_time(scene.manager, 299_999)
    assert states(scene.queue) == ["Locked"]
    pass_time(scene.manager, 1)
    assert states(scene.queue) == ["Available"]
    assert scene.entry(handle) is None


@pytest.mark.rule("MQRR-3.1.4.7-90", "MQRR-3.1.4.13-85")
@ways
def test_a_receive_takes_the_first_message_that_is_not_locked(scene: Scene, handle: ContextHandle) -> None:
    for name, priority in ((b"low", 1), (b"high", 6), (b"higher", 7), (b"high too", 6)):
        put(scene.queue, name, priority=priority)
    scene.lock(scene.queue)
    taken = [scene.client.take(handle, request_id=number) for number in range(3)]
    assert taken == [b"high", b"high too", b"low"]
    assert states(scene.queue) == ["Locked"] * 4


@pytest.mark.rule("MQRR-3.1.4.7-91", "MQRR-3.1.4.7-92", "MQRR-3.1.4.13-86", "MQRR-3.1.4.13-87")
@ways
def test_who_waits_first_gets_the_message_and_the_next_goes_on_waiting(scene: Scene) -> None:
    handle = scene.client.open(scene.queue)
    first = scene.client.begin(handle, request_id=1, timeout=5000)
    second = scene.client.begin(handle, request_id=2, timeout=5000)
    pass_time(scene.manager, 4999)
    assert (first.answer, second.answer) == (None, None)
    message = put(scene.queue, b"a")
    assert body(first) == b"a"
    assert second.answer is None
    assert states(scene.queue) == ["Locked"]
    assert scene.pending(handle, 1)[0].lookup_identifier == message.lookup_identifier


@pytest.mark.rule("MQRR-3.1.4.7-93", "MQRR-3.1.4.13-88", "MQRR-3.1.2.1-6")
@pytest.mark.parametrize("action", [ACTION_RECEIVE, PEEK_CURRENT])
def test_who_waited_in_vain_is_told_when_the_time_is_over(scene: Scene, action: int) -> None:
    handle = scene.client.open(scene.queue)
    waiting = scene.client.begin(handle, action, timeout=1000)
    within = scene.client.begin(handle, transaction=TRANSACTION, timeout=1000, request_id=2)
    pass_time(scene.manager, 1000)
    assert (waiting.status, within.status) == (IO_TIMEOUT, IO_TIMEOUT)
    assert scene.state()["timers"] == 0
    assert scene.state()["waiting"] == 0
    put(scene.queue, b"late")
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.4.7-94", "MQRR-3.1.4.13-89")
@ways
def test_who_does_not_wait_is_told_at_once(scene: Scene, handle: ContextHandle) -> None:
    assert scene.client.begin(handle, timeout=0).status == IO_TIMEOUT
    assert scene.state()["waiting"] == 0


@pytest.mark.rule("MQRR-3.1.4.7-95", "MQRR-3.1.4.7-96", "MQRR-3.1.4.13-90", "MQRR-3.1.4.13-91")
@ways
def test_a_cursor_walks_as_it_receives(scene: Scene, handle: ContextHandle) -> None:
    messages = scene.put(b"a", b"b")
    number = scene.client.create_cursor(handle)
    cursor = scene.manager.cursors[number]
    for request_id, message in enumerate(messages):
        scene.client.take(handle, cursor=number, request_id=request_id)
        assert cursor.cursor_state is CursorState.UNREAD
        assert cursor.message_position_reference is position(message)
    call = scene.client.begin(handle, cursor=number, request_id=9)
    assert call.status == MESSAGE_NOT_FOUND
    assert cursor.message_position_reference is position(messages[1])
    assert scene.entry(handle, 9) is None


@pytest.mark.rule("MQRR-3.1.4.7-97", "MQRR-3.1.4.13-92", "MQRR-3.1.4.7-103")
@ways
def test_a_cursor_stays_on_a_message_that_somebody_else_took(scene: Scene, handle: ContextHandle) -> None:
    scene.put(b"a", b"b")
    number = scene.client.create_cursor(handle)
    scene.client.take(handle, PEEK_CURRENT, cursor=number)
    scene.lock(scene.queue)
    before = scene.state()
    call = scene.client.begin(handle, cursor=number)
    assert call.status == ALREADY_RECEIVED
    assert scene.client.begin(handle, PEEK_CURRENT, cursor=number).status == ALREADY_RECEIVED
    after = scene.state()
    assert after.pop("transactions") in ({}, {bytes(TRANSACTION): 0})
    before.pop("transactions")
    assert after == before


@pytest.mark.rule("MQRR-3.1.4.7-98", "MQRR-3.1.4.13-93")
@ways
def test_a_cursor_that_has_read_a_message_takes_it_and_goes_on(scene: Scene, handle: ContextHandle) -> None:
    scene.put(b"a", b"b")
    number = scene.client.create_cursor(handle)
    scene.client.take(handle, PEEK_CURRENT, cursor=number)
    assert scene.client.take(handle, cursor=number) == b"a"
    assert scene.manager.cursors[number].cursor_state is CursorState.UNREAD
    assert scene.client.take(handle, PEEK_CURRENT, cursor=number, request_id=2) == b"b"


@pytest.mark.rule("MQRR-3.1.4.7-99", "MQRR-3.1.4.7-102", "MQRR-3.1.4.7-105", "MQRR-3.1.4.7-100")
def test_a_cursor_peeks_again_where_it_stands_and_goes_on_when_told_so(scene: Scene) -> None:
    first, second = put(scene.queue, b"a"), put(scene.queue, b"b")
    handle = scene.client.open(scene.queue)
    number = scene.client.create_cursor(handle)
    cursor = scene.manager.cursors[number]
    for _ in range(2):
        assert scene.client.take(handle, PEEK_CURRENT, cursor=number) == b"a"
        assert cursor.cursor_state is CursorState.READ
        assert cursor.message_position_reference is position(first)
    assert scene.client.take(handle, PEEK_NEXT, cursor=number) == b"b"
    assert cursor.message_position_reference is position(second)
    assert scene.client.begin(handle, PEEK_NEXT, cursor=number).status == IO_TIMEOUT


@pytest.mark.rule("MQRR-3.1.4.7-100")
def test_a_cursor_at_the_end_peeks_nothing(scene: Scene, handle: ContextHandle) -> None:
    number = scene.client.create_cursor(handle)
    assert scene.client.begin(handle, PEEK_CURRENT, cursor=number).status == IO_TIMEOUT
    assert scene.state()["waiting"] == 0


@pytest.mark.rule("MQRR-3.1.4.7-101")
def test_a_peek_that_waits_lets_the_next_one_have_the_message_too(scene: Scene) -> None:
    handle = scene.client.open(scene.queue)
    peeks = [scene.client.begin(handle, PEEK_CURRENT, request_id=n, timeout=1000) for n in range(3)]
    receive = scene.client.begin(handle, request_id=3, timeout=1000)
    late = scene.client.begin(handle, PEEK_CURRENT, request_id=4, timeout=1000)
    put(scene.queue, b"a")
    for call in (*peeks, receive):
        assert body(call) == b"a"
    assert late.answer is None
    assert scene.context(handle).waiting_peeks == {4}


@pytest.mark.rule("MQRR-3.1.4.7-104")
def test_a_cursor_that_has_read_nothing_cannot_peek_on(scene: Scene, handle: ContextHandle) -> None:
    put(scene.queue, b"a")
    number = scene.client.create_cursor(handle)
    with scene.unchanged():
        assert scene.client.begin(handle, PEEK_NEXT, cursor=number).status == ILLEGAL_CURSOR_ACTION


@pytest.mark.rule("MQRR-3.1.4.7-106", "MQRR-3.1.4.13-94")
@ways
@pytest.mark.parametrize("action", SEEKS)
def test_a_lookup_identifier_that_no_message_has_finds_nothing(
    scene: Scene, handle: ContextHandle, action: int, way: GUID | None
) -> None:
    put(scene.queue, b"a")
    call = scene.client.begin(handle, action, lookup_id=99, transaction=way)
    peeks_within = way == TRANSACTION and action < LOOKUP_RECEIVE_CURRENT
    assert call.status == (TRANSACTION_USAGE if peeks_within else MESSAGE_NOT_FOUND)
    assert scene.entry(handle) is None
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.4.7-107", "MQRR-3.1.4.13-95")
@ways
@pytest.mark.parametrize("action", [LOOKUP_RECEIVE_NEXT, LOOKUP_RECEIVE_PREV])
def test_no_message_on_the_side_that_is_asked_for_is_none(scene: Scene, action: int) -> None:
    message = put(scene.queue, b"a")
    lookup_id = message.lookup_identifier
    handle = scene.client.open(scene.queue)
    call = scene.client.begin(handle, action, lookup_id=lookup_id)
    assert call.status == MESSAGE_NOT_FOUND
    peek = scene.client.begin(handle, action - 0x10, lookup_id=lookup_id)
    assert peek.status == MESSAGE_NOT_FOUND
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.4.7-108", "MQRR-3.1.4.13-96")
@ways
def test_a_message_that_left_its_queue_is_not_found(scene: Scene, handle: ContextHandle) -> None:
    message = put(scene.queue, b"a")
    message_position_deleted(position(message), MessageClass.MQMSG_CLASS_ACK_RECEIVE)
    lookup_id = message.lookup_identifier
    call = scene.client.begin(handle, LOOKUP_RECEIVE_CURRENT, lookup_id=lookup_id)
    assert call.status == MESSAGE_NOT_FOUND
    assert scene.client.begin(handle, LOOKUP_PEEK_CURRENT, lookup_id=lookup_id).status == MESSAGE_NOT_FOUND
    assert labels(scene.queue) == []


@pytest.mark.rule("MQRR-3.1.4.7-109", "MQRR-3.1.4.7-111", "MQRR-3.1.4.13-97")
@ways
def test_a_locked_message_is_neither_shown_nor_given(scene: Scene, handle: ContextHandle) -> None:
    message = put(scene.queue, b"a")
    scene.lock(scene.queue)
    lookup_id = message.lookup_identifier
    peek = scene.client.begin(handle, LOOKUP_PEEK_CURRENT, lookup_id=lookup_id)
    assert peek.status == TRANSACTION_USAGE
    call = scene.client.begin(handle, LOOKUP_RECEIVE_CURRENT, lookup_id=lookup_id)
    assert call.status == MESSAGE_NOT_FOUND
    assert states(scene.queue) == ["Locked"]
    assert scene.entry(handle) is None


@pytest.mark.rule("MQRR-3.1.4.7-110")
def test_a_locked_message_that_may_be_peeked_is_shown(scene: Scene, handle: ContextHandle) -> None:
    message = put(scene.queue, b"a")
    scene.lock(scene.queue)
    message.allow_peek_when_locked = True
    assert scene.client.take(handle, PEEK_CURRENT) == b"a"
    lookup_id = message.lookup_identifier
    assert scene.client.take(handle, LOOKUP_PEEK_CURRENT, lookup_id=lookup_id) == b"a"
    assert states(scene.queue) == ["Locked"]


@pytest.mark.rule("MQRR-3.1.4.7-113", "MQRR-3.1.4.13-99")
@ways
@pytest.mark.parametrize("how", ["cancel", "close", "rundown"])
def test_a_wait_that_is_ended_is_answered_as_cancelled(scene: Scene, handle: ContextHandle, how: str) -> None:
    waiting = scene.client.begin(handle, timeout=1000)
    if how == "cancel":
        assert scene.client.cancel(handle) == OK
    elif how == "close":
        assert scene.client.close(handle).status == OK
    else:
        scene.client.disconnect()
    assert waiting.status == CANCELLED
    assert (scene.state()["timers"], len(scene.server.pending_request_table)) == (0, 0)


@pytest.mark.rule("MQRR-3.1.4.7-133", "MQRR-3.1.4.13-119")
@ways
@pytest.mark.parametrize("action", [ACTION_RECEIVE, PEEK_CURRENT])
def test_the_time_of_arrival_comes_with_every_message(scene: Scene, action: int) -> None:
    pass_time(scene.manager, 12_345)
    put(scene.queue, b"a")
    pass_time(scene.manager, 1_000_000)
    handle = scene.client.open(scene.queue)
    assert scene.client.begin(handle, action).response.pdw_arrive_time == START + 12


@pytest.mark.rule("MQRR-3.1.4.7-134", "MQRR-3.1.4.13-120")
@ways
def test_the_sequence_identifier_is_the_lookup_identifier_without_its_top_byte(scene: Scene) -> None:
    message = put(scene.queue, b"a")
    slots = scene.queue.message_position_list
    slots.remove(position(message))
    message.lookup_identifier = 0x06_00_00_00_00_00_12_34
    slots.insert(position(message))
    handle = scene.client.open(scene.queue)
    assert scene.client.begin(handle).response.p_sequence_id == 0x12_34


@pytest.mark.rule("MQRR-3.1.4.13-49", "MQRR-3.1.4.13-50", "MQRR-3.1.4.13-83")
def test_a_receive_joins_the_transaction_that_it_names_or_begins_it(scene: Scene) -> None:
    messages = scene.put(b"a", b"b")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, transaction=TRANSACTION, request_id=1)
    transaction = scene.manager.transaction_collection[TRANSACTION]
    scene.client.take(handle, transaction=TRANSACTION, request_id=2)
    assert scene.manager.transaction_collection == {bytes(TRANSACTION): transaction}
    operations = transaction.transactional_operation_collection
    assert [one.message_position_reference for one in operations] == [position(one) for one in messages]
    assert {one.operation_type for one in operations} == {OperationType.DEQUEUE}
    assert {one.dequeue_reason for one in operations} == {MessageClass.MQMSG_CLASS_ACK_RECEIVE}
    assert states(scene.queue) == ["Locked", "Locked"]


@pytest.mark.rule("MQRR-3.1.4.13-36", "MQRR-3.1.4.13-38", "MQRR-3.1.4.9-8", "MQRR-3.1.4.15-8")
@pytest.mark.parametrize("transactional", [True, False])
def test_a_receive_in_no_transaction_is_a_plain_one_that_either_call_ends(
    scene: Scene, handle: ContextHandle, transactional: bool
) -> None:
    put(scene.queue, b"a")
    assert scene.client.take(handle, transaction=NULL_GUID) == b"a"
    assert not scene.manager.transaction_collection
    assert scene.entry(handle) is not None
    assert scene.client.end(handle, transactional=transactional) == OK
    assert labels(scene.queue) == []
