"""``timeline --all`` and the formats of Timesketch, checked as its importer checks a file.

The checks are those of ``timesketch/lib/utils.py`` (read_and_validate_csv and read_and_validate_jsonl) in our
words: the three columns are there, a line is one JSON object, each ``datetime`` can be read and lies in its
range, and no column has a name that it scrubs or, as ``label`` in ``timesketch/api/v1/resources/explore.py``,
writes itself.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.build_frames import pcap
from msmq_wire.capture.reader import read_capture
from msmq_wire.cli.timeline_output import by_time
from msmq_wire.records.record import Record
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
        # It scrubs these, keeps its own marks in `label`, and takes tags as a list or with commas between.
        assert not {"label", "_id", "_type", "_index", "_source", "__ts_timeline_id"} & row.keys()
        tags = row["tag"].split(",") if isinstance(row["tag"], str) else row["tag"]
        assert tags in (["msmq"], ["msmq", "anomaly"])
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
    (row,) = (one for one in rows if one.get("message_label") == "order 4711")
    assert row == {
        "message": '192.0.2.21:49731 to 192.0.2.10:1801: user message "order 4711" to msg01 orders',
        "datetime": "2026-11-20T09:14:07.525000+00:00",
        "timestamp_desc": "Frame captured",
        "timestamp": 1795166047525000,
        "tag": ["msmq"],
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
        "message_label": "order 4711",
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
        (("--filter", "id == 1"), "it chooses among all items: add --all"),
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


def _records(capture: str, times: Sequence[int | None]) -> list[Record]:
    record = next(iter(read_capture(_DEMO)))
    return [
        msgspec.structs.replace(record, id=number, time=time, capture=capture)
        for number, time in enumerate(times, 1)
    ]


@pytest.mark.parametrize(
    ("times", "kept", "ids"),
    [
        ([1, 3, 2, 4], 10, [1, 3, 2, 4]),
        ([5, 5, 5], 10, [1, 2, 3]),
        ([1, 4, None, 2], 10, [1, 4, 2, 3]),
        ([None, 1], 10, [1, 2]),
        ([2, 3, 4, 1], 1, [1, 2, 4, 3]),
        ([2, 3, 4, 1], 3, [4, 1, 2, 3]),
    ],
    ids=["late", "equal", "timeless stays behind", "timeless first", "too late to be put right", "just kept"],
)
def test_items_are_in_the_order_of_time(times: list[int | None], kept: int, ids: list[int]) -> None:
    assert [one.id for one in by_time(_records("a", times), kept)] == ids


def test_captures_are_put_in_order_each_for_itself() -> None:
    records = [*_records("a", [9, 8]), *_records("b", [2, 1])]
    assert [(one.capture, one.time) for one in by_time(records)] == [("a", 8), ("a", 9), ("b", 1), ("b", 2)]


def test_no_more_items_are_kept_than_it_takes() -> None:
    read: list[int] = []

    def reading() -> Iterator[Record]:
        for record in _records("a", [*range(100)]):
            read.append(record.id)
            yield record

    for place, _ in enumerate(by_time(reading(), kept=7), 1):
        assert len(read) <= place + 7


@pytest.mark.parametrize("name", ["loss_between", "three_points"])
def test_captures_of_several_places_are_one_in_order(name: str, run: Run) -> None:
    paths = sorted((_FIXTURES / "places" / name).glob("*.pcap"))
    rows = imported(run("timeline", *paths, "--all", "--format", "timesketch").out, "timesketch")
    times = [row["time"] for row in rows]
    assert times == sorted(times)
    # Each packet is told once, with what each place saw of it.
    assert len({row["record"] for row in rows}) == len(rows)
    sent = [row for row in rows if row["type"] == "user_message"]
    assert sent
    assert all(len(row["seen_at"]) == len(paths) for row in sent)


def test_a_filter_chooses_among_all(run: Run) -> None:
    result = run("timeline", _DEMO, "--all", "--format", "timesketch", "--filter", "label ~ payment")
    assert [row["message_label"] for row in imported(result.out, "timesketch")] == ["payment 93"]
    assert "1 of " in result.err


def test_an_anomaly_is_a_tag(run: Run) -> None:
    path = _FIXTURES / "findings" / "LEN-ENV" / "hit_late_start.pcap"
    odd = {one.id for one in read_capture(path, streams=True) if one.anomalies}
    for format_ in ("timesketch", "timesketch-csv"):
        rows = imported(run("timeline", path, "--all", "--format", format_).out, format_)
        assert {int(row["record"]) for row in rows if "anomaly" in row["tag"]} == odd
        assert odd


@pytest.mark.parametrize("choice", [("--message", "order 4711"), ("--session", "0")], ids=" ".join)
def test_steps_of_one_message_or_session_have_their_ends_apart(choice: tuple[str, str], run: Run) -> None:
    rows = imported(run("timeline", _DEMO, *choice, "--format", "timesketch").out, "timesketch")
    assert {row["src_ip"] for row in rows} == {"192.0.2.21", "192.0.2.10"}
    assert {row["community_id"] for row in rows} == {"1:d8B+4SCIbCpWM0zZJe8EPvzsymM="}


def test_nanoseconds_are_in_a_column_of_their_own(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "nano.pcap"
    data = bytearray(_DEMO.read_bytes())
    assert data[:4] == b"\xd4\xc3\xb2\xa1"
    data[:4] = b"\x4d\x3c\xb2\xa1"
    data[28:32] = (123456789).to_bytes(4, "little")
    path.write_bytes(data)
    for format_ in ("timesketch", "timesketch-csv"):
        rows = imported(run("timeline", path, "--all", "--format", format_).out, format_)
        (row,) = (one for one in rows if int(one["frame"]) == 1)
        assert row["datetime"] == "2026-11-20T09:14:07.123456+00:00"
        assert row["time"] == "2026-11-20T09:14:07.123456789Z"


_NARROW = """\
2026-11-20
09:14:07.512000        1  ping  request, cookie 7
                          192.0.2.21:50217 → 192.0.2.10:3527
"""


def test_a_narrow_terminal_has_who_below_what(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        out = run("timeline", _DEMO, "--all").out
        assert out.startswith(_NARROW)
        assert out.count("2026-11-20\n") == 1
        assert max(map(len, out.splitlines())) <= width
