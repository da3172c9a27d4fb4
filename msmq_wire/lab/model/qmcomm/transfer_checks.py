"""What the buffers of who sends and who receives must be like. [MS-MQMP] 2.2.3.2, 3.1.5.2, 3.1.5.3

The rule kept here: a check looks at one buffer and at nothing else, and changes nothing. The document leaves
the codes open; they are those that Windows documents for the case, or the nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msmq_wire.lab.model.interface_server import BAD_STUB_DATA
from msmq_wire.rpc.constants import ReceiveAction, TransferType
from msmq_wire.rpc.ndr import NullPointee
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferReceive,
    TransferSend,
)
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, HashAlgorithm, SenderIdType

_NAME_LIMIT = 1024
_LABEL_LIMIT = 250
_HASHES = frozenset(HashAlgorithm)
_CIPHERS = frozenset({EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4})
_SENDER_ID_TYPES = frozenset(SenderIdType)
_ACKNOWLEDGMENTS = 0x0F
"""Any of the four bits, as in a packet. [MS-MQMQ] 2.2.19.3"""
_PROV_RSA_FULL = 1
_ACTIONS = frozenset(
    {
        ReceiveAction.MQ_ACTION_RECEIVE,
        ReceiveAction.MQ_ACTION_PEEK_CURRENT,
        ReceiveAction.MQ_ACTION_PEEK_NEXT,
    }
)
_Broken: TypeAlias = Callable[[CACTransferBufferV1], bool]


def undispatched(buffer: CACTransferBufferV2) -> int | None:
    """The fault with which the RPC runtime refuses a buffer beyond the bounds of its type, or None.

    [MS-MQMP] 2.2.3.2
    """
    old, arm = buffer.old, buffer.old.arm
    names: tuple[int, ...] = ()
    if isinstance(arm, TransferReceive):
        names = (
            arm.ul_response_format_name_len,
            arm.ul_admin_format_name_len,
            arm.ul_dest_format_name_len,
            arm.ul_ordering_format_name_len,
        )
    correlation = old.pp_correlation_id
    beyond = (
        old.u_transfer_type > TransferType.CACTB_CREATECURSOR
        or any(length > _NAME_LIMIT for length in names)
        or (isinstance(correlation, bytes) and len(correlation) != 20)
    )
    return BAD_STUB_DATA if beyond else None


def _null(value: Any) -> bool:
    return value is None or isinstance(value, NullPointee)


def _is_no_queue(value: Any) -> bool:
    return value is not None and not (isinstance(value, QueueFormat) and value.format_name is not None)


def _not_in(value: int | None, allowed: frozenset[Any]) -> bool:
    return value is not None and value not in allowed


def _two_signatures(old: CACTransferBufferV1) -> bool:
    """Whether the lengths of the two parts of a signature are impossible."""
    both = old.pul_auth_prov_name_len_prop
    if not old.ul_signature_size or both is None or _null(old.pp_signature):
        return False
    return not 0 <= both - old.ul_prov_name_len <= old.ul_signature_size


def _provider(old: CACTransferBufferV1) -> bool:
    if not old.ul_signature_size:
        return False
    if old.f_default_provider:
        return old.pul_prov_type != _PROV_RSA_FULL
    return _null(old.ppwcs_prov_name)


def _sender(old: CACTransferBufferV1) -> bool:
    kind = old.pul_sender_id_type
    if kind is None:
        return old.u_sender_id_len != 0
    if _null(old.pp_sender_id):
        return old.u_sender_id_len != 0 or kind != SenderIdType.NONE
    return kind == SenderIdType.NONE or kind not in _SENDER_ID_TYPES


def _encryption(old: CACTransferBufferV1) -> bool:
    if old.pul_encrypt_alg is None:
        return old.pul_priv_level is not None
    return bool(old.pul_priv_level) and old.pul_encrypt_alg not in _CIPHERS


_SEND: tuple[tuple[_Broken, int], ...] = (
    (lambda old: old.u_transfer_type != TransferType.CACTB_SEND, Status.MQ_ERROR_INVALID_PARAMETER),
    (lambda old: not isinstance(old.arm, TransferSend), Status.MQ_ERROR_INVALID_PARAMETER),
    (lambda old: _is_no_queue(old.arm.p_admin_queue_format), Status.MQ_ERROR_ILLEGAL_FORMATNAME),
    (lambda old: _is_no_queue(old.arm.p_response_queue_format), Status.MQ_ERROR_ILLEGAL_FORMATNAME),
    (lambda old: (old.p_priority or 0) > 7, Status.MQ_ERROR_PROPERTY),
    (
        lambda old: (
            not _null(old.pp_body) and old.ul_body_buffer_size_in_bytes > old.ul_alloc_body_buffer_in_bytes
        ),
        Status.MQ_ERROR_INVALID_PARAMETER,
    ),
    (
        lambda old: bool(old.ul_signature_size) and old.pul_hash_alg not in _HASHES,
        Status.MQ_ERROR_PROPERTY,
    ),
    (_encryption, Status.MQ_ERROR_PROPERTY),
    (
        lambda old: _null(old.pp_sender_cert) and old.ul_sender_cert_len != 0,
        Status.MQ_ERROR_CERTIFICATE_NOT_PROVIDED,
    ),
    (_sender, Status.MQ_ERROR_PROPERTY),
    (
        lambda old: _null(old.pp_symm_keys) and old.ul_symm_keys_size != 0,
        Status.MQ_ERROR_CORRUPTED_SECURITY_DATA,
    ),
    (_provider, Status.MQ_ERROR_PROPERTY),
    (_two_signatures, Status.MQ_ERROR_INVALID_PARAMETER),
    (lambda old: _not_in(old.p_delivery, frozenset({0, 1})), Status.MQ_ERROR_PROPERTY),
    (lambda old: bool((old.p_acknowledge or 0) & ~_ACKNOWLEDGMENTS), Status.MQ_ERROR_PROPERTY),
    (lambda old: (old.p_auditing or 0) > 3, Status.MQ_ERROR_PROPERTY),
    (lambda old: _not_in(old.p_trace, frozenset({0, 1})), Status.MQ_ERROR_PROPERTY),
    (lambda old: _not_in(old.pul_priv_level, frozenset({0, 1, 2})), Status.MQ_ERROR_PROPERTY),
)


def check_send(buffer: CACTransferBufferV2 | None, *, direct: bool) -> int:
    """MQ_OK, or why a message cannot be sent; ``direct`` if its queue was opened by a direct format name.

    [MS-MQMP] 3.1.5.2
    """
    if buffer is None:
        return Status.MQ_ERROR_INVALID_PARAMETER
    if direct and buffer.old.u_transfer_type == TransferType.CACTB_SEND and buffer.old.pul_priv_level:
        return Status.MQ_ERROR_INVALID_PARAMETER
    return next((status for broken, status in _SEND if broken(buffer.old)), Status.MQ_OK)


def _room_without_name(name: Any, room: int, reported: int | None) -> bool:
    """Whether there is room for what is not wanted, or a room whose size is not told."""
    return room != 0 if _null(name) else reported is None


def _names(old: CACTransferBufferV1) -> bool:
    arm = old.arm
    return (
        _room_without_name(
            arm.pp_response_format_name,
            arm.ul_response_format_name_len,
            arm.pul_response_format_name_len_prop,
        )
        or _room_without_name(
            arm.pp_admin_format_name, arm.ul_admin_format_name_len, arm.pul_admin_format_name_len_prop
        )
        or _room_without_name(
            arm.pp_dest_format_name, arm.ul_dest_format_name_len, arm.pul_dest_format_name_len_prop
        )
        or _room_without_name(
            arm.pp_ordering_format_name,
            arm.ul_ordering_format_name_len,
            arm.pul_ordering_format_name_len_prop,
        )
    )


def _label(old: CACTransferBufferV1) -> bool:
    room = old.ul_title_buffer_size_in_wchars
    return room > _LABEL_LIMIT or _room_without_name(old.pp_title, room, old.pul_title_buffer_size_in_wchars)


_RECEIVE: tuple[_Broken, ...] = (
    lambda old: old.u_transfer_type != TransferType.CACTB_RECEIVE,
    lambda old: not isinstance(old.arm, TransferReceive),
    lambda old: old.arm.action not in _ACTIONS,
    _names,
    lambda old: (
        _null(old.pp_body) and bool(old.ul_body_buffer_size_in_bytes or old.ul_alloc_body_buffer_in_bytes)
    ),
    _label,
    lambda old: _null(old.pp_msg_extension) and old.ul_msg_extension_buffer_in_bytes != 0,
)


def check_receive(buffer: CACTransferBufferV2 | None) -> int:
    """MQ_OK, or MQ_ERROR_INVALID_PARAMETER for a buffer in which no message can be received.

    [MS-MQMP] 3.1.5.3
    """
    if buffer is None or any(broken(buffer.old) for broken in _RECEIVE):
        return Status.MQ_ERROR_INVALID_PARAMETER
    return Status.MQ_OK
