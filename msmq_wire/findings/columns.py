"""The columns of findings, each declared once: what ``findings --columns`` shows, and CSV has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msmq_wire.findings.finding import SEVERITIES, Evidence, Finding
from msmq_wire.records.column import Column, ColumnRow, placed
from msmq_wire.records.joined_capture import located
from msmq_wire.records.look import Look
from msmq_wire.records.record import Record
from msmq_wire.wire.private import Private, What, privacy


def _said(name: str) -> What | None:
    """With what a redaction takes the values of a field of a record away."""
    said = privacy(Record).get(name)
    return said.what if isinstance(said, Private) else None


def _first(name: str) -> Callable[[Finding], Any]:
    """What is said of the first thing that was seen."""
    return lambda finding: getattr(located(finding.evidence[0]) if finding.evidence else Evidence(), name)


def _place(name: str, **changes: Any) -> Column:
    return placed(name, Column, where=_first(name), reveals=_said(name), **changes)


FINDING_COLUMNS: tuple[Column, ...] = (
    Column("severity", "text", "info, low, medium or high.", choices=SEVERITIES, look=Look("severity")),
    Column(
        "confidence", "text", "certain, published, likely or guess.",
        choices=("certain", "published", "likely", "guess"), look=Look("confidence", 150),
    ),
    Column("rule", "text", "Id of the rule.", "id", look=Look("rule", style="title")),
    Column("title", "text", "What the rule is about."),
    _place("capture"),
    placed(
        "id", Column, called="record", where=_first("record"), optional=True, look=None,
        doc="Id of the item that it is about.",
    ),
    _place("frames", optional=True, look=Look("frames", 0, 6, style="dim")),
    _place("time", look=Look("time", 110)),
    _place("src"),
    _place("dst", look=Look("dst", 100, 10, last=True)),
    Column(
        "path", "text", "The field, by its path below `packet`.", _first("path"), look=Look("path", 170, 10),
    ),
    _place("offset", optional=True, doc="Bytes of the packet before the field."),
    _place("length", optional=True, look=None, doc="Bytes of the field."),
    Column("message", "text", "What was observed.", look=Look("message", 0, 20, last=True)),
    Column(
        "caveats", "text", "What weakens the finding in this capture, with semicolons between.",
        lambda finding: "; ".join(finding.caveats),
    ),
    Column("cves", "texts", "Those whose published condition it matches."),
    Column("spec", "text", "The sections that the rule rests on."),
    Column("event", "text", "The Windows event that goes with it, as MSMQ 2027.", optional=True),
    Column(
        "group", "text", "The cause: what has the same text here is one finding for people.",
        reveals=_said("src"),
    ),
    Column(
        "explained_by", "text", "Id of the rule that tells the cause, where another rule does.",
        optional=True,
    ),
)  # fmt: skip
"""The columns in their order."""

FINDING_ALIASES: Mapping[str, str] = {"id": "rule", "cve": "cves", "caveat": "caveats", "frame": "frames"}
"""What else a column is called: ``id`` is its key in JSON lines, the others are names of filters."""


class FindingRow(ColumnRow, columns=FINDING_COLUMNS):
    """The values of a finding, its place being that of the first evidence."""

    __slots__ = ()
