"""Roles of methods: every method has one, and what its members name is in its parameter lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from msmq_wire.rpc.interfaces import INTERFACES, METHODS, Method, Role
from msmq_wire.rpc.interfaces.role import CLOSES, OPENS, READS, HandleKey, MemberRole, Members, ReceiveKey
from msmq_wire.rpc.ndr import NdrStruct, members
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID

_METHODS = [one for each in INTERFACES.values() for one in each.all_methods]
_OF_RESPONSE = {"gives", "creates", "found"}
_ASK_FOR_VALUES = (Role.LOOK_UP, Role.ASK_DIRECTORY)
_A, _B = GUID(b"a" * 16), GUID(b"b" * 16)
_HANDLE, _OTHER, _NULL = ContextHandle(uuid=_A), ContextHandle(uuid=_B), ContextHandle()
every_method = pytest.mark.parametrize("method", _METHODS, ids=lambda method: method.name)


def _structures(hint: Any) -> Iterator[type[NdrStruct]]:
    if isinstance(hint, type) and issubclass(hint, NdrStruct):
        yield hint
    for part in get_args(hint):
        yield from _structures(part)


def _has(cls: type[WireStruct], path: str) -> bool:
    name, _, rest = path.partition(".")
    # An arm has a property of its name, whose annotation says what it is.
    arm = getattr(cls, name, None)
    hints = get_type_hints(arm.fget) if isinstance(arm, property) else {}
    hint = hints.get("return", get_type_hints(cls).get(name))
    return hint is not None and (not rest or any(_has(one, rest) for one in _structures(hint)))


def _members(method: Method) -> Iterator[tuple[str, str]]:
    for field in msgspec.structs.fields(Members):
        value = getattr(method.members, field.name)
        if isinstance(value, str) and value:
            yield field.name, value


def test_methods_are_found_by_their_names() -> None:
    assert list(METHODS.values()) == _METHODS
    assert all(METHODS[method.name] is method for method in _METHODS)


def test_every_role_is_that_of_a_method() -> None:
    assert {method.role for method in _METHODS} - {None} == set(Role)


def test_a_method_without_a_role_says_what_it_does() -> None:
    assert all(method.role is not None or method.does for method in _METHODS)


@every_method
def test_what_members_name_is_in_the_parameter_lists(method: Method) -> None:
    for kind, path in _members(method):
        sides = [method.response] if kind in _OF_RESPONSE else [method.request]
        if kind == "receive":
            sides = [method.request if method.role is Role.END else method.response]
        if kind == "values":
            sides = [method.response if method.role in _ASK_FOR_VALUES else method.request]
        if kind == "message":
            sides = [method.request if method.role is Role.SEND else method.response]
        assert all(_has(side.cls, path) for side in sides), (kind, path)
    for name in method.members.numbers:
        assert _has(method.response.cls, name)


@every_method
def test_no_list_has_two_members_for_one_thing(method: Method) -> None:
    for parameters in (method.request, method.response):
        markers = [
            marker.name
            for member in members(parameters.cls)
            for marker in member.extras
            if isinstance(marker, MemberRole) and not marker.number
        ]
        assert len(markers) == len(set(markers))


@every_method
def test_a_role_has_the_members_that_it_cannot_be_told_without(method: Method) -> None:
    members = method.members
    if method.role is not None and not method.does:
        assert bool(members.gives) == (method.role in OPENS or method.role is Role.BEGIN)
    assert bool(members.action and members.timeout and members.cursor) == (method.role in READS)
    if method.role in CLOSES:
        assert members.handle
    if method.role is Role.MOVE:
        assert members.lookup_id


@every_method
def test_a_context_handle_that_comes_back_is_given_or_the_one_that_was_asked_with(method: Method) -> None:
    handles = {
        name
        for name, hint in get_type_hints(method.response.cls).items()
        if hint is ContextHandle and name in method.response.names
    }
    # The handle of a receive of qm2qm is what RemoteQMEndReceive ends.
    if method.role is not Role.START:
        assert handles <= {method.members.gives, method.members.handle}


@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("R_GetServerPort", Members()),
        (
            "R_StartTransactionalReceive",
            Members(
                handle="ph_context",
                request_id="dw_request_id",
                cursor="h_cursor",
                lookup_id="lookup_id",
                action="ul_action",
                timeout="ul_timeout",
                found="p_sequence_id",
                message="pp_packet_sections",
                transaction="p_transaction_id",
            ),
        ),
        (
            "R_EndTransactionalReceive",
            Members(handle="ph_context", request_id="dw_request_id", in_transaction=True),
        ),
        (
            "R_OpenQueueForMove",
            Members(
                gives="pph_context",
                numbers={"p_move_context": "ull_context_to"},
                queue="p_queue_format",
                access="dw_access",
            ),
        ),
        # A member inside another one.
        (
            "rpc_ACReceiveMessageEx",
            Members(
                handle="h_qm_context",
                cursor="ptb.old.receive.cursor",
                action="ptb.old.receive.action",
                timeout="ptb.old.receive.request_timeout",
                message="ptb",
            ),
        ),
        # One list answers both: the first gives a handle, the second hands back what it was asked with.
        ("R_QMEnlistInternalTransaction", Members(gives="ph_int_xact", transaction="p_uow")),
        ("R_QMCommitTransaction", Members(handle="ph_int_xact")),
        ("RemoteQMEndReceive", Members(handle="pph_context", receive="pph_context")),
        # The list of its response is that of its request, in which alone the marker of a handle counts.
        ("S_DSEndDeleteNotification", Members(handle="p_handle")),
        (
            "S_DSCreateObject",
            Members(
                gives="p_obj_guid",
                object_type="dw_object_type",
                object="pwcs_path_name",
                properties="a_prop",
                values="ap_var",
            ),
        ),
        ("S_DSLookupBegin", Members(gives="p_handle", properties="p_columns.a_col")),
    ],
)
def test_the_annotations_of_members_say_what_they_are(method: str, members: Members) -> None:
    assert METHODS[method].members == members


def _values(method: str, request: dict[str, Any], response: dict[str, Any]) -> tuple[Members, Any, Any]:
    known = METHODS[method]
    return known.members, known.request.cls(**request), known.response.cls(**response)


@pytest.mark.parametrize(
    ("method", "request_", "used"),
    [
        ("R_PurgeQueue", {"ph_context": _HANDLE}, ("handle", _A)),
        ("R_PurgeQueue", {"ph_context": _NULL}, None),
        ("R_MoveMessage", {"ph_context_from": _HANDLE, "ull_context_to": 7}, ("handle", _A)),
        ("RemoteQMPurgeQueue", {"h_queue": 9}, ("h_queue", 9)),
        ("RemoteQMPurgeQueue", {"h_queue": 0}, None),
        ("RemoteQMStartReceive", {"lp_remote_read_desc": RemoteReadDesc(h_remote_queue=9)}, ("h_queue", 9)),
        ("RemoteQMStartReceive2", {}, None),
        ("RemoteQMEndReceive", {"pph_context": _HANDLE}, ("handle", _A)),
        ("rpc_ACReceiveMessageEx", {"h_qm_context": 0}, ("h_qm_context", 0)),
        # Its number is one of another server.
        ("rpc_QMOpenQueueInternal", {"h_remote_queue": 9}, None),
        ("S_DSLookupNext", {"handle": _HANDLE, "ph_server_auth": _OTHER}, ("handle", _A)),
        ("S_DSGetProps", {"ph_server_auth": _OTHER}, ("handle", _B)),
    ],
)
def test_a_request_names_what_it_is_about(
    method: str, request_: dict[str, Any], used: HandleKey | None
) -> None:
    members, request, _ = _values(method, request_, {})
    assert members.used(request) == used


def test_a_move_names_its_target_by_the_number_that_its_opening_gave() -> None:
    members, request, _ = _values("R_MoveMessage", {"ull_context_to": 7}, {})
    opens, _, response = _values("R_OpenQueueForMove", {}, {"p_move_context": 7, "pph_context": _HANDLE})
    assert opens.given(response) == (("handle", _A), ("ull_context_to", 7))
    assert members.moved_to(request) == ("ull_context_to", 7)


@pytest.mark.parametrize(
    ("method", "request_", "response_", "given", "closed"),
    [
        ("R_OpenQueue", {}, {"pph_context": _HANDLE}, (("handle", _A),), None),
        ("R_OpenQueue", {}, {"pph_context": _NULL}, (), None),
        (
            "R_QMOpenRemoteQueue",
            {},
            {"pph_context": _HANDLE, "ph_queue": 9, "pdw_context": 9},
            (("handle", _A), ("h_queue", 9), ("h_queue", 9)),
            None,
        ),
        (
            "rpc_QMOpenQueueInternal",
            {},
            {"ph_queue": _HANDLE, "pdw_qm_context": 5},
            (("handle", _A), ("h_qm_context", 5)),
            None,
        ),
        # A number stands for the handle beside it.
        ("rpc_QMOpenQueueInternal", {}, {"pdw_qm_context": 5}, (), None),
        ("R_CloseQueue", {"pph_context": _HANDLE}, {"pph_context": _NULL}, (), ("handle", _A)),
        ("R_CloseQueue", {"pph_context": _HANDLE}, {"pph_context": _HANDLE}, (("handle", _A),), None),
        (
            "R_CloseQueue",
            {"pph_context": _HANDLE},
            {"pph_context": _OTHER},
            (("handle", _B),),
            ("handle", _A),
        ),
        ("R_PurgeQueue", {"ph_context": _HANDLE}, {}, (), None),
    ],
)
def test_a_response_gives_handles_and_closes_what_does_not_come_back(
    method: str,
    request_: dict[str, Any],
    response_: dict[str, Any],
    given: tuple[HandleKey, ...],
    closed: HandleKey | None,
) -> None:
    members, request, response = _values(method, request_, response_)
    assert (members.given(response), members.closed(request, response)) == (given, closed)


_DESCRIPTOR = RemoteReadDesc(h_remote_queue=9, dw_request_id=5)


@pytest.mark.parametrize(
    ("starts", "request_", "response_", "begun", "ends", "ended"),
    [
        (
            "R_StartReceive",
            {"ph_context": _HANDLE, "dw_request_id": 5},
            {},
            ((("handle", _A), 5),),
            "R_EndReceive",
            {"ph_context": _HANDLE, "dw_request_id": 5},
        ),
        (
            "RemoteQMStartReceive",
            {"lp_remote_read_desc": _DESCRIPTOR},
            {"pph_context": _OTHER},
            ((("h_queue", 9), 5), (("handle", _B), None)),
            "RemoteQMEndReceive",
            {"pph_context": _OTHER},
        ),
        (
            "RemoteQMStartReceive",
            {"lp_remote_read_desc": _DESCRIPTOR},
            {},
            ((("h_queue", 9), 5),),
            "RemoteQMCancelReceive",
            {"h_queue": 9, "dw_request_id": 5},
        ),
    ],
)
def test_a_receive_is_ended_by_what_began_it(
    starts: str,
    request_: dict[str, Any],
    response_: dict[str, Any],
    begun: tuple[ReceiveKey, ...],
    ends: str,
    ended: dict[str, Any],
) -> None:
    members, request, response = _values(starts, request_, response_)
    assert members.begun(request, response) == begun
    members, request, _ = _values(ends, ended, {})
    assert members.ended(request) == begun[-1]
