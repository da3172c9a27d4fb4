"""Which records a command is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.record import Record
from msmq_wire.records.tree.value_text import count_text

if TYPE_CHECKING:
    from msmq_wire.records.filter.compiling import Filter


class Selection(msgspec.Struct, frozen=True):
    """Which records are wanted: those that match the filter and, if there are ids, have one of them.

    ``outcome_of`` gives what became of the message in a record, where that is known.
    """

    filter: Filter | None = None
    ids: frozenset[int] = frozenset()
    outcome_of: Callable[[Record], str | None] | None = None

    def described(self, matching: int, all_: int, noun: str) -> tuple[str, ...]:
        """What a summary says about what was left out: nothing if nothing was asked for in particular."""
        if self.filter is None and not self.ids:
            return ()
        return (f"{matching} of {count_text(all_, noun)} shown",)

    def __contains__(self, record: object) -> bool:
        if not isinstance(record, Record) or (self.ids and record.id not in self.ids):
            return False
        return self.filter is None or self.filter(Subject(record, self.outcome_of))
