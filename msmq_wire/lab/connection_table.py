"""The connections of a port: how many there are, how much they hold together, and which one goes first.

The rule kept here: a connection that is told to go counts no more from that moment on. A transport only
schedules the end of its connection, so that a loop that waits for this end waits for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class TrackedConnection(Protocol):
    """A connection, as far as its table knows it."""

    @property
    def held(self) -> int:
        """Bytes that it holds now."""

    @property
    def waiting_since(self) -> float:
        """The time of its last progress: a whole request or packet, or an answer."""

    def drop(self) -> None:
        """Break the connection off."""

    def give_up(self) -> None:
        """Break the connection off, because another one needs its place."""


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
        """Take a new connection. In a full table the one without progress for the longest time goes."""
        if len(self._counted) >= self._places:
            slowest = min(self._counted, key=lambda one: one.waiting_since)
            self.leave(slowest)
            slowest.give_up()
        self._counted[connection] = 0

    def leave(self, connection: _Connection) -> None:
        """The connection is gone."""
        self._sum -= self._counted.pop(connection, 0)

    def weigh(self, connection: _Connection) -> None:
        """Count what a connection holds. Where the sum is too much, those that hold most go."""
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
