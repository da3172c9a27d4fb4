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

import msgspec

from benchmarks.capture_groups import find_tshark
from benchmarks.captures import CAPTURES
from benchmarks.measure import Contestant, Result, measure

__all__ = [
    "CALLS",
    "CSV",
    "DECODE",
    "DIAGNOSE",
    "EXPLAIN",
    "FINDINGS",
    "HELP",
    "IMPORT",
    "JSON_LINES",
    "REPORT",
    "START",
    "START_MESSAGES",
    "SUITES",
    "TABLE",
    "TREE",
    "TSHARK_EK",
    "TSHARK_FIELDS",
    "TSHARK_PAYLOAD",
    "TSHARK_START",
    "TSHARK_V",
    "Suite",
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
START_MESSAGES = "msmq-wire messages demo.pcap"
HELP = "msmq-wire --help"
EXPLAIN = "msmq-wire explain BAS-VERSION"
IMPORT = "import msmq_wire"
TSHARK_EK = "tshark -T ek"
TSHARK_V = "tshark -V"
TSHARK_FIELDS = "tshark -T fields, time, ends and payload"
TSHARK_PAYLOAD = "tshark -T fields, payload"
TSHARK_START = "tshark -r demo.pcap"

_DEMO = Path(__file__).resolve().parents[1] / "fixtures" / "captures" / "demo.pcap"
_MAIN = "from msmq_wire.cli.app import main; main()"
_FIELDS = ("frame.number", "frame.time_epoch", "ip.src", "ip.dst", "tcp.payload")


class Suite(msgspec.Struct, frozen=True):
    """Commands measured beside a peer: the title of their table, and contestants by the name of a ratio."""

    title: str
    peer: str
    ours: dict[str, str]


SUITES: dict[str, Suite] = {
    "decode": Suite("Command decode, JSON lines", TSHARK_EK, {"decode_jsonl_vs_tshark_ek": DECODE}),
    "tree": Suite("Command decode, trees", TSHARK_V, {"decode_tree_vs_tshark_v": TREE}),
    "messages": Suite(
        "Command messages",
        TSHARK_FIELDS,
        {
            "messages_jsonl_vs_tshark_fields": JSON_LINES,
            "messages_csv_vs_tshark_fields": CSV,
            "messages_table_vs_tshark_fields": TABLE,
        },
    ),
    "calls": Suite("Command calls", TSHARK_FIELDS, {"calls_jsonl_vs_tshark_fields": CALLS}),
    "judged": Suite(
        "Commands that judge",
        TSHARK_PAYLOAD,
        {
            "findings_jsonl_vs_tshark_payload": FINDINGS,
            "diagnose_vs_tshark_payload": DIAGNOSE,
            "report_vs_tshark_payload": REPORT,
        },
    ),
}
"""What is measured on the captures that name it."""
START = Suite(
    "Start of a command",
    TSHARK_START,
    {
        "start_messages_vs_tshark": START_MESSAGES,
        "start_help_vs_tshark": HELP,
        "start_explain_vs_tshark": EXPLAIN,
        "start_import_vs_tshark": IMPORT,
    },
)


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
    if name == IMPORT:
        return [sys.executable, "-c", IMPORT]
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


def check(folder: Path) -> list[str]:
    """One line for every capture of which a command prints another number of rows than there are."""
    lines = []
    for name, capture in CAPTURES.items():
        written = capture.write(folder / f"commands_{name}.pcap", 1000)
        done = subprocess.run(_arguments(DECODE, written.path), capture_output=True, check=True)
        found = sum(b'"packet":{' in line and b'"error":{' not in line for line in done.stdout.splitlines())
        if found != written.rows:
            lines.append(f"{DECODE}, {name}: {found} rows, {written.rows} are there")
    return lines


def run(folder: Path, frames: int, rounds: int) -> Iterator[list[Result]]:
    """Measure every suite on the captures that name it; then the start."""
    if find_tshark() is None:
        return
    for name, capture in CAPTURES.items():
        written = capture.write(folder / f"commands_{name}.pcap", frames) if capture.suites else None
        for key in capture.suites:
            assert written is not None
            contestants = _contestants(SUITES[key], written.path, written.frames)
            yield measure(f"commands_{key}_{name}", "frames/s", contestants, rounds)
    yield measure("commands_start", "starts/s", _contestants(START, _DEMO, 1), 4 * rounds)


def _contestants(suite: Suite, path: Path, done: int) -> list[Contestant]:
    return [
        Contestant(name, partial(_run, name, path, done), every_core=True)
        for name in (suite.peer, *suite.ours.values())
    ]
