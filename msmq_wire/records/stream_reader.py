"""What reads the connections of one protocol: the part that DCE/RPC and HTTP have in common.

The rule kept here: memory is bounded whatever comes in; the connection that was not fed for the longest time
is given up first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from msmq_wire.reassembly.tcp_events import Direction, Reason
from msmq_wire.records.record import NewRecord, Record

_MAX_HELD = 1 << 26
"""Bytes held for what is not complete, all connections together."""
_MAX_NOTICES = 1000
"""Texts that are counted one by one; more are counted together."""

Names = Callable[[int, int], tuple[str, str]]
"""The texts for source and destination of a direction of a stream."""
Frames = Callable[[tuple[int, ...]], tuple[int, ...]]
"""The frames that carried what came as others."""


class StreamAssembler(Protocol):
    """Puts the bytes of both sides of one connection together, whatever they are."""

    @property
    def held_bytes(self) -> int: ...

    def advance(self, from_client: bool, count: int) -> None: ...

    def feed(self, from_client: bool, data: bytes, frame: int, time: int) -> list[Any]: ...

    def gap(
        self, from_client: bool, length: int | None, reason: Reason, frame: int, time: int, since: int
    ) -> list[Any]: ...

    def finish(self) -> list[Any]: ...


class FollowedConnection:
    """One connection; subclasses add what is known of it."""

    __slots__ = ("follower", "held")

    def __init__(self, follower: StreamAssembler) -> None:
        self.follower = follower
        self.held = 0


C = TypeVar("C", bound=FollowedConnection)


class StreamReader(ABC, Generic[C]):
    """Follows the connections of one protocol.

    ``record`` makes a record with the next id, ``names`` gives the texts for source and destination of a
    direction, ``frames`` the frames that carried what came as others; ``notices`` is counted into.
    """

    PROTOCOL: str

    def __init__(self, *, record: NewRecord, names: Names, frames: Frames, notices: Counter[str]) -> None:
        self._record = record
        self._names = names
        self._frames = frames
        self._notices = notices
        self._connections: OrderedDict[int, C] = OrderedDict()  # longest unfed first
        self._held = 0

    @abstractmethod
    def _open(self) -> C:
        """A connection of which nothing is known."""

    @abstractmethod
    def _records(self, stream: int, connection: C, events: list[Any]) -> list[Record]:
        """The records of what its follower found."""

    def _close(self, connection: C) -> None:
        """Count what a connection leaves behind."""

    def advance(self, stream: int, count: int) -> None:
        """Count bytes that were read elsewhere, in front of all bytes of direction 0."""
        self._connection(stream).follower.advance(True, count)

    def feed(self, stream: int, direction: Direction, data: bytes, frame: int, time: int) -> list[Record]:
        """Take the next bytes of a direction."""
        connection = self._connection(stream)
        return self._after(stream, connection, connection.follower.feed(direction == 0, data, frame, time))

    def gap(
        self,
        stream: int,
        direction: Direction,
        length: int | None,
        reason: Reason,
        frame: int,
        time: int,
        since: int,
    ) -> list[Record]:
        """Take note of bytes of a direction that are missing, after frame ``since`` (0: from the start)."""
        connection = self._connection(stream)
        events = connection.follower.gap(direction == 0, length, reason, frame, time, since)
        return self._after(stream, connection, events)

    def end_side(self, stream: int, direction: Direction) -> list[Record]:
        """Return what the end of a direction completes."""
        return []

    def end(self, stream: int) -> list[Record]:
        """Return what a connection left open."""
        connection = self._connections.pop(stream, None)
        if connection is None:
            return []
        self._held -= connection.held
        records = self._records(stream, connection, connection.follower.finish())
        self._close(connection)
        return records

    def finish(self) -> list[Record]:
        """Return what all connections left open."""
        return [record for stream in list(self._connections) for record in self.end(stream)]

    def _connection(self, stream: int) -> C:
        connection = self._connections.get(stream)
        if connection is None:
            connection = self._connections[stream] = self._open()
        else:
            self._connections.move_to_end(stream)
        return connection

    def _after(self, stream: int, connection: C, events: list[Any]) -> list[Record]:
        held = connection.follower.held_bytes
        self._held += held - connection.held
        connection.held = held
        records = self._records(stream, connection, events) if events else []
        while self._held > _MAX_HELD:
            self._notice(f"{self.PROTOCOL} connections given up: too much is open at once")
            records += self.end(next(iter(self._connections)))
        return records

    def _notice(self, text: str) -> None:
        if text not in self._notices and len(self._notices) >= _MAX_NOTICES:
            text = "other notes"
        self._notices[text] += 1
