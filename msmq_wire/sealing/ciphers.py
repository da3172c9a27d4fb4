"""The ciphers of bodies, [MS-MQQB] 3.1.7.1.5, with every reading that the documents leave open.

AES is in CBC; AES and RC2 have a vector of zeros and pad as PKCS #5 does ([MS-MQMQ] 2.2.19.3). The mode of
RC2, and what a short key is made of, is not stated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from Cryptodome.Cipher import ARC2, ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from msmq_wire.wire.types.enumerations import EncryptionAlgorithm, PrivacyLevel

_AES = {
    EncryptionAlgorithm.AES_128: 16,
    EncryptionAlgorithm.AES_192: 24,
    EncryptionAlgorithm.AES_256: 32,
}
KEY_SIZES: dict[int, frozenset[int]] = {
    **{algorithm: frozenset((size,)) for algorithm, size in _AES.items()},
    EncryptionAlgorithm.RC2: frozenset(range(5, 17)),
    EncryptionAlgorithm.RC4: frozenset(range(5, 17)),
}
"""Bytes of a session key, by EncryptionAlgorithm."""
LEVELS: dict[int, frozenset[int]] = {
    PrivacyLevel.BITS_40: frozenset((EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4)),
    PrivacyLevel.BITS_128: frozenset((EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4)),
    PrivacyLevel.AES: frozenset(_AES),
}
"""The algorithms of each PrivacyLevel, [MS-MQMQ] 2.2.19.3."""
_SHORT, _LONG = 5, 16
_PADDED = bytes(_LONG - _SHORT)
"""88 zero bits, which fill a key of 40 bits up to 128."""
_SHORTEST_TEXT = 16
_LATIN = 2
"""The highest upper byte of a Latin letter in UTF-16."""
_CONTROL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


Decrypts: TypeAlias = Callable[[bytes], bytes | None]
"""Decrypts a cipher text and removes its padding; None without valid padding."""


def readings(algorithm: int, key: bytes) -> Iterator[tuple[str, Decrypts]]:
    """The ways in which a session key may decrypt, each with its name, the plainest first.

    The result of a block cipher counts only with valid padding. RC4 gives bytes for any key, see `is_text`.
    """
    of_key = _rc4 if algorithm == EncryptionAlgorithm.RC4 else _aes if algorithm in _AES else _rc2
    yield from of_key(key)
    # Some implementations write the key in reverse order.
    for how, decrypts in of_key(key[::-1]):
        yield f"{how}, its key turned", decrypts


def encrypted(algorithm: int, key: bytes, data: bytes) -> bytes:
    """Encrypt a body by the plainest reading."""
    if algorithm == EncryptionAlgorithm.RC4:
        cipher_text: bytes = ARC4.new(key).encrypt(data)
        return cipher_text
    size = 16 if algorithm in _AES else 8
    padding = size - len(data) % size
    data += bytes((padding,)) * padding
    if algorithm in _AES:
        encryptor = Cipher(AES(key), CBC(bytes(16))).encryptor()
        return encryptor.update(data) + encryptor.finalize()
    padded: bytes = _arc2(key, _effective(key)[0], ARC2.MODE_CBC).encrypt(data)
    return padded


def is_text(data: bytes) -> bool:
    """Whether bytes are text. One in 100,000 results of wrong RC4 keys is text by chance."""
    if len(data) < _SHORTEST_TEXT:
        return False
    data = data.removeprefix(b"\xff\xfe")
    # Of 16-bit units half would be letters by chance: only those of Latin count.
    latin = len(data) % 2 == 0 and max(data[1::2]) <= _LATIN
    try:
        text = data.decode("utf-16-le" if latin else "utf-8")
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(text.removesuffix("\0")) is None


def _rc4(key: bytes) -> Iterator[tuple[str, Decrypts]]:
    yield "RC4", partial(_rc4_decrypted, key)
    if len(key) == _SHORT:
        yield "RC4, its key padded", partial(_rc4_decrypted, key + _PADDED)


def _rc4_decrypted(key: bytes, data: bytes) -> bytes | None:
    return bytes(ARC4.new(key).decrypt(data))


def _aes(key: bytes) -> Iterator[tuple[str, Decrypts]]:
    cipher = Cipher(AES(key), CBC(bytes(16)))

    def decrypts(data: bytes) -> bytes | None:
        if not data or len(data) % 16:
            return None
        decryptor = cipher.decryptor()
        return _unpadded(decryptor.update(data) + decryptor.finalize(), 16)

    yield f"AES-{8 * len(key)} in CBC", decrypts


def _rc2(key: bytes) -> Iterator[tuple[str, Decrypts]]:
    for mode, number in (("CBC", ARC2.MODE_CBC), ("ECB", ARC2.MODE_ECB)):
        for bits in _effective(key):
            yield f"RC2 in {mode}, {bits} effective bits", partial(_rc2_decrypted, key, bits, number)
    if len(key) == _SHORT:
        # What is padded may be the key of the cipher alone, and not that in the SIMPLEBLOB.
        for how, decrypts in _rc2(key + _PADDED):
            yield f"{how}, its key padded", decrypts


def _rc2_decrypted(key: bytes, bits: int, mode: int, data: bytes) -> bytes | None:
    if not data or len(data) % 8:
        return None
    return _unpadded(_arc2(key, bits, mode).decrypt(data), 8)


def _effective(key: bytes) -> tuple[int, ...]:
    """The effective key bits to try; a padded key of 40 bits has 40 or all."""
    whole = 8 * len(key)
    first = (40, whole) if len(key) == _LONG and key.endswith(_PADDED) else (whole, 40, 128)
    # 1,024 is what RFC 2268 has for who says nothing.
    return tuple(dict.fromkeys((*first, 1024)))


def _arc2(key: bytes, bits: int, mode: int) -> Any:
    settings: dict[str, Any] = {"effective_keylen": bits} | (
        {"iv": bytes(8)} if mode == ARC2.MODE_CBC else {}
    )
    return ARC2.new(key, mode, **settings)


def _unpadded(data: bytes, size: int) -> bytes | None:
    """Remove the padding; None if it is not valid."""
    count = data[-1]
    if not 1 <= count <= size or data[-count:] != bytes((count,)) * count:
        return None
    return data[:-count]
