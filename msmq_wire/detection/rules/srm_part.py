"""SRM-PART: the MIME parts of a message over HTTP are wrong."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import bytes_of
from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = (
    "srmp_message.part",
    "srmp_message.reference",
    "srmp_message.unsigned-part",
    "mime.boundary",
    "mime.delimiter-inside",
    "mime.headers",
    "mime.no-close",
    "mime.no-part",
    "mime.part-count",
)
_NO_ENVELOPE = "envelope.missing"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        yield Detection(
            message=f"{anomaly.path}: {anomaly.message}", evidence=(place,), needs=bytes_of(record)
        )
    error = record.error
    if error is not None and error.code == _NO_ENVELOPE and record.packet.complete:
        yield Detection(
            message="no part is a SOAP envelope",
            evidence=(evidence_of(record, "envelope", error.offset or 0),),
        )


RULE = Rule(
    id="SRM-PART",
    title="Wrong MIME parts in a message over HTTP",
    severity="medium",
    spec=(SpecRef("MC-MQSRM", "2.2.2"),),
    meaning="A message has one envelope, at most one body and at most one extension. A Content-Id names "
    "each part, and boundaries separate them. It is not certain which part a receiver takes as the body.",
    action="Look at the request; compare what the application got with what an inspecting proxy saw.",
    harmless="Libraries that build the request themselves and leave out the Content-Id.",
    needs=("record",),
    types=("srmp_message", "srmp_receipt"),
    check=_check,
)
