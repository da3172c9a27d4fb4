"""What passes through sockets, as a capture file: one frame a segment, nanoseconds, IP without a link layer.

The rule kept here: the file holds the bytes that the sockets gave and took, in that order. What TCP did with
them on the way is made up: a handshake, segments of 1460 bytes, acknowledgments, an end.
"""

from __future__ import annotations

import ipaddress
import os
import struct
import time
from collections.abc import Callable, Sequence
from io import FileIO
from types import TracebackType
from typing import IO, Any, Self, TypeAlias

from msmq_wire.errors import CaptureError
from msmq_wire.output import open_stream
from msmq_wire.units import SECOND

Endpoint: TypeAlias = tuple[str, int]
"""An IPv4 or IPv6 address as text, and a port."""

MSS = 1460
"""Bytes of a full segment."""

_FIN, _SYN, _RST, _PSH, _ACK = 0x01, 0x02, 0x04, 0x08, 0x10
_TCP, _UDP = 6, 17
_MASK = 0xFFFFFFFF
_WINDOW = 0xFFFF
_ACKNOWLEDGED = 16 * MSS  # bytes after which a silent receiver says that it has them
_RAW_IP = 101
_SNAP_LENGTH = 1 << 18
_MAXIMUM_SEGMENT_SIZE = struct.pack(">BBH", 2, 4, MSS)


def endpoint(address: Any) -> Endpoint:
    """The address and port of what `socket` calls an address, without the zone of a link-local one."""
    host, port = address[:2]
    return str(host).partition("%")[0], int(port)


def _packed(address: str) -> bytes:
    ip = ipaddress.ip_address(address)
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return ip.packed if mapped is None else mapped.packed


def _checksum(data: bytes) -> int:
    """The Internet checksum. RFC 1071"""
    data += bytes(len(data) & 1)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _pseudo_header(src: bytes, dst: bytes, protocol: int, length: int) -> bytes:
    if len(src) == 4:
        return src + dst + struct.pack(">BBH", 0, protocol, length)
    return src + dst + struct.pack(">IxxxB", length, protocol)


def _segment(
    src: bytes, dst: bytes, ports: tuple[int, int], seq: int, ack: int, flags: int, payload: bytes
) -> bytes:
    """A TCP segment with its checksum; a SYN tells the `MSS`. RFC 9293 3.1"""
    options = _MAXIMUM_SEGMENT_SIZE if flags & _SYN else b""
    words = 5 + len(options) // 4
    header = struct.pack(">HHIIHH", *ports, seq & _MASK, ack & _MASK, words << 12 | flags, _WINDOW)
    rest = options + payload
    total = _checksum(_pseudo_header(src, dst, _TCP, 4 * words + len(payload)) + header + bytes(4) + rest)
    return header + struct.pack(">HH", total, 0) + rest


def _datagram(src: bytes, dst: bytes, ports: tuple[int, int], payload: bytes) -> bytes:
    """A UDP datagram with its checksum. RFC 768"""
    length = 8 + len(payload)
    header = struct.pack(">HHH", *ports, length)
    total = _checksum(_pseudo_header(src, dst, _UDP, length) + header + bytes(2) + payload)
    return header + struct.pack(">H", total or 0xFFFF) + payload


def _packet(src: bytes, dst: bytes, protocol: int, payload: bytes, number: int) -> bytes:
    """An IPv4 or IPv6 packet, by the size of the addresses. RFC 791 3.1, RFC 8200 3"""
    if len(src) == 16:
        return struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) + src + dst + payload
    header = struct.pack(">BBHHHBB", 0x45, 0, 20 + len(payload), number & 0xFFFF, 0x4000, 64, protocol)
    return header + struct.pack(">H", _checksum(header + bytes(2) + src + dst)) + src + dst + payload


class CaptureWriter:
    """Writes a pcap file of conversations: `connection` for TCP, `datagram` for UDP.

    ``clock`` gives nanoseconds since 1970; times in the file never go back. Each call leaves a file that can
    be read, so that the end of the process does not matter. Opening a file that cannot be written, that is
    there when ``force`` is false, that is a link, or that another writer has open, raises `CaptureError` and
    changes nothing. A disk that fails later ends no conversation: nothing more is written, and `close`
    raises. A file with no room within ``most_bytes`` for what comes next gets nothing more. It can be read,
    ``is_full`` is true, and ``full`` is called once.

    ``path`` may be an open binary file instead; `close` leaves it open.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | IO[bytes],
        *,
        clock: Callable[[], int] = time.time_ns,
        force: bool = True,
        most_bytes: int | None = None,
        full: Callable[[], None] | None = None,
    ) -> None:
        self.is_full = False
        self._left = most_bytes
        self._full = full
        self._clock = clock
        self._last = 0
        self._number = 0
        self._connections = 0
        self._failure: OSError | None = None
        self._is_own = isinstance(path, str | os.PathLike)
        self._file: IO[bytes] | FileIO
        if isinstance(path, str | os.PathLike):
            try:
                self._file = open_stream(path, force=force)
            except OSError as error:
                raise CaptureError(f"cannot write the capture {path}: {error.strerror or error}") from error
        else:
            self._file = path
        self._append(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, _SNAP_LENGTH, _RAW_IP))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def connection(self, client: Endpoint, server: Endpoint) -> CapturedConnection:
        """Write the handshake of a connection; feed the bytes of both sides to what is returned."""
        self._connections += 1
        return CapturedConnection(self, client, server, self._connections)

    def datagram(self, src: Endpoint, dst: Endpoint, data: bytes) -> None:
        """Write a UDP datagram of at most 65,507 bytes."""
        source, destination = _packed(src[0]), _packed(dst[0])
        self.packets(source, destination, _UDP, [_datagram(source, destination, (src[1], dst[1]), data)])

    def packets(self, src: bytes, dst: bytes, protocol: int, payloads: Sequence[bytes]) -> None:
        """Write IP packets with these payloads, now; the addresses are packed."""
        if self.is_full:
            return
        # A nanosecond apart: no two frames have the same time, so that sorting them changes nothing.
        now = max(self._clock(), self._last + 1)
        records = []
        for payload in payloads:
            self._number += 1
            packet = _packet(src, dst, protocol, payload, self._number)
            seconds, nanoseconds = divmod(now, SECOND)
            records += [struct.pack("<IIII", seconds, nanoseconds, len(packet), len(packet)), packet]
            self._last, now = now, now + 1
        self._append(b"".join(records))

    def close(self) -> None:
        """Close the file; `CaptureError` if not all of it could be written."""
        if self._is_own:
            self._file.close()
        if self._failure is not None:
            error = self._failure
            raise CaptureError(f"the capture is not complete: {error.strerror or error}") from error

    def _append(self, data: bytes) -> None:
        """Write records where there is room for all of them."""
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                self.is_full = True
                if self._full is not None:
                    self._full()
                return
        self._write(data)

    def _write(self, data: bytes) -> None:
        if self._failure is not None or self._file.closed:
            return
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._failure = error


class CapturedConnection:
    """A TCP connection of a `CaptureWriter`: its bytes as they pass, then `finish` or `reset`."""

    def __init__(self, writer: CaptureWriter, client: Endpoint, server: Endpoint, number: int) -> None:
        self._writer = writer
        self._addresses = _packed(client[0]), _packed(server[0])
        self._ports = client[1], server[1]
        # Any numbers will do; these tell connections apart and let some of them wrap around.
        self._next = [number * 0x9E3779B1 & _MASK, number * 0x85EBCA77 & _MASK]
        self._unacknowledged = [0, 0]
        self._open = True
        self._send(0, [(_SYN, b"")])
        self._send(1, [(_SYN | _ACK, b"")])
        self._send(0, [(_ACK, b"")])

    def feed(self, from_client: bool, data: bytes) -> None:
        """Write the next bytes of a side."""
        side = 0 if from_client else 1
        segments: list[tuple[int, bytes]] = []
        if not self._open or not data or self._writer.is_full:
            return
        for start in range(0, len(data), MSS):
            payload = data[start : start + MSS]
            last = start + MSS >= len(data)
            segments.append((_ACK | _PSH if last else _ACK, payload))
            self._unacknowledged[side] += len(payload)
            if self._unacknowledged[side] >= _ACKNOWLEDGED:
                self._send(side, segments)
                segments = []
                self._send(1 - side, [(_ACK, b"")])
        if segments:
            self._send(side, segments)

    def finish(self, from_client: bool = True) -> None:
        """Write the end of both directions; ``from_client`` says who began it."""
        if self._open:
            side = 0 if from_client else 1
            self._send(side, [(_FIN | _ACK, b"")])
            self._send(1 - side, [(_FIN | _ACK, b"")])
            self._send(side, [(_ACK, b"")])
            self._open = False

    def reset(self, from_client: bool = True) -> None:
        """Write that a side broke the connection off."""
        if self._open:
            self._send(0 if from_client else 1, [(_RST | _ACK, b"")])
            self._open = False

    def ended(self, error: Exception | None, *, from_client: bool, broken_by_client: bool = True) -> None:
        """Write how a connection was lost: `finish` where there is no error, else `reset`."""
        if error is None:
            self.finish(from_client)
        else:
            self.reset(broken_by_client)

    def _send(self, side: int, segments: Sequence[tuple[int, bytes]]) -> None:
        src, dst = self._addresses[side], self._addresses[1 - side]
        ports = self._ports[side], self._ports[1 - side]
        self._unacknowledged[1 - side] = 0
        payloads = []
        for flags, payload in segments:
            ack = self._next[1 - side] if flags & _ACK else 0
            payloads.append(_segment(src, dst, ports, self._next[side], ack, flags, payload))
            self._next[side] += len(payload) + bool(flags & (_SYN | _FIN))
        self._writer.packets(src, dst, _TCP, payloads)
