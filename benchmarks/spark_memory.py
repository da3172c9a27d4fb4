"""What the Spark job keeps in memory: ``python -m benchmarks.spark_memory``.

Writes rotated captures with 80 % of all packets in one connection, runs the job on them with a driver of
1 GB, and watches the anonymous memory of every Python worker (``/proc/PID/smaps_rollup``, several times a
second). Then it compares what the tables hold with what was written.
"""

from __future__ import annotations

import argparse
import itertools
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs

import msmq_wire as mw
from benchmarks.measure import anonymous_memory
from benchmarks.traffic import Sender, write
from msmq_wire.tables.store.store import Store
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.packets.session_ack import SessionAck

_CONNECTIONS = 1000
_BODY = 24
_ACKNOWLEDGE = 32
_ACK = mw.encode(SessionAck(session_header=SessionHeader(window_size=64)))
_ACK_AT = 20
"""Where AckSequenceNumber stands in a SessionAck packet."""
_NUMBER_AT = 56
"""Where MessageID stands in a UserMessage packet."""
_JOB = """
import sys
from msmq_wire.spark.job import run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.session import session
folder, output, tables = sys.argv[1:]
spark = session(master="local[2]", driver_memory="1g")
options = ReadOptions(paths=(folder,))
run = run_job(spark, output, options, tables=tables.split(","))
print(dict(run.rows), run.frames, run.damage)
spark.stop()
"""


class _Connection(Sender):
    """A connection whose server acknowledges messages as a queue manager does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.sent = 0

    def message(self, packet: bytes) -> Iterator[bytes]:
        """Yield one frame with a message, and sometimes one that acknowledges."""
        self.sent += 1
        yield self.say(packet)
        if self.sent % _ACKNOWLEDGE == 0:
            ack = bytearray(_ACK)
            struct.pack_into("<H", ack, _ACK_AT, self.sent & 0xFFFF)
            yield self.say(bytes(ack), sent=False)


def skewed(packets: int) -> Iterator[bytes]:
    """Yield frames with ``packets`` messages, four of five of them on the first of 1,000 connections."""
    template = bytearray(mw.encode(mw.build_message(r"DIRECT=OS:server01\private$\orders", bytes(_BODY))))
    connections = [_Connection(number) for number in range(_CONNECTIONS)]
    for connection in connections:
        yield from connection.open()
    for number in range(packets):
        struct.pack_into("<I", template, _NUMBER_AT, number)
        which = 1 + number // 5 % (_CONNECTIONS - 1) if number % 5 == 4 else 0
        yield from connections[which].message(bytes(template))


def rotated(folder: Path, packets: int, files: int) -> int:
    """Write the frames to files that follow each other; return how many frames there are."""
    frames = skewed(packets)
    each = packets * 33 // 32 // files + 1
    count = 0
    for number in range(files):
        part = itertools.islice(frames, each if number < files - 1 else None)
        count += write(folder / f"ring_{number:05}.pcap", part, after=count).frames
    return count


def _descendants(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


def _is_worker(process: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def run(packets: int, files: int, tables: str) -> bool:
    """Run the job once and print what it kept; True when the rows are right."""
    with tempfile.TemporaryDirectory() as work:
        folder, output = Path(work, "captures"), Path(work, "tables")
        folder.mkdir()
        frames = rotated(folder, packets, files)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{frames:,} frames, {packets:,} messages, {size >> 20:,} MiB in {files} files", flush=True)
        started = time.perf_counter()
        job = subprocess.Popen([sys.executable, "-c", _JOB, str(folder), str(output), tables])
        peaks: dict[int, int] = {}
        while job.poll() is None:
            for process in _descendants(job.pid):
                if _is_worker(process):
                    peaks[process] = max(peaks.get(process, 0), anonymous_memory(process))
            time.sleep(0.2)
        seconds = time.perf_counter() - started
        workers = sorted(peaks.values(), reverse=True)
        reported = ", ".join(f"{peak / 1024:.0f}" for peak in workers if peak)
        print(f"{seconds:.0f} s; peak anonymous MiB of the Python workers: {reported}", flush=True)
        return job.returncode == 0 and _is_right(output, packets)


def _is_right(output: Path, packets: int) -> bool:
    table = Store(str(output)).snapshot().rows("messages", ["type", "message_id"])
    messages = table.filter(pc.equal(table["type"], "user_message"))
    acks = len(table) - len(messages)
    numbers = pc.count_distinct(messages["message_id"]).as_py()
    print(f"messages: {len(messages):,}, different: {numbers:,}; acknowledgments: {acks:,}")
    return bool(len(messages) == numbers == packets)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--tables", default="messages,calls,anomalies,errors")
    asked = parser.parse_args()
    return 0 if run(asked.packets, asked.files, asked.tables) else 1


if __name__ == "__main__":
    sys.exit(_main())
