"""Which sections of the specifications are covered by which structure, and which are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from docs.generators.markers import code, table
from docs.generators.structures import structures_of
from msmq_wire.spec import SpecRef
from msmq_wire.wire.registry import STRUCTURES

__all__ = ["block"]

_NAMES = "`msmq_wire.wire.names`: text to value and back"
_DIRECTORY = (
    "Not covered: it belongs to directory objects, their security and management calls, not to packets."
)
_HEADING = "A heading of the document; its parts are below."

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "MS-MQMQ": {
        "2.1.1": ("Path names", f"{_NAMES} (`PathName`)"),
        "2.1.2": ("Direct format names", f"{_NAMES} (`FormatName`)"),
        "2.1.3": ("Public format names", f"{_NAMES} (`FormatName`)"),
        "2.1.4": ("Private format names", f"{_NAMES} (`FormatName`)"),
        "2.1.5": ("Distribution list format names", f"{_NAMES} (`FormatName`)"),
        "2.1.6": ("Machine, connector and multicast format names", f"{_NAMES} (`FormatName`)"),
        "2.1.7": ("Multiple-element format names", f"{_NAMES} (`parse_multiple`, `format_multiple`)"),
        "2.2.1 to 2.2.5": ("MQDSPUBLICKEY to SEQUENCE_INFO", _DIRECTORY),
        "2.2.6": ("QUEUE_FORMAT_TYPE", "`msmq_wire.wire.names.QueueFormatType`"),
        "2.2.7": (
            "QUEUE_FORMAT",
            "[QueueFormat](rpc-methods.md#queue_format); its text form in `msmq_wire.wire.names`.",
        ),
        "2.2.8": ("OBJECTID", "[ObjectId](rpc-methods.md#object_id)"),
        "2.2.9": ("DL_ID", "[DlId](rpc-methods.md#dl_id); its text form in `msmq_wire.wire.names`."),
        "2.2.10": ("MULTICAST_ID", "[MulticastId](rpc-methods.md#multicast_id)"),
        "2.2.11": ("QUEUE_SUFFIX_TYPE", "`msmq_wire.wire.names.QueueSuffixType`"),
        "2.2.12": ("PROPVARIANT type constants", "[BodyType](enumerations.md#bodytype)"),
        "2.2.13 to 2.2.17": ("PROPVARIANT and its parts", "[PropVariant](rpc-methods.md#prop_variant)"),
        "2.2.18.1.1": ("GUID", ""),
        "2.2.18.1.2": ("TxSequenceID", ""),
        "2.2.18.1.3": ("MessageIdentifier", ""),
        "2.2.18.1.4": ("MQFFormatNameElement", ""),
        "2.2.18.1.4.1": ("MQFDirectQueueFormatName", ""),
        "2.2.18.1.4.2": ("MQFDistributionQueueFormatName", ""),
        "2.2.18.1.5": ("Queue format type", _HEADING),
        "2.2.18.1.5.1": ("PrivateQueueFormatNameId", ""),
        "2.2.18.1.5.2": ("DirectQueueFormatName", ""),
        "2.2.18.1.6": ("Message class identifiers", "[MessageClass](enumerations.md#messageclass)"),
        "2.2.18.1.7": ("Common queue formats", _HEADING),
        "2.2.18.1.7.1": ("PublicQueueFormatName", ""),
        "2.2.18.1.7.2": ("PrivateQueueFormatName", ""),
        "2.2.18.1.8": ("XACTUOW", ""),
        "2.2.19.1": ("BaseHeader", ""),
        "2.2.19.2": ("UserHeader", ""),
        "2.2.19.3": ("MessagePropertiesHeader", ""),
        "2.2.20": ("UserMessage packet", ""),
        "2.2.20.1": ("MultiQueueFormatHeader", ""),
        "2.2.20.2": ("MQFAddressHeader", ""),
        "2.2.20.3": ("MQFSignatureHeader", ""),
        "2.2.20.4": ("SessionHeader", ""),
        "2.2.20.5": ("TransactionHeader", ""),
        "2.2.20.6": ("SecurityHeader", ""),
        "2.2.20.7": ("SoapHeader", ""),
        "2.2.20.8": ("DebugHeader", ""),
        "2.2.21 to 2.2.27": ("MQUSERSIGNCERTS to the access masks", _DIRECTORY),
        "2.5.1 to 2.5.3": ("What digital signatures cover", "[Signatures](signatures.md#what-is-hashed)"),
    },
    "MS-MQQB": {
        "2.2.1": ("InternalHeader", ""),
        "2.2.2": ("ConnectionParameters packet", ""),
        "2.2.2.1": ("ConnectionParametersHeader", ""),
        "2.2.3": ("EstablishConnection packet", ""),
        "2.2.3.1": ("EstablishConnectionHeader", ""),
        "2.2.4": ("OrderAck packet", ""),
        "2.2.4.1": ("OrderAck body", ""),
        "2.2.5": ("FinalAck packet", ""),
        "2.2.5.1": ("FinalAck body", ""),
        "2.2.6": ("SessionAck packet", ""),
        "2.2.7": ("Ping packet", ""),
        "2.4.1": ("PUBLICKEYBLOB", "Not covered: directory objects have it, no packet."),
        "2.4.2": ("SIMPLEBLOB", "[Signatures](signatures.md): `msmq_wire.sealing.simple_blob`"),
    },
    "MS-MQRR": {
        "2.2.5": ("Message packet structure", ""),
        "2.2.5.1": ("UserMessage, with the address in UserHeader", ""),
        "2.2.5.1.1": ("Binary message", "[message_packet](structures/message_packet.md) without AH"),
        "2.2.5.1.2": ("SRMP message", "[message_packet](structures/message_packet.md) with AH"),
        "2.2.5.1.2.1": ("SRMPEnvelopeHeader", ""),
        "2.2.5.1.2.2": ("CompoundMessageHeader", ""),
        "2.2.5.2": ("ExtensionHeader", ""),
        "2.2.5.3": ("SubqueueHeader", ""),
        "2.2.5.4": ("DeadLetterHeader", ""),
        "2.2.5.5": ("ExtendedAddressHeader", ""),
        "2.2.6": ("SectionBuffer", "`split_sections`, `join_sections`"),
        "2.2.7": ("SectionType", "[SectionType](enumerations.md#sectiontype)"),
        "3.1.4": ("Methods of RemoteRead", "[RemoteRead](rpc-methods.md#remoteread)"),
    },
    "MS-MQMP": {
        "2.2.2.1": ("TRANSFER_TYPE", "[TransferType](enumerations.md#transfertype)"),
        "2.2.3.2": ("CACTransferBufferV1", "[CACTransferBufferV1](rpc-methods.md#cac_transfer_buffer_v1)"),
        "2.2.3.3": ("CACTransferBufferV2", "[CACTransferBufferV2](rpc-methods.md#cac_transfer_buffer_v2)"),
        "2.2.3.4": (
            "CACCreateRemoteCursor",
            "[CACCreateRemoteCursor](rpc-methods.md#cac_create_remote_cursor)",
        ),
        "2.2.3.5": ("OBJECT_FORMAT", "[ObjectFormat](rpc-methods.md#object_format)"),
        "3.1.1.11": ("Messages in transfer buffers", "[transfer_buffer](arrow.md#transfer_buffer)"),
        "3.1.4": ("Methods of qmcomm", "[qmcomm](rpc-methods.md#qmcomm)"),
        "3.1.5": ("Methods of qmcomm2", "[qmcomm2](rpc-methods.md#qmcomm2)"),
    },
    "MS-MQQP": {
        "2.2.1.3": ("REMOTEREADACK", "[RemoteReadAck](enumerations.md#remotereadack)"),
        "2.2.2.1": ("REMOTEREADDESC", "[RemoteReadDesc](rpc-methods.md#remote_read_desc)"),
        "2.2.2.2": ("REMOTEREADDESC2", "[RemoteReadDesc2](rpc-methods.md#remote_read_desc2)"),
        "3.1.4": ("Methods of qm2qm", "[qm2qm](rpc-methods.md#qm2qm)"),
    },
    "MS-MQMR": {
        "2.2.2.1": ("MgmtObjectType", "[MgmtObjectType](enumerations.md#mgmtobjecttype)"),
        "2.2.1.2": ("MGMT_OBJECT", "[MgmtObject](rpc-methods.md#mgmt_object)"),
        "3.1.4": ("Methods of qmmgmt", "[qmmgmt](rpc-methods.md#qmmgmt)"),
    },
    "MS-MQSD": {},
    "MS-RPCE": {
        "2.2.2": ("Connection-oriented PDUs", "[Remote read and other calls](rpc.md)"),
        "2.2.2.13": ("Verification trailer", "[Remote read and other calls](rpc.md)"),
        "2.2.4, 2.2.5": ("NDR and NDR64", "[Methods of calls](rpc-methods.md)"),
    },
    "MS-DTYP": {
        "2.2.60": ("WCHAR", ""),
        "2.4.2.2": ("SID", ""),
    },
}


def _structures() -> Iterator[tuple[Any, str]]:
    """Every structure with a link to where it is described."""
    for stem, cls in STRUCTURES.items():
        yield cls, f"[{stem}](structures/{stem}.md)"
        for inner in structures_of(cls)[1:]:
            if inner.SPEC != cls.SPEC:
                yield inner, f"[{inner.stem()}](structures/{stem}.md#{inner.stem()})"


def block() -> str:
    """A table for every document: the sections above, and those of structures that are none of them."""
    sections = {document: dict(titles) for document, titles in SECTIONS.items()}
    covering: dict[SpecRef, list[str]] = defaultdict(list)
    for cls, link in _structures():
        covering[cls.SPEC].append(link)
        sections.setdefault(cls.SPEC.document, {}).setdefault(cls.SPEC.section, (cls.__name__, ""))
    parts = []
    for document, titles in sections.items():
        rows = []
        for section, (title, note) in titles.items():
            links = covering.get(SpecRef(document, section), [])
            if not links and not note:
                raise ValueError(f"[{document}] {section} is not covered, and no reason is given")
            rows.append((section, title, " ".join(filter(None, [", ".join(links), note]))))
        head = ("Section", "What it defines", "Covered by")
        parts.append(f"## {code(f'[{document}]')}\n\n" + table(head, rows))
    return "\n\n".join(parts)
