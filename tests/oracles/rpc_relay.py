"""A TCP relay on loopback that writes down what passes, as a capture of two hosts on an Ethernet.

The payload bytes, where they were cut by the network stack (at most 1460 octets a segment) and their times
are real. Addresses, headers, sequence numbers and acknowledgments are made here and fit together.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from typing import NamedTuple

from fixtures.build_frames import ACK, FIN, PSH, SYN, TCP, Captured, ethernet, ipv4, packed, pcap, tcp

MAXIMUM_SEGMENT = 1460
CLIENT, SERVER = "192.0.2.21", "192.0.2.10"
_WINDOW = 64_240
_SYN_OPTIONS = b"\x02\x04" + MAXIMUM_SEGMENT.to_bytes(2, "big")


class Event(NamedTuple):
    """A segment, or the end of a direction where ``data`` is empty."""

    time: int
    connection: int
    from_client: bool
    data: bytes


class Relay:
    """Listens on ``port`` of 127.0.0.1 and passes everything on to the port it is told at each `expect`."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(30)
        self.port: int = self._listener.getsockname()[1]
        self._events: list[Event] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._opened: list[tuple[int, int, int]] = []

    def expect(self, target_port: int, shown_port: int) -> threading.Thread:
        """Take the next connection on to ``target_port``; the capture shows it on ``shown_port``."""
        thread = threading.Thread(target=self._take, args=(target_port, shown_port), daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def _take(self, target_port: int, shown_port: int) -> None:
        client, address = self._listener.accept()
        server = socket.create_connection(("127.0.0.1", target_port), timeout=30)
        for end in (client, server):
            end.settimeout(30)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets += [client, server]
        with self._lock:
            number = len(self._opened)
            self._opened.append((time.time_ns(), address[1], shown_port))
        back = threading.Thread(target=self._copy, args=(server, client, number, False), daemon=True)
        back.start()
        self._copy(client, server, number, True)
        back.join(30)

    def _copy(self, source: socket.socket, target: socket.socket, number: int, from_client: bool) -> None:
        while True:
            try:
                data = source.recv(MAXIMUM_SEGMENT)
            except OSError:
                data = b""
            with self._lock:
                self._events.append(Event(time.time_ns(), number, from_client, data))
            try:
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        """Wait for the open connections to end, then let go of every socket."""
        for thread in self._threads:
            thread.join(30)
        for end in (*self._sockets, self._listener):
            end.close()

    def client_ports(self) -> list[int]:
        """The ports the clients came from, one a connection."""
        return [client for _, client, _ in self._opened]

    def capture(self) -> bytes:
        """The pcap file."""
        sides = [_Connection(index, *opened) for index, opened in enumerate(self._opened)]
        frames = [frame for side in sides for frame in side.opening()]
        for event in self._events:
            frames += sides[event.connection].segment(event)
        frames.sort(key=lambda frame: frame.time)
        return pcap(frames)


class _Connection:
    """Sequence numbers of one connection; index 0 is the client, 1 the server."""

    def __init__(self, index: int, opened: int, client_port: int, server_port: int) -> None:
        self._times = itertools.count(opened)
        self._last = opened
        self._ends = ((packed(CLIENT), client_port), (packed(SERVER), server_port))
        self._next = [0x1000_0000 + 0x0100_0000 * index, 0x8000_0000 + 0x0100_0000 * index]
        self._unacknowledged = [0, 0]
        self._identification = itertools.count(1)

    def _frame(
        self, side: int, flags: int, data: bytes = b"", when: int = 0, options: bytes = b""
    ) -> Captured:
        # The clock of a capture counts microseconds: no two frames of a connection share one.
        self._last = max(when, self._last + 1000)
        (source, source_port), (target, target_port) = self._ends[side], self._ends[1 - side]
        acknowledged = self._next[1 - side] if flags & ACK else 0
        numbers = self._next[side], acknowledged
        segment = tcp(source, source_port, target, target_port, *numbers, flags, data, _WINDOW, options)
        self._next[side] += len(data) + bool(flags & (SYN | FIN))
        if flags & ACK:
            self._unacknowledged[1 - side] = 0
        packet = ethernet(ipv4(source, target, TCP, segment, next(self._identification) & 0xFFFF))
        if side:
            packet = packet[6:12] + packet[:6] + packet[12:]
        return Captured(packet, self._last, len(packet))

    def opening(self) -> list[Captured]:
        return [
            self._frame(0, SYN, options=_SYN_OPTIONS),
            self._frame(1, SYN | ACK, options=_SYN_OPTIONS),
            self._frame(0, ACK),
        ]

    def segment(self, event: Event) -> list[Captured]:
        side = 0 if event.from_client else 1
        if not event.data:
            return [self._frame(side, FIN | ACK, when=event.time), self._frame(1 - side, ACK)]
        frames = [self._frame(side, PSH | ACK, event.data, event.time)]
        self._unacknowledged[side] += 1
        if self._unacknowledged[side] == 2:
            frames.append(self._frame(1 - side, ACK))
        return frames
