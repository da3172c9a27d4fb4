"""Rows that are not records: what is told of a capture, and what is odd or broken in its records."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

from msmq_wire.detection import Finding
from msmq_wire.detection.columns import EVIDENCE_COLUMNS, sections_of
from msmq_wire.records.join_keys import JoinKeys
from msmq_wire.records.joined_capture import JoinedCapture, located
from msmq_wire.tables.spark_types import array_of
from msmq_wire.tables.table_schemas import SEEN, table_schemas

_OF_ERRORS = (*SEEN, "error", "reason", "offset", "missing", "frames_missing")


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
    broken = pc.or_(pc.is_valid(rows.column("error")), pc.equal(rows.column("type"), "gap"))
    # A filter copies every column that there is.
    rows = rows.select([name for name in _OF_ERRORS if name in rows.schema.names]).filter(broken)
    code, message, path, offset = (
        pc.struct_field(rows.column("error"), name) for name in ("code", "message", "path", "offset")
    )
    # Calls have none of these.
    if "reason" in rows.schema.names:
        code = pc.coalesce(code, rows.column("reason"))
    missing = [
        rows.column(name) if name in rows.schema.names else pa.nulls(len(rows), pa.int64())
        for name in ("missing", "frames_missing")
    ]
    offset = pc.coalesce(offset, rows.column("offset"))
    members = [code, message, path, offset, *missing]
    return pa.RecordBatch.from_arrays([*rows.select(SEEN).columns, *members], schema=schema)


def story_rows(table: str, told: Sequence[tuple[str, Any]]) -> Any:
    """Rows of sessions, lives or findings: values, each with its capture."""
    schema, values = table_schemas()[table], [_placed(*one) for one in told]
    placed = _shown(values) if table == "findings" else _began(values)
    found = {"capture": [capture for capture, _ in told], **placed}
    arrays = [
        pa.array(found[one.name], one.type)
        if one.name in found
        else array_of(map(attrgetter(one.name), values), one.type)
        for one in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _placed(capture: str, value: Any) -> Any:
    """What is told of a capture; evidence is placed in the file that holds it, as in what is printed."""
    if isinstance(capture, JoinedCapture) and isinstance(value, Finding):
        return replace(value, evidence=tuple(map(located, value.evidence)))
    return value


def _began(values: Sequence[Any]) -> dict[str, Any]:
    return {"time": [_time(one.first) for one in values]}


def _shown(findings: Sequence[Finding]) -> dict[str, Any]:
    first = [one.evidence[0] if one.evidence else None for one in findings]
    ends = {name: [one and getattr(one, name) for one in first] for name in ("src", "dst")}
    ends |= {
        one.name: [None if place is None else one.value(place) for place in first]
        for one in EVIDENCE_COLUMNS
        if one.name in JoinKeys._fields
    }
    said = {"rule": [one.id for one in findings], "spec": list(map(sections_of, findings))}
    return {"time": list(map(_time, first)), **said, **ends}


def _time(seen: Any) -> int | None:
    """Microseconds since 1970 of a moment or of evidence."""
    return None if seen is None or seen.time is None else seen.time // 1000
