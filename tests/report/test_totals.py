"""What a report counts while records pass."""

from __future__ import annotations

from msmq_wire.records.record import Record
from msmq_wire.report import Totals
from tests.report.pages import START


def test_a_gap_without_a_missing_byte_is_none_and_one_of_unknown_size_is_one() -> None:
    totals = Totals()
    for number, missing in enumerate((0, 1, None, 77)):
        totals.feed(Record(id=number, type="gap", time=START, stream=0, missing=missing))
    assert [gap.missing for gap in totals.gaps] == [1, None, 77]
    assert totals.missing == 78
    assert [lane.gaps.total for lane in totals.lanes.values()] == [3]
