"""Captures as runs, for whatever takes runs as it is fed records: all of them, and scenes in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import strategies as st

from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.batches import read_batches
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.records.record import FoundPacket, Item, Record

__all__ = [
    "CAPTURES",
    "FIXTURES",
    "SESSION_SCENES",
    "SHUFFLES",
    "Shuffle",
    "decoded_while",
    "in_batches_of",
    "read",
    "with_holes",
]

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CAPTURES = sorted(
    path for path in FIXTURES.rglob("*") if path.name.endswith((".pcap", ".pcapng", ".pcap.gz"))
)
SESSION_SCENES = sorted((FIXTURES / "sessions").glob("*.pcap"))


def read(path: Path, size: int | None = None) -> list[PacketBatch]:
    """A capture in batches of so many bytes."""
    return list(read_batches(path, streams=True, chunk_size=size))


def with_holes(batch: PacketBatch) -> PacketBatch:
    """The same with ids that do not follow each other, as those of captures that several read."""
    others = tuple(
        msgspec.structs.replace(one, id=one.id << 24, parent=None if one.parent is None else one.parent << 24)
        for one in batch.others
    )
    return msgspec.structs.replace(batch, id=batch.id << 24, others=others)


def decoded_while(take: Callable[[PacketBatch], object], patch: pytest.MonkeyPatch) -> list[Record]:
    """What is decoded of a batch with messages and acknowledgments of all kinds while it is taken."""
    (batch,) = read(FIXTURES / "sessions" / "transactional_acks.pcap")
    stems = {found.cls.stem() for found in batch.proven() if len(found.places)}
    assert stems >= {"user_message", "session_ack", "order_ack"}
    decoded: list[Record] = []
    record = PacketBatch.record

    def note(self: PacketBatch, place: int) -> Record:
        found = record(self, place)
        decoded.append(found)
        return found

    patch.setattr(PacketBatch, "record", note)
    take(batch)
    return decoded


@cache
def _items(path: Path) -> tuple[Item, ...]:
    """The packets of a scene and what else is told of its connections."""
    found: list[Item] = []
    for batch in read(path):
        items: dict[int, Item] = {
            int(batch.id[place]): FoundPacket(
                int(batch.id[place]),
                batch.capture,
                batch.packet(place),
                batch.frames(place),
                int(batch.time[place]),
                *batch.endpoints(place),
                None if batch.stream[place] < 0 else int(batch.stream[place]),
                int(batch.offset[place]),
            )
            for place in range(len(batch))
        }
        items |= {other.id: other for other in batch.others if other.parent is None}
        found += [items[number] for number in sorted(items)]
    return tuple(found)


def in_batches_of(items: Sequence[Item], size: int) -> list[PacketBatch]:
    """Items in this order, numbered anew, so many in a batch."""
    found: list[PacketBatch] = []
    for at in range(0, len(items), size):
        some = enumerate(items[at : at + size], at + 1)
        numbered = [msgspec.structs.replace(one, id=number) for number, one in some]
        found.append(batch_of(items[0].capture, numbered))
    return found


class Shuffle(msgspec.Struct, frozen=True):
    """Places that are ``moved``, ``repeated`` behind the end, and ``dropped``."""

    moved: list[tuple[int, int]]
    repeated: list[int]
    dropped: set[int]

    def batches(self, path: Path, size: int) -> list[PacketBatch]:
        """A capture so shuffled, so many items in a batch."""
        items = list(_items(path))
        for start, end in self.moved:
            items.insert(end % len(items), items.pop(start % len(items)))
        items += [items[place % len(items)] for place in self.repeated]
        return in_batches_of([one for place, one in enumerate(items) if place not in self.dropped], size)


SHUFFLES = st.builds(
    Shuffle,
    moved=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=6),
    repeated=st.lists(st.integers(0, 99), max_size=6),
    dropped=st.sets(st.integers(0, 99), max_size=6),
)
