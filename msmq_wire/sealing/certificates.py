"""X.509 certificates of senders: subject, validity and public key. [MS-MQMQ] 2.2.20.6

The rule kept here: a certificate is shown and its key is used. It is trusted only if the user gives a
certificate that issued it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

_MOST_KNOWN = 256
_MOST_TRUSTED = 1024


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate: names as in RFC 4514, times in seconds since 1970, SHA-1 as ``thumbprint``.

    ``bits`` is the size of its RSA key, 0 for other keys.
    """

    subject: str
    issuer: str
    not_before: int
    not_after: int
    thumbprint: str
    bits: int

    def valid_at(self, seconds: int) -> bool:
        """Whether the certificate is valid at a time, in seconds since 1970."""
        return self.not_before <= seconds <= self.not_after


@lru_cache(maxsize=256)
def read_certificate(data: bytes) -> tuple[Certificate, RSAPublicKey | None] | None:
    """Read a certificate in DER and its RSA key (None if unusable); None for other bytes."""
    try:
        with warnings.catch_warnings():
            # What is odd in somebody's certificate is no news of this program.
            warnings.simplefilter("ignore")
            read = x509.load_der_x509_certificate(data)
            names = read.subject.rfc4514_string(), read.issuer.rfc4514_string()
        times = read.not_valid_before_utc, read.not_valid_after_utc
        thumbprint = read.fingerprint(hashes.SHA1()).hex()
    except (ValueError, TypeError, OverflowError, x509.InvalidVersion):
        # Names of odd types are a TypeError, and a version that there is not is no ValueError.
        return None
    try:
        key = read.public_key()
    except (UnsupportedAlgorithm, ValueError):
        key = None
    rsa = key if isinstance(key, RSAPublicKey) else None
    certificate = Certificate(
        subject=names[0],
        issuer=names[1],
        not_before=int(times[0].timestamp()),
        not_after=int(times[1].timestamp()),
        thumbprint=thumbprint,
        bits=0 if rsa is None else rsa.key_size,
    )
    return certificate, rsa


class TrustedCertificates:
    """Certificates that the user trusts: themselves, and those that they issued.

    A packet carries one certificate, so the intermediate certificates must be among these.
    """

    def __init__(self, certificates: Iterable[x509.Certificate]) -> None:
        self._certificates = tuple(certificates)[:_MOST_TRUSTED]
        self._known: dict[bytes, str] = {}

    def by(self, data: bytes) -> str:
        """The subject of the trusted certificate that equals or issued a certificate (DER); empty if none.

        Checks the signature and the BasicConstraints of the issuer, but no validity.
        """
        found = self._known.get(data)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[data] = self._by(data)
        return found

    def _by(self, data: bytes) -> str:
        if read_certificate(data) is None:
            return ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            certificate = x509.load_der_x509_certificate(data)
            for one in self._certificates:
                if one == certificate or _issued(one, certificate):
                    return one.subject.rfc4514_string()
        return ""


def _issued(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        # Those of version 1 have no extensions.
        return issuer.version is x509.Version.v1
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.DuplicateExtension):
        return False
    return constraints.value.ca
