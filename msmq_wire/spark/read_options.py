"""The options of the data sources and of the job, checked once, in one place.

The rule kept here: an option has the name of the field that it sets; defaults stand at the fields alone.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias, get_args

import msgspec

from msmq_wire.capture.listing import Scope
from msmq_wire.capture.places import input_path
from msmq_wire.errors import MsmqWireError
from msmq_wire.units import SECOND

DEFAULT_SPLIT_BYTES = 64 << 20
DEFAULT_CHUNK_BYTES = 1 << 23
"""Smaller than what `read_batches` takes: a worker has the columns of a chunk several times over."""

OnError: TypeAlias = str
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

OPTIONS: Mapping[str, str] = {
    "path": "A file, a folder or a glob; load(...) sets it.",
    "paths": "Several of them: a JSON list; load([...]) sets it.",
    "glob": "Names of files to read in folders; by default those that end like a capture, carved all.",
    "recursive": "Whether folders in folders are read: true or false.",
    "splitBytes": "Bytes of a file that one task reads (packets, carved): a number, or one with k, m or g.",
    "ports": "Read only what goes to or from these TCP and UDP ports, separated by commas.",
    "hosts": "Read only what goes to or from these addresses or networks, separated by commas.",
    "since": "Read only frames from this time on, RFC 3339.",
    "until": "Read only frames before this time, RFC 3339.",
    "scope": "ring: files that follow each other are a capture; places: those of the same traffic, too, for "
    "which all files are read beforehand; file: each is; group: all of a folder.",
    "streams": "Whether steps of TCP connections are rows: true or false.",
    "payload": "Whether payloads and bodies are given: true or false.",
    "frame": "Whether packets have all captured bytes of their frame: true or false.",
    "columns": "The columns to read, separated by commas; no more is decoded than they need.",
    "onError": "quarantine: files that cannot be read give rows that say so; fail: they end the query.",
    "chunkBytes": "Bytes of a capture that are decoded together.",
    "followed": "Messages followed at a time; of more, the oldest are told as they stand then.",
    "ntPasswordFile": "A file with a password a line that open sealed calls (NTLM).",
    "ntHashFile": "A file with an NT hash a line.",
    "keytab": "Keytabs with keys of servers that open sealed calls (Kerberos), separated by commas.",
    "rsaKey": "Private keys (PEM, DER, PFX) that open encrypted bodies, separated by commas.",
    "rsaKeyPasswordFile": "A file with a password of these a line.",
}
"""Every option, with what it means; case does not matter."""
AT_REST = ("path", "paths", "glob", "recursive", "splitBytes", "payload", "columns", "onError", "chunkBytes")
"""Those that say something of files that are no captures."""

_SUFFIXES = {"k": 10, "m": 20, "g": 30}
_LARGEST_NUMBER = 1 << 50
_LARGEST_CHUNK = 1 << 30
_FRACTION = re.compile(r"([Tt ][0-9]{2}:[0-9]{2}:[0-9]{2})[.,]([0-9]+)")


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is read, and how; see `OPTIONS`. Times are nanoseconds since 1970, UTC."""

    paths: tuple[str, ...] = ()
    glob: str | None = None
    recursive: bool = False
    split_bytes: int = DEFAULT_SPLIT_BYTES
    chunk_bytes: int = DEFAULT_CHUNK_BYTES
    ports: frozenset[int] = frozenset()
    hosts: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    scope: Scope = "ring"
    streams: bool = False
    payload: bool = True
    frame: bool = False
    columns: frozenset[str] | None = None
    on_error: OnError = "quarantine"
    followed: int = 1 << 17
    nt_password_file: str | None = None
    nt_hash_file: str | None = None
    keytabs: tuple[str, ...] = ()
    rsa_keys: tuple[str, ...] = ()
    rsa_key_password_file: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ReadOptions:
        """Read the options of a data source. Raises MsmqWireError for what no option can be."""
        given = {name.lower(): text for name, text in options.items()}
        unknown = sorted(given.keys() - {name.lower() for name in OPTIONS})
        if unknown:
            raise MsmqWireError(f"no option is called {unknown[0]}; there are {', '.join(OPTIONS)}")
        read: dict[str, Any] = {}
        # Of path and paths the latter counts, as it comes later.
        for name in OPTIONS:
            if name.lower() in given:
                read[_field(name)] = _READERS.get(name, _text)(name, given[name.lower()])
        return cls(**read)

    @property
    def networks(self) -> tuple[Network, ...]:
        """The hosts as networks."""
        return tuple(ipaddress.ip_network(host, strict=False) for host in self.hosts)

    @property
    def selects(self) -> bool:
        """Whether frames are chosen by port, host or time."""
        return bool(self.ports or self.hosts or self.since is not None or self.until is not None)


def _text(name: str, text: str) -> str:
    return text


def _path(name: str, text: str) -> tuple[str, ...]:
    return (input_path(text),)


def _paths(name: str, text: str) -> tuple[str, ...]:
    try:
        paths = msgspec.json.decode(text, type=tuple[str, ...])
    except (msgspec.MsgspecError, UnicodeError):
        raise MsmqWireError(f"the option {name} is a JSON list of paths") from None
    return tuple(map(input_path, paths))


def _list(name: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _columns(name: str, text: str) -> frozenset[str]:
    names = frozenset(one.lower() for one in _list(name, text))
    if not names:
        raise MsmqWireError(f"the option {name} is a list of names of columns, and there is none")
    return names


def _one_of(name: str, text: str, *, values: tuple[str, ...]) -> str:
    value = text.strip().lower()
    if value not in values:
        raise MsmqWireError(f"the option {name} is {' or '.join(values)}, not {value}")
    return value


def _flag(name: str, text: str) -> bool:
    return _one_of(name, text, values=("true", "false")) == "true"


def _number(name: str, text: str, *, most: int = _LARGEST_NUMBER) -> int:
    digits = text.strip().lower().removesuffix("b")
    shift = _SUFFIXES.get(digits[-1:], 0)
    digits = digits[:-1] if shift else digits
    number = int(digits) << shift if digits.isascii() and digits.isdigit() and len(digits) < 17 else 0
    if not 1 <= number <= most:
        raise MsmqWireError(f"the option {name} is a number from 1 to {most}, not {text}")
    return number


def _ports(name: str, text: str) -> frozenset[int]:
    ports = set()
    for part in _list(name, text):
        port = int(part) if part.isascii() and part.isdigit() and len(part) < 6 else 0
        if not 0 < port < 1 << 16:
            raise MsmqWireError(f"the option {name} is a list of numbers up to 65535, not {part}")
        ports.add(port)
    return frozenset(ports)


def _hosts(name: str, text: str) -> tuple[str, ...]:
    hosts = []
    for part in _list(name, text):
        try:
            hosts.append(str(ipaddress.ip_network(part, strict=False)))
        except ValueError:
            raise MsmqWireError(f"the option {name} is a list of addresses or networks, not {part}") from None
    return tuple(hosts)


def _time(name: str, text: str) -> int:
    # Nanoseconds, which datetime does not have.
    fraction = _FRACTION.search(text)
    try:
        time = datetime.fromisoformat(_FRACTION.sub(r"\1", text, count=1).strip())
    except ValueError:
        raise MsmqWireError(f"the option {name} is a time as 2026-01-31T12:00:00Z, not {text}") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    nanoseconds = (since.days * 86400 + since.seconds) * SECOND + since.microseconds * 1000
    if fraction is not None:
        nanoseconds += int(fraction[2][:9].ljust(9, "0"))
    # No frame has a time that 64 bits do not hold.
    return max(-1 << 63, min(nanoseconds, (1 << 63) - 1))


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "path": _path,
    "paths": _paths,
    "ports": _ports,
    "hosts": _hosts,
    "scope": partial(_one_of, values=get_args(Scope)),
    "columns": _columns,
    "onError": partial(_one_of, values=("fail", "quarantine")),
    "chunkBytes": partial(_number, most=_LARGEST_CHUNK),
    **dict.fromkeys(("recursive", "streams", "payload", "frame"), _flag),
    **dict.fromkeys(("splitBytes", "followed"), _number),
    **dict.fromkeys(("since", "until"), _time),
    **dict.fromkeys(("keytab", "rsaKey"), _list),
}
"""What reads the text of an option; all others are taken as they are."""


def _field(option: str) -> str:
    """The field that an option sets."""
    name = "".join(f"_{one.lower()}" if one.isupper() else one for one in option)
    return f"{name}s" if name in ("path", "keytab", "rsa_key") else name
