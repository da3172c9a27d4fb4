"""A server of RemoteRead that grants what it must refuse: it is found by the number of the rule."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from tests.replay.talk import END, END_TRANSACTIONAL, START, TRANSACTIONAL, Talk

_TRANSACTION = GUID(b"one transaction.")
_RECEIVE, _PEEK, _NEXT = 0, 0x80000000, 0x80000001
_NULL, _OTHER = ContextHandle(), ContextHandle(uuid=GUID(b"some other thing"))
_IN = {"p_transaction_id": _TRANSACTION}
_ACTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("MQRR-3.1.4.7-2", START, {"ul_action": 0x40000010, "lookup_id": 0}),
    ("MQRR-3.1.4.7-8", START, {"ul_action": 0x40000010, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.7-14", START, {"ul_action": 0x40000010, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.7-3", START, {"ul_action": 0x40000011, "lookup_id": 0}),
    ("MQRR-3.1.4.7-9", START, {"ul_action": 0x40000011, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.7-15", START, {"ul_action": 0x40000011, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.7-4", START, {"ul_action": 0x40000012, "lookup_id": 0}),
    ("MQRR-3.1.4.7-10", START, {"ul_action": 0x40000012, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.7-16", START, {"ul_action": 0x40000012, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.7-5", START, {"ul_action": 0x40000020, "lookup_id": 0}),
    ("MQRR-3.1.4.7-11", START, {"ul_action": 0x40000020, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.7-17", START, {"ul_action": 0x40000020, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.7-6", START, {"ul_action": 0x40000021, "lookup_id": 0}),
    ("MQRR-3.1.4.7-12", START, {"ul_action": 0x40000021, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.7-18", START, {"ul_action": 0x40000021, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.7-7", START, {"ul_action": 0x40000022, "lookup_id": 0}),
    ("MQRR-3.1.4.7-13", START, {"ul_action": 0x40000022, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.7-19", START, {"ul_action": 0x40000022, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.7-20", START, {"ul_action": _RECEIVE, "lookup_id": 5}),
    ("MQRR-3.1.4.7-21", START, {"ul_action": _PEEK, "lookup_id": 5}),
    ("MQRR-3.1.4.7-22", START, {"ul_action": _NEXT, "lookup_id": 5}),
    ("MQRR-3.1.4.7-23", START, {"ul_action": _NEXT}),
    ("MQRR-3.1.4.7-25", START, {"ul_action": 7}),
    ("MQRR-3.1.4.13-2", TRANSACTIONAL, {"ul_action": 0x40000010, "lookup_id": 0}),
    ("MQRR-3.1.4.13-8", TRANSACTIONAL, {"ul_action": 0x40000010, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.13-14", TRANSACTIONAL, {"ul_action": 0x40000010, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.13-3", TRANSACTIONAL, {"ul_action": 0x40000011, "lookup_id": 0}),
    ("MQRR-3.1.4.13-9", TRANSACTIONAL, {"ul_action": 0x40000011, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.13-15", TRANSACTIONAL, {"ul_action": 0x40000011, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.13-4", TRANSACTIONAL, {"ul_action": 0x40000012, "lookup_id": 0}),
    ("MQRR-3.1.4.13-10", TRANSACTIONAL, {"ul_action": 0x40000012, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.13-16", TRANSACTIONAL, {"ul_action": 0x40000012, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.13-5", TRANSACTIONAL, {"ul_action": 0x40000020, "lookup_id": 0}),
    ("MQRR-3.1.4.13-11", TRANSACTIONAL, {"ul_action": 0x40000020, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.13-17", TRANSACTIONAL, {"ul_action": 0x40000020, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.13-6", TRANSACTIONAL, {"ul_action": 0x40000021, "lookup_id": 0}),
    ("MQRR-3.1.4.13-12", TRANSACTIONAL, {"ul_action": 0x40000021, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.13-18", TRANSACTIONAL, {"ul_action": 0x40000021, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.13-7", TRANSACTIONAL, {"ul_action": 0x40000022, "lookup_id": 0}),
    ("MQRR-3.1.4.13-13", TRANSACTIONAL, {"ul_action": 0x40000022, "lookup_id": 5, "h_cursor": 1}),
    ("MQRR-3.1.4.13-19", TRANSACTIONAL, {"ul_action": 0x40000022, "lookup_id": 5, "ul_timeout": 1}),
    ("MQRR-3.1.4.13-20", TRANSACTIONAL, {"ul_action": _RECEIVE, "lookup_id": 5}),
    ("MQRR-3.1.4.13-21", TRANSACTIONAL, {"ul_action": _PEEK, "lookup_id": 5}),
    ("MQRR-3.1.4.13-22", TRANSACTIONAL, {"ul_action": _NEXT, "lookup_id": 5}),
    ("MQRR-3.1.4.13-23", TRANSACTIONAL, {"ul_action": _NEXT}),
    ("MQRR-3.1.4.13-25", TRANSACTIONAL, {"ul_action": 7}),
    ("MQRR-3.1.4.13-44", TRANSACTIONAL, {"ul_action": _PEEK, **_IN}),
    (
        "MQRR-3.1.4.13-45",
        TRANSACTIONAL,
        {"ul_action": _NEXT, **_IN, "h_cursor": "cursor"},
    ),
    (
        "MQRR-3.1.4.13-46",
        TRANSACTIONAL,
        {"ul_action": 0x40000010, **_IN, "lookup_id": 5},
    ),
    (
        "MQRR-3.1.4.13-47",
        TRANSACTIONAL,
        {"ul_action": 0x40000011, **_IN, "lookup_id": 5},
    ),
    (
        "MQRR-3.1.4.13-48",
        TRANSACTIONAL,
        {"ul_action": 0x40000012, **_IN, "lookup_id": 5},
    ),
]


@pytest.mark.parametrize(("rule", "method", "values"), _ACTIONS)
def test_an_action_that_its_parameters_forbid_is_found(
    rule: str, method: str, values: dict[str, Any]
) -> None:
    talk = Talk()
    handle = talk.opened(2)
    talk.make_cursor(talk.client, handle)
    cursor = talk.client.cursors[0][1]
    asked: dict[str, Any] = {name: cursor if value == "cursor" else value for name, value in values.items()}
    talk.ask(method, ph_context=handle, dw_request_id=1, **asked)
    assert ("action", rule) in talk.granted(method)


_NAMES = {
    "unknown": QueueFormat(),
    "connector": QueueFormat(m_qft=5, arm=GUID(b"some other thing")),
    "list": QueueFormat.of(FormatName.parse("DL=6a8f7e2c-1f36-4c27-9d4e-0a7cbb0a4a01")),
    "multicast": QueueFormat.of(FormatName.parse("MULTICAST=234.1.1.1:8001")),
    "http": QueueFormat.of(FormatName.parse("DIRECT=HTTP://host/msmq/orders")),
}
_OPENINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("MQRR-3.1.4.2-3", "R_OpenQueue", {"p_queue_format": "unknown"}),
    ("MQRR-3.1.4.2-4", "R_OpenQueue", {"p_queue_format": "connector"}),
    ("MQRR-3.1.4.2-5", "R_OpenQueue", {"p_queue_format": "list"}),
    ("MQRR-3.1.4.2-6", "R_OpenQueue", {"p_queue_format": "multicast"}),
    ("MQRR-3.1.4.2-8", "R_OpenQueue", {"p_queue_format": "http"}),
    ("MQRR-3.1.4.2-14", "R_OpenQueue", {"dw_share_mode": 2}),
    ("MQRR-3.1.4.11-2", "R_OpenQueueForMove", {"p_queue_format": "list"}),
    ("MQRR-3.1.4.11-3", "R_OpenQueueForMove", {"p_queue_format": "http"}),
    ("MQRR-3.1.4.11-4", "R_OpenQueueForMove", {"dw_access": 1}),
    ("MQRR-3.1.4.11-7", "R_OpenQueueForMove", {"dw_share_mode": 2}),
]


@pytest.mark.parametrize(("rule", "method", "values"), _OPENINGS)
def test_a_queue_that_is_opened_in_a_way_that_there_is_not_is_found(
    rule: str, method: str, values: dict[str, Any]
) -> None:
    talk = Talk()
    asked: dict[str, Any] = {
        "p_queue_format": talk.name(), "dw_access": 1 if method == "R_OpenQueue" else 4
    }  # fmt: skip
    asked |= {name: _NAMES.get(value, value) for name, value in values.items()}
    talk.ask(method, **asked)
    found = talk.answered(method, pph_context=_OTHER, **_number(method, 7))
    assert found == [("action", rule)]


def _number(method: str, value: int) -> dict[str, int]:
    return {"p_move_context": value} if method == "R_OpenQueueForMove" else {}


_TOKEN = {"cb_propagation_token": 1, "pb_propagation_token": b"x"}
_EMPTY: list[tuple[str, str, dict[str, Any]]] = [
    ("MQRR-3.1.4.12-2", "R_QMEnlistRemoteTransaction", _TOKEN),
    ("MQRR-3.1.4.12-6", "R_QMEnlistRemoteTransaction", {"p_transaction_id": _TRANSACTION}),
    ("MQRR-3.1.4.10-5", "R_MoveMessage", {"lookup_id": 5}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "method", "values"), _EMPTY)
def test_a_request_that_asks_for_what_there_is_not_is_found(
    rule: str, method: str, values: dict[str, Any]
) -> None:
    talk = Talk()
    handle = talk.opened()
    talk.ask(method, **values | ({"ph_context_from": handle} if method == "R_MoveMessage" else {}))
    assert talk.granted(method) == [("action", rule)]


_OF_HANDLES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("MQRR-3.1.4.3-1", "MQRR-3.1.4.3-3", "R_CloseQueue", {}),
    ("MQRR-3.1.4.4-1", "MQRR-3.1.4.4-2", "R_CreateCursor", {}),
    ("MQRR-3.1.4.5-1", "MQRR-3.1.4.5-2", "R_CloseCursor", {"h_cursor": 5}),
    ("MQRR-3.1.4.6-1", "MQRR-3.1.4.6-2", "R_PurgeQueue", {}),
    ("MQRR-3.1.4.7-33", "MQRR-3.1.4.7-34", START, {"ul_action": _PEEK}),
    ("MQRR-3.1.4.8-1", "MQRR-3.1.4.8-2", "R_CancelReceive", {}),
    ("MQRR-3.1.4.9-1", "MQRR-3.1.4.9-2", END, {"dw_ack": 2}),
    ("MQRR-3.1.4.10-1", "MQRR-3.1.4.10-2", "R_MoveMessage", {"ull_context_to": 5}),
    ("MQRR-3.1.4.13-33", "MQRR-3.1.4.13-34", TRANSACTIONAL, {}),
    ("MQRR-3.1.4.14-1", "MQRR-3.1.4.14-2", "R_SetUserAcknowledgementClass", {}),
    ("MQRR-3.1.4.15-1", "MQRR-3.1.4.15-2", END_TRANSACTIONAL, {"dw_ack": 2}),
]
"""The rules about no handle and about one that is closed, and what else to ask."""
_MEMBERS = {"R_CloseQueue": "pph_context", "R_MoveMessage": "ph_context_from"}


@pytest.mark.parametrize(("rule", "_", "method", "values"), _OF_HANDLES)
def test_who_takes_no_handle_is_found(rule: str, _: str, method: str, values: dict[str, Any]) -> None:
    talk = Talk()
    talk.ask(method, **{_MEMBERS.get(method, "ph_context"): _NULL} | values)
    assert ("handle", rule) in talk.granted(method)


@pytest.mark.parametrize(("_", "rule", "method", "values"), _OF_HANDLES)
def test_who_goes_on_with_a_handle_that_is_closed_is_found(
    rule: str, _: str, method: str, values: dict[str, Any]
) -> None:
    talk = Talk()
    handle = talk.opened()
    talk.close(talk.client, handle)
    talk.wait(10)
    talk.ask(method, **{_MEMBERS.get(method, "ph_context"): handle} | values)
    assert ("handle", rule) in talk.granted(method)


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-2.2.4.1-2", "R_PurgeQueue"), ("MQRR-2.2.4.2-2", "R_CloseQueue")]
)
def test_who_takes_the_handle_of_another_client_is_found(rule: str, method: str) -> None:
    talk = Talk()
    handle = talk.opened()
    values: dict[str, Any] = {_MEMBERS.get(method, "ph_context"): handle}
    talk.ask(method, talk.clients[1], **values)
    assert talk.granted(method)[0] == ("handle", rule)


_WITHOUT_RIGHT: list[tuple[str, str, str, int | None, dict[str, Any]]] = [
    ("MQRR-3.1.4.4-4", "access", "R_CreateCursor", None, {}),
    ("MQRR-3.1.4.6-7", "purge", "R_PurgeQueue", 0x20, {}),
    ("MQRR-3.1.4.6-7", "purge", "R_PurgeQueue", 7, {}),
    ("MQRR-3.1.4.6-8", "purge", "R_PurgeQueue", None, {}),
    ("MQRR-3.1.4.7-36", "access", START, 0x20, {}),
    ("MQRR-3.1.4.7-37", "access", START, None, {"ul_action": _PEEK}),
    ("MQRR-3.1.4.8-4", "cancel", "R_CancelReceive", None, {}),
    ("MQRR-3.1.4.10-4", "access", "R_MoveMessage", 0x20, {"ull_context_to": 5}),
    ("MQRR-3.1.4.13-35", "access", TRANSACTIONAL, 0x20, {}),
    ("MQRR-3.1.4.14-4", "access", "R_SetUserAcknowledgementClass", 0x20, {}),
]


@pytest.mark.parametrize(("rule", "kind", "method", "access", "values"), _WITHOUT_RIGHT)
def test_who_does_what_the_queue_was_not_opened_for_is_found(
    rule: str, kind: str, method: str, access: int | None, values: dict[str, Any]
) -> None:
    talk = Talk()
    handle = talk.target()[0] if access is None else talk.opened(access=access)
    talk.ask(method, **{_MEMBERS.get(method, "ph_context"): handle} | values)
    assert (kind, rule) in talk.granted(method)


_SUCCESSES: dict[str, str] = {
    "MQRR-3.1.4.3-11": "R_CloseQueue",
    "MQRR-3.1.4.4-9": "R_CreateCursor",
    "MQRR-3.1.4.5-9": "R_CloseCursor",
    "MQRR-3.1.4.6-5": "R_PurgeQueue",
    "MQRR-3.1.4.7-135": START,
    "MQRR-3.1.4.8-14": "R_CancelReceive",
    "MQRR-3.1.4.9-23": END,
    "MQRR-3.1.4.10-28": "R_MoveMessage",
    "MQRR-3.1.4.12-12": "R_QMEnlistRemoteTransaction",
    "MQRR-3.1.4.13-121": TRANSACTIONAL,
    "MQRR-3.1.4.14-12": "R_SetUserAcknowledgementClass",
    "MQRR-3.1.4.15-25": END_TRANSACTIONAL,
}


@pytest.mark.parametrize(("rule", "method"), _SUCCESSES.items())
def test_a_success_that_the_method_does_not_have_is_found(rule: str, method: str) -> None:
    talk = Talk()
    handle = talk.opened()
    values: dict[str, Any] = {"dw_ack": 2} if method in (END, END_TRANSACTIONAL) else {}
    if "Enlist" not in method:
        values[_MEMBERS.get(method, "ph_context")] = handle
    talk.ask(method, **values)
    assert talk.answered(method, status=1) == [("status", rule)]


def test_an_answer_without_what_it_is_to_give_is_found() -> None:
    talk = Talk()
    talk.target()
    talk.make_cursor(talk.client, talk.opened())
    talk.ask("R_GetServerPort")
    talk.close(talk.client, talk.client.handles[0])
    assert talk.answered("R_OpenQueue", pph_context=_NULL)[0] == ("status", "MQRR-3.1.4.2-37")
    assert talk.answered("R_OpenQueueForMove", pph_context=_NULL) == [("status", "MQRR-3.1.4.11-19")]
    assert talk.answered("R_OpenQueueForMove", p_move_context=0) == [("status", "MQRR-3.1.4.11-20")]
    assert talk.answered("R_CreateCursor", ph_cursor=0) == [("status", "MQRR-3.1.4.4-7")]
    assert talk.answered("R_GetServerPort", return_value=0) == [("status", "MQRR-3.1.4.1-1")]
    assert talk.answered("R_CloseQueue", pph_context=_OTHER) == [("status", "MQRR-3.1.4.3-10")]
    failing = talk.answered("R_CloseQueue", status=0xC00E0001, pph_context=_NULL)
    assert failing == [("status", "MQRR-3.1.4.3-12")]


def test_a_number_that_is_given_twice_is_found() -> None:
    talk = Talk()
    handle = talk.opened()
    for _ in range(2):
        talk.make_cursor(talk.client, handle)
        number = talk.target()[1]
    first = talk.client.cursors[0][1]
    assert talk.answered("R_CreateCursor", ph_cursor=first) == [("cursor", "MQRR-3.1.4.4-7")]
    assert talk.answered("R_OpenQueueForMove", 0, p_move_context=number) == [("status", "MQRR-3.1.4.11-20")]


@pytest.mark.parametrize("more", [{"dw_access": 1}, {"dw_access": 0x20, "dw_share_mode": 1}])
def test_a_queue_that_is_opened_though_another_keeps_it_for_itself_is_found(more: dict[str, int]) -> None:
    talk = Talk()
    talk.ask("R_OpenQueue", p_queue_format=talk.name(), dw_access=1, dw_share_mode=1)
    talk.wait(10)
    talk.ask("R_OpenQueue", talk.clients[1], p_queue_format=talk.name(), **more)
    assert talk.answered("R_OpenQueue", pph_context=_OTHER) == [("status", "MQRR-3.1.4.2-13")]


def test_a_queue_that_nobody_keeps_for_himself_any_more_may_be_opened() -> None:
    talk = Talk()
    talk.ask("R_OpenQueue", p_queue_format=talk.name(), dw_access=1, dw_share_mode=1)
    talk.ask("R_OpenQueue", p_queue_format=talk.name(), dw_access=0x20)
    talk.close(talk.client, talk.client.handles[0], 50)
    talk.ask("R_OpenQueue", talk.clients[1], p_queue_format=talk.name(), dw_access=1)
    assert talk.deviations() == []


_CURSORS = [
    ("MQRR-3.1.4.5-4", "R_CloseCursor", "unknown"),
    ("MQRR-3.1.4.5-5", "R_CloseCursor", "closed"),
    ("MQRR-3.1.4.5-6", "R_CloseCursor", "other"),
    ("MQRR-3.1.4.7-39", START, "unknown"),
    ("MQRR-3.1.4.7-40", START, "closed"),
    ("MQRR-3.1.4.7-41", START, "other"),
    ("MQRR-3.1.4.13-40", TRANSACTIONAL, "unknown"),
    ("MQRR-3.1.4.13-41", TRANSACTIONAL, "closed"),
    ("MQRR-3.1.4.13-42", TRANSACTIONAL, "other"),
]


@pytest.mark.parametrize(("rule", "method", "which"), _CURSORS)
def test_a_cursor_that_is_not_there_is_found(rule: str, method: str, which: str) -> None:
    talk = Talk()
    other = talk.opened()
    talk.make_cursor(talk.client, other)
    handle = talk.opened()
    talk.make_cursor(talk.client, handle)
    cursors = [cursor for _, cursor in talk.client.cursors]
    talk.wait(10)
    if which == "closed":
        talk.close_cursor(talk.client, handle, cursors[1])
        talk.wait(10)
    cursor = {"unknown": 77, "other": cursors[0], "closed": cursors[1]}[which]
    talk.ask(method, ph_context=handle, h_cursor=cursor)
    assert talk.granted(method)[0] == ("cursor", rule)
