"""CNT-BODYTYPE: BodyType is not a published property type."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = ("message_properties_header.body-type",)
_PUBLISHED = frozenset((4, 5, 6, 7, 9, 13, 22, 23, 30, 68, 69, 0x2000, 0x2011))
"""Types that articles about PROPID_M_BODY_TYPE, ActiveXMessageFormatter and MsmqMessage add to the
specification: reals, currency, dates, objects, INT and UINT, narrow text, stored objects, arrays."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for _, place in broken(record, _CODES):
        value = record.packet.message_properties_header.body_type
        if value in _PUBLISHED:
            continue
        yield Detection(message=f"BodyType is {value:#x}", evidence=(place,))


RULE = Rule(
    id="CNT-BODYTYPE",
    title="A body type that the specification does not list",
    severity="info",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.12"),),
    meaning="BodyType tells the application how to read the body. No specification and no article lists "
    "this value.",
    action="If the receiving application fails, ask its maker whether it knows this value.",
    harmless="Applications may use their own values. Queue managers ignore them. Type 8 (BSTR) is common in "
    "ordinary traffic and not judged.",
    codes=_CODES,
    check=_check,
)
