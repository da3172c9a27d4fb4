"""``msmq-wire explain``: all that a rule says, readable everywhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from msmq_wire import detection
from msmq_wire.cli.app import main
from msmq_wire.detection import RULES
from msmq_wire.detection.vulnerabilities import REFERENCES
from msmq_wire.replay.rule_table import FOUND, REASONS, all_rows
from tests.cli.conftest import Outcome
from tests.effort import share

Run = Callable[..., Outcome]


def _words(text: str) -> str:
    return " ".join(text.split())


def _letters(text: str) -> str:
    """A long name may be folded anywhere."""
    return "".join(text.split())


@pytest.mark.parametrize("id_", share(list(RULES)))
def test_everything_a_rule_says_is_printed_in_eighty_columns(run: Run, id_: str) -> None:
    rule = RULES[id_]
    outcome = run("explain", id_)
    assert (outcome.status, outcome.err) == (0, "")
    assert max(map(len, outcome.out.splitlines())) <= 80
    shown = _words(outcome.out)
    assert shown.startswith(f"{rule.id} {rule.severity}, {rule.confidence} {_words(rule.title)}.")
    texts = [rule.meaning, f"What to do: {rule.action}", *map(str, rule.spec), *rule.cves]
    assert [text for text in texts if _words(text) not in shown] == []
    assert ("Harmless explanations: " + _words(rule.harmless) in shown) == bool(rule.harmless)
    assert shown.endswith(f"More: docs/findings/{rule.stem}.md")


def test_several_rules_come_in_the_order_asked_for(run: Run) -> None:
    out = run("explain", "frm_size_max", "flg-ah-wire").out
    heads = [line.split()[0] for line in out.splitlines() if line and not line.startswith(" ")]
    assert heads == ["FRM-SIZE-MAX", "FLG-AH-WIRE"]
    assert "\n\nFLG-AH-WIRE" in out


@pytest.mark.slow
def test_everything_a_row_says_is_printed_in_eighty_columns(run: Run) -> None:
    for row in share(list(all_rows().values())):
        outcome = run("explain", row.id)
        assert (outcome.status, outcome.err) == (0, "")
        assert max(map(len, outcome.out.splitlines())) <= 80
        shown = _letters(outcome.out)
        assert shown.startswith(_letters(f"{row.id} binds the {row.binds} {row.heading}."))
        texts = [f"When: {row.when}", f"The {row.binds}: {row.does}", f"Section: {row.spec}"]
        assert [text for text in texts if _letters(text) not in shown] == []
        assert (_letters(f"The reply: {row.reply}") in shown) is (row.reply != "-")
        breach, no_breach = "msmq-wire replay tells it.", "A replay tells no breach"
        if row.part in FOUND:
            breach, no_breach = f"told by {', '.join(row.checks)}.", "No finding tells a breach"
        assert (_letters(f"A breach: {breach}") in shown) is bool(row.checks)
        why = f"{no_breach}: {REASONS.get(row.reason)}."
        assert (_letters(why) in shown) is bool(row.reason)


@pytest.mark.slow
def test_rows_and_rules_come_in_the_order_asked_for(run: Run) -> None:
    out = run("explain", "mqrr-3.1.4.2-8", "FRM-SIG", "MQQB-3.1.4-1").err
    assert "no rule has the number MQQB-3.1.4-1; did you mean MQ" in out
    out = run("explain", "mqrr-3.1.4.2-8", "FRM-SIG").out
    heads = [line.split()[0] for line in out.splitlines() if line and not line.startswith(" ")]
    assert heads == ["MQRR-3.1.4.2-8", "FRM-SIG"]
    assert "Method: R_OpenQueue (open)" in out


def _named_in_source() -> list[tuple[str, str]]:
    """Every CVE, bulletin and article that the source of a rule names, with the id of the rule."""
    folder = Path(detection.__file__).parent / "rules"
    named = []
    for path in sorted(folder.glob("*.py")):
        id_ = path.stem.upper().replace("_", "-")
        if id_ in RULES:
            found = re.findall(r"CVE-\d+-\d+|\bMS\d\d-\d+|\bKB\d{5,}", path.read_text(encoding="utf-8"))
            named += [(reference, id_) for reference in dict.fromkeys(found)]
    return named


def test_what_a_rule_names_finds_the_rule(run: Run) -> None:
    named = _named_in_source()
    assert ("CVE-2007-3039", "RPC-FMTLEN") in named
    for reference, id_ in named:
        outcome = run("explain", reference.lower())
        assert (outcome.status, outcome.err) == (0, "")
        assert re.match(rf"{reference}: .*\b{id_}\b", outcome.out)
        assert f"\n\n{id_}  {RULES[id_].severity}" in outcome.out


def test_all_rules_that_name_a_cve_are_explained_once(run: Run) -> None:
    out = run("explain", "LEN-ENV", "CVE-2023-21554", "RPC-OLD").out
    heads = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert heads[0] == "CVE-2023-21554: FLG-AH-WIRE, LEN-ENV"
    assert [line.split()[0] for line in heads[1:]] == ["LEN-ENV", "FLG-AH-WIRE", "RPC-OLD"]


def test_what_is_public_of_a_vulnerability_comes_before_the_rules(run: Run) -> None:
    shown = _words(run("explain", "cve-2023-21554").out)
    known = REFERENCES["CVE-2023-21554"]
    assert shown.startswith(
        f"CVE-2023-21554: FLG-AH-WIRE, LEN-ENV {known.title}. What is public: {known.public} "
        f"What to do: {known.action} FLG-AH-WIRE high, certain "
    )
    assert "Windows event: MSMQ 2027" in shown


@pytest.mark.parametrize("name", ["MS08-065", "KB303270", "CVE-2024-30080"])
def test_where_no_field_is_public_nothing_is_claimed(run: Run, name: str) -> None:
    outcome = run("explain", name)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{name}: no rule names it\n")
    assert "names no field of a packet" in _words(outcome.out)


def test_what_rules_name_is_described_and_what_is_described_has_a_field_or_no_rule() -> None:
    named = {reference for rule in RULES.values() for reference in rule.references}
    assert named <= set(REFERENCES)
    assert [name for name in named if "no field" in REFERENCES[name].public] == []
    assert all(one.id in REFERENCES and one.title and one.action for one in REFERENCES.values())


def test_a_section_has_its_rules_and_a_document_its_sections(run: Run) -> None:
    section = [row for id_, row in all_rows().items() if id_.rpartition("-")[0] == "MQRR-3.1.4.2"]
    shown = _words(run("explain", "mqrr-3.1.4.2").out)
    assert shown.startswith(f"MQRR-3.1.4.2 {section[0].heading} MQRR-3.1.4.2-1: ")
    assert [row.id for row in section if f"{row.id}: {_words(row.when)}" not in shown] == []
    out = run("explain", "MQBR").out
    sections = {id_.rpartition("-")[0] for id_ in all_rows() if id_.startswith("MQBR-")}
    heads = [line.split()[0] for line in out.splitlines() if line.startswith("MQBR-")]
    assert (len(heads), set(heads)) == (len(sections), sections)


@pytest.mark.slow
def test_all_that_can_be_explained_is_listed_by_kind(run: Run) -> None:
    outcome = run("explain", "--list")
    assert (outcome.status, outcome.out) == (0, run("explain").out)
    rules, vulnerabilities, documents = (part.splitlines() for part in outcome.out.split("\n\n"))
    assert [line.split()[:2] for line in rules[1:]] == [[one.id, one.severity] for one in RULES.values()]
    assert [
        one.id for one, line in zip(RULES.values(), rules[1:], strict=True) if one.title not in line
    ] == []
    assert [line.split()[0] for line in vulnerabilities[1:]] == list(REFERENCES)
    assert "FLG-AH-WIRE, LEN-ENV" in vulnerabilities[1]
    reported = Counter[str]()
    for line in documents[1:]:
        reported[line.split()[0]] += int(line.split()[1])
    assert reported == Counter(id_.partition("-")[0] for id_ in all_rows())


def test_the_list_fits_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert main(["explain", "--list"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["FLG-AH"], "did you mean FLG-AH-WIRE"),
        (["zzz"], "explain --list names all"),
        (["CVE-2020-0001"], "no rule is called 'CVE-2020-0001'"),
        (["FRM-SIZE-MAX", "x" * 100_000], "no rule is called"),
        (["CVE-2023-2155"], "did you mean CVE-2023-21554"),
        (["MQRZ-3.1"], "no rule is called"),
        (["--list", "FRM-SIZE-MAX"], "either ids of rules or --list"),
    ],
)
def test_an_id_that_is_none_is_bad_usage_in_one_line(run: Run, arguments: list[str], reported: str) -> None:
    outcome = run("explain", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    [line] = outcome.err.splitlines()
    assert reported in line
