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
from collections.abc import Callable, Iterable, Iterator
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
from benchmarks.captures import CAPTURES
from benchmarks.measure import Contestant, Result, measure
from benchmarks.traffic import Written, payload_of, write
from msmq_wire.capture.batches import read_batches
from msmq_wire.capture.tables import OTHER, read_tables
from msmq_wire.records.record import Record

__all__ = [
    "ARROW",
    "BATCHES",
    "DPKT",
    "FLOOR",
    "JUDGED",
    "PYSHARK",
    "READERS",
    "ROWS",
    "SCAPY",
    "TSHARK_EK",
    "TSHARK_FIELDS",
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
JUDGED = "msmq_wire, packets in batches, judged"
ARROW = "msmq_wire, capture to Arrow"
FLOOR = "mmap, every byte touched"

Payloads = Iterator[bytes]


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
            yield bytes.fromhex(layers.get("tcp", {}).get("tcp_tcp_payload", "").replace(":", ""))


def _pyshark(path: Path) -> Payloads:
    with pyshark.FileCapture(str(path), keep_packets=False) as capture:
        for packet in capture:
            if "tcp" in packet:
                yield bytes.fromhex(getattr(packet.tcp, "payload", "").replace(":", ""))


def scapy_payloads(path: Path) -> Payloads:
    """What the TCP segments of a capture carry, read by scapy."""
    with PcapReader(str(path)) as reader:
        for packet in reader:
            if TCP in packet:
                # Ethernet pads short frames, and scapy gives the padding a layer of its own.
                yield bytes(packet[TCP].payload)


def _dpkt(path: Path) -> Payloads:
    with path.open("rb") as file:
        for _, frame in dpkt.pcap.Reader(file):
            segment = dpkt.ethernet.Ethernet(frame).data.data
            if isinstance(segment, dpkt.tcp.TCP):
                yield segment.data


def _count(read: Callable[[Path], Payloads], written: Written) -> int:
    payload = sum(map(len, read(written.path)))
    _expect(payload, written.payload, "bytes of payload")
    return written.frames


def _expect(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise RuntimeError(f"{found} {what} where there are {expected}")


def _rows(written: Written) -> int:
    return _whole(mw.read_capture(written.path))


def _whole(records: Iterable[Record]) -> int:
    """How many records are no gaps and nothing that a gap has cut."""
    return sum(record.error is None and record.type != "gap" for record in records)


def _batches(written: Written) -> int:
    found = sum(len(batch) + _whole(batch.others) for batch in read_batches(written.path))
    # Nothing is decoded, so that packets which a gap has cut are among them.
    return min(found, written.rows)


def _judged(written: Written) -> int:
    found = 0
    for batch in read_batches(written.path):
        rest = np.ones(len(batch), bool)
        for proven in batch.proven():
            rest[proven.places] = False
            found += len(proven.places)
        # What is not proven by column is judged by itself.
        found += _whole(map(batch.record, np.flatnonzero(rest).tolist())) + _whole(batch.others)
    return found


def _arrow(written: Written) -> int:
    return sum(
        table["error"].null_count
        for tables in read_tables(written.path)
        for name, table in tables.items()
        if name != OTHER
    )


READERS = {ROWS: _rows, BATCHES: _batches, JUDGED: _judged, ARROW: _arrow}
"""Ours, each with what counts the rows that it finds."""


def _found(count: Callable[[Written], int], written: Written) -> int:
    _expect(count(written), written.rows, "rows")
    return written.frames


def _floor(written: Written) -> int:
    with written.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        words = np.frombuffer(data, np.uint64, count=len(data) // 8)
        total = int(words.sum())
        # The map cannot be closed while an array looks at it.
        del words
    assert total >= 0
    return written.frames


def check(folder: Path, name: str) -> list[str]:
    """One line for every contestant that reads 100 messages of a capture differently; none if all agree."""
    capture = CAPTURES[name]
    sent: list[bytes] = []
    made = list(capture.frames(100, sent))
    written = msgspec.structs.replace(write(folder / f"check_{name}.pcap", made), rows=len(sent))
    path = written.path
    carried: dict[str, list[bytes]] = {SCAPY: _full(scapy_payloads(path)), DPKT: _full(_dpkt(path))}
    if find_tshark() is not None:
        carried[TSHARK_FIELDS] = _full(_tshark_fields(path))
        carried[TSHARK_EK] = _full(_tshark_ek(path))
        carried[PYSHARK] = _full(_pyshark(path))
    lines = differences(carried, _full(map(payload_of, made)))
    counts = {contestant: count(written) for contestant, count in READERS.items()}
    lines += [
        f"{one}: {rows} rows, {written.rows} are there"
        for one, rows in counts.items()
        if rows != written.rows
    ]
    if capture.binary:
        read = {
            ROWS: sorted(facts_of_value(one.packet) for one in mw.read_capture(path) if _whole([one])),
            ARROW: sorted(_facts_of_tables(path)),
        }
        lines += differences(read, sorted(facts_of_value(mw.decode(one, engine="reference")) for one in sent))
    return lines


def _full(payloads: Iterable[bytes]) -> list[bytes]:
    return [payload for payload in payloads if payload]


def _facts_of_tables(path: Path) -> Iterator[Facts]:
    for tables in read_tables(path):
        for stem, table in tables.items():
            # pandas, which pyarrow wants for nanoseconds, is not needed for anything else.
            for row in table.drop_columns(["time"]).to_pylist():
                if stem != OTHER and row["error"] is None:
                    yield facts_of_arrow(stem, row)


def run(folder: Path, name: str, frames: int, rounds: int) -> list[Result]:
    """Measure the group ``capture_<name>``; slow contestants read less, and the start of a program counts."""
    whole, tenth, hundredth = (
        CAPTURES[name].write(folder / f"{name}_{part}.pcap", frames // part) for part in (1, 10, 100)
    )
    contestants = [
        Contestant(SCAPY, partial(_count, scapy_payloads, tenth)),
        Contestant(DPKT, partial(_count, _dpkt, whole)),
        *(Contestant(one, partial(_found, count, whole)) for one, count in READERS.items()),
        Contestant(FLOOR, partial(_floor, whole)),
    ]
    if find_tshark() is not None:
        contestants += [
            Contestant(TSHARK_FIELDS, partial(_run_tshark, _FIELDS, whole), every_core=True),
            Contestant(TSHARK_EK, partial(_run_tshark, _EK, whole), every_core=True),
            Contestant(PYSHARK, partial(_count, _pyshark, hundredth), every_core=True),
        ]
    return measure(f"capture_{name}", "frames/s", contestants, rounds)
