"""Servers of qm2qm that lose the places of cursors, or look on the wrong side of a message, are found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, TransferSend
from tests.replay.servers import LOOKUP, START, START2, Servers, granted, rules
from tests.replay.test_answers import in_descriptor
from tests.replay.test_broken_servers import brings, reported

_RECEIVE, _PEEK, _NEXT = 0, 0x80000000, 0x80000001
_LOOK, _PEEK_NEXT, _PEEK_PREV = 0x40000010, 0x40000011, 0x40000012
_TAKE_NEXT, _TAKE_PREV = 0x40000021, 0x40000022
_LAST = (1 << 64) - 1


def _with_cursor(messages: int = 3) -> tuple[Servers, int, int]:
    """A queue with messages, open for a remote reader, and a cursor of it."""
    servers = Servers()
    for _ in range(messages):
        servers.put()
    number = servers.open_remote()
    buffer = CACTransferBufferV1(arm=TransferSend())
    made = servers.call("R_QMCreateRemoteCursor", None, h_queue=number, ptb1=buffer)
    assert made is not None
    return servers, number, made.response.ph_cursor


def _read(servers: Servers, method: str, number: int, action: int, **more: Any) -> int:
    """A read that brings a message; its place."""
    servers.wait(10)
    servers.read(method, number, ul_action=action, dw_request_id=len(servers.calls), **more)
    return len(servers.calls) - 1


@pytest.mark.parametrize(
    ("rule", "method", "action", "other"),
    [
        ("MQQP-3.1.4.1-25", START, _RECEIVE, "second"),
        ("MQQP-3.1.4.1-27", START, _PEEK, "second"),
        ("MQQP-3.1.4.1-28", START, _NEXT, "first"),
        ("MQQP-3.1.4.10-27", START2, _RECEIVE, "second"),
        ("MQQP-3.1.4.10-29", START2, _PEEK, "second"),
        ("MQQP-3.1.4.10-30", START2, _NEXT, "first"),
    ],
)
def test_a_cursor_that_brings_what_it_does_not_stand_on_is_found(
    rule: str, method: str, action: int, other: str
) -> None:
    servers, number, cursor = _with_cursor()
    with_it = {"h_cursor": cursor}
    made = servers.call(
        "R_QMCreateRemoteCursor", None, h_queue=number, ptb1=CACTransferBufferV1(arm=TransferSend())
    )
    assert made is not None
    beside = {"h_cursor": made.response.ph_cursor}
    first = _read(servers, method, number, _PEEK, **beside)
    second = _read(servers, method, number, _NEXT, **beside)
    _read(servers, method, number, _PEEK, **with_it)
    last = _read(servers, method, number, action, **with_it)
    assert servers.calls[last].answer.status == 0
    source = first if other == "first" else second
    assert rule in [one for _, one in reported(servers, {last: brings(servers, last, source)})]


@pytest.mark.parametrize(("rule", "method"), [("MQQP-3.1.4.1-29", START), ("MQQP-3.1.4.10-31", START2)])
def test_a_cursor_that_goes_on_from_nothing_is_found(rule: str, method: str) -> None:
    servers, number, cursor = _with_cursor()
    last = _read(servers, method, number, _NEXT, h_cursor=cursor)
    assert servers.calls[last].answer.status
    assert ("cursor", rule) in reported(servers, {last: granted(servers.calls[last])})


@pytest.mark.parametrize("method", [START, START2])
def test_a_read_that_goes_on_by_a_closed_cursor_is_found(method: str) -> None:
    servers, number, cursor = _with_cursor(1)
    _read(servers, method, number, _PEEK, h_cursor=cursor)
    servers.read(method, number, ul_action=_NEXT, ul_timeout=9000, h_cursor=cursor, dw_request_id=77)
    servers.wait(1000)
    servers.call("RemoteQMCloseCursor", None, h_queue=number, h_cursor=cursor)
    servers.wait(9000)
    place = next(place for place, one in enumerate(servers.calls) if one.answer.status == 0xC00E0008)
    first = next(place for place, one in enumerate(servers.calls) if one.method == method)
    servers.calls[place] = msgspec.structs.replace(
        servers.calls[place], ended=servers.calls[place].ended + 4000
    )
    servers.calls[place] = msgspec.structs.replace(
        servers.calls[place], answer=msgspec.structs.replace(servers.calls[first].answer)
    )
    assert ("cancel", "MQQP-3.1.4.5-6") in [(str(one.kind), str(one.rule)) for one in servers.found()]


def _whole(servers: Servers) -> list[int]:
    return [one.message_reference.lookup_identifier for one in servers.queues[0].message_position_list]


@pytest.mark.parametrize(
    ("rule", "action", "asked", "wrong"),
    [
        ("MQQP-3.1.4.11-26", _PEEK_PREV, 1, 2),
        ("MQQP-3.1.4.11-26", _TAKE_PREV, 1, 2),
        ("MQQP-3.1.4.11-28", _PEEK_NEXT, 1, 0),
        ("MQQP-3.1.4.11-28", _TAKE_NEXT, 1, 0),
    ],
)
def test_a_lookup_that_goes_the_wrong_way_is_found(rule: str, action: int, asked: int, wrong: int) -> None:
    servers = Servers()
    for _ in range(3):
        servers.put()
    number = servers.open_remote()
    names = _whole(servers)
    seen = [_read(servers, LOOKUP, number, _LOOK, lookup_id=name) for name in names]
    last = _read(servers, LOOKUP, number, action, lookup_id=names[asked])
    assert servers.calls[last].answer.status == 0
    assert ("lookup", rule) in reported(servers, {last: brings(servers, last, seen[wrong])})


@pytest.mark.parametrize(
    ("rule", "action", "asked", "wrong"),
    [("MQQP-3.1.4.11-24", _PEEK_NEXT, 0, 1), ("MQQP-3.1.4.11-25", _PEEK_PREV, _LAST, 1)],
)
def test_a_lookup_of_the_first_or_the_last_that_brings_another_is_found(
    rule: str, action: int, asked: int, wrong: int
) -> None:
    servers = Servers()
    for _ in range(3):
        servers.put()
    number = servers.open_remote()
    names = _whole(servers)
    seen = [_read(servers, LOOKUP, number, _LOOK, lookup_id=name) for name in names]
    place = _read(servers, LOOKUP, number, action, lookup_id=asked)
    for name in names:
        _read(servers, LOOKUP, number, _LOOK, lookup_id=name)
    assert ("order", rule) in reported(servers, {place: brings(servers, place, seen[wrong])})


@pytest.mark.parametrize("action", [_PEEK_NEXT, _PEEK_PREV])
def test_a_lookup_beside_what_is_gone_is_found(action: int) -> None:
    servers = Servers()
    for _ in range(3):
        servers.put()
    number = servers.open_remote()
    names = _whole(servers)
    seen = [_read(servers, LOOKUP, number, _LOOK, lookup_id=name) for name in names]
    servers.read(LOOKUP, number, ul_action=0x40000020, lookup_id=names[1])
    servers.call("RemoteQMEndReceive", None, pph_context=servers.clients[0].received[0], dw_ack=2)
    last = _read(servers, LOOKUP, number, action, lookup_id=names[1])
    assert servers.calls[last].answer.status
    changed = brings(servers, last, seen[0 if action == _PEEK_PREV else 2])
    assert servers.found() == []
    ok = msgspec.structs.replace(changed[0].packet, status=0)
    again = {name: getattr(changed[0], name) for name in changed[0].__struct_fields__} | {"packet": ok}
    found = servers.found({last: [type(changed[0])(**again), *changed[1:]]})
    assert "MQQP-3.1.4.11-31" in rules(found)


@pytest.mark.parametrize("method", [START2, LOOKUP])
def test_a_message_that_arrives_anew_is_found(method: str) -> None:
    servers = Servers()
    servers.put()
    number = servers.open_remote()
    more = {"lookup_id": _whole(servers)[0]} if method == LOOKUP else {}
    for _ in range(2):
        last = _read(servers, method, number, _LOOK if method == LOOKUP else _PEEK, **more)
    call = servers.calls[last]
    changed = call.records(in_descriptor(dw_arrive_time=5)(call.answer.response))
    assert reported(servers, {last: changed}) == [("size", "MQQP-2.2.2.1-6")]


@pytest.mark.parametrize(("rule", "method"), [("MQQP-3.1.4.1-34", START), ("MQQP-3.1.4.10-36", START2)])
def test_a_wait_that_does_not_end_with_the_message_that_came_is_found(rule: str, method: str) -> None:
    servers = Servers(clients=2)
    waits, other = (servers.open_remote(client=client) for client in servers.clients)
    servers.read(method, waits, servers.clients[0], ul_timeout=9000, ul_action=_PEEK)
    servers.wait(4000)
    servers.put()
    servers.read(method, other, servers.clients[1])
    servers.wait(9000)
    place = next(place for place, one in enumerate(servers.calls) if one.method == method)
    call = servers.calls[place]
    assert call.answer.status == 0
    late = msgspec.structs.replace(call, ended=call.begun + 9000)
    response = msgspec.structs.replace(type(call.answer.response)(), status=0xC00E001B)
    servers.calls[place] = late
    assert ("order", rule) in [
        (str(one.kind), str(one.rule)) for one in servers.found({place: late.records(response)})
    ]


def test_a_purged_message_that_is_put_back_and_comes_again_is_found() -> None:
    servers = Servers()
    number = servers.open_remote()
    servers.put()
    taken = _read(servers, START2, number, _RECEIVE)
    servers.call("RemoteQMPurgeQueue", None, h_queue=number)
    servers.call("RemoteQMEndReceive", None, pph_context=servers.clients[0].received[0], dw_ack=1)
    servers.put()
    last = _read(servers, START2, number, _PEEK)
    assert ("gone", "MQQP-3.1.4.2-13") in reported(servers, {last: brings(servers, last, taken)})


def test_a_walk_with_a_cursor_breaks_no_rule() -> None:
    for method in (START, START2):
        servers, number, cursor = _with_cursor(5)
        for action in (_PEEK, _NEXT, _RECEIVE, _PEEK, _PEEK, _NEXT, _NEXT):
            _read(servers, method, number, action, h_cursor=cursor)
        assert rules(servers.found()) == []
