"""`BatchBuilder`: brings the records and undecoded packets of one chunk into order."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.reassembly.bulk import Payloads, gather
from msmq_wire.records.record import FoundPacket, Item, Record

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
    pair: Array
    time: Array
    first: Array
    last: Array
    carriers: Array


class BatchBuilder:
    """Collects what the frames of one chunk complete.

    ``numbers`` and ``time`` are those of its frames. Nothing gets an id until `batch` has
    everything: packets of regular connections are found before the records of frames that came earlier.
    """

    def __init__(self, numbers: Array, time: Array) -> None:
        self._numbers = numbers
        self._time = time
        self._records: list[Record] = []
        self._keys: list[int] = []
        self._found: list[FoundPacket] = []
        self._found_keys: list[int] = []
        self._count = 0
        self._bursts: list[tuple[Array, Array, int, int, int, int]] = []
        self._packets: list[_Packets] = []
        self._pairs: dict[tuple[tuple[str, str], bytes], int] = {}

    def add(self, items: Sequence[Item], index: int) -> None:
        """Take what the frame at ``index`` completed."""
        for item in items:
            self._count += 1
            key = index << _FRAME | self._count
            if isinstance(item, FoundPacket):
                self._found.append(item)
                self._found_keys.append(key)
            else:
                self._records.append(item)
                self._keys.append(key)

    def _pair(self, names: tuple[str, str], path: bytes) -> int:
        return self._pairs.setdefault((names, path), len(self._pairs))

    def burst(
        self, start: Array, stop: Array, stream: int, shift: int, names: tuple[str, str], path: bytes
    ) -> None:
        """Take packets at ``start`` to ``stop`` of the piece's payload, at ``shift`` more in their stream.

        ``names`` are the texts for their source and destination, ``path`` what they were captured in.
        """
        self._count += 1
        self._bursts.append((start, stop, stream, self._pair(names, path), shift, self._count))

    def close(self, payloads: Payloads, index: Array) -> None:
        """End a piece whose payloads were carried by the frames at ``index``."""
        if not self._bursts:
            return
        starts, stops, *numbers = zip(*self._bursts, strict=True)
        self._bursts = []
        count = [len(start) for start in starts]
        stream, pair, shift, order = (np.repeat(np.array(one, np.int64), count) for one in numbers)
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
                pair=pair,
                time=self._time[index[last - 1]],
                first=first,
                last=last,
                carriers=self._numbers[index],
            )
        )

    def _close_found(self) -> None:
        """Make columns of the packets that were found one by one."""
        found, self._found = self._found, []
        if not found:
            return
        until = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(packet.data) for packet in found], out=until[1:])
        carried = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(packet.frames) for packet in found], out=carried[1:])
        frames = [number for packet in found for number in packet.frames]
        self._packets.append(
            _Packets(
                data=np.frombuffer(b"".join([*(packet.data for packet in found), bytes(16)]), np.uint8),
                start=until[:-1],
                stop=until[1:],
                key=np.array(self._found_keys, np.int64),
                offset=np.array([packet.offset for packet in found], np.int64),
                stream=np.array(
                    [-1 if packet.stream is None else packet.stream for packet in found], np.int64
                ),
                pair=np.array(
                    [self._pair((packet.src, packet.dst), packet.path) for packet in found], np.int64
                ),
                time=np.array([packet.time for packet in found], np.int64),
                first=carried[:-1],
                last=carried[1:],
                carriers=np.array(frames, np.int64),
            )
        )

    def batch(self, capture: str, first_id: int) -> PacketBatch:
        """Number everything from ``first_id`` on, in the order of completion."""
        self._close_found()
        packets = self._joined()
        count = len(packets.start)
        keys = np.append(packets.key, np.array(self._keys, np.int64))
        order = np.argsort(keys, kind="stable")
        number = np.empty(len(keys), np.int64)
        number[order] = np.arange(first_id, first_id + len(keys))
        renumbered: dict[int, int] = {}
        for record, own in zip(self._records, number[count:].tolist(), strict=True):
            # Nobody has seen it yet.
            renumbered[record.id] = own
            msgspec.structs.force_setattr(record, "id", own)
        for record in self._records:
            if record.parent is not None:
                # What carried it was completed by the same frame.
                msgspec.structs.force_setattr(record, "parent", renumbered[record.parent])
        others = np.argsort(number[count:])
        # What the end of the capture completes has no frame.
        completed = self._numbers[keys >> _FRAME] if len(self._numbers) else np.zeros(len(keys), np.int64)
        place = order[order < count]
        start, stop = packets.start[place], packets.stop[place]
        size = stop - start
        if count and (start[1:] == stop[:-1]).all():
            data = packets.data[start[0] : stop[-1]]
        else:
            data = gather(packets.data, start, size)
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(size, out=offsets[1:])
        return PacketBatch(
            capture=capture,
            data=data,
            offsets=offsets,
            id=number[place],
            completed=completed[place],
            time=packets.time[place],
            stream=packets.stream[place],
            pair=packets.pair[place],
            offset=packets.offset[place],
            first=packets.first[place],
            last=packets.last[place],
            carriers=packets.carriers,
            others=tuple(self._records[place] for place in others.tolist()),
            others_completed=completed[count:][others],
            pairs=tuple(names for names, _ in self._pairs),
            paths=tuple(path for _, path in self._pairs),
        )

    def _joined(self) -> _Packets:
        """The packets of all pieces as those of one."""
        parts = self._packets
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, np.int64)
        if not parts:
            data = np.zeros(16, np.uint8)
            return _Packets(data, *(none for _ in range(10)))
        base = np.cumsum([0, *(len(part.data) for part in parts[:-1])])
        before = np.cumsum([0, *(len(part.carriers) for part in parts[:-1])])
        return _Packets(
            data=np.concatenate([part.data for part in parts]),
            start=np.concatenate([part.start + at for part, at in zip(parts, base, strict=True)]),
            stop=np.concatenate([part.stop + at for part, at in zip(parts, base, strict=True)]),
            key=np.concatenate([part.key for part in parts]),
            offset=np.concatenate([part.offset for part in parts]),
            stream=np.concatenate([part.stream for part in parts]),
            pair=np.concatenate([part.pair for part in parts]),
            time=np.concatenate([part.time for part in parts]),
            first=np.concatenate([part.first + at for part, at in zip(parts, before, strict=True)]),
            last=np.concatenate([part.last + at for part, at in zip(parts, before, strict=True)]),
            carriers=np.concatenate([part.carriers for part in parts]),
        )


def batch_of(capture: str, items: Sequence[Item]) -> PacketBatch:
    """The batch of what is complete once no more frames come, in the order and with the ids that it has."""
    none = np.zeros(0, np.int64)
    builder = BatchBuilder(none, none)
    builder.add(items, 0)
    return builder.batch(capture, items[0].id)
