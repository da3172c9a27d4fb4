"""RemoteRead: what the parameters of a receive alone decide, rule by rule. [MS-MQRR] 3.1.4.7, 3.1.4.13"""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.model.remote_read.scene import (
    ACTION_RECEIVE,
    INVALID_PARAMETER,
    IO_TIMEOUT,
    LOOKUP_PEEK_CURRENT,
    LOOKUP_PEEK_NEXT,
    LOOKUP_PEEK_PREV,
    LOOKUP_RECEIVE_CURRENT,
    LOOKUP_RECEIVE_NEXT,
    LOOKUP_RECEIVE_PREV,
    MOVE,
    OK,
    PEEK,
    PEEK_CURRENT,
    PEEK_NEXT,
    QUEUE_NOT_AVAILABLE,
    RECEIVES,
    STATUS_INVALID_HANDLE,
    TRANSACTION,
    TRANSACTION_USAGE,
    WAYS,
    Scene,
    ways,
)
from tests.lab.model.scene import pass_time, put, states
from tests.rules import rule_table


@pytest.fixture
def scene(scene: Scene) -> Scene:
    scene.put(b"a", b"b", b"c")
    return scene


def _refused(scene: Scene, action: int, *, with_cursor: bool = False, **parameters: int) -> None:
    handle = scene.client.open(scene.queue)
    cursor = scene.client.create_cursor(handle)
    with scene.unchanged():
        call = scene.client.begin(
            handle, action, transaction=scene.client.way, cursor=cursor if with_cursor else 0, **parameters
        )
    assert call.status == INVALID_PARAMETER
    assert call.response.pp_packet_sections is None


@pytest.mark.rule("MQRR-3.1.4.7-1", "MQRR-3.1.4.13-1")
@ways
@rule_table(
    "action",
    ("MQRR-3.1.4.7-2 MQRR-3.1.4.13-2", LOOKUP_PEEK_CURRENT),
    ("MQRR-3.1.4.7-3 MQRR-3.1.4.13-3", LOOKUP_PEEK_NEXT),
    ("MQRR-3.1.4.7-4 MQRR-3.1.4.13-4", LOOKUP_PEEK_PREV),
    ("MQRR-3.1.4.7-5 MQRR-3.1.4.13-5", LOOKUP_RECEIVE_CURRENT),
    ("MQRR-3.1.4.7-6 MQRR-3.1.4.13-6", LOOKUP_RECEIVE_NEXT),
    ("MQRR-3.1.4.7-7 MQRR-3.1.4.13-7", LOOKUP_RECEIVE_PREV),
)
def test_a_lookup_needs_a_lookup_identifier(scene: Scene, action: int) -> None:
    _refused(scene, action, lookup_id=0)


@ways
@rule_table(
    "action",
    ("MQRR-3.1.4.7-8 MQRR-3.1.4.13-8", LOOKUP_PEEK_CURRENT),
    ("MQRR-3.1.4.7-9 MQRR-3.1.4.13-9", LOOKUP_PEEK_NEXT),
    ("MQRR-3.1.4.7-10 MQRR-3.1.4.13-10", LOOKUP_PEEK_PREV),
    ("MQRR-3.1.4.7-11 MQRR-3.1.4.13-11", LOOKUP_RECEIVE_CURRENT),
    ("MQRR-3.1.4.7-12 MQRR-3.1.4.13-12", LOOKUP_RECEIVE_NEXT),
    ("MQRR-3.1.4.7-13 MQRR-3.1.4.13-13", LOOKUP_RECEIVE_PREV),
)
def test_a_lookup_takes_no_cursor(scene: Scene, action: int) -> None:
    _refused(scene, action, lookup_id=2, with_cursor=True)


@ways
@rule_table(
    "action",
    ("MQRR-3.1.4.7-14 MQRR-3.1.4.13-14", LOOKUP_PEEK_CURRENT),
    ("MQRR-3.1.4.7-15 MQRR-3.1.4.13-15", LOOKUP_PEEK_NEXT),
    ("MQRR-3.1.4.7-16 MQRR-3.1.4.13-16", LOOKUP_PEEK_PREV),
    ("MQRR-3.1.4.7-17 MQRR-3.1.4.13-17", LOOKUP_RECEIVE_CURRENT),
    ("MQRR-3.1.4.7-18 MQRR-3.1.4.13-18", LOOKUP_RECEIVE_NEXT),
    ("MQRR-3.1.4.7-19 MQRR-3.1.4.13-19", LOOKUP_RECEIVE_PREV),
)
@pytest.mark.parametrize("timeout", [1, 0xFFFFFFFF])
def test_a_lookup_does_not_wait(scene: Scene, action: int, timeout: int) -> None:
    _refused(scene, action, lookup_id=2, timeout=timeout)


@ways
@rule_table(
    "action",
    ("MQRR-3.1.4.7-20 MQRR-3.1.4.13-20", ACTION_RECEIVE),
    ("MQRR-3.1.4.7-21 MQRR-3.1.4.13-21", PEEK_CURRENT),
    ("MQRR-3.1.4.7-22 MQRR-3.1.4.13-22", PEEK_NEXT),
)
def test_what_is_no_lookup_takes_no_lookup_identifier(scene: Scene, action: int) -> None:
    _refused(scene, action, lookup_id=2)


@pytest.mark.rule("MQRR-3.1.4.7-23", "MQRR-3.1.4.13-23")
@ways
def test_peeking_on_needs_a_cursor(scene: Scene) -> None:
    _refused(scene, PEEK_NEXT)


@pytest.mark.rule("MQRR-3.1.4.7-24", "MQRR-3.1.4.13-24")
@ways
@pytest.mark.parametrize("action", [ACTION_RECEIVE, PEEK_CURRENT, PEEK_NEXT, LOOKUP_RECEIVE_CURRENT])
def test_a_cursor_and_a_lookup_identifier_do_not_go_together(scene: Scene, action: int) -> None:
    _refused(scene, action, lookup_id=2, with_cursor=True)


@pytest.mark.rule("MQRR-3.1.4.7-25", "MQRR-3.1.4.13-25")
@ways
@pytest.mark.parametrize("action", [1, 0x10, 0x40000000, 0x40000013, 0x40000023, 0x80000002, 0xFFFFFFFF])
@pytest.mark.parametrize("lookup_id", [0, 2])
def test_an_action_that_is_none_is_refused(scene: Scene, action: int, lookup_id: int) -> None:
    _refused(scene, action, lookup_id=lookup_id)


@pytest.mark.rule("MQRR-3.1.4.7-26", "MQRR-3.1.4.13-26", "MQRR-3.1.2.1-4", "MQRR-3.1.2.1-5", "MQRR-3.1.2.1-6")
@ways
def test_a_time_out_is_in_milliseconds(scene: Scene, handle: ContextHandle) -> None:
    for number in range(3):
        scene.client.take(handle, request_id=number)
    waiting = scene.client.begin(handle, request_id=7, timeout=1500)
    pass_time(scene.manager, 1499)
    assert waiting.answer is None
    pass_time(scene.manager, 1)
    assert waiting.status == IO_TIMEOUT
    assert scene.entry(handle, 7) is None


@pytest.mark.rule("MQRR-3.1.4.7-26", "MQRR-3.1.4.13-26", "MQRR-3.1.2.2-3", "MQRR-3.1.5.1-10")
@ways
def test_who_waits_without_end_is_neither_timed_out_nor_cleaned_up(scene: Scene) -> None:
    handle = scene.client.open(scene.queue)
    for number in range(3):
        scene.client.take(handle, request_id=number)
    waiting = scene.client.begin(handle, request_id=7, timeout=0xFFFFFFFF)
    pass_time(scene.manager, 250_000)
    for number in range(3):
        assert scene.client.end(handle, request_id=number) == OK
    pass_time(scene.manager, 1 << 33)
    assert waiting.answer is None
    assert scene.pending(handle, 7)[0].waiting
    put(scene.queue, b"late")
    assert waiting.status == OK


@pytest.mark.rule("MQRR-3.1.4.7-27", "MQRR-3.1.4.13-27")
@ways
def test_the_number_of_a_request_that_is_not_ended_cannot_be_used(scene: Scene) -> None:
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, request_id=5)
    with scene.unchanged():
        for way in WAYS.values():
            assert scene.client.begin(handle, transaction=way, request_id=5).status == INVALID_PARAMETER
        assert scene.client.begin(handle, PEEK_CURRENT, request_id=5).status == INVALID_PARAMETER


@pytest.mark.rule("MQRR-3.1.4.7-28", "MQRR-3.1.4.13-28")
@ways
def test_the_number_of_a_peek_that_waits_cannot_be_used(scene: Scene, handle: ContextHandle) -> None:
    for number in range(3):
        scene.client.take(handle, request_id=number)
    peek = scene.client.begin(handle, PEEK_CURRENT, request_id=5, timeout=1000)
    with scene.unchanged():
        again = scene.client.begin(handle, request_id=5, timeout=1000)
        assert again.status == INVALID_PARAMETER
    assert peek.answer is None


@pytest.mark.rule("MQRR-3.1.4.7-29", "MQRR-3.1.4.13-29")
@ways
def test_a_number_can_be_used_again_when_its_request_is_over(scene: Scene, handle: ContextHandle) -> None:
    for _ in range(2):
        scene.client.take(handle, request_id=5)
        assert scene.client.end(handle, request_id=5) == OK
    scene.client.take(handle, PEEK_CURRENT, request_id=5)
    scene.client.take(handle, request_id=6)
    waiting = scene.client.begin(handle, request_id=5, timeout=1000)
    assert scene.client.cancel(handle, 5) == OK
    assert waiting.answer is not None
    assert scene.client.begin(handle, request_id=5, timeout=1000).answer is None
    assert len(scene.server.pending_request_table) == 2


@pytest.mark.rule("MQRR-3.1.4.7-30", "MQRR-3.1.4.13-30", "MQRR-3.1.1.3-1")
@ways
def test_the_same_number_on_two_handles_names_two_requests(scene: Scene) -> None:
    first, second = scene.client.open(scene.queue), scene.client.open(scene.queue)
    assert scene.client.take(first, request_id=5) == b"a"
    assert scene.client.take(second, request_id=5) == b"b"
    (one, _), (other, _) = scene.pending(first, 5), scene.pending(second, 5)
    assert one is not other
    assert one.lookup_identifier != other.lookup_identifier


def _lookup_id(action: int) -> int:
    """What an action needs."""
    return 2 if action & 0x40000000 else 0


@pytest.mark.rule("MQRR-3.1.4.7-36")
@pytest.mark.parametrize("action", RECEIVES)
def test_a_handle_to_peek_does_not_receive(scene: Scene, action: int) -> None:
    handle = scene.client.open(scene.queue, PEEK)
    with scene.unchanged():
        call = scene.client.begin(handle, action, lookup_id=_lookup_id(action))
        assert call.status == INVALID_PARAMETER


@pytest.mark.rule("MQRR-3.1.4.7-37")
@pytest.mark.parametrize("action", [ACTION_RECEIVE, PEEK_CURRENT, LOOKUP_PEEK_CURRENT, LOOKUP_RECEIVE_PREV])
def test_a_handle_for_moves_neither_peeks_nor_receives(scene: Scene, action: int) -> None:
    handle, _ = scene.client.open_for_move(scene.queue)
    with scene.unchanged():
        call = scene.client.begin(handle, action, lookup_id=_lookup_id(action))
        assert call.status == INVALID_PARAMETER


@pytest.mark.rule("MQRR-3.1.4.7-38", "MQRR-3.1.4.7-88")
@pytest.mark.parametrize("access", [PEEK, 1])
def test_both_kinds_of_handle_peek(scene: Scene, access: int) -> None:
    handle = scene.client.open(scene.queue, access)
    with scene.unchanged():
        middle = list(scene.queue.message_position_list)[1].message_reference.lookup_identifier
        assert scene.client.take(handle, PEEK_CURRENT) == b"a"
        assert scene.client.take(handle, LOOKUP_PEEK_CURRENT, lookup_id=middle) == b"b"
        assert scene.client.take(handle, LOOKUP_PEEK_NEXT, lookup_id=middle) == b"c"
        assert scene.client.take(handle, LOOKUP_PEEK_PREV, lookup_id=middle) == b"a"


@pytest.mark.rule("MQRR-3.1.4.13-35")
@pytest.mark.parametrize("transaction", [NULL_GUID, TRANSACTION])
@pytest.mark.parametrize("action", [ACTION_RECEIVE, PEEK_CURRENT, LOOKUP_PEEK_CURRENT])
@pytest.mark.parametrize("access", [PEEK, MOVE])
def test_only_handles_to_receive_are_good_for_transactions(
    scene: Scene, access: int, action: int, transaction: GUID
) -> None:
    handle = scene.client.open_in_any_way(scene.queue, access)
    with scene.unchanged():
        call = scene.client.begin(handle, action, lookup_id=_lookup_id(action), transaction=transaction)
        assert call.status == INVALID_PARAMETER


@pytest.mark.rule("MQRR-3.1.4.7-39", "MQRR-3.1.4.7-40", "MQRR-3.1.4.7-41", "MQRR-3.1.4.13-40")
@pytest.mark.rule("MQRR-3.1.4.13-41", "MQRR-3.1.4.13-42")
@ways
def test_a_cursor_must_be_one_of_the_handle(scene: Scene) -> None:
    handle, other = scene.client.open(scene.queue), scene.client.open(scene.queue)
    closed, others = scene.client.create_cursor(handle), scene.client.create_cursor(other)
    scene.client.close_cursor(handle, closed)
    with scene.unchanged():
        for cursor in (0xFFFFFFFF, closed, others):
            assert scene.client.begin(handle, cursor=cursor).status == STATUS_INVALID_HANDLE


@pytest.mark.rule("MQRR-3.1.4.13-43")
def test_a_queue_that_is_not_transactional_takes_part_in_no_transaction(scene: Scene) -> None:
    put(scene.letters, b"x")
    handle = scene.client.open(scene.letters)
    with scene.unchanged():
        assert scene.client.begin(handle, transaction=TRANSACTION).status == TRANSACTION_USAGE
    assert scene.client.begin(handle, transaction=NULL_GUID).status == OK


@rule_table(
    "action",
    ("MQRR-3.1.4.13-44", PEEK_CURRENT),
    ("MQRR-3.1.4.13-45", PEEK_NEXT),
    ("MQRR-3.1.4.13-46", LOOKUP_PEEK_CURRENT),
    ("MQRR-3.1.4.13-47", LOOKUP_PEEK_NEXT),
    ("MQRR-3.1.4.13-48", LOOKUP_PEEK_PREV),
)
def test_nothing_is_peeked_in_a_transaction(scene: Scene, handle: ContextHandle, action: int) -> None:
    cursor = scene.client.create_cursor(handle) if action == PEEK_NEXT else 0
    how: dict[str, Any] = {"transaction": TRANSACTION, "cursor": cursor, "lookup_id": _lookup_id(action)}
    with scene.unchanged():
        assert scene.client.begin(handle, action, **how).status == TRANSACTION_USAGE


@pytest.mark.rule("MQRR-3.1.4.7-112", "MQRR-3.1.4.7-136", "MQRR-3.1.4.13-98", "MQRR-3.1.4.13-122")
@ways
@pytest.mark.parametrize("action", [ACTION_RECEIVE, LOOKUP_RECEIVE_CURRENT])
def test_a_queue_that_was_deleted_gives_nothing(scene: Scene, action: int, way: GUID | None) -> None:
    handle = scene.client.open(scene.queue)
    delete_queue(scene.manager, scene.queue)
    call = scene.client.begin(handle, action, lookup_id=_lookup_id(action), timeout=0)
    assert call.status == QUEUE_NOT_AVAILABLE
    assert call.response.pdw_number_of_sections == 0
    assert scene.entry(handle) is None
    assert scene.state()["timers"] == 0
    if way is None:
        assert scene.client.begin(handle, PEEK_CURRENT).status == QUEUE_NOT_AVAILABLE


def test_a_refused_receive_leaves_all_messages_available(scene: Scene, handle: ContextHandle) -> None:
    scene.client.begin(handle, 99)
    assert states(scene.queue) == ["Available"] * 3
