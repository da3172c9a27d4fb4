"""What an application knows of a message that it sent, or got, as a recording tells it.

The rule kept here: what is told comes from what the application asked for and from what its calls returned,
never from what passed on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.lab.model.data.stored_message import properties_of
from msmq_wire.lab.model.remote_read.client_values import ReceiveResult
from msmq_wire.lab.recordings.recording import RecordedMessage
from msmq_wire.lab.recordings.scenario import Acknowledge, Step
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.types.guid import NULL_GUID

_ACKNOWLEDGE: Mapping[Acknowledge, int] = {
    "reach-queue": 1,
    "receive": 2,
    "nack-reach-queue": 4,
    "nack-receive": 8,
}
"""MQMSG_ACKNOWLEDGMENT_POS_ARRIVAL and so on, which are the bits of a packet, too."""


def moment_text(seconds: int, microseconds: int | None = None) -> str:
    """A time since 1970 as RFC 3339, in UTC."""
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None, microsecond=microseconds or 0)
    return moment.isoformat(timespec="seconds" if microseconds is None else "microseconds") + "Z"


def body_of(step: Step) -> bytes:
    """The body that a step sends, its text in UTF-8."""
    return step.body.encode() * step.repeat


def labels_of(step: Step) -> list[str]:
    """The labels of the messages that a step sends."""
    if step.count == 1:
        return [step.label]
    return [f"{step.label} {number}" for number in range(1, step.count + 1)]


def acknowledge_of(step: Step) -> int:
    """PROPID_M_ACKNOWLEDGE of what a step sends."""
    return sum(_ACKNOWLEDGE[one] for one in set(step.acknowledge))


def sent_message(
    step: Step, label: str, identifier: str | None, *, admin_queue: str | None, response_queue: str | None
) -> RecordedMessage:
    """A message that was sent with an identifier; queues by their format names."""
    body, extension = body_of(step), step.extension.encode()
    return RecordedMessage(
        message_id=identifier,
        label=label,
        body_type=0,
        body_size=len(body),
        body_sha256=sha256(body).hexdigest(),
        extension_size=len(extension),
        extension_sha256=sha256(extension).hexdigest() if extension else None,
        # In a transaction it is what the queue manager says.
        priority=None if step.delivery == "transactional" else step.priority,
        delivery=step.delivery,
        acknowledge=acknowledge_of(step),
        app_specific=step.app_specific,
        correlation_id=step.correlation_id or None,
        admin_queue=admin_queue,
        response_queue=response_queue,
        time_to_reach_queue=step.time_to_reach_queue,
        time_to_be_received=step.time_to_be_received,
        journal=step.journal,
        dead_letter=step.dead_letter,
        authenticated=False,
        encrypted=False,
    )


def _packet_of(received: ReceiveResult) -> MessagePacket | None:
    if received.packet is None:
        return None
    packet = inspect(received.packet, as_="message_packet", missing=received.missing).packet
    return packet if isinstance(packet, MessagePacket) else None


def properties_received(received: ReceiveResult) -> MessageProperties | None:
    """What a queue manager that read a message remotely gives to its application."""
    packet = _packet_of(received)
    if packet is None:
        return None
    properties = properties_of(packet)
    return msgspec.structs.replace(
        properties,
        arrival_time=received.arrive_time,
        # That of a message which came over HTTP is a part of the request.
        body=None if packet.srmp_envelope_header is not None else properties.body,
    )


def lookup_id_of(received: ReceiveResult) -> int:
    """The lookup identifier: its highest byte is not on the wire, and follows from the priority.

    [MS-MQRR] 3.1.4.7
    """
    packet = _packet_of(received)
    high = 0
    if packet is not None and packet.transaction_header is not None:
        high = 7 - packet.base_header.bit("pr")
    return high << 56 | received.sequence_id


def received_message(properties: MessageProperties, lookup_id: int | None = None) -> RecordedMessage:
    """A message as an application got it."""
    body, extension = properties.body, properties.extension or b""
    level, correlation = properties.authentication_level, properties.correlation_identifier
    return RecordedMessage(
        message_id=_name(properties.identifier),
        lookup_id=lookup_id,
        label="" if properties.label is None else properties.label.text,
        message_class=properties.message_class or 0,
        body_type=properties.body_type,
        body_size=None if body is None else len(body),
        body_sha256=None if body is None else sha256(body).hexdigest(),
        extension_size=len(extension),
        extension_sha256=sha256(extension).hexdigest() if extension else None,
        priority=properties.priority,
        delivery=_delivery(properties),
        acknowledge=properties.acknowledgements_requested,
        app_specific=properties.application_tag,
        correlation_id=None if correlation is None else bytes(correlation).hex(),
        admin_queue=properties.administration_queue_format_name,
        response_queue=properties.response_queue_format_name,
        journal=properties.positive_journaling_requested,
        dead_letter=properties.negative_journaling_requested,
        authenticated=None if level is None else level != 0,
        encrypted=properties.body_encrypted,
        sent_time=_moment(properties.sent_time),
        arrived_time=_moment(properties.arrival_time),
    )


def _name(identifier: ObjectId | None) -> str | None:
    return None if identifier is None else f"{identifier.lineage}\\{identifier.uniquifier}"


def _delivery(properties: MessageProperties) -> Literal["express", "recoverable", "transactional"] | None:
    transaction = properties.transaction_identifier
    if transaction is not None and transaction.lineage != NULL_GUID:
        return "transactional"
    if properties.delivery_guarantee is None:
        return None
    return "recoverable" if properties.delivery_guarantee else "express"


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else moment_text(seconds)
