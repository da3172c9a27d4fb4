"""A server of qmmgmt that answers what it may not is found, with the rule that it breaks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.management_properties import NO_VALUE
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText
from tests.replay.servers import ORDERS, Servers, granted, rules

_GET, _ACT = "R_QMMgmtGetInfo", "R_QMMgmtAction"
_MACHINE, _SESSION = MgmtObject(), MgmtObject(type=MgmtObjectType.MGMT_SESSION)
_QUEUE = MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=QueueFormat.of(FormatName.parse(ORDERS)))
_NO_QUEUE = MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=None)
_FAR = MgmtObject(
    type=MgmtObjectType.MGMT_QUEUE, arm=QueueFormat.of(FormatName.parse("DIRECT=OS:far\\private$\\x"))
)


def asking(what: MgmtObject, *propids: int) -> dict[str, Any]:
    """The members of a question."""
    room = (NO_VALUE,) * len(propids)
    return {"p_object_format": what, "cp": len(propids), "a_prop": propids, "ap_var": room}


def acting(what: MgmtObject, action: str) -> dict[str, Any]:
    """The members of an action."""
    return {"p_object_format": what, "lpwsz_action": WcharText.of(action)}


def test_an_honest_server_breaks_no_rule() -> None:
    servers = Servers()
    servers.put()
    for request in (
        asking(_MACHINE, *range(1, 7)),
        asking(_QUEUE, *range(1, 28)),
        asking(_FAR, 7),
        asking(_NO_QUEUE, 7),
        asking(_SESSION, 7),
        asking(_MACHINE, 7),
        asking(_QUEUE, 28),
    ):
        servers.call(_GET, None, **request)
    for action in ManagementAction:
        for what in (_MACHINE, _QUEUE, _SESSION, _FAR):
            servers.call(_ACT, None, **acting(what, action))
    servers.call(_ACT, None, **acting(_MACHINE, "connect"))
    servers.call(_ACT, None, **acting(_MACHINE, "reconnect"))
    assert {call.answer.fault for call in servers.calls} == {None}
    assert rules(servers.found()) == []


_GRANTED: list[tuple[str, str, dict[str, Any]]] = [
    ("MQMR-3.1.4.1-1", _GET, asking(_MACHINE)),
    ("MQMR-3.1.4.1-2", _GET, asking(_MACHINE, 1, 2) | {"cp": 3}),
    ("MQMR-3.1.4.1-4", _GET, asking(_SESSION, 1)),
    ("MQMR-3.1.4.1-7", _GET, asking(_NO_QUEUE, 7)),
    ("MQMR-3.1.4.2-2", _ACT, acting(_MACHINE, "RESTART")),
    ("MQMR-3.1.4.2-3", _ACT, acting(_SESSION, "CONNECT")),
]


@pytest.mark.parametrize(("rule", "method", "request_"), _GRANTED)
def test_what_no_server_may_grant_is_found(rule: str, method: str, request_: dict[str, Any]) -> None:
    servers = Servers()
    servers.call(method, None, **request_)
    found = servers.found({0: granted(servers.calls[0])})
    assert rule in rules(found)


def _text(value: str) -> PropVariant:
    return PropVariant(vt=BodyType.VT_LPWSTR, arm=WcharText.of(value))


_COUNT = PropVariant(vt=BodyType.VT_UI4, arm=3)
_ANSWERED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("MQMR-3.1.4.1-9", asking(_SESSION, 1), {"ap_var": (_COUNT,)}),
    ("MQMR-3.1.4.1-10", asking(_QUEUE, 7, 8), {"ap_var": (_COUNT,)}),
    ("MQMR-3.1.4.1-10", asking(_QUEUE, 7), {"status": 0x400E0001}),
    ("MQMR-3.1.4.1-11", asking(_QUEUE, 7), {"ap_var": (_text("three"),)}),
    ("MQMR-3.1.4.1-11", asking(_MACHINE, 6), {"ap_var": (_COUNT,)}),
    ("MQMR-3.1.4.1-12", asking(_MACHINE, 4), {"ap_var": (_text("ALIVE"),)}),
    ("MQMR-3.1.4.1-12", asking(_QUEUE, 11), {"ap_var": (_text("BUSY"),)}),
]


@pytest.mark.parametrize(("rule", "request_", "values"), _ANSWERED)
def test_values_that_cannot_be_are_found(rule: str, request_: dict[str, Any], values: dict[str, Any]) -> None:
    servers = Servers()
    servers.call(_GET, None, **request_)
    call = servers.calls[0]
    changed = msgspec.structs.replace(call.answer.response, **values)
    assert rules(servers.found({0: call.records(changed)})) == [rule]


def test_an_action_that_is_done_with_another_success_is_found() -> None:
    servers = Servers()
    servers.call(_ACT, None, **acting(_MACHINE, "CONNECT"))
    call = servers.calls[0]
    changed = msgspec.structs.replace(call.answer.response, status=0x400E0001)
    assert rules(servers.found({0: call.records(changed)})) == ["MQMR-3.1.4.2-7"]


@pytest.mark.parametrize(
    "values",
    [(NO_VALUE,), (PropVariant(vt=BodyType.VT_EMPTY),), (_text("connected"),), (_text("Disconnected"),)],
)
def test_no_value_and_another_case_are_right(values: tuple[PropVariant, ...]) -> None:
    servers = Servers()
    servers.call(_GET, None, **asking(_MACHINE, 4))
    call = servers.calls[0]
    changed = msgspec.structs.replace(call.answer.response, ap_var=values)
    assert rules(servers.found({0: call.records(changed)})) == []
