"""The JSON Schemas of a hop and of a predicted route, but for what they share with packets and rows."""

from __future__ import annotations

from typing import get_args

from docs.generators.schema_parts import COUNT, TEXT, VERSIONED, Json, list_of, object_of
from msmq_wire.routing.algorithm import HopRule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.routing.prediction import PathEnd

__all__ = ["hop_object", "route_object"]


_YES_NO: Json = {"type": "boolean"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_GUID: Json = {"$ref": "#/$defs/guid_text"}
_GUID_OR_NULL: Json = {"anyOf": [_GUID, {"type": "null"}]}
_GUID_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def hop_object(place: Json) -> Json:
    """A row of ``route-audit --format jsonl``; ``place`` are the properties that say where it was found."""
    kinds = "|".join(DeviationKind)
    deviation = object_of(
        {
            "kind": {"enum": list(DeviationKind)},
            "message": {"description": "A sentence, empty where hosts are redacted."} | TEXT,
            "spec": {"$ref": "#/$defs/section"},
        }
    )
    return object_of(
        {
            "record": {"description": "Id of the item, as decode has it.", "type": "integer", "minimum": 1},
            "capture": {"description": "The file, or that of the table."} | TEXT,
            **place,
            "stream": {"description": "Connection.", "type": ["integer", "null"], "minimum": 0},
            "message_id": {
                "description": "Queue manager that made the message, and number.",
                "type": "string",
                "pattern": rf"^{_GUID_PATTERN}\\[0-9]+$",
            },
            **_named("source", "Queue manager that passed it on."),
            **_named("target", "Queue manager that got it."),
            **_named("destination", "Queue manager that it is for; null for a direct format name."),
            "hops": {
                "description": "Routing servers that it has passed: RC.",
                "type": "integer",
                "minimum": 0,
                "maximum": 31,
            },
            "verdict": {
                "description": "The kinds of its deviations with commas between them, if it has any.",
                "type": "string",
                "pattern": f"^(on_path|not_judged|({kinds})(, ({kinds}))*)$",
            },
            "deviations": {"description": "In what it differs from every possible way."} | list_of(deviation),
            "expected": {"description": "Queue managers to which the source may pass it."} | list_of(_GUID),
            "reason": {"description": "Why it could not be judged."} | _TEXT_OR_NULL,
        }
    )


def route_object() -> Json:
    """What ``route --format json`` prints."""
    manager = {
        "identifier": {"description": "null for a host outside of the topology."} | _GUID_OR_NULL,
        "computer_name": TEXT,
    }
    end = object_of({**manager, "sites": {"description": "Their names."} | list_of(TEXT)})
    hop = object_of(
        {
            "source": _GUID_OR_NULL,
            "target": _GUID_OR_NULL,
            "source_name": TEXT,
            "target_name": TEXT,
            "rule": {"enum": list(HopRule)},
            "spec": {"$ref": "#/$defs/section"},
            "cost": {"description": "That of the routing link, 0 inside a site."} | COUNT,
            "next_site": {"description": "Name of the site to which it leads."} | _TEXT_OR_NULL,
            "chosen": {"description": "Whether it is the first choice."} | _YES_NO,
            "connected": {"description": "false without a connected network in common."} | _YES_NO,
        }
    )
    path = object_of(
        {
            "chosen": {"description": "Whether every hop is the first choice."} | _YES_NO,
            "cost": COUNT,
            "end": {"enum": list(get_args(PathEnd))},
            "reason": {"description": "Why it ends where it does, empty if it arrives."} | TEXT,
            "hops": list_of(hop),
        }
    )
    return object_of(
        {
            **VERSIONED,
            "source": end,
            "destination": end,
            "arrives": {"description": "Whether any way leads to the destination."} | _YES_NO,
            "complete": {"description": "Whether every path is told."} | _YES_NO,
            "paths": list_of(path),
            "failures": {"description": "Queue managers that have no next hop."}
            | list_of(object_of({**manager, "reason": TEXT})),
        }
    )


def _named(key: str, description: str) -> Json:
    return {
        key: {"description": description} | _GUID_OR_NULL,
        f"{key}_name": {"description": "Its name in the topology."} | _TEXT_OR_NULL,
    }
