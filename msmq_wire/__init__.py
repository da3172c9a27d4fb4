"""Wire-format codec and packet forensics for Microsoft Message Queuing (MSMQ)."""

from __future__ import annotations

from importlib import import_module

__version__ = "0.2.0"

_MODULES = {
    "GUID": "msmq_wire.wire.types.guid",
    "SID": "msmq_wire.wire.types.sid",
    "XACTUOW": "msmq_wire.wire.types.xactuow",
    "Acknowledgment": "msmq_wire.engines.message_arguments",
    "AddressOverlay": "msmq_wire.wire.headers.user_header",
    "AddressType": "msmq_wire.wire.types.enumerations",
    "Anomaly": "msmq_wire.wire.musts",
    "ArgumentError": "msmq_wire.errors",
    "BaseHeader": "msmq_wire.wire.headers.base_header",
    "BodyType": "msmq_wire.wire.types.enumerations",
    "Call": "msmq_wire.api.calls",
    "CaptureError": "msmq_wire.errors",
    "CaptureIterator": "msmq_wire.api.capture_iterator",
    "CaptureReader": "msmq_wire.capture.reader",
    "CaptureTable": "msmq_wire.api.table",
    "CaptureWarning": "msmq_wire.errors",
    "ComCall": "msmq_wire.records.com_packets",
    "CompoundMessageHeader": "msmq_wire.wire.headers.compound_message_header",
    "ConnectionParameters": "msmq_wire.wire.packets.connection_parameters",
    "ConnectionParametersHeader": "msmq_wire.wire.headers.connection_parameters_header",
    "DeadLetterHeader": "msmq_wire.wire.headers.dead_letter_header",
    "DebugHeader": "msmq_wire.wire.headers.debug_header",
    "DecodeError": "msmq_wire.errors",
    "DeliveryMode": "msmq_wire.wire.types.enumerations",
    "DiagnosisResult": "msmq_wire.api.diagnosis",
    "DigestLine": "msmq_wire.detection.diagnosis.digest_lines",
    "DirectQueueFormatName": "msmq_wire.wire.types.direct_queue_format_name",
    "EncodeError": "msmq_wire.errors",
    "EncryptionAlgorithm": "msmq_wire.wire.types.enumerations",
    "EstablishConnection": "msmq_wire.wire.packets.establish_connection",
    "EstablishConnectionHeader": "msmq_wire.wire.headers.establish_connection_header",
    "Evidence": "msmq_wire.detection.finding",
    "ExplainedMessage": "msmq_wire.api.why",
    "ExplainedStep": "msmq_wire.api.why",
    "ExtendedAddressHeader": "msmq_wire.wire.headers.extended_address_header",
    "ExtensionHeader": "msmq_wire.wire.headers.extension_header",
    "FinalAck": "msmq_wire.wire.packets.final_ack",
    "FinalAckBody": "msmq_wire.wire.headers.final_ack_body",
    "Finding": "msmq_wire.detection.finding",
    "FormatName": "msmq_wire.wire.names",
    "FormatNameError": "msmq_wire.errors",
    "HashAlgorithm": "msmq_wire.wire.types.enumerations",
    "InspectResult": "msmq_wire.engines.codec",
    "InternalHeader": "msmq_wire.wire.headers.internal_header",
    "InternalPacket": "msmq_wire.wire.packets.base",
    "InternalPacketType": "msmq_wire.wire.types.enumerations",
    "JoinedPacket": "msmq_wire.reassembly.sections",
    "MQFAddressHeader": "msmq_wire.wire.headers.mqf_address_header",
    "MQFDirectQueueFormatName": "msmq_wire.wire.types.mqf_direct_queue_format_name",
    "MQFDistributionQueueFormatName": "msmq_wire.wire.types.mqf_distribution_queue_format_name",
    "MQFFormatNameElement": "msmq_wire.wire.types.mqf_format_name_element",
    "MQFFormatType": "msmq_wire.wire.types.enumerations",
    "MQFHeaderId": "msmq_wire.wire.types.enumerations",
    "MQFSignatureHeader": "msmq_wire.wire.headers.mqf_signature_header",
    "Message": "msmq_wire.api.messages",
    "MessageClass": "msmq_wire.wire.types.enumerations",
    "MessageIdentifier": "msmq_wire.wire.types.message_identifier",
    "MessagePacket": "msmq_wire.wire.packets.message_packet",
    "MessagePropertiesHeader": "msmq_wire.wire.headers.message_properties_header",
    "MissingExtraError": "msmq_wire.errors",
    "MsmqWireError": "msmq_wire.errors",
    "MultiQueueFormatHeader": "msmq_wire.wire.headers.multi_queue_format_header",
    "MulticastID": "msmq_wire.wire.types.multicast_id",
    "NoSuchMessageError": "msmq_wire.errors",
    "ObjectID": "msmq_wire.wire.types.object_id",
    "OrderAck": "msmq_wire.wire.packets.order_ack",
    "OrderAckBody": "msmq_wire.wire.headers.order_ack_body",
    "Packet": "msmq_wire.wire.registry",
    "PathName": "msmq_wire.wire.names",
    "Ping": "msmq_wire.wire.packets.ping",
    "PrivacyLevel": "msmq_wire.wire.types.enumerations",
    "PrivateQueueFormatName": "msmq_wire.wire.types.private_queue_format_name",
    "PrivateQueueFormatNameId": "msmq_wire.wire.types.private_queue_format_name_id",
    "ProviderInfo": "msmq_wire.wire.headers.security_header",
    "PublicQueueFormatName": "msmq_wire.wire.types.public_queue_format_name",
    "QueueFormatType": "msmq_wire.wire.names",
    "QueueSuffixType": "msmq_wire.wire.names",
    "QueueType": "msmq_wire.wire.types.enumerations",
    "Record": "msmq_wire.records.record",
    "RecordPacket": "msmq_wire.records.composed",
    "RpcBind": "msmq_wire.records.rpc_packets",
    "RpcBindContext": "msmq_wire.records.rpc_packets",
    "RpcCall": "msmq_wire.records.rpc_packets",
    "RpcFault": "msmq_wire.records.rpc_packets",
    "SRMPEnvelopeHeader": "msmq_wire.wire.headers.srmp_envelope_header",
    "SectionBuffer": "msmq_wire.wire.types.section_buffer",
    "SectionType": "msmq_wire.wire.types.section_buffer",
    "SecurityData": "msmq_wire.wire.headers.security_header",
    "SecurityHeader": "msmq_wire.wire.headers.security_header",
    "SenderIdType": "msmq_wire.wire.types.enumerations",
    "SessionAck": "msmq_wire.wire.packets.session_ack",
    "SessionHeader": "msmq_wire.wire.headers.session_header",
    "SoapHeader": "msmq_wire.wire.headers.soap_header",
    "SpecRef": "msmq_wire.spec",
    "SrmpMessage": "msmq_wire.records.srmp_packets",
    "SubqueueHeader": "msmq_wire.wire.headers.subqueue_header",
    "TopologyClientRequest": "msmq_wire.wire.packets.topology_client_request",
    "TopologyPacketHeader": "msmq_wire.wire.headers.topology_packet_header",
    "TopologyPacketType": "msmq_wire.wire.types.enumerations",
    "TopologyServerReply": "msmq_wire.wire.packets.topology_server_reply",
    "TraceQueueType": "msmq_wire.wire.types.enumerations",
    "TransactionHeader": "msmq_wire.wire.headers.transaction_header",
    "TransferBuffer": "msmq_wire.records.rpc_packets",
    "TxSequenceID": "msmq_wire.wire.types.tx_sequence_id",
    "UserHeader": "msmq_wire.wire.headers.user_header",
    "UserMessage": "msmq_wire.wire.packets.user_message",
    "WcharText": "msmq_wire.wire.types.wchar_text",
    "WhyAnswer": "msmq_wire.api.why",
    "WireStruct": "msmq_wire.wire.fields",
    "build_message": "msmq_wire.engines.message_builder",
    "calls": "msmq_wire.api.calls",
    "decode": "msmq_wire.engines.codec",
    "diagnose": "msmq_wire.api.diagnosis",
    "encode": "msmq_wire.engines.codec",
    "findings": "msmq_wire.api.findings",
    "fit": "msmq_wire.engines.fit",
    "inspect": "msmq_wire.engines.codec",
    "join_sections": "msmq_wire.reassembly.sections",
    "messages": "msmq_wire.api.messages",
    "opening_bodies": "msmq_wire.records.body_keys",
    "read_capture": "msmq_wire.capture.reader",
    "split_sections": "msmq_wire.reassembly.sections",
    "table": "msmq_wire.api.table",
    "tree": "msmq_wire.records.tree.tree_text",
    "why": "msmq_wire.api.why",
    # These need the extra unseal.
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
"""Every public name with the module that defines it; the module is imported when the name is first used.

Type checkers read ``__init__.pyi``, which ``docs/generate.py`` writes from this table.
"""

_UNSEAL = ("msmq_wire.rpc.unseal.", "msmq_wire.sealing.")
"""Packages that need the extra ``unseal``. ``from msmq_wire import *`` works without it."""

__all__ = [name for name, module in _MODULES.items() if not module.startswith(_UNSEAL)]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(module), name)
    except ImportError:
        if name in __all__:
            raise
        from msmq_wire.errors import MissingExtraError

        raise MissingExtraError.of(name, "cryptography and pycryptodomex", "msmq-wire[unseal]") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from importlib.util import find_spec

    dunders = (name for name in globals() if name.startswith("__") and name.endswith("__"))
    # What `help` and editors find must be there.
    return sorted({*dunders, *(_MODULES if find_spec("cryptography") else __all__)})
