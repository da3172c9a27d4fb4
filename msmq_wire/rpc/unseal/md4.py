"""MD4, [RFC 1320]: the hash below every NT hash, which OpenSSL 3 no longer offers to hashlib."""

from __future__ import annotations

import struct
from collections.abc import Callable

__all__ = ["md4"]

_WORD = 0xFFFFFFFF
_INITIAL = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_Mix = Callable[[int, int, int], int]
# A round of [RFC 1320] 3.4: how three words mix, what is added, in which order the block is read, the shifts.
_ROUNDS: tuple[tuple[_Mix, int, tuple[int, ...], tuple[int, int, int, int]], ...] = (
    (lambda x, y, z: (x & y) | (~x & z), 0, tuple(range(16)), (3, 7, 11, 19)),
    (
        lambda x, y, z: (x & y) | (x & z) | (y & z),
        0x5A827999,
        (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
        (3, 5, 9, 13),
    ),
    (
        lambda x, y, z: x ^ y ^ z,
        0x6ED9EBA1,
        (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15),
        (3, 9, 11, 15),
    ),
)


def md4(message: bytes) -> bytes:
    """Return the 16-byte digest of ``message``."""
    padded = message + b"\x80" + bytes(-(len(message) + 9) % 64) + struct.pack("<Q", 8 * len(message))
    state = _INITIAL
    for block in struct.iter_unpack("<16I", padded):
        a, b, c, d = state
        for mix, constant, order, shifts in _ROUNDS:
            for step, index in enumerate(order):
                total = (a + mix(b, c, d) + block[index] + constant) & _WORD
                shift = shifts[step % 4]
                a, b, c, d = d, (total << shift | total >> (32 - shift)) & _WORD, b, c
        state = (
            (state[0] + a) & _WORD,
            (state[1] + b) & _WORD,
            (state[2] + c) & _WORD,
            (state[3] + d) & _WORD,
        )
    return struct.pack("<4I", *state)
