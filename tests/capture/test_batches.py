"""Reading by column gives what reading frame by frame gives: records, order, numbers, summary."""

from __future__ import annotations

import io
import itertools
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.capture import batches, chunks, reader, segment_batch
from msmq_wire.capture.batches import BatchReader, read_batches
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly import tcp
from msmq_wire.records import finder, other_ports, packet_reader
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Item, Record
from msmq_wire.records.run import Run, in_order
from tests.effort import examples, in_batches, seeds, share
from tests.whole_repr import whole_repr

CAPTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "captures").glob("*.pcap*"))
DEMO = CAPTURES[0]

Make = Callable[..., bytes]


def shown(records: list[Record]) -> list[Any]:
    """Records as values that compare: errors are equal only to themselves."""
    found: list[Any] = []
    for record in records:
        found.append(msgspec.structs.replace(record, error=None))
        if record.error is not None:
            error = record.error
            found.append((error.code, error.path, error.offset, error.message, whole_repr(error.partial)))
    return found


def outcome(source: Any, *, columns: bool, batched: bool = False, **options: Any) -> tuple[Any, ...]:
    """What reading a capture gives, the summary included."""
    if isinstance(source, bytes):
        source = io.BytesIO(source)
    try:
        with CaptureReader(source, columns=columns, **options) as capture:
            records = list(in_batch_order(capture.batched()) if batched else capture)
    except CaptureError as error:
        return error.message, error.offset
    summary = capture.summary
    counts = summary.skipped, summary.notices, list(summary.packets.items())
    return shown(records), summary.frames, summary.understood, counts


def in_batch_order(items: Iterable[Record | Run]) -> Iterator[Record]:
    for item in items:
        yield from (item,) if isinstance(item, Record) else in_order(item)


@pytest.fixture
def chunked(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Set the size of a chunk, and how few frames are taken one by one."""

    def set_sizes(size: int, few: int) -> None:
        monkeypatch.setattr(batches, "CHUNK_SIZE", size)
        monkeypatch.setattr(reader, "_CHUNK_SIZE", size)
        monkeypatch.setattr(chunks, "FEW_FRAMES", few)

    return set_sizes


@pytest.mark.slow
@pytest.mark.parametrize("streams", [False, True])
@in_batches(CAPTURES, every=3)
def test_a_fixture_gives_the_same_by_column(
    path: Path, streams: bool, chunked: Callable[[int, int], None]
) -> None:
    expected = outcome(path, columns=False, streams=streams)
    sizes = itertools.product((100, 700, 3000, 1 << 20), (0, 3, 64))
    for size, few in share([*sizes], 5, zlib.crc32(path.name.encode())):
        chunked(size, few)
        assert outcome(path, columns=True, streams=streams) == expected
        assert outcome(path, columns=True, batched=True, streams=streams) == expected


def compare(
    data: bytes, source: random.Random, chunked: Callable[[int, int], None], *, streams: bool
) -> None:
    options: dict[str, Any] = {"ports": source.choice(((), (2000,))), "streams": streams}
    expected = outcome(data, columns=False, **options)
    for size, few in ((source.choice((200, 2000)), 0), (1 << source.randrange(12, 18), 5), (1 << 22, 64)):
        chunked(size, few)
        assert outcome(data, columns=True, **options) == expected
        assert outcome(data, columns=True, batched=True, **options) == expected


@pytest.mark.slow
@pytest.mark.parametrize("faults", [0, 0.02, 0.2])
@pytest.mark.parametrize("seed", share(range(12), 4))
def test_the_same_ends_in_several_vlans_give_the_same_by_column(
    seed: int, faults: float, traffic: Make, chunked: Callable[[int, int], None]
) -> None:
    source = random.Random(seed)
    data = traffic(seed, source.choice((2, 6, 12)), faults, paths=True)
    compare(data, source, chunked, streams=bool(seed & 1))


@pytest.mark.slow
@pytest.mark.parametrize("faults", [0, 0.01, 0.05, 0.25])
@pytest.mark.parametrize("seed", share(range(12), 4))
def test_random_traffic_gives_the_same_by_column(
    seed: int, faults: float, traffic: Make, chunked: Callable[[int, int], None]
) -> None:
    source = random.Random(seed)
    data = traffic(seed, source.choice((1, 4, 12)), faults, source.choice("<>"))
    compare(data, source, chunked, streams=bool(seed & 1))


def pcapng(pcap: bytes, source: random.Random) -> bytes:
    """The frames of a capture in the blocks of a pcapng file, two interfaces and other blocks among them."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))

    nanoseconds = struct.pack("<HHBxxxI", 9, 1, 9, 0)
    parts = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, 0) + nanoseconds),
        block(1, struct.pack("<HHI", 1, 0, 0)),
    ]
    for frame in read_frames(io.BytesIO(pcap)):
        size = len(frame.data)
        kind = source.choice((6, 6, 6, 6, 6, 6, 6, 2, 3))
        if source.random() < 0.02:
            parts.append(block(5, bytes(20)))
        if kind == 3:
            parts.append(block(3, struct.pack("<I", size) + frame.data))
            continue
        interface = source.randrange(2)
        high, low = divmod((frame.time or 0) // (1 if interface == 0 else 1000), 1 << 32)
        parts.append(block(kind, struct.pack("<IIIII", interface, high, low, size, size) + frame.data))
    return b"".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_pcapng_gives_the_same_by_column(
    seed: int, traffic: Make, chunked: Callable[[int, int], None]
) -> None:
    data = pcapng(traffic(seed, 6, 0.03), random.Random(seed))
    expected = outcome(data, columns=False)
    assert len(expected[0]) > 10
    for size in (500, 9_000, 1 << 22):
        chunked(size, 3)
        assert outcome(data, columns=True) == expected


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(seed=st.integers(0, 1 << 20), cut=st.integers(0, 1 << 16), size=st.integers(100, 1 << 16))
def test_a_capture_cut_anywhere_gives_the_same_by_column(
    traffic: Make, seed: int, cut: int, size: int
) -> None:
    data = traffic(seed, 4, 0.03)
    data = data[: max(24, len(data) - cut)]
    expected = outcome(data, columns=False)
    found: list[Record] = []
    for batch in read_batches(io.BytesIO(data), chunk_size=size):
        found += batch.records()
    assert shown(found) == expected[0]


@pytest.mark.parametrize("damage", [b"", bytes(5), struct.pack("<IIII", 0, 0, 1 << 30, 0)])
def test_frames_that_complete_nothing_are_counted_before_damage(
    damage: bytes, chunked: Callable[[int, int], None]
) -> None:
    records = [struct.pack("<IIII", 1, 0, 60, 60) + bytes(60)] * 200
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records) + damage
    expected = outcome(data, columns=False)
    assert expected[1] == len(records)
    for size in (500, 1 << 20):
        chunked(size, 0)
        assert outcome(data, columns=True) == expected


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (packet_reader, "_MAX_HELD", 5_000),
        (packet_reader, "_MAX_HELD", 60_000),
        (other_ports, "_MAX_CONNECTIONS", 1),
        (other_ports, "_MAX_CONNECTIONS", 3),
        (finder, "_MAX_CARRIED", 2),
        (tcp, "TAIL_TOTAL", 20_000),
        (tcp, "TAIL_TOTAL", 200_000),
    ],
)
def test_limits_that_connections_share_work_the_same_by_column(
    place: Any,
    name: str,
    value: int,
    monkeypatch: pytest.MonkeyPatch,
    traffic: Make,
    chunked: Callable[[int, int], None],
) -> None:
    monkeypatch.setattr(place, name, value)
    if place is tcp:
        monkeypatch.setattr(segment_batch, name, value)
    for seed in seeds(6):
        data = traffic(seed, 12, 0.05)
        expected = outcome(data, columns=False)
        for size in (3_000, 50_000, 1 << 22):
            chunked(size, 3)
            assert outcome(data, columns=True) == expected


@pytest.mark.slow
@pytest.mark.parametrize("limit", [{"max_connections": 6}, {"max_pending_total": 6_000}])
def test_limits_of_reassembly_work_the_same_by_column(
    limit: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    traffic: Make,
    chunked: Callable[[int, int], None],
) -> None:
    def limited(**options: Any) -> tcp.TcpReassembler:
        options.update(limit)
        return tcp.TcpReassembler(**options)

    monkeypatch.setattr(finder, "TcpReassembler", limited)
    for seed in seeds(6):
        data = traffic(seed, 12, 0.05)
        expected = outcome(data, columns=False)
        for size in (3_000, 1 << 22):
            chunked(size, 3)
            assert outcome(data, columns=True) == expected


def test_a_batch_tells_of_its_packets_what_the_records_tell(traffic: Make) -> None:
    data = traffic(2, 12, 0)
    records = {record.id: record for record in read_capture(io.BytesIO(data))}
    seen: list[int] = []
    packets = 0
    for batch in read_batches(io.BytesIO(data), chunk_size=100_000):
        packets += len(batch)
        seen += [record.id for record in batch.others]
        assert len(batch.offsets) == len(batch) + 1
        assert (np.diff(batch.id) > 0).all()
        for index, number in enumerate(batch.id.tolist()):
            seen.append(number)
            record = records[number]
            assert batch.frames(index) == record.frames
            assert int(batch.time[index]) == record.time
            assert int(batch.stream[index]) == (-1 if record.stream is None else record.stream)
            assert int(batch.offset[index]) == record.offset
            assert len(batch.packet(index)) == record.length
            assert batch.endpoints(index) == (record.src, record.dst)
    assert sorted(seen) == list(records)
    assert packets > len(records) / 3


@pytest.mark.slow
def test_every_item_names_the_frame_that_completed_it(traffic: Make) -> None:
    for seed in range(4):
        data = traffic(seed, 12, seed / 20)
        whole = PacketFinder()
        frames = FrameDecoder(whole)
        expected: dict[int, int] = {}
        for frame in read_frames(io.BytesIO(data)):
            expected |= {item.id: frame.number for item in frames.frame(frame)}
        expected |= {item.id: 0 for item in whole.finish()}
        found: dict[int, int] = {}
        for batch in read_batches(io.BytesIO(data), chunk_size=50_000, streams=True):
            found |= dict(zip(batch.id.tolist(), batch.completed.tolist(), strict=True))
            others = [record.id for record in batch.others]
            found |= dict(zip(others, batch.others_completed.tolist(), strict=True))
        assert found == expected


def test_packets_lie_one_behind_the_other_in_one_buffer(traffic: Make) -> None:
    for batch in read_batches(io.BytesIO(traffic(4, 12, 0))):
        for index in range(len(batch)):
            data = batch.packet(index)
            assert data[4:8] == b"LIOR" or data[2:4] == b"HU"
            assert bytes(batch.data[batch.offsets[index] : batch.offsets[index + 1]]) == data
        assert len(batch.data) >= batch.offsets[-1]


@pytest.mark.slow
def test_regular_traffic_is_read_by_column(traffic: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one = 0
    take = finder.PacketFinder.segment

    def counted(self: finder.PacketFinder, segment: Any) -> Sequence[Item]:
        nonlocal one_by_one
        one_by_one += 1
        return take(self, segment)

    monkeypatch.setattr(finder.PacketFinder, "segment", counted)
    frames = sum(outcome(traffic(seed, 4, 0), columns=True)[1] for seed in range(8))
    assert one_by_one < frames / 4


@pytest.mark.slow
def test_a_pipe_a_small_file_and_the_reference_engine_are_read_frame_by_frame(
    tmp_path: Path, traffic: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    def by_column(source: Any, *, batched: bool = False) -> bool:
        built: list[BatchReader] = []
        build = BatchReader.__init__

        def noted(self: BatchReader, *arguments: Any, **options: Any) -> None:
            built.append(self)
            build(self, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(BatchReader, "__init__", noted)
            with CaptureReader(source) as reader:
                list(reader.batched() if batched else reader)
        return bool(built)

    data = traffic(2, 30, 0)
    path = tmp_path / "capture.pcap"
    path.write_bytes(data)
    monkeypatch.setattr(reader, "_WORTH_COLUMNS", len(data))
    assert by_column(path)
    assert by_column(io.BytesIO(data))
    assert not by_column(Pipe(data))
    assert not by_column(DEMO)
    monkeypatch.setattr(reader, "_WORTH_COLUMNS", 3 * len(data))
    assert by_column(path)
    monkeypatch.setattr(reader, "_loaded", lambda: False)
    assert not by_column(path)
    assert by_column(path, batched=True)
    monkeypatch.setattr(reader, "default_engine", lambda: "reference")
    assert not by_column(path)


@pytest.mark.slow
def test_numpy_and_pyarrow_are_loaded_only_to_read_by_column_and_pandas_never() -> None:
    program = (
        "import sys; from msmq_wire import CaptureReader\n"
        "by_column = sys.argv[2] == 'columns'\n"
        "if by_column: from msmq_wire.capture import packet_batch; packet_batch._WORTH_COLUMNS = 0\n"
        "list(CaptureReader(sys.argv[1], columns=by_column))\n"
        "print(*(name in sys.modules for name in ('numpy', 'pyarrow', 'pandas')))"
    )
    for how, loaded in (("frames", "False False False"), ("columns", "True True False")):
        command = [sys.executable, "-c", program, str(DEMO), how]
        reported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert reported.strip() == loaded
