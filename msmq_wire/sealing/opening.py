"""Opens encrypted bodies with the receiver's private key. [MS-MQQB] 3.1.5.8.3

The rule kept here: what opens it is said, and what does not in one line; nothing of a key is.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from msmq_wire.buffers import as_bytes
from msmq_wire.sealing.ciphers import KEY_SIZES, Decrypts, readings
from msmq_wire.sealing.simple_blob import SimpleBlob
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm

__all__ = ["BodyOpener", "Opening"]

_MOST_KEYS = 256
_DRAWN = 256
"""Bytes of encryptedKey in the picture of [MS-MQQB] 2.4.2."""
_Readings: TypeAlias = tuple[tuple[str, Decrypts], ...]


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """``body`` is the opened one and ``how`` what opened it; where it is None, ``why`` says why not."""

    body: bytes | None = None
    how: str = ""
    why: str = ""


class BodyOpener:
    """Opens bodies of many messages with private keys, each of which the packet may be for.

    One session key may serve many messages: 256 of them are kept.
    """

    def __init__(self, keys: Iterable[RSAPrivateKey]) -> None:
        self._keys = tuple(keys)
        self._sessions: OrderedDict[tuple[int, bytes], _Readings | Opening] = OrderedDict()

    def open(self, packet: UserMessage) -> Opening | None:
        """Open the body of a whole message; None where it is not encrypted. Nothing is raised."""
        header, properties = packet.security_header, packet.message_properties_header
        if header is None or properties is None or not header.bit("eb"):
            return None
        return self.open_body(
            properties.encryption_algorithm,
            bytes(header.security_data.encryption_key),
            bytes(properties.message_body),
            properties.message_size,
        )

    def open_body(self, algorithm: int | None, key: bytes, data: bytes, size: int) -> Opening:
        """Open a cipher text with the session key in a SIMPLEBLOB; ``size`` is that of the body, if known."""
        key, data = as_bytes(key, "key"), as_bytes(data)
        if algorithm is None:
            return Opening(why="nothing says which EncryptionAlgorithm it is")
        found = self._readings(algorithm, key)
        if isinstance(found, Opening):
            return found
        # Where MessageSize is not that of the cipher text, it is that of the body.
        known = size != len(data)
        first: tuple[str, bytes] | None = None
        for how, decrypts in found:
            body = decrypts(data)
            if body is None:
                continue
            if not known or len(body) == size:
                return Opening(body=body, how=how)
            first = first or (how, body)
        if first is None:
            return Opening(
                why="no padding fits: the given key is another one, or the cipher text was changed"
            )
        return Opening(body=first[1], how=first[0])

    def _readings(self, algorithm: int, key: bytes) -> _Readings | Opening:
        """How the keys that a SIMPLEBLOB may hold decrypt, or why nothing does; kept for the next message."""
        known = self._sessions.get((algorithm, key))
        if known is None:
            known = self._sessions[algorithm, key] = self._new_readings(algorithm, key)
            if len(self._sessions) > _MOST_KEYS:
                self._sessions.popitem(last=False)
        return known

    def _new_readings(self, algorithm: int, key: bytes) -> _Readings | Opening:
        if algorithm not in KEY_SIZES:
            return Opening(why=f"EncryptionAlgorithm {algorithm:#x} is none of [MS-MQMQ] 2.2.19.3")
        blob = SimpleBlob.parse(key)
        if blob is None:
            return Opening(why="EncryptionKey is no SIMPLEBLOB")
        if blob.session_key_algorithm != algorithm:
            return Opening(why=f"the session key is for {blob.session_key_algorithm:#x}, not {algorithm:#x}")
        keys = tuple(self._decrypted(blob)) or tuple(self._decrypted_turned(blob))
        if not keys:
            return Opening(why="no given key opens the session key: it is for another key pair")
        return tuple(one for session in keys for one in readings(algorithm, session))

    def _decrypted(self, blob: SimpleBlob) -> Iterator[bytes]:
        """What each key finds in the order of the document."""
        for key in self._keys:
            value = _value(blob.encrypted_key, key)
            yield from () if value is None else _session(key, value[::-1], blob)

    def _decrypted_turned(self, blob: SimpleBlob) -> Iterator[bytes]:
        """The same, most significant byte first; what no padding confirms, chance would find, too."""
        if blob.session_key_algorithm == EncryptionAlgorithm.RC4:
            return
        for key in self._keys:
            value = _value(blob.encrypted_key[::-1], key)
            yield from () if value is None else _session(key, value[::-1], blob)


def _value(data: bytes, key: RSAPrivateKey) -> bytes | None:
    """Least significant byte first, an RSA value as long as the modulus; None if there is none.

    The document draws 256 bytes for it, so one of a shorter modulus may be filled up with zeros.
    """
    size = (key.key_size + 7) // 8
    filled = len(data) == _DRAWN and not any(data[size:])
    return data[:size] if len(data) == size or (filled and size < _DRAWN) else None


def _session(key: RSAPrivateKey, wrapped: bytes, blob: SimpleBlob) -> Iterator[bytes]:
    # Libraries answer with chance bytes where a padding is wrong: few of them are as long as a key.
    with contextlib.suppress(ValueError):
        session = key.decrypt(wrapped, PKCS1v15())
        if len(session) in KEY_SIZES[blob.session_key_algorithm]:
            yield session
