"""Opens encrypted bodies with the receiver's private key. [MS-MQQB] 3.1.5.8.3

The rule kept here: what opens it is said, and what does not in one line; nothing of a key is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import msgspec
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from msmq_wire.sealing.ciphers import KEY_SIZES, decrypted
from msmq_wire.sealing.simple_blob import SimpleBlob
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import EncryptionAlgorithm

__all__ = ["BodyOpener", "Opening"]

_MOST_KEYS = 256


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
        self._sessions: OrderedDict[tuple[int, bytes], tuple[bytes, ...]] = OrderedDict()

    def open(self, packet: UserMessage) -> Opening | None:
        """Open the body of a whole message; None where it is not encrypted. Nothing is raised."""
        header, properties = packet.security_header, packet.message_properties_header
        if header is None or properties is None or not header.bit("eb"):
            return None
        algorithm = properties.encryption_algorithm
        if algorithm not in KEY_SIZES:
            return Opening(why=f"EncryptionAlgorithm {algorithm:#x} is none of [MS-MQMQ] 2.2.19.3")
        blob = SimpleBlob.parse(bytes(header.security_data.encryption_key))
        if blob is None:
            return Opening(why="EncryptionKey is no SIMPLEBLOB")
        if blob.session_key_algorithm != algorithm:
            return Opening(why=f"the session key is for {blob.session_key_algorithm:#x}, not {algorithm:#x}")
        keys = self._session_keys(blob)
        if not keys:
            return Opening(why="no given key opens the session key: it is for another key pair")
        data = bytes(properties.message_body)
        found = [one for key in keys for one in _read(algorithm, key, data)]
        if not found:
            return Opening(
                why="no padding fits: the given key is another one, or the cipher text was changed"
            )
        # Where MessageSize is not that of the cipher text, it is that of the body.
        size = properties.message_size
        how, body = next((one for one in found if len(one[1]) == size), found[0])
        return Opening(body=body, how=how)

    def _session_keys(self, blob: SimpleBlob) -> tuple[bytes, ...]:
        """Keys that the blob may hold; libraries answer with chance bytes where a padding is wrong."""
        known = self._sessions.get((blob.session_key_algorithm, blob.encrypted_key))
        if known is None:
            known = tuple(self._decrypted(blob))
            self._sessions[blob.session_key_algorithm, blob.encrypted_key] = known
            if len(self._sessions) > _MOST_KEYS:
                self._sessions.popitem(last=False)
        return known

    def _decrypted(self, blob: SimpleBlob) -> Iterator[bytes]:
        sizes = KEY_SIZES[blob.session_key_algorithm]
        for key in self._keys:
            if (key.key_size + 7) // 8 != len(blob.encrypted_key):
                continue
            try:
                session = key.decrypt(blob.encrypted_key[::-1], PKCS1v15())
            except ValueError:
                continue
            if len(session) in sizes:
                yield session


def _read(algorithm: int, key: bytes, data: bytes) -> Iterator[tuple[str, bytes]]:
    """What a body may have been under a session key, as it is and with its bytes turned."""
    yield from decrypted(algorithm, key, data)
    if algorithm != EncryptionAlgorithm.RC4:
        for how, body in decrypted(algorithm, key[::-1], data):
            yield f"{how}, its key turned", body
