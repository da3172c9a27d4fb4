"""SRMP over HTTP: messages that are posted, and a plain list of the queues. [MC-MQSRM] 2.1

The rule kept here: every request is answered once, in its order. What a status says of a message is declared
in `SrmpOutcome`; what is no request for this server ends the connection with 400. One request is answered
in a turn of the loop, and none while the client does not read (`Backpressure`).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import string
from collections import OrderedDict
from collections.abc import Collection

from msmq_wire.capture.conversation_writer import CapturedConnection, CaptureWriter, Endpoint, endpoint
from msmq_wire.lab.backpressure import Backpressure
from msmq_wire.lab.binary_server import cannot_serve
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.connection_table import ConnectionTable
from msmq_wire.lab.faults import ConnectionFaults, FaultPlan, FaultySender
from msmq_wire.lab.log import LabLog
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.queue import queue_key
from msmq_wire.lab.queue_manager import LabQueueManager
from msmq_wire.lab.srmp_message import UNIDENTIFIED, srmp_message
from msmq_wire.lab.srmp_outcome import OUTCOME_OF_ENQUEUE, SrmpAnswer, SrmpOutcome
from msmq_wire.srmp.http.framer import HttpFramer
from msmq_wire.srmp.http.message import HttpMessage

QUEUES_PATH = "/queues"
"""The path of the list of queues, which is not part of any MSMQ protocol."""
_BACKLOG = 512
_CONNECTIONS = 200
_LARGEST = 4 << 20
_HELD = 12 << 20
_PIECE = 16 << 10
"""Bytes of a client that are processed in one turn of the loop."""
_SMALL_PIECE = 1 << 10
"""Piece size for headers and chunked bodies, whose lines cost more than their bytes."""
_MOST_CHUNKS = 1 << 10
_IDLE = 60.0
_REQUEST = 20.0
"""Seconds from the first to the last byte of a request, at most."""
_ROUND = 5.0
_HISTORY = 10_000
_NO_REQUEST = frozenset(range(256)) - frozenset(b"\r\n" + string.ascii_letters.encode())
"""Bytes that cannot start a request, or an empty line before it."""
_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    421: "Misdirected Request",
    500: "Internal Server Error",
}
_HOST = re.compile(r"(?:\[([^][]{1,64})\]|([^][:]{1,255}))(?::[0-9]{0,5})?")
_UNKNOWN_HOST = "unknown Host: use an address of this lab, its --host or its --computer-name"


def response(
    status: int, content: bytes = b"", content_type: str = "text/plain", *, close: bool = False
) -> bytes:
    """An HTTP response."""
    head = [f"HTTP/1.1 {status} {_REASONS[status]}", f"Content-Length: {len(content)}"]
    if content:
        head.append(f"Content-Type: {content_type}")
    if close:
        head.append("Connection: close")
    return "\r\n".join([*head, "", ""]).encode("ascii") + content


def _bare(host: str) -> str:
    return host.casefold().removesuffix(".")


class HttpServer:
    """Serves HTTP for a queue manager; `close` it before the loop ends.

    ``names`` are those of this host, besides loopback and the address that a client reached. It answers for
    ``neighbours``, too, and takes nothing for their queues. A page in a browser can have its own name point
    to this server, and so another name is refused.
    """

    def __init__(
        self,
        manager: LabQueueManager,
        clock: LoopClock,
        *,
        names: Collection[str] = (),
        neighbours: Collection[str] = (),
        capture: CaptureWriter | None = None,
        faults: FaultPlan | None = None,
        seed: int = 0,
        log: LabLog,
    ) -> None:
        self.capture = capture
        self.log = log
        self.open: ConnectionTable[_HttpConnection] = ConnectionTable(_CONNECTIONS, _HELD)
        self._manager = manager
        self._names = {"localhost", *(one.casefold() for one in names)}
        self._neighbours = {one.casefold() for one in neighbours} - self._names
        self._clock = clock
        self._faults = faults
        self._seed = seed
        self._count = 0
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._listeners: list[asyncio.Server] = []
        self._round: asyncio.TimerHandle | None = None

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Serve a port, any free one for 0, and return it; `MsmqWireError` where that is not possible."""
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(lambda: _HttpConnection(self), host, port, backlog=_BACKLOG)
        except OSError as error:
            raise cannot_serve(host, port, error) from error
        self._listeners.append(listener)
        self._look_around()
        return endpoint(listener.sockets[0].getsockname())

    async def close(self) -> None:
        """Take no more connections, and break off those that are there."""
        if self._round is not None:
            self._round.cancel()
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.close()
        gone = [connection.closed for connection in self.open]
        for connection in self.open:
            connection.drop()
        if gone:
            await asyncio.wait(gone)
        for listener in listeners:
            await listener.wait_closed()

    def next_faults(self) -> ConnectionFaults | None:
        """The faults of the next connection."""
        self._count += 1
        return None if self._faults is None else self._faults.connection(self._seed, f"http {self._count}")

    def answer(self, request: HttpMessage, peer: str, here: str, *, refuse: bool) -> bytes:
        """Process a request to the address ``here``; return the bytes of the response."""
        hosts = [value.decode("latin-1") for name, value in request.headers if name.lower() == b"host"]
        if len(hosts) != 1:
            return response(400, b"one Host is needed")
        if not self._answers_for(hosts[0], here):
            self.log.say("http-host", peer=peer, host=hosts[0], status=421)
            return response(421, _UNKNOWN_HOST.encode())
        if any(name.lower() == b"origin" for name, _ in request.headers):
            # A page in a browser posts to any address that it likes: no queue manager sends an Origin.
            self.log.say("http-origin", peer=peer, status=403)
            return response(403, b"requests of web pages are not answered")
        if request.method == "GET" and request.target == QUEUES_PATH:
            return response(200, self._queues(), "application/json")
        if request.method != "POST":
            return response(404)
        answer = SrmpAnswer(SrmpOutcome.FAULT) if refuse else self._take(request, peer, here)
        status = answer.outcome.status
        self.log.say("srmp-post", peer=peer, target=request.target, status=status, reason=answer.text or None)
        return response(status, answer.text.encode("utf-8", "replace"))

    def _take(self, request: HttpMessage, peer: str, here: str) -> SrmpAnswer:
        with self._clock.event():
            found = srmp_message(self._manager, request, lambda host: self._is_here(host, here))
            if isinstance(found, SrmpAnswer):
                return found
            queue, message = found
            message.source_address = peer
            # A sender that got no answer posts the same bytes again.
            if message.identifier in self._known:
                self._known.move_to_end(message.identifier)
                return SrmpAnswer(SrmpOutcome.DUPLICATE)
            outcome = OUTCOME_OF_ENQUEUE[enqueue_message(queue, message)]
            # What found no room can come again.
            if outcome is SrmpOutcome.ENQUEUED and message.identifier != UNIDENTIFIED:
                self._known[message.identifier] = None
                if len(self._known) > _HISTORY:
                    self._known.popitem(last=False)
        return SrmpAnswer(outcome)

    def _answers_for(self, host: str, here: str) -> bool:
        found = _HOST.fullmatch(host.strip())
        if found is None:
            return False
        name = found[1] or found[2]
        return self._is_here(name, here) or _bare(name) in self._neighbours

    def _is_here(self, host: str, here: str) -> bool:
        """Whether a host is this one, for a client that reached it at the address ``here``."""
        name = _bare(host)
        if name in self._neighbours and name != here:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return address.is_loopback or str(address) in (here, *self._names)

    def _queues(self) -> bytes:
        rows = [
            {
                "queue": queue_key(queue.pathname),
                "messages": len(queue.message_position_list),
                "bytes": queue.total_bytes,
                "transactional": queue.transactional,
            }
            for queue in self._manager.all_queues
        ]
        return json.dumps(rows).encode("ascii")

    def _look_around(self) -> None:
        loop = asyncio.get_running_loop()
        self._round = loop.call_later(_ROUND, self._look_around)
        for connection in self.open:
            connection.check(loop.time())


class _HttpConnection(asyncio.Protocol):
    """The connection of a client; ``closed`` is done when it has ended."""

    def __init__(self, server: HttpServer) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # When it was last heard of, or stopped to read.
        self._since = asyncio.get_running_loop().time()
        self._begun: float | None = None
        self._server = server
        self._framer = HttpFramer(from_client=True)
        self._unread = bytearray()
        self._captured: CapturedConnection | None = None
        self._open = False
        self._client_ended = False
        self._faults: ConnectionFaults | None = None
        self._peer: Endpoint
        self._here: Endpoint
        self._transport: asyncio.Transport
        self._flow: Backpressure
        self._sender: FaultySender

    @property
    def held(self) -> int:
        """The bytes of waiting input, of an incomplete request, and of unsent responses."""
        unsent = self._transport.get_write_buffer_size() + self._sender.pending
        return len(self._unread) + self._framer.held_bytes + unsent

    @property
    def waiting_since(self) -> float:
        """The start of the incomplete request, or the time of the last response."""
        return self._since if self._begun is None else self._begun

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if peer is None:
            # It is gone again.
            transport.abort()
            return
        self._flow = Backpressure(transport, self._work)
        self._open = True
        self._peer, self._here = endpoint(peer), endpoint(transport.get_extra_info("sockname"))
        self._server.open.enter(self)
        self._faults = self._server.next_faults()
        if self._server.capture is not None:
            self._captured = self._server.capture.connection(self._peer, self._here)
        self._sender = FaultySender(transport, self._faults, self._sent)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection."""
        if self._open:
            self._sender.stop()
        self._server.open.leave(self)
        if self._captured is not None:
            self._captured.ended(exc, from_client=self._client_ended)
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._open or self._transport.is_closing():
            return
        if self._captured is not None:
            self._captured.feed(True, data)
        self._since = asyncio.get_running_loop().time()
        begins = self._begun is None
        if begins:
            self._begun = self._since
        if begins and data[0] in _NO_REQUEST:
            # What speaks another protocol would wait for an answer, and here for the end of its line.
            self._refuse()
            return
        self._unread += data
        self._flow.wake()
        self._server.open.weigh(self)

    def eof_received(self) -> None:
        """The client sends no more."""
        self._client_ended = True

    def pause_writing(self) -> None:
        """Stop reading: the client does not read."""
        self._flow.pause()

    def resume_writing(self) -> None:
        """Read again: the client reads."""
        self._flow.resume()

    def drop(self) -> None:
        """Abort the connection."""
        self._transport.abort()

    def give_up(self) -> None:
        """Abort a connection that makes no progress."""
        self._server.log.say("http-slow", peer=self._peer[0])
        self.drop()

    def check(self, now: float) -> None:
        """Abort the connection if it is idle, or if its request takes too long at ``now``."""
        if now - self._since > _IDLE or (self._begun is not None and now - self._begun > _REQUEST):
            self.give_up()

    def _work(self) -> bool:
        """Read up to the end of a request and answer it; return whether there is more input."""
        size = _PIECE if self._framer.has_plain_body else _SMALL_PIECE
        at, item, data = 0, None, bytes(self._unread[:size])
        self._framer.room = _LARGEST
        while at < len(data) and item is None and not self._too_much:
            at, item = self._framer.step(data, at, 0, 0)
        del self._unread[:at]
        if isinstance(item, HttpMessage) and item.complete and item.is_request and not item.missing:
            # What follows is the next one.
            self._since = asyncio.get_running_loop().time()
            self._begun = self._since if self._unread else None
            self._answer(item)
        elif item is not None or self._too_much:
            self._refuse()
        self._server.open.weigh(self)
        return bool(self._unread)

    @property
    def _too_much(self) -> bool:
        return self._framer.lost or self._framer.held_bytes > _LARGEST or self._framer.chunks > _MOST_CHUNKS

    def _refuse(self) -> None:
        self._server.log.say("http-garbage", peer=self._peer[0])
        self._sender.send(response(400, close=True))
        self._sender.close()

    def _answer(self, request: HttpMessage) -> None:
        refuse = self._faults is not None and self._faults.refused()
        self._sender.send(self._server.answer(request, self._peer[0], self._here[0], refuse=refuse))
        wanted = (request.header("connection") or "").casefold()
        if wanted == "close" or (request.http_version == "1.0" and wanted != "keep-alive"):
            self._sender.close()

    def _sent(self, data: bytes) -> None:
        if self._captured is not None:
            self._captured.feed(False, data)
