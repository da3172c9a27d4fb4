"""RC4 as a stream with state: NTLM seals every PDU of a direction with one stream."""

from __future__ import annotations

from collections.abc import Callable

from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher

__all__ = ["Rc4Stream", "rc4", "rc4_stream"]

Rc4Stream = Callable[[bytes], bytes]


def rc4_stream(key: bytes) -> Rc4Stream:
    """Return a function that seals or opens what comes next; ``key`` has 5, 7, 8, 16, 20, 24 or 32 bytes."""
    return Cipher(ARC4(key), mode=None).encryptor().update


def rc4(key: bytes, data: bytes) -> bytes:
    """Seal or open ``data`` with a fresh stream."""
    return rc4_stream(key)(data)
