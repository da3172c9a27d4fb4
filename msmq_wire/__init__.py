"""Wire-format codec and packet forensics for Microsoft Message Queuing (MSMQ)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msmq_wire.engines.codec import InspectResult
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_arguments import Acknowledgment
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import (
    ArgumentError,
    CaptureError,
    CaptureWarning,
    DecodeError,
    EncodeError,
    FormatNameError,
    MissingExtraError,
    MsmqWireError,
    NoSuchMessageError,
)
from msmq_wire.reassembly.sections import JoinedPacket, join_sections, split_sections
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
from msmq_wire.wire.headers.security_header import ProviderInfo, SecurityData, SecurityHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.topology_packet_header import TopologyPacketHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.names import FormatName, PathName, QueueFormatType, QueueSuffixType
from msmq_wire.wire.packets.base import InternalPacket
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.topology_client_request import TopologyClientRequest
from msmq_wire.wire.packets.topology_server_reply import TopologyServerReply
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import Packet
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import (
    AddressType,
    BodyType,
    DeliveryMode,
    EncryptionAlgorithm,
    HashAlgorithm,
    InternalPacketType,
    MessageClass,
    MQFFormatType,
    MQFHeaderId,
    PrivacyLevel,
    QueueType,
    SenderIdType,
    TopologyPacketType,
    TraceQueueType,
)
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

if TYPE_CHECKING:
    from msmq_wire.api.calls import Call, calls
    from msmq_wire.api.capture_iterator import CaptureIterator
    from msmq_wire.api.diagnosis import DiagnosisResult, diagnose
    from msmq_wire.api.findings import findings
    from msmq_wire.api.messages import Message, messages
    from msmq_wire.api.table import CaptureTable, table
    from msmq_wire.api.why import ExplainedMessage, ExplainedStep, WhyAnswer, why
    from msmq_wire.detection.diagnosis.digest_lines import DigestLine
    from msmq_wire.detection.finding import Evidence, Finding
    from msmq_wire.overloads import CaptureReader, decode, encode, inspect, read_capture
    from msmq_wire.records.body_keys import opening_bodies
    from msmq_wire.records.com_packets import ComCall
    from msmq_wire.records.composed import RecordPacket
    from msmq_wire.records.record import Record
    from msmq_wire.records.rpc_packets import RpcBind, RpcBindContext, RpcCall, RpcFault, TransferBuffer
    from msmq_wire.records.srmp_packets import SrmpMessage
    from msmq_wire.records.tree.tree_text import tree
    from msmq_wire.rpc.unseal.negotiation import negotiator as negotiator
    from msmq_wire.rpc.unseal.secrets import Secrets as Secrets
    from msmq_wire.sealing.certificates import Certificate as Certificate
    from msmq_wire.sealing.certificates import TrustedCertificates as TrustedCertificates
    from msmq_wire.sealing.keys import read_certificates as read_certificates
    from msmq_wire.sealing.keys import read_identity as read_identity
    from msmq_wire.sealing.keys import read_private_key as read_private_key
    from msmq_wire.sealing.keys import read_private_keys as read_private_keys
    from msmq_wire.sealing.keys import read_public_key as read_public_key
    from msmq_wire.sealing.making import BodySealer as BodySealer
    from msmq_wire.sealing.making import MessageSigner as MessageSigner
    from msmq_wire.sealing.opening import BodyOpener as BodyOpener
    from msmq_wire.sealing.opening import Opening as Opening
    from msmq_wire.sealing.verifying import SignatureCheck as SignatureCheck
    from msmq_wire.sealing.verifying import Verifier as Verifier
else:
    from msmq_wire.engines.codec import decode, encode, inspect

__version__ = "0.2.0"

__all__ = [
    "GUID",
    "SID",
    "XACTUOW",
    "Acknowledgment",
    "AddressOverlay",
    "AddressType",
    "Anomaly",
    "ArgumentError",
    "BaseHeader",
    "BodyType",
    "Call",
    "CaptureError",
    "CaptureIterator",
    "CaptureReader",
    "CaptureTable",
    "CaptureWarning",
    "ComCall",
    "CompoundMessageHeader",
    "ConnectionParameters",
    "ConnectionParametersHeader",
    "DeadLetterHeader",
    "DebugHeader",
    "DecodeError",
    "DeliveryMode",
    "DiagnosisResult",
    "DigestLine",
    "DirectQueueFormatName",
    "EncodeError",
    "EncryptionAlgorithm",
    "EstablishConnection",
    "EstablishConnectionHeader",
    "Evidence",
    "ExplainedMessage",
    "ExplainedStep",
    "ExtendedAddressHeader",
    "ExtensionHeader",
    "FinalAck",
    "FinalAckBody",
    "Finding",
    "FormatName",
    "FormatNameError",
    "HashAlgorithm",
    "InspectResult",
    "InternalHeader",
    "InternalPacket",
    "InternalPacketType",
    "JoinedPacket",
    "MQFAddressHeader",
    "MQFDirectQueueFormatName",
    "MQFDistributionQueueFormatName",
    "MQFFormatNameElement",
    "MQFFormatType",
    "MQFHeaderId",
    "MQFSignatureHeader",
    "Message",
    "MessageClass",
    "MessageIdentifier",
    "MessagePacket",
    "MessagePropertiesHeader",
    "MissingExtraError",
    "MsmqWireError",
    "MultiQueueFormatHeader",
    "MulticastID",
    "NoSuchMessageError",
    "ObjectID",
    "OrderAck",
    "OrderAckBody",
    "Packet",
    "PathName",
    "Ping",
    "PrivacyLevel",
    "PrivateQueueFormatName",
    "PrivateQueueFormatNameId",
    "ProviderInfo",
    "PublicQueueFormatName",
    "QueueFormatType",
    "QueueSuffixType",
    "QueueType",
    "Record",
    "RecordPacket",
    "RpcBind",
    "RpcBindContext",
    "RpcCall",
    "RpcFault",
    "SRMPEnvelopeHeader",
    "SectionBuffer",
    "SectionType",
    "SecurityData",
    "SecurityHeader",
    "SenderIdType",
    "SessionAck",
    "SessionHeader",
    "SoapHeader",
    "SpecRef",
    "SrmpMessage",
    "SubqueueHeader",
    "TopologyClientRequest",
    "TopologyPacketHeader",
    "TopologyPacketType",
    "TopologyServerReply",
    "TraceQueueType",
    "TransactionHeader",
    "TransferBuffer",
    "TxSequenceID",
    "UserHeader",
    "UserMessage",
    "WcharText",
    "WhyAnswer",
    "WireStruct",
    "build_message",
    "calls",
    "decode",
    "diagnose",
    "encode",
    "findings",
    "fit",
    "inspect",
    "join_sections",
    "messages",
    "opening_bodies",
    "read_capture",
    "split_sections",
    "table",
    "tree",
    "why",
]

# Who decodes one packet does not wait for what reads captures.
_ON_DEMAND = {
    "Call": "msmq_wire.api.calls",
    "CaptureIterator": "msmq_wire.api.capture_iterator",
    "CaptureReader": "msmq_wire.capture.reader",
    "CaptureTable": "msmq_wire.api.table",
    "DiagnosisResult": "msmq_wire.api.diagnosis",
    "DigestLine": "msmq_wire.detection.diagnosis.digest_lines",
    "Evidence": "msmq_wire.detection.finding",
    "ExplainedMessage": "msmq_wire.api.why",
    "ExplainedStep": "msmq_wire.api.why",
    "Finding": "msmq_wire.detection.finding",
    "Message": "msmq_wire.api.messages",
    "Record": "msmq_wire.records.record",
    "WhyAnswer": "msmq_wire.api.why",
    "calls": "msmq_wire.api.calls",
    "diagnose": "msmq_wire.api.diagnosis",
    "findings": "msmq_wire.api.findings",
    "messages": "msmq_wire.api.messages",
    "ComCall": "msmq_wire.records.com_packets",
    "RecordPacket": "msmq_wire.records.composed",
    "RpcBind": "msmq_wire.records.rpc_packets",
    "RpcBindContext": "msmq_wire.records.rpc_packets",
    "RpcCall": "msmq_wire.records.rpc_packets",
    "RpcFault": "msmq_wire.records.rpc_packets",
    "SrmpMessage": "msmq_wire.records.srmp_packets",
    "TransferBuffer": "msmq_wire.records.rpc_packets",
    "opening_bodies": "msmq_wire.records.body_keys",
    "read_capture": "msmq_wire.capture.reader",
    "table": "msmq_wire.api.table",
    "tree": "msmq_wire.records.tree.tree_text",
    "why": "msmq_wire.api.why",
}

# Those need the extra unseal, so they are not in __all__: "from msmq_wire import *" works without it.
_WITH_UNSEAL = {
    "BodyOpener": "msmq_wire.sealing.opening",
    "BodySealer": "msmq_wire.sealing.making",
    "Certificate": "msmq_wire.sealing.certificates",
    "MessageSigner": "msmq_wire.sealing.making",
    "Opening": "msmq_wire.sealing.opening",
    "Secrets": "msmq_wire.rpc.unseal.secrets",
    "SignatureCheck": "msmq_wire.sealing.verifying",
    "TrustedCertificates": "msmq_wire.sealing.certificates",
    "Verifier": "msmq_wire.sealing.verifying",
    "negotiator": "msmq_wire.rpc.unseal.negotiation",
    "read_certificates": "msmq_wire.sealing.keys",
    "read_identity": "msmq_wire.sealing.keys",
    "read_private_key": "msmq_wire.sealing.keys",
    "read_private_keys": "msmq_wire.sealing.keys",
    "read_public_key": "msmq_wire.sealing.keys",
}


if not TYPE_CHECKING:
    # Type checkers would take any name for one of the package.
    def __getattr__(name: str) -> object:
        module = _ON_DEMAND.get(name) or _WITH_UNSEAL.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(module), name)
        except ImportError:
            if name not in _WITH_UNSEAL:
                raise
            raise MissingExtraError(
                f'{name} needs cryptography and pycryptodomex: pip install "msmq-wire[unseal]"'
            ) from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    dunders = (name for name in globals() if name.startswith("__") and name.endswith("__"))
    return sorted({*dunders, *__all__, *_WITH_UNSEAL})
