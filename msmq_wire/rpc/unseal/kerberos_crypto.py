"""Kerberos encryption, one key and one usage at a time: [RFC 3961] 5 and [RFC 3962] AES, [RFC 4757] RC4.

Written on plain ciphers: the libraries there are either bind a C library that has to be built, or bring
network code along.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from enum import IntEnum
from typing import Protocol

from Cryptodome.Cipher import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC, ECB

from msmq_wire.rpc.unseal.protection import number_text

BLOCK = 16
AES_CHECKSUM = 12
_RC4_CHECKSUM = 16
_RC4_CONFOUNDER = 8
_SIZES = {17: 16, 18: 32, 23: 16}
_NAMES = {
    1: "des-cbc-crc",
    3: "des-cbc-md5",
    16: "des3-cbc-sha1",
    17: "aes128",
    18: "aes256",
    19: "aes128-sha256",
    20: "aes256-sha384",
    23: "rc4",
    24: "rc4-exp",
}


class EncryptionType(IntEnum):
    """The supported encryption types, [RFC 3961] 8."""

    AES128 = 17
    AES256 = 18
    RC4 = 23


class KeyUsage(IntEnum):
    """The usage of a derived key: [RFC 4120] 7.5.1 and [RFC 4121] 2."""

    TICKET = 2
    AP_REQ_AUTHENTICATOR = 11
    AP_REP = 12
    ACCEPTOR_SEAL = 22
    ACCEPTOR_SIGN = 23
    INITIATOR_SEAL = 24
    INITIATOR_SIGN = 25


class Usage(Protocol):
    """A key, prepared for one usage."""

    def decrypt(self, ciphertext: bytes) -> bytes | None:
        """Return the message without its confounder; None if its checksum is wrong."""


class AesUsage:
    """AES in CTS mode with HMAC-SHA1-96: ``encrypt``, ``integrity`` and ``checksum`` keys of one usage."""

    def __init__(self, key: bytes, usage: int) -> None:
        constant = usage.to_bytes(4, "big")
        self._encryption_key = derive_key(key, constant + b"\xaa")
        self._integrity_key = derive_key(key, constant + b"\x55")
        self._checksum_key = derive_key(key, constant + b"\x99")

    def decrypt(self, ciphertext: bytes) -> bytes | None:
        """Decrypt a message that its checksum follows, [RFC 3961] 5.3."""
        if len(ciphertext) < BLOCK + AES_CHECKSUM:
            return None
        plain = self.open(ciphertext[:-AES_CHECKSUM])
        return plain[BLOCK:] if self.is_genuine(plain, ciphertext[-AES_CHECKSUM:]) else None

    def open(self, data: bytes) -> bytes:
        """Decrypt at least 16 bytes (confounder and message) without checking them, [RFC 3962] 5."""
        if len(data) == BLOCK:
            return _transform(self._encryption_key, data, ECB())
        cut = (len(data) - 1) // BLOCK * BLOCK
        before, swapped, last = data[: cut - BLOCK], data[cut - BLOCK : cut], data[cut:]
        # The last two blocks come swapped, one of them cut: what it lacks is in the other one, decrypted.
        ending = _transform(self._encryption_key, swapped, ECB())[len(last) :]
        ordered = b"".join((before, last, ending, swapped))
        return _transform(self._encryption_key, ordered, CBC(bytes(BLOCK)))[: len(data)]

    def is_genuine(self, plain: bytes, checksum: bytes) -> bool:
        """Check the checksum of a decrypted message, including its confounder."""
        return hmac.compare_digest(hmac.digest(self._integrity_key, plain, "sha1")[:AES_CHECKSUM], checksum)

    def checksum(self, data: bytes) -> bytes:
        """Return the 12-byte checksum of data in clear, [RFC 3961] 5.4."""
        return hmac.digest(self._checksum_key, data, "sha1")[:AES_CHECKSUM]


class Rc4Usage:
    """RC4 with HMAC-MD5, [RFC 4757] 5."""

    def __init__(self, key: bytes, usage: int) -> None:
        # [RFC 4757] 3 numbers these usages differently.
        number = {3: 8, 9: 8, 23: 13}.get(usage, usage)
        self._key = hmac.digest(key, number.to_bytes(4, "little"), "md5")

    def decrypt(self, ciphertext: bytes) -> bytes | None:
        """Decrypt a message that follows its checksum."""
        if len(ciphertext) < _RC4_CHECKSUM + _RC4_CONFOUNDER:
            return None
        checksum = ciphertext[:_RC4_CHECKSUM]
        plain = ARC4.new(hmac.digest(self._key, checksum, "md5")).decrypt(ciphertext[_RC4_CHECKSUM:])
        genuine = hmac.compare_digest(hmac.digest(self._key, plain, "md5"), checksum)
        return plain[_RC4_CONFOUNDER:] if genuine else None


def usage_of(etype: int, key: bytes, usage: int) -> Usage | None:
    """Prepare a key for a usage; None for an unsupported type, or a key of the wrong size."""
    if _SIZES.get(etype) != len(key):
        return None
    return Rc4Usage(key, usage) if etype == EncryptionType.RC4 else AesUsage(key, usage)


def etype_name(etype: int) -> str:
    """Return the short name of an encryption type."""
    return _NAMES.get(etype, f"encryption type {number_text(etype)}")


def derive_key(key: bytes, constant: bytes) -> bytes:
    """Return DK(key, constant) of [RFC 3961] 5.1, as long as ``key`` (16 or 32 bytes)."""
    block = n_fold(constant, BLOCK)
    derived = b""
    while len(derived) < len(key):
        block = Cipher(AES(key), ECB()).encryptor().update(block)
        derived += block
    return derived[: len(key)]


def n_fold(data: bytes, size: int) -> bytes:
    """Stretch or fold ``data`` to ``size`` bytes: a sum of copies, each rotated by 13 bits. [RFC 3961] 5.1"""
    length = math.lcm(len(data), size)
    bits = 8 * len(data)
    number = int.from_bytes(data, "big")
    stretched = b""
    for index in range(length // len(data)):
        turn = 13 * index % bits
        turned = number >> turn | (number << (bits - turn)) & ((1 << bits) - 1)
        stretched += turned.to_bytes(len(data), "big")
    # Addition with end-around carry is addition modulo 2^n - 1, with all ones for the zero of a non-zero sum.
    modulus = (1 << 8 * size) - 1
    total = sum(int.from_bytes(stretched[at : at + size], "big") for at in range(0, length, size))
    return ((total - 1) % modulus + 1 if total else 0).to_bytes(size, "big")


def _transform(key: bytes, data: bytes, mode: CBC | ECB) -> bytes:
    return Cipher(AES(key), mode).decryptor().update(data)


def md5(data: bytes) -> bytes:
    """Return the MD5 digest that [RFC 4757] signs."""
    return hashlib.md5(data, usedforsecurity=False).digest()
