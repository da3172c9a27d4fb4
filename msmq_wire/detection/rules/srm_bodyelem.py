"""SRM-BODYELEM: the SOAP body has content."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = ("body.not-empty",)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for _, place in broken(record, _CODES):
        yield Detection(message="the Body element of the envelope is not empty", evidence=(place,))


RULE = Rule(
    id="SRM-BODYELEM",
    title="The SOAP body has content",
    severity="info",
    confidence="likely",
    spec=(SpecRef("MC-MQSRM", "2.2.2"),),
    meaning="The body of a message is a separate MIME part. By the specification the Body element of the "
    "SOAP envelope is empty. A receiver ignores content in it, so the content may be unchecked.",
    action="Look at the content.",
    harmless="An application that sets PROPID_M_SOAP_BODY: queue managers send these elements. A sender "
    "that treats SRMP as ordinary SOAP.",
    types=("srmp_message", "srmp_receipt"),
    codes=_CODES,
    check=_check,
)
