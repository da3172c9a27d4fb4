"""The acknowledgments that a queue manager sends as messages of their own. [MS-MQQB] 3.1.7.15, 3.1.7.17

The rule kept here: they are made of the packet that they acknowledge, and number and time are given to them
when they are sent. None stands for one that no packet can hold, as when the names in the packet are no names.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from msmq_wire.engines.codec import encode
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import EncodeError, FormatNameError
from msmq_wire.lab.model.data.stored_message import message_name
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.names import FormatName, private
from msmq_wire.wire.packets.acknowledgment import ACK_LABEL, ORDER_QUEUE_NUMBER
from msmq_wire.wire.packets.user_message import MessageHeaders, UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

_BODY_SIZE = 36
_EB = 0x20

INSECURE_NACKS = frozenset(
    {
        MessageClass.MQMSG_CLASS_NACK_BAD_DST_Q,
        MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION,
        MessageClass.MQMSG_CLASS_NACK_BAD_SIGNATURE,
        MessageClass.MQMSG_CLASS_NACK_ACCESS_DENIED,
        MessageClass.MQMSG_CLASS_NACK_UNSUPPORTED_CRYPTO_PROVIDER,
    }
)
"""Classes of administration acknowledgments that are sent with SendInsecureNacks only."""

# The text leaves out what tells nothing of a body that its sender still has.
_WITHOUT_BODY = frozenset({MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE, MessageClass.MQMSG_CLASS_ACK_RECEIVE})


def order_queue(queue_manager: GUID, address: str, *, direct: bool) -> str:
    """The format name of the order queue of a queue manager; ``direct`` is DirectFormatSession.

    [MS-MQQB] 3.1.7.17. ``address`` is an IPv4 or IPv6 address; where it is none, the other form is taken.
    """
    direct_name = f"DIRECT=TCP:{address}\\PRIVATE$\\order_queue$"
    return (
        direct_name if direct and _is_name(direct_name) else private(str(queue_manager), ORDER_QUEUE_NUMBER)
    )


def _is_name(text: str) -> bool:
    try:
        FormatName.parse(text)
    except FormatNameError:
        return False
    return True


@lru_cache(maxsize=256)
def _order_queue_message(queue: str, source: GUID, delivery: str) -> UserMessage | None:
    try:
        return build_message(
            queue,
            bytes(_BODY_SIZE),
            label=ACK_LABEL,
            delivery="recoverable" if delivery == "recoverable" else "express",
            priority=0,
            source_queue_manager=source,
            message_class=MessageClass.MQMSG_CLASS_ORDER_ACK,
            # [MS-MQMQ] 2.2.19.1, where 3.1.7.17 leaves it to the default of a message.
            time_to_reach_queue=INFINITE,
        )
    except (EncodeError, FormatNameError):
        return None


def _to_order_queue(
    queue: str, source: GUID, delivery: str, message_class: int, body: WireStruct
) -> UserMessage | None:
    packet = _order_queue_message(queue, source, delivery)
    if packet is None or packet.message_properties_header is None:
        return None
    properties = msgspec.structs.replace(
        packet.message_properties_header, message_class=message_class, message_body=encode(body)
    )
    return msgspec.structs.replace(packet, message_properties_header=properties)


def order_ack(queue: str, source: GUID, sequence: TxSequenceID, number: int) -> UserMessage | None:
    """An OrderAck packet: everything up to ``number`` was received; ``queue`` is an `order_queue`.

    [MS-MQQB] 2.2.4, which wants express delivery where 3.1.7.17 builds it as recoverable; and the sequence
    of what was received, where 3.1.7.17 names that of what is sent.
    """
    body = OrderAckBody(
        tx_sequence_id=sequence, tx_sequence_number=number, tx_previous_sequence_number=number - 1
    )
    return _to_order_queue(queue, source, "express", MessageClass.MQMSG_CLASS_ORDER_ACK, body)


def final_ack(
    queue: str, source: GUID, packet: MessageHeaders, transaction: TransactionHeader, message_class: int
) -> UserMessage | None:
    """A FinalAck packet: what became of a transactional message. [MS-MQQB] 2.2.5, 3.1.7.17"""
    body = FinalAckBody(
        tx_sequence_id=transaction.tx_sequence_id,
        tx_sequence_number=transaction.tx_sequence_number,
        tx_previous_sequence_number=transaction.previous_tx_sequence_number,
        source_guid=packet.user_header.source_queue_manager,
        message_id=packet.user_header.message_id,
    )
    return _to_order_queue(queue, source, "recoverable", message_class, body)


def administration_ack(source: GUID, packet: MessageHeaders, message_class: int) -> UserMessage | None:
    """The message to the administration queue of a packet; None where it names none. [MS-MQQB] 3.1.7.15"""
    user, properties = packet.user_header, packet.message_properties_header
    queue = user.format_name("admin_queue")
    if queue is None or properties is None:
        return None
    security = packet.security_header
    encrypted = security is not None and bool(security.flags & _EB)
    body = b"" if message_class in _WITHOUT_BODY or encrypted else properties.message_body
    try:
        return build_message(
            queue,
            body,
            delivery="recoverable" if user.bit("dm") else "express",
            source_queue_manager=source,
            queue_manager_address=None if queue.startswith("DIRECT=") else user.source_queue_manager,
            response_queue=user.format_name("destination_queue"),
            message_class=message_class,
            correlation_id=message_name(packet),
        )
    except (EncodeError, FormatNameError):
        return None
