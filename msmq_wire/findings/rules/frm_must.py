"""FRM-MUST: a field breaks a rule of its structure that no other rule says more of."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.packet_fields import PACKETS
from msmq_wire.findings.rule import Context, Rule, Seen, broken, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

_HARMLESS = (
    "dead_letter_header.padding",
    "extension_header.extended-address",
    "extension_header.subqueue",
    "final_ack.admin-queue-unasked",
    "message_packet.admin-queue-unasked",
    "message_packet.trailers-outside",
    "order_ack.admin-queue-unasked",
    "subqueue_header.subqueue-name-filled",
    "subqueue_header.target-subqueue-name-filled",
    "user_message.admin-queue-unasked",
)
"""What ordinary senders and old servers do."""
_CODES = (
    "address_overlay.address-length",
    "address_overlay.address-scope",
    "address_overlay.address-type",
    "connection_parameters.internal",
    "connection_parameters.packet-type",
    "connection_parameters.session-header",
    "connection_parameters.time-to-reach-queue",
    "connection_parameters_header.reserved",
    "debug_header.queue-type",
    "establish_connection.internal",
    "establish_connection.packet-type",
    "establish_connection.session-header",
    "establish_connection.time-to-reach-queue",
    "establish_connection_header.reserved",
    "extended_address_header.address-length",
    "extended_address_header.address-scope",
    "extended_address_header.address-type",
    "final_ack.base-flags",
    "final_ack.body-type",
    "final_ack.delivery-mode",
    "final_ack.destination-type",
    "final_ack.label",
    "final_ack.message-class",
    "final_ack.message-size",
    "final_ack.not-internal",
    "final_ack.order-queue",
    "final_ack.other-flags",
    "final_ack.property-flags",
    "final_ack.time-to-reach-queue",
    "final_ack_body.tx-previous-sequence-number",
    "final_ack_body.tx-sequence-number",
    "internal_header.connection-state",
    "internal_header.packet-type",
    "internal_header.reserved",
    "message_packet.not-internal",
    "mqf_signature_header.id",
    "order_ack.base-flags",
    "order_ack.body-type",
    "order_ack.destination-type",
    "order_ack.label",
    "order_ack.message-class",
    "order_ack.message-size",
    "order_ack.not-internal",
    "order_ack.order-queue",
    "order_ack.other-flags",
    "order_ack.property-flags",
    "order_ack.time-to-reach-queue",
    "order_ack_body.tx-previous-sequence-number",
    "order_ack_body.tx-sequence-number",
    "provider_info.provider-name-terminated",
    "security_header.provider-missing",
    "security_header.provider-unasked",
    "security_header.sender-id-absent",
    "security_header.sender-id-present",
    "security_header.sender-id-type",
    "session_ack.internal",
    "session_ack.packet-type",
    "session_ack.session-header",
    "session_ack.time-to-reach-queue",
    "session_header.window-size",
    "sid.revision",
    "sid.sub-authority-count",
    "soap_header.body-section-id",
    "soap_header.body-terminated",
    "soap_header.header-section-id",
    "soap_header.header-terminated",
    "srmp_envelope_header.data-terminated",
    "subqueue_header.tm",
    "transaction_header.previous-tx-sequence-number",
    "transaction_header.tx-sequence-number",
    "transaction_header.tx-sequence-order",
    "user_header.response-queue-host",
    "user_message.not-internal",
)
_ERRORS = ("missing-bytes", "negative-length", "unknown-selector")


def _check(record: Record, context: Context) -> Iterator[Seen]:
    for codes, note in ((_CODES, False), (_HARMLESS, True)):
        found = dict.fromkeys(f"{anomaly.path}: {anomaly.message}" for anomaly, _ in broken(record, codes))
        if found:
            places = tuple(place for _, place in broken(record, codes))
            yield Seen(message="; ".join(found), evidence=places, severity="info" if note else None)
    error = record.error
    # Bytes that end too early in a packet that was sent are FRM-TRUNC.
    if error is None or error.code not in _ERRORS:
        return
    if error.code != "missing-bytes" or record.type == "message_packet":
        place = evidence_of(record, error.path, error.offset)
        yield Seen(message=f"{error.path}: {error.message}", evidence=(place,), severity="medium")


RULE = Rule(
    id="FRM-MUST",
    title="A field breaks a rule of its structure",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.19"), SpecRef("MS-MQMQ", "2.2.20"), SpecRef("MS-MQRR", "2.2.5")),
    meaning="The document says what this field must hold, and it holds something else; or the packet cannot "
    "be read to its end because of it. No rule of its own says what it may be good for.",
    action="Look up the anomaly code for the section. A queue manager that keeps the documents never sends "
    "this: look at what the sender is.",
    harmless="A program that builds packets by hand. Some of these are common, and then a note only.",
    behind=(
        "FLG-QTYPE",
        "LEN-BODY",
        "LEN-CMP",
        "LEN-DIRECT",
        "LEN-ENV",
        "LEN-EXT",
        "LEN-LABEL",
        "LEN-MQF",
        "LEN-SEC",
        "LEN-SOAP",
    ),
    types=PACKETS,
    codes=(*_CODES, *_HARMLESS, *_ERRORS),
    check=_check,
)
