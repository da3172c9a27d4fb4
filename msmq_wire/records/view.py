"""The JSON view: how a structure looks in JSON, tables and columns.

The rule kept here: one renderer. It reads values and changes none; what a text cannot show goes beside it
as base64.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Any

import msgspec

from msmq_wire.engines.codec import InspectResult
from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.engines.text.escaping import SCHEMA_VERSION
from msmq_wire.engines.text.json_fields import queue_raw, queue_view, wire_bytes
from msmq_wire.errors import DecodeError
from msmq_wire.records.join_keys import keys_of
from msmq_wire.records.record import Record
from msmq_wire.records.seen_at import seen_at
from msmq_wire.rpc.ndr import NdrStruct, NullPointee, String, Union, members
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.srmp.xml.element_tree import Element
from msmq_wire.srmp.xml.fields import IsoDate, XmlStruct, xml_fields
from msmq_wire.units import MICROSECOND, SECOND
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

Json = dict[str, Any]


def view(value: Any) -> Any:
    """A structure, or a scalar, as JSON types: dict, list, str, int, bool, None.

    Fields that were not reached (UNSET) are left out.
    """
    cls = value.__class__
    return value if cls in _AS_THEY_ARE else _view_of(cls)(value)


def anomaly_view(anomaly: Anomaly) -> Json:
    """An anomaly as JSON."""
    return {
        "code": anomaly.code,
        "message": anomaly.message,
        "path": anomaly.path,
        "offset": anomaly.offset,
        "length": anomaly.length,
        "spec": str(anomaly.spec),
    }


def error_view(error: DecodeError | None) -> Json | None:
    """An error as JSON, null without one."""
    if error is None:
        return None
    return {
        "code": error.code,
        "message": error.message,
        "path": error.path,
        "offset": error.offset,
        "spec": None if error.spec is None else str(error.spec),
    }


def record_error_view(record: Record) -> Json | None:
    """The error of a record as JSON: of its packet, or of its file; null without one."""
    if record.type != "error" or record.error is not None:
        return error_view(record.error)
    return {
        "code": "capture",
        "message": record.reason,
        "path": "",
        "offset": record.offset,
        "spec": None,
    }


def inspect_view(result: InspectResult) -> Json:
    """The result of `inspect` as JSON: what ``packet --format json`` prints."""
    packet = result.packet
    lossy = isinstance(packet, WcharText) and not (packet and packet.exact)
    return {
        "schema_version": SCHEMA_VERSION,
        "type": result.type,
        "packet": view(packet),
        **({"packet_raw": _base64(packet)} if lossy else {}),
        "anomalies": [anomaly_view(anomaly) for anomaly in result.anomalies],
        "consumed": result.consumed,
        "remainder": _base64(result.remainder),
        "error": error_view(result.error),
    }


def time_text(nanoseconds: int | None) -> str | None:
    """A time as RFC 3339 in UTC with nanoseconds."""
    if nanoseconds is None:
        return None
    second, rest = divmod(nanoseconds, SECOND)
    start = _seconds[second]
    return f"{start}.{rest:09d}Z" if start else None


def date_time(nanoseconds: int | None) -> datetime.datetime | None:
    """A time in UTC as Python has it, to the microsecond; None also for a year that it does not know."""
    if nanoseconds is None:
        return None
    try:
        return _EPOCH + datetime.timedelta(microseconds=nanoseconds // MICROSECOND)
    except OverflowError:
        return None


def _second(second: int) -> str:
    try:
        return f"{datetime.datetime.fromtimestamp(second, datetime.UTC):%Y-%m-%dT%H:%M:%S}"
    except (OverflowError, OSError, ValueError):
        return ""


_seconds = BoundedCache(_second)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def record_view(record: Record) -> Json:
    """A record as JSON: one row of ``decode --format jsonl``."""
    row: Json = {
        "id": record.id,
        "parent": record.parent,
        "type": record.type,
        "capture": record.capture,
        "frames": list(record.frames),
        "time": time_text(record.time),
        "src": record.src,
        "dst": record.dst,
        "stream": record.stream,
        "offset": record.offset,
        "length": record.length,
        "packet": view(record.packet),
        "anomalies": [anomaly_view(anomaly) for anomaly in record.anomalies],
        "consumed": record.consumed,
        "remainder": _base64(record.remainder),
        "error": record_error_view(record),
        **keys_of(record)._asdict(),
    }
    if record.type == "gap":
        row["missing"] = record.missing
    if record.frames_missing is not None:
        row["frames_missing"] = record.frames_missing
    if record.reason is not None and record.type != "error":
        row["reason"] = record.reason
    if record.event is not None:
        row["event"] = record.event
    if record.grade is not None:
        row["grade"] = record.grade
        row["places"] = places_view(record)
    points = seen_at(record)
    if points:
        row["seen_at"] = list(points)
    return row


def places_view(record: Record) -> list[Json]:
    """Where the bytes of a record lie at rest, as JSON; an address is in hexadecimal."""
    return [
        {
            "capture": one.capture,
            "offset": one.offset,
            "address": None if one.address is None else f"{one.address:#x}",
        }
        for one in record.locations
    ]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _plain(value: msgspec.Struct) -> Json:
    """A value that is no structure of the wire: its fields as they are."""
    shown: Json = {}
    for name in value.__struct_fields__:
        field = getattr(value, name)
        shown[name] = view(field)
        if isinstance(field, WcharText) and not field.is_shown_whole:
            shown[f"{name}_raw"] = _base64(field)
    return shown


def _struct(value: WireStruct, around: WireStruct | None = None) -> Json:
    shown: Json = {}
    behind: Json = {}
    table = type(value).BITS
    markers = _markers(type(value))
    for name in (*value.__struct_fields__, *getattr(value, "INSIDE", ())):
        field = getattr(value, name)
        if field is msgspec.UNSET:
            continue
        if table is not None and name == table.field:
            bits: Json = {"raw": field}
            for bit in table.bits.values():
                number = (field & bit.mask) >> bit.shift
                bits[bit.name] = bool(number) if bit.width == 1 else number
            shown[name] = bits
            continue
        if name in markers:
            shown[name] = _marked(markers[name], field, value, around, behind)
            raw = _name_raw(markers[name], field, value)
            if raw is not None:
                shown[f"{name}_raw"] = _base64(raw)
            continue
        plain = isinstance(field, WireStruct) and not isinstance(field, NdrStruct)
        shown[name] = _struct(field, value) if plain else view(field)
        if isinstance(field, WcharText) and not field.exact:
            shown[f"{name}_raw"] = _base64(field)
    shown.update(behind)
    return shown


@cache
def _markers(cls: type[WireStruct]) -> dict[str, Field]:
    """The fields that are shown other than by their value."""
    return {field.name: field for field in fields(cls) if field.shown or field.absent_if_empty}


def _marked(field: Field, value: Any, owner: WireStruct, around: WireStruct | None, behind: Json) -> Any:
    """A field as its declaration says that it is shown; what no text shows comes ``behind`` all fields."""
    if field.absent_if_empty and value == b"":
        return None
    match field.shown:
        case ShownName(text=text):
            return text(value)
        # Flags that were not reached are no number.
        case ShownQueue(bits=bits) if isinstance(owner, UserHeader) and isinstance(owner.flags, int):
            if owner.bit(bits) != QueueType.NONE:
                return queue_view(owner, field.name)
        case ShownText() as by:
            number = by.number(owner, around)
            text_of = by.text(number, value)
            if text_of is not None:
                if not by.shows_all(number, value):
                    behind[f"{field.name}_raw"] = _base64(value)
                return text_of
    return view(value)


def _name_raw(field: Field, value: Any, owner: WireStruct) -> bytes | None:
    """The bytes of a queue name that its text does not give again."""
    match field.shown:
        case ShownName() as by if not by.whole(value):
            return wire_bytes(value)
        case ShownQueue() if isinstance(owner, UserHeader) and isinstance(owner.flags, int):
            return queue_raw(owner, field.name)
    return None


def _xml(value: XmlStruct) -> Json:
    """An element: its fields, and what no field names where there is some."""
    shown: Json = {name.rstrip("_"): view(getattr(value, name)) for name in xml_fields(type(value))}
    for name in ("other_elements", "other_attributes", "mixed_text", "written_as", "order"):
        rest = getattr(value, name)
        if rest:
            shown[name] = view(rest)
    return shown


def _ndr(value: WireStruct) -> Json:
    """A structure of a call: an arm of a union under its own name, text up to its end."""
    shown: Json = {}
    for member in members(type(value)):
        name, field = member.name, getattr(value, member.name)
        if field is msgspec.UNSET:
            continue
        if isinstance(member.type, Union):
            arm = member.type.arm(value)[1]
            if arm is None or arm.type is None:
                continue
            name = arm.name
        shown[name] = view(field)
        if isinstance(field, WcharText):
            target = member.type
            while isinstance(target, Pointer):
                target = target.target
            if not isinstance(target, String):
                shown[name] = field.text.partition("\0")[0]
            if shown[name] != field.text or not field.exact:
                shown[f"{name}_raw"] = _base64(field)
    if isinstance(value, QueueFormat):
        shown["format_name"] = value.shown_name
    return shown


def _element(value: Element) -> Json:
    """What no field names: an element, without its position."""
    shown = _plain(value)
    return {name: shown[name] for name in shown if name not in ("offset", "length")}


_AS_THEY_ARE = frozenset((int, str, bool, float, NoneType))
_VIEWS: Mapping[type, Callable[[Any], Any]] = {
    NdrStruct: _ndr,
    WireStruct: _struct,
    XmlStruct: _xml,
    IsoDate: lambda date: date.text,
    Element: _element,
    msgspec.Struct: _plain,
    GUID: str,
    WcharText: lambda text: text.text,
    bytes: _base64,
    tuple: lambda items: [view(item) for item in items],
    NullPointee: lambda _: {"pointee": None},
    int: int,
    object: lambda value: value,
}
"""How a value is shown: by the first class here that it is of."""


@cache
def _view_of(cls: type) -> Callable[[Any], Any]:
    return next(show for base, show in _VIEWS.items() if issubclass(cls, base))
