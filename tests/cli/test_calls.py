"""``msmq-wire calls``: rows, formats and filters, on what independent implementations said to each other."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.records.call import CALL_COLUMNS

Run = Callable[..., Any]

_ROOT = Path(__file__).resolve().parents[2]
KEYS = tuple(one.name for one in CALL_COLUMNS if not one.asked)
_CAPTURES = _ROOT / "fixtures" / "rpc_captures"
_PLAIN = _CAPTURES / "rpc_none_ndr.pcap"
_LEGACY = _CAPTURES / "rpc_qmcomm_qm2qm.pcap"
_SEALED = _CAPTURES / "rpc_ntlm_privacy.pcap"
_TIME = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}")

_STORY = [
    ("R_GetServerPort", "asks for the port: 2103"),
    ("R_OpenQueue", "opens the queue to receive from it"),
    ("R_CreateCursor", "makes a cursor to step through the queue"),
    ("R_StartReceive", "peeks at the cursor's message: 2 bytes"),
    ("R_StartReceive", "peeks at the next message: 4 bytes"),
    ("R_StartReceive", "receives the first message: 2 bytes"),
    ("R_EndReceive", "takes the message off the queue (ACK)"),
    ("R_StartReceive", "receives the first message: 4 bytes"),
    ("R_EndReceive", "puts the message back (NACK)"),
    ("R_StartReceive", "receives message 1694364648734983: there is none"),
    ("R_StartReceive", "waits up to 1 s for a message: none came"),
    ("R_StartReceive", "waits up to 10 s for a message: cancelled"),
    ("R_CancelReceive", "gives up waiting"),
    ("R_CloseCursor", "closes the cursor"),
    ("R_CloseQueue", "closes the queue"),
]


def rows(run: Run, *arguments: object) -> list[dict[str, Any]]:
    """The rows that a command line prints as JSON lines."""
    out = run("calls", *arguments, "--format", "jsonl", "-q").out
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("capture", "secret"),
    [
        ("rpc_none_ndr.pcap", ()),
        ("rpc_none_ndr64.pcap", ()),
        ("rpc_ntlm_integrity.pcap", ()),
        ("rpc_ntlm_privacy.pcap", ("--nt-password", "Passw0rd!")),
        ("rpc_kerberos_aes256.pcap", ("--keytab", _CAPTURES / "rpc_kerberos.keytab")),
    ],
)
def test_a_conversation_reads_like_a_story(run: Run, capture: str, secret: tuple[object, ...]) -> None:
    found = [(row["method"], row["what"]) for row in rows(run, _CAPTURES / capture, *secret)]
    assert found[: len(_STORY)] == _STORY
    assert found[len(_STORY) :] in ([], _STORY)


def test_a_row_has_the_documented_keys_with_numbers_for_programs(run: Run) -> None:
    found = rows(run, _PLAIN)
    assert {tuple(row) for row in found} == {KEYS}
    waited = next(row for row in found if row["status"] == 0xC00E001B)
    assert waited["status_name"] == "MQ_ERROR_IO_TIMEOUT"
    assert waited["queue"] == "DIRECT=OS:srv01.corp.example\\private$\\orders"
    assert (waited["interface"], waited["opnum"], waited["syntax"]) == ("RemoteRead", 7, "ndr")
    assert (waited["sealed"], waited["guessed"], waited["verified"]) == (False, False, None)
    assert isinstance(waited["latency"], int)
    assert waited["server"] == "192.0.2.10:2103"


def test_csv_has_the_same_keys_and_values(run: Run) -> None:
    out = run("calls", _PLAIN, "--format", "csv", "-q").out
    table = list(csv.DictReader(io.StringIO(out)))
    assert tuple(table[0]) == KEYS
    assert [row["what"] for row in table] == [what for _, what in _STORY]
    assert table[3]["frames"] == " ".join(map(str, rows(run, _PLAIN)[3]["frames"]))


def test_the_table_names_ends_and_faults(run: Run) -> None:
    out = run("calls", _LEGACY, "-q").out
    lines = out.splitlines()
    assert lines[0].split() == [
        *("id", "time", "client", "server", "interface", "opnum"),
        *("method", "queue", "status", "ms", "request", "what"),
    ]
    denied = next(line for line in lines if "rpc_ACSendMessageEx" in line)
    assert "fault RPC_S_ACCESS_DENIED" in denied
    assert denied.endswith("sends a message of 16 bytes: access denied")
    assert any(line.endswith("peeks at the first message: 16 bytes, label 'order 17'") for line in lines)
    assert any(" ok " in line and line.endswith("asks for the server's version: 6.3.9600") for line in lines)


def test_an_answer_that_was_cut_is_not_ok(run: Run, tmp_path: Path) -> None:
    # Every frame to 150 octets: the messages that answers bring, and with them their statuses, are lost.
    whole = _PLAIN.read_bytes()
    cut, at = bytearray(whole[:24]), 24
    while at < len(whole):
        seconds, fraction, kept, length = struct.unpack_from("<4I", whole, at)
        frame = whole[at + 16 : at + 16 + kept][:150]
        cut += struct.pack("<4I", seconds, fraction, len(frame), length) + frame
        at += 16 + kept
    capture = tmp_path / "cut.pcap"
    capture.write_bytes(cut)
    found = {row["what"]: row["cut"] for row in rows(run, capture) if row["method"] == "R_StartReceive"}
    assert found["peeks at the cursor's message: the rest of the answer is missing"] is True
    assert found["waits up to 1 s for a message: none came"] is False
    lines = run("calls", capture, "-q").out.splitlines()
    shown = [line for line in lines if line.endswith("the rest of the answer is missing")]
    assert shown
    assert all(" cut " in line and " ok " not in line for line in shown)


@pytest.mark.parametrize("columns", [60, 80, 100, 140, 200])
def test_a_terminal_of_any_width_has_one_line_a_call(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: columns)
    lines = run("calls", _PLAIN, "-q").out.splitlines()
    assert len(lines) == len(_STORY) + 1
    assert max(map(len, lines)) <= columns
    assert "what" in lines[0]
    if columns >= 80:
        assert "puts the message back" in lines[9]


def test_sealed_calls_are_listed_as_such_and_the_summary_says_what_opens_them(run: Run) -> None:
    status, out, err = run("calls", _SEALED)
    assert status == 0
    assert len(out.splitlines()) == 31
    assert all(line.endswith("sealed") for line in out.splitlines()[1:])
    assert "30 calls sealed: --nt-password, --nt-hash or --keytab opens them" in err
    assert "NTLM: no password or NT hash given for CORP\\alice (2 connections)" in err


def test_a_call_that_waits_for_its_message_is_printed_at_the_end_of_the_capture(run: Run) -> None:
    whole = _PLAIN.read_bytes()
    found = run("calls", "-", "--format", "jsonl", "-q", stdin=whole).out.splitlines()
    assert [json.loads(line)["what"] for line in found] == [what for _, what in _STORY]


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("method == r_startreceive", 7),
        ("method ~ start and status != 0", 3),
        ("status == MQ_ERROR_IO_TIMEOUT", 1),
        ("status ~ message_not_found", 1),
        ("status == 0xC00E0008", 1),
        ("status == ok", 10),
        ("request.dw_access == 1", 1),
        ("request.dw_access ~ receive", 1),
        ("request.ul_action == MQ_ACTION_PEEK_NEXT", 1),
        ("request.ul_timeout >= 10000", 5),
        ("response.return_value == 2103", 1),
        ("response.pp_packet_sections.section_buffer_type == 0", 4),
        ("queue ~ orders", 14),
        ("interface == remoteread and not sealed", 15),
        ("request.p_queue_format.format_name ~ srv01", 1),
        ("opnum < 3", 2),
    ],
)
def test_filters_see_into_calls(run: Run, expression: str, count: int) -> None:
    assert len(rows(run, _PLAIN, "--filter", expression)) == count


@pytest.mark.parametrize(
    "expression", ["status == NOTHING_SUCH", "request.nothing == 1", "opnum == x", "request.dw_access ~ zzz"]
)
def test_a_filter_that_can_match_nothing_is_bad_usage(run: Run, expression: str) -> None:
    status, out, err = run("calls", _PLAIN, "--filter", expression)
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_ids_choose_calls_and_the_summary_counts_them(run: Run) -> None:
    status, out, err = run("calls", _PLAIN, "--id", 6, "--format", "jsonl")
    assert status == 0
    assert json.loads(out)["method"] == "R_OpenQueue"
    assert "1 of 15 calls shown" in err


def test_a_capture_without_calls_is_no_failure(run: Run, capture: Path) -> None:
    status, out, err = run("calls", capture)
    assert (status, out) == (0, "")
    assert err == "5 frames read, 1 skipped; no calls\n"


def test_a_file_that_is_not_there_is_one_line(run: Run, tmp_path: Path) -> None:
    status, out, err = run("calls", tmp_path / "none.pcap", "-q")
    assert (status, out, err.count("\n")) == (1, "", 1)


def test_the_account_is_told_once_a_bind_names_it(run: Run) -> None:
    keytab = _CAPTURES / "rpc_kerberos.keytab"
    found = rows(run, _CAPTURES / "rpc_kerberos_aes256.pcap", "--keytab", keytab)
    assert {row["account"] for row in found} == {"alice@CORP.EXAMPLE"}
    assert {row["verified"] for row in found} == {True}
    assert {row["account"] for row in rows(run, _PLAIN)} == {None}


def test_messages_of_calls_are_messages(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "bodies"
    status, out, err = run("messages", _LEGACY, "--format", "jsonl", "--bodies", folder)
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert {row["via"] for row in found} == {"rpc"}
    assert [row["label"] for row in found] == ["order 17", "order 17", "order 17", "", "", ""]
    assert found[0]["queue"] == "DIRECT=OS:srv01.corp.example\\private$\\orders"
    assert found[1]["message_id"] == "5c1f0e67-2d3b-4a58-9e01-7f8091a2b304\\81"
    assert found[1]["delivery"] == "transactional"
    assert (found[0]["delivery"], found[0]["priority"], found[0]["body_size"]) == ("recoverable", 5, 16)
    assert (folder / f"{found[0]['id']}-order_17.bin").read_bytes() == b"<order id='17'/>"
    assert "6 files written" in err


@pytest.mark.parametrize(
    "expression",
    [
        "label == 'order 17'",
        "priority == 5",
        "message_class == 0x4002",
        "body",
        "queue ~ orders or queue ~ 00000051",
    ],
)
def test_filters_of_messages_know_transfer_buffers(run: Run, expression: str) -> None:
    text = f"type == transfer_buffer and ({expression})"
    assert len(run("messages", _LEGACY, "-q", "--filter", text, "--format", "jsonl").out.splitlines()) == 3


def test_frames_of_calls_are_exported(run: Run, tmp_path: Path) -> None:
    written = tmp_path / "part.pcap"
    secret = ("--nt-password", "Passw0rd!")
    arguments = ("export", _SEALED, "--to", written, "-q", "--filter", "status == MQ_ERROR_IO_TIMEOUT")
    assert run(*arguments).status == 1
    status, _, err = run(*arguments[:-3], *arguments[-2:], *secret)
    assert status == 0
    assert "4 frames of 2 items written" in err


def test_the_story_on_the_page_is_what_the_command_prints(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (_ROOT / "docs" / "rpc.md").read_text(encoding="utf-8")
    section = page.partition("## Who read which queue")[2].partition("\n## ")[0]
    shown = section.partition("```text\n")[2].partition("```")[0]
    monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: 118)
    printed = run("calls", _PLAIN, "-q").out
    # The fixture is a recording: when it was made says nothing.
    assert _TIME.sub("TIME", shown) == _TIME.sub("TIME", printed)


@pytest.mark.parametrize("name", ["hit_delete", "hit_computer"])
def test_a_queue_name_that_is_too_long_is_told_and_found(run: Run, name: str) -> None:
    capture = _ROOT / "fixtures" / "findings" / "RPC-FMTLEN" / f"{name}.pcap"
    rows = [json.loads(line) for line in run("calls", capture, "--format", "jsonl").out.splitlines()]
    (queue,) = {row["queue"] for row in rows}
    assert queue.startswith("DIRECT=OS:")
    assert len(queue) > 200
    found = run("calls", capture, "--filter", f"queue ~ {queue[10:14]}", "--format", "jsonl").out
    assert len(found.splitlines()) == len(rows)
    decoded = run("decode", capture, "--filter", "type == rpc_call", "--format", "jsonl").out.splitlines()
    assert {json.loads(line)["packet"]["queue"] for line in decoded} == {queue}
    assert "queue_format.format-name" in decoded[0]
    tree = run("decode", capture, "--filter", "type == rpc_call").out
    assert "no format name" not in tree
    assert queue[:40] in tree
    hidden = run("calls", capture, "--redact", "hosts", "--format", "jsonl").out
    assert queue.partition("\\")[0].removeprefix("DIRECT=OS:") not in hidden
