"""The JSON Schemas of a finding and of an answer, but for what they share with packets and rows."""

from __future__ import annotations

from typing import Any, get_args

from msmq_wire.findings import SEVERITIES, Confidence
from msmq_wire.findings.diagnosis import QUESTIONS

__all__ = ["answer_object", "finding_object"]

Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}


def finding_object(place: Json) -> Json:
    """A row of ``findings --format jsonl``; ``place`` are the properties that say where a row was found."""
    evidence = _object(
        {
            "capture": {"description": "The file."} | _TEXT,
            "record": {
                "description": "Id of the row of decode --streams.",
                "type": ["integer", "null"],
                "minimum": 1,
            },
            **place,
            "path": {"description": "The field, empty for the item itself."} | _TEXT,
            "offset": {"description": "In bytes of the packet."} | _COUNT,
            "length": {"description": "Bytes of the field, or of the item without a path."} | _COUNT,
            "data": {"description": "The first of its bytes, at most 64.", "$ref": "#/$defs/base64"},
        }
    )
    return _object(
        {
            "id": {
                "description": "That of the rule.",
                "type": "string",
                "pattern": "^[A-Z]{2,3}(-[A-Z0-9]+)+$",
            },
            "title": {"description": "That of the rule."} | _TEXT,
            "severity": {"enum": list(SEVERITIES)},
            "confidence": {"enum": list(get_args(Confidence))},
            "message": {"description": "What was observed."} | _TEXT,
            "evidence": {"description": "Where."} | _list(evidence) | {"minItems": 1},
            "caveats": {"description": "What weakens it in this capture."} | _list(_TEXT),
            "cves": {"description": "Whose published condition it belongs to."}
            | _list(_TEXT | {"pattern": "^CVE-[0-9]{4}-[0-9]{4,}$"}),
            "spec": {"description": "The sections that the rule rests on."}
            | _list({"$ref": "#/$defs/section"}),
        }
    )


def answer_object() -> Json:
    """A row of ``diagnose --format jsonl``."""
    statement = _object(
        {
            "text": {"description": "What was observed."} | _TEXT,
            "frames": {"description": "Numbers of the frames that show it, at most 64."}
            | _list(_COUNT | {"minimum": 1}),
            "records": {"description": "Ids of the rows of decode --streams, at most 64."}
            | _list(_COUNT | {"minimum": 1}),
        }
    )
    return _object(
        {
            "number": {"type": "integer", "minimum": 1, "maximum": len(QUESTIONS)},
            "question": _TEXT,
            "posed": {"description": "Whether the capture raises the question.", "type": "boolean"},
            "attention": {"description": "How much of it calls for a look.", "enum": [*SEVERITIES, None]},
            "statements": _list(statement) | {"minItems": 1},
            "caveats": {"description": "What the capture does not hold."} | _list(_TEXT),
            "facts": {"description": "Numbers and texts by question; names may change.", "type": "object"},
        }
    )


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
