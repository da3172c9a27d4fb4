"""One cause gives one finding above a note; what else was seen of the same bytes names it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from msmq_wire import read_capture
from msmq_wire.findings import RULES, Finding, judge
from msmq_wire.findings.explained import explained
from msmq_wire.findings.finding import Evidence, Severity
from msmq_wire.findings.rule import Rule, Seen

_FINDINGS = Path(__file__).resolve().parents[2] / "fixtures" / "findings"


def found(name: str) -> list[Finding]:
    return list(judge(read_capture(_FINDINGS / f"{name}.pcap", streams=True)))


@pytest.mark.parametrize(
    ("name", "high"),
    [
        # One wrapped DataLength: that it stands in a packet that was sent belongs to it.
        ("FRM-WRAP32/hit_data_length", ["LEN-ENV"]),
        ("FRM-WRAP32/hit_message_size", ["LEN-BODY"]),
        ("LEN-SOAP/hit_wraps", ["LEN-SOAP", "SES-NAKED"]),
        ("FRM-OVERLAP/hit_body", ["LEN-BODY"]),
        # No session was opened: another cause.
        ("LEN-ENV/hit_top_bit", ["LEN-ENV", "SES-NAKED"]),
        # A pair of probes: two packets, one of which has the wrapped length.
        ("FPR-METASPLOIT/hit_top_bit", ["FPR-METASPLOIT", "FPR-METASPLOIT", "LEN-ENV", "SES-NAKED"]),
        ("FPR-METASPLOIT/hit_variant", ["FPR-METASPLOIT", "SES-NAKED"]),
        # What is not known of the beginning lowers all that is told of one length.
        ("LEN-ENV/hit_late_start", ["FLG-AH-WIRE"]),
    ],
)
def test_one_cause_is_one_finding(name: str, high: list[str]) -> None:
    assert sorted(one.id for one in found(name) if one.severity == "high") == high


def test_what_is_explained_is_a_note_that_names_what_explains_it() -> None:
    by_id = {one.id: one for one in found("FRM-WRAP32/hit_data_length")}
    for id_ in ("FRM-OVERLAP", "FRM-WRAP32", "FLG-AH-WIRE"):
        assert by_id[id_].severity == "info"
        assert by_id[id_].caveats[-1] == "LEN-ENV tells of the same bytes"


def test_alone_a_rule_says_what_it_saw() -> None:
    records = read_capture(_FINDINGS / "FRM-WRAP32" / "hit_data_length.pcap", streams=True)
    assert [one.severity for one in judge(records, {"FRM-WRAP32": RULES["FRM-WRAP32"]})] == ["high"]


def test_every_finding_of_the_fixtures_has_no_other_of_the_same_rank_on_the_bytes_that_explain_it() -> None:
    left: Counter[tuple[str, str]] = Counter()
    for folder in sorted({id_ for rule in RULES.values() for id_ in (rule.id, *rule.behind) if rule.behind}):
        for path in sorted((_FINDINGS / folder).glob("*.pcap")):
            told = [one for one in found(f"{folder}/{path.stem}") if one.severity != "info"]
            for one in told:
                places = {(place.record, place.path) for place in one.evidence}
                left.update(
                    (one.id, other.id)
                    for other in told
                    if other.id in RULES[one.id].behind
                    and other.rank >= one.rank
                    and places <= {(place.record, place.path) for place in other.evidence}
                )
    assert left == {}


def _rule(id_: str, severity: Severity, *behind: str) -> Rule:
    return Rule(
        id=id_,
        title="A rule",
        severity=severity,
        meaning="It.",
        action="No.",
        behind=behind,
        check=lambda *_: (),
    )


def _seen(*paths: str, tells: tuple[str, ...] = ()) -> Seen:
    return Seen(message="x", evidence=tuple(Evidence(path=path) for path in paths), tells=tells)


@pytest.mark.parametrize(
    ("special", "general", "severity"),
    [
        (_seen("a.b"), _seen("a.b"), "info"),
        (_seen("a.b", "a.c"), _seen("a.c"), "info"),
        (_seen("a.b", tells=("a.c",)), _seen("a.c"), "info"),
        (_seen("a.b"), _seen("a.c"), None),
        (_seen("a.b"), _seen("a.b", "a.c"), None),
    ],
)
def test_a_finding_is_explained_by_one_on_the_same_bytes(
    special: Seen, general: Seen, severity: str | None
) -> None:
    rules = _rule("A-GENERAL", "high", "A-SPECIAL"), _rule("A-SPECIAL", "high")
    for sightings in ([(rules[0], general), (rules[1], special)], [(rules[1], special), (rules[0], general)]):
        told = {rule.id: seen.severity for rule, seen in explained(sightings)}
        assert told == {"A-GENERAL": severity, "A-SPECIAL": None}


def test_what_is_graver_is_not_explained() -> None:
    rules = _rule("A-GENERAL", "high", "A-SPECIAL"), _rule("A-SPECIAL", "medium")
    told = list(explained([(rules[0], _seen("a")), (rules[1], _seen("a"))]))
    assert [seen.severity for _, seen in told] == [None, None]


def test_what_explains_another_rule_is_a_rule() -> None:
    assert sorted({id_ for rule in RULES.values() for id_ in rule.behind} - set(RULES)) == []
