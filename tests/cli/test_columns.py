"""``--columns`` of every command: columns of any record, paths of packets, the file where it matters."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.detection.columns import FINDING_COLUMNS
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.column import RECORD_COLUMNS
from msmq_wire.records.message import COLUMNS
from tests.cli.conftest import is_refused

Run = Callable[..., Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_CALLS = _FIXTURES / "rpc_captures" / "rpc_none_ndr.pcap"
_ATTACK = _FIXTURES / "findings" / "FPR-METASPLOIT" / "hit_top_bit.pcap"
_ORDERS = "DIRECT=OS:msg01\\private$\\orders"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes standard output a terminal of a width."""

    def make(columns: int) -> None:
        monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: columns)

    return make


def _csv(run: Run, *arguments: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv", "-q").out)))


def _jsonl(run: Run, *arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--format", "jsonl", "-q").out.splitlines()]


def test_decode_gives_fields_as_tshark_does(run: Run) -> None:
    shown = run(
        "decode", _DEMO, "--columns", "frames,time,queue", "--format", "csv", "--filter", "queue ~ orders"
    )
    assert shown.out.splitlines() == [
        "frames,time,queue",
        f"11,2026-11-20T09:14:07.525000000Z,{_ORDERS}",
    ]


def test_a_path_that_a_row_does_not_have_is_empty_there(run: Run) -> None:
    columns = "id,packet.user_header.message_id,user_header.flags.dq,request.ul_action"
    rows = _jsonl(run, "decode", _DEMO, _CALLS, "--columns", columns)
    assert rows[0] == {
        "id": 1, "user_header.message_id": None, "user_header.flags.dq": None, "request.ul_action": None,
    }  # fmt: skip
    assert rows[6]["user_header.message_id"] == 4162
    assert rows[6]["user_header.flags.dq"] == 7
    assert 0x80000000 in [row["request.ul_action"] for row in rows]
    assert _csv(run, "decode", _DEMO, "--columns", columns)[0]["user_header.flags.dq"] == ""
    assert "4162" in run("decode", _DEMO, "--columns", columns).out


@pytest.mark.parametrize("command", ["decode", "messages", "calls"])
def test_a_path_that_no_packet_has_is_one_line_with_the_nearest(run: Run, command: str) -> None:
    is_refused(
        run(command, _DEMO, "--columns", "user_header.mesage_id"), "Did you mean 'user_header.message_id' or "
    )


def test_decode_has_rows_in_every_format_but_trees(run: Run) -> None:
    heading, first, *_ = run("decode", _DEMO, "-q", "--format", "table").out.splitlines()
    assert heading.split() == ["id", "time", "type", "src", "dst", "what", "odd", "length", "stream"]
    assert first.split()[3:6] == ["ping", "192.0.2.21:50217", "192.0.2.10:3527"]
    names = [one.name for one in RECORD_COLUMNS if not one.asked]
    assert list(_csv(run, "decode", _DEMO)[0])[: len(names)] == names
    row = _jsonl(run, "decode", _DEMO, "--columns", "all")[6]
    names = [one.name for one in RECORD_COLUMNS]
    names += [one.name for one in COLUMNS if one.kind != "body"] + [one.name for one in CALL_COLUMNS]
    assert list(row) == list(dict.fromkeys(names))
    assert (row["label"], row["how"], row["anomalies"]) == ("order 4711", "sent", 0)
    assert row["what"] == '"order 4711" to msg01 orders'
    err = run("decode", _DEMO, "--columns", "id", "--format", "tree").err
    assert "a tree has no columns" in err
    assert "changes nothing in --format csv" in run("decode", _DEMO, "--format", "csv", "--hex").err


def test_a_row_of_decode_tells_of_calls_gaps_and_broken_rules(run: Run) -> None:
    rows = _jsonl(run, "decode", _CALLS, "--columns", "type,method,queue,what,src")
    assert rows[2]["method"] == "R_OpenQueue"
    assert rows[2]["queue"] == "DIRECT=OS:srv01.corp.example\\private$\\orders"
    assert "opens the queue" in rows[2]["what"]
    (row, *_) = _jsonl(
        run, "decode", _ATTACK, "--columns", "anomalies,anomaly_codes", "--filter", "anomalies > 0"
    )
    assert row["anomalies"] >= len(row["anomaly_codes"]) > 0


def test_redacted_bodies_are_in_no_row_of_decode(run: Run) -> None:
    columns = "id,body_text,message_properties_header.message_body"
    assert "<order" in json.dumps(_jsonl(run, "decode", _DEMO, "--columns", columns))
    rows = _jsonl(run, "decode", _DEMO, "--columns", columns, "--redact", "bodies,hosts")
    assert "order" not in json.dumps(rows)
    assert {row["body_text"] for row in rows} == {None}


@pytest.mark.parametrize("command", ["decode --format table", "messages", "calls"])
def test_the_file_is_a_column_where_several_are_read(run: Run, command: str) -> None:
    name, *options = command.split()
    assert "capture" not in run(name, _CALLS, *options).out.splitlines()[0]
    heading, *rows = run(name, _CALLS, _CALLS, *options, "-q").out.splitlines()
    assert heading.split()[:2] == ["id", "capture"]
    assert all(str(_CALLS) in row for row in rows)
    heading = run(name, _CALLS, _CALLS, *options, "-q", "--columns=-capture").out.splitlines()[0]
    assert "capture" not in heading


def test_a_tree_stands_below_the_name_of_its_file_where_several_are_read(run: Run) -> None:
    lines = run("decode", _CALLS, _DEMO, "-q").out.splitlines()
    assert [line for line in lines if line in (str(_CALLS), str(_DEMO))] == [str(_CALLS), str(_DEMO)]
    assert lines[0] == str(_CALLS)
    assert str(_DEMO) not in run("decode", _DEMO, "-q").out


@pytest.mark.parametrize("command", ["messages", "calls", "findings", "decode"])
def test_csv_always_has_the_file(run: Run, command: str) -> None:
    assert {row["capture"] for row in _csv(run, command, _CALLS)} == {str(_CALLS)}


def test_a_finding_names_the_file_of_its_frames_where_several_are_read(
    run: Run, wide: Callable[[int], None]
) -> None:
    every = ("--level", "info")
    assert f"{_DEMO} frames 11, " in run("findings", _DEMO, _ATTACK, *every).out
    assert str(_DEMO) not in run("findings", _DEMO, *every).out
    wide(300)
    out = run("findings", _DEMO, _ATTACK, "--by", "file").out
    assert out.startswith(f"{_ATTACK}  1 high\n")
    assert (out.count(str(_ATTACK)), out.count(str(_DEMO))) == (1, 0)


def test_findings_have_rows_with_columns(run: Run, wide: Callable[[int], None]) -> None:
    rows = _csv(run, "findings", _ATTACK)
    assert list(rows[0]) == [one.name for one in FINDING_COLUMNS]
    (length,) = (row for row in rows if row["rule"] == "LEN-ENV")
    assert (length["severity"], length["confidence"], length["cves"]) == (
        "high",
        "published",
        "CVE-2023-21554",
    )
    assert (length["frames"], length["src"]) == ("6", "192.0.2.21:49731")
    assert length["path"] == "srmp_envelope_header.data_length"
    rule, *_ = _jsonl(run, "findings", _ATTACK, "--columns", "rule,frames,spec")
    assert rule == {"rule": "FLG-RC", "frames": [4], "spec": "[MS-MQMQ] 2.2.19.2, [MS-MQQB] 3.1.5.8.2"}
    # JSON lines without --columns have objects, whose key is another.
    row, *_ = _jsonl(run, "findings", _ATTACK, "--columns", "id,frame,cve,caveat")
    assert list(row) == ["rule", "frames", "cves", "caveats"]
    lines = run("findings", _ATTACK, "-q", "--columns", "rule,src").out.splitlines()
    assert lines[:2] == ["rule            src", "FLG-RC          192.0.2.21:49731"]
    wide(100)
    out = run("findings", _DEMO, _ATTACK, "--columns", "+confidence").out
    assert out.splitlines()[0].split() == [
        *("severity", "capture", "rule", "frames", "src", "message", "confidence"),
    ]
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--columns", "user_header.flags"), "no column is called 'user_header.flags'"),
        (("--columns", "sevrity"), "Did you mean 'severity'?"),
        (("--columns", "rule", "--format", "sarif"), "a SARIF log has no columns"),
    ],
)
def test_what_is_no_column_of_findings_is_refused(run: Run, arguments: tuple[str, ...], words: str) -> None:
    status, out, err = run("findings", _DEMO, *arguments)
    assert (status, out) == (2, "")
    assert words in err


def test_messages_that_were_read_do_not_look_like_sent_ones(run: Run, wide: Callable[[int], None]) -> None:
    assert [row["how"] for row in _jsonl(run, "messages", _CALLS)] == [
        "peeked",
        "peeked",
        "received",
        "received",
    ]
    assert {row["how"] for row in _jsonl(run, "messages", _DEMO)} == {"sent"}
    for columns in (120, 200):
        wide(columns)
        out = run("messages", _CALLS, _DEMO).out
        assert all(word in out for word in ("peeked", "received", "sent"))
        assert max(map(len, out.splitlines())) <= columns


def test_what_is_read_tells_how_it_ended_at_80_columns(run: Run, wide: Callable[[int], None]) -> None:
    wide(80)
    out = run("calls", _CALLS).out
    assert all(word in out for word in ("…NOT_FOUND", "…O_TIMEOUT", "…CANCELLED", "192.0.2.21  "))
