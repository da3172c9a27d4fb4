"""Capture files: ours beside tshark, pyshark, scapy and dpkt, and the floor under all of them.

The peers hand out what TCP segments carry and stop there; ours puts the streams together, cuts them into
packets and decodes these.
"""

from __future__ import annotations

import functools
import json
import mmap
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import dpkt  # type: ignore[import-untyped]  # it comes without types
import msgspec
import numpy as np
import pyshark  # type: ignore[import-untyped]  # it comes without types
from scapy.layers.inet import TCP
from scapy.utils import PcapReader

import msmq_wire as mw
from benchmarks.agreement import Facts, differences, facts_of_arrow, facts_of_value
from benchmarks.measure import Contestant, Result, measure
from benchmarks.traffic import Written, write
from msmq_wire.capture.batches import read_batches
from msmq_wire.capture.tables import read_tables

__all__ = [
    "ARROW",
    "BATCHES",
    "DPKT",
    "FLOOR",
    "PYSHARK",
    "ROWS",
    "SCAPY",
    "TSHARK_EK",
    "TSHARK_FIELDS",
    "Part",
    "check",
    "find_tshark",
    "run",
    "scapy_payloads",
    "tshark_ek",
]

TSHARK_FIELDS = "tshark -T fields -e tcp.payload"
TSHARK_EK = "tshark -T ek"
PYSHARK = "pyshark"
SCAPY = "scapy PcapReader"
DPKT = "dpkt, frames and TCP"
ROWS = "msmq_wire.read_capture"
BATCHES = "msmq_wire, packets in batches (nothing decoded)"
ARROW = "msmq_wire, capture to Arrow"
FLOOR = "mmap, every byte touched"

Payloads = Iterator[bytes]
Frames = Callable[[], Iterator[bytes]]


class Part(msgspec.Struct, frozen=True):
    """A capture, and what slow contestants get of the same traffic."""

    whole: Written
    tenth: Written
    hundredth: Written
    packets: int


@functools.cache
def find_tshark() -> str | None:
    """The path of tshark; None, and a printed line, where there is none."""
    path = shutil.which("tshark")
    if path is None:
        print("tshark is not on PATH: left out, and pyshark with it", flush=True)
    return path


def _tshark(arguments: list[str], path: Path) -> list[str]:
    tshark = find_tshark()
    assert tshark is not None
    return [tshark, "-n", "-r", str(path), *arguments]


_FIELDS = ["-T", "fields", "-e", "tcp.payload"]
_EK = ["-T", "ek"]


def _run_tshark(arguments: list[str], written: Written) -> int:
    command = _tshark(arguments, written.path)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return written.frames


def _tshark_fields(path: Path) -> Payloads:
    done = subprocess.run(_tshark(_FIELDS, path), capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        yield bytes.fromhex(line)


def tshark_ek(path: Path) -> list[str]:
    """The command that prints a capture as JSON for Elasticsearch."""
    return _tshark(_EK, path)


def _tshark_ek(path: Path) -> Payloads:
    done = subprocess.run(tshark_ek(path), capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        layers = json.loads(line).get("layers")
        if layers is not None:
            yield bytes.fromhex(layers["tcp"].get("tcp_tcp_payload", "").replace(":", ""))


def _pyshark(path: Path) -> Payloads:
    with pyshark.FileCapture(str(path), keep_packets=False) as capture:
        for packet in capture:
            yield bytes.fromhex(getattr(packet.tcp, "payload", "").replace(":", ""))


def scapy_payloads(path: Path) -> Payloads:
    """What the TCP segments of a capture carry, read by scapy."""
    with PcapReader(str(path)) as reader:
        for packet in reader:
            tcp = packet[TCP]
            # Ethernet pads short frames, and scapy gives the padding a layer of its own.
            yield bytes(tcp.payload)


def _dpkt(path: Path) -> Payloads:
    with path.open("rb") as file:
        for _, frame in dpkt.pcap.Reader(file):
            yield dpkt.ethernet.Ethernet(frame).data.data.data


def _count(read: Callable[[Path], Payloads], written: Written) -> int:
    payload = sum(map(len, read(written.path)))
    _expect(payload, written.payload, "bytes of payload")
    return written.frames


def _expect(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise RuntimeError(f"{found} {what} where there are {expected}")


def _rows(part: Part) -> int:
    found = sum(record.error is None and record.type != "gap" for record in mw.read_capture(part.whole.path))
    _expect(found, part.packets, "packets")
    return part.whole.frames


def _batches(part: Part) -> int:
    found = sum(len(batch) + len(batch.others) for batch in read_batches(part.whole.path))
    _expect(found, part.packets, "packets")
    return part.whole.frames


def _arrow(part: Part) -> int:
    found = sum(table.num_rows for tables in read_tables(part.whole.path) for table in tables.values())
    _expect(found, part.packets, "packets")
    return part.whole.frames


def _floor(written: Written) -> int:
    with written.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        words = np.frombuffer(data, np.uint64, count=len(data) // 8)
        total = int(words.sum())
        # The map cannot be closed while an array looks at it.
        del words
    assert total >= 0
    return written.frames


def check(folder: Path, packets: list[bytes], frames: Callable[[list[bytes]], Iterator[bytes]]) -> list[str]:
    """One line for every contestant that reads this traffic differently; none if all agree."""
    made = list(frames(packets))
    written = write(folder / "check.pcap", made)
    path = written.path
    payloads = [payload for frame in made if (payload := frame[54:])]
    carried: dict[str, list[bytes]] = {SCAPY: _full(scapy_payloads(path)), DPKT: _full(_dpkt(path))}
    if find_tshark() is not None:
        carried[TSHARK_FIELDS] = _full(_tshark_fields(path))
        carried[TSHARK_EK] = _full(_tshark_ek(path))
        carried[PYSHARK] = _full(_pyshark(path))
    expected = sorted(facts_of_value(mw.decode(data, engine="reference")) for data in packets)
    read = {
        ROWS: sorted(facts_of_value(record.packet) for record in mw.read_capture(path)),
        ARROW: sorted(_facts_of_tables(path)),
    }
    return differences(carried, payloads) + differences(read, expected)


def _full(payloads: Payloads) -> list[bytes]:
    return [payload for payload in payloads if payload]


def _facts_of_tables(path: Path) -> Iterator[Facts]:
    for tables in read_tables(path):
        for stem, table in tables.items():
            # pandas, which pyarrow wants for nanoseconds, is not needed for anything else.
            yield from (facts_of_arrow(stem, row) for row in table.drop_columns(["time"]).to_pylist())


def run(suffix: str, part: Part, rounds: int) -> list[Result]:
    """Measure the group ``capture_<suffix>``; the start of a program counts."""
    contestants = [
        Contestant(SCAPY, partial(_count, scapy_payloads, part.tenth)),
        Contestant(DPKT, partial(_count, _dpkt, part.whole)),
        Contestant(ROWS, partial(_rows, part)),
        Contestant(BATCHES, partial(_batches, part)),
        Contestant(ARROW, partial(_arrow, part)),
        Contestant(FLOOR, partial(_floor, part.whole)),
    ]
    if find_tshark() is not None:
        contestants += [
            Contestant(TSHARK_FIELDS, partial(_run_tshark, _FIELDS, part.whole), every_core=True),
            Contestant(TSHARK_EK, partial(_run_tshark, _EK, part.whole), every_core=True),
            Contestant(PYSHARK, partial(_count, _pyshark, part.hundredth), every_core=True),
        ]
    return measure(f"capture_{suffix}", "frames/s", contestants, rounds)
