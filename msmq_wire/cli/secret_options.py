"""Passwords, NT hashes, keytabs and private keys from the command line, from files and the environment.

The rule kept here: no secret, and no text that may be one, is ever printed: an error names the option.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from msmq_wire.api.accounts import default_negotiator
from msmq_wire.cli.help_text import KEYS
from msmq_wire.cli.reporting import print_error
from msmq_wire.errors import DecodeError, MsmqWireError
from msmq_wire.records.body_keys import OpensBodies
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    from msmq_wire.sealing.certificates import TrustedCertificates
    from msmq_wire.sealing.making import BodySealer, MessageSigner

_T = TypeVar("_T")
KEY_OPTIONS = "--nt-password, --nt-hash or --keytab"

_PASSWORD, _HASH, _KEYTAB = "--nt-password", "--nt-hash", "--keytab"
_RSA_KEY, _RSA_PASSWORD = "--rsa-key", "--rsa-key-password"
_SIGN, _SEAL, _TRUST = "--sign", "--seal", "--trust"
_VARIABLES = {
    _PASSWORD: "MSMQ_WIRE_NT_PASSWORD",
    _HASH: "MSMQ_WIRE_NT_HASH",
    _KEYTAB: "MSMQ_WIRE_KEYTAB",
    _RSA_KEY: "MSMQ_WIRE_RSA_KEY",
    _RSA_PASSWORD: "MSMQ_WIRE_RSA_KEY_PASSWORD",
}
_FILES = ("--nt-password-file", "--nt-hash-file", "--rsa-key-password-file")
_BEGINNINGS = tuple({word[:4] for option in _VARIABLES for word in option.strip("-").split("-")})
"""How the words begin by which these options are known, right or mistyped."""
_LARGEST_TEXT = 1 << 20
_LARGEST_KEYTAB = 1 << 24
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

NtPasswords = Annotated[
    list[str] | None,
    typer.Option(
        "--nt-password",
        metavar="TEXT",
        help="A password that opens sealed calls (NTLM). The process list shows it to other users: @FILE "
        "reads one a line instead, @@ stands for @. May be repeated. Without it "
        f"{_VARIABLES[_PASSWORD]} counts.",
        show_default=False,
        rich_help_panel=KEYS,
    ),
]
NtHashes = Annotated[
    list[str] | None,
    typer.Option(
        "--nt-hash",
        metavar="HEX",
        help="An NT hash instead of a password, alone or after LM:. The process list shows it to other "
        "users: @FILE reads one a line instead. May be repeated. Without it "
        f"{_VARIABLES[_HASH]} counts.",
        show_default=False,
        rich_help_panel=KEYS,
    ),
]
Keytabs = Annotated[
    list[str] | None,
    typer.Option(
        "--keytab",
        metavar="FILE",
        help="A keytab with the key of the server, which opens sealed calls (Kerberos). May be repeated. "
        f"Without it {_VARIABLES[_KEYTAB]} counts.",
        show_default=False,
        rich_help_panel=KEYS,
    ),
]
RsaKeys = Annotated[
    list[str] | None,
    typer.Option(
        "--rsa-key",
        metavar="FILE",
        help="A private key of the queue manager that messages were sent to, PEM, DER or PFX, which opens "
        f"encrypted bodies. May be repeated. Without it {_VARIABLES[_RSA_KEY]} counts.",
        show_default=False,
        rich_help_panel=KEYS,
    ),
]
RsaKeyPasswords = Annotated[
    list[str] | None,
    typer.Option(
        "--rsa-key-password",
        metavar="TEXT",
        help="A password of these files. The process list shows it to other users: @FILE reads one a line "
        f"instead, @@ stands for @. May be repeated. Without it {_VARIABLES[_RSA_PASSWORD]} counts.",
        show_default=False,
        rich_help_panel=KEYS,
    ),
]

TrustedFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="FILE",
        help="Certificates that vouch for who signed, PEM or DER: what they did not issue is said by the "
        "column trusted_by, by decode --verify, and by findings (CNT-TRUST). May be repeated.",
        show_default=False,
        rich_help_panel=KEYS,
    ),
]


def negotiator_for(
    passwords: Sequence[str] | None, nt_hashes: Sequence[str] | None, keytabs: Sequence[str] | None
) -> Negotiator | None:
    """What opens sealed calls with the secrets that were given.

    Without any it opens nothing, but tells whom clients say they are; None without the extra ``unseal``.

    Raises typer.BadParameter for what is no NT hash or no keytab, typer.Exit(1) after one line where a file
    cannot be read or the extra ``unseal`` is not installed.
    """
    words = [one for text in _given(_PASSWORD, passwords) for one in _lines(_PASSWORD, text)]
    hashes = [one for text in _given(_HASH, nt_hashes) for one in _lines(_HASH, text)]
    files = [_read(_KEYTAB, path, _LARGEST_KEYTAB) for path in _given(_KEYTAB, keytabs)]
    if not words and not hashes and not files:
        return default_negotiator()
    try:
        from msmq_wire.rpc.unseal.negotiation import negotiator
        from msmq_wire.rpc.unseal.secrets import Secrets
    except ImportError:
        _fail('opening sealed calls needs cryptography and pycryptodomex: pip install "msmq-wire[unseal]"')
    try:
        known = Secrets.of(passwords=words, nt_hashes=hashes)
    except DecodeError as error:
        raise typer.BadParameter(error.message, param_hint=_HASH) from None
    try:
        keys = Secrets.of(keytabs=files).keys
    except DecodeError as error:
        raise typer.BadParameter(error.message, param_hint=_KEYTAB) from None
    return negotiator(Secrets(known.nt_hashes, keys))


def body_opener_for(keys: Sequence[str] | None, passwords: Sequence[str] | None) -> OpensBodies | None:
    """What opens encrypted bodies with the private keys that were given; None without any.

    Raises typer.BadParameter for a file that holds no RSA key or that no password opens, typer.Exit(1) after
    one line where a file cannot be read or the extra ``unseal`` is not installed.
    """
    found = private_keys_for(keys, passwords)
    if not found:
        return None
    from msmq_wire.sealing.opening import BodyOpener

    return BodyOpener(found)


def private_keys_for(keys: Sequence[str] | None, passwords: Sequence[str] | None) -> list[Any]:
    """The private keys that were given; raises as `body_opener_for`."""
    paths = _given(_RSA_KEY, keys)
    if not paths:
        if passwords:
            raise typer.BadParameter(f"it opens a file that {_RSA_KEY} names", param_hint=_RSA_PASSWORD)
        return []
    words = _rsa_passwords(passwords)
    files = [_read(_RSA_KEY, path, _LARGEST_TEXT) for path in paths]
    return _of_sealing(_RSA_KEY, lambda keys: keys.read_private_keys(files, words))


def trusted_for(paths: Sequence[str] | None) -> TrustedCertificates | None:
    """The certificates that were given as trusted, None without any; raises as `body_opener_for`."""
    if not paths:
        return None
    files = [_read(_TRUST, path, _LARGEST_TEXT) for path in paths]
    found = _of_sealing(_TRUST, lambda keys: [one for data in files for one in keys.read_certificates(data)])
    from msmq_wire.sealing.certificates import TrustedCertificates

    return TrustedCertificates(found)


def signer_for(path: str, passwords: Sequence[str] | None) -> MessageSigner:
    """What signs with the key and the certificate in a file; raises as `body_opener_for`."""
    data, words = _read(_SIGN, path, _LARGEST_TEXT), _rsa_passwords(passwords)
    key, certificate = _of_sealing(_SIGN, lambda keys: keys.read_identity(data, words))
    from msmq_wire.sealing.making import MessageSigner

    return MessageSigner(key, certificate)


def sealer_for(path: str) -> BodySealer:
    """What encrypts for the owner of a certificate; raises as `body_opener_for`."""
    data = _read(_SEAL, path, _LARGEST_TEXT)
    key = _of_sealing(_SEAL, lambda keys: keys.read_public_key(data))
    from msmq_wire.sealing.making import BodySealer

    return BodySealer(key)


def _rsa_passwords(passwords: Sequence[str] | None) -> list[bytes]:
    words = [one for text in _given(_RSA_PASSWORD, passwords) for one in _lines(_RSA_PASSWORD, text)]
    return [word.encode("utf-8", "surrogateescape") for word in words]


def _of_sealing(option: str, read: Callable[[Any], _T]) -> _T:
    """What the functions of `msmq_wire.sealing.keys` read in the file of an option."""
    try:
        from msmq_wire.sealing import keys, making, opening  # noqa: F401  # all of them need the extra
    except ImportError:
        _fail(f'{option} needs cryptography and pycryptodomex: pip install "msmq-wire[unseal]"')
    try:
        return read(keys)
    except MsmqWireError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def mistyped_secret(arguments: Iterable[str]) -> str | None:
    """What to say of an unknown option in a command line that may have a secret glued to it; None without."""
    for argument in arguments:
        name = argument.partition("=")[0]
        letters = name.lower().replace("-", "").replace("_", "")
        if name.startswith("-") and letters.startswith(_BEGINNINGS) and name not in (*_VARIABLES, *_FILES):
            return (
                "No such option: it is not repeated here, since a secret may be in it. "
                f"A value stands behind a blank or =, as in {_PASSWORD} @FILE"
            )
    return None


def _given(option: str, values: Sequence[str] | None) -> list[str]:
    """What the command line says, else the environment: one value a line."""
    if values:
        return list(values)
    return [line for line in os.environ.get(_VARIABLES[option], "").split("\n") if line]


def _lines(option: str, text: str) -> list[str]:
    """A secret, or those in the file that ``@`` stands before."""
    if not text.startswith("@"):
        return [text]
    if text.startswith("@@"):
        return [text[1:]]
    data = _read(option, text[1:], _LARGEST_TEXT)
    encoding, start = next(((name, len(bom)) for bom, name in _BOMS if data.startswith(bom)), ("utf-8", 0))
    try:
        lines = data[start:].decode(encoding).split("\n")
    except UnicodeDecodeError:
        raise typer.BadParameter("the file after @ is no text", param_hint=option) from None
    found = [line for line in (line.removesuffix("\r") for line in lines) if line]
    if not found:
        raise typer.BadParameter("the file after @ is empty", param_hint=option)
    return found


def _read(option: str, path: str, most: int) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        # Not its name: it may be a secret in the wrong place.
        _fail(f"{option}: the file cannot be read: {getattr(error, 'strerror', None) or 'no path'}")
    if len(data) > most:
        raise typer.BadParameter(f"the file is larger than {most >> 20} MiB", param_hint=option)
    return data


def _fail(message: str) -> NoReturn:
    print_error(message)
    raise typer.Exit(1) from None
