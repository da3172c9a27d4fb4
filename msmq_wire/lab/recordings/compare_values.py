"""What a comparison says: `Agreement`, `Difference`, `NotCompared`. Plain frozen values."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from msmq_wire.lab.recordings.compare_readings import FIELDS, readings_of
from msmq_wire.lab.recordings.recording import RecordedStep
from msmq_wire.records.record import Record

Comparable: TypeAlias = str | int | bool | None
Subject: TypeAlias = Literal[
    "recording", "step", "message", "session", "call", "acknowledgment", "finding", "replay"
]
"""What is compared; ``finding`` and ``replay`` are of the capture alone."""


class RecordLocation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where in the capture something is: id of the record, ``frames`` and ``time`` as a `Record` has them."""

    record: int | None = None
    frames: tuple[int, ...] = ()
    time: int | None = None


def location_of(record: Record) -> RecordLocation:
    """Where a record was found."""
    return RecordLocation(record=record.id, frames=record.frames, time=record.time)


class Agreement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """``count`` values about one subject of a step that the capture holds as they were recorded."""

    step: str
    subject: Subject
    count: int


class Difference(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A value that was recorded otherwise than it was captured, or that only one of both has.

    ``step`` is empty where none accounts for it. ``path`` is the field below ``packet`` of the record,
    ``offset`` its place in bytes of the packet; None where that is not known, or nothing was captured.
    ``readings`` are ids of docs/deviations.md that it touches.
    """

    step: str
    subject: Subject
    field: str
    recorded: Comparable
    captured: Comparable
    location: RecordLocation = RecordLocation()
    path: str = ""
    offset: int | None = None
    message: str = ""
    readings: tuple[str, ...] = ()


class NotCompared(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What could not be compared, and why; ``count`` is how often, ``detail`` what the recording says of it.

    Findings that tell of no broken rule are here, too.
    """

    step: str
    subject: Subject
    reason: str
    detail: str = ""
    count: int = 1
    frames: tuple[int, ...] = ()


class ComparisonResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison came to, by the order of the steps."""

    differences: tuple[Difference, ...]
    agreements: tuple[Agreement, ...]
    not_compared: tuple[NotCompared, ...]


def difference(
    step: RecordedStep | None,
    subject: Subject,
    field: str,
    recorded: Comparable,
    captured: Comparable,
    *,
    location: RecordLocation | None = None,
    path: str = "",
    offset: int | None = None,
    message: str = "",
) -> Difference:
    """A difference with the readings that it touches; ``field`` is one of `FIELDS`."""
    assert field in FIELDS
    return Difference(
        step="" if step is None else step.name,
        subject=subject,
        field=field,
        recorded=recorded,
        captured=captured,
        location=RecordLocation() if location is None else location,
        path=path,
        offset=offset,
        message=message,
        readings=readings_of(field, captured),
    )
