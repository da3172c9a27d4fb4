"""The JSON view of a comparison: what ``compare-recording --format jsonl`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msmq_wire.lab.recordings.compare_values import Agreement, ComparisonResult, Difference, NotCompared
from msmq_wire.records.view import time_text

Json = dict[str, Any]


def compared_rows(compared: ComparisonResult) -> Iterator[Json]:
    """A row for each difference, then for what agrees in each step, then for what was not compared."""
    yield from map(_difference, compared.differences)
    yield from map(_agreement, compared.agreements)
    yield from map(_not_compared, compared.not_compared)


def _difference(one: Difference) -> Json:
    return {
        "kind": "difference",
        "step": one.step,
        "subject": one.subject,
        "field": one.field,
        "recorded": one.recorded,
        "captured": one.captured,
        "record": one.location.record,
        "frames": list(one.location.frames),
        "time": time_text(one.location.time),
        "path": one.path,
        "offset": one.offset,
        "message": one.message,
        "readings": list(one.readings),
    }


def _agreement(one: Agreement) -> Json:
    return {"kind": "agreement", "step": one.step, "subject": one.subject, "count": one.count}


def _not_compared(one: NotCompared) -> Json:
    return {
        "kind": "not_compared",
        "step": one.step,
        "subject": one.subject,
        "reason": one.reason,
        "detail": one.detail,
        "count": one.count,
        "frames": list(one.frames),
    }
