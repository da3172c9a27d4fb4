"""``--columns``: what people choose of messages and calls, and what a narrow terminal keeps."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire import read_capture
from msmq_wire.cli.message_column_sets import MESSAGE_COLUMNS
from msmq_wire.records.bodies import Body
from msmq_wire.records.message import COLUMNS, ROW, message_of
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from tests.cli.conftest import is_refused

Run = Callable[..., Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_CALLS = _FIXTURES / "rpc_captures" / "rpc_none_ndr.pcap"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes standard output a terminal of a width."""

    def make(columns: int) -> None:
        monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: columns)

    return make


def _heads() -> list[str]:
    """The headings of a table that has room for all."""
    assert MESSAGE_COLUMNS.table_widths is not None
    looks = {one.name: one.display for one in MESSAGE_COLUMNS.available if one.display is not None}
    return [looks[name].head for name in MESSAGE_COLUMNS.table_widths if not looks[name].seldom]


def _jsonl(run: Run, columns: str, command: str = "messages", capture: Path = _DEMO) -> list[dict[str, Any]]:
    out = run(command, capture, "--format", "jsonl", "-q", f"--columns={columns}").out
    return [json.loads(line) for line in out.splitlines()]


def test_the_columns_are_those_that_were_named_in_that_order(run: Run) -> None:
    assert _jsonl(run, "label,id")[0] == {"label": "order 4711", "id": 10}
    assert list(_jsonl(run, "label,id")[0]) == ["label", "id"]
    out = run("messages", _DEMO, "--format", "csv", "-q", "--columns", "label, frames").out
    assert out.splitlines()[:2] == ["label,frames", "order 4711,11"]
    lines = run("messages", _DEMO, "-q", "--columns", "queue,size,label").out.splitlines()
    assert lines[0].split() == ["queue", "size", "label"]
    assert lines[1].split() == ["DIRECT=OS:msg01\\private$\\orders", "276", "order", "4711"]


def test_columns_are_added_to_the_usual_ones_and_left_out(run: Run) -> None:
    usual = [one.name for one in ROW]
    (first, *_) = _jsonl(run, "+body_text,-id,-frames")
    assert list(first) == [*(name for name in usual if name not in ("id", "frames")), "body_text"]
    assert "<order id=" in first["body_text"]
    head = run("messages", _DEMO, "-q", "--columns=-body,+priority").out.splitlines()[0].split()
    assert head == [
        "id",
        "time",
        "src",
        "dst",
        "queue",
        "label",
        "outcome",
        "action",
        "size",
        "via",
        "priority",
    ]


def test_all_columns_are_all_that_are_declared(run: Run) -> None:
    (first, *_) = _jsonl(run, "all")
    assert list(first) == [one.name for one in MESSAGE_COLUMNS.available if one.kind != "body"]
    assert first["message_class_name"] == "MQMSG_CLASS_NORMAL"
    assert first["body_type_name"] == "VT_LPWSTR"
    assert first["sent_at"] == "2026-11-20T09:14:07.000000000Z"
    assert "<order id=" in first["body_text"]
    head = run("messages", _DEMO, "-q", "--columns", "all").out.splitlines()[0].split()
    heads = {one.name: one.display.head for one in MESSAGE_COLUMNS.available if one.display is not None}
    assert head == [heads.get(one.name, one.name) for one in MESSAGE_COLUMNS.available]


def test_a_path_of_a_packet_is_a_column(run: Run) -> None:
    row = _jsonl(run, "id,user_header.message_id,user_header.destination_queue,transaction_header.flags")[0]
    assert row == {
        "id": 10,
        "user_header.message_id": 4162,
        "user_header.destination_queue": "DIRECT=OS:msg01\\private$\\orders",
        "transaction_header.flags": None,
    }
    assert "4162" in run("messages", _DEMO, "-q", "--columns", "user_header.message_id").out


@pytest.mark.parametrize("format_", ["table", "csv", "jsonl"])
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("lable", "no column is called 'lable'. Did you mean 'label'?"),
        ("id,user_header.massage_id", "no column is called 'user_header.massage_id'"),
        ("id,-id", "no column is left"),
    ],
)
def test_a_column_that_is_none_is_refused_with_the_nearest(
    run: Run, columns: str, words: str, format_: str
) -> None:
    is_refused(run("messages", _DEMO, "--format", format_, f"--columns={columns}"), words)


def test_a_body_is_its_text_where_there_is_no_table(run: Run) -> None:
    row, *_ = _jsonl(run, "id,body", "messages", _DEMO)
    assert list(row) == ["id", "body_text"]
    assert row["body_text"].startswith("<?xml")
    assert run("messages", _DEMO, "-q", "--columns", "id,body").out.split()[:2] == ["id", "body"]


@pytest.mark.parametrize(("command", "capture"), [("messages", _DEMO), ("calls", _CALLS)])
def test_what_any_item_has_is_a_column_of_messages_and_calls_too(
    run: Run, command: str, capture: Path
) -> None:
    names = "id,type,stream,offset,length,anomalies,src"
    items = {row["id"]: row for row in _jsonl(run, names, "decode", capture)}
    rows = _jsonl(run, names, command, capture)
    assert rows == [items[row["id"]] for row in rows] != []


def test_a_name_that_is_none_is_not_its_own_nearest(run: Run) -> None:
    err = run("calls", _CALLS, "--columns", "priority").err
    assert "no column is called 'priority'; there are id" in err


def test_a_table_writes_true_and_false_as_filters_do(run: Run) -> None:
    lines = run("calls", _CALLS, "-q", "--columns", "fault,answered").out.splitlines()
    assert lines[1].split() == ["false", "true"]


def test_of_a_path_the_heading_shows_the_end(run: Run, wide: Callable[[int], None]) -> None:
    wide(80)
    heading = run("messages", _DEMO, "--columns", "+user_header.message_id").out.splitlines()[0]
    assert heading.endswith("_id")


def test_columns_that_are_too_many_for_a_terminal_say_so(run: Run, wide: Callable[[int], None]) -> None:
    said = "cells are cut: use fewer --columns, a wider terminal or a pipe"
    for width, columns, cut in ((80, "all", True), (80, "id,src,label", False), (1000, "all", False)):
        wide(width)
        assert (said in run("messages", _DEMO, "--columns", columns).err) is cut
    wide(80)
    assert said in run("calls", _CALLS, "--columns", "all").err
    assert said not in run("messages", _DEMO).err


def test_calls_have_columns_to_choose_too(run: Run) -> None:
    rows = _jsonl(run, "method,ms", "calls", _CALLS)
    assert list(rows[0]) == ["method", "latency"]
    lines = run("calls", _CALLS, "-q", "--columns", "status,account,frames").out.splitlines()
    assert lines[0].split() == ["status", "account", "frames"]
    assert lines[1].split()[0] == "ok"
    err = run("calls", _CALLS, "--columns", "metod").err
    assert "Did you mean 'method'?" in err


@pytest.mark.parametrize(
    ("columns", "heads"),
    [
        (40, "id src dst queue"),
        (80, "id time src dst queue label outcome"),
        (100, "id time src dst queue label outcome action"),
        (110, "id time src dst queue label outcome action body"),
        (120, "id time src dst queue label outcome action size body"),
        (140, "id time src dst queue label outcome action size via body"),
    ],
)
def test_a_terminal_keeps_who_sent_what_to_which_queue_and_says_what_it_left_out(
    run: Run, wide: Callable[[int], None], columns: int, heads: str
) -> None:
    wide(columns)
    _, out, err = run("messages", _DEMO)
    lines = out.splitlines()
    assert lines[0].split() == heads.split()
    assert max(map(len, lines)) <= columns
    # The end tells queues apart.
    assert all(name in out for name in ("orders", "payments", "catalogue"))
    missing = [head for head in _heads() if head not in heads.split()]
    reported = [line for line in err.splitlines() if line.startswith("hidden columns: ")]
    assert len(reported) == bool(missing)
    if missing:
        assert f": {', '.join(missing)} (show with --columns +{missing[0]})" in reported[0]
    assert "hidden columns" not in run("messages", _DEMO, "-q").err


def test_calls_keep_client_queue_and_status(run: Run, wide: Callable[[int], None]) -> None:
    for columns, heads in (
        (40, "id client queue status"),
        (60, "id time client queue status what"),
        (80, "id time client queue status what"),
    ):
        wide(columns)
        _, out, err = run("calls", _CALLS)
        assert out.splitlines()[0].split() == heads.split()
        assert max(map(len, out.splitlines())) <= columns
        assert "--columns +" in err


def test_what_is_added_is_shown_however_narrow_the_terminal_is(run: Run, wide: Callable[[int], None]) -> None:
    wide(80)
    head = run("messages", _DEMO, "--columns", "+via,-time").out.splitlines()[0].split()
    assert head == ["id", "src", "dst", "queue", "label", "outcome", "via"]


def test_a_pipe_has_all_columns_and_no_word_about_room(run: Run) -> None:
    _, out, err = run("messages", _DEMO)
    assert out.splitlines()[0].split() == _heads()
    assert "not shown" not in err


@pytest.mark.parametrize("columns", [80, 130, None])
def test_what_was_captured_in_part_says_so_in_a_column_that_is_there_for_that(
    run: Run, wide: Callable[[int], None], columns: int | None
) -> None:
    if columns is not None:
        wide(columns)
    lines = run("messages", _FIXTURES / "captures" / "path_snaplen_96.pcap", "-q").out.splitlines()
    assert "cut" in lines[0].split()
    # 96 bytes less Ethernet, IPv4 and TCP leave 42 bytes of each message.
    assert ["42 of 276" in lines[1], "42 of 292" in lines[2]] == [True, True]
    (row, *_) = _jsonl(run, "cut,label", capture=_FIXTURES / "captures" / "path_snaplen_96.pcap")
    assert row == {"cut": "42 of 276", "label": None}


def test_bodies_are_opened_for_their_columns_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> Body:
        raise AssertionError("a body was opened")

    monkeypatch.setattr("msmq_wire.records.message_body.open_body", opened)
    assert run("messages", _DEMO, "--columns=-body").status == 0
    names = ",".join(one.name for one in COLUMNS if one.tells != "body")
    assert run("messages", _DEMO, "--format", "csv", "--columns", names).status == 0


@pytest.mark.parametrize("format_", ["table", "csv", "jsonl"])
def test_redacted_bodies_are_in_no_column(run: Run, format_: str) -> None:
    columns = "id,body_text" + (",body" if format_ == "table" else "")
    shown = run("messages", _DEMO, "-q", "--format", format_, "--columns", columns)
    assert "<order" in shown.out
    out = run("messages", _DEMO, "-q", "--format", format_, "--columns", columns, "--redact", "bodies").out
    assert len(out.splitlines()) == len(shown.out.splitlines())
    assert all(word not in out for word in ("<order", "xml", "json", "\\x00", "\\u0000"))


@pytest.mark.parametrize("what", [Redaction.HOSTS, Redaction.LABELS])
def test_what_a_column_reveals_goes_with_its_redaction(what: Redaction) -> None:
    redactor = Redactor({what})
    seen = set()
    for record in read_capture(str(_DEMO)):
        message, shown = message_of(record), message_of(redactor.record(record))
        if message is None or shown is None:
            continue
        for one in COLUMNS:
            if one.kind != "body" and one.tells != "body":
                changed = message[one.name] != shown[one.name]
                reported = one.tells == what.what and message[one.name] is not None
                assert changed == reported, one.name
                seen.add(one.name)
    assert {"queue", "label", "src"} <= seen


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ("size == 69", [11]),
        ("body_size > 1000", [13]),
        ("class == normal and type == user_message", [10, 11, 13]),
        ("frames == 11", [10]),
        ("via == TCP and label", [10, 11, 13]),
        ("parent", []),
        ("body_type_name ~ lpwstr", [10]),
        ("sent_at == 2026-11-20 09:14:07", [10, 11]),
        ("sent_at > 2026-11-20T09:14:07Z and label", [13]),
        ("capture ~ demo and body_text ~ payment", [11]),
    ],
)
def test_every_column_is_a_name_of_filters(run: Run, expression: str, ids: list[int]) -> None:
    status, out, err = run("messages", _DEMO, "--format", "csv", "--filter", expression)
    assert (status, [int(row["id"]) for row in csv.DictReader(io.StringIO(out))]) == (0, ids), err


def test_what_no_column_can_be_is_refused(run: Run) -> None:
    assert "none of tcp, rpc, http" in run("messages", _DEMO, "--filter", "via == udp").err
    assert "the words of outcome have no order" in run("messages", _DEMO, "--filter", "outcome > stored").err
    assert "no number" in run("messages", _DEMO, "--filter", "size == big").err
    assert "no time" in run("messages", _DEMO, "--filter", "sent_at == soon").err
