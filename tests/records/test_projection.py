"""Rows of messages in place of their records."""

from __future__ import annotations

import pytest

from msmq_wire.records.message import COLUMNS
from msmq_wire.records.projection import ProjectedRows, Projection, projected_records, rows_of_values
from msmq_wire.records.record import Record

_COLUMNS = tuple(one for one in COLUMNS if one.name in ("id", "src", "via"))
_GAP = Record(id=2, type="gap")
_RECORDS = [
    Record(id=1, type="user_message", src="192.0.2.1:1025"),
    _GAP,
    Record(id=3, type="user_message"),
    Record(id=4, type="order_ack"),
]
_FIRST, _SECOND = (1, "192.0.2.1:1025", "tcp"), (3, None, "tcp")


@pytest.mark.parametrize(
    ("at_once", "expected"),
    [
        (True, [(1, [_FIRST]), 2, (3, [_SECOND]), 4]),
        (False, [2, 4, (3, [_FIRST, _SECOND])]),
    ],
    ids=["at once", "many together"],
)
def test_messages_become_rows_and_other_records_stay(at_once: bool, expected: list[object]) -> None:
    found = projected_records(_RECORDS, Projection(_COLUMNS, rows_of_values), at_once=at_once)
    assert [(one.id, one.lines) if isinstance(one, ProjectedRows) else one.id for one in found] == expected


def test_acknowledgments_are_rows_where_they_are_asked_for() -> None:
    projection = Projection(_COLUMNS, rows_of_values, acknowledgments=True)
    (_, rows) = projected_records(_RECORDS, projection, at_once=False)
    assert isinstance(rows, ProjectedRows)
    assert rows.lines == [_FIRST, _SECOND, (4, None, "tcp")]


def test_many_messages_come_in_several_lots() -> None:
    records = [Record(id=number, type="user_message") for number in range(1, 601)]
    found = projected_records(records, Projection(_COLUMNS, rows_of_values), at_once=False)
    assert [len(one.lines) for one in found if isinstance(one, ProjectedRows)] == [256, 256, 88]
