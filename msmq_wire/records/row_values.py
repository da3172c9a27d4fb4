"""The values of a row by the names of its columns: what is told of a record, and fields of its packet."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any, Protocol

from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.record import Record


class RecordSource(Protocol):
    """What is told of a record: a message, a call, or the record itself."""

    def __contains__(self, name: object, /) -> bool:
        """Whether it has a column."""

    def __getitem__(self, name: str, /) -> Any:
        """The value of a column."""

    def json(self, name: str, /) -> Any:
        """The value of a column as JSON."""


class RowValues:
    """The values of a row by the names of its columns: what is told of a record, and fields of its packet.

    What is ``hidden`` is None.
    """

    def __init__(self, record: Record, *reported: RecordSource, hidden: Collection[str] = ()) -> None:
        self._record = record
        self._reported = reported
        self._hidden = hidden

    def __getitem__(self, name: str) -> Any:
        """The value of a column, None without one; a list where a path leads to several."""
        if name in self._hidden:
            return None
        for reported in self._reported:
            if name in reported:
                return reported[name]
        return self._at(name)

    def get(self, name: str) -> Any:
        """The same as JSON."""
        if name in self._hidden:
            return None
        for reported in self._reported:
            if name in reported:
                return reported.json(name)
        return self._at(name)

    def _at(self, name: str) -> Any:
        from msmq_wire.records.filter.record_names import values_at

        found = values_at(self._subject, name)
        return None if not found else found[0] if len(found) == 1 else list(found)

    @cached_property
    def _subject(self) -> Subject:
        return Subject(self._record)
