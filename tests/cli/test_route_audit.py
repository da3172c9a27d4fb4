"""``msmq-wire route-audit``: which hops are shown, what is said of them, what is left out, how it ends."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_frames import pcap
from fixtures.build_routed_scenes import Hop, scene
from msmq_wire import read_capture
from msmq_wire.cli import store_options
from msmq_wire.cli.app import main
from msmq_wire.cli.commands import route_audit
from msmq_wire.routing import audit
from msmq_wire.routing.hop_view import HopRow, hop_view
from msmq_wire.routing.topology_file import parse_topology
from msmq_wire.tables.store.store import Store
from tests.cli.conftest import Outcome
from tests.schemas import schema_of
from tests.tables.store.filled_stores import fill

_ROOT = Path(__file__).resolve().parents[2]
_DOCS, _FIXTURES = _ROOT / "docs", _ROOT / "fixtures"
_EXAMPLE = _FIXTURES / "routing" / "example.toml"
_RIGHT = (
    Hop("A-CLIENT1", "A-ROUTER", "A-CLIENT1", "C-CLIENT1", 1),
    Hop("A-ROUTER", "A-GATE", "A-CLIENT1", "C-CLIENT1", 1, 1),
    Hop("A-GATE", "B-GATE", "A-CLIENT1", "C-CLIENT1", 1, 2),
    Hop("B-GATE", "C-GATE", "A-CLIENT1", "C-CLIENT1", 1, 3),
)
_BACK = Hop("B-GATE", "A-GATE", "A-CLIENT1", "C-CLIENT1", 1, 3)
_ASTRAY = Hop("A-GATE", "D-GATE", "A-CLIENT1", "C-CLIENT1", 2, 1)
_DIRECT = Hop("A-CLIENT1", "B-CLIENT1", "A-CLIENT1", None, 3)
_OUTSIDE = (
    Hop("A-CLIENT1", "outside", "A-CLIENT1", "outside", 4),
    Hop("A-CLIENT1", "outside", "A-CLIENT1", "outside", 5),
    Hop("A-GATE", "outside", "A-CLIENT1", "outside", 6, 1),
)
_UNKNOWN = "0e6f3a51-2b7c-4d98-a3e4-6f50b1c2d3e4"

Run = Callable[..., Outcome]


def _written(path: Path, *hops: Hop) -> Path:
    path.write_bytes(pcap(scene(*hops).frames))
    return path


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A capture in the working directory with a hop of each sort."""
    monkeypatch.chdir(tmp_path)
    return _written(tmp_path / "mixed.pcap", *_RIGHT, _BACK, _ASTRAY, _DIRECT, *_OUTSIDE).name


@pytest.fixture
def audited(run: Run) -> Run:
    """Run the command with the topology of the example."""
    return lambda *words, **more: run("route-audit", "--topology", _EXAMPLE, *words, **more)


def _rows(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_a_hop_that_deviates_is_one_line_in_a_pipe_with_who_where_and_why(audited: Run, mixed: str) -> None:
    outcome = audited(mixed)
    assert outcome.status == 0
    back, astray, *_ = outcome.out.splitlines()
    assert back.split("  ")[0] == "2026-11-20 09:14:08.383500Z"
    assert [part.strip() for part in back.split("  ") if part.strip()][1:] == [
        "A-CLIENT1\\1",
        "B-GATE → A-GATE",
        "RC 3",
        "off_path, loop",
        "frame 56",
        '"order 1"',
        "off_path: B-GATE passed the message to A-GATE, not to C-GATE ([MS-MQBR] 3.1.5.3); loop: the message "
        "goes back to A-GATE, which passed it on before ([MS-MQBR] 3.1.5)",
    ]
    assert "A-CLIENT1\\2        A-GATE → D-GATE             RC 1   off_path              frame 68" in astray
    assert astray.endswith("A-GATE passed the message to D-GATE, not to B-GATE ([MS-MQBR] 3.1.5.3)")


def test_one_of_the_hops_that_could_not_be_judged_for_a_reason_is_shown(audited: Run, mixed: str) -> None:
    lines = audited(mixed).out.splitlines()
    assert len(lines) == 4
    reason = f"its destination {_UNKNOWN} is not in the topology"
    for line, frame in zip(lines[2:], ("frame 92", "frame 116"), strict=True):
        assert "not_judged" in line
        assert frame in line
        assert line.endswith(reason)


def test_the_summary_counts_what_is_shown_and_what_is_not(audited: Run, mixed: str) -> None:
    assert (
        audited(mixed)
        .err.rstrip()
        .endswith(
            "; 10 hops: 4 on path, 2 deviating (2 off_path, 1 loop), 4 not judged (its destination is not in "
            "the topology: 3, a direct format name is not routed: 1); 4 shown, --all shows the others"
        )
    )
    everything = audited(mixed, "--all")
    assert len(everything.out.splitlines()) == 10
    assert everything.err.rstrip().endswith("a direct format name is not routed: 1)")
    assert audited(mixed, "--quiet").err == ""


def test_hops_on_a_possible_way_need_no_word(audited: Run, tmp_path: Path) -> None:
    path = _written(tmp_path / "right.pcap", *_RIGHT)
    outcome = audited(path, "--fail")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err.rstrip().endswith("; 4 hops: 4 on path; none shown, --all shows them")
    assert [line.split("  ")[-1] for line in audited(path, "--all").out.splitlines()] == ['"order 1"'] * 4


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_a_hop_fits_the_terminal_without_losing_a_word(
    mixed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["route-audit", "--topology", str(_EXAMPLE), mixed, "--quiet"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    words = " ".join(out.split())
    label = ('"order 1"',) if columns > 40 else ()
    for shown in ("A-CLIENT1\\1", "B-GATE → A-GATE", "RC 3", "off_path, loop", "frame 56", *label):
        assert shown in words
    assert "loop: the message goes back to A-GATE, which passed it on before ([MS-MQBR] 3.1.5)" in words
    assert ("A-CLIENT1\\1" in out.splitlines()[0]) == (columns >= 120)


def test_a_name_that_no_column_has_room_for_is_cut_on_a_terminal_alone(
    run: Run, mixed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "A-GATE-" + 60 * "x"
    other = tmp_path / "long.toml"
    other.write_text(_EXAMPLE.read_text("utf-8").replace('"A-GATE"', f'"{long}"'), "utf-8")
    assert f"{long} → D-GATE" in run("route-audit", "--topology", other, mixed).out
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["route-audit", "--topology", str(other), mixed, "--quiet"]) == 0


def test_deviations_have_colours_only_where_colours_are_wanted(audited: Run, mixed: str) -> None:
    plain, colored = audited(mixed), audited(mixed, "--color", "always")
    assert "\x1b" not in plain.out
    assert "\x1b[1;31moff_path, loop" in colored.out


def test_json_lines_are_the_views_of_the_hops(audited: Run, mixed: str) -> None:
    topology = parse_topology(_EXAMPLE.read_bytes())
    expected = [hop_view(hop, topology) for hop in audit(read_capture(mixed, streams=True), topology)]
    rows = _rows(audited(mixed, "--format", "jsonl", "--all"))
    assert rows == expected
    assert [row["verdict"] for row in rows] == [
        *["on_path"] * 4,
        "off_path, loop",
        "off_path",
        *["not_judged"] * 4,
    ]
    assert _rows(audited(mixed, "--format", "jsonl")) == [rows[index] for index in (4, 5, 7, 9)]
    assert [fault for row in rows for fault in schema_of("hop").faults(row)] == []
    assert not schema_of("hop").fits(rows[0] | {"verdict": "astray"})


def test_csv_has_the_same_columns_with_deviations_in_one_cell(audited: Run, mixed: str) -> None:
    rows = list(csv.DictReader(io.StringIO(audited(mixed, "--format", "csv", "--all").out)))
    assert tuple(rows[0]) == tuple(HopRow.columns)
    reported = _rows(audited(mixed, "--format", "jsonl", "--all"))
    for key in ("record", "capture", "time", "message_id", "source_name", "hops", "verdict", "reason"):
        assert [row[key] for row in rows] == ["" if row[key] is None else str(row[key]) for row in reported]
    assert rows[4]["deviations"] == (
        "off_path: B-GATE passed the message to A-GATE, not to C-GATE ([MS-MQBR] 3.1.5.3); loop: the message "
        "goes back to A-GATE, which passed it on before ([MS-MQBR] 3.1.5)"
    )
    assert rows[0]["expected"] == " ".join(reported[0]["expected"])
    assert len(reported[0]["expected"]) == 2


def test_a_filter_chooses_what_is_shown_and_every_hop_is_judged(audited: Run, mixed: str) -> None:
    outcome = audited(mixed, "--filter", 'label == "order 1"', "--all", "--fail")
    assert len(outcome.out.splitlines()) == 5
    # Who passed it on before does not match.
    back = audited(mixed, "--filter", "user_header.flags.rc == 3 and src ~ 192.0.2.33", "--format", "jsonl")
    assert [row["verdict"] for row in _rows(back)] == ["off_path, loop"]
    assert back.err.rstrip().endswith(
        "; 2 of 10 hops match: 1 on path, 1 deviating (1 off_path, 1 loop); 1 shown, --all shows the others"
    )
    nothing = audited(mixed, "--filter", "label == none", "--fail")
    assert (nothing.status, nothing.out) == (0, "")
    assert nothing.err.rstrip().endswith("; 0 of 10 hops match")


def test_with_fail_a_deviation_ends_with_status_3(audited: Run, mixed: str, tmp_path: Path) -> None:
    assert audited(mixed).status == 0
    assert audited(mixed, "--fail").status == 3
    assert audited(mixed, tmp_path / "nowhere.pcap", "--fail").status == 3
    assert audited(mixed, tmp_path / "nowhere.pcap").status == 1
    assert audited(_written(tmp_path / "unknown.pcap", _DIRECT, *_OUTSIDE), "--fail").status == 0


def test_captures_that_are_named_together_tell_one_story(audited: Run, tmp_path: Path) -> None:
    first, second = _written(tmp_path / "a.pcap", *_RIGHT), _written(tmp_path / "b.pcap", _BACK)
    assert [row["verdict"] for row in _rows(audited(second, "--format", "jsonl"))] == ["off_path"]
    rows = _rows(audited(first, second, "--format", "jsonl"))
    assert [(row["verdict"], row["capture"]) for row in rows] == [("off_path, loop", str(second))]
    assert f"{second} frame 8" in audited(first, second).out


def test_on_a_terminal_the_name_of_a_capture_stands_above_its_hops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    names = [_written(tmp_path / name, _BACK, _ASTRAY).name for name in ("a.pcap", "b.pcap")]
    assert main(["route-audit", "--topology", str(_EXAMPLE), *names]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith(".pcap")] == names
    assert lines[0] == "a.pcap"


def test_redacted_hosts_are_in_no_name_address_or_sentence(audited: Run, mixed: str) -> None:
    open_ = _rows(audited(mixed, "--all", "--format", "jsonl"))
    words = ("--redact", "hosts", "--all")
    outcomes = [audited(mixed, *words, "--format", format_) for format_ in ("table", "jsonl", "csv")]
    for outcome in outcomes:
        for secret in ("192.0.2", "198.51", "GATE", "CLIENT", "passed the message to", "goes back"):
            assert secret not in outcome.out + outcome.err
        for row in open_:
            for key in ("source", "target", "destination"):
                assert row[key] is None or row[key] not in outcome.out + outcome.err
        assert _UNKNOWN not in outcome.out + outcome.err
    rows = _rows(outcomes[1])
    assert [row["verdict"] for row in rows] == [row["verdict"] for row in open_]
    assert {row["source_name"] for row in rows} == {None}
    assert rows[4]["deviations"] == [
        {"kind": "off_path", "message": "", "spec": "[MS-MQBR] 3.1.5.3"},
        {"kind": "loop", "message": "", "spec": "[MS-MQBR] 3.1.5"},
    ]
    assert rows[7]["reason"] == "its destination is not in the topology"
    # What stands for a host is the same everywhere.
    assert rows[0]["target"] == rows[1]["source"]
    assert rows[4]["expected"] == [rows[3]["target"]]
    assert rows[0]["message_id"] == f"{rows[0]['source']}\\1"


def test_a_queue_manager_has_the_same_stand_in_as_in_decode(run: Run, audited: Run, mixed: str) -> None:
    decoded = run(
        "decode", mixed, "--format", "jsonl", "--redact", "hosts", "--filter", "type == user_message"
    )
    users = [row["packet"]["user_header"] for row in _rows(decoded)]
    rows = _rows(audited(mixed, "--all", "--format", "jsonl", "--redact", "hosts"))
    assert len(users) == len(rows) == 10
    made = [row["message_id"].partition("\\")[0] for row in rows]
    pairs = set(zip((user["source_queue_manager"] for user in users), made, strict=True))
    assert len(pairs) == 1


def test_redacted_labels_keep_their_length_alone(audited: Run, mixed: str) -> None:
    outcome = audited(mixed, "--redact", "labels")
    assert '"xxxxxxx"' in outcome.out
    assert "order" not in outcome.out
    assert "B-GATE passed the message to A-GATE" in outcome.out


def test_notes_on_the_topology_are_not_told_where_hosts_are_redacted(
    run: Run, mixed: str, tmp_path: Path
) -> None:
    noted = tmp_path / "noted.toml"
    alone = '[[site]]\nname = "SECRET"\nidentifier = "11111111-2222-3333-4444-555555555555"\n'
    noted.write_text(_EXAMPLE.read_text("utf-8") + alone, "utf-8")
    assert "SECRET" in run("route-audit", "--topology", noted, mixed).err
    assert "SECRET" not in run("route-audit", "--topology", noted, mixed, "--redact", "hosts").err


def test_standard_input_is_a_capture_or_the_topology(run: Run, mixed: str) -> None:
    data = Path(mixed).read_bytes()
    assert run("route-audit", "--topology", _EXAMPLE, "-", "--fail", stdin=data).status == 3
    assert run("route-audit", "--topology", "-", mixed, "--fail", stdin=_EXAMPLE.read_bytes()).status == 3
    both = run("route-audit", "--topology", "-", "-", stdin=data)
    assert both.status == 2
    assert "standard input is a capture or the topology, not both" in both.err


def test_what_cannot_be_read_is_one_line_and_status_1(run: Run, audited: Run, mixed: str) -> None:
    for outcome in (
        audited("nowhere.pcap"),
        run("route-audit", "--topology", "nowhere.toml", mixed),
        run("route-audit", "--topology", mixed, mixed),
    ):
        assert (outcome.status, outcome.out) == (1, "")
        assert len(outcome.err.splitlines()) == 1


def test_a_capture_without_routed_messages_is_no_failure(audited: Run) -> None:
    outcome = audited(_FIXTURES / "captures" / "demo.pcap")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err.rstrip().endswith(
        "; 3 hops: 3 not judged (a direct format name is not routed: 3); none shown, --all shows them"
    )


def test_reasons_beyond_those_that_are_remembered_are_counted_only(
    audited: Run, mixed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_audit, "_MOST_REASONS", 1)
    outcome = audited(mixed)
    assert len(outcome.out.splitlines()) == 3
    assert "its destination is not in the topology: 3" in outcome.err


@pytest.mark.slow
def test_tables_give_the_rows_of_their_captures(audited: Run, mixed: str, tmp_path: Path) -> None:
    other = _written(tmp_path / "other.pcap", _BACK).name
    fill("tables", Path(other), Path(mixed))
    words = ("--format", "jsonl", "--all")
    # Each capture by itself: in the second one nobody knows where the message was before.
    each = [*_rows(audited(mixed, *words)), *_rows(audited(other, *words))]
    outcome = audited("tables", *words, "--fail")
    assert outcome.status == 3
    assert _rows(outcome) == each
    assert outcome.err.startswith("11 hops: 4 on path, 3 deviating (3 off_path, 1 loop), 4 not judged (")
    shown = audited("tables").out.splitlines()
    assert '"order 1"' in shown[0]
    assert f"{mixed} frame 56" in shown[0]
    redacted = audited("tables", "--redact", "hosts,labels").out
    assert '"xxxxxxx"' in redacted
    assert "192.0.2" not in redacted


@pytest.mark.slow
def test_tables_and_captures_can_be_named_together(audited: Run, mixed: str, tmp_path: Path) -> None:
    fill("tables", Path(mixed))
    outcome = audited("tables", mixed, "--all")
    assert len(outcome.out.splitlines()) == 20
    assert "frames read" in outcome.err
    assert "; 20 hops: 8 on path" in outcome.err


@pytest.mark.slow
def test_tables_cannot_be_filtered(audited: Run, mixed: str, tmp_path: Path) -> None:
    fill("tables", Path(mixed))
    for words in (("--filter", "id == 1"), ("--port", "1802")):
        outcome = audited("tables", *words)
        assert outcome.status == 2
        assert "--filter, --port and --decode-as read captures, not tables" in outcome.err


def test_a_folder_without_messages_is_one_line_and_status_1(audited: Run, mixed: str, tmp_path: Path) -> None:
    Store("empty").make()
    (tmp_path / "captures").mkdir()
    for folder, expected in (
        ("empty", "msmq-wire: empty: no messages in these tables"),
        ("captures", "msmq-wire: captures holds no tables: msmq-wire spark run --output captures makes them"),
    ):
        outcome = audited(folder)
        assert (outcome.status, outcome.out) == (1, "")
        assert outcome.err.splitlines() == [expected]
    assert audited("captures", mixed, "--fail").status == 3


def test_without_deltalake_tables_are_refused_with_what_to_install(
    audited: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_options, "find_spec", lambda name: None)
    outcome = audited(tmp_path)
    assert outcome.status == 1
    assert outcome.err == 'msmq-wire: tables need deltalake: pip install "msmq-wire[spark]"\n'


_TRACED = """
[[site]]
name = "S"
identifier = "00000001-0000-0000-0000-00000000000a"

[[queue_manager]]
computer_name = "A"
identifier = "a1d30c5b-247e-4f45-9a31-c5d20e6f7788"
site_identifier_list = ["S"]
out_routing_server_identifier_list = ["R"]

[[queue_manager]]
computer_name = "R"
identifier = "b2e4716c-0f3d-4a52-8b1e-6d90a7c2e455"
site_identifier_list = ["S"]
routing_server = true

[[queue_manager]]
computer_name = "C"
identifier = "c277e190-3d6a-4c4b-8d05-f21b9ac83e44"
site_identifier_list = ["S"]
"""
_MONITOR = _FIXTURES / "findings" / "TRC-FORGED" / "miss_monitor.pcap"
"""What the host of the report queue sees of a message from A over R to C."""


@pytest.fixture
def traced(run: Run, tmp_path: Path) -> Run:
    """Run the command on what reports tell of a message from A over R to C."""
    topology = tmp_path / "topology.toml"
    topology.write_text(_TRACED, encoding="utf-8")
    return lambda *words: run("route-audit", "--topology", topology, _MONITOR, *words)


def test_a_hop_that_only_a_report_tells_says_who_tells_it(traced: Run) -> None:
    outcome = traced()
    told = [line for line in outcome.out.splitlines() if "told by" in line]
    assert [[part.strip() for part in line.split("  ") if part.strip()] for line in told] == [
        [
            f"2026-11-20 09:14:0{second}.000000Z",
            "A\\4162",
            ends,
            f"RC {hops}",
            "on_path",
            f"frame {frame}",
            f"told by queue manager {manager} in a report message, not observed",
        ]
        for second, ends, hops, frame, manager in (
            (8, "A → R", 0, 8, "a1d30c5b-247e-4f45-9a31-c5d20e6f7788"),
            (9, "R → C", 1, 32, "b2e4716c-0f3d-4a52-8b1e-6d90a7c2e455"),
        )
    ]
    assert outcome.err.rstrip().endswith("2 hops told by queue managers, not observed")


def test_told_hops_are_rows_after_those_that_were_observed(traced: Run) -> None:
    rows = _rows(traced("--all", "--format", "jsonl"))
    assert [row["told_by"] for row in rows] == [
        *[None] * 4,
        "a1d30c5b-247e-4f45-9a31-c5d20e6f7788",
        "b2e4716c-0f3d-4a52-8b1e-6d90a7c2e455",
    ]
    assert [(row["message_id"][-5:], row["hops"], row["dst"]) for row in rows[4:]] == [
        ("\\4162", 0, "192.0.2.11"),
        ("\\4162", 1, "192.0.2.10"),
    ]


def test_a_redacted_told_hop_names_no_host(traced: Run) -> None:
    out = traced("--redact", "hosts").out
    assert "host-1 → host-3" in out
    assert "told by queue manager 00000000-0000-0000-0000-000000000001 in a report message" in out
    assert [
        name for name in ("192.0.2.", "a1d30c5b", "A1D30C5B", "b2e4716c", "c277e190") if name in out
    ] == []


def test_a_told_hop_never_fails_an_audit(run: Run, tmp_path: Path) -> None:
    topology = tmp_path / "topology.toml"
    topology.write_text(_TRACED.replace('["R"]', "[]"), encoding="utf-8")
    outcome = run("route-audit", "--topology", topology, _MONITOR, "--fail")
    assert "routed_though_direct" in outcome.out
    assert outcome.status == 0
