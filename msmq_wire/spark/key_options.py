"""Keys for sealed calls and encrypted bodies, read from the files that options name.

The rule kept here: keys are read where captures are decoded, so no secret is part of a plan or a partition.
"""

from __future__ import annotations

from msmq_wire.errors import MissingExtraError, MsmqWireError
from msmq_wire.records.body_keys import OpensBodies, put_in_force
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.spark.read_options import ReadOptions

_LARGEST = 1 << 24


def negotiator_of(options: ReadOptions) -> Negotiator | None:
    """Return what opens sealed calls; None without the extra ``unseal``.

    Without keys it opens nothing, but tells whom clients say they are. Raises MsmqWireError where a file
    cannot be read or holds no key, and where keys are given and the extra is not installed.
    """
    given = bool(options.nt_password_file or options.nt_hash_file or options.keytabs)
    try:
        from msmq_wire.rpc.unseal.negotiation import negotiator
        from msmq_wire.rpc.unseal.secrets import Secrets
    except ImportError:
        if not given:
            return None
        raise MissingExtraError.of(
            "opening sealed calls", "cryptography and pycryptodomex", "msmq-wire[unseal]"
        ) from None
    return negotiator(
        Secrets.of(
            passwords=_lines("ntPasswordFile", options.nt_password_file),
            nt_hashes=_lines("ntHashFile", options.nt_hash_file),
            keytabs=[_read("keytab", path) for path in options.keytabs],
        )
    )


def use_body_keys(options: ReadOptions) -> None:
    """Let what follows in this process open bodies with the keys of these options; raises as below."""
    put_in_force(body_opener_of(options))


def body_opener_of(options: ReadOptions) -> OpensBodies | None:
    """Return what opens encrypted bodies; None where no private key is named.

    Raises MsmqWireError where a file cannot be read or holds no RSA key, and without the extra ``unseal``.
    """
    if not options.rsa_keys:
        return None
    try:
        from msmq_wire.sealing.keys import read_private_keys
        from msmq_wire.sealing.opening import BodyOpener
    except ImportError:
        raise MissingExtraError.of(
            "opening bodies", "cryptography and pycryptodomex", "msmq-wire[unseal]"
        ) from None
    passwords = [one.encode() for one in _lines("rsaKeyPasswordFile", options.rsa_key_password_file)]
    files = [_read("rsaKey", path) for path in options.rsa_keys]
    try:
        return BodyOpener(read_private_keys(files, passwords))
    except MsmqWireError as error:
        raise MsmqWireError(f"rsaKey: {error}") from None


def _lines(option: str, path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        text = _read(option, path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MsmqWireError(f"{option}: the file is no text") from None
    return [line for line in (line.removesuffix("\r") for line in text.split("\n")) if line]


def _read(option: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        # Not its name: it may be a secret in the wrong place.
        reason = getattr(error, "strerror", None) or "no path"
        raise MsmqWireError(f"{option}: the file cannot be read: {reason}") from None
    if len(data) > _LARGEST:
        raise MsmqWireError(f"{option}: the file is larger than {_LARGEST >> 20} MiB")
    return data
