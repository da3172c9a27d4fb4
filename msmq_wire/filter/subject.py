"""What a filter sees of a record: the record, the message in it, and the packet by the paths of its JSON."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain, islice
from typing import Any

import msgspec

from msmq_wire.records.message import Message, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.view import view

__all__ = ["Subject", "at"]

_STEP = re.compile(r"[^.\[\]]+")
_MOST = 1000
"""Elements of a list that a step without an index looks into."""
_LONGEST = 9
"""Digits of an index."""


class Subject:
    """A record as a filter sees it."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @cached_property
    def message(self) -> Message | None:
        """The message, also one inside a packet, which the table of messages leaves out."""
        return message_of(self.record, acknowledgments=True, inside=True)

    @cached_property
    def view(self) -> Any:
        """The packet as JSON."""
        packet = self.record.packet
        return view(packet) if isinstance(packet, msgspec.Struct) else None


def at(value: Any, path: str) -> tuple[Any, ...]:
    """The values at a path of JSON, none for a path that is not there."""
    for step in _STEP.findall(path):
        if isinstance(value, dict):
            value = value.get(step, msgspec.UNSET)
        elif isinstance(value, list):
            # A step without an index looks into every element.
            if step.isdecimal():
                number = int(step) if len(step) < _LONGEST else len(value)
                value = value[number] if number < len(value) else msgspec.UNSET
            else:
                found = (item.get(step) for item in value[:_MOST] if isinstance(item, dict))
                value = list(islice(chain.from_iterable(map(_each, found)), _MOST))
        else:
            value = msgspec.UNSET
        if value is msgspec.UNSET:
            return ()
    return tuple(_plain(item) for item in value) if isinstance(value, list) else (_plain(value),)


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plain(value: Any) -> Any:
    """A word with bits by its number, a queue by its name, another structure as present."""
    if isinstance(value, dict):
        return value.get("raw", value.get("format_name", True))
    return value
