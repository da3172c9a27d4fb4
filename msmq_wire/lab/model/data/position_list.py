"""`MessagePositionList`: the slots of a queue, by priority and then by arrival. [MS-MQDMPR] 3.1.1.2

The rule kept here: a slot keeps its place in the order also when it is gone, so that a cursor that stands on
it goes on to what comes after it, whatever was added or removed meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

End: TypeAlias = Literal["start", "end"]
"""The places before the first slot and behind the last one."""

_PRIORITIES = range(7, -1, -1)
_FEW = 64
_order = attrgetter("order")


class Slot(Protocol):
    """What the list asks of a slot: ``order`` and ``listed`` are written by the list."""

    order: int
    listed: bool

    @property
    def priority(self) -> int:
        """0 to 7."""

    @property
    def lookup_identifier(self) -> int:
        """The number of its message."""


T = TypeVar("T", bound=Slot)


class MessagePositionList(Generic[T]):
    """Slots in order; iterating gives those that are not removed."""

    def __init__(self) -> None:
        self._of_priority: dict[int, list[T]] = {priority: [] for priority in _PRIORITIES}
        self._gone: dict[int, int] = dict.fromkeys(_PRIORITIES, 0)
        self._by_lookup_identifier: dict[int, T] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._by_lookup_identifier)

    def __iter__(self) -> Iterator[T]:
        for priority in _PRIORITIES:
            for position in list(self._of_priority[priority]):
                if position.listed:
                    yield position

    def insert(self, position: T) -> None:
        """Put a new slot behind all of its message's priority."""
        position.order = self._arrivals
        position.listed = True
        self._arrivals += 1
        self._of_priority[position.priority].append(position)
        self._by_lookup_identifier[position.lookup_identifier] = position

    def remove(self, position: T) -> None:
        """Take a slot out; nothing happens if it was taken out before."""
        if not position.listed:
            return
        position.listed = False
        self._by_lookup_identifier.pop(position.lookup_identifier, None)
        priority = position.priority
        self._gone[priority] += 1
        slots = self._of_priority[priority]
        if self._gone[priority] > _FEW + len(slots) // 2:
            self._of_priority[priority] = [one for one in slots if one.listed]
            self._gone[priority] = 0

    def find(self, lookup_identifier: int) -> T | None:
        """The slot of a message."""
        return self._by_lookup_identifier.get(lookup_identifier)

    def next(self, place: T | End) -> T | End:
        """The slot behind ``place``; ``end`` behind the last one."""
        if place == "end":
            return "end"
        first = 7 if place == "start" else place.priority
        for priority in range(first, -1, -1):
            slots = self._of_priority[priority]
            at = 0
            if place != "start" and priority == first:
                at = bisect_right(slots, place.order, key=_order)
            for index in range(at, len(slots)):
                if slots[index].listed:
                    return slots[index]
        return "end"

    def previous(self, place: T | End) -> T | End:
        """The slot before ``place``; ``start`` before the first one."""
        if place == "start":
            return "start"
        first = 0 if place == "end" else place.priority
        for priority in range(first, 8):
            slots = self._of_priority[priority]
            at = len(slots)
            if place != "end" and priority == first:
                at = bisect_left(slots, place.order, key=_order)
            for index in range(at - 1, -1, -1):
                if slots[index].listed:
                    return slots[index]
        return "start"
