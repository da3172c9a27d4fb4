"""Rows that are not records: what is told of a capture, and what is odd or broken in its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

from msmq_wire.detection import Finding
from msmq_wire.records.joined_capture import JoinedCapture, located
from msmq_wire.sessions import MessageLife, Session
from msmq_wire.tables.spark_types import array_of
from msmq_wire.tables.table_schemas import SEEN, table_schemas

_TOGETHER = 4096
"""Rows made at a time."""


def anomaly_rows(rows: Any) -> Any:
    """The anomalies in rows of ``messages`` or ``calls``, one row each."""
    schema = table_schemas()["anomalies"]
    lists = rows.column("anomalies")
    found = pc.list_flatten(lists)
    seen = rows.select(SEEN).take(pc.list_parent_indices(lists))
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
        *(
            rows.column(name) if name in names else pa.nulls(len(rows), pa.int64())
            for name in ("missing", "frames_missing")
        ),
    ]
    return pa.RecordBatch.from_arrays([*rows.select(SEEN).columns, *members], schema=schema)


def session_rows(sessions: Iterable[Session], capture: str) -> Iterator[Any]:
    """The sessions of one capture."""
    return _rows("sessions", sessions, capture, _began)


def life_rows(lives: Iterable[MessageLife], capture: str) -> Iterator[Any]:
    """The messages of one capture and what became of them."""
    return _rows("lives", lives, capture, _began)


def finding_rows(findings: Iterable[Finding], capture: str) -> Iterator[Any]:
    """Findings about one capture; evidence is placed in the file that holds it, as in what is printed."""
    if isinstance(capture, JoinedCapture):
        findings = (replace(one, evidence=tuple(map(located, one.evidence))) for one in findings)
    return _rows("findings", findings, capture, _shown)


def _began(values: Sequence[Any]) -> dict[str, Any]:
    return {"time": [_time(one.first) for one in values]}


def _shown(findings: Sequence[Finding]) -> dict[str, Any]:
    first = [one.evidence[0] if one.evidence else None for one in findings]
    ends = {name: [one and getattr(one, name) for one in first] for name in ("src", "dst")}
    return {"time": list(map(_time, first)), "rule": [one.id for one in findings], **ends}


def _time(seen: Any) -> int | None:
    """Microseconds since 1970 of a moment or of evidence."""
    return None if seen is None or seen.time is None else seen.time // 1000


def _rows(
    table: str, values: Iterable[Any], capture: str, placed: Callable[[Sequence[Any]], dict[str, Any]]
) -> Iterator[Any]:
    """Rows of a table, some at a time: what ``placed`` says of values, and their other fields."""
    schema, left = table_schemas()[table], iter(values)
    while some := list(islice(left, _TOGETHER)):
        found = {"capture": [capture] * len(some), **placed(some)}
        arrays = [
            pa.array(found[one.name], one.type)
            if one.name in found
            else array_of(map(attrgetter(one.name), some), one.type)
            for one in schema
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
