"""CNT-SIGN: the signature, certificate and key of a message do not match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this

_NO_KEY = ("security_header.encryption-key",)
_HEADER = "security_header"


def _check(record: Record, context: Context) -> Iterable[Detection]:
    header = reached(record.packet, _HEADER)
    certificate = reached(header, "sender_cert_size")
    # Where the packet could not be read to its end, a signature may stand behind what was read.
    if certificate is None or record.error is not None:
        return ()
    found = dict(_lacking(record, header, certificate))
    return (Detection(message="; ".join(found), evidence=tuple(found.values())),) if found else ()


def _lacking(record: Record, header: object, certificate: int) -> Iterator[tuple[str, Evidence]]:
    # In a message for many queues the signature is in MultiQueueFormatHeader, the certificate stays here.
    elsewhere = reached(record.packet, "multi_queue_format_header.signature.size") or 0
    signature = reached(header, "signature_size") or 0
    if certificate and not signature and not elsewhere:
        reported = f"a certificate of {certificate} bytes and no signature"
        yield reported, place_of(record, f"{_HEADER}.sender_cert_size")
    if not certificate and signature and not reached(header, "encryption_key_size"):
        reported = f"a signature of {signature} bytes and neither certificate nor key"
        yield reported, place_of(record, f"{_HEADER}.signature_size")
    if not certificate and elsewhere:
        reported = f"a signature of {elsewhere} bytes for many queues and no certificate"
        yield reported, place_of(record, "multi_queue_format_header.signature.size")
    for _, place in broken(record, _NO_KEY):
        yield "EB says that the body is encrypted, but there is no key", place


RULE = Rule(
    id="CNT-SIGN",
    title="A signature without certificate, or a certificate without signature",
    severity="low",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"), SpecRef("MS-MQQB", "3.1.5.8.3")),
    meaning="A receiver verifies a signature with the certificate in the same message, and decrypts a body "
    "with the key in the same message. One without the other does not prove who sent the message, and a "
    "receiver may refuse it.",
    action="Do not rely on the sender that the packet names; check whether the receiving queue requires "
    "signed or encrypted messages.",
    harmless="An application that attaches its certificate to every message. The signature of a message for "
    "many queues is in MultiQueueFormatHeader, which this rule looks at, too.",
    types=("user_message", "message_packet"),
    when=(
        (this.security_header.sender_cert_size != 0) & (this.security_header.signature_size == 0),
        (this.security_header.sender_cert_size == 0)
        & (this.security_header.signature_size != 0)
        & (this.security_header.encryption_key_size == 0),
        (this.security_header.sender_cert_size == 0) & (this.multi_queue_format_header.signature.size != 0),
    ),
    check=_check,
)
