"""SRM-BODYELEM: the SOAP body has content."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.rule import Context, Rule, Seen, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

_CODES = ("body.not-empty",)


def _check(record: Record, context: Context) -> Iterator[Seen]:
    for _, place in broken(record, _CODES):
        yield Seen(message="the Body element of the envelope is not empty, as it must be", evidence=(place,))


RULE = Rule(
    id="SRM-BODYELEM",
    title="The SOAP body has content",
    severity="low",
    spec=(SpecRef("MC-MQSRM", "2.2.2"),),
    meaning="The body of a message is a part of its own; the Body element must be empty. A receiver ignores "
    "what is in it, so nobody may have looked at it.",
    action="Look at the content.",
    harmless="Senders that take SRMP for ordinary SOAP.",
    types=("srmp_message", "srmp_receipt"),
    codes=_CODES,
    check=_check,
)
