"""A diagnosis that takes runs answers what one answers that is fed records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.detection import Judge
from msmq_wire.detection.diagnosis import Diagnosis
from msmq_wire.detection.diagnosis import bodies as of_bodies
from msmq_wire.records.run import in_order
from tests.effort import in_batches
from tests.runs import CAPTURES, FIXTURES, read

pytestmark = pytest.mark.usefixtures("few_are_worth_columns")


def answered(batches: Sequence[PacketBatch], *, by_column: bool) -> Any:
    diagnosis = Diagnosis()
    judge = Judge(leave=diagnosis.leave)
    for batch in batches:
        if by_column:
            diagnosis.take(batch, judge.take(batch))
        else:
            for record in in_order(batch):
                diagnosis.feed(record, judge.feed(record))
    diagnosis.found(judge.finish())
    assert judge.story is not None
    answers = diagnosis.answers(judge.story)
    return answers, diagnosis.digest(answers, judge.story, frames=1)


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_a_capture_that_is_taken_is_answered_as_one_that_is_fed(path: Path) -> None:
    batches = read(path)
    assert answered(batches, by_column=True) == answered(batches, by_column=False)


@pytest.mark.parametrize(("kinds", "looks", "size"), [(1, 9, 99), (256, 2, 40)])
def test_where_limits_are_reached_the_same_bodies_are_looked_at(
    kinds: int, looks: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_bodies, "_MOST_KINDS", kinds)
    monkeypatch.setattr(of_bodies, "_MOST_LOOKS", looks)
    monkeypatch.setattr(of_bodies, "_MOST_BYTES", size)
    for name in ("demo.pcap", "clean_signed.pcap"):
        batches = read(FIXTURES / "captures" / name, 700)
        assert answered(batches, by_column=True) == answered(batches, by_column=False)
