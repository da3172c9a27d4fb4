"""``msmq-wire messages``: rows, formats, and bodies as files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import build_message, encode
from msmq_wire.cli.body_files import file_name_part
from msmq_wire.records.bodies import Body
from msmq_wire.records.message import ROW
from tests.cli.conftest import is_refused, pcap_bytes, tcp_frame
from tests.splitting import split

Run = Callable[..., Any]
Read = Callable[[str], bytes]
Make = Callable[..., Path]

KEYS = tuple(one.name for one in ROW)


def relabelled(data: bytes, label: str) -> bytes:
    """Frame 7 with another label, padded with blanks to its 14 characters."""
    return data[:192] + label.ljust(14)[:14].encode("utf-16-le") + data[220:]


def test_the_table_has_one_line_a_message(run: Run, capture: Path) -> None:
    status, out, err = run("messages", capture)
    lines = [line.split() for line in out.splitlines()]
    assert status == 0
    assert " ".join(lines[0]) == "id time src dst queue label outcome action size via body"
    assert lines[1][0] == "3"
    assert lines[2] == [
        "4",
        "2023-11-14",
        "22:13:23.500000Z",
        "192.0.2.1:1025",
        "192.0.2.20:1801",
        "DIRECT=OS:a04bm02\\q",
        "mqsender",
        "label",
        "unknown",
        "sent",
        "2000",
        "tcp",
        "text:",
        "a" * 59 + "…",
    ]
    assert err.startswith("5 frames read")


@pytest.mark.parametrize("columns", [40, 80, 100, 120, 140, 200])
def test_a_table_fits_its_terminal(
    run: Run, capture: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: columns)
    lines = run("messages", capture).out.splitlines()
    assert len(lines) == 3
    # In 40 columns id and time leave no room for the rest.
    assert max(map(len, lines)) <= max(columns, 64)
    assert ("body" in lines[0].split()) == (columns >= 120)


def test_jsonl_and_csv_have_the_documented_keys(run: Run, capture: Path) -> None:
    found = [json.loads(line) for line in run("messages", capture, "--format", "jsonl").out.splitlines()]
    assert [tuple(row) for row in found] == [KEYS, KEYS]
    assert found[1]["message_id"] == "557358d1-9150-9595-4997-b6e611ea26c6\\2286"
    table = list(csv.DictReader(io.StringIO(run("messages", capture, "--format", "csv").out)))
    assert tuple(table[0]) == KEYS
    assert table[1]["label"] == "mqsender label"
    assert table[1]["frames"] == "3 4"


def test_acknowledgments_are_listed_only_when_asked_for(
    run: Run, make_capture: Make, packet_bytes: Read
) -> None:
    path = make_capture(packet_bytes("final_ack/received"))
    assert run("messages", path, "--format", "jsonl").out == ""
    assert "QM Ordering Ack" in run("messages", path, "--format", "jsonl", "--all").out


def test_filters_choose_messages(run: Run, capture: Path) -> None:
    out = run("messages", capture, "--format", "jsonl", "--filter", "label ~ mqsender").out
    assert [json.loads(line)["id"] for line in out.splitlines()] == [4]


def test_bodies_become_files_named_by_id_label_and_content(run: Run, capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bodies"
    status, _, err = run("messages", capture, "--bodies", folder)
    assert status == 0
    assert "2 files written" in err
    assert (folder / "4-mqsender_label.txt").read_bytes() == b"a\0" * 1000


def test_a_hostile_label_leads_nowhere(
    run: Run, make_capture: Make, packet_bytes: Read, tmp_path: Path
) -> None:
    data = packet_bytes("user_message/frame_7_completed_synthetic")
    folder = tmp_path / "a" / "b"
    path = make_capture(relabelled(data, "../../../evil"), relabelled(data, "..\\C:\\x\x00y"))
    assert run("messages", path, "--bodies", folder).status == 0
    assert sorted(file.name for file in folder.iterdir()) == ["2-evil.txt", "3-C_x_y.txt", "index.jsonl"]
    assert sorted(entry.name for entry in (tmp_path / "a").iterdir()) == ["b"]


def test_a_directory_that_cannot_be_made_is_one_line_and_status_1(
    run: Run, capture: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    status, out, err = run("messages", capture, "--bodies", tmp_path / "file" / "below")
    assert (status, out) == (1, "")
    assert err.count("\n") == 1


def test_hostile_labels_control_neither_terminal_nor_spreadsheet(
    run: Run, make_capture: Make, packet_bytes: Read
) -> None:
    data = packet_bytes("user_message/frame_7_completed_synthetic")
    path = make_capture(relabelled(data, "\x1b]0;x\x07\u202eab"), relabelled(data, "=cmd|' /C'!A0"))
    table = run("messages", path).out
    assert not set(table) & set("\x1b\x07\u202e")
    assert "\\x1b]0;x\\x07\\u202eab" in table
    sheet = list(csv.DictReader(io.StringIO(run("messages", path, "--format", "csv").out)))
    assert sheet[0]["label"].startswith("\\x1b")
    assert sheet[1]["label"].startswith("'=cmd")


@pytest.mark.slow
@given(st.text(max_size=200))
def test_a_file_name_part_is_short_plain_and_no_path(label: str) -> None:
    part = file_name_part(label)
    assert len(part) <= 60
    assert all(c.isascii() and (c.isalnum() or c in "-_") for c in part)


_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"


def test_a_body_that_is_not_whole_is_marked_in_its_name_and_counted(run: Run, tmp_path: Path) -> None:
    status, _, err = run("messages", _CAPTURES / "path_loss_in_message.pcap", "--bodies", tmp_path / "b")
    assert status == 0
    names = sorted(path.name for path in (tmp_path / "b").iterdir())
    assert [name for name in names if ".cut." in name]
    assert [name for name in names if ".cut." not in name]
    assert "cut" in err


def test_the_body_of_a_message_that_came_over_http_is_written(run: Run, tmp_path: Path) -> None:
    status, out, _ = run(
        "messages", _CAPTURES / "structures.pcapng", "--bodies", tmp_path / "b", "--format", "jsonl"
    )
    assert status == 0
    rows = [json.loads(line) for line in out.splitlines()]
    over_http = [row["id"] for row in rows if row["body_size"] == 7]
    assert over_http
    index = [json.loads(line) for line in (tmp_path / "b" / "index.jsonl").read_text().splitlines()]
    written = {line["id"]: tmp_path / "b" / line["file"] for line in index}
    assert [written[number].stat().st_size for number in over_http] == [7] * len(over_http)


def test_a_message_of_which_no_body_is_there_is_counted(
    run: Run, make_capture: Make, packet_bytes: Read, tmp_path: Path
) -> None:
    data = packet_bytes("user_message/frame_7_completed_synthetic")
    folder = tmp_path / "bodies"
    err = run("messages", make_capture(data[:222]), "--bodies", folder).err
    assert "0 files written" in err
    assert "1 message without a body" in err
    assert list(folder.iterdir()) == []


def test_the_summary_says_how_many_messages_matched(run: Run, capture: Path) -> None:
    assert "1 of 2 messages shown" in run("messages", capture, "--filter", "label ~ mqsender").err
    assert "shown" not in run("messages", capture).err


def _packet(body: bytes | str = b"", **properties: Any) -> bytes:
    return encode(build_message("DIRECT=OS:srv01\\private$\\orders", body, **properties))


def test_the_table_shows_what_a_body_is_and_how_it_begins(run: Run, make_capture: Make) -> None:
    path = make_capture(
        _packet(b"<order>\n  <id>17</id>\n</order>"),
        _packet(b'<?xml version="1.0" encoding="utf-8"?>\n<order/>'),
        _packet("caf\xe9 \x85 au lait"),
        _packet((17).to_bytes(4, "little"), body_type=3),
        _packet(bytes(range(128, 200))),
        _packet(b""),
        _packet(b"\0\1\0\1\3\2\x0enet.msmq://srv\3\7\x07"),
    )
    lines = run("messages", path, "--quiet").out.splitlines()
    begins = lines[0].index("body")
    assert [line[begins:] for line in lines[1:]] == [
        "xml: <order> <id>17</id> </order>",
        "xml: <order/>",
        "text: café au lait",
        "number: 17",
        "binary",
        "",
        ".NET message framing net.msmq://srv",
    ]


def test_a_preview_of_a_body_controls_no_terminal(run: Run, make_capture: Make) -> None:
    out = run("messages", make_capture(_packet("a\u202eb\u200bc\u2028d")), "--quiet").out
    assert not set(out) & set("\u202e\u200b\u2028")
    assert "text: a\ufffdb\ufffdc d" in out


@pytest.mark.parametrize("what", ["bodies", "bodies,labels,hosts"])
def test_a_table_without_bodies_has_no_preview(run: Run, make_capture: Make, what: str) -> None:
    path = make_capture(_packet(b"<order/>", label="first"), _packet((17).to_bytes(4, "little"), body_type=3))
    out = run("messages", path, "--quiet", "--redact", what).out
    assert len(out.splitlines()) == 3
    assert all(word not in out for word in ("xml", "order/", "number", "binary", "text"))


def test_redacted_labels_leave_the_preview(run: Run, make_capture: Make) -> None:
    path = make_capture(_packet(b"<order/>", label="first"))
    out = run("messages", path, "--quiet", "--redact", "labels").out
    assert "xml: <order/>" in out
    assert "first" not in out


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_rows_open_no_body_and_have_no_preview(
    run: Run, make_capture: Make, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    def opened(*_: object, **__: object) -> Body:
        raise AssertionError("a body was opened")

    monkeypatch.setattr("msmq_wire.records.message_body.open_body", opened)
    status, out, _ = run("messages", make_capture(_packet(b"<order/>")), "--format", format_)
    assert status == 0
    assert "order/" not in out


def test_a_narrow_table_opens_no_body(run: Run, make_capture: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> Body:
        raise AssertionError("a body was opened")

    monkeypatch.setattr("msmq_wire.records.message_body.open_body", opened)
    monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda screen: 80)
    assert len(run("messages", make_capture(_packet(b"<order/>"))).out.splitlines()) == 2


DIGEST = Path(__file__).parents[2] / "fixtures" / "digest"


def outcomes(run: Run, *arguments: object) -> list[tuple[str, str | None]]:
    out = run("messages", *arguments, "--columns", "label,outcome", "--format", "jsonl").out
    return [(row["label"], row["outcome"]) for row in map(json.loads, out.splitlines())]


@pytest.mark.parametrize(
    ("capture", "beginning", "expected"),
    [
        # Three payslips are taken by remote read, each once more in its call, and the rest is purged.
        ("payroll_purged", "payslip", ["received"] * 3 + ["purged"] * 3 + ["received"] * 3),
        # An invoice is refused; the negative acknowledgment, which has its label, is stored at the sender.
        ("refused_invoices", "invoice", ["refused", "stored"] * 2),
    ],
)
def test_each_message_has_its_outcome(run: Run, capture: str, beginning: str, expected: list[str]) -> None:
    found = outcomes(run, DIGEST / f"{capture}.pcap")
    assert [outcome for label, outcome in found if label.startswith(beginning)] == expected


def test_a_copy_sent_again_has_the_outcome_of_its_message(run: Run) -> None:
    found = outcomes(run, DIGEST / "hole_in_stream.pcap")
    assert len(found) > len({label for label, _ in found})
    assert len(set(found)) == len({label for label, _ in found})


def test_an_outcome_is_the_same_by_column_and_row_by_row(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    path = DIGEST / "payroll_purged.pcap"
    assert run("messages", path).out == run("messages", path, "--filter", "id > 0").out
    assert "purged" in run("messages", path).out


def test_outcomes_are_the_same_with_several_processes(run: Run) -> None:
    files = [DIGEST / "payroll_purged.pcap", DIGEST / "refused_invoices.pcap"]
    one = run("messages", *files, "--columns", "+outcome", "--format", "csv").out
    assert run("messages", *files, "--columns", "+outcome", "--format", "csv", "--jobs", "2").out == one
    assert ",purged\n" in one
    assert ",refused\n" in one


def test_a_redacted_message_has_its_outcome(run: Run) -> None:
    path = DIGEST / "payroll_purged.pcap"
    shown = run("messages", path, "--columns", "outcome", "--format", "csv", "--redact", "hosts,labels").out
    assert shown == run("messages", path, "--columns", "outcome", "--format", "csv").out


def test_what_is_wrong_with_a_file_is_said_once_where_it_is_read_twice(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((DIGEST / "payroll_purged.pcap").read_bytes()[:-10])
    status, out, err = run("messages", path)
    assert (status, err.count("cut")) == (1, err.splitlines()[0].count("cut"))
    assert "purged" in out


def test_a_capture_that_is_read_but_once_has_no_outcomes(run: Run) -> None:
    data = (DIGEST / "payroll_purged.pcap").read_bytes()
    status, out, _ = run("messages", "-", stdin=data)
    assert (status, out.split()[:7]) == (0, ["id", "time", "src", "dst", "queue", "label", "action"])
    for asked in (("--columns", "+outcome"), ("--filter", "outcome == purged")):
        status, out, err = run("messages", "-", *asked, stdin=data)
        assert (status, out) == (2, "")
        assert err == (
            f"msmq-wire: Invalid value for {asked[0]}: outcome needs two readings, and this capture can be "
            "read only once: save it to a file first (see msmq-wire messages --help)\n"
        )


@pytest.mark.parametrize(
    ("capture", "expression", "labels"),
    [
        ("refused_invoices", "outcome == refused", ["invoice 4", "invoice 8"]),
        ("refused_invoices", "outcome == REFUSED and label ~ 8", ["invoice 8"]),
        ("payroll_purged", "outcome in (purged, refused)", ["payslip 4", "payslip 5", "payslip 6"]),
        (
            "payroll_purged",
            "label ~ payslip and outcome != received",
            ["payslip 4", "payslip 5", "payslip 6"],
        ),
        ("payroll_purged", "queue ~ payroll and not outcome == purged", [f"payslip {n}" for n in (1, 2, 3)]),
        ("payroll_purged", "outcome matches '^pu'", ["payslip 4", "payslip 5", "payslip 6"]),
        ("payroll_purged", "outcome == expired", []),
    ],
)
def test_messages_are_filtered_by_what_became_of_them(
    run: Run, capture: str, expression: str, labels: list[str]
) -> None:
    status, out, err = run(
        "messages",
        DIGEST / f"{capture}.pcap",
        "--filter",
        f"via == tcp and {expression}",
        "--format",
        "jsonl",
    )
    assert (status, [json.loads(line)["label"] for line in out.splitlines()]) == (0, labels)
    assert f"; {len(labels)} of " in err
    # A row has the outcome only where it was asked for.
    assert '"outcome"' not in out


def test_a_filter_by_outcome_is_the_same_however_a_capture_is_read(run: Run, tmp_path: Path) -> None:
    asked = ("--filter", "outcome in (purged, refused)", "--columns", "id,label,outcome", "--format", "csv")
    files = [DIGEST / "payroll_purged.pcap", DIGEST / "refused_invoices.pcap"]
    reported = [f"payslip {number},purged" for number in (4, 5, 6)]
    reported += [f"invoice {number},refused" for number in (4, 8)]
    one = run("messages", *files, *asked).out
    assert [line.partition(",")[2] for line in one.splitlines()[1:]] == reported
    assert run("messages", *files, *asked, "--jobs", "2").out == one
    hidden = run("messages", *files, *asked, "--redact", "labels").out.splitlines()
    assert [line.partition(",")[0] for line in hidden] == [
        line.partition(",")[0] for line in one.splitlines()
    ]
    ring = split(files[1], tmp_path, ("trace_00001.pcap", "trace_00002.pcap"), (62,))
    assert run("messages", *reversed(ring), *asked).out.splitlines()[1:] == [
        "33,invoice 4,refused",
        "57,invoice 8,refused",
    ]


def test_what_is_dropped_for_memory_is_filtered_by_what_was_known_then(run: Run, tmp_path: Path) -> None:
    asked = ("--filter", "outcome == unknown", "--format", "csv", "--columns", "id")
    frames = [
        tcp_frame(
            encode(build_message(rf"DIRECT=OS:h\private$\q{n}", b"x", message_id=n)), 1, src=f"10.0.0.{n}"
        )
        for n in range(1, 61)
    ]
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap_bytes(frames))
    whole = run("messages", path, *asked)
    assert len(whole.out.splitlines()) == 61
    fewer = run("messages", path, *asked, "--memory", "20k")
    assert fewer.out == whole.out
    assert "dropped to save memory" in fewer.err


def test_what_lies_at_rest_is_not_filtered_by_outcome(run: Run) -> None:
    is_refused(
        run("messages", "--carve", DIGEST / "payroll_purged.pcap", "--filter", "outcome == purged"),
        "what lies at rest has no outcome",
    )
