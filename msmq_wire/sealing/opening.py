"""Opens encrypted bodies with the receiver's private key. [MS-MQQB] 3.1.5.8.3

The rule kept here: the result names what opened the body, or says in one line why nothing did. It shows no
part of a key. A session key must be in a valid encryption block (RFC 8017 7.2.2), so that a wrong key finds
nothing by chance.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
from Cryptodome.Cipher import PKCS1_v1_5
from Cryptodome.PublicKey import RSA
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from msmq_wire.buffers import as_bytes
from msmq_wire.representation import struct_line
from msmq_wire.sealing.ciphers import KEY_SIZES, LEVELS, Decrypts, is_text, readings
from msmq_wire.sealing.simple_blob import SimpleBlob
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm

_MOST_KEYS = 256
_DRAWN = 256
"""Bytes of encryptedKey in the packet diagram of [MS-MQQB] 2.4.2."""
_Readings: TypeAlias = tuple[tuple[str, Decrypts], ...]


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """``body`` is the decrypted body and ``how`` names what opened it. If it is None, ``why`` says why.

    ``doubtful`` is true if nothing confirms the body; ``how`` says this, too.
    """

    body: bytes | None = None
    how: str = ""
    why: str = ""
    doubtful: bool = False

    __repr__ = struct_line


class BodyOpener:
    """Opens the bodies of many messages; tries each private key.

    Many messages may share a session key, so 256 session keys are kept.
    """

    def __init__(self, keys: Iterable[RSAPrivateKey]) -> None:
        self._keys = tuple(map(_pycryptodome_key, keys))
        self._sessions: OrderedDict[tuple[int, bytes], _Readings | Opening] = OrderedDict()

    def open(self, packet: UserMessage) -> Opening | None:
        """Open the body of a whole message; None if it is not encrypted. Never raises."""
        header, properties = packet.security_header, packet.message_properties_header
        if header is None or properties is None or not header.bit("eb"):
            return None
        return self.open_body(
            properties.encryption_algorithm,
            bytes(header.security_data.encryption_key),
            bytes(properties.message_body),
            properties.message_size,
            properties.privacy_level,
        )

    def open_body(
        self, algorithm: int | None, key: bytes, data: bytes, size: int, level: int | None = None
    ) -> Opening:
        """Open a cipher text with the session key in a SIMPLEBLOB; ``size`` is the body size, if known.

        ``level`` is the PrivacyLevel of a packet, None if there is none. A receiver rejects levels that
        [MS-MQQB] 3.1.5.8.3 does not list.
        """
        key, data = as_bytes(key, "key"), as_bytes(data)
        if level is not None and level not in LEVELS:
            return Opening(why=f"a receiver rejects EB with PrivacyLevel {level:#x} ([MS-MQQB] 3.1.5.8.3)")
        if algorithm is None:
            return Opening(why="nothing says which EncryptionAlgorithm it is")
        found = self._readings(algorithm, key)
        if isinstance(found, Opening):
            return found
        if algorithm == EncryptionAlgorithm.RC4:
            return _stream_opened(found, data)
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
            return Opening(why="the session key opens, but no padding of the body fits: it was changed")
        return Opening(body=first[1], how=first[0])

    def _readings(self, algorithm: int, key: bytes) -> _Readings | Opening:
        """The readings of all session keys that a SIMPLEBLOB may hold, or why there are none; cached."""
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
        # The order of the document first, then most significant byte first.
        for encrypted in (blob.encrypted_key, blob.encrypted_key[::-1]):
            keys = tuple(dict.fromkeys(self._sessions_in(encrypted, KEY_SIZES[algorithm])))
            if keys:
                return tuple(one for session in keys for one in readings(algorithm, session))
        return Opening(why="no given key opens the session key: it is for another key pair")

    def _sessions_in(self, encrypted: bytes, sizes: frozenset[int]) -> Iterator[bytes]:
        """Decrypt an RSA value, least significant byte first, with each private key."""
        for key in self._keys:
            value = _rsa_value(encrypted, key.size_in_bytes())
            # A value above the modulus is none.
            with contextlib.suppress(ValueError):
                session = b"" if value is None else PKCS1_v1_5.new(key).decrypt(value[::-1], b"")
                if len(session) in sizes:
                    yield session


def _pycryptodome_key(key: RSAPrivateKey) -> RSA.RsaKey:
    """The key for a library that rejects a wrong encryption block.

    Since OpenSSL 3.2, cryptography returns random bytes instead.
    """
    private = key.private_numbers()
    public = private.public_numbers
    # cryptography has checked that they go together.
    return RSA.construct((public.n, public.e, private.d, private.p, private.q), consistency_check=False)


def _stream_opened(found: _Readings, data: bytes) -> Opening:
    """Decrypt by the first reading that gives text; otherwise by the plainest one, which is doubtful."""
    for how, decrypts in found:
        body = decrypts(data)
        if body is not None and is_text(body):
            return Opening(body=body, how=f"{how}, which its text confirms")
    how, decrypts = found[0]
    return Opening(body=decrypts(data), how=f"{how}, doubtful: nothing confirms the body", doubtful=True)


def _rsa_value(data: bytes, size: int) -> bytes | None:
    """The RSA value, least significant byte first, with the length of the modulus; None if there is none.

    The document shows 256 bytes, so zeros may follow the value of a shorter modulus.
    """
    filled = len(data) == _DRAWN and not any(data[size:])
    return data[:size] if len(data) == size or (filled and size < _DRAWN) else None
