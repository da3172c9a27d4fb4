"""Records of any type as rows of one table, with the columns of messages and of calls."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from msmq_wire.records.call import CALL_COLUMNS, call_of
from msmq_wire.records.column import RECORD_COLUMNS, Column, RecordRow
from msmq_wire.records.display import Display
from msmq_wire.records.message import COLUMNS, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.row_values import RowValues
from msmq_wire.records.summary import summary


def item_columns(*, at_rest: bool = False) -> list[Column]:
    """The columns of records, of messages and of calls, each name once; only records have some always."""
    found: dict[str, Column] = {one.name: one for one in RECORD_COLUMNS}
    others: tuple[Column, ...] = (*COLUMNS, *CALL_COLUMNS)
    for one in others:
        found.setdefault(one.name, msgspec.structs.replace(one, optional=True))
    display = Display("what", 90, 16, style="note", last=True)
    found["what"] = msgspec.structs.replace(
        found["what"], display=display, doc="What it is about, in one line.", optional=False
    )
    if at_rest:
        # An offset in a connection says little, that in a file is where something lies.
        found["offset"] = msgspec.structs.replace(found["offset"], display=Display("offset"))
    return list(found.values())


USUAL = (
    *(one.name for one in RECORD_COLUMNS if not one.asked),
    "queue",
    "label",
    "message_id",
    "method",
    "status",
    "what",
)
"""The columns where none are asked for."""


class _Summary:
    """What a record is about, as the column ``what``."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def __contains__(self, name: object) -> bool:
        return name == "what"

    def __getitem__(self, name: str) -> str:
        return summary(self._record)

    json = __getitem__


def item_row(record: Record, *, hidden: Collection[str] = ()) -> RowValues:
    """What there is of a record, and of the message or the call that it is; what is ``hidden`` is None."""
    reported = message_of(record, acknowledgments=True, inside=True) or call_of(record)
    line = _Summary(record)
    found = (line, RecordRow(record)) if reported is None else (line, RecordRow(record), reported)
    return RowValues(record, *found, hidden=hidden)
