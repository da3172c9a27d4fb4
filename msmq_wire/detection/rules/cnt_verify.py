"""CNT-VERIFY: the signature of a message does not match the signed fields."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.signed_messages import IS_ASKED, IS_ASKED_OF_MANY, asked_check
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_SIGNATURE = "security_header.security_data.signature"
_OF_MANY = "multi_queue_format_header.signature.signature"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    check = asked_check(record)
    if check is None or check.verdict != "not verified":
        return
    path = _SIGNATURE if reached(record.packet, _SIGNATURE) else _OF_MANY
    yield Detection(message=f"the signature is not verified: {check.why}", evidence=(place_of(record, path),))


RULE = Rule(
    id="CNT-VERIFY",
    title="A signature that does not match its message",
    severity="medium",
    confidence="guess",
    layer="application",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.3"), SpecRef("MS-MQMQ", "2.5")),
    meaning="The key of the certificate in the message did not sign this message as it was captured. A "
    "signed field was changed on the way, or the signature or certificate belongs to another message. A "
    "receiver refuses the message with MQMSG_CLASS_NACK_BAD_SIGNATURE.",
    action="Compare the message with the copy of its sender, and look for the acknowledgment; verify "
    "another message of the same sender.",
    harmless="A sender that computes signatures in a way that is not known here: then none of its messages "
    "verifies. Only --verify checks this.",
    types=("user_message", "message_packet"),
    when=((IS_ASKED,), (IS_ASKED_OF_MANY,)),
    check=_check,
    without_suricata="it computes a signature, or reads a certificate",
)
