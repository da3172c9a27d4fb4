"""One cause gives one finding above a note; what else was seen of the same bytes names it."""

from __future__ import annotations

from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from msmq_wire import read_capture
from msmq_wire.detection import RULES, Finding, judge
from msmq_wire.detection.explained import Explainers, explained
from msmq_wire.detection.finding import Evidence, Severity
from msmq_wire.detection.rule import Detection, Rule

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
        assert by_id[id_].caveats[-1] == "same bytes as LEN-ENV"


def test_alone_a_rule_says_what_it_saw() -> None:
    records = read_capture(_FINDINGS / "FRM-WRAP32" / "hit_data_length.pcap", streams=True)
    assert [one.severity for one in judge(records, {"FRM-WRAP32": RULES["FRM-WRAP32"]})] == ["high"]


@pytest.mark.slow
def test_every_finding_of_the_fixtures_has_no_other_of_the_same_rank_on_the_bytes_that_explain_it() -> None:
    left: Counter[tuple[str, str]] = Counter()
    for folder in sorted({id_ for rule in RULES.values() for id_ in (rule.id, *rule.behind) if rule.behind}):
        for path in sorted((_FINDINGS / folder).glob("*.pcap")):
            reported = [one for one in found(f"{folder}/{path.stem}") if one.severity != "info"]
            for one in reported:
                places = {(place.record, place.path) for place in one.evidence}
                left.update(
                    (one.id, other.id)
                    for other in reported
                    if other.id in RULES[one.id].behind
                    and other.rank >= one.rank
                    and places <= {(place.record, place.path) for place in other.evidence}
                )
    assert left == {}


def _rule(id_: str, severity: Severity, *behind: str, **values: Any) -> Rule:
    return Rule(
        id=id_,
        title="A rule",
        severity=severity,
        meaning="It.",
        action="No.",
        behind=behind,
        check=lambda *_: (),
        **values,
    )


def _seen(*paths: str, tells: tuple[str, ...] = ()) -> Detection:
    return Detection(message="x", evidence=tuple(Evidence(path=path) for path in paths), tells=tells)


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
    special: Detection, general: Detection, severity: str | None
) -> None:
    rules = _rule("A-GENERAL", "high", "A-SPECIAL"), _rule("A-SPECIAL", "high")
    for sightings in ([(rules[0], general), (rules[1], special)], [(rules[1], special), (rules[0], general)]):
        reported = {rule.id: seen.severity for rule, seen in explained(sightings)}
        assert reported == {"A-GENERAL": severity, "A-SPECIAL": None}


def test_what_is_graver_is_explained_and_no_note() -> None:
    rules = _rule("A-GENERAL", "high", "A-SPECIAL"), _rule("A-SPECIAL", "medium")
    reported = list(explained([(rules[0], _seen("a")), (rules[1], _seen("a"))]))
    assert [(seen.severity, seen.explained_by) for _, seen in reported] == [(None, "A-SPECIAL"), (None, None)]


def test_what_is_explained_by_what_is_explained_has_the_cause_of_both() -> None:
    rules = (
        _rule("A-GENERAL", "high", "A-SPECIAL"),
        _rule("A-SPECIAL", "high"),
        _rule("FPR-X", "high", explains=("A-SPECIAL",)),
    )
    places = [_seen("a"), _seen("a"), _seen("b")]
    reported = {rule.id: seen for rule, seen in explained(list(zip(rules, places, strict=True)))}
    assert {id_: seen.explained_by for id_, seen in reported.items()} == {
        "A-GENERAL": "FPR-X",
        "A-SPECIAL": "FPR-X",
        "FPR-X": None,
    }
    assert reported["A-GENERAL"].cause == Evidence(path="b")
    assert reported["A-GENERAL"].caveats == ("same bytes as A-SPECIAL",)
    assert (reported["A-SPECIAL"].severity, reported["A-SPECIAL"].caveats) == (None, ())


def _at(record: int, src: str = "192.0.2.1:1025") -> Detection:
    return Detection(message="x", evidence=(Evidence(record=record, src=src, dst="192.0.2.9:1801"),))


@pytest.mark.parametrize(
    ("id_", "seen", "by"),
    [
        ("FLG-X", _at(4), "FPR-X"),
        ("FLG-X", _at(5), None),
        ("SES-X", _at(5), "FPR-X"),
        ("SES-X", _at(5, "192.0.2.2:1025"), None),
        ("LEN-X", _at(4), None),
        ("FPR-X", _at(4), None),
    ],
)
def test_what_was_told_explains_what_comes_later(id_: str, seen: Detection, by: str | None) -> None:
    causes = Explainers()
    causes.add(_rule("FPR-X", "high", explains=("FLG-", "FPR-"), explains_later=("SES-X",)), _at(4))
    one = causes.explain(_rule(id_, "high"), seen)
    assert one.explained_by == by
    assert one.cause == (None if by is None else _at(4).evidence[0])


def test_what_explains_another_rule_is_a_rule_and_is_not_explained_by_that() -> None:
    def named(rule: Rule) -> set[str]:
        ids = (*rule.explains, *rule.explains_later)
        return {id_ for id_ in RULES for one in ids if id_ == one or (one[-1] == "-" and id_.startswith(one))}

    explained_by = {id_: {*rule.behind} for id_, rule in RULES.items()}
    for rule in RULES.values():
        assert all(one in RULES or one.endswith("-") for one in (*rule.explains, *rule.explains_later))
        for id_ in named(rule) - {rule.id, *rule.behind}:
            explained_by[id_].add(rule.id)
    assert set().union(*explained_by.values()) <= set(RULES)
    # Raises where two explain each other, however far apart.
    TopologicalSorter(explained_by).prepare()


@pytest.mark.parametrize(
    ("name", "causes"),
    [
        # The second packet of the pair wraps a length; that no session was opened belongs to the probe.
        ("FPR-METASPLOIT/hit_top_bit", ["FPR-METASPLOIT"]),
        ("FPR-METASPLOIT/hit_variant", ["FPR-METASPLOIT"]),
        ("FPR-SCRIPT/hit_message", ["FPR-SCRIPT"]),
        ("FPR-SENSOR/hit_message", ["FPR-SENSOR"]),
        ("FPR-SAMPLE/hit_message", ["FPR-SAMPLE"]),
        # The probe has the sample's GUIDs: that nothing follows, and that the host has others, is the same.
        ("FPR-NUCLEI/hit_answered", ["FPR-SAMPLE"]),
        # Bit 26 is no field of the sample.
        ("FPR-SAMPLE/hit_message_changed", ["FLG-USER-X3", "FPR-SAMPLE"]),
        ("FRM-SIZE-MIN/hit_message_of_100", ["FRM-SIZE-MIN"]),
        ("FRM-OVERLAP/hit_queue_name", ["LEN-DIRECT"]),
        ("LEN-ENV/hit_late_start", ["LEN-ENV"]),
        # A packet of that shape is prepared, and so it comes without a session.
        ("LEN-ENV/hit_top_bit", ["LEN-ENV"]),
        ("LEN-BODY/hit_extension", ["LEN-BODY", "SES-NAKED"]),
    ],
)
def test_one_cause_is_one_group(name: str, causes: list[str]) -> None:
    assert sorted({one.group for one in found(name) if one.severity != "info"}) == [
        f"{id_} 192.0.2.21" for id_ in causes
    ]


def test_what_is_explained_later_is_as_grave_as_it_is() -> None:
    naked = next(one for one in found("FPR-METASPLOIT/hit_top_bit") if one.id == "SES-NAKED")
    assert (naked.severity, naked.explained_by, naked.caveats) == ("high", "FPR-METASPLOIT", ())
