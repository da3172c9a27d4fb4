"""FRM-PAD-DIRTY: padding that is not zero."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.packet_fields import USER_PACKETS, field
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.engines.field_offsets import span
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.stream import counted

_PADDINGS = (
    "message_properties_header.padding",
    "user_header.destination_queue.padding",
    "user_header.admin_queue.padding",
    "user_header.response_queue.padding",
)
_OF_SECURITY = tuple(
    f"security_header.security_data.{name}_padding"
    for name in ("security_id", "encryption_key", "signature", "sender_cert", "provider_info")
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if record.error is not None:
        return
    paths = _PADDINGS if record.packet.security_header is None else (*_PADDINGS, *_OF_SECURITY)
    dirty = [(path, data) for path in paths if any(data := field(record, path) or b"")]
    if dirty:
        yield Detection(
            message=f"{counted(sum(len(data) for _, data in dirty))} of padding, not all zero",
            evidence=tuple(
                evidence_of(record, path, *span(record.packet, path), data) for path, data in dirty
            ),
        )


RULE = Rule(
    id="FRM-PAD-DIRTY",
    title="Padding that is not zero",
    severity="info",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"), SpecRef("MS-MQMQ", "2.2.18.1.5.2")),
    meaning="Padding may hold any bytes. What is in it was in the memory of the sender before.",
    action="Nothing to do. The bytes can help to tell senders apart, or show that memory leaks out.",
    harmless="Normal on Windows.",
    types=USER_PACKETS,
    when=tuple(CodedCondition.of(any, path) for path in (*_PADDINGS, *_OF_SECURITY)),
    check=_check,
)
