"""SecurityHeader with its SecurityData and ProviderInfo, [MS-MQMQ] 2.2.20.6."""

import re
from functools import lru_cache
from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.errors import DecodeError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import aligned, this
from msmq_wire.wire.fields import Bytes, Fill, Node, Opt, WireStruct
from msmq_wire.wire.musts import BitTable, CodedMust, Must, Musts, unused
from msmq_wire.wire.private import Private
from msmq_wire.wire.shown import ABSENT_IF_EMPTY, ShownText
from msmq_wire.wire.types.enumerations import SenderIdType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.sid import SID
from msmq_wire.wire.types.wchar_text import WcharText, must_be_terminated

_SPEC = SpecRef("MS-MQMQ", "2.2.20.6")
_LONGEST = 8 + 4 * 255
"""Bytes of the longest SID that its count can tell."""
_SID_TEXT = re.compile(r"S-[0-9]{1,3}-[0-9]{1,15}(?:-[0-9]{1,10}){0,255}")
_GUID_TEXT = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def sender_text(sender: int, security_id: bytes) -> str | None:
    """A sender as ``S-1-...`` or as a GUID, by its type; None when it is neither."""
    return None if len(security_id) > _LONGEST else _sender_text(sender, bytes(security_id))


@lru_cache(maxsize=1024)
def _sender_text(sender: int, security_id: bytes) -> str | None:
    if sender == SenderIdType.QUEUE_MANAGER_GUID and len(security_id) == 16:
        return str(GUID(security_id))
    if sender == SenderIdType.SID:
        try:
            sid = SID.schema().parse(security_id)
        except DecodeError:
            return None
        if len(security_id) == 8 + 4 * sid.sub_authority_count:
            return str(sid)
    return None


def sender_bytes(sender: int, text: str, _: int) -> bytes | None:
    """The bytes of a sender that `sender_text` shows; None for a text of another type."""
    if sender == SenderIdType.QUEUE_MANAGER_GUID:
        return bytes(GUID.parse(text)) if _GUID_TEXT.fullmatch(text) else None
    if sender != SenderIdType.SID or not _SID_TEXT.fullmatch(text):
        return None
    revision, authority, *parts = map(int, text.split("-")[1:])
    if revision > 0xFF or authority >> 48 or len(parts) > 0xFF or any(part >> 32 for part in parts):
        return None
    sid = SID(
        revision=revision,
        sub_authority_count=len(parts),
        identifier_authority=authority,
        sub_authority=tuple(parts),
    )
    return SID.schema().build(sid)


class ProviderInfo(WireStruct, frozen=True, kw_only=True, gc=False):
    """The cryptographic provider behind a signature when it is not the default one."""

    SPEC: ClassVar[SpecRef] = _SPEC
    provider_type: Annotated[int, Int32ul, "Type of the provider."] = 0
    provider_name: Annotated[
        WcharText, Bytes(this._._.provider_info_size - 4, WcharText), "Name of the provider."
    ] = WcharText()

    MUSTS: ClassVar[Musts] = (
        must_be_terminated("provider-name-terminated", "provider_name", "ProviderName must end with a NUL"),
    )


class SecurityData(WireStruct, frozen=True, kw_only=True, gc=False):
    """Five optional items, each padded to 4 bytes; an item of size 0 takes no space."""

    SPEC: ClassVar[SpecRef] = _SPEC
    security_id: Annotated[
        bytes,
        Bytes(this._.sender_id_size),
        ShownText(sender_text, by="_.flags", mask=0xF, value=sender_bytes),
        ABSENT_IF_EMPTY,
        Private("host", "sender", this._.flags & 0xF),
        "SID of the sender, or GUID of its queue manager, by ST.",
    ] = b""
    security_id_padding: Annotated[bytes, Fill(-this._.sender_id_size & 3), "Any bytes."] = b""
    encryption_key: Annotated[
        bytes,
        Bytes(this._.encryption_key_size),
        ABSENT_IF_EMPTY,
        "Symmetric key, encrypted (SIMPLEBLOB, [MS-MQQB] 2.4.2).",
    ] = b""
    encryption_key_padding: Annotated[bytes, Fill(-this._.encryption_key_size & 3), "Any bytes."] = b""
    signature: Annotated[bytes, Bytes(this._.signature_size), ABSENT_IF_EMPTY, "Digital signature."] = b""
    signature_padding: Annotated[bytes, Fill(-this._.signature_size & 3), "Any bytes."] = b""
    sender_cert: Annotated[
        bytes, Bytes(this._.sender_cert_size), ABSENT_IF_EMPTY, "X.509 certificate of the sender."
    ] = b""
    sender_cert_padding: Annotated[bytes, Fill(-this._.sender_cert_size & 3), "Any bytes."] = b""
    provider_info: Annotated[
        ProviderInfo | None,
        Opt(this._.provider_info_size != 0, Node(ProviderInfo)),
        "Provider that made the signature.",
    ] = None
    provider_info_padding: Annotated[bytes, Fill(-this._.provider_info_size & 3), "Any bytes."] = b""


def _is_sid(flags: int, security_id: bytes) -> bool:
    if flags & 0xF != SenderIdType.SID:
        return True
    # Revision and count of sub-authorities are the first two bytes of a SID.
    if len(security_id) < 8 or security_id[0] != 1 or security_id[1] > 15:
        return False
    return len(security_id) == 8 + 4 * security_id[1]


class SecurityHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Who sent a message, and how it is signed and encrypted."""

    SPEC: ClassVar[SpecRef] = _SPEC
    flags: Annotated[int, Int16ul, "Kind of sender identifier, encryption, provider."] = 2
    sender_id_size: Annotated[int, Int16ul, "Bytes of SecurityID."] = 16
    encryption_key_size: Annotated[int, Int16ul, "Bytes of EncryptionKey."] = 0
    signature_size: Annotated[int, Int16ul, "Bytes of Signature."] = 0
    sender_cert_size: Annotated[int, Int32ul, "Bytes of SenderCert, at most 0xFFFF."] = 0
    provider_info_size: Annotated[int, Int32ul, "Bytes of ProviderInfo."] = 0
    # AI says whether there is data, but the published frame has data with AI clear: the sizes decide.
    security_data: Annotated[SecurityData, Node(SecurityData), "The items that have a size."] = SecurityData(
        security_id=bytes(16)
    )

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        st=(0, 4, SenderIdType, "sender identifier"),
        au=(4, "signature was verified"),
        eb=(5, "body is encrypted"),
        de=(6, "default cryptographic provider"),
        ai=(7, "SecurityData follows"),
        as_=(8, 4, "how the signature was verified"),
        **unused(12, 15),
    )
    MUSTS: ClassVar[Musts] = (
        Must("sender-id-type", this.flags & 0xF <= 2, at="flags", message="ST must be 0, 1 or 2"),
        Must(
            "sender-id-absent",
            (this.flags & 0xF != 0) | (this.sender_id_size == 0),
            at="sender_id_size",
            message="with ST 0, SenderIdSize must be 0",
        ),
        Must(
            "sender-id-present",
            (this.flags & 0xF == 0) | (this.sender_id_size != 0),
            at="sender_id_size",
            message="with ST 1 or 2 there must be a SecurityID",
        ),
        CodedMust(
            "sender-sid",
            _is_sid,
            "flags",
            "security_data.security_id",
            at="security_data.security_id",
            message="with ST 1, SecurityID must be a SID",
        ),
        Must(
            "sender-guid",
            (this.flags & 0xF != 2) | (this.sender_id_size == 16),
            at="sender_id_size",
            message="with ST 2, SecurityID must be a GUID",
        ),
        Must(
            "authenticated",
            (this._.remote_read == 1) | (this.flags & 0x10 == 0),
            at="flags",
            message="AU must be 0 in a packet that is sent",
        ),
        Must(
            "authentication-signature",
            (this._.remote_read == 1) | (this.flags & 0xF00 == 0),
            at="flags",
            message="AS must be 0 in a packet that is sent",
        ),
        Must(
            "sender-cert-size",
            this.sender_cert_size <= 0xFFFF,
            at="sender_cert_size",
            message="SenderCertSize must not exceed 0xFFFF",
        ),
        Must(
            "security-data",
            this.sender_id_size
            + this.encryption_key_size
            + this.signature_size
            + this.sender_cert_size
            + this.provider_info_size
            > 0,
            at="sender_id_size",
            message="at least one size must not be 0",
        ),
        Must(
            "sizes-wrap",
            aligned(this.sender_id_size)
            + aligned(this.encryption_key_size)
            + aligned(this.signature_size)
            + aligned(this.sender_cert_size)
            + aligned(this.provider_info_size)
            + 16
            < 1 << 32,
            at="provider_info_size",
            message="the sizes must add up within 32 bits",
        ),
        Must(
            "provider-unasked",
            (this.flags & 0x40 == 0) | (this.provider_info_size == 0),
            at="provider_info_size",
            message="with DE set there must be no ProviderInfo",
        ),
        Must(
            "provider-missing",
            (this.flags & 0x40 != 0) | (this.signature_size == 0) | (this.provider_info_size != 0),
            at="provider_info_size",
            message="with DE clear a signature needs ProviderInfo",
        ),
        Must(
            "encryption-key",
            (this.flags & 0x20 == 0) | (this.encryption_key_size != 0),
            at="encryption_key_size",
            message="an encrypted body needs an EncryptionKey",
            spec=SpecRef("MS-MQQB", "3.1.7.1.5"),
        ),
    )


def security_id_text(header: SecurityHeader) -> str | None:
    """The sender of a message by ST; None when it is neither a SID nor a GUID."""
    return sender_text(header.bit("st"), header.security_data.security_id)
