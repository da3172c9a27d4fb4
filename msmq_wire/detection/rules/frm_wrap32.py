"""FRM-WRAP32: lengths whose sum does not fit 32 bits."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import FRAMED
from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = (
    "compound_message_header.http-body-size-wrap",
    "compound_message_header.message-body-wrap",
    "message_properties_header.sizes-wrap",
    "mqf_signature_header.size-wrap",
    "security_header.sizes-wrap",
    "soap_header.header-size-wrap",
    "soap_header.body-size-wrap",
    "srmp_envelope_header.data-length-wrap",
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        yield Detection(
            message=f"{anomaly.path}: {anomaly.message}",
            evidence=(place,),
        )


RULE = Rule(
    id="FRM-WRAP32",
    title="Lengths that wrap around in 32 bits",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19"), SpecRef("MS-MQRR", "2.2.5.1.2")),
    meaning="The end of a part is the sum of lengths in the packet. Here the sum is 2^32 or more. A "
    "receiver that adds in 32 bits gets a smaller number, which may lie inside the packet and seem valid.",
    action="Find out what the sender is; check that the receiver has its updates.",
    harmless="Random bytes, as fuzzers send them.",
    behind=("LEN-ENV", "LEN-SOAP", "LEN-CMP", "LEN-BODY", "LEN-SEC", "LEN-MQF"),
    prefers=FRAMED,
    codes=_CODES,
    check=_check,
)
