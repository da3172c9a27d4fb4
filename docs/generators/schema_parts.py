"""What JSON Schemas are put together from: every property of an object is there, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msmq_wire.engines.text.escaping import SCHEMA_VERSION
from msmq_wire.records.column import Column
from msmq_wire.records.display import Kind

__all__ = ["COUNT", "TEXT", "VERSIONED", "Json", "column_schema", "columns_object", "list_of", "object_of"]

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


_TYPES: Mapping[Kind, str] = {"number": "integer", "duration": "integer", "flag": "boolean"}
_FORMATS: Mapping[Kind, Json] = {
    "time": {"$ref": "#/$defs/time"},
    "endpoint": {"$ref": "#/$defs/endpoint"},
    "guid": {"$ref": "#/$defs/guid_text"},
    "section": {"$ref": "#/$defs/section"},
    "bytes": {"$ref": "#/$defs/base64"},
}
_ITEMS: Mapping[Kind, Json] = {
    "numbers": {"type": "integer", "minimum": 1},
    "texts": TEXT,
    "guids": _FORMATS["guid"],
    "sections": _FORMATS["section"],
}


def columns_object(columns: Iterable[Column]) -> Json:
    """A row of declared columns."""
    return object_of({one.name: column_schema(one) for one in columns})


def column_schema(column: Column) -> Json:
    """The values of a declared column."""
    null = ["null"] if column.optional else []
    pattern = {"pattern": column.pattern} if column.pattern else {}
    schema: Json
    if column.choices:
        schema = {"enum": [*column.choices, *([None] if null else [])]}
    elif column.kind in _FORMATS:
        schema = _FORMATS[column.kind]
        schema = {"anyOf": [schema, {"type": "null"}]} if null else schema
    elif column.columns:
        schema = list_of(columns_object(column.columns))
        schema |= {"minItems": column.least} if column.least else {}
    elif column.kind in _ITEMS:
        schema = list_of(_ITEMS[column.kind] | pattern)
        pattern = {}
    else:
        kind = _TYPES.get(column.kind, "string")
        schema = {"type": [kind, *null] if null else kind}
    if column.kind in ("number", "duration"):
        schema |= {"minimum": column.least} | ({} if column.most is None else {"maximum": column.most})
    return {"description": column.doc} | schema | pattern
