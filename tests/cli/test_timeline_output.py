"""``timeline --all`` and the formats of Timesketch, checked as its importer checks a file.

The checks are those of ``timesketch/lib/utils.py`` (read_and_validate_csv and read_and_validate_jsonl) in our
words: the three columns are there, a line is one JSON object, and each ``datetime`` can be read and lies in
its range.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_frames import pcap
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.timeline_rows import TIMESKETCH_COLUMNS
from tests.effort import in_batches

Run = Callable[..., Any]
Row = dict[str, Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_DROPPED = _FIXTURES / "captures" / "path_dropped_frames.pcapng"
_CAPTURES = sorted((_FIXTURES / "captures").glob("*.pcap*"))
_NEEDED = ("message", "datetime", "timestamp_desc")
_ALL = (("--all",), ("--message", "order 4711"), ("--session", "0"))


def imported(text: str, format_: str) -> list[Row]:
    """The events of a file, as the importer takes them."""
    assert not text.startswith("\ufeff")
    if format_ == "timesketch":
        rows: list[Row] = [json.loads(line) for line in text.splitlines()]
    else:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        assert tuple(reader.fieldnames or ()) == TIMESKETCH_COLUMNS
        rows = list(reader)
        assert all(None not in row and None not in row.values() for row in rows)
    for row in rows:
        assert all(row[name] for name in _NEEDED)
        time = datetime.fromisoformat(row["datetime"])
        assert time.utcoffset() == timedelta(0)
        assert 1700 <= time.year <= 2262
        # The importer makes it of `datetime` where it is not there.
        assert int(row["timestamp"]) == (time - datetime.fromisoformat("1970-01-01T00:00:00+00:00")) // (
            timedelta(microseconds=1)
        )
        assert row["time"].startswith(row["datetime"][:26])
    return rows


@pytest.mark.parametrize("choice", _ALL, ids=" ".join)
@pytest.mark.parametrize("format_", ["timesketch", "timesketch-csv"])
def test_the_importer_takes_what_is_written(choice: tuple[str, ...], format_: str, run: Run) -> None:
    result = run("timeline", str(_DEMO), *choice, "--format", format_)
    assert result.status == 0
    assert imported(result.out, format_)


def test_a_message_says_who_it_is_from_and_what_it_is(run: Run) -> None:
    rows = imported(run("timeline", str(_DEMO), "--all", "--format", "timesketch").out, "timesketch")
    (row,) = (one for one in rows if one.get("label") == "order 4711")
    assert row == {
        "message": '192.0.2.21:49731 to 192.0.2.10:1801: user message "order 4711" to msg01 orders',
        "datetime": "2026-11-20T09:14:07.525000+00:00",
        "timestamp_desc": "Frame captured",
        "timestamp": 1795166047525000,
        "src_ip": "192.0.2.21",
        "src_port": 49731,
        "dst_ip": "192.0.2.10",
        "dst_port": 1801,
        "community_id": "1:d8B+4SCIbCpWM0zZJe8EPvzsymM=",
        "record": 10,
        "type": "user_message",
        "capture": str(_DEMO),
        "frame": 11,
        "time": "2026-11-20T09:14:07.525000000Z",
        "src": "192.0.2.21:49731",
        "dst": "192.0.2.10:1801",
        "what": "user message",
        "detail": '"order 4711" to msg01 orders',
        "queue": "DIRECT=OS:msg01\\private$\\orders",
        "label": "order 4711",
        "message_id": "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4162",
        "message_class_name": "MQMSG_CLASS_NORMAL",
        "body_size": 276,
    }
    # A ping is a flow of UDP.
    assert rows[0]["community_id"] == "1:4WMRb3aj7aZWA3yk1SxDh9UP4lE="


def test_all_of_a_capture_has_a_line_for_each_item(run: Run) -> None:
    lines = run("timeline", str(_DEMO), "--all").out.splitlines()
    said = "2026-11-20 09:14:07.512000Z 0.000 1 ping request, cookie 7 192.0.2.21:50217 → 192.0.2.10:3527"
    assert " ".join(lines[0].split()) == said
    assert lines[2].split()[4:7] == ["connection", "syn", "192.0.2.21:49731"]
    ids = [record.id for record in read_capture(_DEMO, streams=True)]
    rows = [
        json.loads(line)
        for line in run("timeline", str(_DEMO), "--all", "--format", "jsonl").out.split("\n")[:-1]
    ]
    assert len(lines) == len(rows)
    # How a connection got established says nothing that its SYN does not.
    assert [row["record"] for row in rows] == [one for one in ids if one != 5 and one != ids[-1]]


@in_batches(_CAPTURES)
def test_every_packet_and_call_of_a_capture_is_told(path: Path, run: Run) -> None:
    wanted = {one.id for one in read_capture(path) if one.type not in ("gap", "error")}
    result = run("timeline", str(path), "--all", "--format", "jsonl")
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert wanted <= {row["record"] for row in rows}
    imported(run("timeline", str(path), "--all", "--format", "timesketch-csv").out, "timesketch-csv")


def test_what_has_no_time_is_left_out_and_counted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "timeless.pcap"
    path.write_bytes(_DEMO.read_bytes()[:-3])
    rows = [
        json.loads(line) for line in run("timeline", str(path), "--all", "--format", "jsonl").out.splitlines()
    ]
    timeless = sum(row["time"] is None for row in rows)
    result = run("timeline", str(path), "--all", "--format", "timesketch")
    assert timeless == 1
    assert len(imported(result.out, "timesketch")) == len(rows) - 1
    assert "1 row without a time left out" in result.err


def test_what_is_hidden_is_hidden_in_every_column(run: Run) -> None:
    for format_ in ("jsonl", "timesketch", "timesketch-csv", "text"):
        shown = run("timeline", str(_DEMO), "--all", "--format", format_, "--redact", "hosts,labels").out
        assert "host-1" in shown
        assert not [word for word in ("192.0.2.", "4711", "msg01", "1:d8B+") if word in shown]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--all", "--session", "0"), "only one of --all, --message and --session"),
        (("--format", "timesketch"), "add --all, --message TEXT or --session N"),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_a_choice_that_is_not_clear_is_bad_usage(arguments: tuple[str, ...], words: str, run: Run) -> None:
    result = run("timeline", str(_DEMO), *arguments)
    assert (result.status, words in result.err) == (2, True)


def test_two_files_are_told_below_their_names(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.pcap"
    other.write_bytes(pcap([]))
    lines = run("timeline", str(_DEMO), str(other), "--all").out.splitlines()
    assert lines[0] == f"in {_DEMO}:"
