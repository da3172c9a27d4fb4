"""CNT-CERT: the certificate of a signed message cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this

_CERTIFICATE = "security_header.security_data.sender_cert"
_SEQUENCE = 0x30
"""The first byte of every X.509 certificate in DER."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    data = reached(record.packet, _CERTIFICATE)
    if isinstance(data, bytes) and data and data[0] != _SEQUENCE:
        yield Detection(
            message=f"the certificate of {len(data)} bytes is not X.509 in DER: it begins with "
            f"{data[:4].hex(' ')}",
            evidence=(place_of(record, _CERTIFICATE),),
        )


RULE = Rule(
    id="CNT-CERT",
    title="A certificate that cannot be read",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"),),
    meaning="The certificate that comes with a signature says whose key signed the message. This one is no "
    "certificate: nobody can verify the signature, and a receiver refuses the message.",
    action="Look for a negative acknowledgment of class 0x8006 (bad signature); find out what made the "
    "message.",
    harmless="A test, or a program with its own implementation of the protocol.",
    needs=("record",),
    types=("user_message", "message_packet"),
    when=(this.security_header.sender_cert_size != 0,),
    check=_check,
)
