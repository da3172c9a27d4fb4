"""`Projection`: the columns that a command needs; `ProjectedRows`: their values, without records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from msmq_wire.records.joined_capture import located
from msmq_wire.records.message import MessageColumn, message_of
from msmq_wire.records.record import Record


class ProjectedRows(msgspec.Struct, frozen=True):
    """Packets one after the other, and the ``lines`` that a `Projection` made of the messages among them.

    ``id`` is that of the last one, ``types`` counts those that never were records.
    """

    id: int
    types: Mapping[str, int]
    lines: list[Any]


def rows_of_values(values: Sequence[list[Any]]) -> list[Any]:
    """Rows as they are, of a list for each column: one that `Projection.make` may be."""
    return list(zip(*values, strict=True))


class Projection(msgspec.Struct, frozen=True):
    """What is asked of messages: columns, and what ``make`` makes of each row of their values.

    ``make`` gets a list for each column.
    """

    columns: tuple[MessageColumn, ...]
    make: Callable[[Sequence[list[Any]]], list[Any]]
    acknowledgments: bool = False


def projected_records(records: Iterable[Record], projection: Projection) -> Iterator[Record | ProjectedRows]:
    """Yield the records that are no messages, and the row of each that is one, as it comes."""
    getters = [column.values for column in projection.columns]
    for record in records:
        message = message_of(record, acknowledgments=projection.acknowledgments)
        if message is None:
            yield record
            continue
        found, carrier = located(record), message.carrier
        values = [[value[carrier](found)] for value in getters]
        yield ProjectedRows(record.id, {}, projection.make(values))
