"""The owner's private RSA keys, from PEM, DER or PFX.

The rule kept here: no error names anything of a key, a password or a file's content.
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key, pkcs12

from msmq_wire.errors import MsmqWireError

__all__ = ["read_private_key"]


def read_private_key(data: bytes, password: bytes | None = None) -> RSAPrivateKey:
    """A private RSA key in PEM, PKCS #8 or PKCS #1 DER, or PFX; raises `MsmqWireError` in one clear line."""
    problem: MsmqWireError | None = None
    key: object = None
    for load in (load_pem_private_key, load_der_private_key, _of_pfx):
        try:
            key = load(data, password)
            break
        except TypeError:
            # cryptography says so of a password that is missing, or that nothing asks for.
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


def _of_pfx(data: bytes, password: bytes | None) -> object:
    key, _, _ = pkcs12.load_key_and_certificates(data, password)
    return key
