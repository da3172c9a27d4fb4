"""The numbers in calls in words: names of enumerations and flags, statuses, times, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from enum import Enum, IntFlag
from typing import Any

from msmq_wire.records.tree.value_text import count_text, duration_text, unix_time_text
from msmq_wire.rpc.constants import (
    Acknowledgment,
    Auditing,
    AuthenticatedBy,
    ReceiveAction,
    TraceRequest,
    TransferPrivacyLevel,
    constant_name,
)
from msmq_wire.rpc.hresults import describe
from msmq_wire.wire.types.enumerations import (
    BodyType,
    DeliveryMode,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SenderIdType,
)

_INFINITE = 0xFFFFFFFF
_MILLISECONDS = frozenset(("ul_timeout", "request_timeout"))
_TIMES = frozenset(
    (
        "pdw_arrive_time",
        "dw_arrive_time",
        "p_sent_time",
        "p_arrived_time",
        "ul_absolute_time_to_queue",
        "sent_time",
        "arrival_time",
    )
)
_SECONDS = frozenset(
    (
        "pul_relative_time_to_queue",
        "ul_relative_time_to_live",
        "pul_relative_time_to_live",
        "time_to_reach_queue",
        "time_to_be_received",
    )
)
_BYTES = frozenset(
    (
        "dw_max_body_size",
        "dw_max_compound_message_size",
        "dw_size",
        "section_size",
        "section_size_alloc",
        "sd_size",
        "n_length",
        "lpn_length_needed",
        "cb_buf_size",
        "cb_cookie",
        "cb_propagation_token",
        "pcb_whereabouts",
        "ul_body_buffer_size_in_bytes",
        "ul_alloc_body_buffer_in_bytes",
        "ul_msg_extension_buffer_in_bytes",
        "p_body_size",
        "body_length",
        "ul_sender_cert_len",
        "ul_symm_keys_size",
        "ul_signature_size",
        "u_sender_id_len",
    )
)
_NAMES: Mapping[str, type[Enum]] = {
    "action": ReceiveAction,
    "p_class": MessageClass,
    "p_delivery": DeliveryMode,
    "p_acknowledge": Acknowledgment,
    "p_auditing": Auditing,
    "p_trace": TraceRequest,
    "p_authenticated": AuthenticatedBy,
    "pul_sender_id_type": SenderIdType,
    "pul_priv_level": TransferPrivacyLevel,
    "pul_hash_alg": HashAlgorithm,
    "pul_encrypt_alg": EncryptionAlgorithm,
    "pul_body_type": BodyType,
    "message_class": MessageClass,
    "delivery_guarantee": DeliveryMode,
    "acknowledgements_requested": Acknowledgment,
    "authentication_level": AuthenticatedBy,
    "sender_identifier_type": SenderIdType,
    "privacy_level": PrivacyLevel,
    "hash_algorithm": HashAlgorithm,
    "encryption_algorithm": EncryptionAlgorithm,
    "body_type": BodyType,
}
"""What numbers mean whose declaration does not say it."""
_YES_OR_NO = ("f_", "b_", "pb_")


def status_text(code: int) -> tuple[str, str]:
    """A status as its symbol and what it means, its number in front."""
    status = describe(code)
    number = "0" if not status.code else f"0x{status.code:08X}"
    if not status.known:
        return number, "not a known status"
    return f"{number} {status.symbol}", status.meaning


def enumerated_text(names: type[Enum], value: int) -> tuple[str, str]:
    """A number and its name in an enumeration, or its flags by name."""
    shown = str(value) if -10 < value < 10 else f"{value:#x}"
    if issubclass(names, IntFlag):
        return shown, constant_name(names, value).replace("|", " | ") if value else "none"
    member = next((one for one in names if one.value == value), None)
    return shown, "unknown value" if member is None else member.name


def call_number_text(
    name: str, value: int, names: type[Any] | None = None, zone: tzinfo | None = UTC
) -> tuple[str, str]:
    """A number in a call as its value and its meaning, empty where it has none."""
    if name == "status":
        return status_text(value)
    names = names or _NAMES.get(name)
    if isinstance(names, type) and issubclass(names, Enum):
        return enumerated_text(names, value)
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    if name in _MILLISECONDS:
        if value == _INFINITE:
            return str(value), "infinite"
        return f"{value} ms", duration_text(value // 1000) if value >= 1000 else ""
    if name in _TIMES:
        return str(value), unix_time_text(value, zone) if value not in (0, _INFINITE) else ""
    if name in _SECONDS:
        return str(value), duration_text(value)
    if name in _BYTES:
        return count_text(value, "byte"), ""
    if name.startswith(_YES_OR_NO) and value in (0, 1):
        return str(value), "yes" if value else "no"
    return str(value), ""
