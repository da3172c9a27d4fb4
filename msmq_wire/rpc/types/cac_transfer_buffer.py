"""CACTransferBufferV1 and CACTransferBufferV2: a message between application and queue manager.

[MS-MQMP] 2.2.3.2 and 2.2.3.3. Every pointer stands for a message property that is wanted, or given; the
sizes that its array goes by are members further on. What the properties mean is in
`msmq_wire.rpc.transfer_properties`.
"""

from typing import Annotated, Any, ClassVar

from msmq_wire.rpc.constants import TransferType
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    LONG,
    UUID,
    WCHAR,
    WORD,
    XACTUOW,
    Arm,
    Conformant,
    ConformantVarying,
    Fields,
    NdrStruct,
    NullPointee,
    Ranged,
    Union,
    Unique,
)
from msmq_wire.rpc.types.queue_format import OBJECT_ID, QUEUE_FORMAT, ObjectId, QueueFormat
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import HOST, IDENTIFIER, PUBLIC
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText


class CACCreateRemoteCursor(NdrStruct, frozen=True, kw_only=True, gc=False):
    """CACCreateRemoteCursor: a cursor, and where a remote one has to be made."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "2.2.3.4")
    h_cursor: Annotated[int, DWORD, "The cursor."] = 0
    srv_h_ac_queue: Annotated[int, DWORD, "The queue at the remote queue manager."] = 0
    cli_p_qm_queue: Annotated[int, DWORD, "The queue at this queue manager."] = 0


class TransferSend(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The Send arm: where acknowledgments and answers go."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "2.2.3.2")
    p_admin_queue_format: Annotated[QueueFormat | None, Unique(QUEUE_FORMAT), "Administration queue."] = None
    p_response_queue_format: Annotated[QueueFormat | None, Unique(QUEUE_FORMAT), "Response queue."] = None


def _text(size: Any) -> Unique:
    return Unique(Unique(Conformant(WCHAR, size=size)))


class TransferReceive(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The Receive arm: which message, and the names of its queues."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "2.2.3.2")
    request_timeout: Annotated[int, DWORD, "How long to wait, in milliseconds."] = 0
    action: Annotated[int, DWORD, "Receive or peek, and where."] = 0
    asynchronous: Annotated[int, DWORD, "Not 0: answered when there is a message."] = 0
    cursor: Annotated[int, DWORD, "A cursor of the queue, or 0."] = 0
    ul_response_format_name_len: Annotated[int, Ranged(DWORD, 0, 1024), "Characters of room."] = 0
    pp_response_format_name: Annotated[
        WcharText | NullPointee | None, _text(this.ul_response_format_name_len), "Response queue."
    ] = None
    pul_response_format_name_len_prop: Annotated[int | None, Unique(DWORD), "Its characters."] = None
    ul_admin_format_name_len: Annotated[int, Ranged(DWORD, 0, 1024), "Characters of room."] = 0
    pp_admin_format_name: Annotated[
        WcharText | NullPointee | None, _text(this.ul_admin_format_name_len), "Administration queue."
    ] = None
    pul_admin_format_name_len_prop: Annotated[int | None, Unique(DWORD), "Its characters."] = None
    ul_dest_format_name_len: Annotated[int, Ranged(DWORD, 0, 1024), "Characters of room."] = 0
    pp_dest_format_name: Annotated[
        WcharText | NullPointee | None, _text(this.ul_dest_format_name_len), "Destination queue."
    ] = None
    pul_dest_format_name_len_prop: Annotated[int | None, Unique(DWORD), "Its characters."] = None
    ul_ordering_format_name_len: Annotated[int, Ranged(DWORD, 0, 1024), "Characters of room."] = 0
    pp_ordering_format_name: Annotated[
        WcharText | NullPointee | None, _text(this.ul_ordering_format_name_len), "Order queue."
    ] = None
    pul_ordering_format_name_len_prop: Annotated[int | None, Unique(DWORD), "Its characters."] = None


CAC_CREATE_REMOTE_CURSOR = Fields(CACCreateRemoteCursor)


def _octets(size: Any) -> Unique:
    return Unique(Unique(Conformant(BYTE, size=size)))


def _varying_octets(size: Any, length: Any) -> Unique:
    return Unique(Unique(ConformantVarying(BYTE, size=size, length=length)))


class CACTransferBufferV1(NdrStruct, frozen=True, kw_only=True, gc=False):
    """CACTransferBufferV1: the properties of a message; ``arm`` is what ``ul_transfer_type`` selects."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "2.2.3.2")
    u_transfer_type: Annotated[
        int, Ranged(DWORD, 0, 2), TransferType, "Send, receive or create a cursor."
    ] = 0
    arm: Annotated[
        Any,
        Union(
            this.u_transfer_type,
            DWORD,
            {
                0: Arm("send", Fields(TransferSend)),
                1: Arm("receive", Fields(TransferReceive)),
                2: Arm("create_cursor", CAC_CREATE_REMOTE_CURSOR),
            },
        ),
        "What the direction needs.",
    ] = None
    p_class: Annotated[int | None, Unique(WORD), "Message class."] = None
    pp_message_id: Annotated[ObjectId | NullPointee | None, Unique(Unique(OBJECT_ID)), "Message id."] = None
    pp_correlation_id: Annotated[bytes | NullPointee | None, _varying_octets(20, 20), "Correlation id."] = (
        None
    )
    p_sent_time: Annotated[int | None, Unique(DWORD), "Seconds since 1970."] = None
    p_arrived_time: Annotated[int | None, Unique(DWORD), "Seconds since 1970."] = None
    p_priority: Annotated[int | None, Unique(BYTE), "0 to 7."] = None
    p_delivery: Annotated[int | None, Unique(BYTE), "0 express, 1 recoverable."] = None
    p_acknowledge: Annotated[int | None, Unique(BYTE), "Which acknowledgments are wanted."] = None
    p_auditing: Annotated[int | None, Unique(BYTE), "1 dead-letter queue, 2 journal."] = None
    p_application_tag: Annotated[int | None, Unique(DWORD), "The application's own."] = None
    pp_body: Annotated[
        bytes | NullPointee | None,
        _varying_octets(this.ul_alloc_body_buffer_in_bytes, this.ul_body_buffer_size_in_bytes),
        "The body.",
    ] = None
    ul_body_buffer_size_in_bytes: Annotated[int, DWORD, "Bytes of the body here."] = 0
    ul_alloc_body_buffer_in_bytes: Annotated[int, DWORD, "Bytes of room for the body."] = 0
    p_body_size: Annotated[int | None, Unique(DWORD), "Bytes of the whole body."] = None
    pp_title: Annotated[
        WcharText | NullPointee | None,
        Unique(
            Unique(
                ConformantVarying(
                    WCHAR,
                    size=this.ul_title_buffer_size_in_wchars,
                    length=this.ul_title_buffer_size_in_wchars,
                )
            )
        ),
        "The label.",
    ] = None
    ul_title_buffer_size_in_wchars: Annotated[int, DWORD, "Characters of room for the label."] = 0
    pul_title_buffer_size_in_wchars: Annotated[int | None, Unique(DWORD), "Characters of the label."] = None
    ul_absolute_time_to_queue: Annotated[int, DWORD, "Must reach the queue by then, seconds since 1970."] = 0
    pul_relative_time_to_queue: Annotated[int | None, Unique(DWORD), "Seconds left to reach it."] = None
    ul_relative_time_to_live: Annotated[int, DWORD, "Seconds to be received in."] = 0
    pul_relative_time_to_live: Annotated[int | None, Unique(DWORD), "Seconds left to be received in."] = None
    p_trace: Annotated[int | None, Unique(BYTE), "Whether the way is reported."] = None
    pul_sender_id_type: Annotated[int | None, Unique(DWORD), "Kind of sender id."] = None
    pp_sender_id: Annotated[bytes | NullPointee | None, _octets(this.u_sender_id_len), "Sender id."] = None
    pul_sender_id_len_prop: Annotated[int | None, Unique(DWORD), "Bytes of the sender id."] = None
    pul_priv_level: Annotated[int | None, Unique(DWORD), "Encryption of the body."] = None
    ul_auth_level: Annotated[int, DWORD, "Whether and how the message is signed."] = 0
    p_authenticated: Annotated[int | None, Unique(BYTE), "Whether it was authenticated."] = None
    pul_hash_alg: Annotated[int | None, Unique(DWORD), "Hash algorithm of the signature."] = None
    pul_encrypt_alg: Annotated[int | None, Unique(DWORD), "Encryption algorithm."] = None
    pp_sender_cert: Annotated[
        bytes | NullPointee | None, _octets(this.ul_sender_cert_len), "Certificate of the sender."
    ] = None
    ul_sender_cert_len: Annotated[int, DWORD, "Bytes of the certificate."] = 0
    pul_sender_cert_len_prop: Annotated[int | None, Unique(DWORD), "Bytes of the certificate."] = None
    ppwcs_prov_name: Annotated[
        WcharText | NullPointee | None, _text(this.ul_prov_name_len), "Cryptographic provider."
    ] = None
    ul_prov_name_len: Annotated[int, DWORD, "Characters of its name."] = 0
    pul_auth_prov_name_len_prop: Annotated[int | None, Unique(DWORD), "Characters of its name, and more."] = (
        None
    )
    pul_prov_type: Annotated[int | None, Unique(DWORD), "Type of the provider."] = None
    f_default_provider: Annotated[int, LONG, "Whether it is the default provider."] = 0
    pp_symm_keys: Annotated[
        bytes | NullPointee | None, _octets(this.ul_symm_keys_size), "Encrypted symmetric key."
    ] = None
    ul_symm_keys_size: Annotated[int, DWORD, "Bytes of the key."] = 0
    pul_symm_keys_size_prop: Annotated[int | None, Unique(DWORD), "Bytes of the key."] = None
    b_encrypted: Annotated[int, BYTE, "Whether the body is encrypted."] = 0
    b_authenticated: Annotated[int, BYTE, "Whether the message was authenticated."] = 0
    u_sender_id_len: Annotated[int, WORD, "Bytes of the sender id."] = 0
    pp_signature: Annotated[bytes | NullPointee | None, _octets(this.ul_signature_size), "Signature."] = None
    ul_signature_size: Annotated[int, DWORD, "Bytes of the signature."] = 0
    pul_signature_size_prop: Annotated[int | None, Unique(DWORD), "Bytes of the signature."] = None
    pp_src_qmid: Annotated[GUID | NullPointee | None, Unique(Unique(UUID)), HOST, "Source queue manager."] = (
        None
    )
    p_uow: Annotated[GUID | None, Unique(XACTUOW), IDENTIFIER, "Transaction."] = None
    pp_msg_extension: Annotated[
        bytes | NullPointee | None,
        _varying_octets(this.ul_msg_extension_buffer_in_bytes, this.ul_msg_extension_buffer_in_bytes),
        "Extension data.",
    ] = None
    ul_msg_extension_buffer_in_bytes: Annotated[int, DWORD, "Bytes of the extension data."] = 0
    p_msg_extension_size: Annotated[int | None, Unique(DWORD), "Bytes of the extension data."] = None
    pp_connector_type: Annotated[
        GUID | NullPointee | None, Unique(Unique(UUID)), PUBLIC, "Connector type."
    ] = None
    pul_body_type: Annotated[int | None, Unique(DWORD), "Type of the body."] = None
    pul_version: Annotated[int | None, Unique(DWORD), "Version, 0x10."] = None

    @property
    def receive(self) -> TransferReceive | None:
        """The arm of a receive, by the name under which it is shown; None for another arm."""
        return self.arm if isinstance(self.arm, TransferReceive) else None


CAC_TRANSFER_BUFFER_V1 = Fields(CACTransferBufferV1)


class CACTransferBufferV2(NdrStruct, frozen=True, kw_only=True, gc=False):
    """CACTransferBufferV2: a CACTransferBufferV1 and the message's place in its transaction."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "2.2.3.3")
    old: Annotated[CACTransferBufferV1, CAC_TRANSFER_BUFFER_V1, "All that came before."]
    pb_first_in_xact: Annotated[int | None, Unique(BYTE), "First of its transaction."] = None
    pb_last_in_xact: Annotated[int | None, Unique(BYTE), "Last of its transaction."] = None
    pp_xact_id: Annotated[ObjectId | NullPointee | None, Unique(Unique(OBJECT_ID)), "The transaction."] = None


CAC_TRANSFER_BUFFER_V2 = Fields(CACTransferBufferV2)
