"""`MessagePositionList`: the slots of a queue, by priority and then by arrival. [MS-MQDMPR] 3.1.1.2

The rule kept here: a slot keeps its place in the order also when it is gone, so that a cursor that stands on
it goes on to what comes after it, whatever was added or removed meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Literal, TypeAlias

from msmq_wire.model.data.elements import MessagePosition

__all__ = ["End", "MessagePositionList", "Place"]

End: TypeAlias = Literal["start", "end"]
"""The places before the first slot and behind the last one."""
Place: TypeAlias = MessagePosition | End

_PRIORITIES = range(7, -1, -1)
_FEW = 64
_order = attrgetter("order")


class MessagePositionList:
    """Slots in order; iterating gives those that are not removed."""

    def __init__(self) -> None:
        self._of_priority: dict[int, list[MessagePosition]] = {priority: [] for priority in _PRIORITIES}
        self._gone: dict[int, int] = dict.fromkeys(_PRIORITIES, 0)
        self._by_lookup_identifier: dict[int, MessagePosition] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._by_lookup_identifier)

    def __iter__(self) -> Iterator[MessagePosition]:
        for priority in _PRIORITIES:
            for position in list(self._of_priority[priority]):
                if position.listed:
                    yield position

    def insert(self, position: MessagePosition) -> None:
        """Put a new slot behind all of its message's priority."""
        position.order = self._arrivals
        position.listed = True
        self._arrivals += 1
        self._of_priority[position.priority].append(position)
        self._by_lookup_identifier[position.message_reference.lookup_identifier] = position

    def remove(self, position: MessagePosition) -> None:
        """Take a slot out; nothing happens if it was taken out before."""
        if not position.listed:
            return
        position.listed = False
        self._by_lookup_identifier.pop(position.message_reference.lookup_identifier, None)
        priority = position.priority
        self._gone[priority] += 1
        slots = self._of_priority[priority]
        if self._gone[priority] > _FEW + len(slots) // 2:
            self._of_priority[priority] = [one for one in slots if one.listed]
            self._gone[priority] = 0

    def find(self, lookup_identifier: int) -> MessagePosition | None:
        """The slot of a message."""
        return self._by_lookup_identifier.get(lookup_identifier)

    def next(self, place: Place) -> Place:
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

    def previous(self, place: Place) -> Place:
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
