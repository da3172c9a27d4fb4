"""What JSON Schemas are put together from: every property of an object is there, and no other."""

from __future__ import annotations

from typing import Any

from msmq_wire.engines.text.escaping import SCHEMA_VERSION

__all__ = ["COUNT", "TEXT", "VERSIONED", "Json", "list_of", "object_of"]

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 0}
VERSIONED: Json = {"schema_version": {"description": "That of this schema.", "const": SCHEMA_VERSION}}
"""What every document of one object begins with."""


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
