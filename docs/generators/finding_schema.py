"""The JSON Schemas of a finding and of an answer, but for what they share with packets and rows."""

from __future__ import annotations

from typing import get_args

from docs.generators.schema_parts import COUNT, TEXT, Json, list_of, object_of
from msmq_wire.findings import SEVERITIES, Confidence
from msmq_wire.findings.diagnosis import QUESTIONS
from msmq_wire.findings.diagnosis.claims import Fact

__all__ = ["answer_object", "finding_object"]


def finding_object(place: Json) -> Json:
    """A row of ``findings --format jsonl``; ``place`` are the properties that say where a row was found."""
    evidence = object_of(
        {
            "capture": {"description": "The file."} | TEXT,
            "record": {
                "description": "Id of the row of decode --streams.",
                "type": ["integer", "null"],
                "minimum": 1,
            },
            **place,
            "path": {"description": "The field, empty for the item itself."} | TEXT,
            "offset": {"description": "In bytes of the packet."} | COUNT,
            "length": {"description": "Bytes of the field, or of the item without a path."} | COUNT,
            "data": {"description": "The first of its bytes, at most 64.", "$ref": "#/$defs/base64"},
        }
    )
    return object_of(
        {
            "id": {
                "description": "That of the rule.",
                "type": "string",
                "pattern": "^[A-Z]{2,3}(-[A-Z0-9]+)+$",
            },
            "title": {"description": "That of the rule."} | TEXT,
            "severity": {"enum": list(SEVERITIES)},
            "confidence": {"enum": list(get_args(Confidence))},
            "message": {"description": "What was observed."} | TEXT,
            "evidence": {"description": "Where."} | list_of(evidence) | {"minItems": 1},
            "caveats": {"description": "What weakens it in this capture."} | list_of(TEXT),
            "cves": {"description": "Whose published condition it belongs to."}
            | list_of(TEXT | {"pattern": "^CVE-[0-9]{4}-[0-9]{4,}$"}),
            "spec": {"description": "The sections that the rule rests on."}
            | list_of({"$ref": "#/$defs/section"}),
            "event": {
                "description": "The Windows event that goes with it: provider and id.",
                "type": ["string", "null"],
            },
            "group": {"description": "The cause: what has the same text here is one finding for people."}
            | TEXT,
            "explained_by": {
                "description": "Id of the rule that tells the cause, where another rule does.",
                "type": ["string", "null"],
            },
        }
    )


def answer_object() -> Json:
    """A row of ``diagnose --format jsonl``."""
    statement = object_of(
        {
            "text": {"description": "What was observed."} | TEXT,
            "frames": {"description": "Numbers of the frames that show it, at most 64."}
            | list_of(COUNT | {"minimum": 1}),
            "records": {"description": "Ids of the rows of decode --streams, at most 64."}
            | list_of(COUNT | {"minimum": 1}),
        }
    )
    return object_of(
        {
            "number": {"type": "integer", "minimum": 1, "maximum": len(QUESTIONS)},
            "question": TEXT,
            "posed": {"description": "Whether the capture raises the question.", "type": "boolean"},
            "attention": {"description": "How much of it calls for a look.", "enum": [*SEVERITIES, None]},
            "statements": list_of(statement) | {"minItems": 1},
            "caveats": {"description": "What the capture does not hold."} | list_of(TEXT),
            "facts": {"description": "Numbers and texts by question; names may change.", "type": "object"},
            "claims": {"description": "What is said of single messages and sessions, at most 1,024."}
            | list_of(
                object_of(
                    {
                        "subject": {"description": "A message_id, or session and its number."} | TEXT,
                        "fact": {"enum": list(get_args(Fact))},
                    }
                )
            ),
        }
    )
