"""Captures to Parquet: ours on Spark beside tshark and Spark, our command line, and scapy.

All Spark contestants share one session with two cores, whose start does not count; what a job costs does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from benchmarks.big_capture import traffic
from benchmarks.capture_groups import find_tshark, scapy_payloads, tshark_ek
from benchmarks.captures import CAPTURES
from benchmarks.conversations import two_way_session
from benchmarks.measure import Contestant, Result, all_cores, measure
from benchmarks.traffic import Written, in_order, write
from benchmarks.workload import messages
from msmq_wire.spark.job import DEFAULT_TABLES, run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.session import session

__all__ = ["CLI", "EVERYTHING", "JOB", "SCAPY", "SOURCE", "TSHARK_SPARK", "Growth", "grow", "run"]

JOB = "msmq-wire spark run, messages"
EVERYTHING = "msmq-wire spark run, all default tables"
SOURCE = 'spark.read.format("msmq-messages") to Parquet'
TSHARK_SPARK = "tshark -T ek, two at a time, then Spark JSON to Parquet"
CLI = "msmq-wire messages --format jsonl, one process"
SCAPY = "scapy PcapReader, TCP payloads only"

_FILES = 4
_SIZE = 4096
_GROUPS = {
    "spark": CAPTURES["4k"].frames_each,
    "spark_session": CAPTURES["session"].frames_each,
    "spark_mixed": 4.8,
}
"""The groups, and about how many frames a message of their captures takes."""

_EK_SCHEMA = """timestamp string, layers struct<
    frame: struct<frame_frame_number: string, frame_frame_len: string>,
    ip: struct<ip_ip_src: string, ip_ip_dst: string>,
    tcp: struct<tcp_tcp_srcport: string, tcp_tcp_dstport: string, tcp_tcp_stream: string,
        tcp_tcp_payload: string>
>"""


class Growth(msgspec.Struct, frozen=True):
    """What the job took for so many files of the same size."""

    files: int
    bytes: int
    seconds: float


def _start() -> SparkSession:
    # The JVM keeps the cores that it starts with.
    with all_cores():
        spark = session(master="local[2]", driver_memory="4g")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    return spark


def _captures(folder: Path, group: str, count: int) -> list[Written]:
    """Write captures with so many messages each."""
    folder.mkdir()
    return [_capture(folder / f"{number}.pcap", group, count, number) for number in range(_FILES)]


def _capture(path: Path, group: str, count: int, number: int) -> Written:
    sent: list[bytes] = []
    first = number * count
    if group == "spark":
        frames = in_order(messages(count, _SIZE, first=first))
    elif group == "spark_mixed":
        frames, count = traffic(count // 2), count // 2 * 2
    else:
        frames = two_way_session(count, sent, first=first)
    # Else they would begin at the same time.
    written = write(path, frames, after=number)
    return msgspec.structs.replace(written, rows=len(sent) or count)


def run(folder: Path, frames: int, rounds: int) -> Iterator[list[Result]]:
    """Measure the groups: messages of one size, a two-way session, and messages of all sizes."""
    spark = _start()
    for group in _GROUPS:
        yield _measured(spark, group, folder, frames, rounds)
    spark.stop()


def _measured(spark: SparkSession, group: str, folder: Path, frames: int, rounds: int) -> list[Result]:
    each = int(frames / _GROUPS[group] / _FILES)
    whole, tenth = folder / group, folder / f"{group}_tenth"
    parts, small = _captures(whole, group, each), _captures(tenth, group, each // 10)
    expected = sum(part.rows for part in parts)
    count = sum(part.frames for part in parts)
    job = partial(_job, spark, whole, folder / "job", expected, count)
    contestants = [
        Contestant(JOB, job, every_core=True),
        Contestant(EVERYTHING, partial(job, tables=DEFAULT_TABLES), every_core=True),
        Contestant(SOURCE, partial(_source, spark, whole, folder / "source", count), every_core=True),
        Contestant(CLI, partial(_command, whole, count)),
        Contestant(SCAPY, partial(_scapy, small)),
    ]
    if find_tshark() is not None:
        work = partial(_tshark_spark, spark, small, folder / "ek")
        contestants.append(Contestant(TSHARK_SPARK, work, every_core=True))
    results = measure(group, "frames/s", contestants, rounds)
    # Java and its workers do most of the work, and they have not ended.
    return [msgspec.structs.replace(result, cpu_rates=()) for result in results]


def _job(
    spark: SparkSession,
    captures: Path,
    output: Path,
    packets: int,
    frames: int,
    tables: Sequence[str] = ("messages",),
) -> int:
    shutil.rmtree(output, ignore_errors=True)
    done = run_job(spark, str(output), ReadOptions(paths=(str(captures),)), tables=tables)
    if done.rows["messages"] != packets:
        raise RuntimeError(f"{done.rows['messages']} messages where there are {packets}")
    return frames


def _source(spark: SparkSession, captures: Path, output: Path, frames: int) -> int:
    rows = spark.read.format("msmq-messages").option("splitBytes", "8m").load(str(captures))
    rows.write.mode("overwrite").parquet(str(output))
    return frames


def _command(captures: Path, frames: int) -> int:
    files = sorted(map(str, captures.glob("*.pcap")))
    program = "import sys; from msmq_wire.cli.app import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "messages", "--quiet", "--format", "jsonl", *files]
    with (captures.parent / "cli.jsonl").open("wb") as output:
        subprocess.run(command, stdout=output, check=True)
    return frames


def _scapy(parts: Sequence[Written]) -> int:
    for part in parts:
        for _ in scapy_payloads(part.path):
            pass
    return sum(part.frames for part in parts)


def _tshark_spark(spark: SparkSession, parts: Sequence[Written], work: Path) -> int:
    """What one would do without us: fields as JSON, and addresses and payload of every frame in a table."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()

    def dump(part: Written) -> None:
        with (work / f"{part.path.stem}.json").open("wb") as output:
            subprocess.run(tshark_ek(part.path), stdout=output, stderr=subprocess.DEVNULL, check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(dump, parts))
    # It writes some names twice in one object, so Spark cannot find out the schema by itself.
    rows = spark.read.schema(_EK_SCHEMA).json(f"{work}/*.json").where("layers is not null")
    rows.select("timestamp", "layers.*").write.parquet(str(work / "parquet"))
    return sum(part.frames for part in parts)


def grow(folder: Path, counts: Sequence[int] = (1, 2, 4, 8), size: int = 200_000_000) -> Iterator[Growth]:
    """Run the job on so many files of ``size`` bytes."""
    spark = _start()
    captures, warm = folder / "growth", folder / "warm"
    captures.mkdir()
    # What a session makes once, on its first jobs, is no cost of a file.
    first = sum(part.frames for part in _captures(warm, "spark", 4000 // _FILES))
    for _ in range(2):
        _job(spark, warm, folder / "grown", 4000, first)
    packets = size * 10 // 45_000
    files = 0
    for count in counts:
        while files < count:
            write(captures / f"{files}.pcap", in_order(messages(packets, _SIZE, first=files * packets)))
            files += 1
        total = sum(path.stat().st_size for path in captures.iterdir())
        start = time.perf_counter()
        _job(spark, captures, folder / "grown", packets * count, 0)
        yield Growth(count, total, time.perf_counter() - start)
    spark.stop()
