"""The table of rules: its ids are known before a rule is, and are theirs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from msmq_wire.detection import RULES
from msmq_wire.detection.conduct import CONDUCT


def test_the_ids_told_by_the_modules_are_those_of_the_rules() -> None:
    assert [rule.id for rule in RULES.values()] == list(RULES)
    assert len(RULES) == len(set(RULES))
    assert all(id_ in RULES for id_ in RULES)


def test_what_is_no_rule_is_not_there() -> None:
    assert RULES.get("FRM-NOTHING") is None
    assert "frm_sig" not in RULES
    with pytest.raises(KeyError):
        RULES["frm_sig"]


def test_the_rules_of_conduct_are_those_that_name_a_packet() -> None:
    assert list(CONDUCT) == [rule.id for rule in RULES.values() if rule.conduct]


@pytest.mark.slow
def test_a_rule_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys; from msmq_wire.detection import RULES; RULES['FRM-SIG']\n"
        "print(*(name for name in sys.modules if name.startswith(('msmq_wire.detection.rules.', "
        "'msmq_wire.replay'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["msmq_wire.detection.rules.frm_sig"]
