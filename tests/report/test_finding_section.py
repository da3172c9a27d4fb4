"""Findings for a page: those that were kept, and those that were only counted."""

from __future__ import annotations

from msmq_wire.detection import Evidence, Finding
from msmq_wire.report.finding_section import FindingSample, ReportedFindings, finding_section
from msmq_wire.report.links import PageLinks
from msmq_wire.report.totals import Totals
from tests.report.pages import Page


def _shelf() -> FindingSample:
    sample = FindingSample()
    sample.add(
        [
            Finding(
                id="FRM-SIG",
                title="Wrong signature",
                severity="medium",
                confidence="certain",
                message="LIOX stands where LIOR is expected",
                evidence=(Evidence(record=7),),
            )
        ]
    )
    return sample


def _page(sample: FindingSample) -> Page:
    groups = sample.shown()
    return Page(finding_section(sample, groups, ReportedFindings(PageLinks(Totals(), (), groups))))


def test_findings_that_were_only_counted_are_told_by_rule() -> None:
    sample = _shelf()
    assert not [text for text in _page(sample).text_of("p") if "Not kept" in text]
    sample.more.update({"FRM-TRUNC": 12_000, "FRM-SIG": 3, "FRM-SIZE": 0})
    page = _page(sample)
    assert page.text_of("p")[-1] == "Not kept: 3 more of FRM-SIG; 12,000 more of FRM-TRUNC."
