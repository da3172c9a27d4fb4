"""The JSON Schema of a row of replay, but for what it shares with packets and rows."""

from __future__ import annotations

from docs.generators.schema_parts import TEXT, Json, object_of
from msmq_wire.findings import SEVERITIES
from msmq_wire.findings.conduct import CONDUCT
from msmq_wire.replay.deviation import ReplayKind

__all__ = ["replay_object"]

_ID = "^[A-Z]{3}(-[A-Z]+)+$"
_KINDS = [*ReplayKind, *map(str.lower, CONDUCT)]


def replay_object(place: Json) -> Json:
    """A row of ``replay --format jsonl``; ``place`` are the properties that say where it was found."""
    return object_of(
        {
            "id": {"description": "Of the rule in findings.", "type": "string", "pattern": _ID},
            "severity": {"enum": list(SEVERITIES)},
            "kind": {"description": "In what it contradicts the rules.", "enum": _KINDS},
            "certain": {
                "description": "false where something that was not captured may explain it.",
                "type": "boolean",
            },
            "server": {"description": "Its address, without a port."} | TEXT,
            "interface": {"description": "Of the call; for a session what it is of."} | TEXT,
            "method": {"description": "Of the call; for a session what was answered."} | TEXT,
            "queue": {"description": "Format name.", "type": ["string", "null"]},
            "message": {"description": "What is wrong."} | TEXT,
            "expected": {
                "description": "What was due, empty where hosts are redacted or the message says it."
            }
            | TEXT,
            "came": {"description": "What was answered, empty as well."} | TEXT,
            "rule": {
                "description": "Number of the processing rule, or the section alone.",
                "type": "string",
                "pattern": "^M[A-Z]+-[0-9]+(\\.[0-9]+)*(-[0-9]+)?$",
            },
            "spec": {"description": "Its section.", "$ref": "#/$defs/section"},
            "capture": {"description": "The file."} | TEXT,
            "record": {"description": "Id of the item, as decode has it.", "type": "integer", "minimum": 1},
            **place,
            "src": {"description": "The client, or empty."} | TEXT,
            "dst": {"description": "The server, or empty."} | TEXT,
            "path": {"description": "The member that contradicts, by its path below packet."} | TEXT,
        }
    )
