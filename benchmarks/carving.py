"""How fast files are searched: ``python -m benchmarks.carving``.

Writes a file of ordinary content (programs and libraries of this machine, over and over; 4 GB, or
``--gigabytes``) with a few packets in it. In each of five rounds ``grep -c LIOR`` reads it, then ``carve`` as
it is given, for packets alone, and without the hash, each a process of its own; the file stays in memory.
Printed are medians, ratios of rounds, and the most anonymous memory. With ``--hostile`` it is files of 16 and
32 MB in which every few bytes begin like a packet, and how long each takes.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import msmq_wire as mw
from benchmarks.measure import anonymous_memory
from msmq_wire.reassembly.packet_framer import MAX_PENDING

__all__ = ["hostile", "ordinary"]

_ROUNDS = 5
_PACKETS = 20
_BLOCK = 1 << 20
_MAIN = "import sys; from msmq_wire.cli.app import main; sys.exit(main())"
_FOLDERS = ("/usr/bin", "/usr/lib", "/usr/share")
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "carve": (),
    "carve, packets alone": ("--packets-only",),
    "carve, no hash": ("--no-sha256",),
    "carve, packets alone, no hash": ("--packets-only", "--no-sha256"),
}


def ordinary(size: int) -> Iterator[bytes]:
    """Yield blocks of ordinary files, ``size`` bytes in all, from the start again where they end."""
    left = size
    while left > 0:
        for folder in _FOLDERS:
            for path in sorted(Path(folder).rglob("*")):
                if left <= 0:
                    return
                if path.is_symlink() or not path.is_file():
                    continue
                with path.open("rb") as file:
                    while left > 0 and (block := file.read(min(_BLOCK, left))):
                        left -= len(block)
                        yield block


def hostile(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield files in which nearly everything begins like a packet, each with what it is."""
    message = bytearray(mw.encode(mw.build_message(r"DIRECT=OS:h\q", b"x" * 60)))
    message[8:12] = struct.pack("<I", MAX_PENDING - 16)
    root = (
        b'<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/" '
        b'xmlns="http://schemas.xmlsoap.org/srmp/">'
    )
    for what, piece in (
        ("signatures every 4 bytes", b"LIOR"),
        (
            "headers every 12 bytes, PacketSize maximal",
            b"\x10\0\0\0LIOR" + struct.pack("<I", MAX_PENDING - 16),
        ),
        ("messages that claim all that follows", bytes(message)),
        ("roots of SRMP without an end", root),
    ):
        yield what, piece * (size // len(piece))


def _write(path: Path, size: int) -> None:
    packet = mw.encode(mw.build_message(r"DIRECT=OS:host\private$\orders", b"Order 4711" * 20, label="Order"))
    written, every = 0, size // _PACKETS
    with path.open("wb") as file:
        for block in ordinary(size):
            file.write(block)
            if written // every != (written + len(block)) // every:
                file.write(packet)
            written += len(block)


def _timed(*command: str) -> tuple[float, int]:
    begun = time.perf_counter()
    most = 0
    # Where nobody reads its output grep ends at the first line that it counts.
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL) as process,
    ):
        while process.poll() is None:
            most = max(most, 1000 * anonymous_memory(process.pid))
            time.sleep(0.02)
    return time.perf_counter() - begun, most


def _carve(path: Path, *options: str) -> tuple[float, int]:
    return _timed(sys.executable, "-c", _MAIN, "carve", str(path), "-q", *options)


def main() -> None:
    """Print how fast grep and the commands are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--folder", default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "disk.img"
        if given.hostile:
            for size in (1 << 24, 1 << 25):
                for what, data in hostile(size):
                    path.write_bytes(data)
                    seconds, memory = _carve(path)
                    print(f"{size >> 20} MB, {what}: {seconds:.1f} s, {memory / 1e6:.0f} MB")
            return
        _write(path, int(given.gigabytes * 1e9))
        rounds: list[dict[str, tuple[float, int]]] = []
        for _ in range(_ROUNDS + 1):
            found = {"grep -c LIOR": _timed("grep", "-c", "LIOR", str(path))}
            found |= {name: _carve(path, *options) for name, options in _COMMANDS.items()}
            rounds.append(found)
        # The first one reads from the disk.
        for name in rounds[0]:
            taken = [one[name][0] for one in rounds[1:]]
            ratios = [one["grep -c LIOR"][0] / one[name][0] for one in rounds[1:]]
            memory = max(one[name][1] for one in rounds)
            rate = path.stat().st_size / median(taken) / 1e9
            reported = f"{median(taken):.2f} s, {rate:.2f} GB/s, {median(ratios):.2f} of grep"
            print(f"{name}: {reported}, {memory / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
