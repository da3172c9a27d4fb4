"""The options of the data sources and of the job, checked once, in one place."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeAlias, cast, get_args

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
    "scope": "ring: files that follow each other are a capture; file: each is; group: all of a folder.",
    "streams": "Whether steps of TCP connections are rows: true or false.",
    "payload": "Whether payloads and bodies are given: true or false.",
    "frame": "Whether packets have all captured bytes of their frame: true or false.",
    "columns": "The columns to read, separated by commas; no more is decoded than they need.",
    "onError": "quarantine: files that cannot be read give rows that say so; fail: they end the query.",
    "index": "A folder with an index of splits, see `msmq_wire.spark.split_planning.index_captures`.",
    "chunkBytes": "Bytes of a capture that are decoded together.",
    "followed": "Messages followed at a time; of more, the oldest are told as they stand then.",
    "ntPasswordFile": "A file with a password a line that open sealed calls (NTLM).",
    "ntHashFile": "A file with an NT hash a line.",
    "keytab": "Keytabs with keys of servers that open sealed calls (Kerberos), separated by commas.",
    "rsaKey": "Private keys (PEM, DER, PFX) that open encrypted bodies, separated by commas.",
    "rsaKeyPasswordFile": "A file with a password of these a line.",
    "maxFilesPerTrigger": "Files that a batch of a stream reads at most.",
    "settle": "Seconds a file must be unchanged before a stream reads it.",
    "patience": "Seconds after which a stream reads a file that is cut.",
    "seen": "The folder in which a stream notes what it saw; by default .msmq-wire-seen beside the files.",
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
    index: str | None = None
    followed: int = 1 << 17
    nt_password_file: str | None = None
    nt_hash_file: str | None = None
    keytabs: tuple[str, ...] = ()
    rsa_keys: tuple[str, ...] = ()
    rsa_key_password_file: str | None = None
    max_files: int | None = None
    settle: float = 10.0
    patience: float = 600.0
    seen: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ReadOptions:
        """Read the options of a data source. Raises MsmqWireError for what no option can be."""
        return _Reader(options).read()

    @property
    def networks(self) -> tuple[Network, ...]:
        """The hosts as networks."""
        return tuple(ipaddress.ip_network(host, strict=False) for host in self.hosts)

    @property
    def selects(self) -> bool:
        """Whether frames are chosen by port, host or time."""
        return bool(self.ports or self.hosts or self.since is not None or self.until is not None)


class _Reader:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = {name.lower(): text for name, text in options.items()}
        known = {name.lower() for name in OPTIONS}
        unknown = sorted(set(self._given) - known)
        if unknown:
            raise MsmqWireError(f"no option is called {unknown[0]}; there are {', '.join(OPTIONS)}")

    def read(self) -> ReadOptions:
        scope = self._one_of("scope", "ring", get_args(Scope))
        return ReadOptions(
            paths=self._paths(),
            glob=self._given.get("glob"),
            recursive=self._flag("recursive", False),
            split_bytes=self._number("splitBytes", DEFAULT_SPLIT_BYTES, 1),
            chunk_bytes=self._number("chunkBytes", DEFAULT_CHUNK_BYTES, 1, _LARGEST_CHUNK),
            ports=frozenset(self._port(text) for text in self._list("ports")),
            hosts=tuple(self._host(text) for text in self._list("hosts")),
            since=self._time("since"),
            until=self._time("until"),
            scope=cast(Scope, scope),
            streams=self._flag("streams", False),
            payload=self._flag("payload", True),
            frame=self._flag("frame", False),
            columns=self._columns(),
            on_error=self._one_of("onError", "quarantine", ("fail", "quarantine")),
            index=self._given.get("index"),
            followed=self._number("followed", 1 << 17, 1),
            nt_password_file=self._given.get("ntpasswordfile"),
            nt_hash_file=self._given.get("nthashfile"),
            keytabs=tuple(self._list("keytab")),
            rsa_keys=tuple(self._list("rsaKey")),
            rsa_key_password_file=self._given.get("rsakeypasswordfile"),
            max_files=self._number("maxFilesPerTrigger", 0, 0) or None,
            settle=self._seconds("settle", 10.0),
            patience=self._seconds("patience", 600.0),
            seen=self._given.get("seen"),
        )

    def _paths(self) -> tuple[str, ...]:
        text = self._given.get("paths")
        if text is None:
            path = self._given.get("path")
            return () if path is None else (input_path(path),)
        try:
            paths = json.loads(text)
        except ValueError:
            paths = None
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise MsmqWireError("the option paths is a JSON list of paths")
        return tuple(map(input_path, paths))

    def _columns(self) -> frozenset[str] | None:
        names = frozenset(name.lower() for name in self._list("columns"))
        if "columns" in self._given and not names:
            raise MsmqWireError("the option columns is a list of names of columns, and there is none")
        return names or None

    def _list(self, name: str) -> list[str]:
        parts = self._given.get(name.lower(), "").split(",")
        return [part.strip() for part in parts if part.strip()]

    def _flag(self, name: str, default: bool) -> bool:
        text = self._given.get(name.lower())
        return default if text is None else self._one_of(name, "", ("true", "false")) == "true"

    def _one_of(self, name: str, default: str, values: tuple[str, ...]) -> str:
        text = self._given.get(name.lower(), default).strip().lower()
        if text not in values:
            raise MsmqWireError(f"the option {name} is {' or '.join(values)}, not {text}")
        return text

    def _number(self, name: str, default: int, least: int, most: int = _LARGEST_NUMBER) -> int:
        text = self._given.get(name.lower())
        if text is None:
            return default
        digits = text.strip().lower().removesuffix("b")
        shift = _SUFFIXES.get(digits[-1:], 0)
        digits = digits[:-1] if shift else digits
        number = int(digits) << shift if digits.isascii() and digits.isdigit() and len(digits) < 17 else -1
        if not least <= number <= most:
            raise MsmqWireError(f"the option {name} is a number from {least} to {most}, not {text}")
        return number

    def _seconds(self, name: str, default: float) -> float:
        text = self._given.get(name.lower())
        if text is None:
            return default
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1
        if not 0 <= seconds < _LARGEST_NUMBER:
            raise MsmqWireError(f"the option {name} is a number of seconds, not {text}")
        return seconds

    def _port(self, text: str) -> int:
        port = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
        if not 0 < port < 1 << 16:
            raise MsmqWireError(f"the option ports is a list of numbers up to 65535, not {text}")
        return port

    def _host(self, text: str) -> str:
        try:
            return str(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise MsmqWireError(f"the option hosts is a list of addresses or networks, not {text}") from None

    def _time(self, name: str) -> int | None:
        text = self._given.get(name)
        if text is None:
            return None
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
