"""Signs messages and encrypts their bodies. [MS-MQQB] 3.1.7.1.4, 3.1.7.1.5

The rule kept here: a message is signed before it is encrypted, as the document says.
"""

from __future__ import annotations

import os

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import NoDigestInfo
from msgspec.structs import replace

from msmq_wire.errors import EncodeError
from msmq_wire.sealing.ciphers import KEY_SIZES, encrypted
from msmq_wire.sealing.digests import DIGESTS, digest_info
from msmq_wire.sealing.hashed import Version, hashed_parts
from msmq_wire.sealing.readings import PLAIN, HashInterpretation
from msmq_wire.sealing.simple_blob import SimpleBlob
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.headers.security_header import ProviderInfo, SecurityData, SecurityHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, HashAlgorithm, PrivacyLevel
from msmq_wire.wire.types.wchar_text import WcharText

_PROVIDERS = {
    PrivacyLevel.BITS_40: (1, "Microsoft Base Cryptographic Provider v1.0"),
    PrivacyLevel.BITS_128: (1, "Microsoft Enhanced Cryptographic Provider v1.0"),
    PrivacyLevel.AES: (24, "Microsoft Enhanced RSA and AES Cryptographic Provider"),
}
_SHORT = 5


class MessageSigner:
    """Signs messages with a private key, and adds its certificate (DER).

    ``version`` None is 3.0 for a message to many queues and 2.0 for others. ``reading`` says how to write
    fields where the document does not.
    """

    def __init__(
        self,
        key: RSAPrivateKey,
        certificate: bytes,
        *,
        hash_algorithm: int = HashAlgorithm.SHA_512,
        version: Version | None = None,
        reading: HashInterpretation = PLAIN,
    ) -> None:
        if hash_algorithm not in DIGESTS:
            raise EncodeError(f"no HashAlgorithm is {hash_algorithm:#x}")
        self._key, self._certificate = key, certificate
        self._algorithm, self._version, self._reading = hash_algorithm, version, reading

    def sign(self, packet: UserMessage) -> UserMessage:
        """Return the message with its signature; the caller fits sizes and flags."""
        lists = packet.multi_queue_format_header
        version = self._version or ("2.0" if lists is None else "3.0")
        properties = replace(_properties(packet), hash_algorithm=self._algorithm)
        packet = replace(packet, message_properties_header=properties)
        digest = DIGESTS[self._algorithm]()
        for part in hashed_parts(packet, version, self._reading):
            digest.update(part)
        value = digest_info(self._algorithm, digest.digest())
        signature = self._key.sign(value, PKCS1v15(), NoDigestInfo())[::-1]
        header = _security(packet)
        data = replace(header.security_data, sender_cert=self._certificate)
        if lists is not None and version == "3.0":
            packet = replace(
                packet,
                multi_queue_format_header=replace(lists, signature=MQFSignatureHeader(signature=signature)),
            )
        else:
            data = replace(data, signature=signature)
        header = replace(header, security_data=data).with_bits(de=1, ai=1)
        return replace(packet, security_header=header)


class BodySealer:
    """Encrypts bodies for the owner of a public key, all with one session key.

    ``key_size`` is the size of the session key in bytes, 5 or 16, if the cipher allows both.
    """

    def __init__(
        self,
        key: RSAPublicKey,
        *,
        algorithm: int = EncryptionAlgorithm.AES_256,
        key_size: int | None = None,
    ) -> None:
        if algorithm not in KEY_SIZES:
            raise EncodeError(f"no EncryptionAlgorithm is {algorithm:#x}")
        size = max(KEY_SIZES[algorithm]) if key_size is None else key_size
        if size not in KEY_SIZES[algorithm]:
            raise EncodeError(f"the cipher takes no key of {size} bytes")
        self._algorithm, self._session = algorithm, os.urandom(size)
        wrapped = key.encrypt(self._session, PKCS1v15())[::-1]
        self._blob = SimpleBlob(session_key_algorithm=algorithm, encrypted_key=wrapped).to_bytes()
        rc = algorithm in (EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4)
        level = PrivacyLevel.BITS_40 if size == _SHORT else PrivacyLevel.BITS_128
        self._level = level if rc else PrivacyLevel.AES

    def seal(self, packet: UserMessage) -> UserMessage:
        """Return the message with its body encrypted; the caller fits sizes."""
        before = _properties(packet)
        body = encrypted(self._algorithm, self._session, bytes(before.message_body))
        properties = replace(
            before,
            message_body=body,
            message_size=len(body),
            allocation_body_size=len(body),
            privacy_level=self._level,
            encryption_algorithm=self._algorithm,
        )
        kind, name = _PROVIDERS[self._level]
        provider = ProviderInfo(provider_type=kind, provider_name=WcharText.of(name))
        header = _security(packet)
        data = replace(header.security_data, encryption_key=self._blob, provider_info=provider)
        header = replace(header, security_data=data).with_bits(eb=1, de=0, ai=1)
        return replace(packet, message_properties_header=properties, security_header=header)


def _properties(packet: UserMessage) -> MessagePropertiesHeader:
    if packet.message_properties_header is None:
        raise EncodeError("a message without MessagePropertiesHeader has nothing to sign or to encrypt")
    return packet.message_properties_header


def _security(packet: UserMessage) -> SecurityHeader:
    """The SecurityHeader of the message, or a new one without a sender."""
    if packet.security_header is not None:
        return packet.security_header
    return SecurityHeader(flags=0, sender_id_size=0, security_data=SecurityData())
