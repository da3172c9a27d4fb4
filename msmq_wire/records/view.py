"""The JSON view: how a structure looks in JSON, tables and columns.

The rule kept here: one renderer. It reads values and changes none; what a text cannot show goes beside it
as base64.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from typing import Any

import msgspec

from msmq_wire.engines.codec import InspectResult
from msmq_wire.errors import DecodeError
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.rpc.ndr import NdrStruct, NullPointee, String, Union, members
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.srmp.xml.fields import IsoDate, XmlStruct, xml_fields
from msmq_wire.srmp.xml.tree import Element
from msmq_wire.units import SECOND
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader, security_id_text
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader, address_text
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.enumerations import AddressType, QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement, element_format_name
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = [
    "address_text",
    "anomaly_view",
    "carrier",
    "element_format_name",
    "error_view",
    "inspect_view",
    "message_view",
    "record_view",
    "security_id_text",
    "time_text",
    "view",
]

Json = dict[str, Any]


def view(value: Any) -> Any:
    """A structure, or a scalar, as JSON types: dict, list, str, int, bool, None.

    Fields that were not reached (UNSET) are left out.
    """
    if isinstance(value, WireStruct):
        return _VIEWS.get(type(value), _ndr if isinstance(value, NdrStruct) else _struct)(value)
    if isinstance(value, XmlStruct):
        return _xml(value)
    if isinstance(value, IsoDate):
        return value.text
    if isinstance(value, Element):
        shown = _plain(value)
        # What no field names is kept without positions.
        return {name: shown[name] for name in shown if name not in ("offset", "length")}
    if isinstance(value, msgspec.Struct):
        return _plain(value)
    return _scalar(value)


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


def inspect_view(result: InspectResult) -> Json:
    """The result of `inspect` as JSON: what ``packet --format json`` prints."""
    return {
        "type": result.type,
        "packet": view(result.packet),
        "anomalies": [anomaly_view(anomaly) for anomaly in result.anomalies],
        "consumed": result.consumed,
        "remainder": _base64(result.remainder),
        "error": error_view(result.error),
    }


def time_text(nanoseconds: int | None) -> str | None:
    """A time as RFC 3339 in UTC with nanoseconds."""
    if nanoseconds is None:
        return None
    seconds, rest = divmod(nanoseconds, SECOND)
    try:
        moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


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
        "error": error_view(record.error),
    }
    if record.type == "gap":
        row["missing"] = record.missing
    if record.reason is not None and record.type != "error":
        row["reason"] = record.reason
    if record.event is not None:
        row["event"] = record.event
    if record.type == "error" and record.error is None:
        row["error"] = {
            "code": "capture",
            "message": record.reason,
            "path": "",
            "offset": record.offset,
            "spec": None,
        }
    return row


_ACKNOWLEDGMENTS = ("order_ack", "final_ack")


def message_view(record: Record, *, acknowledgments: bool = False) -> Json | None:
    """A record as a row of ``messages``; None when it is no message, or an acknowledgment not asked for."""
    if isinstance(record.packet, TransferBuffer):
        return _transfer_row(record, record.packet)
    if isinstance(record.packet, SrmpMessage):
        # What a packet holds is the same message once more.
        listed = record.parent is None and (acknowledgments or record.type == "srmp_message")
        return _srmp_row(record, record.packet) if listed else None
    if record.type not in ("user_message", "message_packet") and not (
        acknowledgments and record.type in _ACKNOWLEDGMENTS
    ):
        return None
    user = reached(record.packet, "user_header")
    properties = reached(record.packet, "message_properties_header")
    base = reached(record.packet, "base_header")
    flags = reached(user, "flags")
    source, number = reached(user, "source_queue_manager"), reached(user, "message_id")
    # Half a name is no name: a row has no place to say that it was cut.
    cut = "" if record.error is None else record.error.path
    label = None if cut.endswith("header.label") else reached(properties, "label")
    whole = not cut.startswith("user_header.destination_queue") and reached(user, "destination_queue")
    queue = user.format_name("destination_queue") if whole else None
    delivery = None
    if flags is not None:
        delivery = "transactional" if user.bit("th") else "recoverable" if user.bit("dm") else "express"
    return {
        "id": record.id,
        "parent": record.parent,
        "time": time_text(record.time),
        "src": record.src,
        "dst": record.dst,
        "queue": queue,
        "label": None if label is None else label.text,
        "message_class": reached(properties, "message_class"),
        "priority": None if reached(base, "flags") is None else base.bit("pr"),
        "delivery": delivery,
        "sent_time": reached(user, "sent_time"),
        "message_id": None if source is None or number is None else f"{source}\\{number}",
        "body_type": reached(properties, "body_type"),
        "body_size": _body_size(record.packet, properties),
        "via": "rpc" if is_read(record) else "tcp",
        "frames": list(record.frames),
    }


def carrier(record: Record) -> str:
    """What a message or an acknowledgment came over, as ``via`` names it; empty for other records."""
    if isinstance(record.packet, SrmpMessage):
        return "http" if record.parent is None else ""
    if isinstance(record.packet, TransferBuffer) or is_read(record):
        return "rpc"
    return "tcp" if record.type in ("user_message", *_ACKNOWLEDGMENTS) else ""


def _transfer_row(record: Record, buffer: TransferBuffer) -> Json:
    """The message in a transfer buffer; what the buffer does not convey is null."""
    message = buffer.properties
    delivery = None
    if message.first_in_transaction or message.last_in_transaction:
        delivery = "transactional"
    elif message.delivery_guarantee is not None:
        delivery = "recoverable" if message.delivery_guarantee else "express"
    identifier = message.identifier
    number = reached(identifier, "uniquifier")
    return {
        "id": record.id,
        "parent": record.parent,
        "time": time_text(record.time),
        "src": record.src,
        "dst": record.dst,
        "queue": message.destination_queue_format_name or buffer.queue,
        "label": None if message.label is None else message.label.text,
        "message_class": message.message_class,
        "priority": message.priority,
        "delivery": delivery,
        "sent_time": message.sent_time,
        "message_id": None if number is None else f"{reached(identifier, 'lineage')}\\{number}",
        "body_type": message.body_type,
        "body_size": message.body_length,
        "via": "rpc",
        "frames": list(record.frames),
    }


def _srmp_row(record: Record, message: SrmpMessage) -> Json:
    """A message over HTTP; a number that is none in its envelope is null."""
    header = reached(message.envelope, "header")
    msmq, services = reached(header, "msmq"), reached(header, "services")
    sent_at = reached(reached(header, "properties"), "sent_at")
    delivery = None
    if header is not None:
        durable = reached(services, "durable")
        delivery = "transactional" if header.stream else "recoverable" if durable else "express"
    numbers = {name: reached(msmq, name) for name in ("class_", "priority", "body_type")}
    numbers = {name: number if isinstance(number, int) else None for name, number in numbers.items()}
    return {
        "id": record.id,
        "parent": record.parent,
        "time": time_text(record.time),
        "src": record.src,
        "dst": record.dst,
        "queue": message.queue,
        "label": message.label,
        "message_class": numbers["class_"],
        "priority": numbers["priority"],
        "delivery": delivery,
        "sent_time": None if sent_at is None else sent_at.seconds,
        "message_id": message.message_id,
        "body_type": numbers["body_type"],
        "body_size": None if message.body is None else len(message.body),
        "via": "http",
        "frames": list(record.frames),
    }


def _body_size(packet: Any, properties: Any) -> int | None:
    compound = reached(packet, "compound_message_header")
    size: int | None = (
        reached(properties, "message_size") if compound is None else reached(compound, "msg_body_size")
    )
    return size


def _scalar(value: Any) -> Any:
    if isinstance(value, GUID):
        return str(value)
    if isinstance(value, WcharText):
        return value.text
    if isinstance(value, bytes):
        return _base64(value)
    if isinstance(value, tuple):
        return [view(item) for item in value]
    if isinstance(value, NullPointee):
        return {"pointee": None}
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _plain(value: msgspec.Struct) -> Json:
    """A value that is no structure of the wire: its fields as they are."""
    shown: Json = {}
    for name in value.__struct_fields__:
        field = getattr(value, name)
        shown[name] = view(field)
        # What is cut to its length has no terminator, and needs none.
        if isinstance(field, WcharText) and not field.exact and field.text.encode("utf-16-le") != field:
            shown[f"{name}_raw"] = _base64(field)
    return shown


def _struct(value: WireStruct) -> Json:
    shown: Json = {}
    table = type(value).BITS
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
        shown[name] = view(field)
        if isinstance(field, WcharText) and not field.exact:
            shown[f"{name}_raw"] = _base64(field)
    return shown


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
    return shown


def _queue_format(value: WireStruct) -> Json:
    assert isinstance(value, QueueFormat)
    shown = _ndr(value)
    shown["format_name"] = value.shown_name
    return shown


def _user_header(header: WireStruct) -> Json:
    assert isinstance(header, UserHeader)
    shown = _struct(header)
    for name, bit in (("destination_queue", "dq"), ("admin_queue", "aq"), ("response_queue", "rq")):
        if name in shown:
            selector = header.bit(bit)
            if selector == QueueType.NONE:
                continue
            shown[name] = {"type": selector, "format_name": header.format_name(name)}
            if name == "response_queue" and selector == QueueType.SAME_AS_ADMIN_QUEUE:
                shown[name]["same_as"] = "admin_queue"
    return shown


def _element(element: WireStruct) -> Json:
    assert isinstance(element, MQFFormatNameElement)
    shown = _struct(element)
    if "format_name" in shown:
        shown["format_name"] = element_format_name(element)
    return shown


def _security_header(header: WireStruct) -> Json:
    assert isinstance(header, SecurityHeader)
    shown = _struct(header)
    if isinstance(header.security_data, SecurityData) and shown["security_data"].get("security_id"):
        text = security_id_text(header)
        if text is not None:
            shown["security_data"]["security_id"] = text
    return shown


def _security_data(data: WireStruct) -> Json:
    shown = _struct(data)
    for name in ("security_id", "encryption_key", "signature", "sender_cert"):
        # An item of size 0 takes no space: it is not present.
        if shown.get(name) == "":
            shown[name] = None
    return shown


def _address(holder: WireStruct) -> Json:
    assert isinstance(holder, AddressOverlay | ExtendedAddressHeader)
    shown = _struct(holder)
    if "address" in shown:
        text = address_text(holder.address_type, holder.address)
        if text is not None:
            shown["address"] = text
            if holder.address_type == AddressType.IP_ADDRESS_TYPE and any(holder.address[4:]):
                shown["address_raw"] = _base64(holder.address)
    return shown


_VIEWS: dict[type[WireStruct], Callable[[WireStruct], Json]] = {
    UserHeader: _user_header,
    MQFFormatNameElement: _element,
    SecurityHeader: _security_header,
    SecurityData: _security_data,
    AddressOverlay: _address,
    ExtendedAddressHeader: _address,
    QueueFormat: _queue_format,
}
