"""CNT-EXPIRED: a message is signed with a certificate that was not valid when it was sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.signed_messages import IS_ASKED, IS_ASKED_OF_MANY, asked_check
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.partial import reached_number

_CERTIFICATE = "security_header.security_data.sender_cert"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    check = asked_check(record)
    sent = reached_number(record.packet, "user_header.sent_time")
    if check is None or check.certificate is None or not sent or check.certificate.valid_at(sent):
        return
    expired = sent > check.certificate.not_after
    limit = check.certificate.not_after if expired else check.certificate.not_before
    said = "was valid until" if expired else "is valid from"
    yield Detection(
        message=f"the certificate {said} {_day(limit)}, the message was sent on {_day(sent)}",
        evidence=(place_of(record, _CERTIFICATE),),
    )


def _day(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"


RULE = Rule(
    id="CNT-EXPIRED",
    title="A certificate that is not valid",
    severity="low",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"),),
    meaning="SentTime is outside the period in which the certificate of the signer is valid. By the "
    "specification receivers compare a certificate with the directory, and do not look at its dates.",
    action="Renew the certificate. Ask whether the one in the directory should still be there.",
    harmless="A sender whose clock is wrong: SentTime comes from that clock. Only --verify checks this.",
    standing=True,
    types=("user_message", "message_packet"),
    when=((IS_ASKED,), (IS_ASKED_OF_MANY,)),
    check=_check,
    without_suricata="it computes a signature, or reads a certificate",
)
