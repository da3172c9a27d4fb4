"""What is known about a body that is encrypted: the cipher, the provider, the size of the key.

The rule kept here: nothing is decrypted, and the bytes are not looked at.
"""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.records.bodies.body import Body, BodyKinds
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.sealing.simple_blob import SimpleBlob
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, PrivacyLevel

KINDS = (
    BodyKinds(
        ("encrypted",),
        "EB of SecurityHeader, PrivacyLevel, or bEncrypted of a transfer buffer",
        "see [below](#encrypted-bodies)",
    ),
)

assert SecurityHeader.BITS is not None
_ENCRYPTED = SecurityHeader.BITS.bits["eb"].mask

# [MS-MQQB] 3.1.5.8.3: what decrypts a body goes by its privacy level. ProviderInfo is about the signature.
_PROVIDERS = {
    int(PrivacyLevel.BITS_40): "Microsoft Base Cryptographic Provider v1.0",
    int(PrivacyLevel.BITS_128): "Microsoft Enhanced Cryptographic Provider v1.0",
    int(PrivacyLevel.AES): "Microsoft Enhanced RSA and AES Cryptographic Provider",
}


class EncryptedBody(msgspec.Struct, frozen=True, kw_only=True):
    """How a body is encrypted ([MS-MQMQ] 2.2.19.3, 2.2.20.6); what the headers do not say is None.

    ``privacy_level`` and ``algorithm`` are numbers as on the wire, ``key`` the encrypted symmetric key,
    ``provider`` and ``provider_type`` those of ProviderInfo, the provider of the signature, empty for the
    default one. ``declared`` is false where only the privacy level speaks of encryption, not the EB bit.
    ``in_transfer`` says that it came in a transfer buffer, which numbers its levels otherwise.
    """

    declared: bool = True
    in_transfer: bool = False
    privacy_level: int | None = None
    algorithm: int | None = None
    key: bytes = b""
    provider: str = ""
    provider_type: int | None = None

    @property
    def key_algorithm(self) -> int | None:
        """The algorithm in the SIMPLEBLOB of the key; None when the key is none."""
        blob = SimpleBlob.parse(self.key)
        return None if blob is None else blob.session_key_algorithm

    @property
    def cipher_provider(self) -> str:
        """The provider that decrypts the body, by the privacy level; empty for a level without one."""
        return "" if self.privacy_level is None else _PROVIDERS.get(self.privacy_level, "")

    @property
    def packet_level(self) -> int | None:
        """PrivacyLevel as a receiver of the packet judges it; None where there is no packet."""
        return None if self.in_transfer else self.privacy_level


def encrypted_body(packet: Any) -> EncryptedBody | None:
    """How the body of a packet is encrypted; None when it is not.

    The packet may be a part of one, or a MessagePropertiesHeader alone; EB of SecurityHeader or PrivacyLevel
    of MessagePropertiesHeader count.
    """
    security = getattr(packet, "security_header", None)
    properties = getattr(packet, "message_properties_header", packet)
    level = algorithm = None
    if isinstance(properties, MessagePropertiesHeader):
        level, algorithm = _integer(properties.privacy_level), _integer(properties.encryption_algorithm)
    declared = (
        isinstance(security, SecurityHeader)
        and isinstance(security.flags, int)
        and bool(security.flags & _ENCRYPTED)
    )
    if not declared and not level:
        return None
    key, provider, provider_type = b"", "", None
    if isinstance(security, SecurityHeader):
        data = security.security_data
        found = getattr(data, "encryption_key", None)
        key = found if isinstance(found, bytes) else b""
        info = getattr(data, "provider_info", None)
        name = getattr(info, "provider_name", None)
        provider = "" if name is None or name is msgspec.UNSET else str(name.text)
        provider_type = _integer(getattr(info, "provider_type", None))
    return EncryptedBody(
        declared=declared,
        privacy_level=level,
        algorithm=algorithm,
        key=key,
        provider=provider,
        provider_type=provider_type,
    )


def encrypted_transfer(message: MessageProperties) -> EncryptedBody | None:
    """How the body in a transfer buffer is encrypted ([MS-MQMP] 2.2.3.2); None when it is not.

    bEncrypted counts, which says that the application encrypted the body. A privacy level alone asks the
    server to do so, or tells that it did: the body in the buffer is in the clear.
    """
    if not message.body_encrypted:
        return None
    name = message.authentication_provider_name
    return EncryptedBody(
        in_transfer=True,
        privacy_level=message.privacy_level,
        algorithm=message.encryption_algorithm,
        key=message.symmetric_key or b"",
        provider="" if name is None else name.text,
        provider_type=message.authentication_provider_type,
    )


def encrypted_as(encryption: EncryptedBody, size: int) -> Body:
    """The body of ``size`` bytes that was encrypted like that."""
    rows = [("size", f"{size} bytes")]
    if encryption.privacy_level is not None:
        rows.append(("privacy_level", _named(PrivacyLevel, encryption.privacy_level)))
    cipher = ""
    if encryption.algorithm is not None:
        cipher = _named(EncryptionAlgorithm, encryption.algorithm)
        rows.append(("encryption_algorithm", cipher))
    rows.append(("provider", encryption.cipher_provider or "not known"))
    if encryption.provider or encryption.provider_type is not None:
        type_ = "" if encryption.provider_type is None else f", type {encryption.provider_type}"
        rows.append(("signature_provider", f"{encryption.provider or 'default'}{type_}"))
    rows.append(("encryption_key", f"{len(encryption.key)} bytes"))
    if encryption.key_algorithm is not None:
        rows.append(("key_algorithm", _named(EncryptionAlgorithm, encryption.key_algorithm)))
    return Body(
        kind="encrypted",
        confidence="declared" if encryption.declared else "likely",
        title="encrypted",
        details=tuple(rows),
    )


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _named(names: type[PrivacyLevel] | type[EncryptionAlgorithm], value: int) -> str:
    try:
        return f"{names(value).name} ({value:#x})"
    except ValueError:
        return f"{value:#x}"
