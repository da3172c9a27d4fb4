"""Every declared column is an attribute of the right type, under its name."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from msmq_wire.api.call_attributes import CallAttributes
from msmq_wire.api.column_attributes import ColumnAttributes, body_bytes, duration, member
from msmq_wire.api.message_attributes import MessageAttributes
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.display import ColumnDeclaration, Kind
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.message_body import MessageBody
from msmq_wire.wire.types.enumerations import MessageClass

_TYPES: dict[Kind, Any] = {
    "number": int,
    "text": str,
    "endpoint": str,
    "address": str,
    "time": datetime,
    "duration": timedelta,
    "flag": bool,
    "numbers": tuple[int, ...],
    "texts": tuple[str, ...],
    "body": bytes,
}
_CASES = [
    *((MessageAttributes, column) for column in COLUMNS),
    *((CallAttributes, column) for column in CALL_COLUMNS),
]


def _named(case: object) -> str:
    return case.name if isinstance(case, ColumnDeclaration) else getattr(case, "__name__", "")


@pytest.mark.parametrize(("attributes", "column"), _CASES, ids=_named)
def test_a_column_is_an_attribute_of_its_type(
    attributes: type[ColumnAttributes], column: ColumnDeclaration
) -> None:
    names = [column.name, *([f"{column.name}_ns"] if column.kind in ("time", "duration") else [])]
    for name in names:
        getter = vars(attributes)[name].fget
        returned = get_type_hints(getter)["return"]
        parts = {one for one in get_args(returned) if get_origin(returned) is not tuple} or {returned}
        if get_origin(returned) is not tuple and column.choices:
            assert {one for one in _flat(returned) if one is not type(None)} == set(column.choices)
            continue
        wanted = int if name != column.name else _TYPES[column.kind]
        expected = {wanted} if column.names is None else {wanted, column.names}
        assert parts - {type(None)} == expected
        assert getter.__doc__


def _flat(returned: Any) -> set[Any]:
    """The texts of a literal, and what stands beside it."""
    found = set()
    for one in get_args(returned):
        found |= set(get_args(one)) or {one}
    return found


@pytest.mark.parametrize("attributes", [MessageAttributes, CallAttributes])
def test_no_attribute_is_left_of_a_column_that_is_gone(attributes: type[ColumnAttributes]) -> None:
    columns = COLUMNS if attributes is MessageAttributes else CALL_COLUMNS
    names = {name for name, value in vars(attributes).items() if isinstance(value, property)}
    assert {name.removesuffix("_ns") for name in names} == {column.name for column in columns}


def test_values_become_those_of_python() -> None:
    assert duration(1_500_999) == timedelta(microseconds=1500)
    assert duration(None) is None
    assert member(MessageClass, 0) is MessageClass.MQMSG_CLASS_NORMAL
    assert member(MessageClass, 0x7777) == 0x7777
    assert not isinstance(member(MessageClass, 0x7777), IntEnum)
    assert member(MessageClass, None) is None
    assert body_bytes(MessageBody(data=b"abc", size=3)) == b"abc"
    assert body_bytes(None) is None
