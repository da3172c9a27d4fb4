"""``msmq-wire findings``: what is printed, what is left out and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.cli.app import main
from msmq_wire.cli.severity import Level
from msmq_wire.detection import SEVERITIES
from tests.cli.conftest import Outcome, pcap_bytes, tcp_frame
from tests.schemas import schema_of

_ROOT = Path(__file__).resolve().parents[2]
_DEMO = _ROOT / "fixtures" / "captures" / "demo.pcap"
_AH = 0x0200_0000
_FLAGS = 60
"""Where UserHeader.Flags stands: a BaseHeader of 16 bytes, then two GUIDs and three numbers."""
_PACKET_SIZE = 8
_TWO = ("--rule", "FLG-AH-WIRE", "--rule", "FRM-SIZE-MAX")

Run = Callable[..., Outcome]


def _changed(packet: bytes, offset: int, value: int) -> bytes:
    return packet[:offset] + value.to_bytes(4, "little") + packet[offset + 4 :]


@pytest.fixture
def odd(packet_bytes: Callable[[str], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A capture in the working directory: AH is set in frame 1, PacketSize is 5 MiB in frame 2."""
    packet = packet_bytes("user_message/direct_destination")
    flags = int.from_bytes(packet[_FLAGS : _FLAGS + 4], "little")
    frames = [
        tcp_frame(_changed(packet, _FLAGS, flags | _AH), 1),
        tcp_frame(_changed(packet, _PACKET_SIZE, 5 << 20), 1, src="192.0.2.7"),
    ]
    (tmp_path / "odd 1.pcap").write_bytes(pcap_bytes(frames))
    monkeypatch.chdir(tmp_path)
    return "odd 1.pcap"


def _rows(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_every_finding_is_one_line_in_a_pipe(run: Run, odd: str) -> None:
    outcome = run("findings", odd, *_TWO)
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        "high    FLG-AH-WIRE   2023-11-14 22:13:20.500000Z  192.0.2.1:1025 → 192.0.2.20:1801       "
        "frame 1 user_header.flags  AH (SRMP headers follow) is set in UserHeader.Flags, and must be clear "
        "in a packet over TCP",
        "medium  FRM-SIZE-MAX  2023-11-14 22:13:21.500000Z  192.0.2.7:1025 → 192.0.2.20:1801       "
        "frame 2 base_header.packet_size  PacketSize is 5242880 bytes, the maximum is 4194304",
    ]
    assert outcome.err.rstrip().endswith("2 findings: 1 high, 1 medium")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_finding_fits_the_terminal_without_losing_a_word(
    odd: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["findings", odd, *_TWO, "--quiet"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    words = " ".join(out.split())
    # What the rule is about stands where there is room for it.
    title = "SRMP headers in a packet over TCP " if columns == 200 else ""
    ends = "192.0.2.1:1025 → 192.0.2.20:1801"
    said = "AH (SRMP headers follow) is set in UserHeader.Flags, and must be clear in a packet over TCP"
    assert f"{ends} {title}{said} frame 1 user" in words
    assert words.endswith("5242880 bytes, the maximum is 4194304 frame 2 base_header.packet_size")
    assert ("192.0.2.1:1025 → 192.0.2.20:1801" in out.splitlines()[0]) == (columns > 40)


def test_severities_have_colours_only_where_colours_are_wanted(run: Run, odd: str) -> None:
    plain, colored = run("findings", odd, *_TWO), run("findings", odd, *_TWO, "--color", "always")
    assert "\x1b" not in plain.out
    assert colored.out.startswith("\x1b[1;31mhigh")
    assert "\x1b[1;33mmedium" in colored.out


def test_json_lines_fit_their_schema(run: Run, odd: str) -> None:
    rows = _rows(run("findings", odd, "--format", "jsonl"))
    assert {"FLG-AH-WIRE", "FRM-SIZE-MAX"} <= {row["id"] for row in rows}
    assert [fault for row in rows for fault in schema_of("finding").faults(row)] == []


def test_a_sarif_log_names_the_capture_from_the_working_directory(run: Run, odd: str) -> None:
    for name in (odd, str(Path(odd).absolute())):
        log = json.loads(run("findings", name, *_TWO, "--format", "sarif").out)
        [one] = log["runs"]
        assert [result["ruleId"] for result in one["results"]] == ["FLG-AH-WIRE", "FRM-SIZE-MAX"]
        assert [rule["id"] for rule in one["tool"]["driver"]["rules"]] == ["FLG-AH-WIRE", "FRM-SIZE-MAX"]
        location = one["results"][0]["locations"][0]["physicalLocation"]
        assert location == {"artifactLocation": {"uri": "odd%201.pcap"}}


def test_a_sarif_log_of_nothing_is_a_log(run: Run) -> None:
    outcome = run("findings", _DEMO, *_TWO, "--format", "sarif")
    assert json.loads(outcome.out)["runs"][0]["results"] == []
    assert outcome.err.rstrip().endswith("; no findings")


def test_a_sarif_log_says_that_a_file_was_not_read(run: Run, odd: str) -> None:
    outcome = run("findings", odd, "missing.pcap", *_TWO, "--format", "sarif")
    assert outcome.status == 1
    assert json.loads(outcome.out)["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def test_a_level_hides_what_is_below_it(run: Run, odd: str) -> None:
    outcome = run("findings", odd, *_TWO, "--level", "high", "--format", "jsonl")
    assert [row["id"] for row in _rows(outcome)] == ["FLG-AH-WIRE"]
    assert outcome.err.rstrip().endswith("2 findings: 1 high, 1 medium; 1 of 2 findings shown")


def test_a_filter_keeps_findings_about_items_that_match(run: Run, odd: str) -> None:
    outcome = run("findings", odd, *_TWO, "--filter", "src ~ 192.0.2.7", "--format", "jsonl")
    assert [row["id"] for row in _rows(outcome)] == ["FRM-SIZE-MAX"]
    assert outcome.err.rstrip().endswith("1 finding: 1 medium; 1 of 2 findings shown")


def test_a_rule_may_be_typed_in_any_case(run: Run, odd: str) -> None:
    outcome = run("findings", odd, "--rule", "frm_size_max", "--format", "jsonl")
    assert [row["id"] for row in _rows(outcome)] == ["FRM-SIZE-MAX"]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ([], 0),
        (["--fail-on", "high"], 3),
        (["--fail-on", "info"], 3),
        (["--fail-on", "high", "--rule", "FRM-SIZE-MAX"], 0),
        (["--fail-on", "medium", "--rule", "FRM-SIZE-MAX"], 3),
        (["--fail-on", "medium", "--rule", "FRM-SIZE-MAX", "--level", "high"], 3),
        (["--fail-on", "medium", "--rule", "FRM-SIZE-MAX", "--filter", "src ~ 192.0.2.1:"], 0),
        (["--fail-on", "low", "--format", "sarif"], 3),
        (["--fail-on", "low", "missing.pcap"], 3),
        (["missing.pcap"], 1),
        (["--fail-on", "fatal"], 2),
        (["--rule", "FRM-SIZES"], 2),
        (["--format", "jsonl", "--local"], 2),
    ],
)
def test_the_status_tells_whether_something_was_found(
    run: Run, odd: str, more: list[str], status: int
) -> None:
    assert run("findings", odd, *more).status == status


def test_an_unknown_rule_is_one_line_with_what_comes_close(run: Run, odd: str) -> None:
    outcome = run("findings", odd, "--rule", "FRM-SIZE-MAXI")
    [line] = outcome.err.splitlines()
    assert "FRM-SIZE-MAXI" in line
    assert "did you mean FRM-SIZE-MAX" in line


def test_a_capture_without_traffic_is_no_clean_capture(run: Run) -> None:
    outcome = run("findings", _ROOT / "fixtures" / "captures" / "path_no_msmq.pcap")
    assert outcome.status == 1
    assert outcome.out == ""


def test_what_a_rule_says_too_often_is_counted(run: Run, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("msmq_wire.detection.judge"), "MOST_OF_A_RULE", 1)
    outcome = run("findings", odd, odd, *_TWO, "--format", "sarif")
    assert outcome.err.rstrip().endswith(
        "2 findings: 1 high, 1 medium; 1 more of FLG-AH-WIRE; 1 more of FRM-SIZE-MAX"
    )
    [invocation] = json.loads(outcome.out)["runs"][0]["invocations"]
    reported = [one["message"]["text"] for one in invocation["toolExecutionNotifications"]]
    assert reported == ["1 more of FLG-AH-WIRE", "1 more of FRM-SIZE-MAX"]


def test_a_level_can_be_every_severity() -> None:
    assert tuple(Level) == SEVERITIES
    assert [level.rank for level in Level] == [0, 1, 2, 3]


def test_the_commands_of_the_page_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (_ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    commands = [line.removeprefix("$ msmq-wire ") for line in text.splitlines() if line.startswith("$ ")]
    assert len(commands) == 4
    (tmp_path / "capture.pcapng").write_bytes(_DEMO.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert [run(*command.partition(" > ")[0].split()).status for command in commands] == [0, 0, 0, 0]


def test_text_of_a_capture_cannot_control_the_terminal(run: Run, odd: str, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m.pcap"
    path.write_bytes(Path(odd).read_bytes())
    for format_ in ("table", "jsonl", "sarif"):
        outcome = run("findings", path, *_TWO, "--format", format_)
        assert outcome.status == 0
        assert "\x1b" not in outcome.out + outcome.err


_ROUTED = _ROOT / "fixtures" / "captures" / "routed_mixed.pcap"
_TOPOLOGY = _ROOT / "fixtures" / "routing" / "example.toml"
_ROUTING = ("RTE-PATH", "RTE-DIRECT", "RTE-HOPS", "RTE-FEW", "RTE-LOOP", "RTE-NONE")


def test_with_a_topology_the_ways_of_messages_are_judged(run: Run) -> None:
    outcome = run("findings", _ROUTED, "--topology", _TOPOLOGY, "--format", "jsonl", "--level", "low")
    found = [(row["id"], row["message"]) for row in _rows(outcome) if row["id"].startswith("RTE-")]
    assert found == [
        ("RTE-PATH", "A-GATE passed the message to D-GATE, not to B-GATE"),
        ("RTE-PATH", "B-GATE passed the message to A-GATE, not to C-GATE"),
        ("RTE-LOOP", "the message goes back to A-GATE, which passed it on before"),
        ("RTE-HOPS", "the message has passed 3 routing servers, but there are at most 2 before A-GATE"),
        ("RTE-LOOP", "the message goes back to B-GATE, which passed it on before"),
        (
            "RTE-DIRECT",
            "B-CLIENT1 passed the message to B-ROUTER, though B-CLIENT1 can send it to B-CLIENT2 directly",
        ),
    ]
    rows = _rows(run("findings", _ROUTED, "--format", "jsonl"))
    assert not {row["id"] for row in rows} & set(_ROUTING)


def test_what_a_topology_names_is_not_told_where_hosts_are_redacted(run: Run) -> None:
    rules = ("--rule", "RTE-PATH", "--rule", "RTE-LOOP")
    outcome = run("findings", _ROUTED, "--topology", _TOPOLOGY, "--redact", "hosts", *rules)
    assert outcome.out.count("A message takes a route that the topology does not allow") == 1
    assert "also: RTE-PATH" in outcome.out
    assert "GATE" not in outcome.out
    assert "192.0.2." not in outcome.out


def test_a_rule_about_routing_needs_a_topology(run: Run) -> None:
    outcome = run("findings", _ROUTED, "--rule", "rte-loop")
    assert outcome.status == 2
    assert "RTE-LOOP needs --topology" in outcome.err


def test_a_topology_that_contradicts_itself_is_one_line(run: Run, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[[site]]\nname = "A"\n[[site]]\nname = "a"\n', encoding="utf-8")
    outcome = run("findings", _ROUTED, "--topology", wrong)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.count("\n") == 1
    assert "wrong.toml: site 2 (a): " in outcome.err


def test_standard_input_is_the_capture_or_the_topology(run: Run) -> None:
    outcome = run("findings", "-", "--topology", "-")
    assert outcome.status == 2
    assert "both a capture and the topology" in outcome.err
