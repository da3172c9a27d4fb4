"""SRM-BODYELEM: the SOAP body has content."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.rule import Context, Rule, Seen, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = ("body.not-empty",)


def _check(record: Record, context: Context) -> Iterator[Seen]:
    for _, place in broken(record, _CODES):
        yield Seen(message="the Body element of the envelope is not empty", evidence=(place,))


RULE = Rule(
    id="SRM-BODYELEM",
    title="The SOAP body has content",
    severity="info",
    confidence="likely",
    spec=(SpecRef("MC-MQSRM", "2.2.2"),),
    meaning="The body of a message is a part of its own, and by the specification the Body element is "
    "empty. A receiver ignores its content, so nobody may have looked at it.",
    action="Look at the content.",
    harmless="Applications put elements there through PROPID_M_SOAP_BODY, and queue managers send them. "
    "Senders that take SRMP for ordinary SOAP.",
    types=("srmp_message", "srmp_receipt"),
    codes=_CODES,
    check=_check,
)
