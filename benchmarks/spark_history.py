"""What a run costs that finds ten new captures, by how many the tables hold already.

``python -m benchmarks.spark_history``. Captures that are held are rows of ``captures`` and ``sources``, and
entries of the logs, with no data behind them: to look at these is what a run does with history. Every size
is measured in a process of its own, on Spark with all cores; its start does not count. ``--shared 1`` is a
file for each capture and table, as where nothing is ever put together; 10 are captures of 100 MB whose rows
are 13 MB, 40 those of 3 MB of rows, in files of 128 MB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs

from benchmarks.big_capture import write
from msmq_wire.spark.job import DEFAULT_TABLES
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import WrittenFile
from msmq_wire.tables.table_schemas import file_schema

_NEW = 10
_RUN = "20260131T000000Z-01234567"
_TOGETHER = 100_000
"""Captures for each commit: with one for ten captures the logs would be longer, and checkpoints as large."""
_BYTES = 200_000
_JOB = """
import resource, sys, time
from msmq_wire.spark.job import run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.session import session
folder, output = sys.argv[1:]
spark = session()
spark.range(1).count()
start = time.perf_counter()
run = run_job(spark, output, ReadOptions(paths=(folder,)))
seconds = time.perf_counter() - start
spark.stop()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(run.captures, f"{seconds:.2f}", memory // 1024)
"""


def hold(store: Store, count: int, *, shared: int) -> None:
    """Make a store hold ``count`` captures, ``shared`` of them in each file of each table."""
    store.make()
    for start in range(0, count, _TOGETHER):
        numbers = range(start, min(start + _TOGETHER, count))
        captures, sources = (_rows(table, numbers).to_pylist() for table in ("captures", "sources"))
        files = list(_files(numbers, shared))
        store.publish(
            Change(
                run=_RUN,
                number=start + 1,
                files=files,
                tables=DEFAULT_TABLES,
                captures=captures,
                sources=sources,
            )
        )


def _files(numbers: range, shared: int) -> Iterator[WrittenFile]:
    names = _names(numbers).to_pylist()
    for start in range(0, len(numbers), shared):
        number = numbers[start]
        day = f"2026-01-{1 + number // 1000 % 28:02}"
        for table in DEFAULT_TABLES:
            yield WrittenFile(
                table=table,
                path=f"day={day}/part-{number:032x}.parquet",
                day=day,
                size=128 << 20 if shared > 1 else 1 << 16,
                rows=1000,
                statistics=_bounds(names[start], names[min(start + shared, len(names)) - 1]),
            )


def _bounds(first: str, last: str) -> str:
    """The statistics of a file with the rows of captures from one to another."""
    least, largest = ({"capture": name, "run": _RUN} for name in (first, last))
    found = {"numRecords": 1000, "minValues": least, "maxValues": largest}
    return msgspec.json.encode(found | {"nullCount": dict.fromkeys(least, 0)}).decode()


def _names(numbers: range) -> Any:
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 9, "0")
    return pc.binary_join_element_wise("/captures/2026/sensor-07/msmq-", digits, ".pcapng", "")


def _digests(count: int) -> Any:
    text = pa.py_buffer(os.urandom(32 * count).hex().encode())
    return pa.StringArray.from_buffers(count, pa.py_buffer(np.arange(count + 1, dtype=np.int32) * 64), text)


def _rows(table: str, numbers: range) -> Any:
    """Rows of a table, as a run writes them; only what a run looks at differs from one to the next."""
    count = len(numbers)
    one = {
        "size": 100_000_000,
        "length": 100_000_000,
        "files": 1,
        "scope": "file",
        "options": "0123456789abcdef",
        "run": _RUN,
        "version": "0.1.0",
        "tables": list(DEFAULT_TABLES),
        "rows": list(dict.fromkeys(DEFAULT_TABLES, 5000).items()),
        "frames": 100_000,
        "understood": 90_000,
        "skipped": [("TCP, not MSMQ", 10_000)],
        "damage": [],
        "notices": [],
        "more": [],
    }
    names = _names(numbers)
    own = {
        "capture": names,
        "path": names,
        "digest": _digests(count),
        "head": _digests(count),
        "mtime_ns": pa.array(numbers, pa.int64()),
        "key": _digests(count),
    }
    schema = file_schema(table)
    columns = [
        own[name] if name in own else pa.repeat(pa.scalar(one[name], schema.field(name).type), count)
        for name in schema.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def main() -> None:
    """Measure the sizes that are asked for, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captures", nargs="*", type=int, default=[0, 1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--shared", type=int, default=10, help="captures in each file of each table")
    given = parser.parse_args()
    print("captures held | files of a table | driver seconds | driver MiB")
    for count in given.captures:
        with tempfile.TemporaryDirectory() as folder:
            inputs, output = Path(folder) / "in", Path(folder) / "out"
            inputs.mkdir()
            hold(Store(str(output)), count, shared=given.shared)
            for number in range(_NEW):
                path = inputs / f"new-{number}.pcap"
                write(path, _BYTES + number)
                with path.open("r+b") as file:
                    # The time of the first frame: all have other content.
                    file.seek(24)
                    file.write(number.to_bytes(4, "little"))
            reported = subprocess.run(
                [sys.executable, "-c", _JOB, str(inputs), str(output)],
                capture_output=True,
                text=True,
                check=True,
            )
            done, seconds, memory = reported.stdout.split()[-3:]
            assert int(done) == _NEW, reported.stdout
            print(f"{count} | {count // given.shared} | {seconds} | {memory}", flush=True)


if __name__ == "__main__":
    main()
