"""CNT-NACK: a negative acknowledgment says that a message did not arrive or was not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.sessions import NACK_REASONS, UNLISTED_REASONS
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this, within
from msmq_wire.wire.types.guid import GUID

_NEGATIVE, _AFTER_ARRIVAL = 0x8000, 0x4000
_PROPERTIES = "message_properties_header"
_SRMP = "envelope.header.msmq"
_OFF = (
    "modern hosts do not send classes 0x8000, 0x8004, 0x8006, 0x8007 and 0x800B by default: "
    "a message can be refused without an acknowledgment",
)


def _check(record: Record, context: Context) -> Iterable[Detection]:
    srmp = record.type == "srmp_message"
    part = reached(record.packet, _SRMP if srmp else _PROPERTIES)
    value = reached(part, "class_" if srmp else "message_class")
    # The text of an element that is no number is kept as text.
    if not isinstance(value, int) or not _NEGATIVE <= value <= 0xFFFF:
        return ()
    original = _original(record, reached(part, "correlation" if srmp else "correlation_id"))
    reason = NACK_REASONS.get(value) or UNLISTED_REASONS.get(value, "its reason is not published")
    state = "arrived and was not read" if value & _AFTER_ARRIVAL else "did not arrive"
    if srmp:
        places: tuple[Any, ...] = (evidence_of(record, f"{_SRMP}.class"),)
    else:
        # What was not read to its end may lack the identifier.
        fields = ("message_class", "correlation_id")
        paths = [f"{_PROPERTIES}.{name}" for name in fields if reached(part, name) is not None]
        places = tuple(place_of(record, path) for path in paths)
    text = f"class {value:#06x}: {original} {state}: {reason}"
    return (Detection(message=text, evidence=places, caveats=_OFF),)


def _original(record: Record, identifier: object) -> str:
    body = reached(record.packet, "final_ack_body")
    if body is not None:
        return f"message {body.source_guid}\\{body.message_id}"
    if isinstance(identifier, bytes) and len(identifier) == 20 and any(identifier):
        return f"message {GUID(identifier[:16])}\\{int.from_bytes(identifier[16:], 'little')}"
    return "a message"


RULE = Rule(
    id="CNT-NACK",
    title="A negative acknowledgment",
    severity="info",
    spec=(SpecRef("MS-MQMQ", "2.2.18.1.6"), SpecRef("MS-MQQB", "2.2.5")),
    meaning="A queue manager tells the sender that a message did not reach its queue, or that nobody read "
    "it there. The class of this report says why. Its correlation identifier says which message.",
    action="Look for the message by its identifier, and in the dead-letter queue of its sender; fix what "
    "the reason names.",
    harmless="Short time limits and queues that are purged on purpose cause such acknowledgments.",
    types=("user_message", "final_ack", "message_packet", "srmp_message"),
    when=(within(this.message_properties_header.message_class, _NEGATIVE, 0xFFFF),),
    check=_check,
)
