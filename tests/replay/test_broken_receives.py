"""A server of RemoteRead that breaks a rule about receives: handles, identifiers, ends and waits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.wire.types.guid import GUID
from tests.replay.talk import END, END_TRANSACTIONAL, START, TRANSACTIONAL, Talk, otherwise, refused

_BOTH = (START, TRANSACTIONAL)
_TRANSACTION = GUID(b"one transaction.")
_RECEIVE, _PEEK = 0, 0x80000000
_INVALID_HANDLE, _INVALID_PARAMETER, _MISMATCH = 0xC00E0007, 0xC00E0006, 0x1C00001A
_TIMED_OUT, _NOT_FOUND = 0xC00E001B, 0xC0000225


@pytest.mark.parametrize(
    ("rule", "method", "status"),
    [
        ("MQRR-3.1.4.3-5", "R_CloseQueue", _INVALID_HANDLE),
        ("MQRR-3.1.4.4-5", "R_CreateCursor", _MISMATCH),
        ("MQRR-3.1.4.5-7", "R_CloseCursor", 0xC0000008),
        ("MQRR-3.1.4.6-4", "R_PurgeQueue", _INVALID_HANDLE),
        ("MQRR-3.1.4.7-38", START, _INVALID_HANDLE),
        ("MQRR-3.1.4.8-5", "R_CancelReceive", _MISMATCH),
        ("MQRR-3.1.4.13-49", TRANSACTIONAL, _INVALID_HANDLE),
    ],
)
def test_who_does_not_know_what_it_has_given_is_found(rule: str, method: str, status: int) -> None:
    talk = Talk()
    handle = talk.opened()
    talk.make_cursor(talk.client, handle)
    talk.wait(10)
    values: dict[str, Any] = {"pph_context" if method == "R_CloseQueue" else "ph_context": handle}
    if method == "R_CloseCursor":
        values["h_cursor"] = talk.client.cursors[0][1]
    talk.ask(method, **values)
    place = talk.place(method)
    lie = refused(talk.calls()[place], status, fault=status == _MISMATCH)
    if method == "R_CloseQueue":
        lie = otherwise(lie, pph_context=handle)
    assert talk.reported({place: lie}) == [("status", rule)]


@pytest.mark.parametrize(
    ("rule", "start", "end"),
    [("MQRR-3.1.4.9-10", START, END), ("MQRR-3.1.4.15-10", TRANSACTIONAL, END_TRANSACTIONAL)],
)
def test_who_does_not_know_a_receive_that_it_began_is_found(rule: str, start: str, end: str) -> None:
    talk = Talk()
    more: dict[str, Any] = {"p_transaction_id": _TRANSACTION} if start == TRANSACTIONAL else {}
    handle = talk.taken(start, queue=2, **more)
    talk.ask(end, ph_context=handle, dw_request_id=1, dw_ack=2)
    place = talk.place(end)
    assert talk.reported({place: refused(talk.calls()[place], _INVALID_PARAMETER)}) == [("status", rule)]


@pytest.mark.parametrize(("rule", "end"), [("MQRR-3.1.4.9-4", END), ("MQRR-3.1.4.15-4", END_TRANSACTIONAL)])
def test_an_end_of_what_did_not_begin_is_found(rule: str, end: str) -> None:
    talk = Talk()
    talk.ask(end, ph_context=talk.opened(), dw_request_id=1, dw_ack=2)
    assert talk.granted(end) == [("end", rule)]


@pytest.mark.parametrize(
    ("rule", "start", "end"),
    [("MQRR-3.1.4.9-6", START, END), ("MQRR-3.1.4.15-6", TRANSACTIONAL, END_TRANSACTIONAL)],
)
def test_an_end_of_what_has_ended_is_found(rule: str, start: str, end: str) -> None:
    talk = Talk()
    handle = talk.taken(start)
    for _ in range(2):
        talk.ask(end, ph_context=handle, dw_request_id=1, dw_ack=2)
        talk.wait(10)
    assert talk.granted(end) == [("end", rule)]


@pytest.mark.parametrize(
    ("rule", "start", "end"),
    [("MQRR-3.1.4.9-7", TRANSACTIONAL, END), ("MQRR-3.1.4.15-7", START, END_TRANSACTIONAL)],
)
def test_an_end_of_the_other_kind_is_found(rule: str, start: str, end: str) -> None:
    talk = Talk()
    more: dict[str, Any] = {"p_transaction_id": _TRANSACTION} if start == TRANSACTIONAL else {}
    handle = talk.taken(start, queue=2, **more)
    talk.ask(end, ph_context=handle, dw_request_id=1, dw_ack=2)
    assert talk.granted(end) == [("end", rule)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-27", START), ("MQRR-3.1.4.13-27", TRANSACTIONAL)]
)
def test_a_request_identifier_that_has_not_ended_is_found(rule: str, method: str) -> None:
    talk = Talk()
    handle = talk.taken(method)
    talk.arrive()
    talk.ask(method, ph_context=handle, dw_request_id=1)
    talk.ask(method, ph_context=handle, dw_request_id=2)
    place = talk.place(method)
    calls = talk.calls()
    asked = msgspec.structs.replace(calls[place][0].packet.request, dw_request_id=1)
    packet = msgspec.structs.replace(calls[place][0].packet, request=asked)
    again = [msgspec.structs.replace(calls[place][0], packet=packet), *calls[place][1:]]
    assert talk.reported({place: again}) == [("reqid", rule)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-28", START), ("MQRR-3.1.4.13-28", TRANSACTIONAL)]
)
def test_a_request_identifier_under_which_a_peek_waits_is_found(rule: str, method: str) -> None:
    talk = Talk()
    handle = talk.opened()
    for _ in range(2):
        talk.ask(method, ph_context=handle, dw_request_id=1, ul_timeout=9000, ul_action=_PEEK)
    talk.wait(2000)
    talk.arrive()
    talk.wait(1)
    refusal, shown = talk.place(method, 0), talk.place(method, 1)
    calls = talk.calls()
    # The second answer goes to the call that was refused, at the same time.
    call = calls[shown][0]
    request = calls[refusal][0].packet.request
    again = [
        msgspec.structs.replace(call, packet=msgspec.structs.replace(call.packet, request=request)),
        *calls[shown][1:],
    ]
    found = talk.reported({refusal: again})
    assert ("reqid", rule) in found


@pytest.mark.parametrize(
    ("rule", "method", "action"),
    [
        ("MQRR-3.1.4.7-92", START, _RECEIVE),
        ("MQRR-3.1.4.7-101", START, _PEEK),
        ("MQRR-3.1.4.13-87", TRANSACTIONAL, _RECEIVE),
    ],
)
def test_a_wait_that_another_reader_overtakes_is_found(rule: str, method: str, action: int) -> None:
    talk = Talk()
    handle, other = talk.opened(), talk.opened(client=talk.clients[1])
    talk.wait(10)
    talk.arrive()
    talk.ask(START, talk.clients[1], ph_context=other, dw_request_id=1)
    talk.wait(10)
    talk.ask(method, ph_context=handle, dw_request_id=1, ul_timeout=9000, ul_action=action)
    talk.wait(4000)
    talk.ask(START, talk.clients[1], ph_context=other, dw_request_id=2)
    talk.wait(6000)
    calls = talk.calls()
    # The other reader has the message that came first.
    places = [
        number
        for number, call in enumerate(calls)
        if call[0].type == "rpc_call" and call[0].packet.method in _BOTH and call[0].stream == 2
    ]
    first, late = places
    asked = msgspec.structs.replace(calls[first][0].packet.request, dw_request_id=2)
    source = calls[first][0].packet
    packet = msgspec.structs.replace(calls[late][0].packet, request=asked, response=source.response, status=0)
    waits = [msgspec.structs.replace(calls[late][0], packet=packet), *calls[first][1:]]
    nothing = refused(calls[first], _TIMED_OUT)
    assert talk.reported({first: nothing, late: waits}) == [("order", rule)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-93", START), ("MQRR-3.1.4.13-88", TRANSACTIONAL)]
)
@pytest.mark.parametrize("took", [100, 60_000])
def test_a_wait_that_ends_at_the_wrong_time_is_found(rule: str, method: str, took: int) -> None:
    talk = Talk()
    talk.ask(method, ph_context=talk.opened(), ul_timeout=5000)
    talk.wait(6000)
    assert talk.answered(method, took=took) == [("time", rule)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-93", START), ("MQRR-3.1.4.13-88", TRANSACTIONAL)]
)
def test_a_wait_without_end_that_ends_is_found(rule: str, method: str) -> None:
    talk = Talk()
    talk.ask(method, ph_context=talk.opened(), ul_timeout=0xFFFFFFFF)
    talk.wait(6000)
    talk.arrive()
    talk.wait(1)
    assert talk.reported({talk.place(method): refused(talk.calls()[talk.place(method)], _TIMED_OUT)}) == [
        ("time", rule)
    ]


def cancelled(method: str, action: int = _RECEIVE, how: str = "cancel") -> tuple[Talk, int, int]:
    """A read that waits and is ended: the place of what ended it, and of the read."""
    talk = Talk()
    handle = talk.opened()
    cursor = {}
    if how == "cursor":
        talk.make_cursor(talk.client, handle)
        cursor = {"h_cursor": talk.client.cursors[0][1]}
    talk.ask(
        method, None, 50, ph_context=handle, dw_request_id=4, ul_timeout=60_000, ul_action=action, **cursor
    )
    talk.wait(2000)
    if how == "close":
        talk.close(talk.client, handle)
    elif how == "cursor":
        talk.close_cursor(talk.client, handle, cursor["h_cursor"])
    else:
        talk.cancel(talk.client, handle, 4)
    end = {"cancel": "R_CancelReceive", "close": "R_CloseQueue", "cursor": "R_CloseCursor"}[how]
    return talk, talk.place(end), talk.place(method)


def delayed(talk: Talk, place: int, milliseconds: int, status: int) -> list[Any]:
    """A read that is answered later."""
    call = refused(talk.calls()[place], status)[0]
    packet = msgspec.structs.replace(call.packet, latency=call.packet.latency + milliseconds * 1_000_000)
    return [msgspec.structs.replace(call, packet=packet, time=(call.time or 0) + milliseconds * 1_000_000)]


@pytest.mark.parametrize(
    ("rule", "method"), [("MQRR-3.1.4.7-113", START), ("MQRR-3.1.4.13-99", TRANSACTIONAL)]
)
def test_a_read_that_brings_a_message_though_it_was_cancelled_is_found(rule: str, method: str) -> None:
    talk, _, read = cancelled(method)
    assert ("cancel", rule) in talk.reported({read: otherwise(talk.calls()[read], status=0)})


@pytest.mark.parametrize("method", _BOTH)
@pytest.mark.parametrize(("rule", "how"), [("MQRR-3.1.4.8-13", "cancel"), ("MQRR-3.1.4.3-6", "close")])
def test_a_read_that_waits_on_though_it_was_ended_is_found(rule: str, how: str, method: str) -> None:
    talk, _, read = cancelled(method, how=how)
    assert ("cancel", rule) in talk.reported({read: delayed(talk, read, 3000, _TIMED_OUT)})


@pytest.mark.parametrize("method", _BOTH)
def test_a_read_that_goes_on_by_a_cursor_that_was_closed_is_found(method: str) -> None:
    talk, _, read = cancelled(method, how="cursor")
    late = otherwise(delayed(talk, read, 3000, _TIMED_OUT), status=0)
    assert ("cancel", "MQRR-3.1.4.5-8") in talk.reported({read: late})


@pytest.mark.parametrize(
    ("rule", "method", "action"),
    [
        ("MQRR-3.1.4.7-47", START, _RECEIVE),
        ("MQRR-3.1.4.7-62", START, _PEEK),
        ("MQRR-3.1.4.13-56", TRANSACTIONAL, _RECEIVE),
    ],
)
def test_a_wait_that_is_said_not_to_be_is_found(rule: str, method: str, action: int) -> None:
    talk, cancel, read = cancelled(method, action)
    calls = talk.calls()
    late = delayed(talk, read, 3000, _TIMED_OUT)
    found = talk.reported({cancel: refused(calls[cancel], _NOT_FOUND), read: late})
    assert ("cancel", rule) in found


@pytest.mark.parametrize(("rule", "answered"), [("MQRR-3.1.4.8-8", False), ("MQRR-3.1.4.8-9", True)])
def test_a_cancel_of_what_does_not_wait_is_found(rule: str, answered: bool) -> None:
    talk = Talk()
    handle = talk.taken(START, 4)
    talk.wait(10)
    talk.cancel(talk.client, handle, 4 if answered else 5)
    assert talk.granted("R_CancelReceive") == [("cancel", rule)]
