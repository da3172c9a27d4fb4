"""A CACTransferBufferV2 as the message it carries. [MS-MQMP] 3.1.1.11

The rule kept here: what is not message data is not shown as such. In a request to receive, every buffer is
room in the client's memory with whatever lay there; in an answer, a buffer is filled up to the length that
its own member gives and no further; of a message that is sent, members that the server ignores say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec

from msmq_wire.errors import FormatNameError
from msmq_wire.representation import struct_line
from msmq_wire.rpc.constants import Auditing, TransferPrivacyLevel, TransferType
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.names.queue_format_types import QueueFormatType
from msmq_wire.wire.private import BODY, CORRELATION, HOST, LABEL, PUBLIC, QUEUE_NAME, Private
from msmq_wire.wire.types.enumerations import PrivacyLevel
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText


class MessageProperties(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The attributes of Message that a transfer buffer conveys, [MS-MQDMPR] 3.1.1.12; None: not conveyed.

    Where packets have the same property the numbers are those of a packet: ``message_class`` (Class),
    ``delivery_guarantee``, ``acknowledgements_requested`` (bits PA, PR, NA, NR), ``sender_identifier_type``,
    ``privacy_level`` (0, 1, 3, 5), ``hash_algorithm``, ``encryption_algorithm``, ``body_type``. Times are
    seconds since 1970; ``time_to_reach_queue`` and ``time_to_be_received`` are seconds, 0xFFFFFFFF for ever.
    ``authentication_level`` is 0, 1, 3, 5 or 9 (`AuthenticatedBy`).

    ``body_length`` counts the bytes of the whole body, also of one that was cut. ``body_encrypted`` is known
    for messages that are sent. ``leading_signature`` is the first of two signatures, which servers ignore;
    the other is ``signature``. ``truncated`` names the attributes of which the buffer holds a part only,
    ``problems`` says in sentences what cannot be trusted. A queue that has no format name is not conveyed.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "3.1.1.11")
    message_class: int | None = None
    identifier: ObjectId | None = None
    correlation_identifier: Annotated[bytes | None, CORRELATION] = None
    sent_time: int | None = None
    arrival_time: int | None = None
    priority: int | None = None
    delivery_guarantee: int | None = None
    acknowledgements_requested: Annotated[
        int | None, "Acknowledgments that are wanted, bits as in a packet."
    ] = None
    positive_journaling_requested: Annotated[bool | None, "Whether a copy goes to the journal queue."] = None
    negative_journaling_requested: Annotated[
        bool | None, "Whether a message that fails goes to the dead-letter queue."
    ] = None
    application_tag: int | None = None
    label: Annotated[WcharText | None, LABEL] = None
    body_type: int | None = None
    body: Annotated[bytes | None, BODY] = None
    body_length: Annotated[int | None, "Bytes of the whole body, also of one that was cut."] = None
    body_encrypted: bool | None = None
    extension: Annotated[bytes | None, BODY] = None
    destination_queue_format_name: Annotated[str | None, QUEUE_NAME] = None
    administration_queue_format_name: Annotated[str | None, QUEUE_NAME] = None
    response_queue_format_name: Annotated[str | None, QUEUE_NAME] = None
    transaction_status_queue_format_name: Annotated[str | None, QUEUE_NAME] = None
    time_to_reach_queue: Annotated[int | None, "Seconds to reach the queue, 0xFFFFFFFF for ever."] = None
    time_to_be_received: Annotated[int | None, "Seconds to be received in, 0xFFFFFFFF for ever."] = None
    tracing_requested: bool | None = None
    source_machine_identifier: Annotated[GUID | None, HOST] = None
    connector_type_identifier: Annotated[GUID | None, PUBLIC] = None
    sender_identifier_type: int | None = None
    sender_identifier: Annotated[bytes | None, Private("host", "sender", this.sender_identifier_type)] = None
    sender_certificate: bytes | None = None
    authentication_level: Annotated[int | None, "Kind of the signature that was checked."] = None
    authentication_provider_type: int | None = None
    authentication_provider_name: WcharText | None = None
    hash_algorithm: int | None = None
    signature: bytes | None = None
    leading_signature: Annotated[bytes | None, "The first of two signatures, which servers ignore."] = None
    privacy_level: Annotated[int | None, "Encryption of the body, numbers as in a packet."] = None
    encryption_algorithm: int | None = None
    symmetric_key: bytes | None = None
    first_in_transaction: bool | None = None
    last_in_transaction: bool | None = None
    transaction_identifier: ObjectId | None = None
    truncated: Annotated[tuple[str, ...], PUBLIC, "Properties of which the buffer holds a part only."] = ()
    problems: Annotated[tuple[str, ...], PUBLIC, "What cannot be trusted, in sentences."] = ()

    __repr__ = struct_line


PRIVACY_LEVELS: Mapping[int, int] = {
    0: PrivacyLevel.NONE,
    1: PrivacyLevel.BITS_40,
    2: PrivacyLevel.BITS_128,
    3: PrivacyLevel.BITS_128,
    5: PrivacyLevel.AES,
}
"""pulPrivLevel -> PrivacyLevel; 2 is of [MS-MQMP] 2.2.3.2, 3 and 5 of mq.h, which applications use."""

TRANSFER_LEVELS: Mapping[int, int] = {
    PrivacyLevel.NONE: TransferPrivacyLevel.MQMSG_PRIV_LEVEL_NONE,
    PrivacyLevel.BITS_40: TransferPrivacyLevel.MQMSG_PRIV_LEVEL_BODY_BASE,
    PrivacyLevel.BITS_128: TransferPrivacyLevel.MQMSG_PRIV_LEVEL_BODY_ENHANCED,
}
"""PrivacyLevel -> pulPrivLevel of [MS-MQMP] 2.2.3.2, which has none for AES; that stays 5."""

Conversion: TypeAlias = Callable[[Any], Any]


def _as_it_is(value: Any) -> Any:
    return value


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """One row: a member of the buffer and the attribute of Message that it stands for.

    ``member`` is a path in `CACTransferBufferV2`, ``propid`` the message property that applications know.
    ``sent`` and ``received`` tell in which direction the member has a meaning. ``convert`` gives the
    attribute for a value that is there, or None when the value holds nothing; ``restore`` gives the value
    for an attribute. ``absent`` is the value of a message that has no such attribute. ``mask`` are the bits
    of the member that stand for the attribute, where others stand for another one.

    ``room`` is the member that counts the elements of the buffer, each of ``unit`` bytes, ``sent_length``
    those of its content in a message that is sent, ``received_length`` those of the whole attribute in one
    that is received. ``optional``: a length of 0 says that the message has no such attribute.
    """

    attribute: str
    member: str
    propid: int | None
    convert: Conversion
    restore: Conversion = _as_it_is
    absent: Any = 0
    mask: int = 0
    sent: bool = True
    received: bool = True
    room: str = ""
    sent_length: str = ""
    received_length: str = ""
    unit: int = 1
    optional: bool = True


def _bits(mask: int) -> Conversion:
    return lambda value: mask if value else 0


def _restored_text(value: Any) -> WcharText:
    if isinstance(value, str):
        return WcharText.of(value)
    return value if value.terminated else WcharText(value + bytes(2))


def _restored_queue(value: str) -> QueueFormat:
    kind, _, text = value.partition("=")
    try:
        return QueueFormat.of(FormatName.parse(value))
    except FormatNameError:
        # A direct name that was sent and refused is sent as it was.
        if kind != QueueFormatType.DIRECT.name:
            raise
        return QueueFormat(m_qft=QueueFormatType.DIRECT, arm=WcharText.of(text))


def _restored_level(value: int) -> int:
    return TRANSFER_LEVELS.get(value, value)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _flag(value: Any) -> bool | None:
    return value != 0 if isinstance(value, int) else None


def _bit(mask: int) -> Conversion:
    return lambda value: value & mask != 0 if isinstance(value, int) else None


def _octets(value: Any) -> bytes | None:
    return value if isinstance(value, bytes) else None


def _guid(value: Any) -> GUID | None:
    return value if isinstance(value, GUID) else None


def _object_id(value: Any) -> ObjectId | None:
    return value if isinstance(value, ObjectId) else None


def _terminated(value: Any) -> WcharText | None:
    return WcharText(value[: FixedWcharText(value).used]) if isinstance(value, bytes) else None


def _ends(value: bytes) -> bool:
    return FixedWcharText(value).used < len(value)


def _text(value: Any) -> str | None:
    found = _terminated(value)
    return None if found is None else found.text


def _privacy_level(value: Any) -> int | None:
    return PRIVACY_LEVELS.get(value, value) if isinstance(value, int) else None


def _time_to_reach_queue(value: Any) -> int | None:
    # [MS-MQMP] 3.1.5.2: the server takes 0 as no limit.
    return (value or 0xFFFFFFFF) if isinstance(value, int) else None


def _queue_name(value: Any) -> str | None:
    return value.shown_name if isinstance(value, QueueFormat) else None


_RESTORE: Mapping[Conversion, Conversion] = {
    _flag: int,
    _terminated: _restored_text,
    _text: _restored_text,
    _queue_name: _restored_queue,
    _privacy_level: _restored_level,
}
_ABSENT: Mapping[Conversion, Any] = {_object_id: ObjectId(), _guid: NULL_GUID, _octets: b""}


def _row(attribute: str, member: str, propid: int | None, convert: Conversion, **how: Any) -> Translation:
    how = {"restore": _RESTORE.get(convert, _as_it_is), "absent": _ABSENT.get(convert, 0), **how}
    return Translation(attribute=attribute, member=member, propid=propid, convert=convert, **how)


def _both(
    attribute: str, member: str, propid: int | None, convert: Conversion = _number, **how: Any
) -> Translation:
    return _row(attribute, f"old.{member}", propid, convert, **how)


def _auditing(attribute: str, mask: int) -> Translation:
    return _both(attribute, "p_auditing", 7, _bit(mask), restore=_bits(mask), mask=mask)


def _sent(attribute: str, member: str, propid: int | None, convert: Conversion, **how: Any) -> Translation:
    return _row(attribute, f"old.{member}", propid, convert, received=False, **how)


def _received(
    attribute: str, member: str, propid: int | None, convert: Conversion = _number, **how: Any
) -> Translation:
    return _row(attribute, member, propid, convert, sent=False, **how)


def _received_name(attribute: str, queue: str, propid: int) -> Translation:
    return _received(
        attribute,
        f"old.arm.pp_{queue}_format_name",
        propid,
        _text,
        absent=WcharText(),
        room=f"old.arm.ul_{queue}_format_name_len",
        received_length=f"old.arm.pul_{queue}_format_name_len_prop",
        unit=2,
    )


def _sized(
    attribute: str,
    member: str,
    propid: int,
    convert: Conversion,
    room: str,
    received_length: str,
    *,
    sent_length: str = "",
    optional: bool = True,
) -> Translation:
    return _row(
        attribute,
        f"old.{member}",
        propid,
        convert,
        absent=b"" if optional or convert is not _terminated else WcharText(bytes(2)),
        room=f"old.{room}",
        sent_length=f"old.{sent_length or room}",
        received_length=f"old.{received_length}",
        unit=2 if convert is _terminated else 1,
        optional=optional,
    )


TRANSLATIONS: tuple[Translation, ...] = (
    _sent("administration_queue_format_name", "arm.p_admin_queue_format", 17, _queue_name),
    _sent("response_queue_format_name", "arm.p_response_queue_format", 15, _queue_name),
    _received_name("response_queue_format_name", "response", 54),
    _received_name("administration_queue_format_name", "admin", 17),
    _received_name("destination_queue_format_name", "dest", 58),
    _received_name("transaction_status_queue_format_name", "ordering", 39),
    _both("message_class", "p_class", 1),
    _received("identifier", "old.pp_message_id", 2, _object_id),
    _both("correlation_identifier", "pp_correlation_id", 3, _octets, absent=bytes(20)),
    _received("sent_time", "old.p_sent_time", 31),
    _received("arrival_time", "old.p_arrived_time", 32),
    _both("priority", "p_priority", 4),
    _both("delivery_guarantee", "p_delivery", 5),
    _both("acknowledgements_requested", "p_acknowledge", 6),
    _auditing("positive_journaling_requested", Auditing.MQMSG_JOURNAL),
    _auditing("negative_journaling_requested", Auditing.MQMSG_DEADLETTER),
    _both("application_tag", "p_application_tag", 8),
    _sized(
        "body",
        "pp_body",
        9,
        _octets,
        "ul_alloc_body_buffer_in_bytes",
        "p_body_size",
        sent_length="ul_body_buffer_size_in_bytes",
        optional=False,
    ),
    _received("body_length", "old.p_body_size", 10),
    _sent("body_encrypted", "b_encrypted", None, _flag),
    _sized(
        "label",
        "pp_title",
        11,
        _terminated,
        "ul_title_buffer_size_in_wchars",
        "pul_title_buffer_size_in_wchars",
        optional=False,
    ),
    _sent("time_to_reach_queue", "ul_absolute_time_to_queue", 13, _time_to_reach_queue),
    _received("time_to_reach_queue", "old.pul_relative_time_to_queue", 13, absent=0xFFFFFFFF),
    _sent("time_to_be_received", "ul_relative_time_to_live", 14, _number, absent=0xFFFFFFFF),
    _received("time_to_be_received", "old.pul_relative_time_to_live", 14, absent=0xFFFFFFFF),
    _both("tracing_requested", "p_trace", 41, _flag),
    _both("sender_identifier_type", "pul_sender_id_type", 22),
    _sized("sender_identifier", "pp_sender_id", 20, _octets, "u_sender_id_len", "pul_sender_id_len_prop"),
    _both("privacy_level", "pul_priv_level", 23, _privacy_level),
    _received("authentication_level", "old.p_authenticated", 25),
    _both("hash_algorithm", "pul_hash_alg", 26),
    _both("encryption_algorithm", "pul_encrypt_alg", 27),
    _sized(
        "sender_certificate", "pp_sender_cert", 28, _octets, "ul_sender_cert_len", "pul_sender_cert_len_prop"
    ),
    _sized(
        "authentication_provider_name",
        "ppwcs_prov_name",
        48,
        _terminated,
        "ul_prov_name_len",
        "pul_auth_prov_name_len_prop",
    ),
    _both("authentication_provider_type", "pul_prov_type", 47),
    _sized("symmetric_key", "pp_symm_keys", 43, _octets, "ul_symm_keys_size", "pul_symm_keys_size_prop"),
    _sized("signature", "pp_signature", 45, _octets, "ul_signature_size", "pul_signature_size_prop"),
    _received("source_machine_identifier", "old.pp_src_qmid", 30, _guid),
    _sized(
        "extension",
        "pp_msg_extension",
        35,
        _octets,
        "ul_msg_extension_buffer_in_bytes",
        "p_msg_extension_size",
    ),
    _both("connector_type_identifier", "pp_connector_type", 38, _guid),
    _both("body_type", "pul_body_type", 42),
    _received("first_in_transaction", "pb_first_in_xact", 50, _flag),
    _received("last_in_transaction", "pb_last_in_xact", 51, _flag),
    _received("transaction_identifier", "pp_xact_id", 52, _object_id),
)
"""The rows of [MS-MQMP] 3.1.1.11, lengths with what they count, and bEncrypted, which explains the body."""


def message_properties(buffer: CACTransferBufferV2, *, filled: bool = True) -> MessageProperties:
    """Return the message in a transfer buffer, as far as it is there.

    ``filled`` is False for a buffer that a server has yet to fill, or failed to: that of the request of
    rpc_ACReceiveMessageEx, and of a response whose status is an error. Then nothing in it is message data.
    A buffer that creates a cursor has no message either. Nothing is raised, whatever ``buffer`` lacks.
    """
    transfer = member_at(buffer, "old.u_transfer_type")
    if not filled or transfer not in (TransferType.CACTB_SEND, TransferType.CACTB_RECEIVE):
        return MessageProperties()
    sending = transfer == TransferType.CACTB_SEND
    found: dict[str, Any] = {}
    truncated: list[str] = []
    problems: list[str] = []
    for row in TRANSLATIONS:
        if not (row.sent if sending else row.received):
            continue
        value = member_at(buffer, row.member)
        length = member_at(buffer, row.sent_length if sending else row.received_length)
        if isinstance(value, bytes) and isinstance(length, int):
            if not length and row.optional:
                continue
            if length * row.unit > len(value) and not (row.unit == 2 and _ends(value)):
                truncated.append(row.attribute)
            value = value[: length * row.unit]
        elif isinstance(value, bytes) and row.room and row.unit == 1:
            problems.append(
                f"{row.attribute}: where it ends is not said, what follows is the client's memory"
            )
        converted = row.convert(value)
        if converted is not None:
            found[row.attribute] = converted
    if sending:
        _complete_sent(buffer, found, problems)
    return MessageProperties(**found, truncated=tuple(truncated), problems=tuple(problems))


def member_at(buffer: CACTransferBufferV2, path: str) -> Any:
    """What stands at a path of `Translation`; None where there is no such member."""
    value: Any = buffer
    for part in path.split(".") if path else ():
        value = getattr(value, part, None)
    return value if path else None


def _complete_sent(buffer: CACTransferBufferV2, found: dict[str, Any], problems: list[str]) -> None:
    """The length of the body, and the two signatures that one member can hold. [MS-MQMP] 3.1.5.2"""
    if "body" in found:
        found["body_length"] = _number(buffer.old.ul_body_buffer_size_in_bytes)
    signature = found.get("signature")
    name_length = _number(buffer.old.ul_prov_name_len)
    both_lengths = _number(buffer.old.pul_auth_prov_name_len_prop)
    if signature is None or name_length is None or both_lengths is None:
        return
    second = both_lengths - name_length
    if 0 < second <= len(signature):
        found["signature"] = signature[-second:]
        if second < len(signature):
            found["leading_signature"] = signature[:-second]
    elif second:
        problems.append(f"signature: {len(signature)} bytes cannot end with a second one of {second} bytes")
