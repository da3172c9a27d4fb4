"""SRM-CUT: the connection ends inside a message over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = ("http.cut",)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        yield Detection(
            message=f"the connection ends after {record.length:,} bytes of a message: {anomaly.message}",
            evidence=(place,),
        )
        return


RULE = Rule(
    id="SRM-CUT",
    title="The connection ends inside a message over HTTP",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MC-MQSRM", "2.1"),),
    meaning="The HTTP header announces more bytes than came, or the last chunk is missing. A receiver "
    "refuses such a message or waits for the rest. The message as shown here may not be complete.",
    action="Find out who closed the connection, and whether the message was sent again.",
    harmless="A time-out, a proxy that gave up, or a sender that was stopped while it was sending.",
    explains=("SRM-PART", "SRM-XML"),
    types=("srmp_message", "srmp_receipt"),
    codes=_CODES,
    needs=("around", "end"),
    check=_check,
    without_suricata="it is about bytes that never came",
)
