"""Rows of ``timeline`` for programs, and what it prints of a whole capture.

The rule kept here: a whole capture is printed as it is read. So many items are kept as it takes to put those
in order that were known late, as behind a loss, and never more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.formats import TimelineFormat
from msmq_wire.cli.render.step_text import StepText
from msmq_wire.cli.selection import Selection
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
_KEPT = 4096
"""Items that are kept to be put in order."""


class TimelineRows:
    """Prints rows of a timeline; ``left_out`` counts those without a time, which Timesketch cannot take."""

    def __init__(self, format_: TimelineFormat) -> None:
        self._format = format_
        self.left_out = 0
        if format_ is TimelineFormat.TIMESKETCH_CSV:
            print(csv_line(TIMESKETCH_COLUMNS))

    def write(self, row: Mapping[str, Any], time: int | None, record: Record | None = None) -> None:
        """Print a row; ``time`` is its time in nanoseconds since 1970, ``record`` the item that it is of."""
        if self._format is TimelineFormat.JSONL:
            print(json_line(row))
            return
        found = timesketch_row(row, time, record)
        if found is None:
            self.left_out += 1
        elif self._format is TimelineFormat.TIMESKETCH_CSV:
            # Its importer has commas between tags.
            found["tag"] = ",".join(found["tag"])
            print(csv_line(found.get(name) for name in TIMESKETCH_COLUMNS))
        else:
            print(json_line(found))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of it at the end."""
        if not self.left_out:
            return ()
        return (f"{self.left_out:,} {'row' if self.left_out == 1 else 'rows'} without a time left out",)


def by_time(records: Iterable[Record], kept: int = _KEPT) -> Iterator[Record]:
    """Records of captures, those of each in the order of time as far as ``kept`` of them show it.

    One without a time stays behind the one before it.
    """
    waiting: list[tuple[int, int, Record]] = []
    capture, last = "", 0
    for number, record in enumerate(records):
        if record.capture != capture:
            capture, last = record.capture, 0
            while waiting:
                yield heappop(waiting)[2]
        last = last if record.time is None else record.time
        heappush(waiting, (last, number, record))
        if len(waiting) > kept:
            yield heappop(waiting)[2]
    while waiting:
        yield heappop(waiting)[2]


def print_items(
    reading: CaptureSet, redactor: Redactor, selection: Selection, format_: TimelineFormat, text: StepText
) -> tuple[str, ...]:
    """Print every item of some captures that is selected; return what is to be said at the end."""
    rows = None if format_ is TimelineFormat.TEXT else TimelineRows(format_)
    capture, start = None, None
    matching = items = 0
    for found in map(located, by_time(reading)):
        record = redactor.record(found)
        row = item_row(record)
        if row is None:
            continue
        items += 1
        if found not in selection:
            continue
        matching += 1
        if rows is not None:
            rows.write(row, record.time, record)
            continue
        if reading.several and record.capture != capture:
            capture = record.capture
            text.line(f"in {capture}:", "dim")
        start = record.time if start is None else start
        text.item(_step_of(record, row), start, _WIDTH)
    shown = selection.described(matching, items, "item")
    return shown if rows is None else (*shown, *rows.notes)


def _step_of(record: Record, row: Row) -> TimelineStep:
    return TimelineStep(
        at=moment_of(record),
        src=record.src or "",
        dst=record.dst or "",
        what=row["what"],
        detail=row["detail"],
        seen_at=tuple(row.get("seen_at", ())),
    )
