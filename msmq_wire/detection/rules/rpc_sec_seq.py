"""RPC-SEC-SEQ: sections of a message that do not belong together."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = (
    "sections.order",
    "sections.count",
    "sections.section-size",
    "sections.kind",
    "section_buffer.section-buffer-type",
    "section_buffer.section-size-alloc-whole",
    "section_buffer.section-size-alloc",
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        where = f"{anomaly.path}: " if anomaly.path else ""
        yield Detection(message=where + anomaly.message, evidence=(place,))


RULE = Rule(
    id="RPC-SEC-SEQ",
    title="Sections of a message out of order",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "2.2.6"), SpecRef("MS-MQRR", "2.2.7")),
    meaning="A message comes as one full section, or as a first and a second section. The type of a section "
    "determines its sizes. Here the sections break these rules.",
    action="Find out what the server is that answers like this. The client relies on the sizes that it gets.",
    needs=("record",),
    types=("message_packet",),
    codes=_CODES,
    check=_check,
)
