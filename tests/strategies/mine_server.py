"""A server as a reader of docs/fuzzing.md may have it: what it does depends on what its parser reads."""

from __future__ import annotations

import asyncio
import socketserver
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, NamedTuple, Self, TypeVar

from msmq_wire.lab.server import LabServer, LabSettings
from tests.strategies.mine import Fault, Parser, Stream

_WINDOW = 64
_T = TypeVar("_T")


class Lie(NamedTuple):
    """What is wrong in each SessionHeader of a server: numbers that are added to the right ones."""

    received: int = 0
    recoverable: int = 0
    sent: int = 0


class Server:
    """Listens on a free port of loopback while it is used as a context; ``stored`` is what it keeps.

    ``lie`` is added to what it acknowledges.
    """

    def __init__(self, fault: Fault = "", lie: Lie = Lie()) -> None:  # noqa: B008  # a value that does not change
        self._stored: list[dict[str, Any]] = []
        self._server = _Listener(fault, lie, self._stored)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> tuple[str, int]:
        """Its host and port."""
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def stored(self) -> list[dict[str, Any]]:
        """The messages that it keeps, in the order in which they came."""
        return list(self._stored)


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, fault: Fault, lie: Lie, stored: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.fault, self.lie, self.stored = fault, lie, stored

    def handle_error(self, *_: object) -> None:
        """A session that ends with an exception is closed."""


class _Session(socketserver.BaseRequestHandler):
    server: _Listener

    def handle(self) -> None:
        """Answer one client until it ends, or sends what is refused."""
        parser, stream = Parser(self.server.fault), Stream(self.server.fault)
        self._received = self._recoverable = 0
        with suppress(ValueError, ConnectionError):
            while piece := self.request.recv(8192):
                for data in stream.feed(piece):
                    self.request.sendall(self._answer(data, parser.parse(data)))

    def _answer(self, data: bytes, found: dict[str, Any]) -> bytes:
        match found["kind"]:
            case 0:
                self.server.stored.append(found)
                return self._session_ack(recoverable=found["delivery"] == 1)
            case 2:
                client: bytes = found["client"]
                stamp = struct.pack("<I", found["time_stamp"])
                return data[:20] + client + b"\1" * 16 + stamp + data[56:60] + b"Z" * 512
            case 3:
                return data
        return b""

    def _session_ack(self, *, recoverable: bool) -> bytes:
        """One for each message, so that a bit stands for it alone."""
        self._received += 1
        self._recoverable += recoverable
        first, bits = (self._recoverable, 1) if recoverable else (0, 0)
        lie = self.server.lie
        counts = (self._received + lie.received, first + lie.recoverable, bits, lie.sent)
        base = struct.pack("<BBHIIIHH", 0x10, 0, 0x18, 0x524F494C, 36, 0xFFFFFFFF, 0, 1)
        return base + struct.pack("<HHIHHHH", *counts, 0, _WINDOW, 0)


class LabAsMine:
    """The lab in the same role, in a loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._lab: LabServer
        self.address: tuple[str, int]

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start())
        return self

    def __exit__(self, *error: object) -> None:
        self._run(self._lab.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def stored(self) -> list[dict[str, Any]]:
        """The messages in its queues."""
        return self._run(self._stored())

    async def _start(self) -> None:
        self._lab = LabServer(LabSettings(port=0, ping_port=0, rpc_port=0, http_port=0))
        self.address = (await self._lab.start()).binary

    async def _stored(self) -> list[dict[str, Any]]:
        parse = Parser().parse
        return [
            parse(position.message_reference.packet)
            for queue in self._lab.manager.queue_collection.values()
            for position in queue.message_position_list
        ]

    def _run(self, steps: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(steps, self._loop).result()
