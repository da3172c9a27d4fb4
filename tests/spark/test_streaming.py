"""A stream gives the records of every capture that landed, once, whatever happens in between."""

from __future__ import annotations

import gzip
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

from msmq_wire import read_capture
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.sources import MsmqMessages
from msmq_wire.spark.streaming import LandedReader
from msmq_wire.tables.message_columns import CALLS

pytestmark = [pytest.mark.spark, pytest.mark.needs("pyspark")]

Row = tuple[str, int, str]
COLUMNS = ["capture", "path", "frames", "id", "type", "reason"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "captures"
    made.mkdir()
    return made


def land(source: Path, target: Path) -> None:
    """Copy a capture and give it its name when it is whole; its time of change is kept."""
    draft = target.with_name(target.name + ".tmp")
    shutil.copy2(source, draft)
    os.replace(draft, target)


def records(*paths: Path) -> Counter[Row]:
    return Counter(
        (str(path), record.id, record.type)
        for path in paths
        for record in read_capture(path)
        if record.type not in CALLS
    )


def stream(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    read = spark.readStream.format("msmq-messages").options(**{"settle": 0, **options})
    return read.load(str(folder)).select("capture", "id", "type")


def run(spark: SparkSession, folder: Path, work: Path, **options: Any) -> Counter[Row]:
    """Read what is there from the checkpoint on; return the rows of all runs so far."""
    write = stream(spark, folder, **options).writeStream.format("parquet")
    write = write.option("checkpointLocation", str(work / "checkpoint")).trigger(availableNow=True)
    query = write.start(str(work / "table"))
    assert query.awaitTermination(120)
    return Counter(tuple(row) for row in spark.read.parquet(str(work / "table")).collect())


def batches(
    spark: SparkSession, folder: Path, found: dict[int, list[str]], checkpoint: Path, **options: Any
) -> Any:
    """A writer that notes which captures each batch has."""

    def note(frame: DataFrame, number: int) -> None:
        found[number] = sorted({Path(row.capture).name for row in frame.collect()})

    write = stream(spark, folder, **options).writeStream.foreachBatch(note)
    return write.option("checkpointLocation", str(checkpoint))


@pytest.mark.check
def test_captures_that_land_between_runs_are_read_once_each(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    first, second, third = (folder / name for name in ("a.pcap", "b.pcapng", "c.pcap.gz"))
    land(captures / "published.pcap", first)
    expected = records(first)
    assert run(spark, folder, tmp_path) == expected

    # The same name again, the same content under another name, and one that is older than all of them.
    land(captures / "published.pcap", first)
    os.utime(first)
    land(captures / "published.pcap", folder / "copy.pcap")
    land(captures / "path_pcapng_two_sections.pcapng", second)
    os.utime(second, (86400, 86400))
    expected += records(second)
    assert run(spark, folder, tmp_path) == expected

    third.write_bytes(gzip.compress((captures / "demo.pcap").read_bytes()))
    expected += records(third)
    assert run(spark, folder, tmp_path) == expected
    assert run(spark, folder, tmp_path) == expected


@pytest.mark.check
def test_a_half_written_capture_is_read_when_it_is_whole(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    data = (captures / "demo.pcap").read_bytes()
    whole, half = folder / "whole.pcap", folder / "half.pcap"
    land(captures / "published.pcap", whole)
    half.write_bytes(data[: len(data) // 2])
    assert run(spark, folder, tmp_path) == records(whole)
    half.write_bytes(data)
    assert run(spark, folder, tmp_path) == records(whole, half)


@pytest.mark.check
def test_available_now_reads_so_many_files_a_batch_and_repeats_a_failed_batch(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    for number, name in enumerate(("published", "demo", "path_vlan")):
        land(captures / f"{name}.pcap", folder / f"{number}.pcap")
        os.utime(folder / f"{number}.pcap", (1000 + number, 1000 + number))
    found: dict[int, list[str]] = {}
    writer = batches(spark, folder, found, tmp_path / "checkpoint", maxFilesPerTrigger=1)

    def fail_once(frame: DataFrame, number: int) -> None:
        if number == 1:
            raise ValueError("a crash in the middle of a batch")
        found[number] = [Path(row.capture).name for row in frame.select("capture").distinct().collect()]

    failing = stream(spark, folder, maxFilesPerTrigger=1).writeStream.foreachBatch(fail_once)
    failing = failing.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException, match="in the middle of a batch"):
        failing.start().awaitTermination(120)
    assert found == {0: ["0.pcap"]}
    # Older than the file of the batch that is run again.
    land(captures / "clean_expired.pcap", folder / "late.pcap")
    os.utime(folder / "late.pcap", (500, 500))
    assert writer.trigger(availableNow=True).start().awaitTermination(120)
    assert found == {0: ["0.pcap"], 1: ["1.pcap"], 2: ["2.pcap"], 3: ["late.pcap"]}


@pytest.mark.check
def test_a_query_that_goes_on_reads_what_lands_so_many_files_a_batch(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    land(captures / "published.pcap", folder / "a.pcap")
    land(captures / "demo.pcap", folder / "b.pcap")
    found: dict[int, list[str]] = {}
    writer = batches(spark, folder, found, tmp_path / "checkpoint", maxFilesPerTrigger=1)
    query = writer.trigger(processingTime="0 seconds").start()
    try:
        query.processAllAvailable()
        assert sorted(found.values()) == [["a.pcap"], ["b.pcap"]]
        land(captures / "path_vlan.pcap", folder / "c.pcap")
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(found.values()) == [["a.pcap"], ["b.pcap"], ["c.pcap"]]


@pytest.mark.check
def test_calls_and_messages_are_streamed_over_one_log(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    source = Path(__file__).resolve().parents[2] / "fixtures" / "rpc_captures"
    land(source / "rpc_faults_and_fragments.pcap", folder / "calls.pcap")
    found: Counter[Row] = Counter()
    for name in ("msmq-messages", "msmq-calls"):
        read = spark.readStream.format(name).option("settle", 0).load(str(folder))
        write = read.select("capture", "id", "type").writeStream.format("parquet")
        write = write.option("checkpointLocation", str(tmp_path / f"{name}-checkpoint"))
        assert write.trigger(availableNow=True).start(str(tmp_path / name)).awaitTermination(120)
        found += Counter(tuple(row) for row in spark.read.parquet(str(tmp_path / name)).collect())
    path = folder / "calls.pcap"
    assert found == Counter((str(path), record.id, record.type) for record in read_capture(path))
    assert len(list((folder / ".msmq-wire-seen").iterdir())) == 2


def reader_of(folder: Path, **options: str) -> LandedReader:
    settings = {"path": str(folder), "settle": "0", "patience": "0", **options}
    found = MsmqMessages(settings).streamReader(MsmqMessages(settings).schema())
    assert isinstance(found, LandedReader)
    return found


def read_between(reader: LandedReader, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    def rows() -> Iterator[dict[str, Any]]:
        for partition in reader.partitions(start, end):
            for batch in reader.read(partition):
                yield from batch.select(COLUMNS).to_pylist()

    return list(rows())


def test_the_end_of_a_batch_is_as_many_files_ahead_as_the_limit_says(captures: Path, folder: Path) -> None:
    for name in ("published", "demo", "path_vlan"):
        land(captures / f"{name}.pcap", folder / f"{name}.pcap")
    reader = reader_of(folder, maxFilesPerTrigger="2")
    assert reader.getDefaultReadLimit() == ReadMaxFiles(2)
    assert reader_of(folder).getDefaultReadLimit() == ReadAllAvailable()
    start = reader.initialOffset()
    assert start["files"] == 0
    middle = reader.latestOffset(start, ReadMaxFiles(2))
    assert middle == start | {"files": 2}
    assert reader.latestOffset(start, ReadAllAvailable()) == start | {"files": 3}
    end = reader.latestOffset(middle, ReadMaxFiles(2))
    assert reader.latestOffset(end, ReadMaxFiles(2)) == end == start | {"files": 3}
    assert list(reader.partitions(end, end)) == []
    # Files of a batch go to as few tasks as splitBytes allows.
    assert len(reader.partitions(start, end)) == 1
    assert len(reader_of(folder, splitBytes="1").partitions(start, end)) == 3


def test_available_now_ends_with_what_was_there_when_it_began(captures: Path, folder: Path) -> None:
    land(captures / "published.pcap", folder / "a.pcap")
    reader = reader_of(folder)
    reader.prepareForTriggerAvailableNow()
    land(captures / "demo.pcap", folder / "b.pcap")
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert end["files"] == 1
    assert reader.latestOffset(end, ReadAllAvailable()) == end


def test_a_capture_that_grew_gives_each_frame_once_and_its_damage(captures: Path, folder: Path) -> None:
    data = (captures / "demo.pcap").read_bytes()
    path = folder / "a.pcap"
    records_at = [frame.position for frame in read_frames(captures / "demo.pcap")]
    path.write_bytes(data[: records_at[7] + 20])
    reader = reader_of(folder)
    start = reader.initialOffset()
    middle = reader.latestOffset(start, ReadAllAvailable())
    first = read_between(reader, start, middle)
    assert [(row["capture"], row["id"], row["type"]) for row in first] == [*records(path)]
    assert [row["type"] for row in first].count("error") == 1
    path.write_bytes(data)
    end = reader.latestOffset(middle, ReadAllAvailable())
    added = read_between(reader, middle, end)
    assert {row["capture"] for row in added} == {f"{path}#2"}
    assert {row["path"] for row in added} == {str(path)}
    assert min(min(row["frames"]) for row in added) == 8
    assert "error" not in {row["type"] for row in added}
    # This file has no record over the place where it was cut, so all are there, and once.
    found = sorted((row["frames"], row["type"]) for row in first + added if row["type"] != "error")
    assert found == sorted((list(record.frames), record.type) for record in read_capture(path))
    # A batch that is run again does not read what was added since.
    again = [row for row in read_between(reader, start, middle) if row["type"] != "error"]
    assert again == [row for row in first if row["type"] != "error"]


@pytest.mark.slow
def test_a_file_that_is_not_what_landed_is_said_so(captures: Path, folder: Path) -> None:
    for name in ("a.pcap", "b.pcap", "c.pcap"):
        land(captures / "published.pcap", folder / name)
        with open(folder / name, "r+b") as file:
            # Another second of the first frame.
            file.seek(24)
            file.write(name[:1].encode())
    reader = reader_of(folder)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    (folder / "a.pcap").unlink()
    land(captures / "demo.pcap", folder / "b.pcap")
    rows = read_between(reader, start, end)
    for name in ("a.pcap", "b.pcap"):
        [row] = [row for row in rows if row["capture"] == str(folder / name)]
        assert (row["type"], row["path"]) == ("error", str(folder / name))
        assert row["reason"] == f"{folder / name} is gone, or is not the file that landed"
    path = folder / "c.pcap"
    assert Counter((row["capture"], row["id"], row["type"]) for row in rows if row["path"] == str(path)) == (
        records(path)
    )
    with pytest.raises(CaptureError, match="is gone"):
        read_between(reader_of(folder, onError="fail"), start, end)
    # What is there now is a capture of its own.
    new = read_between(reader, end, reader.latestOffset(end, ReadAllAvailable()))
    assert {row["capture"] for row in new} == {f"{folder / 'b.pcap'}#4"}
    assert len(new) == records(folder / "b.pcap").total()


def test_a_file_that_is_overwritten_while_it_is_read_fails_the_task(captures: Path, folder: Path) -> None:
    path = folder / "a.pcap"
    land(captures / "published.pcap", path)
    reader = reader_of(folder)
    start = reader.initialOffset()
    [partition] = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    reading = reader.read(partition)
    next(reading)
    land(captures / "demo.pcap", path)
    with pytest.raises(CaptureError, match="changed while it was read"):
        list(reading)


def test_what_is_no_capture_is_an_error_row(captures: Path, folder: Path) -> None:
    text, link = folder / "notes.pcap", folder / "nowhere.pcap"
    text.write_text("these are notes")
    link.symlink_to(folder / "missing")
    reader = reader_of(folder)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    # What can be opened meanwhile belongs to another entry.
    land(captures / "demo.pcap", folder / "missing")
    rows = read_between(reader, start, end)
    assert [(row["type"], row["capture"], row["path"]) for row in rows] == [
        ("error", str(path), str(path)) for path in (text, link)
    ]
    assert rows[0]["reason"] == f"{text} is text, not pcap or pcapng"
    assert rows[1]["reason"].startswith(f"cannot open {link}: ")
    rows = read_between(reader, end, reader.latestOffset(end, ReadAllAvailable()))
    assert len(rows) == records(link).total()


def test_a_checkpoint_of_another_log_is_refused(captures: Path, folder: Path) -> None:
    land(captures / "published.pcap", folder / "a.pcap")
    before = reader_of(folder).initialOffset()
    shutil.rmtree(folder / ".msmq-wire-seen")
    with pytest.raises(MsmqWireError, match=r"the checkpoint belongs to the log .*option seen"):
        reader_of(folder).latestOffset(before, ReadAllAvailable())
    reader = reader_of(folder)
    with pytest.raises(MsmqWireError, match="has 1 captures, not 5"):
        reader.latestOffset(reader.initialOffset() | {"files": 5}, ReadAllAvailable())


def test_files_that_are_one_capture_are_refused(folder: Path) -> None:
    with pytest.raises(MsmqWireError, match="option scope is file"):
        reader_of(folder, scope="group")
