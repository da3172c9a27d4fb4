"""BOD-HEADERS: headers of a messaging library that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.message_bodies import BODY_TYPES, body_of, place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.bodies.conventions import damaged_headers
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this

_SHOWN = 64
_LOOKED_AT = 1 << 16


def _check(record: Record, context: Context) -> Iterator[Detection]:
    body = body_of(record)
    if body is None or body.encrypted or not body.whole:
        return
    extension = reached(record.packet, "message_properties_header.extension_data")
    text = body.data[:_LOOKED_AT].decode("utf-8", "replace") if body.data[:1] == b"{" else ""
    reported = damaged_headers(extension if isinstance(extension, bytes) else b"", text)
    if reported:
        yield Detection(message=reported, evidence=(place_of(record, body, _SHOWN),))


RULE = Rule(
    id="BOD-HEADERS",
    title="Headers of a messaging library that cannot be read",
    severity="low",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"),),
    meaning="NServiceBus, Rebus and MassTransit put headers next to a body or around it. A receiver that "
    "cannot read them does not know what the message is. It moves the message to an error queue, or reads "
    "it again and again.",
    action="Look at the place that the finding names, and at the version of the library at the sender.",
    harmless="Another program that writes similar headers.",
    types=BODY_TYPES,
    when=(
        this.message_properties_header.extension_size != 0,
        CodedCondition.of(b"{".__eq__, IN_PACKET, head=1),
    ),
    check=_check,
)
