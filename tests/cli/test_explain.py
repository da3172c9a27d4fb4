"""``msmq-wire explain``: all that a rule says, readable everywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from msmq_wire.cli.app import main
from msmq_wire.findings import RULES
from tests.cli.conftest import Outcome
from tests.effort import share

Run = Callable[..., Outcome]


def _words(text: str) -> str:
    return " ".join(text.split())


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


def test_the_list_has_every_rule_with_its_severity(run: Run) -> None:
    outcome = run("explain", "--list")
    assert outcome.status == 0
    _, *lines = outcome.out.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.id, rule.severity] for rule in RULES.values()]
    assert [rule.id for rule, line in zip(RULES.values(), lines, strict=True) if rule.title not in line] == []


def test_the_list_fits_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert main(["explain", "--list"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["FLG-AH"], "did you mean FLG-AH-WIRE"),
        (["zzz"], "explain --list names all"),
        (["FRM-SIZE-MAX", "x" * 100_000], "no rule is called"),
        ([], "either ids of rules or --list"),
        (["--list", "FRM-SIZE-MAX"], "either ids of rules or --list"),
    ],
)
def test_an_id_that_is_none_is_bad_usage_in_one_line(run: Run, arguments: list[str], told: str) -> None:
    outcome = run("explain", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    [line] = outcome.err.splitlines()
    assert told in line
