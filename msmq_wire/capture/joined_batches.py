"""Packet batches of several captures as one, so that small captures share the work that a batch costs.

The rule kept here: ids and frame numbers of a part go on where those of the part before it end. `Joined` says
of each id whose it is, and what was added to it and to its frames.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from msmq_wire.capture.index import Array
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.records.record import Record
from msmq_wire.records.run import bounds

_COLUMNS = ("id", "time", "stream", "pair", "offset", "first", "last", "carriers")
_SLACK = np.zeros(64, np.uint8)
"""Bytes behind the packets, as readers of many at once want them."""


class Joined(Numbering):
    """The numbering of joined batches; ``ids`` and ``frames`` are what was added to those of each part."""

    def __init__(self) -> None:
        super().__init__()
        self.captures: list[str] = []
        self.ids: list[int] = []
        self.frames: list[int] = []

    def part(self, ids: Array) -> Array:
        """The places of the parts that ids belong to."""
        found: Array = np.searchsorted(np.array(self.ids), ids, "left") - 1
        return found

    def own(self, number: int) -> int:
        """An id as its capture has it."""
        return number - self.ids[int(self.part(np.array([number]))[0])]


def joined(parts: Sequence[tuple[PacketBatch, Numbering]]) -> tuple[PacketBatch, Numbering]:
    """Batches, each with the numbering of its capture, as one; a single one stays as it is.

    None of several is of a capture that vantage points recorded.
    """
    if len(parts) == 1:
        return parts[0]
    numbering = Joined()
    columns: dict[str, list[Array]] = defaultdict(list)
    columns["offsets"].append(np.zeros(1, np.int64))
    others: list[Record] = []
    pairs: list[tuple[str, str]] = []
    paths: list[bytes] = []
    ids = frames = carriers = size = 0
    for batch, own in parts:
        numbering.captures.append(batch.capture)
        numbering.ids.append(ids)
        numbering.frames.append(frames)
        for path, base in zip(own.paths, own.bases, strict=True):
            numbering.add(path, base + frames)
        first, last = bounds(batch)
        numbering.owned |= {ids + one: path for one, path in own.owned.items() if first <= one <= last}
        added = {"id": ids, "carriers": frames, "pair": len(pairs), "first": carriers, "last": carriers}
        for name in _COLUMNS:
            columns[name].append(getattr(batch, name) + added.get(name, 0))
        for name in ("completed", "others_completed"):
            number = getattr(batch, name)
            # Of what the end of a capture completed the number stays 0.
            columns[name].append(np.where(number > 0, number + frames, 0))
        columns["data"].append(batch.data[batch.offsets[0] : batch.offsets[-1]])
        columns["offsets"].append(batch.offsets[1:] - batch.offsets[0] + size)
        others += (_moved(record, ids, frames) for record in batch.others)
        pairs += batch.pairs
        paths += batch.paths
        carriers += len(batch.carriers)
        size += len(columns["data"][-1])
        ids += last
        frames += _highest(batch, own)
    made = {name: np.concatenate(arrays) for name, arrays in columns.items() if name != "data"}
    data = np.concatenate([*columns["data"], _SLACK])
    batch = PacketBatch(
        capture="", data=data, **made, others=tuple(others), pairs=tuple(pairs), paths=tuple(paths)
    )
    return batch, numbering


def _moved(record: Record, ids: int, frames: int) -> Record:
    return replace(
        record,
        id=record.id + ids,
        parent=None if record.parent is None else record.parent + ids,
        frames=tuple([one + frames for one in record.frames]),
    )


def _highest(batch: PacketBatch, numbering: Numbering) -> int:
    """The largest number of a frame that a batch or its numbering has."""
    arrays = (batch.carriers, batch.completed, batch.others_completed, np.array(numbering.bases))
    largest = [int(one.max(initial=0)) for one in arrays]
    return max(*largest, *(max(record.frames, default=0) for record in batch.others))
