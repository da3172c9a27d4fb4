"""The JSON Schema of a predicted route, but for what it shares with packets and rows."""

from __future__ import annotations

from typing import get_args

from docs.generators.schema_parts import COUNT, TEXT, VERSIONED, Json, list_of, object_of
from msmq_wire.routing.algorithm import HopRule
from msmq_wire.routing.prediction import PathEnd

__all__ = ["route_object"]


_YES_NO: Json = {"type": "boolean"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_GUID_OR_NULL: Json = {"anyOf": [{"$ref": "#/$defs/guid_text"}, {"type": "null"}]}


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
