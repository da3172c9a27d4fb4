"""Length fields that reach past their packet, and what makes such a finding doubtful.

The rule kept here: a rule yields at most one detection for a packet, with evidence for each field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msmq_wire.detection.finding import SEVERITIES, Evidence, Severity
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Check, Context, Detection, evidence_of
from msmq_wire.engines.field_offsets import span
from msmq_wire.records.coverage import Need
from msmq_wire.records.record import Record
from msmq_wire.wire.musts import Anomaly

UNREADABLE = ("past-packet-size", "negative-length")
"""Codes of errors that a wrong length causes, not the end of the captured bytes."""
FRAMED: tuple[Need, ...] = ("before_here", "opening")
"""What a capture must hold to show that a packet starts where it was found."""

Measures = Mapping[str, str]
"""The path of an error, or its start up to a dot, and the path of the length field."""
Explain = Callable[[Record, Anomaly], tuple[str, Severity | None]]
"""Gives the text of an anomaly and its severity; None is the severity of the rule."""


def lying_lengths(
    *,
    codes: tuple[str, ...],
    measures: Measures,
    severity: Severity,
    of_errors: Severity | None = None,
    explain: Explain | None = None,
    tells: tuple[str, ...] = (),
) -> Check:
    """A check that sees anomalies with one of ``codes`` and an error behind one of ``measures`` as one.

    ``severity`` is that of an anomaly that ``explain`` does not weigh, ``of_errors`` that of an error (the
    same by default); the highest counts. ``tells`` is as in `Detection`; the place of the error belongs to
    it.
    """

    def check(record: Record, context: Context) -> Iterable[Detection]:
        if record.error is None and not record.anomalies:
            return ()
        said: dict[str, Severity] = {}
        places: list[Evidence] = []
        for anomaly in record.anomalies:
            if anomaly.code in codes:
                text, own = (explain or _plainly)(record, anomaly)
                said.setdefault(text, own or severity)
                data = _bytes_of(reached(record.packet, anomaly.path), anomaly.length)
                places.append(evidence_of(record, anomaly.path, anomaly.offset, anomaly.length, data))
        reported = tells
        found = _past_end(record, measures)
        if found is not None and record.error is not None:
            text, place = found
            if not any((one.path, one.offset) == (place.path, place.offset) for one in places):
                places.append(place)
            number = reached(record.packet, place.path)
            if any(f"{number:#010x}" in one or f"is {number}:" in one for one in said):
                text = record.error.message
            said.setdefault(text, of_errors or severity)
            reported = (*tells, record.error.path)
        if not places:
            return ()
        worst = max(said.values(), key=SEVERITIES.index)
        return (Detection(message="; ".join(said), evidence=tuple(places), severity=worst, tells=reported),)

    return check


def place_of(record: Record, path: str) -> Evidence:
    """A decoded field of the packet as evidence, without list elements."""
    offset, length = span(record.packet, path)
    return evidence_of(record, path, offset, length, _bytes_of(reached(record.packet, path), length))


def _plainly(record: Record, anomaly: Anomaly) -> tuple[str, Severity | None]:
    value = reached(record.packet, anomaly.path)
    said = f" is {value}" if isinstance(value, int) else ""
    return f"{anomaly.path}{said}: {anomaly.message}", None


def _past_end(record: Record, measures: Measures) -> tuple[str, Evidence] | None:
    error = record.error
    if error is None or error.code not in UNREADABLE:
        return None
    for start, path in measures.items():
        if error.path == start or (start.endswith(".") and error.path.startswith(start)):
            value = reached(record.packet, path)
            if value is None:
                break
            return f"{path} is {value}: {error.message}", place_of(record, path)
    else:
        return None
    return error.message, evidence_of(record, error.path, error.offset)


def _bytes_of(value: Any, length: int) -> bytes:
    if isinstance(value, bytes):
        return bytes(value)
    # Every number of these packets but those of a SID's authority is little-endian, and none is negative.
    return value.to_bytes(length, "little") if isinstance(value, int) and 0 < length <= 8 else b""
