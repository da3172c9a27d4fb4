"""A replay that takes packets by column says what one says that is fed records, each at its record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.build_replay_sessions import SCENES
from msmq_wire.capture import packet_batch
from msmq_wire.capture.batches import PacketBatch, read_batches
from msmq_wire.capture.harvest import batch_of
from msmq_wire.records.record import FoundPacket, Item, Record
from msmq_wire.records.run import in_order
from msmq_wire.replay import Replayer
from msmq_wire.replay.columns import observed
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.replay.rules.contents import shown_by
from msmq_wire.replay.user_packet import user_packet
from tests.effort import examples, in_batches

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted(
    path for path in _FIXTURES.rglob("*") if path.name.endswith((".pcap", ".pcapng", ".pcap.gz"))
)
_SCENES = [_FIXTURES / "findings" / f"{name}.pcap" for name in SCENES] + sorted(
    (_FIXTURES / "sessions").glob("*.pcap")
)

Told: TypeAlias = list[tuple[int, ReplayDeviation]]


@pytest.fixture(autouse=True, scope="module")
def _few_are_worth_columns() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packet_batch, "_WORTH_COLUMNS", 1)
        yield


def _read(path: Path, size: int | None = None) -> list[PacketBatch]:
    return list(read_batches(path, streams=True, chunk_size=size))


def _taken(batches: Sequence[PacketBatch]) -> Told:
    replayer = Replayer()
    found = [told for batch in batches for told in replayer.take(batch)]
    return [*found, *((0, one) for one in replayer.finish())]


def _fed(batches: Sequence[PacketBatch]) -> Told:
    replayer = Replayer()
    records = (record for batch in batches for record in in_order(batch))
    found = [(record.id, one) for record in records for one in replayer.feed(record)]
    return [*found, *((0, one) for one in replayer.finish())]


@in_batches(_CAPTURES)
def test_a_capture_that_is_taken_deviates_as_one_that_is_fed(path: Path) -> None:
    batches = _read(path)
    assert _taken(batches) == _fed(batches)


@in_batches(_CAPTURES, every=27)
def test_tiny_batches_deviate_as_records_do(path: Path) -> None:
    batches = _read(path, 300)
    assert _taken(batches) == _fed(batches)


def test_whole_user_packets_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    (batch,) = _read(_FIXTURES / "sessions" / "transactional_acks.pcap")
    user = {found.cls.stem(): len(found.places) for found in batch.proven()}
    assert user.keys() >= {"user_message", "session_ack", "order_ack"}
    decoded: list[str] = []
    record = PacketBatch.record

    def note(self: PacketBatch, place: int) -> Record:
        found = record(self, place)
        decoded.append(found.type)
        return found

    monkeypatch.setattr(PacketBatch, "record", note)
    Replayer().take(batch)
    assert set(decoded) == {"establish_connection", "connection_parameters"}


@in_batches(_CAPTURES)
def test_what_is_read_by_column_is_what_is_read_of_records(path: Path) -> None:
    for batch in _read(path):
        seen = observed(batch)
        for place, packet in enumerate(seen.packets):
            if packet is None and seen.headers[place] is None:
                continue
            record = batch.record(place)
            header = record.packet.session_header
            if header is not None:
                header = msgspec.structs.replace(
                    header, user_msg_sequence_number=0, recoverable_msg_seq_number=0, reserved=0
                )
            assert seen.headers[place] == header
            if packet is not None:
                due = user_packet(record)
                assert due is not None
                asked = record.type != "user_message" or packet.message_class
                assert packet == (due if asked else msgspec.structs.replace(due, about=packet.about))
                assert seen.shown[place] == (shown_by(record) if record.type == "user_message" else None)


@cache
def _items(path: Path) -> tuple[Item, ...]:
    """The packets of a scene and what else is told of its connections."""
    found: list[Item] = []
    for batch in _read(path):
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


def _numbered(item: Item, number: int) -> Item:
    return msgspec.structs.replace(item, id=number)


def _batches(items: Sequence[Item], size: int) -> list[PacketBatch]:
    """Items in this order, numbered anew, so many in a batch."""
    found: list[PacketBatch] = []
    for at in range(0, len(items), size):
        some = enumerate(items[at : at + size], at + 1)
        found.append(batch_of(items[0].capture, [_numbered(one, number) for number, one in some]))
    return found


@settings(max_examples=examples(800), deadline=None)
@given(
    path=st.sampled_from(_SCENES),
    moved=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=6),
    dropped=st.sets(st.integers(0, 99), max_size=6),
    repeated=st.lists(st.integers(0, 99), max_size=6),
    size=st.integers(1, 40),
)
def test_packets_in_any_order_some_of_them_twice_deviate_as_records_do(
    path: Path, moved: list[tuple[int, int]], dropped: set[int], repeated: list[int], size: int
) -> None:
    items = list(_items(path))
    for start, end in moved:
        items.insert(end % len(items), items.pop(start % len(items)))
    items += [items[place % len(items)] for place in repeated]
    items = [one for place, one in enumerate(items) if place not in dropped]
    if items:
        batches = _batches(items, size)
        assert _taken(batches) == _fed(batches)
