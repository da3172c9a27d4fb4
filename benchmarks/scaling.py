"""Whether cost and memory stay the same per frame when a capture grows: one and five million frames.

Every run is a process of its own, so that the peak of its memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import msgspec

import msmq_wire as mw
from benchmarks.measure import pin
from benchmarks.traffic import in_order, write
from benchmarks.workload import messages
from msmq_wire.capture.tables import read_tables

__all__ = ["Scaling", "run"]

_MILLION = 1_000_000
_RUNS = {"arrow": 5, "rows": 3}


class Scaling(msgspec.Struct, frozen=True):
    """The cost of one capture: nanoseconds a frame, the median and every run; most memory held, in bytes."""

    work: str
    frames: int
    nanoseconds: float
    runs: tuple[float, ...]
    peak_memory: int


def run(folder: Path, sizes: tuple[int, ...] = (_MILLION, 5 * _MILLION)) -> list[Scaling]:
    """Write captures of these sizes, in frames, into ``folder`` and read each several times."""
    warm = write(folder / "warm.pcap", in_order(messages(64))).path
    found = []
    for size in sizes:
        path = folder / f"{size}.pcap"
        # Two messages in segments of their own, and an ACK.
        frames = write(path, in_order(messages(size * 2 // 3))).frames
        print(f"{frames:,} frames written, {path.stat().st_size:,} bytes", flush=True)
        for work, times in _RUNS.items():
            runs = [_child(work, warm, path) for _ in range(times)]
            costs = tuple(seconds * 1e9 / frames for seconds, _ in runs)
            found.append(
                Scaling(work, frames, statistics.median(costs), costs, max(memory for _, memory in runs))
            )
        path.unlink()
    return found


def _child(work: str, *paths: Path) -> tuple[float, int]:
    command = [sys.executable, "-m", "benchmarks.scaling", work, *map(str, paths)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory


def _main() -> int:
    parser = argparse.ArgumentParser(
        description="Read captures; print the seconds that the last one took, and the peak of memory."
    )
    parser.add_argument("work", choices=sorted(_RUNS))
    parser.add_argument("paths", type=Path, nargs="+")
    options = parser.parse_args()
    pin()
    read = read_tables if options.work == "arrow" else mw.read_capture
    # What a process makes once, on the first packets, is no cost of a frame.
    for path in options.paths:
        start = time.perf_counter()
        for _ in read(path):
            pass
        seconds = time.perf_counter() - start
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit]))
    return 0


if __name__ == "__main__":
    sys.exit(_main())
