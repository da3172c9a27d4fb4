"""What a filter sees of a record: a few names, and the packet by the paths of its JSON view."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import msgspec

from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.view import message_view, view
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader

__all__ = ["ALIASES", "NAMES", "Subject"]

NAMES = (
    "type",
    "id",
    "capture",
    "src",
    "dst",
    "host",
    "time",
    "stream",
    "length",
    "queue",
    "label",
    "message_id",
    "delivery",
    "body",
    "anomalies",
    "error",
)

# Columns of ``messages`` that are fields of a packet.
ALIASES = {
    "priority": "base_header.flags.pr",
    "message_class": "message_properties_header.message_class",
    "body_type": "message_properties_header.body_type",
    "sent_time": "user_header.sent_time",
}

# Where those that have another place in a transfer buffer are.
_IN_TRANSFER_BUFFER = {
    "base_header.flags.pr": "properties.priority",
    "message_properties_header.message_class": "properties.message_class",
    "message_properties_header.body_type": "properties.body_type",
    "user_header.sent_time": "properties.sent_time",
}

# Where those that have another place in an SRMP message are; a date there is a text.
_SENT_TIME = "user_header.sent_time"
_DATES = range(-62_000_000_000, 253_000_000_000)
"""Seconds of dates that exist in every zone."""
_IN_SRMP_MESSAGE = {
    "base_header.flags.pr": "envelope.header.msmq.priority",
    "message_properties_header.message_class": "envelope.header.msmq.class",
    "message_properties_header.body_type": "envelope.header.msmq.body_type",
}

_STEP = re.compile(r"[^.\[\]]+")


class Subject:
    """A record as a filter sees it. What it does not have is None or no value."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def values(self, name: str) -> tuple[Any, ...]:
        """The values of a name: two for ``host``, none for a path that the packet does not have."""
        record = self.record
        match name:
            case "host":
                return (record.src, record.dst)
            case "anomalies":
                return (len(record.anomalies),)
            case "error":
                return (None if record.error is None else record.error.code,)
            case "queue":
                return (self._queue(),)
            case "label":
                return (self._label(),)
            case "message_id":
                return (self._message_id(),)
            case "delivery":
                return (self._column("delivery"),)
            case "body":
                return (self._body(),)
        if name in NAMES:
            return (getattr(record, name),)
        return self._at(name)

    @property
    def _user_header(self) -> UserHeader | None:
        header = getattr(self.record.packet, "user_header", None)
        return header if isinstance(header, UserHeader) else None

    @property
    def _properties(self) -> MessagePropertiesHeader | None:
        header = getattr(self.record.packet, "message_properties_header", None)
        return header if isinstance(header, MessagePropertiesHeader) else None

    def _column(self, name: str) -> Any:
        """What the table of messages shows, also of a message inside a packet, which it leaves out."""
        record = self.record
        if isinstance(record.packet, SrmpMessage):
            record = msgspec.structs.replace(record, parent=None)
        row = message_view(record, acknowledgments=True)
        return None if row is None else row[name]

    def _queue(self) -> str | None:
        packet = self.record.packet
        if isinstance(packet, RpcCall | SrmpMessage):
            return packet.queue
        if isinstance(packet, TransferBuffer):
            return packet.properties.destination_queue_format_name or packet.queue
        header = self._user_header
        return header.format_name("destination_queue") if header and isinstance(header.flags, int) else None

    def _label(self) -> str | None:
        if isinstance(self.record.packet, SrmpMessage):
            return self.record.packet.label
        if isinstance(self.record.packet, TransferBuffer):
            label = self.record.packet.properties.label
            return None if label is None else label.text
        header = self._properties
        return header.label.text if header and isinstance(header.label, bytes) else None

    def _message_id(self) -> str | None:
        if isinstance(self.record.packet, TransferBuffer | SrmpMessage):
            number: str | None = self._column("message_id")
            return number
        header = self._user_header
        if header is None or not isinstance(header.message_id, int):
            return None
        return f"{header.source_queue_manager}\\{header.message_id}"

    def _body(self) -> str | None:
        body = message_body(self.record)
        if body is None:
            return None
        text = body.content.text
        return body.data.decode("latin-1") if text is None else text

    @cached_property
    def _view(self) -> Any:
        packet = self.record.packet
        return view(packet) if isinstance(packet, msgspec.Struct) else None

    def _at(self, path: str) -> tuple[Any, ...]:
        if isinstance(self.record.packet, TransferBuffer):
            path = _IN_TRANSFER_BUFFER.get(path, path)
        elif isinstance(self.record.packet, SrmpMessage):
            if path == _SENT_TIME:
                seconds = self._column("sent_time")
                return (seconds if seconds is not None and seconds in _DATES else None,)
            path = _IN_SRMP_MESSAGE.get(path, path)
        value = self._view
        for step in _STEP.findall(path):
            if isinstance(value, dict):
                value = value.get(step, msgspec.UNSET)
            elif isinstance(value, list):
                # A step without an index looks into every element.
                if step.isdigit():
                    value = value[int(step)] if int(step) < len(value) else msgspec.UNSET
                else:
                    value = [item.get(step) for item in value[:1000] if isinstance(item, dict)]
            else:
                value = msgspec.UNSET
            if value is msgspec.UNSET:
                return ()
        return tuple(_plain(item) for item in value) if isinstance(value, list) else (_plain(value),)


def _plain(value: Any) -> Any:
    """A word with bits by its number, a queue by its name, another structure as present."""
    if isinstance(value, dict):
        return value.get("raw", value.get("format_name", True))
    return value
