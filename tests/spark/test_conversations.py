"""Frames in any order, some of them twice, give the records of `read_capture`, with ids that never change."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from backports import zstd
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from msmq_wire import read_capture
from msmq_wire.capture.listing import list_files
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.records.record import Record
from msmq_wire.spark import conversations
from msmq_wire.spark.conversations import Conversations
from msmq_wire.spark.frame_runs import RUN_ORDER, RUN_SCHEMA
from msmq_wire.spark.group_job import read_runs
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.split_planning import place_splits
from tests.capture.conftest import Traffic
from tests.effort import examples, in_batches, remembered
from tests.whole_repr import whole_repr

pytestmark = pytest.mark.needs("pyspark")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.rglob("*.pcap*"))
WHOLE = 1 << 40
AT_END = 1 << 61
START = 1_700_000_000_000_000_000


def frames_below(*paths: Path, split_bytes: int = WHOLE, scope: Any = "group", **options: Any) -> Any:
    """The frames of captures as their splits give them: a table of `RUN_SCHEMA`."""
    asked = ReadOptions(split_bytes=split_bytes, scope=scope, **options)
    files = list_files([str(path) for path in paths]).files
    batches = [batch for one in place_splits(files, asked, {}) for batch in read_runs(one, asked)]
    return pa.Table.from_batches(batches, RUN_SCHEMA)


def shuffled(frames: Any, seed: int, twice: float = 0.3) -> Any:
    """The same rows in another order, some of them twice."""
    source = random.Random(seed)
    places = [place for place in range(len(frames)) for _ in range(1 + (source.random() < twice))]
    source.shuffle(places)
    return frames.take(pa.array(places, pa.int64()))


def in_order(frames: Any) -> Any:
    """What the shuffle of the job makes of frames."""
    return frames.sort_by([(name, "ascending") for name in RUN_ORDER]).combine_chunks()


def decoded(
    frames: Any, rows: int = 1000, ports: frozenset[int] = frozenset()
) -> tuple[list[Record], Conversations]:
    """The records of frames, by id."""
    decoding = Conversations(ports, None)
    found: list[tuple[int, Record]] = []
    for batch in decoding.decode(in_order(frames).to_batches(max_chunksize=rows)):
        clocks = decoding.clocks.tolist()
        numbers = [*batch.id.tolist(), *(record.id for record in batch.others)]
        assert len(clocks) == len(numbers)
        by_id = dict(zip(numbers, clocks, strict=True))
        found += [(by_id[record.id], record) for record in batch.records()]
    found.sort(key=lambda one: (one[0], one[1].id))
    return [record for _, record in found], decoding


@remembered
def read(path: Path) -> tuple[Record, ...] | None:
    """What `read_capture` says, but for what is about the file as a whole; None for what is no capture."""
    try:
        return tuple(one for one in read_capture(path, streams=True) if not _is_of_file(one))
    except CaptureError:
        return None


def _is_of_file(record: Record) -> bool:
    """Whether it is damage of the file, or frames that it counts as dropped or has in part."""
    return record.type == "error" or (record.type == "gap" and record.stream is None)


def ranked(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Records with ids and streams replaced by their order of appearance, and without the capture."""
    ids = {record.id: place for place, record in enumerate(records)}
    assert len(ids) == len(records)
    streams: dict[int, int] = {}
    found = []
    for record in records:
        values = {name: getattr(record, name) for name in record.__struct_fields__}
        values["capture"] = ""
        values["id"] = ids[record.id]
        values["error"] = None if record.error is None else str(record.error)
        if record.parent is not None:
            values["parent"] = ids[record.parent]
        if record.stream is not None:
            values["stream"] = streams.setdefault(record.stream, len(streams))
        found.append(tuple(values.values()))
    return found


def numbered(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Records with their ids and streams; errors compare by their text."""
    return [(one.id, one.parent, one.stream, *row) for one, row in zip(records, ranked(records), strict=True)]


@pytest.mark.check
@in_batches(CAPTURES)
def test_every_capture_gives_the_records_of_read_capture(path: Path) -> None:
    expected = read(path)
    whole = frames_below(path, scope="file")
    records, decoding = decoded(whole, 7)
    assert ranked(records) == ranked(expected or ())
    assert all(record.capture == str(path) for record in records)
    for split_bytes, rows in ((1, 1), (1 << 16, 1000)):
        parts = shuffled(frames_below(path, split_bytes=split_bytes, scope="file"), split_bytes)
        again, counted = decoded(parts, rows)
        assert numbered(again) == numbered(records)
        assert counted.counts == decoding.counts


@pytest.mark.slow
@in_batches(CAPTURES)
def test_counts_are_those_of_the_summary(path: Path) -> None:
    with CaptureReader(path) as reader:
        try:
            list(reader)
        except CaptureError:
            return
    _, decoding = decoded(shuffled(frames_below(path), 1))
    (counts,) = decoding.counts.values() or ({"understood": 0, "skipped": {}, "notices": {}},)
    summary = reader.summary
    assert (counts["understood"], counts["skipped"]) == (summary.understood, dict(summary.skipped))
    assert counts["notices"] == dict(summary.notices)


def test_frames_without_hosts_count_once(tmp_path: Path) -> None:
    path = tmp_path / "other.pcap"
    arp, unknown = bytes(12) + b"\x08\x06" + bytes(28), bytes(12) + b"\x88\xb5" + bytes(46)
    frames = [Frame(n, START + n, 1, data, len(data), 0) for n, data in enumerate((arp, arp, unknown, arp))]
    write_pcap(path, frames)
    with CaptureReader(path) as reader:
        list(reader)
    for split_bytes, rows in ((1, 1), (100, 3), (WHOLE, 1000)):
        skipped = frames_below(path, split_bytes=split_bytes)
        assert skipped["conversation"].null_count == len(skipped)
        records, decoding = decoded(pa.concat_tables([skipped, skipped, skipped]), rows)
        assert records == []
        (counts,) = decoding.counts.values()
        assert counts["skipped"] == dict(reader.summary.skipped)
        assert sorted(counts["skipped"].values()) == [1, 3]


def parts_of(folder: Path, parts: Sequence[Sequence[Frame]]) -> Path:
    folder.mkdir()
    for number, part in enumerate(parts):
        write_pcap(folder / f"part-{number:03}.pcap", part)
    return folder


def frames_of(path: Path) -> list[Frame]:
    """The frames of a capture, each at a time of its own."""
    frames = []
    try:
        for number, frame in enumerate(read_frames(path), 1):
            frames.append(msgspec.structs.replace(frame, number=number, time=START + number * 1000))
    except CaptureError:
        pass
    return frames


@pytest.mark.slow
@in_batches(CAPTURES)
def test_rotated_captures_give_the_records_of_the_whole(path: Path, tmp_path: Path) -> None:
    frames = frames_of(path)
    if not frames:
        return
    whole = tmp_path / "whole.pcap"
    write_pcap(whole, frames)
    edges = sorted({0, len(frames), *random.Random(7).sample(range(len(frames)), min(3, len(frames)))})
    folder = parts_of(tmp_path / "parts", [frames[start:stop] for start, stop in pairwise(edges)])
    records, _ = decoded(shuffled(frames_below(folder, split_bytes=1000), 5), 50)
    assert ranked(records) == ranked(read(whole) or ())


@pytest.mark.parametrize(
    "name", ["clean_business_day.pcap", "clean_both_directions.pcap", "path_srmp_receipts.pcap"]
)
def test_captures_of_each_direction_give_the_records_of_the_whole(name: str, tmp_path: Path) -> None:
    frames = frames_of(FIXTURES / "captures" / name)
    whole = tmp_path / "whole.pcap"
    write_pcap(whole, frames)
    # By who sent it, as two taps give it: all of one file is numbered before the other.
    first = frames[0].data[6:12], frames[0].data[26:30]
    sides: tuple[list[Frame], list[Frame]] = ([], [])
    for frame in frames:
        sides[(frame.data[6:12], frame.data[26:30]) == first].append(frame)
    assert all(sides)
    records, _ = decoded(shuffled(frames_below(parts_of(tmp_path / "sides", sides)), 2))
    expected = read(whole)
    assert expected is not None

    def said(record: Record) -> tuple[Any, ...]:
        return record.type, record.event, record.src, record.dst, record.time, record.offset, record.length

    # In the order of time, though ids follow the numbers of frames.
    assert [said(one) for one in records] == [said(one) for one in expected]
    assert len({one.id for one in records}) == len(records)
    assert sorted(one.id for one in records) != [one.id for one in records]


def compressed(kind: str, data: bytes) -> bytes:
    return gzip.compress(data) if kind == "gz" else zstd.compress(data)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_compressed_captures_give_the_same_records(kind: str, tmp_path: Path) -> None:
    path = FIXTURES / "captures" / "demo.pcap"
    packed = tmp_path / f"demo.pcap.{kind}"
    packed.write_bytes(compressed(kind, path.read_bytes()))
    records, _ = decoded(shuffled(frames_below(packed, split_bytes=1), 3), 5)
    assert ranked(records) == ranked(read(path) or ())
    assert records


def block(kind: int, body: bytes, order: str) -> bytes:
    size = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + size + body + size


def section(frames: Sequence[Frame], order: str, link_type: int) -> bytes:
    """A section of a pcapng file, in microseconds."""
    parts = [
        block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order),
        block(1, struct.pack(f"{order}HHI", link_type, 0, 0), order),
    ]
    for frame in frames:
        high, low = divmod((frame.time or 0) // 1000, 1 << 32)
        head = struct.pack(f"{order}5I", 0, high, low, len(frame.data), frame.length)
        parts.append(block(6, head + frame.data + bytes(-len(frame.data) % 4), order))
    return b"".join(parts)


def test_two_sections_of_different_byte_orders_give_the_same_records(tmp_path: Path) -> None:
    frames = frames_of(FIXTURES / "captures" / "demo.pcap")
    whole, sections = tmp_path / "whole.pcap", tmp_path / "sections.pcapng"
    write_pcap(whole, frames)
    half = len(frames) // 2
    link_type = frames[0].link_type
    sections.write_bytes(section(frames[:half], "<", link_type) + section(frames[half:], ">", link_type))
    for split_bytes in (1, 500, WHOLE):
        records, _ = decoded(shuffled(frames_below(sections, split_bytes=split_bytes), split_bytes), 3)
        assert ranked(records) == ranked(read(sections) or ())
        assert ranked(records) == ranked(read(whole) or ())


def test_a_capture_that_carries_a_capture_is_not_taken_for_it(tmp_path: Path) -> None:
    inner = (FIXTURES / "captures" / "demo.pcap").read_bytes()
    outer = tmp_path / "outer.pcap"
    pieces = [inner[at : at + 1400] for at in range(0, len(inner), 1400)]
    head = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
    frames = []
    sent = 1
    for number, piece in enumerate(pieces, 1):
        tcp = struct.pack(">HHIIHHHH", 40000, 445, sent, 1, 5 << 12 | 0x18, 8192, 0, 0) + piece
        ip = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0, b"\n\0\0\1", b"\n\0\0\2"
        )
        data = head + ip + tcp
        frames.append(Frame(number, START + number * 1000, 1, data, len(data), 0))
        sent += len(piece)
    write_pcap(outer, [*frames, *frames_of(FIXTURES / "captures" / "demo.pcap")])
    expected = read(outer)
    assert expected
    for split_bytes in (1, 1000, 1 << 16):
        records, _ = decoded(shuffled(frames_below(outer, split_bytes=split_bytes), 1), 9)
        assert ranked(records) == ranked(expected)


def test_damaged_files_are_told_of_once_and_the_others_are_whole(tmp_path: Path) -> None:
    frames = frames_of(FIXTURES / "captures" / "clean_business_day.pcap")
    folder = parts_of(tmp_path / "parts", [frames[:40], frames[40:80], frames[80:]])
    second = folder / "part-001.pcap"
    second.write_bytes(second.read_bytes()[:-1])
    (folder / "text.pcap").write_text("no capture")
    whole = tmp_path / "whole.pcap"
    write_pcap(whole, [*frames[:79], *frames[80:]])
    table = frames_below(folder, split_bytes=3000)
    assert sum("damage" in (one or "") for one in table["told"].to_pylist()) == 2
    for rows in (1, 1000):
        records, decoding = decoded(pa.concat_tables([shuffled(table, 1), table]), rows)
        assert ranked(records) == ranked(read(whole) or ())
        damage = decoding.counts[str(folder)]["damage"]
        assert sorted(Path(path).name for path, _, _ in damage) == ["part-001.pcap", "text.pcap"]
        (place,) = (offset for path, _, offset in damage if path == str(second))
        with pytest.raises(CaptureError) as error:
            list(read_frames(second))
        assert place == error.value.offset


def test_captures_are_kept_apart() -> None:
    paths = [FIXTURES / "captures" / name for name in ("demo.pcap", "clean_ipv6.pcap", "clean_expired.pcap")]
    table = shuffled(frames_below(*paths, scope="file"), 4)
    found: dict[str, list[Record]] = {}
    for record in decoded(table, 11)[0]:
        found.setdefault(record.capture, []).append(record)
    assert {name: ranked(records) for name, records in found.items()} == {
        str(path): ranked(read(path) or ()) for path in paths
    }


def test_no_frames_give_nothing() -> None:
    decoding = Conversations(frozenset(), None)
    assert list(decoding.decode([])) == []
    empty = in_order(frames_below(CAPTURES[0]).slice(0, 0))
    assert list(decoding.decode(empty.to_batches())) == []
    assert decoding.counts == {}


def test_only_some_of_the_connections_that_ended_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "_MOST_ENDED", 2)
    kept: list[int] = []

    class Watched(conversations._Conversation):
        def finish(self) -> Any:
            kept.append(len(self._first_frames))
            return super().finish()

    path = FIXTURES / "captures" / "clean_reconnect.pcap"
    expected = ranked(read(path) or ())
    assert expected
    monkeypatch.setattr(conversations, "_Conversation", Watched)
    assert ranked(decoded(frames_below(path), 1)[0]) == expected
    assert max(kept) <= 3


def traffic_of(seed: int, source: random.Random) -> list[Frame]:
    """Random traffic; time stands still now and then, but never goes back."""
    time = START
    found = []
    for number, data in enumerate(Traffic(seed, 6, 0.08).frames(), 1):
        time += source.choice((0, 1, 1000, 10**9))
        found.append(Frame(number, time, 1, data, len(data), 0))
    return found


def cut(frames: Sequence[Frame], source: random.Random) -> Iterator[Sequence[Frame]]:
    edges = sorted(source.randrange(len(frames) + 1) for _ in range(source.randrange(5)))
    for start, stop in pairwise([0, *edges, len(frames)]):
        yield frames[start:stop]


def reported(record: Record, parent: Record | None) -> str:
    """A record without what depends on the order of others."""
    values = {name: getattr(record, name) for name in record.__struct_fields__}
    del values["id"], values["stream"], values["capture"]
    values["parent"] = None if parent is None else reported(parent, None)
    return whole_repr({**values, "error": str(record.error)})


@pytest.mark.check
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
@given(seed=st.integers(0, 1 << 32))
@example(seed=1)
def test_random_traffic_cut_into_files_gives_the_records_of_the_whole(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = random.Random(seed)
    frames = traffic_of(seed, source)
    folder = tmp_path_factory.mktemp("traffic")
    whole = folder / "whole.pcap"
    write_pcap(whole, frames)
    parts = parts_of(folder / "parts", [part for part in cut(frames, source) if part])
    splits = source.choice((1, 5000, WHOLE))
    rows = source.choice((1, 7, 300))
    table = frames_below(parts, split_bytes=splits)
    records, decoding = decoded(shuffled(table, seed), rows)
    again, counted = decoded(shuffled(table, seed + 1), source.choice((2, 1000)))
    assert numbered(again) == numbered(records)
    assert counted.counts == decoding.counts
    expected = read(whole)
    assert expected is not None
    # Which conversation ends first is nobody's order but that of the end itself.
    until = sum(one.id < AT_END for one in records)
    assert ranked(records[:until]) == ranked(expected[:until])
    by_id = {one.id: one for one in records}
    theirs = {one.id: one for one in expected}
    assert sorted(reported(one, by_id.get(one.parent or 0)) for one in records[until:]) == sorted(
        reported(one, theirs.get(one.parent or 0)) for one in expected[until:]
    )
    for record in records[until:]:
        # A connection keeps its number to the end.
        same = [one for one in records[:until] if one.stream == record.stream and one.stream is not None]
        ends = {record.src, record.dst}
        assert all({one.src, one.dst} == ends for one in same)
