"""`PacketReader`: reads the connections of the binary protocol, beside `RpcReader` and `SrmpReader`.

The rule kept here: memory is bounded whatever comes in. Where too much is held, the direction that was not
fed for the longest time gives up what it holds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from msmq_wire.reassembly.packet_framer import MARK_COST, FramedPacket, FramerEvent, PacketFramer
from msmq_wire.reassembly.tcp_events import Reason
from msmq_wire.records.record import FoundPacket, Item, NewRecord
from msmq_wire.records.stream_reader import Frames, Names

_CAPTURED = frozenset(("no-signature", "rest-of-packet", "packet-size"))
"""Reasons of gaps whose bytes were captured, but are in no packet."""
_MAX_HELD = 1 << 26
"""Bytes held for packets that are not complete, all connections together."""


class NewPacket(Protocol):
    """Numbers a packet of a ``stream`` (None for a datagram) that is to be decoded."""

    def __call__(
        self,
        data: bytes,
        frames: tuple[int, ...],
        time: int,
        names: tuple[str, str],
        stream: int | None,
        offset: int,
        path: bytes,
    ) -> FoundPacket: ...


class PacketReader:
    """Cuts both directions of connections into packets, undecoded.

    ``record`` makes a record with the next id, ``packet`` an item with the next id; ``names`` gives the texts
    for source and destination of a direction, ``path`` what a connection was captured in, ``frames`` the
    frames that carried what came as others. ``unknown`` takes a stream and the bytes that begin no packet.
    """

    def __init__(
        self,
        *,
        record: NewRecord,
        packet: NewPacket,
        names: Names,
        path: Callable[[int], bytes],
        frames: Frames,
        unknown: Callable[[int, bytes], None],
    ) -> None:
        self._record = record
        self._packet = packet
        self._names = names
        self._path = path
        self._frames = frames
        self._unknown = unknown
        self._framers: OrderedDict[tuple[int, int], PacketFramer] = OrderedDict()  # longest unfed first
        self._held = 0

    def has_room(self, held: int, payload: int, segments: int) -> bool:
        """Whether so many segments fit beside the bytes ``held`` elsewhere, before anything is given up."""
        return self._held + held + payload + segments * MARK_COST <= _MAX_HELD

    def framer(self, key: tuple[int, int]) -> PacketFramer:
        """Return the framer of ``(stream, direction)``, which is now the one fed last."""
        framer = self._framers.get(key)
        if framer is None:
            framer = self._framers[key] = PacketFramer()
        else:
            self._framers.move_to_end(key)
        return framer

    def pass_by(self, key: tuple[int, int]) -> None:
        """Take note that bytes for the framer of ``(stream, direction)`` passed."""
        if key in self._framers:
            self._framers.move_to_end(key)

    def advance(self, stream: int, count: int) -> None:
        """Count bytes that were read elsewhere, in front of all bytes of direction 0."""
        self.framer((stream, 0)).advance(count)

    def feed(self, stream: int, direction: int, data: bytes, frame: int, time: int) -> list[Item]:
        """Take the next bytes of a direction."""
        key = (stream, direction)
        framer = self.framer(key)
        before = framer.pending_cost
        found = framer.feed(data, frame, time)
        self._held += framer.pending_cost - before
        items = self._items(found, *key) if found else []
        while self._held > _MAX_HELD:
            oldest = next(iter(self._framers))
            items += self.gap(*oldest, None, "pending-limit", frame, time)
        return items

    def gap(
        self,
        stream: int,
        direction: int,
        length: int | None,
        reason: Reason,
        frame: int,
        time: int,
        since: int = 0,
    ) -> list[Item]:
        """Take note of bytes of a direction that are missing, after frame ``since`` (0: from the start)."""
        framer = self.framer((stream, direction))
        before = framer.pending_cost
        found = framer.gap(length, reason, frame, time, since)
        self._held += framer.pending_cost - before
        return self._items(found, stream, direction)

    def end_side(self, stream: int, direction: int) -> list[Item]:
        """Return what the end of a direction completes."""
        framer = self._framers.pop((stream, direction), None)
        if framer is None:
            return []
        self._held -= framer.pending_cost
        return self._items(framer.finish(), stream, direction)

    def end(self, stream: int) -> list[Item]:
        """Return what a connection left open."""
        return self.end_side(stream, 0) + self.end_side(stream, 1)

    def finish(self) -> list[Item]:
        """Return what all connections left open."""
        return [item for key in list(self._framers) for item in self.end_side(*key)]

    def _items(self, events: list[FramerEvent], stream: int, direction: int) -> list[Item]:
        names = self._names(stream, direction)
        items: list[Item] = []
        for event in events:
            frames = self._frames(event.frames)
            if isinstance(event, FramedPacket):
                path = self._path(stream)
                items.append(self._packet(event.data, frames, event.time, names, stream, event.offset, path))
                continue
            captured = event.reason in _CAPTURED
            if event.reason == "no-signature":
                self._unknown(stream, event.data)
            items.append(
                self._record(
                    type="gap",
                    frames=frames,
                    time=event.time,
                    src=names[0],
                    dst=names[1],
                    stream=stream,
                    offset=event.offset,
                    length=event.length or 0 if captured else 0,
                    remainder=event.data,
                    missing=0 if captured else event.length,
                    reason=event.reason,
                )
            )
        return items
