"""The secrets of a user: NT hashes and keytab keys. No repr and no error shows them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from Cryptodome.Hash import MD4

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.unseal.keytab import KeytabEntry, parse_keytab

_HASH_DIGITS = 32


def nt_hash(password: str) -> bytes:
    """Return the 16-byte NT hash of a password, [MS-NLMP] 3.3.1 NTOWFv1."""
    return MD4.new(password.encode("utf-16-le", "surrogatepass")).digest()


def parse_nt_hash(text: str) -> bytes:
    """Return the NT hash in ``HASH`` or ``LM:HASH``, 32 hexadecimal digits each; LM may be empty.

    Raises `DecodeError` without the text, which may be a secret in the wrong place.
    """
    lan_manager, colon, digits = text.strip().rpartition(":")
    try:
        value = bytes.fromhex(digits)
        ignored = bytes.fromhex(lan_manager)
    except ValueError:
        value = ignored = b""
    if len(digits) != _HASH_DIGITS or len(value) != 16 or (colon and len(ignored) not in (0, 16)):
        raise DecodeError("nt-hash", "an NT hash is 32 hexadecimal digits, alone or after LM:")
    return value


class Secrets(msgspec.Struct, frozen=True):
    """The secrets that are tried for every client: 16-byte NT hashes, and keys of services.

    An NT hash is also the RC4 key of an account in Kerberos ([RFC 4757] 2). Its repr shows numbers only.
    """

    nt_hashes: tuple[bytes, ...] = ()
    keys: tuple[KeytabEntry, ...] = ()

    @classmethod
    def of(
        cls,
        passwords: Iterable[str] = (),
        nt_hashes: Iterable[str] = (),
        keytabs: Iterable[bytes] = (),
    ) -> Secrets:
        """Gather secrets as a user gives them: passwords, texts of NT hashes, contents of keytab files.

        Raises `DecodeError` for a text that is not an NT hash, or bytes that are not a keytab.
        """
        hashes = [nt_hash(password) for password in passwords]
        hashes += [parse_nt_hash(text) for text in nt_hashes]
        keys = [entry for keytab in keytabs for entry in parse_keytab(keytab)]
        return cls(tuple(dict.fromkeys(hashes)), tuple(dict.fromkeys(keys)))

    def __repr__(self) -> str:
        return f"Secrets(nt_hashes: {len(self.nt_hashes)}, keys: {len(self.keys)})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("nt_hashes", len(self.nt_hashes)), ("keys", len(self.keys))]
