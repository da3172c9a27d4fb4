"""What JSON Schemas are put together from: every property of an object is there, and no other."""

from __future__ import annotations

from typing import Any

__all__ = ["COUNT", "TEXT", "Json", "list_of", "object_of"]

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 0}


def list_of(items: Json) -> Json:
    """An array."""
    return {"type": "array", "items": items}


def object_of(properties: Json) -> Json:
    """An object with these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
