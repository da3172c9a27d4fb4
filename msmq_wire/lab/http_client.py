"""A client of SRMP over HTTP: posts messages one by one, and waits for each response."""

from __future__ import annotations

import asyncio
import contextlib

from msmq_wire.capture.conversation_writer import CapturedConnection, CaptureWriter, endpoint
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.log import why
from msmq_wire.srmp.http.framer import HttpFramer
from msmq_wire.srmp.http.message import HttpMessage

_PIECE = 1 << 16
_LARGEST = 16 << 20
_ATTEMPTS = 20


class HttpClient(Closing):
    """Sends requests to one server, and connects when needed; use it as a context."""

    def __init__(
        self, host: str, port: int, *, capture: CaptureWriter | None = None, patience: float = 60.0
    ) -> None:
        self._server = host, port
        self._capture = capture
        self._patience = patience
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._framer = HttpFramer(from_client=False)
        self._captured: CapturedConnection | None = None

    async def request(self, data: bytes, method: str = "POST") -> HttpMessage:
        """Send a whole request and return the response, both over again where the connection ends before it.

        Raises `MsmqWireError` where no answer comes.
        """
        for _ in range(_ATTEMPTS):
            try:
                async with asyncio.timeout(self._patience):
                    answer = await self._exchange(data, method)
            except TimeoutError:
                raise MsmqWireError(f"{self._name} does not answer") from None
            except ConnectionError:
                answer = None
            except OSError as error:
                raise MsmqWireError(f"cannot connect to {self._name}: {why(error)}") from error
            if answer is not None:
                return answer
            await self.close()
        raise MsmqWireError(f"{self._name} ends connections before it answers")

    @property
    def _name(self) -> str:
        return f"{self._server[0]} port {self._server[1]}"

    async def _exchange(self, data: bytes, method: str) -> HttpMessage | None:
        if self._streams is None:
            try:
                self._streams = await asyncio.open_connection(*self._server)
            except ConnectionError as error:
                raise MsmqWireError(f"cannot connect to {self._name}: {why(error)}") from error
            self._framer = HttpFramer(from_client=False)
            self._captured = None
            if self._capture is not None:
                own, peer = (self._streams[1].get_extra_info(name) for name in ("sockname", "peername"))
                self._captured = self._capture.connection(endpoint(own), endpoint(peer))
        reader, writer = self._streams
        if self._captured is not None:
            self._captured.feed(True, data)
        writer.write(data)
        await writer.drain()
        self._framer.answered, self._framer.room = method, _LARGEST
        while piece := await reader.read(_PIECE):
            if self._captured is not None:
                self._captured.feed(False, piece)
            at = 0
            while at < len(piece):
                at, item = self._framer.step(piece, at, 0, 0)
                if isinstance(item, HttpMessage) and item.complete and not item.is_request:
                    if (item.header("connection") or "").casefold() == "close":
                        await self.close()
                    return item
                if item is not None:
                    raise MsmqWireError(f"{self._name} answers with what is no HTTP")
        return None

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            writer = self._streams[1]
            self._streams = None
            if self._captured is not None:
                self._captured.finish()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
