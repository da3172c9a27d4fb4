"""Many messages as lines: JSON lines and CSV made of columns of values, without a row for each.

The rule kept here: a line is what `MessageValues.row` gives as JSON, or as CSV, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.engines.text.csv import csv_cell
from msmq_wire.engines.text.escaping import json_string
from msmq_wire.records.message import MessageColumn
from msmq_wire.records.view import time_text

Lines = Callable[[Sequence[list[Any]]], list[str]]
"""Makes lines of a list of values for each column."""


def json_lines(columns: Sequence[MessageColumn]) -> Lines:
    """Lines of JSON whose keys are the names of the columns."""
    row = f"{{{','.join(f'{json_string(one.name)}:%s' for one in columns)}}}"
    return _lines(row, [_json_cells(one) for one in columns])


def csv_lines(columns: Sequence[MessageColumn]) -> Lines:
    """Lines of CSV without one of names."""
    row = ",".join(["%s"] * len(columns))
    lines = _lines(row, [_csv_cells(one) for one in columns])
    if len(columns) > 1:
        return lines
    # An empty line would be no row.
    return lambda values: [line or '""' for line in lines(values)]


def _lines(row: str, cells: Sequence[Callable[[list[Any]], list[Any]]]) -> Lines:
    def lines(values: Sequence[list[Any]]) -> list[str]:
        columns = [own(column) for own, column in zip(cells, values, strict=True)]
        return [row % line for line in zip(*columns, strict=True)]

    return lines


def _json_cells(column: MessageColumn) -> Callable[[list[Any]], list[Any]]:
    if column.kind == "number":
        return lambda values: ["null" if value is None else value for value in values]
    if column.kind == "time":
        return _times('"%s"', "null")
    write = _JSON[column.kind]
    return lambda values: ["null" if value is None else write(value) for value in values]


def _csv_cells(column: MessageColumn) -> Callable[[list[Any]], list[Any]]:
    if column.kind == "number":
        return lambda values: ["" if value is None else value for value in values]
    return _times("%s", "") if column.kind == "time" else lambda values: list(map(csv_cell, values))


_JSON: dict[str, Callable[[Any], str]] = {
    "text": json_string,
    # Few come again and again.
    "endpoint": BoundedCache(json_string).__getitem__,
    "address": BoundedCache(json_string).__getitem__,
    "numbers": lambda numbers: f"[{','.join(map(str, numbers))}]",
    "texts": lambda texts: f"[{','.join(map(json_string, texts))}]",
}


def _times(form: str, none: str) -> Callable[[list[Any]], list[str]]:
    def cell(time: int | None) -> str:
        text = time_text(time)
        return form % text if text else none

    return lambda values: list(map(cell, values))
