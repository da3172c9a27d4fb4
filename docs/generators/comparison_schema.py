"""The JSON Schema of a row of compare-recording, but for what it shares with packets and rows."""

from __future__ import annotations

from typing import get_args

from docs.generators.schema_parts import COUNT, TEXT, Json, column_schema, list_of, object_of
from msmq_wire.detection.columns import EVIDENCE_COLUMNS
from msmq_wire.lab.recordings.compare_readings import FIELDS
from msmq_wire.lab.recordings.compare_values import Subject

__all__ = ["comparison_object"]

_VALUE: Json = {"type": ["string", "integer", "boolean", "null"]}
_PLACE: Json = {one.name: column_schema(one) for one in EVIDENCE_COLUMNS}
_STEP: Json = {"description": "Its name; empty where it is about none."} | TEXT
_SUBJECT: Json = {"description": "What is compared.", "enum": list(get_args(Subject))}
_FIELDS = "; ".join(f"{name}: {field.doc}" for name, field in FIELDS.items())


def comparison_object() -> Json:
    """A row of ``compare-recording --format jsonl``: one of three kinds."""
    difference = object_of(
        {
            "kind": {"const": "difference"},
            "step": _STEP,
            "subject": _SUBJECT,
            "field": {"description": f"{_FIELDS}.", "enum": list(FIELDS)},
            "recorded": {"description": "null where nothing was recorded."} | _VALUE,
            "captured": {"description": "null where nothing was captured."} | _VALUE,
            **{name: _PLACE[name] for name in ("record", "frames", "time", "path")},
            "offset": {
                "description": "Of the field, in bytes of the packet; null where that is not known.",
                "type": ["integer", "null"],
                "minimum": 0,
            },
            "message": {"description": "What there is to say beside the values."} | TEXT,
            "readings": {"description": "Ids of docs/deviations.md that it touches."}
            | list_of({"type": "string", "pattern": "^[CRK][0-9]+$"}),
        }
    )
    agreement = object_of(
        {
            "kind": {"const": "agreement"},
            "step": _STEP,
            "subject": _SUBJECT,
            "count": {"description": "Values that agree."} | COUNT,
        }
    )
    not_compared = object_of(
        {
            "kind": {"const": "not_compared"},
            "step": _STEP,
            "subject": _SUBJECT,
            "reason": {"description": "Why."} | TEXT,
            "detail": {"description": "What the recording says of it, or empty."} | TEXT,
            "count": {"description": "How often."} | COUNT,
            "frames": _PLACE["frames"],
        }
    )
    return {"oneOf": [difference, agreement, not_compared]}
