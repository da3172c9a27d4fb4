"""The package for type checkers. generated: python docs/generate.py writes this file."""

from collections.abc import Iterator
from collections.abc import Sequence
from typing import Literal
from typing import Self
from typing import overload
from msmq_wire.capture import reader
from typing_extensions import Buffer
from typing_extensions import TypeVar
from msmq_wire.records.recognition import Ports
from msmq_wire.capture.source import CaptureSource
from msmq_wire.engines.codec import Engine
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.wire.stream import Range
from msmq_wire.engines import codec
from msmq_wire.wire.types.guid import GUID as GUID
from msmq_wire.wire.types.sid import SID as SID
from msmq_wire.wire.types.xactuow import XACTUOW as XACTUOW
from msmq_wire.engines.message_arguments import Acknowledgment as Acknowledgment
from msmq_wire.wire.headers.user_header import AddressOverlay as AddressOverlay
from msmq_wire.wire.types.enumerations import AddressType as AddressType
from msmq_wire.wire.musts import Anomaly as Anomaly
from msmq_wire.errors import ArgumentError as ArgumentError
from msmq_wire.wire.headers.base_header import BaseHeader as BaseHeader
from msmq_wire.wire.types.enumerations import BodyType as BodyType
from msmq_wire.api.calls import Call as Call
from msmq_wire.errors import CaptureError as CaptureError
from msmq_wire.api.capture_iterator import CaptureIterator as CaptureIterator
from msmq_wire.api.table import CaptureTable as CaptureTable
from msmq_wire.errors import CaptureWarning as CaptureWarning
from msmq_wire.records.com_packets import ComCall as ComCall
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader as CompoundMessageHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters as ConnectionParameters
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader as ConnectionParametersHeader
from msmq_wire.wire.headers.dead_letter_header import DeadLetterHeader as DeadLetterHeader
from msmq_wire.wire.headers.debug_header import DebugHeader as DebugHeader
from msmq_wire.errors import DecodeError as DecodeError
from msmq_wire.wire.types.enumerations import DeliveryMode as DeliveryMode
from msmq_wire.api.diagnosis import DiagnosisResult as DiagnosisResult
from msmq_wire.detection.diagnosis.digest_lines import DigestLine as DigestLine
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName as DirectQueueFormatName
from msmq_wire.errors import EncodeError as EncodeError
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm as EncryptionAlgorithm
from msmq_wire.wire.packets.establish_connection import EstablishConnection as EstablishConnection
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader as EstablishConnectionHeader
from msmq_wire.detection.finding import Evidence as Evidence
from msmq_wire.api.why import ExplainedMessage as ExplainedMessage
from msmq_wire.api.why import ExplainedStep as ExplainedStep
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader as ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader as ExtensionHeader
from msmq_wire.wire.packets.final_ack import FinalAck as FinalAck
from msmq_wire.wire.headers.final_ack_body import FinalAckBody as FinalAckBody
from msmq_wire.detection.finding import Finding as Finding
from msmq_wire.wire.names import FormatName as FormatName
from msmq_wire.errors import FormatNameError as FormatNameError
from msmq_wire.wire.types.enumerations import HashAlgorithm as HashAlgorithm
from msmq_wire.wire.headers.internal_header import InternalHeader as InternalHeader
from msmq_wire.wire.packets.base import InternalPacket as InternalPacket
from msmq_wire.wire.types.enumerations import InternalPacketType as InternalPacketType
from msmq_wire.reassembly.sections import JoinedPacket as JoinedPacket
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader as MQFAddressHeader
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName as MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_distribution_queue_format_name import MQFDistributionQueueFormatName as MQFDistributionQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement as MQFFormatNameElement
from msmq_wire.wire.types.enumerations import MQFFormatType as MQFFormatType
from msmq_wire.wire.types.enumerations import MQFHeaderId as MQFHeaderId
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader as MQFSignatureHeader
from msmq_wire.api.messages import Message as Message
from msmq_wire.wire.types.enumerations import MessageClass as MessageClass
from msmq_wire.wire.types.message_identifier import MessageIdentifier as MessageIdentifier
from msmq_wire.wire.packets.message_packet import MessagePacket as MessagePacket
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader as MessagePropertiesHeader
from msmq_wire.errors import MissingExtraError as MissingExtraError
from msmq_wire.errors import MsmqWireError as MsmqWireError
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader as MultiQueueFormatHeader
from msmq_wire.wire.types.multicast_id import MulticastID as MulticastID
from msmq_wire.errors import NoSuchMessageError as NoSuchMessageError
from msmq_wire.wire.types.object_id import ObjectID as ObjectID
from msmq_wire.wire.packets.order_ack import OrderAck as OrderAck
from msmq_wire.wire.headers.order_ack_body import OrderAckBody as OrderAckBody
from msmq_wire.wire.registry import Packet as Packet
from msmq_wire.wire.names import PathName as PathName
from msmq_wire.wire.packets.ping import Ping as Ping
from msmq_wire.wire.types.enumerations import PrivacyLevel as PrivacyLevel
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName as PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId as PrivateQueueFormatNameId
from msmq_wire.wire.headers.security_header import ProviderInfo as ProviderInfo
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName as PublicQueueFormatName
from msmq_wire.wire.names import QueueFormatType as QueueFormatType
from msmq_wire.wire.names import QueueSuffixType as QueueSuffixType
from msmq_wire.wire.types.enumerations import QueueType as QueueType
from msmq_wire.records.public_record import Record as Record
from msmq_wire.records.composed import RecordPacket as RecordPacket
from msmq_wire.records.rpc_packets import RpcBind as RpcBind
from msmq_wire.records.rpc_packets import RpcBindContext as RpcBindContext
from msmq_wire.records.rpc_packets import RpcCall as RpcCall
from msmq_wire.records.rpc_packets import RpcFault as RpcFault
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader as SRMPEnvelopeHeader
from msmq_wire.wire.types.section_buffer import SectionBuffer as SectionBuffer
from msmq_wire.wire.types.section_buffer import SectionType as SectionType
from msmq_wire.wire.headers.security_header import SecurityData as SecurityData
from msmq_wire.wire.headers.security_header import SecurityHeader as SecurityHeader
from msmq_wire.wire.types.enumerations import SenderIdType as SenderIdType
from msmq_wire.wire.packets.session_ack import SessionAck as SessionAck
from msmq_wire.wire.headers.session_header import SessionHeader as SessionHeader
from msmq_wire.wire.headers.soap_header import SoapHeader as SoapHeader
from msmq_wire.spec import SpecRef as SpecRef
from msmq_wire.records.srmp_packets import SrmpMessage as SrmpMessage
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader as SubqueueHeader
from msmq_wire.wire.packets.topology_client_request import TopologyClientRequest as TopologyClientRequest
from msmq_wire.wire.headers.topology_packet_header import TopologyPacketHeader as TopologyPacketHeader
from msmq_wire.wire.types.enumerations import TopologyPacketType as TopologyPacketType
from msmq_wire.wire.packets.topology_server_reply import TopologyServerReply as TopologyServerReply
from msmq_wire.wire.types.enumerations import TraceQueueType as TraceQueueType
from msmq_wire.wire.headers.transaction_header import TransactionHeader as TransactionHeader
from msmq_wire.records.rpc_packets import TransferBuffer as TransferBuffer
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID as TxSequenceID
from msmq_wire.wire.headers.user_header import UserHeader as UserHeader
from msmq_wire.wire.packets.user_message import UserMessage as UserMessage
from msmq_wire.wire.types.wchar_text import WcharText as WcharText
from msmq_wire.api.why import WhyAnswer as WhyAnswer
from msmq_wire.wire.fields import WireStruct as WireStruct
from msmq_wire.engines.message_builder import build_message as build_message
from msmq_wire.api.calls import calls as calls
from msmq_wire.api.diagnosis import diagnose as diagnose
from msmq_wire.api.findings import findings as findings
from msmq_wire.engines.fit import fit as fit
from msmq_wire.reassembly.sections import join_sections as join_sections
from msmq_wire.api.messages import messages as messages
from msmq_wire.records.body_keys import opening_bodies as opening_bodies
from msmq_wire.reassembly.sections import split_sections as split_sections
from msmq_wire.api.table import table as table
from msmq_wire.records.tree.tree_text import tree as tree
from msmq_wire.api.why import why as why
from msmq_wire.sealing.opening import BodyOpener as BodyOpener
from msmq_wire.sealing.making import BodySealer as BodySealer
from msmq_wire.sealing.certificates import Certificate as Certificate
from msmq_wire.sealing.making import MessageSigner as MessageSigner
from msmq_wire.sealing.opening import Opening as Opening
from msmq_wire.rpc.unseal.secrets import Secrets as Secrets
from msmq_wire.sealing.verifying import SignatureCheck as SignatureCheck
from msmq_wire.sealing.certificates import TrustedCertificates as TrustedCertificates
from msmq_wire.sealing.verifying import Verifier as Verifier
from msmq_wire.rpc.unseal.negotiation import negotiator as negotiator
from msmq_wire.sealing.keys import read_certificates as read_certificates
from msmq_wire.sealing.keys import read_identity as read_identity
from msmq_wire.sealing.keys import read_private_key as read_private_key
from msmq_wire.sealing.keys import read_private_keys as read_private_keys
from msmq_wire.sealing.keys import read_public_key as read_public_key

__version__: str

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

_PacketT_co = TypeVar("_PacketT_co", covariant=True, default=Packet | InternalPacket | None)

class InspectResult(codec.InspectResult[_PacketT_co], frozen=True, kw_only=True): ...

@overload
def decode(
    data: Buffer,
    as_: None = None,
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> Packet:
    r"""Decode one packet, or any structure of the registry by its stem.

    ``data`` holds the packet at its start; what follows it is not looked at (see `inspect`). Without
    ``as_`` the kind is recognised by [MS-MQQB] 3.1.5.1.1; a ``message_packet`` never is. ``missing`` are
    (start, length) ranges, in packet offsets, that a section split left out. ``engine`` is ``"rows"``
    (generated, the default) or ``"reference"``; they give the same. Returns a `WireStruct` (or a bytes
    subclass for scalar types). Raises DecodeError; ArgumentError for an unknown ``as_`` or ``engine``;
    TypeError where ``data`` is no buffer of bytes.
    """

@overload
def decode(
    data: Buffer,
    as_: Literal["wchar_text"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> WcharText: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["sid"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SID: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["object_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> ObjectID: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["multicast_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MulticastID: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["guid"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> GUID: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["tx_sequence_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> TxSequenceID: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["message_identifier"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MessageIdentifier: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["mqf_format_name_element"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MQFFormatNameElement: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["mqf_direct_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MQFDirectQueueFormatName: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["mqf_distribution_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MQFDistributionQueueFormatName: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["private_queue_format_name_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> PrivateQueueFormatNameId: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["direct_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> DirectQueueFormatName: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["public_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> PublicQueueFormatName: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["private_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> PrivateQueueFormatName: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["xactuow"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> XACTUOW: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["section_buffer"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SectionBuffer: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["base_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> BaseHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["user_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> UserHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["message_properties_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MessagePropertiesHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["multi_queue_format_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MultiQueueFormatHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["mqf_address_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MQFAddressHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["mqf_signature_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MQFSignatureHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["session_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SessionHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["transaction_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> TransactionHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["security_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SecurityHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["soap_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SoapHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["debug_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> DebugHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["internal_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InternalHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["connection_parameters_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> ConnectionParametersHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["establish_connection_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> EstablishConnectionHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["order_ack_body"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> OrderAckBody: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["final_ack_body"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> FinalAckBody: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["srmp_envelope_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SRMPEnvelopeHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["compound_message_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> CompoundMessageHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["extension_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> ExtensionHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["subqueue_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SubqueueHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["dead_letter_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> DeadLetterHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["extended_address_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> ExtendedAddressHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["topology_packet_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> TopologyPacketHeader: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["ping"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> Ping: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["establish_connection"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> EstablishConnection: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["connection_parameters"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> ConnectionParameters: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["session_ack"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> SessionAck: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["user_message"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> UserMessage: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["order_ack"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> OrderAck: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["final_ack"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> FinalAck: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["message_packet"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> MessagePacket: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["topology_client_request"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> TopologyClientRequest: ...
@overload
def decode(
    data: Buffer,
    as_: Literal["topology_server_reply"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> TopologyServerReply: ...
@overload
def decode(
    data: Buffer,
    as_: str | None,
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> WireStruct | bytes: ...
def encode(
    packet: WireStruct | bytes,
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> bytes:
    r"""Encode a structure as it is: ``encode(decode(data)) == data[:consumed]``.

    Raises EncodeError when flags, sizes and parts contradict each other (see `fit`) or a number does not
    fit its field. ``engine`` as for `decode`.
    """

@overload
def inspect(
    data: Buffer,
    as_: None = None,
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[Packet | InternalPacket | None]:
    r"""Decode and judge; never raises on bytes. Arguments, and errors about them, as for `decode`."""

@overload
def inspect(
    data: Buffer,
    as_: Literal["wchar_text"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[WcharText | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["sid"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SID | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["object_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[ObjectID | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["multicast_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MulticastID | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["guid"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[GUID | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["tx_sequence_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[TxSequenceID | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["message_identifier"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MessageIdentifier | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["mqf_format_name_element"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MQFFormatNameElement | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["mqf_direct_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MQFDirectQueueFormatName | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["mqf_distribution_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MQFDistributionQueueFormatName | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["private_queue_format_name_id"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[PrivateQueueFormatNameId | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["direct_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[DirectQueueFormatName | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["public_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[PublicQueueFormatName | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["private_queue_format_name"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[PrivateQueueFormatName | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["xactuow"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[XACTUOW | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["section_buffer"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SectionBuffer | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["base_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[BaseHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["user_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[UserHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["message_properties_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MessagePropertiesHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["multi_queue_format_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MultiQueueFormatHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["mqf_address_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MQFAddressHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["mqf_signature_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MQFSignatureHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["session_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SessionHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["transaction_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[TransactionHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["security_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SecurityHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["soap_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SoapHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["debug_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[DebugHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["internal_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[InternalHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["connection_parameters_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[ConnectionParametersHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["establish_connection_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[EstablishConnectionHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["order_ack_body"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[OrderAckBody | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["final_ack_body"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[FinalAckBody | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["srmp_envelope_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SRMPEnvelopeHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["compound_message_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[CompoundMessageHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["extension_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[ExtensionHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["subqueue_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SubqueueHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["dead_letter_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[DeadLetterHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["extended_address_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[ExtendedAddressHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["topology_packet_header"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[TopologyPacketHeader | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["ping"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[Ping | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["establish_connection"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[EstablishConnection | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["connection_parameters"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[ConnectionParameters | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["session_ack"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[SessionAck | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["user_message"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[UserMessage | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["order_ack"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[OrderAck | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["final_ack"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[FinalAck | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["message_packet"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[MessagePacket | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["topology_client_request"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[TopologyClientRequest | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: Literal["topology_server_reply"],
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[TopologyServerReply | None]: ...
@overload
def inspect(
    data: Buffer,
    as_: str | None,
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult[WireStruct | bytes | None]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: None = None,
) -> Iterator[Record[RecordPacket]]:
    r"""Yield the records of a capture, those of one ``type`` where it is given.

    The type ``tcp_stream`` asks for ``streams``. The other arguments, and errors, as for `CaptureReader`;
    ArgumentError where no record is of such a type.
    """

@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["ping"],
) -> Iterator[Record[Ping]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["establish_connection"],
) -> Iterator[Record[EstablishConnection]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["connection_parameters"],
) -> Iterator[Record[ConnectionParameters]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["session_ack"],
) -> Iterator[Record[SessionAck]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["user_message"],
) -> Iterator[Record[UserMessage]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["order_ack"],
) -> Iterator[Record[OrderAck]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["final_ack"],
) -> Iterator[Record[FinalAck]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["message_packet"],
) -> Iterator[Record[MessagePacket | None]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["topology_client_request"],
) -> Iterator[Record[TopologyClientRequest]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["topology_server_reply"],
) -> Iterator[Record[TopologyServerReply]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["unknown_packet"],
) -> Iterator[Record[InternalPacket | None]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["rpc_bind"],
) -> Iterator[Record[RpcBind]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["rpc_call"],
) -> Iterator[Record[RpcCall]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["rpc_fault"],
) -> Iterator[Record[RpcFault]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["transfer_buffer"],
) -> Iterator[Record[TransferBuffer]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["com_call"],
) -> Iterator[Record[ComCall]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["srmp_message", "srmp_receipt"],
) -> Iterator[Record[SrmpMessage]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: Literal["gap", "error", "tcp_stream"],
) -> Iterator[Record[None]]: ...
@overload
def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: str | None,
) -> Iterator[Record[RecordPacket]]: ...

class CaptureReader(reader.CaptureReader):
    def __enter__(self) -> Self: ...
    def __iter__(self) -> Iterator[Record[RecordPacket]]: ...
