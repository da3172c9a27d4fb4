"""A stream fills the tables as the job does, with every capture that lands, whatever happens in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.job import run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.session import spark_problem
from msmq_wire.spark.streaming import stream_job
from msmq_wire.tables.store.store import Store

pytestmark = [pytest.mark.spark, pytest.mark.needs("pyspark")]

ROWS = ("messages", "calls", "sessions", "lives", "findings", "anomalies", "errors")
FEW = ("messages", "errors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "landing"
    made.mkdir()
    return made


def land(source: Path, target: Path) -> None:
    """Copy a capture and give it its name when it is whole; its time of change is kept."""
    draft = target.with_name(target.name + ".tmp")
    shutil.copy2(source, draft)
    os.replace(draft, target)


def catch_up(
    spark: SparkSession,
    folder: Path | str,
    work: Path,
    options: ReadOptions | None = None,
    tables: tuple[str, ...] = FEW,
    **source: Any,
) -> list[int]:
    """Read what landed since the last call; the captures of each run of the job, from the first one on."""
    writer = stream_job(spark, str(folder), str(work / "tables"), options, tables=tables, **source)
    writer = writer.option("checkpointLocation", str(work / "checkpoint")).trigger(availableNow=True)
    assert writer.start().awaitTermination(120)
    return runs(work)


def runs(work: Path) -> list[int]:
    found = Store(str(work / "tables")).snapshot().rows("runs", ["started", "captures"]).to_pylist()
    return [row["captures"] for row in sorted(found, key=lambda row: str(row["started"]))]


def rows(output: Path, names: tuple[str, ...] = ROWS) -> Mapping[str, Counter[str]]:
    """The rows of tables as texts, without the names of runs."""
    snapshot = Store(str(output)).snapshot()
    found = ((name, snapshot.dataset(name)) for name in names)
    return {
        name: Counter(() if rows is None else map(_plain, rows.to_table().to_pylist()))
        for name, rows in found
    }


def _plain(row: Mapping[str, Any]) -> str:
    return repr({name: value for name, value in row.items() if name != "run"})


def captures_in(work: Path) -> list[str]:
    """The names of captures that the tables hold, each as often as it is there."""
    found = Store(str(work / "tables")).snapshot().rows("captures", ["capture"])
    return sorted(Path(name).name for name in found.column("capture").to_pylist())


@pytest.mark.check
def test_a_stream_gives_the_rows_of_the_job_in_every_table(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    calls = captures.parent / "rpc_captures" / "rpc_faults_and_fragments.pcap"
    for path in (*sorted(captures.glob("p*.pcap"))[::6], captures / "published.pcap", calls):
        land(path, folder / path.name)
    catch_up(spark, folder, tmp_path, tables=ROWS, maxFilesPerTrigger=9)
    run_job(spark, str(tmp_path / "once"), ReadOptions(paths=(str(folder),)), tables=ROWS)
    found, expected = rows(tmp_path / "tables"), rows(tmp_path / "once")
    assert all(expected.values())
    assert found == expected
    assert len(runs(tmp_path)) > 1


@pytest.mark.check
def test_what_lands_between_triggers_is_read_once_by_content(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    land(captures / "published.pcap", folder / "a.pcap")
    assert catch_up(spark, folder, tmp_path) == [1]
    # A copy, a name that ends otherwise, and one whose time of change is older than Spark keeps by default.
    land(captures / "published.pcap", folder / "copy.pcap")
    (folder / "notes.txt").write_text("not a capture by its name")
    land(captures / "path_pcapng_two_sections.pcapng", folder / "old.pcapng")
    os.utime(folder / "old.pcapng", (86400, 86400))
    assert catch_up(spark, folder, tmp_path) == [1, 1]
    assert catch_up(spark, folder, tmp_path) == [1, 1]
    # A checkpoint that is lost costs a look at the files, and no row.
    shutil.rmtree(tmp_path / "checkpoint")
    assert catch_up(spark, folder, tmp_path) == [1, 1, 0]
    assert captures_in(tmp_path) == ["a.pcap", "old.pcapng"]
    # What grew after it was seen is found by the job over the folder.
    data = (captures / "demo.pcap").read_bytes()
    (folder / "grown.pcap").write_bytes(data[: len(data) // 2])
    catch_up(spark, folder, tmp_path)
    (folder / "grown.pcap").write_bytes(data)
    assert catch_up(spark, folder, tmp_path) == [1, 1, 0, 1]
    assert run_job(spark, str(tmp_path / "tables"), ReadOptions(paths=(str(folder),))).captures == 1


@pytest.mark.check
def test_names_come_through_as_they_are(spark: SparkSession, captures: Path, tmp_path: Path) -> None:
    names = (
        "a b",
        "a%20b",
        "100%",
        "[x]",
        "{y,z}",
        "q?",
        "s*",
        "c:d",
        "#h",
        "p+q",
        "it's",
        "b\\s",
        "üñ€",
        "^|",
    )
    folder = tmp_path / "in [1] {2} *?"
    (folder / "day=1").mkdir(parents=True)
    (folder / "day").mkdir()
    for number, name in enumerate(names):
        # Other content each: the second of the first frame.
        data = bytearray((captures / "published.pcap").read_bytes())
        data[24] = number
        (folder / f"{name}.pcap").write_bytes(data)
    for name in ("day=1/deep.cap", "day/deeper.cap"):
        land(captures / "demo.pcap", folder / name)
    expected = sorted(f"{name}.pcap" for name in names)
    catch_up(spark, folder, tmp_path)
    assert captures_in(tmp_path) == expected
    paths = Store(str(tmp_path / "tables")).snapshot().rows("sources", ["path"]).column("path").to_pylist()
    assert sorted(paths) == sorted(str(folder / name) for name in expected)
    # Another stream over the same tables, by a URL: what is there is known, and of two copies one counts.
    shutil.rmtree(tmp_path / "checkpoint")
    asked = ReadOptions(glob="*.[cp]*", recursive=True)
    catch_up(spark, folder.as_uri(), tmp_path, asked)
    assert len(captures_in(tmp_path)) == len(names) + 1


@pytest.mark.check
def test_a_bad_file_is_a_row_and_an_output_that_cannot_be_written_ends_the_query(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    data = (captures / "demo.pcap").read_bytes()
    (folder / "cut.pcap").write_bytes(data[:-10])
    (folder / "text.pcap").write_text("these are notes")
    (folder / "gone.pcap").symlink_to(folder / "missing")
    with open(folder / "image.dd", "wb") as file:
        # Larger than a value of Spark may be: nothing but its name goes through Spark.
        file.truncate(3 << 30)
    (tmp_path / "tables").write_text("in the way")
    with pytest.raises(StreamingQueryException) as error:
        catch_up(spark, folder, tmp_path)
    line = spark_problem(error.value)
    assert str(tmp_path / "tables") in line
    assert len(line.splitlines()) == 1
    (tmp_path / "tables").unlink()
    land(captures / "path_vlan.pcap", folder / "good.pcap")
    catch_up(spark, folder, tmp_path)
    found = Store(str(tmp_path / "tables")).snapshot().dataset("errors").to_table().to_pylist()
    reasons = {Path(row["path"]).name: row["message"] for row in found}
    assert "text, not pcap" in reasons["text.pcap"]
    assert {"cut.pcap", "text.pcap"} == set(reasons)
    assert "good.pcap" in captures_in(tmp_path)


@pytest.mark.check
def test_a_file_that_is_gone_before_its_batch_ends_nothing(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        land(captures / ("published.pcap" if name == "a" else "demo.pcap"), folder / f"{name}.pcap")
    (tmp_path / "tables").write_text("in the way")
    with pytest.raises(StreamingQueryException):
        catch_up(spark, folder, tmp_path)
    (tmp_path / "tables").unlink()
    # The batch that is run again has both names.
    (folder / "a.pcap").unlink()
    catch_up(spark, folder, tmp_path)
    assert captures_in(tmp_path) == ["b.pcap"]


@pytest.mark.check
def test_a_query_that_goes_on_reads_what_lands(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    for name in ("published", "demo"):
        land(captures / f"{name}.pcap", folder / f"{name}.pcap")
    writer = stream_job(spark, str(folder), str(tmp_path / "tables"), tables=FEW, maxFilesPerTrigger=1)
    query = writer.trigger(processingTime="0 seconds").queryName("landing").start()
    try:
        query.processAllAvailable()
        assert runs(tmp_path) == [1, 1]
        land(captures / "path_vlan.pcap", folder / "more.pcap")
        query.processAllAvailable()
    finally:
        query.stop()
    assert captures_in(tmp_path) == ["demo.pcap", "more.pcap", "published.pcap"]


_KILLED = """
import os, signal, sys
from msmq_wire.spark import streaming
from msmq_wire.spark.session import session

folder, work, after_the_job = sys.argv[1:]

def die(*args, job=streaming.run_job, **more):
    job(*args, **more)
    os.killpg(0, signal.SIGKILL)

if after_the_job == "True":
    streaming.run_job = die
spark = session(master="local[2]", driver_memory="1g")
writer = streaming.stream_job(spark, folder, f"{work}/tables").trigger(availableNow=True)
writer.option("checkpointLocation", f"{work}/checkpoint").start().awaitTermination()
"""


@pytest.mark.slow
def test_a_stream_that_is_killed_goes_on_where_it_was(
    spark: SparkSession, captures: Path, folder: Path, tmp_path: Path
) -> None:
    for path in sorted(captures.glob("*.pcap"), key=lambda path: path.stat().st_size)[:12]:
        land(path, folder / path.name)
    for after_the_job in (False, True):
        # A group of its own: Java ends with it.
        command = [sys.executable, "-c", _KILLED, str(folder), str(tmp_path), str(after_the_job)]
        with subprocess.Popen(command, start_new_session=True) as child:
            ends = time.monotonic() + 280
            while after_the_job or not list((tmp_path / "tables" / "messages").rglob("*.parquet")):
                assert time.monotonic() < ends
                if child.poll() is not None:
                    break
                time.sleep(0.02)
            else:
                os.killpg(child.pid, signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
        assert list((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"))
        assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    catch_up(spark, folder, tmp_path, tables=ROWS)
    run_job(spark, str(tmp_path / "once"), ReadOptions(paths=(str(folder),)), tables=ROWS)
    assert rows(tmp_path / "tables") == rows(tmp_path / "once")


def test_what_a_stream_cannot_do_is_refused(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MsmqWireError, match="option scope is ring or file"):
        stream_job(spark, str(folder), str(tmp_path / "tables"), ReadOptions(scope="group"))
    with pytest.raises(Exception, match="PATH_NOT_FOUND") as error:
        stream_job(spark, str(tmp_path / "nowhere"), str(tmp_path / "tables"))
    assert spark_problem(error.value).startswith("[PATH_NOT_FOUND] Path does not exist: ")
