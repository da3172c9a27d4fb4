"""Rows of ``timeline`` for programs, and what it prints of a whole capture.

The rule kept here: a whole capture is printed as it is read, and nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.formats import TimelineFormat
from msmq_wire.cli.render.step_text import StepText
from msmq_wire.detection.diagnosis.timeline import TimelineStep
from msmq_wire.engines.text.csv import csv_line
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.joined_capture import located
from msmq_wire.records.record import Record
from msmq_wire.records.timeline_rows import TIMESKETCH_COLUMNS, Row, item_row, timesketch_row
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.sessions.followed_message import moment_of

_WIDTH = 21
"""Cells of the longest type that is common, ``connection parameters``."""


class TimelineRows:
    """Prints rows of a timeline; ``left_out`` counts those without a time, which Timesketch cannot take."""

    def __init__(self, format_: TimelineFormat) -> None:
        self._format = format_
        self.left_out = 0
        if format_ is TimelineFormat.TIMESKETCH_CSV:
            print(csv_line(TIMESKETCH_COLUMNS))

    def write(self, row: Mapping[str, Any], time: int | None) -> None:
        """Print a row; ``time`` is its time in nanoseconds since 1970."""
        if self._format is TimelineFormat.JSONL:
            print(json_line(row))
            return
        found = timesketch_row(row, time)
        if found is None:
            self.left_out += 1
        elif self._format is TimelineFormat.TIMESKETCH_CSV:
            print(csv_line(found.get(name) for name in TIMESKETCH_COLUMNS))
        else:
            print(json_line(found))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of it at the end."""
        if not self.left_out:
            return ()
        return (f"{self.left_out:,} {'row' if self.left_out == 1 else 'rows'} without a time left out",)


def print_items(
    reading: CaptureSet, redactor: Redactor, format_: TimelineFormat, text: StepText
) -> tuple[str, ...]:
    """Print every item of some captures; return what is to be said at the end."""
    rows = None if format_ is TimelineFormat.TEXT else TimelineRows(format_)
    capture, start = None, None
    for found in reading:
        record = redactor.record(located(found))
        row = item_row(record)
        if row is None:
            continue
        if rows is not None:
            rows.write(row, record.time)
            continue
        if reading.several and record.capture != capture:
            capture = record.capture
            text.line(f"in {capture}:", "dim")
        start = record.time if start is None else start
        text.step(_step_of(record, row), start, _WIDTH)
    return () if rows is None else rows.notes


def _step_of(record: Record, row: Row) -> TimelineStep:
    return TimelineStep(
        at=moment_of(record),
        src=record.src or "",
        dst=record.dst or "",
        what=row["what"],
        detail=row["detail"],
        seen_at=tuple(row.get("seen_at", ())),
    )
