"""Reads RSA keys and certificates from PEM, DER or PFX.

The rule kept here: no error shows any part of a key, a password or a file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    load_der_private_key,
    load_der_public_key,
    load_pem_private_key,
    load_pem_public_key,
    pkcs12,
)
from cryptography.x509 import (
    Certificate,
    InvalidVersion,
    load_der_x509_certificate,
    load_pem_x509_certificate,
    load_pem_x509_certificates,
)

from msmq_wire.errors import MsmqWireError


def read_private_key(data: bytes, password: bytes | None = None) -> RSAPrivateKey:
    """Read a private RSA key: PEM, PKCS #8 or PKCS #1 in DER, or PFX; raises `MsmqWireError`."""
    problem: MsmqWireError | None = None
    key: object = None
    for load in (load_pem_private_key, load_der_private_key, _load_pfx_private_key):
        try:
            key = load(data, password)
            break
        except TypeError:
            # cryptography raises this if the password is missing or not needed.
            said = "asks for no password" if password else "asks for its password"
            problem = MsmqWireError(f"the private key {said}")
            break
        except (ValueError, UnsupportedAlgorithm):
            continue
    if problem is None and not isinstance(key, RSAPrivateKey):
        what = "no private key, or another password is its own" if key is None else "no private RSA key"
        problem = MsmqWireError(f"this is {what}: PEM, DER and PFX are read")
    if problem is not None:
        raise problem
    assert isinstance(key, RSAPrivateKey)
    return key


def read_private_keys(files: Iterable[bytes], passwords: Sequence[bytes] = ()) -> list[RSAPrivateKey]:
    """Read the private key of each file, with one of the passwords or none; raises `MsmqWireError`."""
    return [_private_key_with_passwords(data, passwords) for data in files]


def read_identity(data: bytes, passwords: Sequence[bytes] = ()) -> tuple[RSAPrivateKey, bytes]:
    """Read a private key and its certificate (as DER) from one PEM or PFX file; raises `MsmqWireError`."""
    key = _private_key_with_passwords(data, passwords)
    for certificate in _certificates(data, passwords):
        if certificate.public_key() == key.public_key():
            return key, certificate.public_bytes(Encoding.DER)
    raise MsmqWireError("no certificate of the private key is beside it: PEM with both and PFX are read")


def read_certificates(data: bytes) -> list[Certificate]:
    """Read all certificates of a PEM file, or the one of a DER file; raises `MsmqWireError`."""
    with contextlib.suppress(ValueError, TypeError, InvalidVersion):
        return load_pem_x509_certificates(data)
    with contextlib.suppress(ValueError, TypeError, InvalidVersion):
        return [load_der_x509_certificate(data)]
    raise MsmqWireError("this is no certificate: PEM, with any number of them, and DER are read")


def read_public_key(data: bytes) -> RSAPublicKey:
    """Read the RSA key of a certificate, or a public key, in PEM or DER; raises `MsmqWireError`."""
    for load in (load_pem_x509_certificate, load_der_x509_certificate):
        with contextlib.suppress(ValueError, TypeError, InvalidVersion, UnsupportedAlgorithm):
            key = load(data).public_key()
            if isinstance(key, RSAPublicKey):
                return key
    for read in (load_pem_public_key, load_der_public_key):
        with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm):
            public = read(data)
            if isinstance(public, RSAPublicKey):
                return public
    raise MsmqWireError("this is no certificate and no public RSA key: PEM and DER are read")


def _certificates(data: bytes, passwords: Sequence[bytes]) -> list[Certificate]:
    with contextlib.suppress(ValueError, TypeError, InvalidVersion):
        return load_pem_x509_certificates(data)
    for password in (None, *passwords):
        with contextlib.suppress(ValueError, TypeError, InvalidVersion, UnsupportedAlgorithm):
            _, own, others = pkcs12.load_key_and_certificates(data, password)
            return [*(() if own is None else (own,)), *others]
    return []


def _private_key_with_passwords(data: bytes, passwords: Sequence[bytes]) -> RSAPrivateKey:
    problem: MsmqWireError | None = None
    for password in (None, *passwords):
        try:
            return read_private_key(data, password)
        except MsmqWireError as error:
            problem = error
    assert problem is not None
    raise problem


def _load_pfx_private_key(data: bytes, password: bytes | None) -> object:
    key, _, _ = pkcs12.load_key_and_certificates(data, password)
    return key
