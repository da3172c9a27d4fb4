"""X.509 certificates of senders, [MS-MQMQ] 2.2.20.6: whom they name, until when, and their public keys.

The rule kept here: a certificate is shown and its key is used; whether to trust it is for others to say, who
give the certificates that vouch for it.
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
    """A certificate: names as RFC 4514 writes them, times in seconds since 1970, SHA-1 as ``thumbprint``.

    ``bits`` is the size of its RSA key, 0 where it has another one.
    """

    subject: str
    issuer: str
    not_before: int
    not_after: int
    thumbprint: str
    bits: int

    def valid_at(self, seconds: int) -> bool:
        """Whether a time, in seconds since 1970, is one of its validity."""
        return self.not_before <= seconds <= self.not_after


@lru_cache(maxsize=256)
def read_certificate(data: bytes) -> tuple[Certificate, RSAPublicKey | None] | None:
    """A certificate in DER and its RSA key, None where it has no usable one; None for what is none."""
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
    """Certificates that somebody trusts, each for itself and for those that it issued.

    The packet brings one certificate, so what stands between it and a root has to be among them.
    """

    def __init__(self, certificates: Iterable[x509.Certificate]) -> None:
        self._certificates = tuple(certificates)[:_MOST_TRUSTED]
        self._known: dict[bytes, str] = {}

    def by(self, data: bytes) -> str:
        """The subject of the one that a certificate (DER) is, or that issued it; empty where none did.

        Its signature is checked, and that its BasicConstraints let it issue any; no time is looked at.
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
