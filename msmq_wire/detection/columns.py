"""The columns of findings, each declared once: what ``findings --columns`` shows, and CSV has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from msmq_wire.detection.finding import LAYERS, SEVERITIES, Evidence, Finding
from msmq_wire.records.column import Column, ColumnRow, join_columns, placed
from msmq_wire.records.display import Display
from msmq_wire.records.join_keys import join_keys
from msmq_wire.records.joined_capture import located

_JOINED = join_columns(Column, lambda place: join_keys(place.src, place.dst, udp=place.transport == "udp"))
EVIDENCE_COLUMNS: tuple[Column, ...] = (
    placed("capture", Column),
    placed(
        "id", Column, called="record", where="record", optional=True, display=None,
        doc="Id of the item that it is about.",
    ),
    placed("frames", Column, display=Display("frames", 0, 6, style="dim")),
    placed("time", Column, display=Display("time", 110)),
    placed("src", Column),
    placed("dst", Column, display=Display("dst", 100, 10, last=True)),
    Column(
        # That of a record is what it was captured in.
        "path", "text", "The field, by its path below `packet`.", lambda place: place.path,
        optional=False, display=Display("path", 170, 10),
    ),
    placed("offset", Column, doc="Bytes of the packet before the field."),
    placed("length", Column, display=None, doc="Bytes of the field, or of the item without a path."),
    Column("data", "bytes", "The first of its bytes, at most 64.", optional=False),
    *_JOINED,
)  # fmt: skip
"""The columns of one piece of evidence."""


def _of_first(column: Column) -> Column:
    """A column of the first evidence."""

    def first(finding: Finding) -> Any:
        return column.value(located(finding.evidence[0]) if finding.evidence else Evidence())

    return replace(column, where=first, reveals=column.tells)


FINDING_COLUMNS: tuple[Column, ...] = (
    Column(
        "severity", "text", "info, low, medium or high.",
        choices=SEVERITIES, optional=False, display=Display("severity"),
    ),
    Column(
        "confidence", "text", "certain, published, likely or guess.",
        choices=("certain", "published", "likely", "guess"), optional=False,
        display=Display("confidence", 150),
    ),
    Column(
        "layer", "text", "Where the cause is: capture, network, host, queue manager or application.",
        choices=LAYERS, optional=False, display=Display("layer", 160),
    ),
    Column(
        "rule", "text", "Id of the rule.", "id",
        pattern="^[A-Z]{2,3}(-[A-Z0-9]+)+$", optional=False, display=Display("rule", style="title"),
    ),
    Column("title", "text", "What the rule is about.", optional=False),
    *(_of_first(one) for one in EVIDENCE_COLUMNS if one.kind != "bytes" and one not in _JOINED),
    Column(
        "message", "text", "What was observed.", optional=False, display=Display("message", 0, 20, last=True),
    ),
    Column(
        "caveats", "text", "What weakens the finding in this capture, with semicolons between.",
        lambda finding: "; ".join(finding.caveats), optional=False,
    ),
    Column(
        "cves", "texts", "Those whose published condition it matches.",
        pattern="^CVE-[0-9]{4}-[0-9]{4,}$", optional=False,
    ),
    Column("spec", "text", "The sections that the rule rests on.", optional=False),
    Column("event", "text", "The Windows event that goes with it, as MSMQ 2027."),
    Column(
        "group", "text", "The cause: what has the same text here is one finding for people.",
        optional=False, reveals="host",
    ),
    Column("explained_by", "text", "Id of the rule that tells the cause, where another rule does."),
    *map(_of_first, _JOINED),
)  # fmt: skip
"""The columns in their order."""


def sections_of(finding: Finding) -> tuple[str, ...]:
    """The sections that its rule rests on, each by itself."""
    return tuple(filter(None, finding.spec.split(", ")))


def _with_evidence() -> Iterator[Column]:
    known = {one.name: one for one in FINDING_COLUMNS}
    yield replace(known["rule"], name="id")
    yield from (known[name] for name in ("title", "severity", "confidence", "layer", "message"))
    yield Column(
        "evidence", "objects", "Where it was seen.", lambda finding: map(located, finding.evidence),
        columns=EVIDENCE_COLUMNS, least=1, optional=False,
    )  # fmt: skip
    yield Column("caveats", "texts", "What weakens the finding in this capture.", optional=False)
    yield known["cves"]
    yield replace(known["spec"], kind="sections", where=sections_of)
    yield from (known[name] for name in ("event", "group", "explained_by"))


JSON_COLUMNS = tuple(_with_evidence())
"""The columns of JSON lines: all evidence, and lists instead of texts."""

FINDING_ALIASES: Mapping[str, str] = {"id": "rule", "cve": "cves", "caveat": "caveats", "frame": "frames"}
"""Other names of columns: ``id`` is the key in JSON lines, the others are names in filters."""


class FindingRow(ColumnRow, columns=FINDING_COLUMNS):
    """The values of a finding and of its first evidence."""

    __slots__ = ()


class FindingView(ColumnRow, columns=JSON_COLUMNS):
    """The values of a finding with all its evidence, as JSON lines have them."""

    __slots__ = ()
