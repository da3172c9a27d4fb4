"""The JSON Schema of an answer, but for what it shares with packets and rows."""

from __future__ import annotations

from typing import get_args

from docs.generators.schema_parts import COUNT, TEXT, Json, list_of, object_of
from msmq_wire.detection import SEVERITIES, Confidence, Layer
from msmq_wire.detection.diagnosis import QUESTIONS
from msmq_wire.detection.diagnosis.claims import Fact
from msmq_wire.detection.diagnosis.digest import MOST_LINES

__all__ = ["answer_object"]


_SHOWN: Json = {
    "frames": {"description": "Numbers of the frames that show it, at most 64."}
    | list_of(COUNT | {"minimum": 1}),
    "records": {"description": "Ids of the items, as decode has them, at most 64."}
    | list_of(COUNT | {"minimum": 1}),
}


def _digest_object() -> Json:
    """What row 0 has beside what every answer has."""
    line = object_of(
        {
            "severity": {"description": "info for what the capture lacks."} | {"enum": list(SEVERITIES)},
            "confidence": {"enum": list(get_args(Confidence))},
            "layer": {"description": "Where the cause is."} | {"enum": list(get_args(Layer))},
            "text": {"description": "What is wrong."} | TEXT,
            "who": {"description": "The hosts that it is about, the one that caused it first."}
            | list_of(TEXT),
            **_SHOWN,
            "where": {"description": "The frames in words, with their file where several are read."} | TEXT,
            "action": {"description": "What to do."} | TEXT,
            "rule": {"description": "The rule whose findings tell of it.", "type": ["string", "null"]},
            "question": {"description": "The answer that says more of it.", "type": ["integer", "null"]},
            "command": {"description": "The command that shows more, without its files."} | TEXT,
            "count": {"description": "How many findings, messages or connections it explains."}
            | COUNT
            | {"minimum": 1},
        }
    )
    return {"description": "What is wrong, the cause first; of row 0 only."} | object_of(
        {
            "lines": list_of(line) | {"maxItems": MOST_LINES},
            "more": {"description": "Causes that are not among the lines."} | COUNT,
            "looked_at": {"description": "What was looked at, and what could not be seen."} | TEXT,
        }
    )


def answer_object() -> Json:
    """A row of ``diagnose --format jsonl``."""
    statement = object_of({"text": {"description": "What was observed."} | TEXT, **_SHOWN})
    row = object_of(
        {
            "number": {
                "description": "That of the question; 0 is the digest, which comes first.",
                "type": "integer",
                "minimum": 0,
                "maximum": len(QUESTIONS),
            },
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
    row["properties"]["digest"] = _digest_object()
    return row
