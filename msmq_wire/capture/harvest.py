"""What a chunk of a capture gave: records, and packets that are not decoded, brought into one order."""

from __future__ import annotations

import msgspec
import numpy as np

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.reassembly.bulk import Payloads, gather
from msmq_wire.records.record import Record

__all__ = ["Harvest"]

# Order in a chunk: the frame that completes something, then the order in which that was found.
_FRAME = 40


class _Packets(msgspec.Struct, frozen=True, eq=False):
    """The packets of a piece, by column; ``start`` and ``stop`` are places in ``data``."""

    data: Array
    start: Array
    stop: Array
    key: Array
    offset: Array
    stream: Array
    direction: Array
    first: Array
    last: Array
    carriers: Array


class Harvest:
    """Collects what the frames of one chunk complete.

    Nothing is numbered until `batch` has everything: packets of regular connections are found before the
    records of frames that came earlier.
    """

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._records: list[Record] = []
        self._keys: list[int] = []
        self._count = 0
        self._bursts: list[tuple[Array, Array, int, int, int, int]] = []
        self._packets: list[_Packets] = []
        self._names: dict[int, tuple[str, str]] = {}

    def add(self, records: list[Record], index: int) -> None:
        """Take the records that the frame at ``index`` completed."""
        for record in records:
            self._count += 1
            self._records.append(record)
            self._keys.append(index << _FRAME | self._count)

    def burst(
        self, start: Array, stop: Array, stream: int, direction: int, shift: int, names: tuple[str, str]
    ) -> None:
        """Take packets at ``start`` to ``stop`` of the piece's payload, at ``shift`` more in their stream."""
        self._count += 1
        self._bursts.append((start, stop, stream, direction, shift, self._count))
        self._names[stream] = names

    def close(self, payloads: Payloads, index: Array) -> None:
        """End a piece whose payloads were carried by the frames at ``index``."""
        if not self._bursts:
            return
        starts, stops, *numbers = zip(*self._bursts, strict=True)
        self._bursts = []
        count = [len(start) for start in starts]
        stream, direction, shift, order = (np.repeat(np.array(one, np.int64), count) for one in numbers)
        start, stop = np.concatenate(starts), np.concatenate(stops)
        first = np.searchsorted(payloads.until, start, side="right") - 1
        last = np.searchsorted(payloads.until, stop, side="left")
        self._packets.append(
            _Packets(
                data=payloads.data,
                start=start,
                stop=stop,
                key=index[last - 1] << _FRAME | order,
                offset=start + shift,
                stream=stream,
                direction=direction,
                first=first,
                last=last,
                carriers=index,
            )
        )

    def batch(self, capture: str, first_id: int) -> PacketBatch:
        """Number everything from ``first_id`` on, in the order of completion."""
        chunk, packets = self._chunk, self._joined()
        count = len(packets.start)
        keys = np.append(packets.key, np.array(self._keys, np.int64))
        order = np.argsort(keys, kind="stable")
        number = np.empty(len(keys), np.int64)
        number[order] = np.arange(first_id, first_id + len(keys))
        for record, own in zip(self._records, number[count:].tolist(), strict=True):
            # Nobody has seen it yet.
            msgspec.structs.force_setattr(record, "id", own)
        sorted_records = [self._records[place] for place in np.argsort(number[count:]).tolist()]
        place = order[order < count]
        start, stop = packets.start[place], packets.stop[place]
        size = stop - start
        if count and (start[1:] == stop[:-1]).all():
            data = packets.data[start[0] : stop[-1]]
        else:
            data = gather(packets.data, start, size)
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(size, out=offsets[1:])
        frame = packets.key[place] >> _FRAME
        return PacketBatch(
            capture=capture,
            data=data,
            offsets=offsets,
            id=number[place],
            frame=frame + chunk.number,
            time=chunk.time[frame],
            stream=packets.stream[place],
            direction=packets.direction[place],
            offset=packets.offset[place],
            first=packets.first[place],
            last=packets.last[place],
            carriers=packets.carriers + chunk.number,
            others=tuple(sorted_records),
            names=self._names,
        )

    def _joined(self) -> _Packets:
        """The packets of all pieces as those of one."""
        parts = self._packets
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, np.int64)
        if not parts:
            data = np.zeros(16, np.uint8)
            return _Packets(data, none, none, none, none, none, none, none, none, none)
        base = np.cumsum([0, *(len(part.data) for part in parts[:-1])])
        before = np.cumsum([0, *(len(part.carriers) for part in parts[:-1])])
        return _Packets(
            data=np.concatenate([part.data for part in parts]),
            start=np.concatenate([part.start + at for part, at in zip(parts, base, strict=True)]),
            stop=np.concatenate([part.stop + at for part, at in zip(parts, base, strict=True)]),
            key=np.concatenate([part.key for part in parts]),
            offset=np.concatenate([part.offset for part in parts]),
            stream=np.concatenate([part.stream for part in parts]),
            direction=np.concatenate([part.direction for part in parts]),
            first=np.concatenate([part.first + at for part, at in zip(parts, before, strict=True)]),
            last=np.concatenate([part.last + at for part, at in zip(parts, before, strict=True)]),
            carriers=np.concatenate([part.carriers for part in parts]),
        )
