"""Findings as Python objects: which ones, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import msmq_wire as mw

_ATTACK = Path(__file__).resolve().parents[2] / "fixtures" / "digest" / "fault_and_attack.pcap"


def test_findings_are_chosen_by_level_rule_and_filter() -> None:
    high = [*mw.findings(_ATTACK, level="high")]
    assert [finding.id for finding in high] == ["LEN-ENV", "SES-NAKED"]
    assert high[0].cves == ("CVE-2023-21554",)
    assert high[0].evidence[0].frames == (106,)
    assert [one.id for one in mw.findings(_ATTACK, rules="len_env")] == ["LEN-ENV"]
    assert [one.id for one in mw.findings(_ATTACK, filter="rule == LEN-ENV")] == ["LEN-ENV"]
    assert [*mw.findings(_ATTACK, filter=["rule == LEN-ENV", "src ~ 192.0.2.99"])] == []


def test_what_is_wrong_is_said_before_anything_is_read() -> None:
    with pytest.raises(mw.MsmqWireError, match="no rule is called 'LEN-EVN'; did you mean LEN-ENV"):
        mw.findings("no such file", rules=["LEN-EVN"])
    with pytest.raises(mw.MsmqWireError, match="level is one of info, low, medium, high, not 'severe'"):
        mw.findings("no such file", level="severe")  # type: ignore[arg-type]  # it is none
    with pytest.raises(mw.MsmqWireError, match=r"high, not 'hgih': did you mean 'high'\?$"):
        mw.findings("no such file", level="hgih")  # type: ignore[arg-type]  # it is none
    with pytest.raises(mw.MsmqWireError, match="nothing is called 'lable'"):
        mw.findings("no such file", filter="lable ~ order")
    with pytest.raises(mw.CaptureError, match="cannot open"):
        next(mw.findings("no such file"))


def test_damage_is_said_at_the_end() -> None:
    path = _ATTACK.parents[1] / "captures" / "path_cut_file.pcap"
    found = mw.findings(path)
    with pytest.warns(mw.CaptureWarning, match="cut inside a record"):
        list(found)
    assert [error.offset for error in found.errors] == [856]
