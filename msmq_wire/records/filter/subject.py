"""What a filter sees of a record: the record, the message in it, and the packet by the paths of its JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from itertools import chain, islice
from typing import Any

import msgspec

from msmq_wire.records.message import MessageValues, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.view import view
from msmq_wire.wire.registry import HEADERS

_STEP = re.compile(r"[^.\[\]]+")
_MOST = 1000
"""Elements of a list that a step without an index looks into."""
_LONGEST = 9
"""Digits of an index."""


class Subject:
    """A record as a filter sees it; ``outcome_of`` gives what became of its message, where that is known."""

    def __init__(self, record: Record, outcome_of: Callable[[Record], str | None] | None = None) -> None:
        self.record = record
        self._outcome_of = outcome_of
        self._headers: dict[str, Any] = {}

    @cached_property
    def message(self) -> MessageValues | None:
        """The message, also one inside a packet, which the table of messages leaves out."""
        return message_of(self.record, acknowledgments=True, inside=True)

    @property
    def outcome(self) -> str | None:
        """What became of the message."""
        return None if self._outcome_of is None else self._outcome_of(self.record)

    @cached_property
    def view(self) -> Any:
        """The packet as JSON."""
        packet = self.record.packet
        return view(packet) if isinstance(packet, msgspec.Struct) else None

    def at(self, path: str) -> tuple[Any, ...]:
        """The values at a path of the packet, none for a path that is not there."""
        stem, _, rest = path.partition(".")
        header = getattr(self.record.packet, stem, None) if stem in HEADERS else None
        # A header looks as it does in its packet, and costs a part of it.
        return at(self.view, path) if header is None else at(self._header(stem, header), rest)

    def _header(self, stem: str, header: Any) -> Any:
        if stem not in self._headers:
            self._headers[stem] = view(header) if header is not msgspec.UNSET else msgspec.UNSET
        return self._headers[stem]


def at(value: Any, path: str) -> tuple[Any, ...]:
    """The values at a path of JSON, which may be empty."""
    if value is msgspec.UNSET:
        return ()
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
