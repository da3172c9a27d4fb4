"""The job on a real cluster: what is shipped is all it needs, and a machine that is lost loses no row."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from benchmarks.traffic import in_order, write
from benchmarks.workload import mixed
from msmq_wire.capture.listing import Scope, captures_of, list_files
from msmq_wire.capture.places import place_of
from msmq_wire.spark.capture_job import JobPlan, decode_captures
from msmq_wire.spark.job import DEFAULT_TABLES
from msmq_wire.spark.packaging import write_package
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.store.identity import content_of
from msmq_wire.tables.store.store import Change, Store
from tests.effort import WHOLE
from tests.spark.standalone import Cluster, Job, opened, wait_for
from tests.spark.test_capture_job import todo_of

pytestmark = [pytest.mark.check, pytest.mark.spark, pytest.mark.needs("pyspark")]

_MESSAGES = 2400
_LARGE = 24 if WHOLE else 12
_ROTATED = 1200
_SOUND = (
    "clean_all_deliveries.pcap",
    "clean_business_day.pcap",
    "clean_large_message.pcap",
    "clean_routed_transaction.pcap",
    "clean_signed.pcap",
    "clean_srmp.pcap",
    "demo.pcap",
    "path_gzip.pcap",
    "path_interleaved.pcap",
    "path_ipv4_fragments_reversed.pcap",
    "path_loss_in_message.pcap",
    "path_pcapng_two_sections.pcapng",
    "path_zstd.pcap",
    "structures.pcapng",
)
_CALLS = (
    "rpc_faults_and_fragments.pcap",
    "rpc_none_ndr64.pcap",
    "rpc_qmcomm_qm2qm.pcap",
    "rpc_sections.pcap",
)
_WHO_FINDS = '''\
"""Says where msmq_wire comes from, here and on an executor: before it is shipped, and after."""

import json
import sys

from pyspark.sql import SparkSession


def found(_):
    try:
        import msmq_wire
    except ModuleNotFoundError as error:
        return str(error)
    return msmq_wire.__file__


context = SparkSession.builder.getOrCreate().sparkContext
before = [found(None), *context.parallelize([0], 1).map(found).collect()]
context.addPyFile(sys.argv[1])
print(json.dumps([before, context.parallelize([0], 1).map(found).collect()]))
'''


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("standalone") / "cluster") as started:
        yield started


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The zip that is shipped, and the program that is submitted."""
    return write_package(str(tmp_path_factory.mktemp("package")))


@pytest.fixture(scope="module")
def packets() -> Sequence[bytes]:
    return mixed(_MESSAGES + 100 * _LARGE)


@pytest.fixture
def calls(captures: Path) -> Path:
    return captures.with_name("rpc_captures")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "tables"


def run(cluster: Cluster, package: tuple[Path, Path], folder: Path, output: Path, *more: str) -> Job:
    archive, program = package
    arguments = ("run", "--input", str(folder), "--output", str(output), *more)
    return cluster.submit(program, arguments, shipped=[archive])


def unnamed(output: Path) -> set[Path]:
    """The files that tasks wrote and no commit names."""
    store = Store(str(output))
    named: set[Path] = set()
    if store.exists:
        snapshot = store.snapshot()
        for table in (*snapshot.tables, "captures", "sources"):
            named |= {output / table / file.path for file in snapshot.files(table)}
    return {path for path in output.rglob("*.parquet") if path.parent.name != "_delta_log"} - named


def published(output: Path) -> list[str]:
    """The captures that are in the tables."""
    store = Store(str(output))
    if not store.exists:
        return []
    names: list[str] = store.snapshot().rows("captures", ["capture"]).column("capture").to_pylist()
    return names


def swept(output: Path) -> bool:
    """Whether no file is left that is not named, once what a worker left behind is deleted."""
    # The table of runs stands by itself.
    Store(str(output)).vacuum(0, dry=False)
    return all(path.parent.name == "runs" for path in unnamed(output))


def busy(cluster: Cluster, folder: Path) -> int | None:
    """A worker that reads a file below a folder."""
    reads = os.fspath(folder) + os.sep
    return next((one for one in cluster.workers if any(path.startswith(reads) for path in opened(one))), None)


def in_this_process(folder: Path, output: Path, scope: Scope) -> int:
    """Fill tables without Spark, each capture read from its first frame to its last; return their number."""
    options = ReadOptions(paths=(str(folder),), scope=scope, recursive=True, streams=True)
    place = place_of(str(output))
    plan = JobPlan(place=place, options=options, tables=DEFAULT_TABLES, run="here", key="here")
    captures = captures_of(list_files(options.paths, recursive=True).files, scope)
    if scope == "file":
        # Some of them are others, compressed.
        first = {capture.name: content_of(capture.files[0]) for capture in captures}
        digests = {one.digest: name for name, one in reversed(first.items()) if one is not None}
        captures = [capture for capture in captures if capture.name in digests.values()]
    done = decode_captures([todo_of(capture) for capture in captures], plan)
    store = Store(str(output))
    store.make()
    rows = [entry.row() for entry in done.entries]
    store.publish(Change(run=rows[0]["run"], number=1, files=done.files, captures=rows))
    return len(captures)


def rows_of(output: Path, table: str) -> Any:
    """All rows of a table that count, with their day, in an order of their own."""
    dataset = Store(str(output)).snapshot().dataset(table)
    assert dataset is not None, f"{table} is empty, and compares nothing"
    # Each run has a name of its own.
    rows = dataset.to_table().drop_columns(["run"])
    simple = [one.name for one in rows.schema if not pa.types.is_nested(one.type)]
    numbers = [name for name in ("id", "record") if name in simple]
    return rows.sort_by([(name, "ascending") for name in ("capture", *numbers, *simple)])


def rotated(source: Path, folder: Path, count: int) -> None:
    """Cut a pcap file between frames into so many files."""
    folder.mkdir()
    data = source.read_bytes()
    ends = [24]
    while ends[-1] < len(data):
        ends.append(ends[-1] + 16 + struct.unpack_from("<I", data, ends[-1] + 8)[0])
    each = len(ends) // count
    cuts = [*ends[::each][:count], ends[-1]]
    for number, (start, stop) in enumerate(pairwise(cuts)):
        (folder / f"ring{number:02}.pcap").write_bytes(data[:24] + data[start:stop])


def test_executors_find_nothing_of_the_project_until_it_is_shipped(
    cluster: Cluster, package: tuple[Path, Path], tmp_path: Path
) -> None:
    cluster.with_workers(2)
    program = tmp_path / "who_finds.py"
    program.write_text(_WHO_FINDS, encoding="utf-8")
    job = cluster.submit(program, [str(package[0])])
    assert job.status() == 0, job.log
    before, [after] = json.loads(job.out)
    assert before == ["No module named 'msmq_wire'"] * 2
    assert Path(after).parts[-3:] == (package[0].name, "msmq_wire", "__init__.py")


def test_a_worker_that_is_killed_costs_no_row_and_doubles_none(
    cluster: Cluster,
    package: tuple[Path, Path],
    packets: Sequence[bytes],
    captures: Path,
    calls: Path,
    tmp_path: Path,
    output: Path,
) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    for number in range(_LARGE):
        start = number * 100
        write(folder / f"large{number:02}.pcap", in_order(packets[start : start + _MESSAGES]))
    for name in _SOUND:
        shutil.copy(captures / name, folder)
    for name in _CALLS:
        shutil.copy(calls / name, folder)
    cluster.with_workers(2)
    job = run(cluster, package, folder, output, "--split-bytes", "1m")

    def decoding() -> int | None:
        """A worker in the middle of a capture, while some are in the tables and some wait to be."""
        assert job.runs, job.log
        return busy(cluster, folder) if published(output) and unnamed(output) else None

    victim = wait_for("a worker decodes", decoding)
    before = len(published(output))
    # The worker, its executor, the daemon that forks Python, and Python.
    assert len(cluster.lose(victim)) >= 4
    assert 0 < before < _LARGE
    assert job.status() == 0, job.log
    assert "Lost executor" in job.log
    expected = tmp_path / "expected"
    assert len(published(output)) == in_this_process(folder, expected, "file") > _LARGE
    assert swept(output)
    for table in DEFAULT_TABLES:
        assert rows_of(output, table).equals(rows_of(expected, table)), table


def test_connections_across_files_survive_a_worker_that_is_killed(
    cluster: Cluster,
    package: tuple[Path, Path],
    packets: Sequence[bytes],
    captures: Path,
    calls: Path,
    tmp_path: Path,
    output: Path,
) -> None:
    folder = tmp_path / "rings"
    for ring in range(2):
        (folder / f"ring{ring}").mkdir(parents=True)
        frames = list(in_order(packets[ring * 100 : ring * 100 + _ROTATED]))
        each = len(frames) // 5
        for number in range(5):
            stop = None if number == 4 else (number + 1) * each
            path = folder / f"ring{ring}" / f"ring.pcap{number}"
            write(path, frames[number * each : stop], after=number * each)
    rotated(captures / "clean_business_day.pcap", folder / "day", 4)
    rotated(calls / "rpc_qmcomm_qm2qm.pcap", folder / "calls", 2)
    cluster.with_workers(2)
    job = run(cluster, package, folder, output, "--recursive", "--split-bytes", "256k")

    def decoding() -> int | None:
        assert job.runs, job.log
        return busy(cluster, folder)

    cluster.lose(wait_for("a worker decodes", decoding))
    assert job.status() == 0, job.log
    assert "Lost executor" in job.log
    assert swept(output)
    expected = tmp_path / "expected"
    assert in_this_process(folder, expected, "ring") == 4
    for table in DEFAULT_TABLES:
        assert rows_of(output, table).equals(rows_of(expected, table)), table
