"""What a digest counts, the findings list, as grave and as one: every capture of fixtures/."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import RULES, SEVERITIES, Finding, Judge
from msmq_wire.detection.causes import causes
from msmq_wire.detection.diagnosis import Diagnosis, diagnosis_needs
from msmq_wire.detection.diagnosis.digest_lines import Digest
from msmq_wire.detection.folding import Fold
from tests.effort import in_batches, remembered

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted(_FIXTURES.rglob("*.pcap"))


@remembered
def _judged(path: Path, rules: Collection[str] = RULES) -> tuple[list[Finding], Digest]:
    diagnosis, judge = Diagnosis(), Judge({id_: RULES[id_] for id_ in rules})
    findings: list[Finding] = []
    for record in read_capture(path, streams=True):
        found = judge.feed(record)
        diagnosis.feed(record, found)
        findings += found
    found = judge.finish()
    diagnosis.found(found)
    assert judge.story is not None
    return findings + found, diagnosis.digest(diagnosis.answers(judge.story), judge.story)


@in_batches(_CAPTURES)
def test_causes_are_the_same_for_who_wants_no_answers(path: Path) -> None:
    quick, whole, judge = Diagnosis(answers=False), Diagnosis(), Judge(wanted=diagnosis_needs)
    for record in read_capture(path, streams=True):
        found = judge.feed(record)
        quick.feed(record, found)
        whole.feed(record, found)
    found = judge.finish()
    quick.found(found)
    whole.found(found)
    story = judge.story
    assert story is not None
    # Answers look at every message, and causes then have what these have seen.
    whole.answers(story)
    assert [cause for cause, _ in quick.causes(story)] == [cause for cause, _ in whole.causes(story)]


@in_batches(_CAPTURES)
def test_a_diagnosis_says_the_same_whether_all_rules_are_asked_or_those_that_it_heeds(path: Path) -> None:
    assert (
        _judged(path, tuple(id_ for id_, rule in RULES.items() if diagnosis_needs(rule)))[1].lines
        == _judged(path)[1].lines
    )


@in_batches(_CAPTURES)
def test_findings_are_as_grave_as_the_digest(path: Path) -> None:
    findings, digest = _judged(path)
    gravest = max((SEVERITIES.index(line.severity) for line in digest.lines), default=0)
    assert max((one.rank for one in findings), default=0) == gravest


@in_batches(_CAPTURES)
def test_every_line_of_the_digest_is_a_finding_of_its_severity_about_its_frames(path: Path) -> None:
    findings, digest = _judged(path)
    for line in digest.causes:
        alike = [one for one in findings if one.severity == line.severity]
        frames = {frame for one in alike for place in one.evidence for frame in place.frames}
        assert not line.frames or frames & {*line.frames}, line.text


@in_batches(_CAPTURES)
def test_findings_are_folded_under_the_causes_that_the_digest_names(path: Path) -> None:
    findings, digest = _judged(path)
    fold = Fold()
    for one in findings:
        fold.add(one)
    causes_ = {group.lead.id for group in causes(fold.groups()) if group.rank}
    named = {line.rule for line in digest.causes if line.rule is not None}
    assert named <= causes_ if digest.more else named == causes_
