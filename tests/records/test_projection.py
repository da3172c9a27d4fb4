"""Rows of messages in place of their records."""

from __future__ import annotations

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


def test_messages_become_rows_and_other_records_stay() -> None:
    found = projected_records(_RECORDS, Projection(_COLUMNS, rows_of_values))
    assert [(one.id, one.lines) if isinstance(one, ProjectedRows) else one.id for one in found] == [
        (1, [_FIRST]),
        2,
        (3, [_SECOND]),
        4,
    ]


def test_acknowledgments_are_rows_where_they_are_asked_for() -> None:
    projection = Projection(_COLUMNS, rows_of_values, acknowledgments=True)
    found = [one for one in projected_records(_RECORDS, projection) if isinstance(one, ProjectedRows)]
    assert [one.lines for one in found] == [[_FIRST], [_SECOND], [(4, None, "tcp")]]
