"""Checks the digital signature of a message from its packet alone. [MS-MQQB] 3.1.5.8.3

The rule kept here: a signature is valid under a named reading, or "not verified" under all readings that were
tried. It is never "forged", because an unknown reading is possible. If no key opens an encrypted body, the
signature is "sealed, not checked".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from msgspec.structs import replace

from msmq_wire.errors import EncodeError
from msmq_wire.sealing.certificates import Certificate, TrustedCertificates, read_certificate
from msmq_wire.sealing.digests import DIGESTS, HashObject, digest_info
from msmq_wire.sealing.hashed import BODY_AT, Version, every_reading, hashed_parts
from msmq_wire.sealing.opening import Opening
from msmq_wire.sealing.readings import HashInterpretation
from msmq_wire.wire.headers.security_header import security_id_text
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import HashAlgorithm

Verdict: TypeAlias = Literal["verified", "not verified", "sealed, not checked", "no certificate"]
_MOST_BITS = 16384
_BUDGET = 1 << 24
"""At most so many bytes behind the body are hashed for a version; long lists limit the readings tried."""


class SignatureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking a signature.

    ``version`` and ``reading`` made it valid; ``how`` says how the RSA value holds the hash. ``why`` says in
    one line why it is not verified. ``sender`` is SecurityID; only the directory knows whether it owns the
    certificate. ``trusted_by`` is the subject of the trusted certificate that issued this one, for valid and
    invalid signatures: empty if there is none, None if the user gave no trusted certificates.
    """

    verdict: Verdict
    version: Version | None = None
    reading: HashInterpretation | None = None
    how: str = ""
    why: str = ""
    certificate: Certificate | None = None
    sender: str | None = None
    trusted_by: str | None = None


class Verifier:
    """Checks the signatures of many messages; tries the last valid reading first.

    ``trusted`` are the certificates that the user trusts.
    """

    def __init__(self, trusted: TrustedCertificates | None = None) -> None:
        self._trusted = trusted
        self._last: tuple[Version, HashInterpretation] | None = None

    def check(self, packet: UserMessage, *, opened: Opening | None = None) -> SignatureCheck | None:
        """Check the signature of a whole message; ``opened`` is its decrypted body.

        Returns None without a signature, and never raises. For each of at most three versions, the body is
        hashed once (twice if it was decrypted), and the bytes behind it once for each reading.
        """
        body = None if opened is None else opened.body
        signed = _signature(packet)
        if signed is None:
            return None
        signature, versions = signed
        header = packet.security_header
        found = SignatureCheck(
            verdict="no certificate",
            why="the packet has no certificate",
            sender=None if header is None else security_id_text(header),
        )
        if header is None or not header.security_data.sender_cert:
            return found
        read = read_certificate(bytes(header.security_data.sender_cert))
        if read is None:
            return replace(found, why="SenderCert is no X.509 certificate")
        certificate, key = read
        found = replace(found, verdict="not verified", certificate=certificate)
        if self._trusted is not None:
            found = replace(found, trusted_by=self._trusted.by(bytes(header.security_data.sender_cert)))
        properties = packet.message_properties_header
        if properties is None:
            return replace(found, why="the packet has no MessagePropertiesHeader")
        algorithm = properties.hash_algorithm
        if algorithm not in DIGESTS:
            return replace(found, why=f"HashAlgorithm {algorithm:#x} is none of [MS-MQMQ] 2.2.19.3")
        if key is None or certificate.bits > _MOST_BITS:
            return replace(found, why="the certificate has no RSA key that can be used")
        signed_value = _signed_value(key, signature)
        if signed_value is None:
            return replace(found, why="the key of the certificate gives no padding that RFC 8017 knows")
        order, payload = signed_value
        try:
            for version, reading, digest in self._digests(packet, versions, algorithm, body):
                forms = {
                    digest: "the hash alone",
                    digest_info(algorithm, digest): "a DigestInfo",
                    digest_info(algorithm, digest, null=False): "a DigestInfo without parameters",
                }
                if payload in forms:
                    self._last = version, reading
                    how = f"{forms[payload]}, {order}"
                    return replace(
                        found, verdict="verified", why="", version=version, reading=reading, how=how
                    )
        except EncodeError as error:
            return replace(found, why=f"what is hashed contradicts itself: {error}")
        name = HashAlgorithm(algorithm).name.replace("_", "-")
        if header.bit("eb") and body is None:
            why = "the body is encrypted, and what was signed may be the open one"
            return replace(found, verdict="sealed, not checked", why=why)
        hint = "; nothing confirms the opened body" if opened is not None and opened.doubtful else ""
        return replace(found, why=f"no reading of the document gives the {name} hash that was signed{hint}")

    def _digests(
        self, packet: UserMessage, versions: tuple[Version, ...], algorithm: int, body: bytes | None
    ) -> Iterator[tuple[Version, HashInterpretation, bytes]]:
        last = self._last
        if last is not None and last[0] in versions and (body is not None or last[1].body == "as sent"):
            digest = DIGESTS[algorithm]()
            digest.update(b"".join(hashed_parts(packet, *last, body)))
            yield *last, digest.digest()
        for version in versions:
            for reading, hashed in _every_digest(packet, version, algorithm, body):
                yield version, reading, hashed


def _signature(packet: UserMessage) -> tuple[bytes, tuple[Version, ...]] | None:
    """The signature and its possible versions, in the order of [MS-MQQB] 3.1.5.8.3."""
    header = packet.security_header
    if header is not None and header.security_data.signature:
        # [MS-MQMQ] 2.2.20.6 has one of 3.0 here, which [MS-MQQB] keeps for the other header.
        return bytes(header.security_data.signature), ("2.0", "1.0", "3.0")
    lists = packet.multi_queue_format_header
    if lists is not None and lists.signature is not None and lists.signature.signature:
        return bytes(lists.signature.signature), ("3.0",)
    return None


def _signed_value(key: RSAPublicKey, signature: bytes) -> tuple[str, bytes] | None:
    """The byte order in which a signature belongs to this key, and the signed value. RFC 8017, 8.2.2"""
    for order, data in (
        ("least significant byte first", signature[::-1]),
        ("most significant byte first", signature),
    ):
        try:
            return order, key.recover_data_from_signature(data, PKCS1v15(), None)
        except (InvalidSignature, ValueError):
            continue
    return None


def _every_digest(
    packet: UserMessage, version: Version, algorithm: int, body: bytes | None
) -> Iterator[tuple[HashInterpretation, bytes]]:
    """Yield the hash of each reading within the budget; the common prefix is hashed once."""
    budget = _BUDGET
    begun: dict[str, HashObject] = {}
    for reading, parts in every_reading(packet, version, body):
        digest = begun.get(reading.body)
        if digest is None:
            digest = begun[reading.body] = DIGESTS[algorithm]()
            digest.update(b"".join(parts[: BODY_AT + 1]))
        whole = digest.copy()
        for part in parts[BODY_AT + 1 :]:
            whole.update(part)
            budget -= len(part)
        yield reading, whole.digest()
        if budget < 0:
            return
