"""CNT-TRUST: a message is signed with a certificate that no trusted certificate issued."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.signed_messages import IS_ASKED, IS_ASKED_OF_MANY, asked_check
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CERTIFICATE = "security_header.security_data.sender_cert"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    check = asked_check(record)
    if check is None or check.certificate is None or check.trusted_by is None or check.trusted_by:
        return
    yield Detection(
        message="no certificate given with --trust is that of the signer, or issued it",
        evidence=(place_of(record, _CERTIFICATE),),
    )


RULE = Rule(
    id="CNT-TRUST",
    title="A certificate that is not trusted",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.3"), SpecRef("MS-MQMQ", "2.2.20.6")),
    meaning="The certificate that came with the signature is not among those given with --trust, and none "
    "of those issued it. Anybody could have made it.",
    action="Ask whose certificate it is. A receiver accepts it if the directory lists it for the sender.",
    harmless="Queue managers and users make their own certificates, without an authority. Active Directory "
    "lists them. Only --trust checks this.",
    standing=True,
    types=("user_message", "message_packet"),
    when=((IS_ASKED,), (IS_ASKED_OF_MANY,)),
    check=_check,
    without_suricata="it computes a signature, or reads a certificate",
)
