"""The rules by what they check: those that wait are imported when that comes, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.detection.rule import Rule
from msmq_wire.detection.rule_index import RuleIndex

_ROOT = Path(__file__).resolve().parents[2]
_JUDGED = """
import sys
from msmq_wire.detection import judge
from msmq_wire.capture.reader import read_capture

for _ in judge(read_capture(sys.argv[1], streams=True)):
    pass
print(*sorted(sys.modules))
"""


def _rule(id_: str, **values: Any) -> Rule:
    return Rule(id=id_, title="A rule", severity="low", meaning="", action="", check=lambda *_: (), **values)


class _Rules(dict[str, Rule]):
    """Rules, and the ids of those that were asked for."""

    def __init__(self, *rules: Rule) -> None:
        super().__init__((rule.id, rule) for rule in rules)
        self.asked: list[str] = []

    def __getitem__(self, id_: str) -> Rule:
        self.asked.append(id_)
        return super().__getitem__(id_)


def _rules() -> _Rules:
    return _Rules(
        _rule("FRM-MUST", types=("user_message",), codes=("a.b",)),
        _rule("SRM-TO", types=("srmp_message",)),
        _rule("FRM-SIG", types=("user_message", "srmp_message")),
        _rule("RPC-PENDING", over="story"),
        _rule("TXN-GAP", over="story"),
        _rule("RPL-END", over="reply"),
        _rule("RTE-HOPS", over="hop"),
    )


def test_a_rule_is_asked_for_when_that_comes_which_it_waits_for() -> None:
    rules = _rules()
    index = RuleIndex(rules)
    assert rules.asked == ["FRM-SIG", "TXN-GAP"]
    assert [rule.id for rule in index.of_type("user_message")] == ["FRM-SIG"]
    assert index.of_codes("user_message", []) == []
    assert rules.asked == ["FRM-SIG", "TXN-GAP"]

    assert [rule.id for rule in index.of_codes("user_message", ["a.b"])] == ["FRM-MUST"]
    assert [rule.id for rule in index.of_type("srmp_message")] == ["SRM-TO", "FRM-SIG"]
    assert [rule.id for rule in index.over("reply")] == ["RPL-END"]
    assert [rule.id for rule in index.over("hop")] == ["RTE-HOPS"]
    assert [rule.id for rule in index.over("story")] == ["TXN-GAP"]
    assert index.of_type("rpc_call") == []
    assert [rule.id for rule in index.over("story")] == ["RPC-PENDING", "TXN-GAP"]
    assert [rule.id for rule in index] == list(rules)
    assert len(rules.asked) == len(rules)


def test_rules_that_wait_are_there_before_they_are_asked_for() -> None:
    rules = _rules()
    index = RuleIndex(rules)
    assert (index.has("reply"), index.has("hop"), index.has("session")) == (True, True, False)
    assert rules.asked == ["FRM-SIG", "TXN-GAP"]


def test_a_rule_that_is_not_wanted_is_in_no_list() -> None:
    index = RuleIndex(_rules(), lambda rule: rule.id not in ("SRM-TO", "TXN-GAP"))
    assert [rule.id for rule in index.of_type("srmp_message")] == ["FRM-SIG"]
    assert index.over("story") == []


def test_a_retired_rule_is_asked_of_no_record_but_stands_behind_others() -> None:
    index = RuleIndex({one.id: one for one in (_rule("FRM-SIG", behind=("FRM-LEFTOVER",)), _rule("TXN-GAP"))})
    assert [rule.id for rule in index.of_type("ping")] == ["FRM-SIG", "TXN-GAP"]
    index.retire(next(iter(index)))
    assert [rule.id for rule in index.of_type("ping")] == ["TXN-GAP"]
    assert index.explaining == {"FRM-LEFTOVER"}


@pytest.mark.parametrize(
    ("capture", "imported"),
    [
        ("captures/clean_business_day", set()),
        ("captures/clean_srmp", {"srm_to"}),
        ("captures/lab_remote_read", {"rpc_read"}),
        ("findings/RPL-STRANGER/hit_reached", {"replayed"}),
    ],
)
def test_a_capture_imports_no_rule_that_can_see_nothing_in_it(capture: str, imported: set[str]) -> None:
    command = [sys.executable, "-c", _JUDGED, str(_ROOT / "fixtures" / f"{capture}.pcap")]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    loaded = {name.rpartition("msmq_wire.detection.rules.")[2] for name in done.stdout.split()}
    assert {"frm_sig", "ses_naked"} <= loaded
    assert loaded & {"frm_must", "replayed", "routes", "rpc_read", "srm_to"} == imported
