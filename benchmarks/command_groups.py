"""The commands of ``msmq-wire`` beside tshark, on the same file: whole runs, start and end included.

tshark knows nothing of MSMQ: it stops at the payload of the segments.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

from benchmarks.calls import small_calls
from benchmarks.capture_groups import find_tshark
from benchmarks.measure import Contestant, Result, all_cores, measure
from benchmarks.traffic import Sender, Written, in_order, write
from benchmarks.workload import messages, mixed
from msmq_wire.srmp.building import build_srmp

__all__ = [
    "CALLS",
    "CSV",
    "DECODE",
    "DIAGNOSE",
    "EXPLAIN",
    "FINDINGS",
    "HELP",
    "JSON_LINES",
    "REPORT",
    "START",
    "TABLE",
    "TREE",
    "TSHARK_EK",
    "TSHARK_FIELDS",
    "TSHARK_PAYLOAD",
    "TSHARK_START",
    "TSHARK_V",
    "check",
    "run",
]

DECODE = "msmq-wire decode --format jsonl"
TREE = "msmq-wire decode"
JSON_LINES = "msmq-wire messages --format jsonl"
CSV = "msmq-wire messages --format csv"
TABLE = "msmq-wire messages"
CALLS = "msmq-wire calls --format jsonl"
FINDINGS = "msmq-wire findings --format jsonl"
DIAGNOSE = "msmq-wire diagnose"
REPORT = "msmq-wire report -o -"
START = "msmq-wire messages demo.pcap"
HELP = "msmq-wire --help"
EXPLAIN = "msmq-wire explain BAS-VERSION"
TSHARK_EK = "tshark -T ek"
TSHARK_V = "tshark -V"
TSHARK_FIELDS = "tshark -T fields, time, ends and payload"
TSHARK_PAYLOAD = "tshark -T fields, payload"
TSHARK_START = "tshark -r demo.pcap"

_DEMO = Path(__file__).resolve().parents[1] / "fixtures" / "captures" / "demo.pcap"
_MAIN = "from msmq_wire.cli.app import main; main()"
_FIELDS = ("frame.number", "frame.time_epoch", "ip.src", "ip.dst", "tcp.payload")
_SENDER = UUID("8b1c1d55-7e2d-4b8f-9f3b-0c3f5a5e1a20")
_OURS: dict[str, tuple[str, tuple[str, ...]]] = {
    "decode": (TSHARK_EK, (DECODE,)),
    "tree": (TSHARK_V, (TREE,)),
    "messages": (TSHARK_FIELDS, (JSON_LINES, CSV, TABLE)),
    "judged": (TSHARK_PAYLOAD, (FINDINGS, DIAGNOSE, REPORT)),
}
"""By suite: its peer, and what is measured beside it."""


def _arguments(name: str, path: Path) -> list[str]:
    """The command line of a contestant."""
    if name.startswith("tshark"):
        tshark = find_tshark()
        assert tshark is not None
        options = {
            TSHARK_EK: ["-T", "ek"],
            TSHARK_V: ["-V"],
            TSHARK_FIELDS: ["-T", "fields", *(word for field in _FIELDS for word in ("-e", field))],
            TSHARK_PAYLOAD: ["-T", "fields", "-e", "tcp.payload"],
            TSHARK_START: [],
        }
        return [tshark, "-n", *options[name], "-r", str(path)]
    words = name.split()[1:]
    wanted = [] if name in (HELP, EXPLAIN) else [str(path)]
    return [sys.executable, "-c", _MAIN, *(word for word in words if word != _DEMO.name), *wanted]


def _run(name: str, path: Path, done: int) -> int:
    # Bytecode is there for whoever runs a command twice.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        _arguments(name, path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        check=True,
    )
    return done


def _other_protocols(count: int) -> Iterator[bytes]:
    """Yield the frames of remote read calls, and of messages over HTTP with their answers."""
    yield from small_calls(count)
    connection = Sender(1, port=80)
    yield from connection.open()
    for number in range(count // 10):
        request = build_srmp(
            "http://server01/msmq/private$/orders",
            bytes(400),
            source_qm_guid=_SENDER,
            message_number=number,
            sent_at=1_700_000_000,
            label=f"order {number}",
        )
        yield from connection.send(request)
        yield connection.say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", sent=False)


def _captures(folder: Path, count: int) -> Iterator[tuple[str, Written]]:
    yield "600", write(folder / "commands_600.pcap", in_order(messages(count)))
    yield "mixed", write(folder / "commands_mixed.pcap", in_order(mixed(count)))
    yield "others", write(folder / "commands_others.pcap", _other_protocols(count // 5))


def check(folder: Path) -> list[str]:
    """One line for every command that prints another number of rows than there are; none if all are well."""
    # A ping is none on a connection; a connection of calls has what binds it, too.
    expected = {"600": 100, "mixed": 97, "others": 20 + 1 + 2}
    lines = []
    for name, written in _captures(folder, 100):
        done = subprocess.run(_arguments(DECODE, written.path), capture_output=True, check=True)
        found = done.stdout.count(b'"packet":{')
        if found != expected[name]:
            lines.append(f"{DECODE}, {name}: {found} packets, {expected[name]} are there")
    return lines


def run(folder: Path, count: int, rounds: int) -> Iterator[list[Result]]:
    """Measure every suite on messages of 600 bytes, a mixed session, and calls with HTTP; then the start."""
    if find_tshark() is None:
        return
    for suffix, written in _captures(folder, count):
        for suite, (peer, ours) in _OURS.items():
            calls = (CALLS,) if suffix == "others" and suite == "messages" else ()
            yield measure(
                f"commands_{suite}_{suffix}",
                "frames/s",
                [
                    Contestant(name, partial(_run, name, written.path, written.frames), every_core=True)
                    for name in (peer, *ours, *calls)
                ],
                rounds,
            )
    with all_cores():
        yield measure(
            "commands_start",
            "starts/s",
            [
                Contestant(name, partial(_run, name, _DEMO, 1))
                for name in (TSHARK_START, START, HELP, EXPLAIN)
            ],
            4 * rounds,
        )
