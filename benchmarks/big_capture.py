"""What a big capture costs: peak memory and rate of ``msmq-wire decode --format jsonl``.

Writes a synthetic capture (several connections side by side, messages from 300 bytes to a few KB, some of a
megabyte), decodes it in a process of its own and throws the rows away.
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msmq_wire as mw
from benchmarks.traffic import Sender
from benchmarks.workload import message

_CONNECTIONS = 24
_TEMPLATES = 400
_BIG = 1 << 20
_FLUSH = 1 << 22
_GIGABYTE = 1_000_000_000


def templates() -> list[bytes]:
    """Messages of realistic sizes: most are small, a few have a body of a megabyte."""
    source = random.Random(1801)
    sizes = [min(12_000, 300 + int(source.expovariate(1 / 1200))) for _ in range(_TEMPLATES - 2)]
    return [mw.encode(message(number, size)) for number, size in enumerate([*sizes, _BIG, _BIG // 3])]


def traffic(pairs: int | None = None) -> Iterator[bytes]:
    """Yield the frames of so many pairs of messages, else without end; connections take turns, one each."""
    packets = templates()
    source = random.Random(3527)
    senders = [Sender(number) for number in range(_CONNECTIONS)]
    for sender in senders:
        yield from sender.open()
    for _ in itertools.count() if pairs is None else range(pairs):
        # Frames of two messages on two connections are mixed, as they are on a wire.
        streams = [one.send(source.choice(packets)) for one in source.sample(senders, 2)]
        for frame in itertools.chain.from_iterable(itertools.zip_longest(*streams)):
            if frame is not None:
                yield frame


def write(path: Path, size: int) -> int:
    """Write a capture of at least ``size`` bytes; return the number of frames."""
    header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)
    pack = struct.Struct("<IIII").pack
    parts, held, written, count = [header], len(header), 0, 0
    with path.open("wb") as file:
        for frame in traffic():
            seconds, nanoseconds = divmod(1_700_000_000_000_000_000 + count * 20_000, 1_000_000_000)
            parts += (pack(seconds, nanoseconds, len(frame), len(frame)), frame)
            held += 16 + len(frame)
            count += 1
            if held >= _FLUSH or written + held >= size:
                file.write(b"".join(parts))
                written += held
                parts, held = [], 0
                if written >= size:
                    return count
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bytes", type=int, default=_GIGABYTE, help="size of the capture, default 1 GB")
    parser.add_argument("--folder", type=Path, help="where the capture is written, default: temporary files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="msmq-wire-", dir=options.folder) as folder:
        path = Path(folder) / "big.pcap"
        start = time.perf_counter()
        count = write(path, options.bytes)
        size = path.stat().st_size
        print(f"written: {size:,} bytes, {count:,} frames in {time.perf_counter() - start:.1f} s", flush=True)
        command = [sys.executable, "-c", "from msmq_wire.cli.app import main; main()"]
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "decode", str(path), "--format", "jsonl"], stdout=subprocess.DEVNULL, check=False
        )
        seconds = time.perf_counter() - start
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    print(
        f"decoded in {seconds:.1f} s: {size / seconds / 1e6:.1f} MB/s, {count / seconds:,.0f} frames/s; "
        f"peak memory {peak / 1e6:.0f} MB; exit status {done.returncode}"
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
