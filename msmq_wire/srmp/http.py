"""One TCP connection that carries HTTP: bytes of both sides in, requests with their responses out.

The rules kept here:

* A message is a request or a response by its start line; which side the caller takes for the client only
  matters to `HttpMessage.from_client`. A response answers the oldest request of the other side that has none.
* A response may come before its request is complete; it then waits for it.
* Where bytes of the side that answers are lost, the requests waiting are given without responses.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from msmq_wire.srmp.http_framer import MAX_BODY, FramerItem, HttpFramer
from msmq_wire.srmp.http_message import (
    HoleReason,
    HttpExchange,
    HttpHole,
    HttpMessage,
    is_credible,
    looks_like_http,
)

__all__ = [
    "MAX_HELD",
    "HttpConnection",
    "HttpEvent",
    "HttpExchange",
    "HttpHole",
    "HttpMessage",
    "is_credible",
    "looks_like_http",
    "parse_message",
]

MAX_HELD = 2 * MAX_BODY
"""Bytes that a connection holds, unless it is told otherwise."""
_MAX_WAITING = 256
_MAX_INTERIM = 8

HttpEvent: TypeAlias = HttpExchange | HttpHole


class HttpConnection:
    """Feed the bytes of both sides as captured, tell the gaps, take events; call `finish` at the end.

    ``max_held`` bounds what is held for messages: beyond it requests that wait are given without their
    responses, and bodies are cut. At most 256 requests wait. No bytes make a method raise.
    """

    __slots__ = ("_early", "_framers", "_held", "_interim", "_max_held", "_requests", "_shaken")

    def __init__(self, *, max_held: int = MAX_HELD) -> None:
        self._max_held = max_held
        self._framers = (HttpFramer(from_client=False), HttpFramer(from_client=True))
        # By the side that asks.
        self._requests: tuple[deque[HttpMessage], deque[HttpMessage]] = (deque(), deque())
        self._early: list[HttpMessage | None] = [None, None]
        self._interim: tuple[list[HttpMessage], list[HttpMessage]] = ([], [])
        self._held = 0
        self._shaken = False

    @property
    def held_bytes(self) -> int:
        """What the messages held, complete or not, cost."""
        return self._held + self._framers[0].held_bytes + self._framers[1].held_bytes

    def feed(self, from_client: bool, data: bytes, frame: int, time: int) -> list[HttpEvent]:
        """Take the next bytes of a side, which ``frame`` carried at ``time``; return what they complete."""
        events: list[HttpEvent] = []
        side, at = int(from_client), 0
        framer = self._framers[side]
        while at < len(data):
            framer.answered = self._asked(1 - side)
            self._make_room(framer.appetite(len(data) - at), events)
            framer.room = self._max_held - self.held_bytes
            at, item = framer.step(data, at, frame, time)
            if item is not None:
                self._take(item, events)
        return events

    def gap(
        self, from_client: bool, length: int | None, reason: HoleReason, frame: int, time: int
    ) -> list[HttpEvent]:
        """Take note of ``length`` bytes of a side (None: unknown) missing here, as ``frame`` shows."""
        events: list[HttpEvent] = []
        side = int(from_client)
        framer = self._framers[side]
        for item in framer.gap(length, reason, frame, time):
            self._take(item, events)
        if framer.lost:
            self._shaken = True
            self._give_up(1 - side, events)
        return events

    def finish(self) -> list[HttpEvent]:
        """Return what is left: nothing more comes."""
        events: list[HttpEvent] = []
        for side in (1, 0):
            for item in self._framers[side].finish():
                self._take(item, events)
        for side in (1, 0):
            self._give_up(side, events)
        return events

    def _asked(self, asking: int) -> str:
        """The method of the request that a response to the side ``asking`` answers."""
        waiting = self._requests[asking]
        return waiting[0].method if waiting else self._framers[asking].request_method

    def _take(self, item: FramerItem, events: list[HttpEvent]) -> None:
        if isinstance(item, HttpHole):
            self._shaken = self._shaken or not item.missing
            events.append(item)
        elif item.is_request:
            self._take_request(item, events)
        else:
            self._take_response(item, events)

    def _take_request(self, request: HttpMessage, events: list[HttpEvent]) -> None:
        asking = int(request.from_client)
        waiting, early = self._requests[asking], self._early[asking]
        if early is not None:
            self._early[asking] = None
            self._held -= _cost(early)
            self._emit(asking, request, early, events)
            return
        waiting.append(request)
        self._held += _cost(request)
        if len(waiting) > _MAX_WAITING:
            self._shaken = True
            self._emit(asking, self._next(asking), None, events)
        self._make_room(0, events)

    def _take_response(self, response: HttpMessage, events: list[HttpEvent]) -> None:
        asking = 1 - int(response.from_client)
        if 100 <= response.status < 200 and response.status != 101 and response.complete:
            interim = self._interim[asking]
            if len(interim) < _MAX_INTERIM and self.held_bytes < self._max_held:
                interim.append(response)
                self._held += _cost(response)
                return
            events.append(HttpExchange(request=None, response=response, certain=False))
        elif self._requests[asking]:
            self._emit(asking, self._next(asking), response, events)
        elif self._framers[asking].request_method and self._early[asking] is None:
            self._early[asking] = response
            self._held += _cost(response)
        else:
            self._emit(asking, None, response, events)

    def _make_room(self, size: int, events: list[HttpEvent]) -> None:
        """Give up requests that wait, the oldest first, until ``size`` more bytes may be held."""
        for asking in (1, 0):
            while self._requests[asking] and self.held_bytes + size > self._max_held:
                self._shaken = True
                self._emit(asking, self._next(asking), None, events)

    def _next(self, asking: int) -> HttpMessage:
        request = self._requests[asking].popleft()
        self._held -= _cost(request)
        return request

    def _emit(
        self, asking: int, request: HttpMessage | None, response: HttpMessage | None, events: list[HttpEvent]
    ) -> None:
        interim = tuple(self._interim[asking])
        self._interim[asking].clear()
        self._held -= sum(map(_cost, interim))
        certain = not self._shaken or request is None or response is None
        events.append(HttpExchange(request=request, response=response, interim=interim, certain=certain))
        if not self._busy():
            self._shaken = False

    def _busy(self) -> bool:
        """Whether a message waits for another one, or is not complete."""
        return any(self._requests) or any(framer.request_method or framer.lost for framer in self._framers)

    def _give_up(self, asking: int, events: list[HttpEvent]) -> None:
        """Give what waits for responses to the side ``asking``, and for the request of an early one."""
        while self._requests[asking]:
            self._emit(asking, self._next(asking), None, events)
        if self._interim[asking]:
            self._emit(asking, None, None, events)


def _cost(message: HttpMessage) -> int:
    return 1024 + 2 * len(message.head) + len(message.body) + 40 * len(message.frames)


def parse_message(data: bytes) -> tuple[HttpMessage | None, bytes]:
    """Read the one HTTP message that ``data`` should be, and what lies behind it.

    This is how a stored packet holds it (CompoundMessageHeader.Data, [MS-MQRR] 2.2.5.1.2.2). Without a start
    line there is no message and all of ``data`` is the rest; a message that ``data`` cuts is not complete.
    Frames and time are 0.
    """
    framer = HttpFramer(from_client=True)
    at = 0
    while at < len(data):
        at, item = framer.step(data, at, 0, 0)
        if isinstance(item, HttpMessage):
            return item, data[at:]
        if item is not None or framer.lost:
            return None, data
    for item in framer.finish():
        if isinstance(item, HttpMessage):
            return item, b""
    return None, data
