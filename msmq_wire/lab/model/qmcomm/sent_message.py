"""A message out of the buffer of who sends it. [MS-MQMP] 3.1.5.2, [MS-MQDMPR] 3.1.7.1.30

The rule kept here: what the buffer says has been checked before. The packet that is stored says the same as
the properties, as far as a packet can.
"""

from __future__ import annotations

from binascii import crc32
from typing import Any

import msgspec

from msmq_wire.engines.codec import encode
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.lab.model.data.elements import (
    ModelMessage,
    ModelQueueManager,
    OpenQueueDescriptor,
    Transaction,
)
from msmq_wire.lab.model.events.queue import owner_of
from msmq_wire.rpc.constants import AuthenticatedBy
from msmq_wire.rpc.transfer_properties import MessageProperties, member_at, message_properties
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.security_header import ProviderInfo, SecurityData, SecurityHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from msmq_wire.wire.types.wchar_text import WcharText

LABEL_LIMIT = 249
"""Characters of a label, its terminator not counted. [MS-MQDMPR] 3.1.1.12"""
_NORMAL_PRIORITY = 3


def properties_to_send(
    buffer: CACTransferBufferV2,
    manager: ModelQueueManager,
    transaction: Transaction | None,
) -> MessageProperties:
    """The properties of a message that is sent, with the defaults for what is NULL in the buffer.

    Its identifier, the time and the machine are those of the server. In a transaction it is recoverable and
    has no priority. Where it goes `sent_to` says.
    """
    given = message_properties(buffer)
    label = WcharText() if given.label is None else given.label[: 2 * LABEL_LIMIT]
    defaults: dict[str, Any] = {
        "priority": _NORMAL_PRIORITY,
        "message_class": 0,
        "correlation_identifier": bytes(20),
        "delivery_guarantee": 0,
        "acknowledgements_requested": 0,
        "positive_journaling_requested": False,
        "negative_journaling_requested": False,
        "application_tag": 0,
        "tracing_requested": False,
        "sender_identifier_type": 0,
        "privacy_level": 0,
        "hash_algorithm": 0,
        "encryption_algorithm": 0,
        "body_type": 0,
        "authentication_provider_type": 0 if given.signature else None,
    }
    found = {name: value for name, value in defaults.items() if getattr(given, name) is None}
    found["label"] = WcharText(label)
    found["authentication_level"] = _authentication_level(buffer, given)
    found["identifier"] = ObjectId(lineage=manager.identifier, uniquifier=manager.new_message_id())
    found["sent_time"] = manager.current_time
    found["source_machine_identifier"] = manager.identifier
    if transaction is not None:
        number = crc32(transaction.identifier) & 0xFFFFF
        found["transaction_identifier"] = ObjectId(lineage=manager.identifier, uniquifier=number)
        found["priority"] = 0
        found["delivery_guarantee"] = 1
    sent: MessageProperties = msgspec.structs.replace(given, **found)
    return sent


def sent_to(properties: MessageProperties, descriptor: OpenQueueDescriptor) -> MessageProperties:
    """The properties of the message for one queue: an opening of several has a packet for each."""
    sent: MessageProperties = msgspec.structs.replace(
        properties, destination_queue_format_name=descriptor.format_name
    )
    return sent


def _authentication_level(buffer: CACTransferBufferV2, given: MessageProperties) -> int:
    if not given.signature:
        return AuthenticatedBy.MQMSG_AUTHENTICATION_NOT_REQUESTED
    if member_at(buffer, "old.pul_auth_prov_name_len_prop") is None:
        return AuthenticatedBy.MQMSG_AUTHENTICATED_SIG10
    return AuthenticatedBy.MQMSG_AUTHENTICATED_SIG20


def sent_message(
    properties: MessageProperties, manager: ModelQueueManager, transaction: Transaction | None
) -> ModelMessage:
    """The message that is stored for properties.

    Raises EncodeError or FormatNameError where a packet cannot hold the names of its queues.
    """
    name = properties.identifier or ObjectId()
    packet = encode(user_message_of(properties, manager))
    return ModelMessage(
        packet=packet,
        properties=properties,
        identifier=bytes(name.lineage) + name.uniquifier.to_bytes(4, "little"),
        label="" if properties.label is None else properties.label.text,
        message_class=properties.message_class or 0,
        priority=properties.priority or 0,
        recoverable=properties.delivery_guarantee == 1,
        transactional=transaction is not None,
        size=len(packet),
        sent_time=properties.sent_time or 0,
        time_to_be_received=_seconds(properties.time_to_be_received),
        acknowledgements_requested=properties.acknowledgements_requested or 0,
        transaction_identifier=b"" if transaction is None else transaction.identifier,
    )


def _seconds(value: int | None) -> int:
    return 0xFFFFFFFF if value is None else value


def user_message_of(properties: MessageProperties, manager: ModelQueueManager) -> UserMessage:
    """Construct a UserMessage Packet. [MS-MQDMPR] 3.1.7.1.30

    A SecurityHeader is there if the message is signed, a TransactionHeader if it belongs to a transaction.
    Raises as `sent_message` does.
    """
    name = properties.identifier or ObjectId()
    transaction = None
    if properties.transaction_identifier is not None:
        sequence = TxSequenceID(
            ordinal=manager.sequential_id & 0xFFFFFFFF, time_stamp=manager.current_time & 0xFFFFFFFF
        )
        bits = {
            "fm": int(bool(properties.first_in_transaction)),
            "lm": int(bool(properties.last_in_transaction)),
            "id": properties.transaction_identifier.uniquifier & 0xFFFFF,
        }
        transaction = TransactionHeader(tx_sequence_id=sequence).with_bits(**bits)
    destination = properties.destination_queue_format_name or ""
    packet = build_message(
        destination,
        properties.body or b"",
        delivery="recoverable" if properties.delivery_guarantee == 1 else "express",
        priority=_NORMAL_PRIORITY if properties.priority is None else properties.priority,
        transaction=transaction,
        source_queue_manager=manager.identifier,
        queue_manager_address=_queue_manager_of(destination, manager),
        admin_queue=properties.administration_queue_format_name,
        # An application may name an administration queue and ask for nothing; what it asks for comes below.
        acknowledge=("pa",) if properties.administration_queue_format_name else (),
        response_queue=properties.response_queue_format_name,
        connector_type=properties.connector_type_identifier,
        report_queue=_report_queue(properties, manager),
        message_id=name.uniquifier,
        correlation_id=properties.correlation_identifier or bytes(20),
        application_tag=properties.application_tag or 0,
        extension=properties.extension or b"",
        sent_time=(properties.sent_time or 0) & 0xFFFFFFFF,
        time_to_reach_queue=_seconds(properties.time_to_reach_queue),
        time_to_be_received=_seconds(properties.time_to_be_received),
    )
    return fit(_with_free_values(packet, properties))


def _queue_manager_of(destination: str, manager: ModelQueueManager) -> GUID | None:
    """QueueManagerAddress; None for a direct name. A public queue of no known owner is here."""
    if destination.upper().startswith("DIRECT="):
        return None
    owner = owner_of(manager, FormatName.parse(destination))
    return manager.identifier if owner == NULL_GUID else owner


def _report_queue(properties: MessageProperties, manager: ModelQueueManager) -> GUID | None:
    """TracingQueueIdentifier of a message that is traced, where there is one. [MS-MQDMPR] 3.1.1.12"""
    traced = properties.tracing_requested and manager.report_queue != NULL_GUID
    return manager.report_queue if traced else None


def _with_free_values(packet: UserMessage, properties: MessageProperties) -> UserMessage:
    """What applications may choose freely, also where the rules of packets know no such value."""
    header = packet.message_properties_header
    assert header is not None
    label = properties.label
    header = msgspec.structs.replace(
        header,
        message_class=(properties.message_class or 0) & 0xFFFF,
        body_type=properties.body_type or 0,
        label=WcharText(label + bytes(2)) if label else WcharText(),
        privacy_level=properties.privacy_level or 0,
        hash_algorithm=properties.hash_algorithm or 0,
        encryption_algorithm=properties.encryption_algorithm or 0,
        flags=(properties.acknowledgements_requested or 0) & 0x0F,
    )
    user = packet.user_header.with_bits(
        jp=int(bool(properties.positive_journaling_requested)),
        jn=int(bool(properties.negative_journaling_requested)),
    )
    parts: dict[str, Any] = {"message_properties_header": header, "user_header": user}
    if properties.authentication_level:
        parts["security_header"] = _security_header(properties)
    if properties.tracing_requested and packet.debug_header is None:
        # [MS-MQDMPR] 3.1.7.1.32: TR and DH are set, whether there is a report queue or not.
        parts["base_header"] = packet.base_header.with_bits(tr=1)
        parts["debug_header"] = DebugHeader()
    free: UserMessage = msgspec.structs.replace(packet, **parts)
    return free


def _security_header(properties: MessageProperties) -> SecurityHeader:
    provider = None
    if properties.authentication_provider_name is not None:
        provider = ProviderInfo(
            provider_type=properties.authentication_provider_type or 0,
            provider_name=WcharText(properties.authentication_provider_name + bytes(2)),
        )
    data = SecurityData(
        security_id=properties.sender_identifier or b"",
        encryption_key=properties.symmetric_key or b"",
        signature=properties.signature or b"",
        sender_cert=properties.sender_certificate or b"",
        provider_info=provider,
    )
    return SecurityHeader(security_data=data).with_bits(
        st=properties.sender_identifier_type or 0,
        eb=int(bool(properties.body_encrypted)),
        de=int(provider is None),
        ai=1,
    )
