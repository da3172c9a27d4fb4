"""Rows that are not records: what is told of a capture, and what is odd or broken in its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.findings import Finding
from msmq_wire.sessions import MessageLife, Moment, Session
from msmq_wire.spark.arrow_types import array_of
from msmq_wire.spark.capture_reading import Damage
from msmq_wire.spark.table_schemas import table_schemas

__all__ = ["anomaly_rows", "damage_rows", "error_rows", "finding_rows", "life_rows", "session_rows"]

_TOGETHER = 4096
"""Rows made at a time."""
_SEEN = ("capture", "path", "frame_no", "id", "type", "time", "time_ns", "src", "dst", "stream")


def anomaly_rows(rows: Any) -> Any:
    """The anomalies in rows of ``messages`` or ``calls``, one row each."""
    schema = table_schemas()["anomalies"]
    lists = rows.column("anomalies")
    found = pc.list_flatten(lists)
    seen = rows.select(_SEEN).take(pc.list_parent_indices(lists))
    members = [found.field(name) for name in ("code", "message", "path", "offset", "length", "spec")]
    return pa.RecordBatch.from_arrays([*seen.columns, *members], schema=schema)


def error_rows(rows: Any) -> Any:
    """What could not be decoded in rows of ``messages`` or ``calls``: cut packets, gaps, damaged files."""
    schema = table_schemas()["errors"]
    names = set(rows.schema.names)
    error = rows.column("error")
    broken = pc.is_valid(error)
    if "missing" in names:
        broken = pc.or_(broken, pc.is_in(rows.column("type"), pa.array(["gap", "error"])))
    rows = rows.filter(broken)
    error = rows.column("error")
    has_error = pc.is_valid(error)
    nothing = pa.nulls(len(rows), pa.string())
    reason = rows.column("reason") if "reason" in names else nothing
    is_gap = pc.equal(rows.column("type"), "gap")
    members = [
        pc.if_else(is_gap, reason, pc.struct_field(error, "code")),
        pc.if_else(has_error, pc.struct_field(error, "message"), pc.if_else(is_gap, nothing, reason)),
        pc.struct_field(error, "path"),
        pc.if_else(has_error, pc.struct_field(error, "offset"), rows.column("offset")),
        rows.column("missing") if "missing" in names else pa.nulls(len(rows), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays([*rows.select(_SEEN).columns, *members], schema=schema)


def damage_rows(capture: str, damage: Iterable[Damage]) -> Any:
    """Files that ended early, or could not be read, as rows of ``errors``."""
    rows = [
        {"capture": capture, "path": one.path, "type": "error", "message": one.reason, "offset": one.offset}
        for one in damage
    ]
    return pa.RecordBatch.from_pylist(rows, schema=table_schemas()["errors"])


def session_rows(sessions: Iterable[Session], capture: str) -> Iterator[Any]:
    """The sessions of one capture."""
    yield from _told("sessions", sessions, capture)


def life_rows(lives: Iterable[MessageLife], capture: str) -> Iterator[Any]:
    """The messages of one capture and what became of them."""
    yield from _told("lives", lives, capture)


def finding_rows(findings: Iterable[Finding], capture: str) -> Iterator[Any]:
    """Findings about one capture."""
    schema = table_schemas()["findings"]
    for some in _some(findings):
        first = [one.evidence[0] if one.evidence else None for one in some]
        columns: dict[str, Any] = {
            "capture": [capture] * len(some),
            "time": _times([None if one is None else one.time for one in first]),
            "rule": [one.id for one in some],
            "src": [None if one is None else one.src for one in first],
            "dst": [None if one is None else one.dst for one in first],
            "evidence": array_of((one.evidence for one in some), schema.field("evidence").type),
            "caveats": [list(one.caveats) for one in some],
            "cves": [list(one.cves) for one in some],
        }
        same = ("severity", "confidence", "title", "message", "spec", "event", "group", "explained_by")
        for name in same:
            columns[name] = [getattr(one, name) for one in some]
        yield _batch(columns, schema)


def _told(table: str, values: Iterable[Any], capture: str) -> Iterator[Any]:
    schema = table_schemas()[table]
    kind = pa.struct(list(schema)[2:])
    for some in _some(values):
        columns: dict[str, Any] = {"capture": [capture] * len(some)}
        columns["time"] = _times([_first(one.first) for one in some])
        members = array_of(some, kind)
        columns |= {one.name: members.field(index) for index, one in enumerate(kind)}
        yield _batch(columns, schema)


def _first(moment: Moment | None) -> int | None:
    return None if moment is None else moment.time


def _times(nanoseconds: list[int | None]) -> list[int | None]:
    return [None if time is None else time // 1000 for time in nanoseconds]


def _batch(columns: dict[str, Any], schema: Any) -> Any:
    arrays = [
        columns[one.name]
        if isinstance(columns[one.name], pa.Array)
        else pa.array(columns[one.name], one.type)
        for one in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _some(values: Iterable[Any]) -> Iterator[list[Any]]:
    some: list[Any] = []
    for value in values:
        some.append(value)
        if len(some) == _TOGETHER:
            yield some
            some = []
    if some:
        yield some
