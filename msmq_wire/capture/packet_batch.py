"""`PacketBatch`: packets of a capture by column, their bytes in one buffer, before anything is decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.engines import columns
from msmq_wire.engines.codec import default_engine
from msmq_wire.engines.rows import engine as rows
from msmq_wire.reassembly.bulk import gather
from msmq_wire.records.record import FoundPacket, Record, is_step
from msmq_wire.records.run import bounds

_WORTH_COLUMNS = 32
"""Packets that are judged sooner together than one by one."""


def _record(found: FoundPacket, kind: tuple[str, Any] | None) -> Record:
    """The record of a packet, which is not judged where it is proven to be of a kind."""
    if kind is None:
        return found.record()
    stem, cls = kind
    data = found.data
    packet, consumed = rows.parse(cls, data)
    return Record(
        id=found.id,
        type=stem,
        capture=found.capture,
        frames=found.frames,
        time=found.time or None,
        src=found.src,
        dst=found.dst,
        stream=found.stream,
        offset=found.offset,
        length=len(data),
        packet=packet,
        consumed=consumed,
        remainder=data[consumed:] if consumed < len(data) else b"",
        path=found.path,
    )


class PacketBatch(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Packets of the binary protocol in order of completion, and the records between them: a `Run`.

    Packet ``i`` has the bytes ``data[offsets[i] : offsets[i + 1]]`` (uint8; ``data`` may go on behind the
    last one). The other columns are int64, one value a packet: ``id``, ``time`` (0 for none), ``stream`` (-1
    for none) and ``offset`` as in `Record`, ``completed`` the number of the frame that completed it (0 for
    the end of the capture). The numbers of those that carry it are ``carriers[first[i] : last[i]]``;
    ``pairs[pair[i]]`` are its source and destination, ``paths[pair[i]]`` is what it was captured in.
    ``others`` are the records that are no packet, with ``others_completed``; the ids of both rise.
    """

    capture: str
    data: Array
    offsets: Array
    id: Array
    completed: Array
    time: Array
    stream: Array
    pair: Array
    offset: Array
    first: Array
    last: Array
    carriers: Array
    others: tuple[Record, ...]
    others_completed: Array
    pairs: tuple[tuple[str, str], ...]
    paths: tuple[bytes, ...]

    def __len__(self) -> int:
        return len(self.id)

    @property
    def last_id(self) -> int:
        """The id of the last packet or record."""
        return bounds(self)[1]

    def frames(self, index: int) -> tuple[int, ...]:
        """Return the numbers of the frames that carry a packet."""
        return tuple(self.carriers[self.first[index] : self.last[index]].tolist())

    def endpoints(self, index: int) -> tuple[str, str]:
        """Return source and destination of a packet, as in `Record`."""
        return self.pairs[self.pair[index]]

    def packet(self, index: int) -> bytes:
        """Return the bytes of a packet."""
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]])

    def records(self) -> Iterator[Record]:
        """Decode the packets; yield everything in order of completion."""
        others = iter(self.others)
        other = next(others, None)
        capture, pairs, paths, carriers = self.capture, self.pairs, self.paths, self.carriers.tolist()
        numbers = (self.id, self.time, self.stream, self.pair, self.offset, self.first, self.last)
        starts, stops = self.offsets[:-1].tolist(), self.offsets[1:].tolist()
        with self.data.data as view:
            for start, stop, kind, number, time, stream, pair, offset, first, last in zip(
                starts, stops, self._kinds, *(column.tolist() for column in numbers), strict=True
            ):
                while other is not None and other.id < number:
                    yield other
                    other = next(others, None)
                (src, dst), path = pairs[pair], paths[pair]
                frames = (carriers[first],) if last - first == 1 else tuple(carriers[first:last])
                data = bytes(view[start:stop])
                place = None if stream < 0 else stream
                found = FoundPacket(number, capture, data, frames, time, src, dst, place, offset, path)
                yield _record(found, kind)
        if other is not None:
            yield other
        yield from others

    def record(self, index: int) -> Record:
        """Decode and judge one packet, once for the batch."""
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = _record(self._found(index), self._kinds[index])
        return made

    def _found(self, index: int) -> FoundPacket:
        stream, (src, dst) = int(self.stream[index]), self.endpoints(index)
        return FoundPacket(
            int(self.id[index]),
            self.capture,
            self.packet(index),
            self.frames(index),
            int(self.time[index]),
            src,
            dst,
            None if stream < 0 else stream,
            int(self.offset[index]),
            self.paths[self.pair[index]],
        )

    def only(self, ids: Array) -> PacketBatch:
        """The packets and records with some ids, and the records that such a record carried."""
        places = np.flatnonzero(np.isin(self.id, ids))
        size = (self.offsets[1:] - self.offsets[:-1])[places]
        wanted = set(ids.tolist())
        others = [at for at, one in enumerate(self.others) if one.id in wanted or one.parent in wanted]
        names = ("id", "completed", "time", "stream", "pair", "offset", "first", "last")
        return msgspec.structs.replace(
            self,
            **{name: getattr(self, name)[places] for name in names},
            data=gather(np.append(self.data, np.zeros(12, np.uint8)), self.offsets[places], size),
            offsets=np.append(0, np.cumsum(size)),
            others=tuple(self.others[at] for at in others),
            others_completed=self.others_completed[others],
        )

    def shown(self, *, streams: bool) -> Iterator[PacketBatch]:
        """The same, without ``streams`` less the steps of connections, if anything is left; ids stay."""
        kept = [at for at, one in enumerate(self.others) if streams or not is_step(one)]
        if len(self) or kept:
            yield msgspec.structs.replace(
                self,
                others=tuple(self.others[at] for at in kept),
                others_completed=self.others_completed[kept],
            )

    def types(self) -> Counter[str]:
        """Count everything by type, in the order of appearance."""
        seen: dict[str, tuple[int, int]] = {}

        def count(type_: str, first: int, many: int = 1) -> None:
            before = seen.get(type_)
            seen[type_] = (first, many) if before is None else (min(before[0], first), before[1] + many)

        for found in self.proven():
            if len(found.places):
                count(found.cls.stem(), int(self.id[found.places].min()), len(found.places))
        for place, kind in enumerate(self._kinds):
            if kind is None:
                count(self.record(place).type, int(self.id[place]))
        for other in self.others:
            count(other.type, other.id)
        return Counter({type_: many for type_, (_, many) in sorted(seen.items(), key=lambda one: one[1])})

    def proven(self) -> list[columns.ProvenPackets]:
        """The packets that are whole and break no MUST, by class, as far as that is proven.

        Judging is done for all at once, which takes a fraction of the time, and once for the batch.
        """
        return self._proven

    @cached_property
    def _made(self) -> dict[int, Record]:
        return {}

    @cached_property
    def _proven(self) -> list[columns.ProvenPackets]:
        if len(self) < _WORTH_COLUMNS or default_engine() != "rows":
            return []
        return columns.proven(self.data, self.offsets)

    @cached_property
    def _kinds(self) -> list[tuple[str, Any] | None]:
        """Type and class of every packet that is proven, None for others."""
        kinds: list[tuple[str, Any] | None] = [None] * len(self)
        for found in self.proven():
            kind = (found.cls.stem(), found.cls)
            for place in found.places.tolist():
                kinds[place] = kind
        return kinds
