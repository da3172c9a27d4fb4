"""Messages that applications receive through their server are followed as those of remote readers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.records.record import Record
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.qmcomm.qmcomm2_scene import ROOM, body_room, receiving
from tests.replay.servers import START, Servers, rules

_RECEIVE, _PEEK = 0, 0x80000000
_ALL: dict[str, Any] = {"pp_message_id": ROOM, "p_sent_time": 0, "p_priority": 0} | body_room()


def receive(servers: Servers, context: int, action: int = _RECEIVE, **asked: Any) -> int:
    """rpc_ACReceiveMessageEx; the place of the call."""
    buffer = receiving(action, **asked)
    servers.call("rpc_ACReceiveMessageEx", None, h_qm_context=context, ptb=buffer)
    servers.wait(10)
    return len(servers.calls) - 1


def reported(servers: Servers, place: int, other: int) -> list[tuple[str, str, bool]]:
    """What is found where a call brings the message of another."""
    assert rules(servers.found()) == []
    changed: list[Record] = servers.calls[place].records(servers.calls[other].answer.response)
    return [(str(one.kind), str(one.rule), one.certain) for one in servers.found({place: changed})]


@pytest.mark.parametrize(
    ("asked", "certain"),
    [(_ALL, True), ({"pp_message_id": ROOM, "p_priority": 0} | body_room(), False)],
    ids=["all", "no time"],
)
@pytest.mark.parametrize("again", [_RECEIVE, _PEEK])
def test_a_message_that_comes_after_it_was_received_is_found(
    asked: dict[str, Any], certain: bool, again: int
) -> None:
    servers = Servers()
    _, context = servers.open()
    servers.put()
    servers.put()
    first = receive(servers, context, **asked)
    last = receive(servers, context, again, **asked)
    found = reported(servers, last, first)
    assert [one for one in found if one[0] == "gone"] == [("gone", "MQMP-3.1.5.3-167", certain)]


def test_a_message_that_comes_after_its_queue_was_purged_is_found() -> None:
    servers = Servers()
    handle, context = servers.open()
    servers.put()
    first = receive(servers, context, _PEEK, **_ALL)
    servers.call("rpc_ACPurgeQueue", None, h_queue=handle)
    servers.put()
    servers.wait(10)
    last = receive(servers, context, _PEEK, **_ALL)
    assert ("gone", "MQMP-3.1.4.22-5", False) in reported(servers, last, first)


def test_a_message_without_its_identifier_is_not_told_from_others() -> None:
    servers = Servers()
    _, context = servers.open()
    servers.put()
    servers.put()
    first = receive(servers, context, **body_room())
    assert reported(servers, receive(servers, context, **body_room()), first) == []


def test_a_message_that_a_transaction_received_may_come_again() -> None:
    servers = Servers()
    _, context = servers.open()
    unit = GUID(b"one transaction.")
    begun = servers.call("R_QMEnlistInternalTransaction", None, p_uow=unit)
    assert begun is not None
    servers.put()
    place = receive(servers, context, p_uow=unit, **_ALL)
    servers.call("R_QMAbortTransaction", None, ph_int_xact=begun.response.ph_int_xact)
    again = receive(servers, context, **_ALL)
    assert servers.calls[place].answer.status == servers.calls[again].answer.status == 0
    assert rules(servers.found()) == []


def test_a_message_that_a_remote_reader_has_is_not_given_to_an_application() -> None:
    servers = Servers(clients=2)
    other = servers.clients[1]
    _, context = servers.open()
    servers.put()
    servers.read(START, servers.open_remote(client=other), other)
    servers.put()
    place = receive(servers, context, **_ALL)
    assert rules(servers.found()) == []
    response = servers.calls[place].answer.response
    name = ObjectId(lineage=response.ptb.old.pp_message_id.lineage, uniquifier=1)
    old = msgspec.structs.replace(response.ptb.old, pp_message_id=name)
    changed = msgspec.structs.replace(response, ptb=msgspec.structs.replace(response.ptb, old=old))
    found = servers.found({place: servers.calls[place].records(changed)})
    assert [(str(one.kind), str(one.rule)) for one in found] == [("twice", "MQQP-3.1.4.1-2")]


def test_a_message_that_an_application_is_given_before_its_turn_is_found() -> None:
    servers = Servers()
    _, context = servers.open()
    servers.put(priority=1)
    low = receive(servers, context, _PEEK, **_ALL)
    servers.put(priority=6)
    for _ in range(3):
        receive(servers, context, _PEEK, **_ALL)
    assert reported(servers, low + 2, low) == [("order", "MQMP-3.1.5.3-167", False)]


def test_what_an_application_receives_without_its_name_makes_no_order() -> None:
    servers = Servers()
    _, context = servers.open()
    servers.put(priority=6)
    receive(servers, context, _PEEK, **_ALL)
    servers.put(priority=1)
    receive(servers, context)
    receive(servers, context, _PEEK, **_ALL)
    assert rules(servers.found()) == []
