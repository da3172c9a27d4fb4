"""Every structure that is declared, by its stem. Nothing registers itself: this is the list."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.dead_letter_header import DeadLetterHeader
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types import enumerations
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.message_identifier import MessageIdentifier
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_distribution_queue_format_name import MQFDistributionQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.multicast_id import MulticastID
from msmq_wire.wire.types.object_id import ObjectID
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType
from msmq_wire.wire.types.sid import SID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from msmq_wire.wire.types.wchar_text import WcharText
from msmq_wire.wire.types.xactuow import XACTUOW

__all__ = ["ENUMERATIONS", "HEADERS", "PACKETS", "STRUCTURES", "TYPES", "Declared"]


class Declared(Protocol):
    """What every entry has: a specification, a stem and a schema."""

    SPEC: SpecRef

    @classmethod
    def stem(cls) -> str: ...

    @classmethod
    def schema(cls) -> Any: ...


def _by_stem(*classes: Any) -> Mapping[str, Any]:
    return {cls.stem(): cls for cls in classes}


TYPES: Mapping[str, Any] = _by_stem(
    GUID,
    TxSequenceID,
    MessageIdentifier,
    ObjectID,
    XACTUOW,
    MulticastID,
    SID,
    WcharText,
    PrivateQueueFormatNameId,
    PublicQueueFormatName,
    PrivateQueueFormatName,
    DirectQueueFormatName,
    MQFFormatNameElement,
    MQFDirectQueueFormatName,
    MQFDistributionQueueFormatName,
    SectionBuffer,
)
HEADERS: Mapping[str, type[WireStruct]] = _by_stem(
    BaseHeader,
    UserHeader,
    TransactionHeader,
    SecurityHeader,
    MessagePropertiesHeader,
    DebugHeader,
    SoapHeader,
    MultiQueueFormatHeader,
    MQFAddressHeader,
    MQFSignatureHeader,
    SessionHeader,
    InternalHeader,
    EstablishConnectionHeader,
    ConnectionParametersHeader,
    SRMPEnvelopeHeader,
    CompoundMessageHeader,
    ExtensionHeader,
    SubqueueHeader,
    DeadLetterHeader,
    ExtendedAddressHeader,
    OrderAckBody,
    FinalAckBody,
)
PACKETS: Mapping[str, type[WireStruct]] = _by_stem(
    Ping,
    EstablishConnection,
    ConnectionParameters,
    SessionAck,
    UserMessage,
    OrderAck,
    FinalAck,
    MessagePacket,
)
STRUCTURES: Mapping[str, Any] = {**TYPES, **HEADERS, **PACKETS}
"""Types, headers and packets by stem."""

ENUMERATIONS: Mapping[str, type[IntEnum]] = {
    SectionType.__name__: SectionType,
    **{name: getattr(enumerations, name) for name in enumerations.__all__},
}
"""Enumerations by the specification's name."""
