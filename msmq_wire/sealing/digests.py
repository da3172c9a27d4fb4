"""The hashes of [MS-MQMQ] 2.2.19.3, and the DigestInfo of a hash in a signature. RFC 8017, 9.2"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Protocol, Self

from Cryptodome.Hash import MD2, MD4

from msmq_wire.wire.types.enumerations import HashAlgorithm


class HashObject(Protocol):
    """A hash object as in hashlib."""

    def update(self, data: bytes, /) -> Any:
        """Take more bytes."""

    def copy(self) -> Self:
        """Return a copy in the same state."""

    def digest(self) -> bytes:
        """The hash of all bytes so far."""


def _hashlib_new(name: str) -> Callable[[], HashObject]:
    # Who verifies what was signed long ago needs MD5 where it is not allowed for new things.
    return lambda: hashlib.new(name, usedforsecurity=False)


DIGESTS: Final[Mapping[int, Callable[[], HashObject]]] = {
    HashAlgorithm.MD2: MD2.new,
    HashAlgorithm.MD4: MD4.new,
    HashAlgorithm.MD5: _hashlib_new("md5"),
    HashAlgorithm.SHA_1: _hashlib_new("sha1"),
    HashAlgorithm.SHA_256: _hashlib_new("sha256"),
    HashAlgorithm.SHA_512: _hashlib_new("sha512"),
}
"""By HashAlgorithm."""
_OIDS: Final[Mapping[int, str]] = {
    HashAlgorithm.MD2: "2a864886f70d0202",
    HashAlgorithm.MD4: "2a864886f70d0204",
    HashAlgorithm.MD5: "2a864886f70d0205",
    HashAlgorithm.SHA_1: "2b0e03021a",
    HashAlgorithm.SHA_256: "608648016503040201",
    HashAlgorithm.SHA_512: "608648016503040203",
}


def digest_info(algorithm: int, digest: bytes, *, null: bool = True) -> bytes:
    """Encode a DigestInfo in DER, with NULL parameters or none; KeyError for an unknown algorithm."""
    return _digest_info_prefix(algorithm, len(digest), null) + digest


@cache
def _digest_info_prefix(algorithm: int, size: int, null: bool) -> bytes:
    """The DER bytes before the digest; every length is below 128."""
    oid = bytes.fromhex(_OIDS[algorithm])
    parameters = b"\x05\0" * null
    identifier = bytes((0x30, len(oid) + 2 + len(parameters), 0x06, len(oid))) + oid + parameters
    return bytes((0x30, len(identifier) + 2 + size)) + identifier + bytes((0x04, size))
