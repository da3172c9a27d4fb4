"""The connections of a port: limits their number and memory, and selects the one to close.

The rule kept here: a connection that is told to go counts no more from that moment on. A transport only
schedules the end of its connection, so that a loop that waits for this end waits for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class TrackedConnection(Protocol):
    """The part of a connection that its table uses."""

    @property
    def held(self) -> int:
        """The bytes that it holds."""

    @property
    def waiting_since(self) -> float:
        """The time of its last progress: a whole request or packet, or an answer."""

    def drop(self) -> None:
        """Abort the connection."""

    def give_up(self) -> None:
        """Abort the connection, because another one needs its place."""


_Connection = TypeVar("_Connection", bound=TrackedConnection)


class ConnectionTable(Generic[_Connection]):
    """At most ``places`` connections that hold at most ``held_bytes`` together."""

    def __init__(self, places: int, held_bytes: int) -> None:
        self._places = places
        self._most = held_bytes
        self._counted: dict[_Connection, int] = {}
        self._sum = 0

    def __len__(self) -> int:
        return len(self._counted)

    def __iter__(self) -> Iterator[_Connection]:
        return iter(tuple(self._counted))

    def enter(self, connection: _Connection) -> None:
        """Add a connection. A full table aborts the one without progress for the longest time."""
        if len(self._counted) >= self._places:
            slowest = min(self._counted, key=lambda one: one.waiting_since)
            self.leave(slowest)
            slowest.give_up()
        self._counted[connection] = 0

    def leave(self, connection: _Connection) -> None:
        """Remove a connection."""
        self._sum -= self._counted.pop(connection, 0)

    def weigh(self, connection: _Connection) -> None:
        """Update the bytes of a connection. If the sum is too high, abort those with the most bytes."""
        if connection not in self._counted:
            return
        held = connection.held
        self._sum += held - self._counted[connection]
        self._counted[connection] = held
        if self._sum <= self._most:
            return
        # Some of it was sent meanwhile.
        self._counted = {one: one.held for one in self._counted}
        self._sum = sum(self._counted.values())
        while self._sum > self._most:
            largest = max(self._counted, key=self._counted.__getitem__)
            self.leave(largest)
            largest.drop()
