"""What a filter sees of a record: a few names, and the packet by the paths of its JSON view."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import msgspec

from msmq_wire.records.message import COLUMNS, DATES, Message, message_of
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import view

__all__ = ["ALIASES", "NAMES", "Subject"]

_ABOUT = ("type", "id", "capture", "src", "dst", "host", "time", "stream", "length")

NAMES = tuple(dict.fromkeys((*_ABOUT, *(one.name for one in COLUMNS if not one.path), "anomalies", "error")))
"""What every filter knows: what there is of any record, and the columns of messages."""

ALIASES = {one.name: one.path for one in COLUMNS if one.path}
ALIASES |= {
    one.look.head: one.path or one.name
    for one in COLUMNS
    if one.look is not None and one.look.head != one.name
}
"""Columns of messages that are fields of a packet, and what the table calls columns."""

_OF_RECORD = frozenset((*_ABOUT, *(one.name for one in COLUMNS if one.record == one.name)))

_BY_PATH = {one.path: one for one in COLUMNS if one.path}
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
            case "queue" if isinstance(record.packet, RpcCall):
                return (record.packet.queue,)
            case "body":
                return (self._body(),)
        if name in _OF_RECORD:
            return _each(getattr(record, name))
        if name in NAMES:
            return (None if self._message is None else self._message[name],)
        return self._at(name)

    @cached_property
    def _message(self) -> Message | None:
        """The message, also one inside a packet, which the table of messages leaves out."""
        return message_of(self.record, acknowledgments=True, inside=True)

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
        column = _BY_PATH.get(path)
        if column is not None and self._message is not None:
            where = getattr(column, self._message.carrier)
            if not isinstance(where, str):
                value = self._message[column.name]
                dated = value is None or column.unit != "unix-time" or value in DATES
                return (value if dated else None,)
            if not where:
                return ()
            path = where
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


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _plain(value: Any) -> Any:
    """A word with bits by its number, a queue by its name, another structure as present."""
    if isinstance(value, dict):
        return value.get("raw", value.get("format_name", True))
    return value
