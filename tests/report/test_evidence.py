"""Findings for a page: those that were kept, and those that were only counted."""

from __future__ import annotations

from msmq_wire.findings import Evidence, Finding
from msmq_wire.report.evidence import Shelf, Told, finding_section
from msmq_wire.report.links import Links
from msmq_wire.report.totals import Totals
from tests.report.pages import Page


def _shelf() -> Shelf:
    shelf = Shelf()
    shelf.add(
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
    return shelf


def _page(shelf: Shelf) -> Page:
    groups = shelf.shown()
    return Page(finding_section(shelf, groups, Told(Links(Totals(), (), groups))))


def test_findings_that_were_only_counted_are_told_by_rule() -> None:
    shelf = _shelf()
    assert not [text for text in _page(shelf).text_of("p") if "Not kept" in text]
    shelf.more.update({"FRM-TRUNC": 12_000, "FRM-SIG": 3, "FRM-SIZE": 0})
    page = _page(shelf)
    assert page.text_of("p")[-1] == "Not kept: 3 more of FRM-SIG; 12,000 more of FRM-TRUNC."
