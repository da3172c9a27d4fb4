"""`table`: what is in a capture as a table, for whatever reads Arrow: Polars, pandas, DuckDB, pyarrow.

The rule kept here: a table is what the command of its name writes with ``--to``: the same columns and rows.
It is read anew each time, and never held whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec

from msmq_wire.capture.reader import CaptureReader
from msmq_wire.detection import Judge
from msmq_wire.detection.columns import (
    FINDING_ALIASES,
    FINDING_COLUMNS,
    JSON_COLUMNS,
    FindingRow,
    FindingView,
)
from msmq_wire.detection.filtering import FindingFilter
from msmq_wire.records.call import CALL_COLUMNS, CallFinder
from msmq_wire.records.column import Column, RecordRow
from msmq_wire.records.column_choice import chosen_columns, column_names
from msmq_wire.records.filter.compiling import compile_filter
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.item_rows import USUAL, item_columns, item_row
from msmq_wire.records.message import COLUMNS, MessageColumn, message_of
from msmq_wire.records.projection import ProjectedRows, Projection, rows_of_values
from msmq_wire.records.recognition import Ports
from msmq_wire.records.record import Record
from msmq_wire.records.row_values import RowValues
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.pdu_protection import Negotiator

Rows: TypeAlias = Literal["messages", "calls", "findings", "packets"]
"""What a table has a row for."""

_Values: TypeAlias = Iterator[Sequence[Sequence[Any]]]
"""Rows, some at a time, each a value for each column."""


class CaptureTable:
    """The rows of a capture, read anew by each that asks: ``pl.DataFrame(table)``, ``pa.table(table)``.

    DuckDB finds a variable by its name: ``duckdb.sql("select * from table")``. Needs numpy and pyarrow. What
    cannot be opened, or is no capture, raises CaptureError when it is read; damage later on ends the rows.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        rows: Rows,
        columns: tuple[Column, ...],
        filter_: str | None,
        *,
        ports: Ports = (),
        negotiator: Negotiator | None = None,
    ) -> None:
        self._ports = ports
        self._negotiator = negotiator
        self._path = os.fspath(path)
        self._rows = rows
        self._columns = columns
        self._filter = filter_

    @property
    def schema(self) -> Any:
        """The pyarrow schema: the name, the type and the meaning of each column."""
        # Loads pyarrow.
        from msmq_wire.tables.declared_rows import rows_schema

        return rows_schema(self._columns)

    def reader(self) -> Any:
        """A pyarrow.RecordBatchReader over the rows, which reads as it is asked."""
        import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

        from msmq_wire.tables.declared_rows import row_batches

        batches = row_batches(self._columns, self._values())
        # What is no capture is an error of this call, and not of the program that reads the stream.
        first = next(batches, None)
        return pa.RecordBatchReader.from_batches(
            self.schema, batches if first is None else chain((first,), batches)
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of the Arrow C data interface."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema by the same interface."""
        return self.schema.__arrow_c_schema__()

    def to_pandas(self) -> Any:
        """All rows as a pandas.DataFrame."""
        return self.reader().read_pandas()

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self._columns)
        return f"<{self._rows} of {self._path}: {names}>"

    def _values(self) -> _Values:
        # Rules ask how connections begin and end.
        streams = self._rows == "findings"
        with CaptureReader(
            self._path, ports=self._ports, streams=streams, negotiator=self._negotiator
        ) as reader:
            yield from _VALUES[self._rows](reader, self._columns, self._filter)


def table(
    path: str | os.PathLike[str],
    rows: Rows,
    *,
    columns: str | Sequence[str] | None = None,
    filter: str | None = None,
    ports: Ports = (),
    negotiator: Negotiator | None = None,
) -> CaptureTable:
    """The messages, calls, findings or packets of a capture as a `CaptureTable`.

    ``columns`` are names as ``--columns`` of the command takes them: ``"id,time,label"``, ``"+body_text"``,
    ``"all"``, or a list. ``filter`` is an expression as ``--filter`` takes it. ``ports`` and ``negotiator``
    are those of `CaptureReader`. Raises MsmqWireError for a
    name that is no column and for a filter that is none, ImportError without the extra ``arrow``.
    """
    if rows not in get_args(Rows):
        raise ValueError(f"{rows!r} is none of {', '.join(get_args(Rows))}")
    if any(find_spec(name) is None for name in ("numpy", "pyarrow")):
        raise ImportError('a table needs numpy and pyarrow: pip install "msmq-wire[arrow]"')
    wanted = columns if columns is None or isinstance(columns, str) else ",".join(columns)
    if filter is not None:
        # What is wrong with it is said at once, and not when the table is read.
        check: Callable[[str], object] = _finding_filter if rows == "findings" else _matches
        check(filter)
    return CaptureTable(path, rows, _chosen(rows, wanted), filter, ports=ports, negotiator=negotiator)


class _Columns(msgspec.Struct, frozen=True):
    """The columns that a table may have, and those that it has where none are asked for."""

    declared: tuple[Column, ...]
    usual: tuple[str, ...]
    also: Mapping[str, str] = {}


def _chosen(rows: Rows, wanted: str | None) -> tuple[Column, ...]:
    if rows == "findings" and wanted is None:
        return JSON_COLUMNS
    of = _columns(rows)
    known = column_names(of.declared, of.also)
    names = chosen_columns(wanted, of.usual, known, paths=False) or of.usual
    declared = {one.name: one for one in of.declared}
    return tuple(declared[name] for name in names)


def _columns(rows: Rows) -> _Columns:
    if rows == "packets":
        return _Columns(tuple(item_columns()), USUAL)
    declared: Mapping[str, tuple[Column, ...]] = {
        "messages": COLUMNS,
        "calls": CALL_COLUMNS,
        "findings": FINDING_COLUMNS,
    }
    usual = tuple(one.name for one in declared[rows] if not one.asked)
    return _Columns(declared[rows], usual, FINDING_ALIASES if rows == "findings" else {})


def _finding_filter(expression: str | None) -> FindingFilter | None:
    return None if expression is None else FindingFilter([expression])


def _matches(expression: str | None) -> Callable[[Record], bool]:
    if expression is None:
        return lambda record: True
    compiled = compile_filter(expression)
    return lambda record: compiled(Subject(record))


def _messages(reader: CaptureReader, columns: Sequence[Column], filter_: str | None) -> _Values:
    names, matches = [one.name for one in columns], _matches(filter_)
    items: Iterator[Record | ProjectedRows] = iter(reader)
    if filter_ is None:
        items = reader.projected(Projection(cast("tuple[MessageColumn, ...]", columns), rows_of_values))
    for item in items:
        if isinstance(item, ProjectedRows):
            yield item.lines
            continue
        message = message_of(item)
        if message is not None and matches(item):
            row = RowValues(item, message, RecordRow(item))
            yield ([row[name] for name in names],)


def _calls(reader: CaptureReader, columns: Sequence[Column], filter_: str | None) -> _Values:
    found, matches = CallFinder(), _matches(filter_)
    for record in reader:
        wanted = isinstance(record.packet, RpcCall) and matches(record)
        for call in found.take(record, wanted=wanted):
            yield ([one.value(call) for one in columns],)
    for call in found.finish():
        yield ([one.value(call) for one in columns],)


def _findings(reader: CaptureReader, columns: Sequence[Column], filter_: str | None) -> _Values:
    judge, wanted = Judge(), _finding_filter(filter_)
    row = FindingView if columns is JSON_COLUMNS else FindingRow
    for item in chain(reader.batched(), (None,)):
        if item is None:
            found = judge.finish()
        elif isinstance(item, Record):
            if wanted is not None:
                wanted.see(item)
            found = judge.feed(item)
        else:
            if wanted is not None:
                wanted.take(item)
            found = judge.take(item)
        rows = [row(one) for one in found if wanted is None or one in wanted]
        yield [[one[column.name] for column in columns] for one in rows]


def _packets(reader: CaptureReader, columns: Sequence[Column], filter_: str | None) -> _Values:
    names, matches = [one.name for one in columns], _matches(filter_)
    for record in reader:
        if matches(record):
            row = item_row(record)
            yield ([row[name] for name in names],)


_VALUES: Mapping[Rows, Callable[[CaptureReader, Sequence[Column], str | None], _Values]] = {
    "messages": _messages,
    "calls": _calls,
    "findings": _findings,
    "packets": _packets,
}
