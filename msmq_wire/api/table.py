"""`table`: what is in captures as a table, for whatever reads Arrow: Polars, pandas, DuckDB, pyarrow.

The rule kept here: a table is what the command of its name writes with ``--to``: the same columns and rows.
It is read anew each time, and never held whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec

from msmq_wire.api.calls import call_values
from msmq_wire.api.capture_iterator import CaptureReport, Captures, stream_of
from msmq_wire.api.filters import Expressions, filter_of, filters_by_outcome
from msmq_wire.api.findings import FindingChoice, matching_findings
from msmq_wire.api.limits import READ_ONCE, READ_TWICE
from msmq_wire.api.outcomes import Outcomes
from msmq_wire.arguments import none_of, texts
from msmq_wire.capture.source import can_seek
from msmq_wire.detection import Severity
from msmq_wire.detection.columns import (
    FINDING_ALIASES,
    FINDING_COLUMNS,
    JSON_COLUMNS,
    FindingRow,
    FindingView,
)
from msmq_wire.errors import ArgumentError, CaptureError, MissingExtraError, MsmqWireError
from msmq_wire.html_values import rows_html
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.column import Column
from msmq_wire.records.column_choice import chosen_columns, column_names
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.item_rows import USUAL, item_columns, item_row
from msmq_wire.records.joined_capture import located
from msmq_wire.records.message import COLUMNS, message_of
from msmq_wire.records.message_rows import (
    MESSAGE_ROW_COLUMNS,
    message_projection,
    message_row,
    names_outcome,
)
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.records.projection import ProjectedRows, rows_of_values
from msmq_wire.records.recognition import Ports
from msmq_wire.representation import LONGEST, shortened
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # its types are in pandas-stubs

    from msmq_wire.api.arrow_protocols import ArrowReader, ArrowSchema
    from msmq_wire.records.filter.compiling import Filter

Rows: TypeAlias = Literal["messages", "calls", "findings", "packets"]
"""What a table has a row for."""

_Values: TypeAlias = Iterator[Sequence[Sequence[Any]]]
"""Rows, some at a time, each a value for each column."""


class _Choice(msgspec.Struct, frozen=True):
    """The columns of a table, and what its rows must match."""

    columns: tuple[Column, ...]
    matches: Filter | None = None
    findings: FindingChoice = FindingChoice()
    acknowledgments: bool = False
    by_outcome: bool = False

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.columns]


class CaptureTable:
    """The rows of captures, read anew by each that asks: ``pl.DataFrame(table)``, ``pa.table(table)``.

    DuckDB finds a variable by its name: ``duckdb.sql("select * from table")``. Needs numpy and pyarrow. What
    cannot be opened, or is no capture, raises CaptureError when it is read. After rows that lack something
    there is a CaptureWarning. ``errors`` and ``notices`` are those of the last reading, complete at its end.
    """

    def __init__(self, title: str, rows: Rows, choice: _Choice, read: Callable[[], CaptureReport]) -> None:
        self._title = title
        self._rows = rows
        self._choice = choice
        self._read = read
        self._last: CaptureReport | None = None

    @property
    def schema(self) -> ArrowSchema:
        """The pyarrow schema: the name, the type and the meaning of each column."""
        # Loads pyarrow.
        from msmq_wire.tables.declared_rows import rows_schema

        schema: ArrowSchema = rows_schema(self._choice.columns)
        return schema

    @property
    def errors(self) -> tuple[CaptureError, ...]:
        """Why files could not be read to their end, in the last reading."""
        return () if self._last is None else self._last.errors

    @property
    def notices(self) -> tuple[str, ...]:
        """What else to know of the last reading."""
        return () if self._last is None else self._last.notices

    def reader(self) -> ArrowReader:
        """A pyarrow.RecordBatchReader over the rows, which reads as it is asked.

        Raises MsmqWireError for the second reading of what can be read only once.
        """
        import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

        report = self._read()
        if self._last is not None and report.sequence.once:
            raise MsmqWireError(f"the rows were read already, and {READ_ONCE}")
        self._last = report
        batches = self._batches(report)
        # What is no capture is an error of this call, and not of the program that reads the stream.
        first = next(batches, None)
        reader: ArrowReader = pa.RecordBatchReader.from_batches(
            self.schema, batches if first is None else chain((first,), batches)
        )
        return reader

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of the Arrow C data interface."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema by the same interface."""
        return self.schema.__arrow_c_schema__()

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas.DataFrame. Raises MissingExtraError without pandas."""
        if find_spec("pandas") is None:
            raise MissingExtraError.of("to_pandas", "pandas", "pandas")
        return self.reader().read_pandas()

    def __repr__(self) -> str:
        shown = f"{shortened(self._title, 60)}: {', '.join(self._choice.names)}"
        return f"<{shortened(shown, LONGEST - 2)}>"

    def _repr_html_(self) -> str:
        shown = [
            (one.name, str(field.type), one.doc)
            for one, field in zip(self._choice.columns, self.schema, strict=True)
        ]
        return rows_html(self._title, ("column", "type", "meaning"), shown)

    def _batches(self, report: CaptureReport) -> Iterator[Any]:
        from msmq_wire.tables.declared_rows import row_batches

        yield from row_batches(self._choice.columns, _VALUES[self._rows](report, self._choice))
        report.warn()


def table(
    path: Captures,
    rows: Rows,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Expressions = None,
    all: bool = False,
    level: Severity = "info",
    rules: str | Sequence[str] | None = None,
    ports: Ports = (),
    negotiator: Negotiator | None = None,
    memory: int | None = None,
    recursive: bool = False,
) -> CaptureTable:
    """The messages, calls, findings or packets of captures as a `CaptureTable`.

    ``columns`` are names as ``--columns`` of the command takes them: ``"id,time,label"``, ``"+outcome"``,
    ``"all"``, or a list. ``level`` and ``rules`` are those of `findings`, ``all`` and the other arguments
    those of `messages`. Where messages have their ``outcome``, or ``filter`` asks for it, captures are read
    twice.

    A table is read anew by each that asks, so give it paths. A file object that can seek is read from where
    it is now. A pipe and ``"-"`` give their rows once, and no outcomes.

    Raises ArgumentError for a name that is no column, for a wrong filter, rule or level, for an argument of
    other rows, and for outcomes of what can be read only once, MissingExtraError without the extra ``arrow``.
    """
    if rows not in get_args(Rows):
        raise ArgumentError(none_of(rows, get_args(Rows)))
    if any(find_spec(name) is None for name in ("numpy", "pyarrow")):
        raise MissingExtraError.of("a table", "numpy and pyarrow", "msmq-wire[arrow]")
    _check_belongs(rows, "messages", all=all)
    _check_belongs(rows, "findings", level=level != "info", rules=rules is not None)
    stream = stream_of(path)
    start = stream.tell() if stream is not None and can_seek(stream) else None

    def read() -> CaptureReport:
        if stream is not None and start is not None:
            stream.seek(start)
        return CaptureReport(
            path,
            ports=ports,
            # Rules ask how connections begin and end.
            streams=rows == "findings",
            negotiator=negotiator,
            memory=memory,
            recursive=recursive,
        )

    # What is wrong is said at once, and not when the table is read.
    wanted = None if columns is None else ",".join(texts("columns", columns))
    report = read()
    choice = _chosen(rows, wanted, filter, once=report.sequence.once)
    if rows == "findings":
        choice = msgspec.structs.replace(choice, findings=FindingChoice.of(level, rules, filter))
    else:
        choice = msgspec.structs.replace(choice, acknowledgments=all)
    return CaptureTable(f"{rows} of {report.title}", rows, choice, read)


def _check_belongs(rows: Rows, to: Rows, **given: bool) -> None:
    """Raises ArgumentError for an argument that rows of another kind have."""
    for name, is_given in given.items():
        if is_given and rows != to:
            raise ArgumentError(f"{name} is an argument for {to}, not for {rows}")


class _Columns(msgspec.Struct, frozen=True):
    """The columns that a table may have, and those that it has where none are asked for."""

    declared: tuple[Column, ...]
    usual: tuple[str, ...]
    also: Mapping[str, str] = {}


def _chosen(rows: Rows, wanted: str | None, filter_: Expressions, *, once: bool) -> _Choice:
    """What was asked for. Raises ArgumentError."""
    messages = rows == "messages"
    if messages and once and (names_outcome(wanted) or filters_by_outcome(filter_)):
        raise ArgumentError(f"{OUTCOME.name} {READ_TWICE}")
    matches = None if rows == "findings" else filter_of(filter_, outcomes=messages)
    chosen = JSON_COLUMNS if rows == "findings" and wanted is None else _named(rows, wanted, once=once)
    by_outcome = messages and (OUTCOME in chosen or filters_by_outcome(filter_))
    return _Choice(chosen, matches, by_outcome=by_outcome)


def _named(rows: Rows, wanted: str | None, *, once: bool) -> tuple[Column, ...]:
    of = _columns(rows, once=once)
    known = column_names(of.declared, of.also)
    names = chosen_columns(wanted, of.usual, known, paths=False) or of.usual
    declared = {one.name: one for one in of.declared}
    return tuple(declared[name] for name in names)


def _columns(rows: Rows, *, once: bool) -> _Columns:
    if rows == "packets":
        return _Columns(tuple(item_columns()), USUAL)
    declared: Mapping[str, tuple[Column, ...]] = {
        "messages": COLUMNS if once else MESSAGE_ROW_COLUMNS,
        "calls": CALL_COLUMNS,
        "findings": FINDING_COLUMNS,
    }
    usual = tuple(one.name for one in declared[rows] if not one.asked)
    return _Columns(declared[rows], usual, FINDING_ALIASES if rows == "findings" else {})


def _messages(report: CaptureReport, choice: _Choice) -> _Values:
    outcomes = Outcomes(report.sequence) if choice.by_outcome else None
    outcome_of, of_all = (None, None) if outcomes is None else (outcomes.of_record, outcomes.of_all)
    if outcomes is not None:
        report.dropped = outcomes.left_out
    names, projection, acknowledgments = choice.names, None, choice.acknowledgments
    if choice.matches is None:
        projection = message_projection(names, rows_of_values, of_all, acknowledgments=acknowledgments)
    for item in report.sequence.projected(projection):
        if isinstance(item, ProjectedRows):
            yield item.lines
            continue
        record = located(item)
        message = message_of(record, acknowledgments=acknowledgments)
        if message is not None and (choice.matches is None or choice.matches(Subject(record, outcome_of))):
            row = message_row(record, message, None if outcome_of is None else outcome_of(record))
            yield ([row[name] for name in names],)


def _calls(report: CaptureReport, choice: _Choice) -> _Values:
    for call in call_values(report.sequence, choice.matches):
        yield ([one.value(call) for one in choice.columns],)


def _findings(report: CaptureReport, choice: _Choice) -> _Values:
    row = FindingView if choice.columns is JSON_COLUMNS else FindingRow
    names = choice.names
    for finding in map(row, matching_findings(report, choice.findings)):
        yield ([finding[name] for name in names],)


def _packets(report: CaptureReport, choice: _Choice) -> _Values:
    names = choice.names
    for record in map(located, report.sequence):
        if choice.matches is None or choice.matches(Subject(record)):
            row = item_row(record)
            yield ([row[name] for name in names],)


_VALUES: Mapping[Rows, Callable[[CaptureReport, _Choice], _Values]] = {
    "messages": _messages,
    "calls": _calls,
    "findings": _findings,
    "packets": _packets,
}
