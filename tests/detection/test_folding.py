"""Findings are folded by cause: what one host sent and one rule explains is one group; nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import permutations

import msgspec
import pytest

from msmq_wire.detection import Evidence, Finding
from msmq_wire.detection.finding import Confidence, Severity
from msmq_wire.detection.folding import MOST_GROUPS, MOST_KEPT, FindingGroup, Fold


def finding(
    id_: str = "FRM-SIG",
    severity: Severity = "medium",
    confidence: Confidence = "certain",
    *,
    by: str | None = None,
    src: str = "192.0.2.1:1025",
    dst: str = "192.0.2.9:1801",
    time: int | None = 5,
    frame: int = 1,
    capture: str = "a.pcap",
) -> Finding:
    place = Evidence(capture=capture, frames=(frame,), time=time, src=src, dst=dst)
    return Finding(
        id=id_,
        title="",
        severity=severity,
        confidence=confidence,
        message="",
        evidence=(place,),
        explained_by=by,
    )


def folded(findings: Iterable[Finding], *, by_capture: bool = False) -> tuple[FindingGroup, ...]:
    fold = Fold(by_capture=by_capture)
    for one in findings:
        fold.add(one)
    return fold.groups()


def test_repeats_of_a_rule_by_one_sender_are_one_group() -> None:
    (group,) = folded(
        [
            finding(time=7, frame=2),
            finding("FRM-SIG", "low", time=5, frame=1),
            finding(time=9, frame=9, src="192.0.2.1:1026", dst="[2001:db8::2]:1801"),
        ]
    )
    assert (group.id, group.sender, group.count, group.occurrences) == (
        "FRM-SIG 192.0.2.1",
        "192.0.2.1",
        3,
        3,
    )
    assert (group.first, group.last, group.severity, group.confidence) == (5, 9, "medium", "certain")
    assert group.hosts == ("192.0.2.1", "192.0.2.9", "2001:db8::2")
    assert group.frames == (2, 1, 9)
    assert group.lead.evidence[0].frames == (2,)


def test_another_sender_is_another_group() -> None:
    assert [one.id for one in folded([finding(src=f"192.0.2.{n}:1") for n in (2, 1, 2)])] == [
        "FRM-SIG 192.0.2.1",
        "FRM-SIG 192.0.2.2",
    ]


def test_groups_come_by_severity_then_confidence_then_time() -> None:
    ordered = [
        finding("A", "high", "published", time=9),
        finding("B", "high", "certain", time=9),
        finding("C", "high", "guess", time=1),
        finding("D", "medium", "certain", time=1),
        finding("E", "medium", "certain", time=2),
        finding("F", "medium", "certain", time=None),
        finding("G", "info", "published", time=0),
    ]
    for some in list(permutations(ordered))[::977]:
        assert [one.lead.id for one in folded(some)] == list("ABCDEFG")


def test_what_is_explained_stands_below_what_explains_it_and_is_counted_there() -> None:
    (group,) = folded(
        [
            finding("FRM-OVERLAP", "info", by="LEN-ENV"),
            finding("LEN-ENV", "high", "published"),
            finding("FRM-WRAP32", "info", by="LEN-ENV"),
            finding("FRM-WRAP32", "info", by="LEN-ENV", time=6),
        ]
    )
    assert (group.id, group.lead.id, group.count, group.occurrences) == ("LEN-ENV 192.0.2.1", "LEN-ENV", 1, 4)
    assert [(one.lead.id, one.count, one.id) for one in group.explained] == [
        ("FRM-OVERLAP", 1, group.id),
        ("FRM-WRAP32", 2, group.id),
    ]


def test_what_says_more_than_the_cause_stands_for_both_if_it_is_as_grave() -> None:
    cause, reported = finding("FPR-X"), msgspec.structs.replace(finding("FPR-Y", by="FPR-X"), first=True)
    (group,) = folded([cause, reported])
    assert (group.id, group.lead.id, [one.lead.id for one in group.explained]) == (
        "FPR-X 192.0.2.1",
        "FPR-Y",
        ["FPR-X"],
    )
    (group,) = folded([cause, msgspec.structs.replace(reported, severity="low")])
    assert (group.lead.id, [one.lead.id for one in group.explained]) == ("FPR-X", ["FPR-Y"])


def test_a_group_is_as_grave_as_the_gravest_in_it() -> None:
    (group,) = folded([finding("FPR-X", "low"), finding("SES-NAKED", "high", by="FPR-X")])
    assert (group.severity, group.lead.id, group.lead.severity) == ("high", "FPR-X", "low")


def test_what_is_explained_by_what_is_not_there_stands_by_itself() -> None:
    groups = folded(
        [finding("FRM-OVERLAP", "info", by="LEN-ENV"), finding("FRM-WRAP32", "info", by="LEN-ENV")]
    )
    assert [(one.lead.id, one.explained) for one in groups] == [("FRM-OVERLAP", ()), ("FRM-WRAP32", ())]


def test_captures_are_told_apart_where_that_is_wanted() -> None:
    some = [finding(capture="b.pcap", frame=2), finding(capture="a.pcap", frame=1), finding(capture="a.pcap")]
    (together,) = folded(some)
    assert (together.captures, together.frames) == (("b.pcap", "a.pcap"), (2,))
    assert [(one.captures, one.count) for one in folded(some, by_capture=True)] == [
        (("b.pcap",), 1),
        (("a.pcap",), 2),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_no_finding_is_lost(seed: int) -> None:
    chance = random.Random(seed)
    some = [
        finding(
            chance.choice(("A", "B", "C")),
            chance.choice(("info", "low", "high")),
            by=chance.choice((None, "A", "D")),
            src=f"192.0.2.{chance.randrange(4)}:1",
        )
        for _ in range(200)
    ]
    assert sum(one.occurrences for one in folded(some)) == len(some)


def test_what_is_kept_is_bounded_and_the_counts_are_not() -> None:
    fold = Fold()
    for number in range(MOST_GROUPS + 50):
        fold.add(finding(src=f"10.0.{number >> 8}.{number & 255}:1"))
    for number in range(200):
        fold.add(finding("B", "high", dst=f"10.1.0.{number}:1", frame=number, capture=f"{number // 50}"))
    groups = fold.groups()
    assert len(groups) == MOST_GROUPS + 2
    assert sorted(one.count for one in groups)[-2:] == [50, 200]
    (most,) = (one for one in groups if one.count == 200)
    # It came when all places were taken.
    assert (most.id, most.sender) == ("B", "")
    assert (len(most.hosts), len(most.frames), len(most.captures)) == (MOST_KEPT, MOST_KEPT, 4)
