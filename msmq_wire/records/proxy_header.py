"""The header of the PROXY protocol: a load balancer says in front of a connection whose it is.

HAProxy, "The PROXY protocol", 2.1 (version 1, a line) and 2.2 (version 2, binary).

The rules kept here:

* A header stands in front of what the side says that opened the connection, once, and nowhere else: the SYN
  or the SYN-ACK has to be captured.
* Whoever connects can write one. What it names is the sender's word, and never replaces the ends of packets.
* What is no header by those rules is given back, byte for byte. Less than 256 bytes of a header are held.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple, TypeAlias

import msgspec

from msmq_wire.reassembly.encapsulation import PROXY_HEADER, part, proxied
from msmq_wire.reassembly.tcp_events import Endpoints
from msmq_wire.records.endpoint import endpoint
from msmq_wire.wire.stream import counted

HEADER_BEGINS = frozenset(b"P\r")
"""The first byte of a header."""
_LINE = b"PROXY "
_LONGEST_LINE = 107
_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
_FIXED = 16
"""Bytes of the binary header before the addresses."""
_LOCAL, _PROXY = 0x20, 0x21
"""Version 2 with each of its commands."""
_ADDRESSES = {0x11: 4, 0x21: 16}
"""The size of an address, by family and protocol: TCP over IPv4 and over IPv6."""
_FAMILIES = {b"TCP4": 4, b"TCP6": 6}

_Chunk: TypeAlias = tuple[bytes, int, int]
"""Bytes, the frame that carried them, and its time."""


class ProxyHeader(NamedTuple):
    """What a header says: ``length`` are its bytes, ``ends`` the client and whom it connected to.

    ``ends`` are None where it names none: LOCAL, UNKNOWN, or ends that are not TCP.
    """

    what: str
    length: int
    ends: Endpoints | None

    @property
    def path(self) -> bytes:
        """Its part of `Record.path`."""
        return part(PROXY_HEADER, self.length) + (b"" if self.ends is None else proxied(self.ends))


class FoundHeader(NamedTuple):
    """A header where it was found: ``reason`` says what it is, ``length`` counts what was captured of it."""

    reason: str
    length: int
    frames: tuple[int, ...]
    time: int


class Front(NamedTuple):
    """What came of the front of a connection: a header, and the bytes to read on with.

    ``skipped`` are the bytes of the header before them, told with the first of them.
    """

    header: FoundHeader | None = None
    skipped: int = 0
    chunks: tuple[_Chunk, ...] = ()


def header_of(data: bytes) -> ProxyHeader | None:
    """The header that ``data`` begins with, as soon as its addresses are there; None for anything else."""
    if data.startswith(_LINE):
        line, end, _ = data[:_LONGEST_LINE].partition(b"\r\n")
        return _of_line(line) if end else None
    whole = data.startswith(_SIGNATURE) and len(data) >= _addressed(data)
    return _of_bytes(data) if whole else None


def behind_header(data: bytes) -> bytes:
    """What follows the header that ``data`` begins with; all of it where there is none."""
    header = header_of(data) if data[:1] in (b"P", b"\r") else None
    return data if header is None else data[header.length :]


def may_become_header(data: bytes) -> bool:
    """Whether more bytes may make a header of ``data``, which is none yet."""
    if not data:
        return False
    if data.startswith(_LINE):
        return len(data) < _LONGEST_LINE and b"\r\n" not in data
    if data.startswith(_SIGNATURE):
        return len(data) < _addressed(data)
    return _LINE.startswith(data) or _SIGNATURE.startswith(data)


def _of_line(line: bytes) -> ProxyHeader | None:
    """Version 1: ``PROXY TCP4 198.51.100.21 192.0.2.10 50017 1801``, or UNKNOWN and anything."""
    length = len(line) + 2
    words = line.split(b" ")
    if words[1] == b"UNKNOWN":
        return ProxyHeader("PROXY v1, UNKNOWN", length, None)
    if len(words) != 6 or words[1] not in _FAMILIES:
        return None
    try:
        src, dst = (ipaddress.ip_address(word.decode("ascii")) for word in words[2:4])
    except ValueError:
        return None
    ports = [int(word) for word in words[4:] if word.isdigit() and int(word) < 1 << 16]
    if src.version != dst.version or src.version != _FAMILIES[words[1]] or len(ports) != 2:
        return None
    return ProxyHeader("PROXY v1", length, (src.packed, ports[0], dst.packed, ports[1]))


def _addressed(data: bytes) -> int:
    """How many bytes of a binary header tell all that is read of it."""
    if len(data) < _FIXED or data[12] != _PROXY:
        return _FIXED
    size = _ADDRESSES.get(data[13])
    return _FIXED if size is None else _FIXED + 2 * size + 4


def _of_bytes(data: bytes) -> ProxyHeader | None:
    """Version 2; what follows the addresses (TLVs) is counted, and not looked at."""
    length = _FIXED + int.from_bytes(data[14:_FIXED], "big")
    if data[12] == _LOCAL:
        return ProxyHeader("PROXY v2, LOCAL", length, None)
    if data[12] != _PROXY or length < _addressed(data):
        return None
    size = _ADDRESSES.get(data[13])
    if size is None:
        return ProxyHeader(f"PROXY v2, of no TCP connection (family {data[13]:#04x})", length, None)
    block = data[_FIXED : _FIXED + 2 * size + 4]
    sport, dport = (int.from_bytes(block[at : at + 2], "big") for at in (2 * size, 2 * size + 2))
    return ProxyHeader("PROXY v2", length, (block[:size], sport, block[size : 2 * size], dport))


class _Open(msgspec.Struct):
    """A front that is not decided yet, or whose header has not been followed by anything.

    ``held`` are its bytes while they may become a header, ``taken`` counts them all.
    """

    held: list[_Chunk] = []
    header: ProxyHeader | None = None
    frames: tuple[int, ...] = ()
    time: int = 0
    taken: int = 0


class ProxyHeaders:
    """The headers in front of the connections of a capture; a stream is the number of a connection."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._paths: dict[int, bytes] = {}

    def __bool__(self) -> bool:
        """Whether any front is open."""
        return bool(self._open)

    def __contains__(self, stream: int) -> bool:
        """Whether the front of a connection is open: its bytes have to come here."""
        return stream in self._open

    @property
    def streams(self) -> tuple[int, ...]:
        """The connections whose front is open."""
        return tuple(self._open)

    def path(self, stream: int) -> bytes:
        """What a header says of a connection, as a part of `Record.path`; empty without one."""
        return self._paths.get(stream, b"") if self._paths else b""

    def take(self, stream: int, data: bytes, frame: int, time: int) -> Front:
        """Take the next bytes of the front of a connection."""
        front = self._open.setdefault(stream, _Open())
        before, front.taken, front.time = front.taken, front.taken + len(data), time
        if front.header is None:
            front.held.append((data, frame, time))
            begun = b"".join(one for one, _, _ in front.held)
            front.header = header_of(begun)
            if front.header is None:
                return Front() if may_become_header(begun) else self.end(stream)
            front.frames = tuple(dict.fromkeys(frame for _, frame, _ in front.held))
            front.held = []
        length = front.header.length
        if front.taken < length:
            return Front()
        found = None
        if before < length:
            front.frames = tuple(dict.fromkeys((*front.frames, frame)))
            found = self._found(stream, front.header, front)
        surplus = front.taken - length
        if not surplus:
            return Front(found)
        del self._open[stream]
        return Front(found, length, ((data[-surplus:], frame, time),))

    def end(self, stream: int) -> Front:
        """What an open front leaves: nothing more comes to it, or bytes are missing."""
        front = self._open.pop(stream, None)
        if front is None:
            return Front()
        if front.header is None:
            return Front(chunks=tuple(front.held))
        found = None
        if front.taken < front.header.length:
            found = self._found(stream, front.header, front)
        return Front(found, front.taken)

    def forget(self, stream: int) -> None:
        """Drop what is known of a connection."""
        self._paths.pop(stream, None)

    def _found(self, stream: int, header: ProxyHeader, front: _Open) -> FoundHeader:
        self._paths[stream] = header.path
        client = endpoint(*header.ends[:2]) if header.ends else ""
        says = f"the client is {client}, by the sender's word" if client else "it names no client"
        lacking = header.length - front.taken
        cut = f"; {counted(lacking)} of the header missing" if lacking > 0 else ""
        length = min(front.taken, header.length)
        return FoundHeader(f"{header.what}: {says}{cut}", length, front.frames, front.time)
