"""Passwords, NT hashes and keytabs from the command line, from files and from the environment.

The rule kept here: no secret, and no text that may be one, is ever printed: an error names the option.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Annotated, NoReturn

import typer

from msmq_wire.cli.reporting import complain
from msmq_wire.errors import DecodeError
from msmq_wire.rpc.security import Negotiation, Negotiator

__all__ = [
    "KEY_OPTIONS",
    "Keytabs",
    "NtHashes",
    "NtPasswords",
    "mistyped_secret",
    "negotiator_for",
    "without_secrets",
]

KEY_OPTIONS = "--nt-password, --nt-hash or --keytab"

_PASSWORD, _HASH, _KEYTAB = "--nt-password", "--nt-hash", "--keytab"
_VARIABLES = {
    _PASSWORD: "MSMQ_WIRE_NT_PASSWORD",
    _HASH: "MSMQ_WIRE_NT_HASH",
    _KEYTAB: "MSMQ_WIRE_KEYTAB",
}
_FILES = ("--nt-password-file", "--nt-hash-file")
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
        return None if find_spec("cryptography") is None else without_secrets
    try:
        from msmq_wire.rpc.unseal.negotiation import negotiator
        from msmq_wire.rpc.unseal.secrets import Secrets
    except ImportError:
        _fail("opening sealed calls needs cryptography: pip install 'msmq-wire[unseal]'")
    try:
        known = Secrets.of(passwords=words, nt_hashes=hashes)
    except DecodeError as error:
        raise typer.BadParameter(error.message, param_hint=_HASH) from None
    try:
        keys = Secrets.of(keytabs=files).keys
    except DecodeError as error:
        raise typer.BadParameter(error.message, param_hint=_KEYTAB) from None
    return negotiator(Secrets(known.nt_hashes, keys))


def without_secrets(auth_type: int) -> Negotiation | None:
    """What opens nothing, but tells whom clients say they are."""
    # Loaded when a capture has something to negotiate: most have not.
    try:
        from msmq_wire.rpc.unseal.negotiation import negotiator
        from msmq_wire.rpc.unseal.secrets import Secrets
    except ImportError:
        return None
    return negotiator(Secrets())(auth_type)


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
    complain(message)
    raise typer.Exit(1) from None
