"""SRM-ELEM: elements of a message over HTTP are missing or have invalid content."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import bytes_of
from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.rules import HEADER_CODES, element_codes

_SHOWN = 8
_ELSEWHERE = {
    "path.id": "SRM-ID",
    "path.id-source": "SRM-ID",
    "body.not-empty": "SRM-BODYELEM",
    # The examples of the document write the elements as its tables do not.
    "stream.name": "",
    "stream.durable": "",
    "path.action": "",
}
"""Codes that another rule reports, and codes that are not about a message."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    found = list(broken(record, RULE.codes))
    if not found:
        # An error has one of these codes.
        return
    said = [f"{anomaly.path.removeprefix('envelope.header.')}: {anomaly.message}" for anomaly, _ in found]
    more = f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    places = tuple(place for _, place in found[:_SHOWN])
    yield Detection(message="; ".join(said[:_SHOWN]) + more, evidence=places, needs=bytes_of(record))


RULE = Rule(
    id="SRM-ELEM",
    title="Missing or malformed elements in a message over HTTP",
    severity="low",
    spec=(SpecRef("MC-MQSRM", "2.2.1"), SpecRef("MC-MQSRM", "2.2.2"), SpecRef("MC-MQSRM", "2.2.5.6")),
    meaning="The specification demands these elements, and a fixed form for dates, numbers and GUIDs. If an "
    "element is missing or malformed, each receiver decides for itself what the message is. For example, a "
    "message without a date never expires, and one without SourceQmGuid has no sender.",
    action="Find out what made the message: a queue manager did not, or something changed it on its way.",
    harmless="Senders that are not Windows queue managers, and libraries that implement only a part of SRMP.",
    needs=("record",),
    types=("srmp_message", "srmp_receipt"),
    codes=tuple(code for code in (*element_codes(), *HEADER_CODES) if code not in _ELSEWHERE),
    check=_check,
)
