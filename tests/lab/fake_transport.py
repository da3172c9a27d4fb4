"""Connections without sockets, so that a test decides when a client reads and counts what it was sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.server import LabServer, LabSettings
from tests.lab.lab_scene import ANY_PORTS, HOST

READ_SIZE = 1 << 18
"""Bytes that a loop gives to a connection at once."""
HIGH_WATER = 1 << 16

Serve = dict[str, Callable[[], asyncio.Protocol]]


class Transport(asyncio.Transport):
    """Takes what is written, and like all of them ends a connection some time after it was told to.

    A client that does not read is told by ``reads``: what it was sent waits then, until `read`.
    """

    def __init__(self, protocol: asyncio.Protocol, *, reads: bool = True) -> None:
        super().__init__({"peername": (HOST, 40_000), "sockname": (HOST, 1801), "socket": self})
        self._protocol = protocol
        self._closing = False
        self._reads = reads
        self.taking = True
        self.waiting = 0
        self.written = bytearray()
        self.aborts = 0
        protocol.connection_made(self)

    def setsockopt(self, level: int, name: int, value: int) -> None:
        """Stand in for the socket, too."""

    def write(self, data: Any) -> None:
        self.written += data
        before, self.waiting = self.waiting, self.waiting + (0 if self._reads else len(data))
        if before <= HIGH_WATER < self.waiting:
            self._protocol.pause_writing()

    def read(self) -> None:
        """The client reads, from now on."""
        self._reads, before, self.waiting = True, self.waiting, 0
        if before > HIGH_WATER:
            self._protocol.resume_writing()

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self.taking = False

    def resume_reading(self) -> None:
        self.taking = True

    def abort(self) -> None:
        self.aborts += 1
        assert self.aborts < 50, "what only schedules the end of a connection is asked for it in a loop"
        if not self._closing:
            self._closing = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    close = abort

    def feed(self, data: bytes) -> None:
        for at in range(0, len(data), READ_SIZE):
            if not self._closing:
                self._protocol.data_received(data[at : at + READ_SIZE])


@contextlib.asynccontextmanager
async def lab_of(
    settings: LabSettings = ANY_PORTS,
    write: Callable[[LabEvent], None] | None = None,
    capture: CaptureWriter | None = None,
) -> AsyncIterator[tuple[LabServer, Serve]]:
    """A lab, and what makes the protocol of a new connection, by service."""
    made: list[Callable[[], asyncio.Protocol]] = []
    loop = asyncio.get_running_loop()
    create_server = loop.create_server

    async def create(factory: Any, *arguments: Any, **options: Any) -> asyncio.Server:
        made.append(factory)
        server: asyncio.Server = await create_server(factory, *arguments, **options)
        return server

    loop.create_server = create  # type: ignore[assignment]  # to have what serves a connection
    async with LabServer(settings, write=write, capture=capture) as lab:
        await lab.start()
        yield lab, dict(zip(("rpc", "binary", "http"), made, strict=True))


async def turns(count: int) -> None:
    """Let the loop go round."""
    for _ in range(count):
        await asyncio.sleep(0)
