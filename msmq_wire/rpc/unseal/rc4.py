"""RC4 as a stream with state: NTLM seals every PDU of a direction with one stream."""

from __future__ import annotations

from collections.abc import Callable

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher

__all__ = ["PlainRc4", "Rc4Stream", "rc4", "rc4_stream"]

Rc4Stream = Callable[[bytes], bytes]


class PlainRc4:
    """RC4 without OpenSSL, about a hundred times slower: for builds that leave the old ciphers out."""

    def __init__(self, key: bytes) -> None:
        state = list(range(256))
        other = 0
        for index in range(256):
            other = (other + state[index] + key[index % len(key)]) & 255
            state[index], state[other] = state[other], state[index]
        self._state = state
        self._index = self._other = 0

    def update(self, data: bytes) -> bytes:
        """Seal or open what comes next."""
        state, index, other = self._state, self._index, self._other
        result = bytearray(len(data))
        for position, byte in enumerate(data):
            index = (index + 1) & 255
            other = (other + state[index]) & 255
            state[index], state[other] = state[other], state[index]
            result[position] = byte ^ state[(state[index] + state[other]) & 255]
        self._index, self._other = index, other
        return bytes(result)


def rc4_stream(key: bytes) -> Rc4Stream:
    """Return a function that seals or opens what comes next; keys here have 16 bytes."""
    try:
        return Cipher(ARC4(key), mode=None).encryptor().update
    except UnsupportedAlgorithm:
        return PlainRc4(key).update


def rc4(key: bytes, data: bytes) -> bytes:
    """Seal or open ``data`` with a fresh stream."""
    return rc4_stream(key)(data)
