"""BOD-NOTIFY: a change notification of a directory server that a queue manager must disregard."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.message_bodies import OPENED, body_of, caveats_of, place_of
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.bodies.change_notification import change_notification_body
from msmq_wire.records.message_body import IN_PACKET
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.partial import reached, reached_number
from msmq_wire.wire.types.enumerations import SenderIdType

_ST = 0x0F


def _check(record: Record, context: Context) -> Iterator[Detection]:
    body = body_of(record)
    # Where the packet could not be read to its end, a signature may stand behind what was read.
    if body is None or record.error is not None or body.data[:1] != b"\1":
        return
    found = change_notification_body(body.data)
    if found is None:
        return
    header = reached(record.packet, "security_header")
    lacking = []
    if (reached_number(header, "flags") or 0) & _ST != SenderIdType.QUEUE_MANAGER_GUID:
        lacking.append("names no queue manager as its sender")
    several = reached_number(record.packet, "multi_queue_format_header.signature.size")
    if not (reached_number(header, "signature_size") or several):
        lacking.append("is not signed")
    if lacking:
        message = f"{found.title}, as a directory server says it; but the message {' and '.join(lacking)}"
        yield Detection(message=message, evidence=(place_of(record, body, 2),), caveats=caveats_of(body))


RULE = Rule(
    id="BOD-NOTIFY",
    title="A change notification without proof of its sender",
    severity="medium",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQCN", "3.2.5.1"),),
    meaning="The body tells a queue manager to create, change or delete its queues, as a directory server "
    "does. A receiver must ignore it unless it has the identifier of a queue manager and a signature. A "
    "receiver that does not check this lets anybody change its queues.",
    action="Find out who sent it, and whether the queue that it names changed on the receiver afterwards.",
    harmless="A test of a queue manager. A notification of version 2 carries no data and needs no signature.",
    types=("user_message",),
    when=(
        OPENED,
        (CodedCondition.of(b"\1".__eq__, IN_PACKET, head=1),),
    ),
    check=_check,
)
