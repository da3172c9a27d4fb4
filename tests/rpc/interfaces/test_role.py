"""Roles of methods: every method has one, and what its members name is in its parameter lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from msmq_wire.rpc.interfaces import INTERFACES, METHODS, Method, Role
from msmq_wire.rpc.interfaces.role import CLOSES, OPENS, READS, Members
from msmq_wire.rpc.ndr import NdrStruct
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.fields import WireStruct

_METHODS = [one for each in INTERFACES.values() for one in each.all_methods]
_OF_RESPONSE = {"gives", "creates", "found"}
_ASK_FOR_VALUES = (Role.LOOK_UP, Role.ASK_DIRECTORY)
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
