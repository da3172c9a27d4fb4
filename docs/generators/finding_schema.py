"""The JSON Schema of a finding, but for the definitions that it shares with those of packets and rows."""

from __future__ import annotations

from typing import Any, get_args

from msmq_wire.findings import SEVERITIES, Confidence

__all__ = ["finding_object"]

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


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
