"""The table of findings: each cause once, the gravest first, and what is hidden is counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.build_findings_scanners import SCENES
from fixtures.build_frames import pcap
from fixtures.build_sessions import Script
from msmq_wire import read_capture
from msmq_wire.cli.app import main
from msmq_wire.detection import SEVERITIES, Finding, judge
from msmq_wire.detection.folding import FindingGroup, Fold
from tests.cli.conftest import Outcome
from tests.effort import share

_ROOT = Path(__file__).resolve().parents[2]
_FIXTURES = _ROOT / "fixtures"
_PAIR = _FIXTURES / "findings" / "FPR-METASPLOIT" / "hit_top_bit.pcap"
_PEERS = _FIXTURES / "diagnose" / "q13_probe_and_peer.pcap"
_SCANNER = "198.51.100.7"
_HEADERS, _SHORT = 54, 100
"""Ethernet, IPv4 and TCP; and bytes of a frame that carries no packet."""

Run = Callable[..., Outcome]


@pytest.fixture
def hay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The messages of an honest peer, most in clear, and in their midst the two packets of a probe."""
    script = Script([{"at": 0.0, "do": "open"}])
    for number in range(1, 183):
        script.run({"at": number / 10, "do": "message", "id": number})
        if number % 40 == 0:
            header = {"ack_sequence_number": number, "user_msg_sequence_number": 0}
            script.run({"at": number / 10 + 0.01, "do": "session_ack", "from": "server", "header": header})
        if number == 100:
            probe = script.scene.connect(client=_SCANNER, cport=40001)
            for frame in SCENES["FPR-METASPLOIT/hit_top_bit"][1]().frames:
                if len(frame.data) > _SHORT:
                    probe.send(0, frame.data[_HEADERS:])
            probe.reset(1)
    (tmp_path / "hay.pcap").write_bytes(pcap(script.scene.frames))
    monkeypatch.chdir(tmp_path)
    return "hay.pcap"


def _read(path: Path | str) -> list[Finding]:
    return list(judge(read_capture(path, streams=True)))


def _groups(findings: list[Finding]) -> tuple[FindingGroup, ...]:
    fold = Fold()
    for one in findings:
        fold.add(one)
    return fold.groups()


@pytest.mark.slow
def test_what_matters_among_much_traffic_is_one_finding(run: Run, hay: str) -> None:
    rows = [json.loads(line) for line in run("findings", hay, "--format", "jsonl").out.splitlines()]
    grave = [number for number, row in enumerate(rows) if row["severity"] != "info"]
    assert (len(rows), len(grave), grave[0]) == (185, 6, 93)
    outcome = run("findings", hay)
    [line] = outcome.out.splitlines()
    assert line.startswith("high    FPR-METASPLOIT   2026-11-20 09:14:17.518500Z  198.51.100.7 → 192.0.2.10 ")
    assert "5 values match" in line
    assert "also: LEN-ENV (high, CVE-2023-21554), SES-NAKED (high), TIM-SKEW (low, 2 times), FLG-AH" in line
    assert outcome.err.rstrip().endswith(
        "185 findings: 4 high, 2 low, 179 info; 173 below low hidden (--level info shows them)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_what_matters_is_on_the_first_screen(
    hay: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["findings", hay]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= columns
    words = " ".join(" ".join(lines).split())
    for reported in (
        "FPR-METASPLOIT",
        "LEN-ENV (high, CVE-2023-21554)",
        "SES-NAKED",
        "FLG-AH-WIRE",
        "FRM-OVERLAP",
    ):
        assert reported in words
    assert "Windows event: MSMQ 2027 2 times: frames 219, 220" in words
    # What the rule is about stands where there is room for it.
    assert ("A packet like the MSMQ check of Metasploit" in words) == (columns > 100)


def test_notes_are_shown_where_they_are_wanted(run: Run, hay: str) -> None:
    outcome = run("findings", hay, "--level", "info")
    assert [line.split()[:2] for line in outcome.out.splitlines()] == [
        ["high", "FPR-METASPLOIT"],
        ["info", "CNT-CLEAR"],
    ]
    assert "(173 times, the last " in outcome.out
    assert outcome.err.rstrip().endswith("185 findings: 4 high, 2 low, 179 info")


@pytest.mark.slow
def test_what_is_folded_is_judged_unfolded(run: Run, hay: str) -> None:
    only = ("--filter", "rule == FRM-OVERLAP")
    assert run("findings", hay, "--fail-on", "info", *only).status == 3
    assert run("findings", hay, "--fail-on", "low", *only).status == 0
    # It stands by itself where what explains it is filtered away.
    outcome = run("findings", hay, "--level", "info", *only)
    assert outcome.out.startswith("info    FRM-OVERLAP ")
    assert "(but: same bytes as LEN-ENV)" in outcome.out
    assert outcome.err.rstrip().endswith("1 finding: 1 info; 184 others do not match")


@pytest.mark.slow
def test_rows_and_machine_formats_have_every_finding(run: Run, hay: str) -> None:
    for option, value in (
        ("--columns", "rule,group,explained_by"),
        ("--format", "csv"),
        ("--format", "jsonl"),
    ):
        lines = run("findings", hay, option, value).out.splitlines()
        # Rows have a head, JSON lines have none.
        assert len(lines) == 185 + (value != "jsonl")
        assert sum("LEN-ENV" in line and "FPR-METASPLOIT" in line for line in lines) >= 1
    log = json.loads(run("findings", hay, "--format", "sarif").out)["runs"][0]
    assert len(log["results"]) == 185
    probes = [one for one in log["results"] if "relatedLocations" in one]
    assert {one["properties"]["group"] for one in probes} == {f"FPR-METASPLOIT {_SCANNER}"}
    assert [(one["ruleId"], len(one["relatedLocations"])) for one in probes] == [
        ("FPR-METASPLOIT", 4),
        ("FPR-METASPLOIT", 6),
    ]


@pytest.mark.slow
def test_hosts_do_not_leak_through_groups(run: Run, hay: str) -> None:
    for more in ((), ("--by", "host"), ("--format", "jsonl"), ("--format", "csv"), ("--format", "sarif")):
        outcome = run("findings", hay, "--redact", "hosts", *more)
        assert _SCANNER not in outcome.out
        assert "FPR-METASPLOIT" in outcome.out


def _heads(out: str) -> list[str]:
    return [
        line for line in out.splitlines() if not line.startswith((" ", "high ", "medium ", "low ", "info "))
    ]


def test_the_table_is_ordered_by_what_is_wanted(
    hay: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(_FIXTURES)
    probe = str(_PEERS.relative_to(_FIXTURES))
    files = [probe, "captures/path_syn_refused.pcap", "captures/path_cooked_v1.pcap"]
    reported = {}
    for by in ("host", "rule", "file"):
        assert main(["findings", *files, "--by", by]) == 0
        reported[by] = [line for line in _heads(capsys.readouterr().out) if line]
    assert reported == {
        # What the server answered to a message without a session is told with that.
        "host": ["198.51.100.7  1 high", "192.0.2.21  1 high"],
        "rule": [
            "LEN-ENV  SRMP envelope longer than its packet  1 high",
            "SES-NAKED  A message without a session  1 high",
        ],
        "file": [f"{probe}  1 high", "captures/path_cooked_v1.pcap  1 high"],
    }


@pytest.mark.parametrize("more", [("--format", "jsonl"), ("--format", "csv"), ("--columns", "rule")])
def test_only_the_table_is_ordered(run: Run, hay: str, more: tuple[str, ...]) -> None:
    outcome = run("findings", hay, "--by", "host", *more)
    assert (outcome.status, outcome.out) == (2, "")


def test_each_capture_of_a_group_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "again.pcap").write_bytes(_PAIR.read_bytes())
    outcome = run("findings", _PAIR, tmp_path / "again.pcap")
    [line] = outcome.out.splitlines()
    assert f"{_PAIR} frames 4, 6 user_header.source_queue_manager and in 1 other file  5 values" in line
    assert "(4 times" in line


@pytest.mark.parametrize(
    "path", share(sorted(_FIXTURES.rglob("*.pcap*")), every=25), ids=lambda path: path.stem
)
def test_unfolded_a_fold_is_all_findings(path: Path) -> None:
    found = _read(path)
    unfolded: Counter[str] = Counter()
    reported: set[tuple[str, str]] = set()
    for group in _groups(found):
        assert group.severity == max(
            (one.severity for one in (group, *group.explained)), key=SEVERITIES.index
        )
        # What an answer says counts with what its rule saw.
        inside = sum(one.count for one in group.explained if one.lead.id == group.lead.id)
        unfolded += {group.lead.id: group.count - inside}
        for one in group.explained:
            unfolded += {one.lead.id: one.count}
        reported |= {(one.lead.id, group.id) for one in (group, *group.explained)}
    assert unfolded == Counter(one.id for one in found)
    # Who explains something is there, and in the same group.
    assert {(one.explained_by, one.group) for one in found if one.explained_by} <= reported
