"""JSON Schemas of what the commands print, from the declarations and the rules of the JSON view.

The rule kept here: fields come in wire order, so a field that is there says that those before it were reached
(`dependentRequired`); without an error all of a packet is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, get_args

import construct
import msgspec
from msgspec.structs import replace

from docs.generators.answer_schema import answer_object
from docs.generators.comparison_schema import comparison_object
from docs.generators.composed_schemas import GAP_REASONS, composed_definitions
from docs.generators.replay_schema import replay_object
from docs.generators.route_schema import route_object
from docs.generators.schema_parts import VERSIONED, column_schema, columns_object
from docs.generators.structures import documentation, structures_of
from msmq_wire.cli.health import Health
from msmq_wire.detection.columns import JSON_COLUMNS
from msmq_wire.engines.text.escaping import SCHEMA_VERSION
from msmq_wire.lab.recordings.recording import Recording
from msmq_wire.lab.recordings.scenario import Scenario
from msmq_wire.reassembly.packet_framer import HoleReason
from msmq_wire.reassembly.tcp_events import Kind
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.column import JOIN_KEYS, PLACE, RECORD_COLUMNS, Column
from msmq_wire.records.composed import COMPOSED, RECORD_TYPES
from msmq_wire.records.message import COLUMNS
from msmq_wire.routing.hop_view import HOP_COLUMNS
from msmq_wire.wire.fields import Bytes, Choice, Field, Items, Node, Opt, WireStruct, ZeroTerminated, fields
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["files"]

Json = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NULL: Json = {"type": "null"}
_STRING: Json = {"type": "string"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_COUNT: Json = {"type": "integer", "minimum": 0}

_COMMON: Json = {
    "guid_text": {
        "type": "string",
        "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    },
    "base64": {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    },
    "section": {"type": "string", "pattern": r"^\[(M[SC]-[A-Z]+|C706)\] [0-9]+(\.[0-9]+)*$"},
    "time": {
        "description": "RFC 3339, UTC, nanoseconds.",
        "type": "string",
        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$",
    },
    "endpoint": {
        "description": "Address and port, without the latter of a host; an IPv6 address stands in brackets.",
        "type": "string",
        "pattern": r"^([0-9.]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$",
    },
}


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _any(*schemas: Json) -> Json:
    return {"anyOf": list(schemas)}


def _object(properties: Json, *, optional: tuple[str, ...] = (), **more: Any) -> Json:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        **more,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _anomaly() -> Json:
    return _object(
        {
            "code": {"type": "string", "pattern": "^[a-z0-9_]+\\.[a-z0-9-]+$"},
            "message": _STRING,
            "path": _STRING,
            "offset": _COUNT,
            "length": _COUNT,
            "spec": _ref("section"),
        },
        description="A value that breaks a MUST; offset and length are bytes of the packet.",
    )


def _error() -> Json:
    return _object(
        {
            "code": {"type": "string", "pattern": "^[a-z]+([.-][a-z]+)*$"},
            "message": _TEXT_OR_NULL,
            "path": _STRING,
            "offset": _COUNT,
            "spec": _any(_ref("section"), _NULL),
        },
        description="Why decoding ended early; offset counts bytes of the packet, or of a damaged file.",
    )


def _integer(size: int) -> Json:
    return {"type": "integer", "minimum": 0, "maximum": (1 << 8 * size) - 1}


def _value(subcon: Any) -> Json:
    match subcon:
        case Opt():
            return _any(_value(subcon.subcon), _NULL)
        case Choice():
            cases = [_NULL if case is None else _value(case) for case in subcon.cases.values()]
            distinct = [case for index, case in enumerate(cases) if case not in cases[:index]]
            return distinct[0] if len(distinct) == 1 else _any(*distinct)
        case Items():
            return {"type": "array", "items": _value(subcon.subcon)}
        case Node():
            return _ref(subcon.cls.stem())
        case Bytes() | ZeroTerminated():
            kind = getattr(subcon, "kind", bytes)
            return _STRING if issubclass(kind, WcharText) else _bytes(kind)
        case construct.Construct() if isinstance(subcon, construct.FormatField | construct.BytesInteger):
            return _integer(subcon.sizeof())
    return _ref("base64")


def _bytes(kind: type[bytes]) -> Json:
    return _ref("guid_text") if issubclass(kind, GUID) else _ref("base64")


def _is_text(subcon: Any) -> bool:
    return issubclass(getattr(subcon, "kind", bytes), WcharText)


def _word(cls: type[WireStruct], field: Field) -> Json:
    assert cls.BITS is not None
    bits: Json = {"raw": _integer(field.subcon.sizeof())}
    for bit in cls.BITS.bits.values():
        number = {"type": "integer", "minimum": 0, "maximum": (1 << bit.width) - 1}
        bits[bit.name] = {"type": "boolean"} if bit.width == 1 else number
    return _object(bits)


def _queue(name: str) -> Json:
    properties: Json = {"type": _integer(1) | {"maximum": 7}, "format_name": _TEXT_OR_NULL}
    if name == "response_queue":
        queue = _object(properties | {"same_as": {"const": "admin_queue"}}, optional=("same_as",))
        return _any(queue, _NULL)
    return _any(_object(properties), _NULL)


def _special(field: Field) -> Json | None:
    """What the view shows otherwise than by its type."""
    match field.shown:
        case ShownQueue():
            return _queue(field.name)
        case ShownName():
            return _TEXT_OR_NULL
        case ShownText():
            kinds = ["string", "null"] if field.absent_if_empty else "string"
            return {"type": kinds, "description": f"{field.doc} Base64 of what is no text."}
    return _any(_ref("base64"), _NULL) if field.absent_if_empty else None


def _structure(cls: type[WireStruct]) -> Json:
    properties: Json = {}
    dependent: dict[str, list[str]] = {}
    before = ""
    for field in fields(cls):
        if field.position:
            continue
        if cls.BITS is not None and cls.BITS.field == field.name:
            shown = _word(cls, field)
        else:
            shown = _special(field) or _value(field.subcon)
        described = {"description": field.doc} if field.doc else {}
        properties[field.name] = described | shown
        if before:
            dependent[field.name] = [before]
        before = field.name
        text = isinstance(field.shown, ShownText) and field.shown.whole
        if _is_text(field.subcon) or text or isinstance(field.shown, ShownName | ShownQueue):
            properties[f"{field.name}_raw"] = {
                "description": "All bytes, where the text does not show them all."
            } | _ref("base64")
            dependent[f"{field.name}_raw"] = [field.name]
    for name, (_, inner) in getattr(cls, "INSIDE", {}).items():
        properties[name] = _any(_ref(inner.stem()), _NULL)
    return {
        "description": f"{documentation(cls)} {cls.SPEC}",
        "type": "object",
        "properties": properties,
        "dependentRequired": dependent,
        "additionalProperties": False,
    }


def _definition(cls: Any) -> Json:
    if issubclass(cls, WireStruct):
        return _structure(cls)
    shown = _STRING if issubclass(cls, WcharText) else _bytes(cls)
    return {"description": f"{documentation(cls)} {cls.SPEC}"} | shown


def _classes() -> dict[str, Any]:
    found = dict(STRUCTURES)
    for cls in STRUCTURES.values():
        for inner in structures_of(cls)[1:]:
            found.setdefault(inner.stem(), inner)
    return found


def _references(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        here = {schema["$ref"].removeprefix("#/$defs/")} if "$ref" in schema else set()
        return here.union(*map(_references, schema.values()))
    return set().union(*map(_references, schema)) if isinstance(schema, list) else set()


def _closed(schema: Json) -> Json:
    """The schema with every definition that it leads to."""
    available: Json = {**_COMMON, "anomaly": _anomaly(), "error": _error()}
    available |= {stem: _definition(cls) for stem, cls in _classes().items()}
    available |= composed_definitions()
    needed: set[str] = set()
    new = _references(schema)
    while new - needed:
        needed |= new
        new = set().union(*(_references(available[name]) for name in new))
    return schema | {"$defs": {name: available[name] for name in sorted(needed)}}


def _urn(name: str) -> str:
    return f"urn:msmq-wire:schema:{name}:{SCHEMA_VERSION}"


def _document(name: str, title: str, schema: Json) -> Json:
    return _closed({"$schema": _DRAFT, "$id": _urn(name), "title": title, **schema})


def _by_type(stems: list[str]) -> list[Json]:
    """What ``packet`` is under each ``type``, and that nothing is left out where there is no error."""
    rules: list[Json] = []
    for stem in stems:
        cls = STRUCTURES[stem]
        rules.append(
            {
                "if": {"properties": {"type": {"const": stem}}},
                "then": {"properties": {"packet": _any(_ref(stem), _NULL)}},
            }
        )
        if issubclass(cls, WireStruct):
            whole = {"type": "object", "required": list(cls.__struct_fields__)}
            rules.append(
                {
                    "if": {"properties": {"type": {"const": stem}, "error": _NULL}},
                    "then": {"properties": {"packet": whole}},
                }
            )
    return rules


def _result(anomalies: int) -> Json:
    return {
        "anomalies": {"type": "array", "items": _ref("anomaly"), "maxItems": anomalies},
        "consumed": {"description": "Bytes that packet shows."} | _COUNT,
        "remainder": {"description": "Bytes behind them."} | _ref("base64"),
        "error": _any(_ref("error"), _NULL),
    }


def _packet() -> Json:
    properties: Json = {
        **VERSIONED,
        "type": {"description": "Stem, null when it is no packet.", "enum": [*STRUCTURES, None]},
        "packet": {"description": "The value; null when nothing was decoded."},
        "packet_raw": {"description": "All bytes of a text that does not show them all."} | _ref("base64"),
    } | _result(100)
    whole = {**_object(properties, optional=("packet_raw",)), "allOf": _by_type(list(STRUCTURES))}
    return _document("packet", "What packet --format json prints", whole)


_LEFT_OUT = ("frames_missing", "reason", "event", "grade", "seen_at")
"""Columns that a row of JSON has only where they say something."""


def _record() -> Json:
    kinds = [*RECORD_TYPES]
    reasons = [reason for part in get_args(HoleReason) for reason in (get_args(part) or (part,))]
    reasons += [reason for reason in (*GAP_REASONS, "dropped") if reason not in reasons]
    columns = {one.name: one for one in RECORD_COLUMNS}
    choices = {
        "type": kinds,
        "event": [*get_args(Kind), "conflict", "icmp_unreachable", "packet_too_big", "proxied"],
    }
    for name in ("type", *_LEFT_OUT):
        known = choices.get(name, columns[name].choices)
        columns[name] = replace(columns[name], choices=tuple(known), optional=False)
    properties: Json = {
        **{name: column_schema(one) for name, one in columns.items() if name in (*PLACE, "type")},
        "packet": {"description": "The value; null when nothing was decoded."},
        # A call has two sides, each with as many as a packet.
        **_result(200),
        **{one.name: column_schema(one) for one in JOIN_KEYS},
        **{name: column_schema(columns[name]) for name in ("missing", *_LEFT_OUT)},
        "places": {
            "description": columns["places"].doc,
            "type": "array",
            "minItems": 1,
            "items": _object(
                {
                    "capture": {"description": "The file."} | _STRING,
                    "offset": {"description": "Bytes of it before."} | _COUNT,
                    "address": {"description": "Where it was in memory."}
                    | _any({"type": "string", "pattern": "^0x[0-9a-f]+$"}, _NULL),
                }
            ),
        },
    }
    gap = {"required": ["missing", "reason"], "properties": {"packet": _NULL, "reason": {"enum": reasons}}}
    rules = [
        {"if": {"properties": {"type": {"const": "gap"}}}, "then": gap},
        {
            "if": {"properties": {"type": {"const": "tcp_stream"}}},
            "then": {"required": ["event"], "properties": {"packet": _NULL}},
        },
        {
            "if": {"properties": {"type": {"const": "error"}}},
            "then": {"properties": {"error": _ref("error")}},
        },
        *(
            {"if": {"properties": {"type": {"const": stem}}}, "then": {"properties": {"packet": _ref(stem)}}}
            for stem in COMPOSED
        ),
    ]
    rules.append({"if": {"required": ["grade"]}, "then": {"required": ["places"]}})
    row = _object(properties, optional=("missing", *_LEFT_OUT, "places"))
    return _document(
        "record", "A row of decode --format jsonl", {**row, "allOf": [*rules, *_by_type(list(PACKETS))]}
    )


def _row(name: str, command: str, columns: Iterable[Column]) -> Json:
    shown = (one for one in columns if not one.asked)
    return _document(name, f"A row of {command} --format jsonl", columns_object(shown))


def _declared(name: str, title: str, kind: type[msgspec.Struct]) -> Json:
    """The schema of a file that is read and written as it is declared."""
    made = msgspec.json.schema(kind)
    for one in made["$defs"].values():
        one["description"] = " ".join(one["description"].split())
    return {"$schema": _DRAFT, "$id": _urn(name), "title": title, **made}


def files() -> dict[str, str]:
    """The schema files by name."""
    schemas = {
        "recording": _declared("recording", "A recording: recording.json", Recording),
        "scenario": _declared("scenario", "A scenario: scenario.json", Scenario),
        "health": _declared("health", "What doctor --format json prints", Health),
        "packet": _packet(),
        "record": _record(),
        "message": _row("message", "messages", COLUMNS),
        "call": _row("call", "calls", CALL_COLUMNS),
        "finding": _row("finding", "findings", JSON_COLUMNS),
        "answer": _document("answer", "A row of diagnose --format jsonl", answer_object()),
        "hop": _row("hop", "route-audit", HOP_COLUMNS),
        "comparison": _document(
            "comparison", "A row of compare-recording --format jsonl", comparison_object()
        ),
        "replay": _document("replay", "A row of replay --format jsonl", replay_object()),
        "route": _document("route", "What route --format json prints", route_object()),
    }
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }
