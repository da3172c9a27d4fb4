"""`PacketBatch`: packets of a capture by column, their bytes in one buffer, before anything is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.records.record import Record, packet_record

__all__ = ["PacketBatch"]


class PacketBatch(msgspec.Struct, frozen=True, eq=False):
    """Packets of the binary protocol in order of completion, and the records between them.

    Packet ``i`` has the bytes ``data[offsets[i] : offsets[i + 1]]`` (uint8; ``data`` may go on behind the
    last one). The other columns are int64, one value a packet: ``id``, ``time``, ``stream`` and ``offset`` as
    in `Record`, ``direction`` 0 or 1 as in `TcpReassembler`, ``frame`` the number of the frame that
    completes it. The numbers of all frames that carry it are ``carriers[first[i] : last[i]]``. ``others`` are
    the records that are no packet of a regular connection; the ids of both together are without a hole.
    ``names`` has source and destination of direction 0 of the streams in ``stream``.
    """

    capture: str
    data: Array
    offsets: Array
    id: Array
    frame: Array
    time: Array
    stream: Array
    direction: Array
    offset: Array
    first: Array
    last: Array
    carriers: Array
    others: tuple[Record, ...]
    names: dict[int, tuple[str, str]]

    @classmethod
    def of_records(cls, capture: str, records: Sequence[Record]) -> PacketBatch:
        """A batch without packets."""
        none = np.zeros(0, np.int64)
        return cls(
            capture=capture,
            data=np.zeros(0, np.uint8),
            offsets=np.zeros(1, np.int64),
            id=none,
            frame=none,
            time=none,
            stream=none,
            direction=none,
            offset=none,
            first=none,
            last=none,
            carriers=none,
            others=tuple(records),
            names={},
        )

    def __len__(self) -> int:
        return len(self.id)

    def frames(self, index: int) -> tuple[int, ...]:
        """Return the numbers of the frames that carry a packet."""
        return tuple(self.carriers[self.first[index] : self.last[index]].tolist())

    def endpoints(self, stream: int, direction: int = 0) -> tuple[str, str]:
        """Return source and destination of a stream, as in `Record`."""
        names = self.names[stream]
        return names if direction == 0 else (names[1], names[0])

    def packet(self, index: int) -> bytes:
        """Return the bytes of a packet."""
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]])

    def records(self) -> Iterator[Record]:
        """Decode the packets; yield everything in order of completion."""
        others = iter(self.others)
        other = next(others, None)
        capture, names, carriers = self.capture, self.names, self.carriers.tolist()
        columns = (self.id, self.time, self.stream, self.direction, self.offset, self.first, self.last)
        starts, stops = self.offsets[:-1].tolist(), self.offsets[1:].tolist()
        with self.data.data as view:
            for start, stop, number, time, stream, direction, offset, first, last in zip(
                starts, stops, *(column.tolist() for column in columns), strict=True
            ):
                while other is not None and other.id < number:
                    yield other
                    other = next(others, None)
                src, dst = names[stream]
                if direction:
                    src, dst = dst, src
                frames = tuple(carriers[first:last])
                data = bytes(view[start:stop])
                yield packet_record(number, capture, data, frames, time, src, dst, stream, offset)
        if other is not None:
            yield other
        yield from others
