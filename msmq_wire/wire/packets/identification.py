"""Which packet some bytes are, [MS-MQQB] 3.1.5.1.1."""

from typing import Any

from msmq_wire.errors import DecodeError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.packets.acknowledgment import begins_ack_label, is_ack_label, is_order_queue
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.ping import PING_SIGNATURE, Ping
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.partial import reached, reached_at
from msmq_wire.wire.types.enumerations import InternalPacketType, MessageClass

_SPEC = SpecRef("MS-MQQB", "3.1.5.1.1")
_BASE_SIGNATURE = SIGNATURE.to_bytes(4, "little")
_PING_SIGNATURE = PING_SIGNATURE.to_bytes(2, "little")
_ORDER_ACK = int(MessageClass.MQMSG_CLASS_ORDER_ACK)
_FINAL_ACK = 0x4000
"""Message classes from here on are those of final acknowledgments."""
_INTERNAL: dict[int, type[WireStruct]] = {
    InternalPacketType.SESSION_ACK: SessionAck,
    InternalPacketType.ESTABLISH_CONNECTION: EstablishConnection,
    InternalPacketType.CONNECTION_PARAMETERS: ConnectionParameters,
}


def recognise(data: bytes) -> type[WireStruct]:
    """The packet class of some bytes; acknowledgments count as UserMessage until they are decoded.

    Raises DecodeError: ``missing-bytes`` when there are too few to tell, ``signature`` when no packet
    starts here, ``packet-type`` for an internal packet of unknown type.
    """
    if data[4:8] != _BASE_SIGNATURE:
        if data[2:4] == _PING_SIGNATURE:
            return Ping
        if len(data) < 8:
            raise DecodeError(
                "missing-bytes",
                f"{len(data)} bytes are too few for a packet",
                path="base_header.signature",
                offset=min(4, len(data)),
                spec=SpecRef("MS-MQMQ", "2.2.19.1"),
            )
        raise DecodeError(
            "signature",
            f"no packet starts here: signature {data[4:8].hex(' ')}",
            path="base_header.signature",
            offset=4,
            spec=SpecRef("MS-MQQB", "3.1.5.1.2"),
        )
    if not data[2] & 0x08:
        return UserMessage
    if len(data) < 20:
        raise DecodeError(
            "missing-bytes",
            f"{len(data)} bytes are too few to tell which internal packet this is",
            path="internal_header.flags",
            offset=min(18, len(data)),
            spec=_SPEC,
        )
    packet_type = data[18] & 0xF
    if packet_type not in _INTERNAL:
        raise DecodeError(
            "packet-type",
            f"internal packet of unknown type {packet_type}",
            path="internal_header.flags",
            offset=18,
            spec=_SPEC,
        )
    return _INTERNAL[packet_type]


def cut_acknowledgment_type(packet: Any) -> type[OrderAck] | type[FinalAck] | None:
    """Which acknowledgment a user packet is by what is there of it; None for a user message, and for neither.

    It goes to the order queue with priority 0. Where its MessageClass is not there, it counts as an OrderAck.
    """
    user, properties = reached(packet, "user_header"), reached(packet, "message_properties_header")
    kind, label = reached(properties, "message_class"), reached(properties, "label")
    if reached_at(packet, "base_header.flags") != 0 or not (label is None or begins_ack_label(label)):
        return None
    if reached(user, "destination_queue") is None or not is_order_queue(user):
        return None
    if kind is None or kind == _ORDER_ACK:
        return OrderAck
    return FinalAck if kind >= _FINAL_ACK else None


def acknowledgment_type(packet: UserMessage) -> type[OrderAck] | type[FinalAck] | None:
    """Which acknowledgment a user packet is, None for a user message.

    A FinalAck of the wrong MessageSize is one all the same: the list of packet types does not ask for it.
    """
    properties = packet.message_properties_header
    if packet.base_header.flags or properties is None:
        return None
    kind = properties.message_class
    if (kind != _ORDER_ACK and kind < _FINAL_ACK) or not is_ack_label(properties.label):
        return None
    if not is_order_queue(packet.user_header):
        return None
    if kind != _ORDER_ACK:
        return FinalAck
    return OrderAck if properties.message_size == 0x24 else None


def misformed_acknowledgment(packet: UserMessage) -> tuple[str, ...]:
    """What makes a user message of a packet that is an OrderAck or a FinalAck by its label and its class.

    These are the last parts of the codes of anomalies; empty for every other message.
    """
    properties = packet.message_properties_header
    if properties is None:
        return ()
    kind = properties.message_class
    if (kind != _ORDER_ACK and kind < _FINAL_ACK) or not is_ack_label(properties.label):
        return ()
    flags = ("ordering-ack-flags",) if packet.base_header.flags else ()
    return flags if is_order_queue(packet.user_header) else (*flags, "ordering-ack-queue")
