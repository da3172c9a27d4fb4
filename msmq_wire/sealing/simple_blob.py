"""SIMPLEBLOB: a session key, encrypted for the receiver. [MS-MQQB] 2.4.2"""

from __future__ import annotations

import struct

import msgspec

_LAYOUT = struct.Struct("<4sI4s")
BEGINS, KEY_EXCHANGE = bytes.fromhex("01020000"), bytes.fromhex("00a40000")
"""What stands before the algorithm of the session key, and what behind it."""


class SimpleBlob(msgspec.Struct, frozen=True, kw_only=True):
    """``session_key_algorithm`` is that of the key; ``encrypted_key`` comes least significant byte first.

    The document gives it 256 bytes; it has as many as the modulus of the receiver's key.
    """

    session_key_algorithm: int
    encrypted_key: bytes

    @classmethod
    def parse(cls, data: bytes) -> SimpleBlob | None:
        """Parse the bytes; None if they are not a SIMPLEBLOB."""
        if len(data) <= _LAYOUT.size:
            return None
        begins, algorithm, exchange = _LAYOUT.unpack_from(data)
        if begins != BEGINS or exchange != KEY_EXCHANGE:
            return None
        return cls(session_key_algorithm=algorithm, encrypted_key=data[_LAYOUT.size :])

    def to_bytes(self) -> bytes:
        """The bytes."""
        return _LAYOUT.pack(BEGINS, self.session_key_algorithm, KEY_EXCHANGE) + self.encrypted_key
