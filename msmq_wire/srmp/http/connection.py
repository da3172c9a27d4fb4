"""One TCP connection that carries HTTP: bytes of both sides in, requests with their responses out.

The rules kept here:

* A message is a request or a response by its start line; which side the caller takes for the client only
  matters to `HttpMessage.from_client`. A response answers the oldest request of the other side that has none;
  it may come before its request does, and then waits for it. Nobody answers before he is asked.
* Where bytes were lost, frames decide: a response that was complete before a request began is not for it, and
  the first response behind a loss of responses is for the last request before it.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from msmq_wire.buffers import as_bytes
from msmq_wire.srmp.http.framer import MAX_BODY, FramerItem, HttpFramer
from msmq_wire.srmp.http.message import (
    HoleReason,
    HttpExchange,
    HttpHole,
    HttpMessage,
)

MAX_HELD = 2 * MAX_BODY
"""Bytes that a connection holds, unless it is told otherwise."""
_MAX_WAITING = 256
_MAX_INTERIM = 8

HttpEvent: TypeAlias = HttpExchange | HttpHole


class HttpConnection:
    """Feed the bytes of both sides as captured, tell the gaps, take events; call `finish` at the end.

    ``max_held`` bounds what is held for messages: beyond it messages that wait for their counterparts are
    given without them, and bodies are cut. At most 256 of a side wait. No bytes make a method raise.
    """

    __slots__ = ("_framers", "_held", "_interim", "_lost", "_max_held", "_requests", "_responses", "_shaken")

    def __init__(self, *, max_held: int = MAX_HELD) -> None:
        self._max_held = max_held
        self._framers = (HttpFramer(from_client=False), HttpFramer(from_client=True))
        # By the side that asks.
        self._requests: tuple[deque[HttpMessage], deque[HttpMessage]] = (deque(), deque())
        self._responses: tuple[deque[_Answer], deque[_Answer]] = (deque(), deque())
        self._interim: tuple[list[HttpMessage], list[HttpMessage]] = ([], [])
        self._lost = [False, False]
        self._held = 0
        self._shaken = False

    @property
    def held_bytes(self) -> int:
        """What the messages held, complete or not, cost."""
        return self._held + self._framers[0].held_bytes + self._framers[1].held_bytes

    def advance(self, from_client: bool, count: int) -> None:
        """Count ``count`` bytes of a side that were read elsewhere, before any is fed."""
        self._framers[int(from_client)].advance(count)

    def feed(self, from_client: bool, data: bytes, frame: int, time: int) -> list[HttpEvent]:
        """Take the next bytes of a side, which ``frame`` carried at ``time``; return what they complete."""
        data = as_bytes(data)
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
        self,
        from_client: bool,
        length: int | None,
        reason: HoleReason,
        frame: int,
        time: int,
        since: int = 0,
    ) -> list[HttpEvent]:
        """Take note of ``length`` bytes of a side (None: unknown) missing after a frame, 0 for none."""
        events: list[HttpEvent] = []
        side = int(from_client)
        framer = self._framers[side]
        for item in framer.gap(length, reason, frame, time, since):
            self._take(item, events)
        if framer.lost:
            self._shaken = True
            asking = 1 - side
            self._lost[asking] |= bool(self._requests[asking] or self._framers[asking].request_method)
        return events

    def end(self, from_client: bool) -> list[HttpEvent]:
        """Return what the last byte of a side completes: it sends no more."""
        events: list[HttpEvent] = []
        for item in self._framers[int(from_client)].finish():
            self._take(item, events)
        return events

    def finish(self) -> list[HttpEvent]:
        """Return what is left: nothing more comes."""
        events = self.end(True) + self.end(False)
        for asking in (1, 0):
            while self._requests[asking]:
                self._emit(asking, self._next(asking), None, events)
            while self._responses[asking]:
                self._emit(asking, None, self._next_answer(asking), events)
            if self._interim[asking]:
                self._emit(asking, None, None, events)
        return events

    def _asked(self, asking: int) -> str:
        """The method of the request that a response to the side ``asking`` answers."""
        waiting = self._requests[asking]
        return waiting[0].method if waiting else self._framers[asking].request_method

    def _take(self, item: FramerItem, events: list[HttpEvent]) -> None:
        if isinstance(item, HttpHole):
            self._shaken = self._shaken or not item.missing
            events.append(item)
            return
        asking = int(item.from_client) if item.is_request else 1 - int(item.from_client)
        if item.is_request:
            self._requests[asking].append(item)
            self._held += _cost(item)
        elif not self._take_response(asking, item, events):
            return
        self._pair(asking, events)
        if len(self._requests[asking]) > _MAX_WAITING:
            self._shaken = True
            self._emit(asking, self._next(asking), None, events)
        if len(self._responses[asking]) > _MAX_WAITING:
            self._shaken = True
            self._emit(asking, None, self._next_answer(asking), events)
        self._make_room(0, events)

    def _take_response(self, asking: int, response: HttpMessage, events: list[HttpEvent]) -> bool:
        """Keep a response until it is known what it answers; False when that is told at once."""
        if 100 <= response.status < 200 and response.status != 101 and response.complete:
            interim = self._interim[asking]
            if len(interim) < _MAX_INTERIM and self.held_bytes < self._max_held:
                interim.append(response)
                self._held += _cost(response)
            else:
                events.append(HttpExchange(request=None, response=response, certain=False))
            return False
        if not self._framers[asking].begun:
            # Nobody asked yet: the capture begins behind the request.
            self._emit(asking, None, _Answer(response, self._take_interim(asking)), events)
            return False
        self._responses[asking].append(_Answer(response, self._take_interim(asking)))
        self._held += _cost(response)
        return True

    def _pair(self, asking: int, events: list[HttpEvent]) -> None:
        """Give what belongs together: the oldest of both sides, unless bytes were lost."""
        requests, responses = self._requests[asking], self._responses[asking]
        while requests and responses:
            first, last = responses[0].span
            if self._shaken and last < requests[0].frames[0]:
                # Its request is among what was lost.
                self._emit(asking, None, self._next_answer(asking), events)
                continue
            if self._lost[asking]:
                # Of the requests before it a response may be among what was lost.
                while len(requests) > 1 and max(requests[1].frames) < first:
                    self._emit(asking, self._next(asking), None, events)
                self._lost[asking] = False
            self._emit(asking, self._next(asking), self._next_answer(asking), events)

    def _make_room(self, size: int, events: list[HttpEvent]) -> None:
        """Give up what waits, the oldest first, until ``size`` more bytes may be held."""
        while self.held_bytes + size > self._max_held:
            asking = 1 if self._requests[1] or self._responses[1] else 0
            if self._requests[asking]:
                self._shaken = True
                self._emit(asking, self._next(asking), None, events)
            elif self._responses[asking]:
                self._shaken = True
                self._emit(asking, None, self._next_answer(asking), events)
            else:
                break

    def _next(self, asking: int) -> HttpMessage:
        request = self._requests[asking].popleft()
        self._held -= _cost(request)
        return request

    def _next_answer(self, asking: int) -> _Answer:
        answer = self._responses[asking].popleft()
        self._held -= _cost(answer.response)
        return answer

    def _take_interim(self, asking: int) -> tuple[HttpMessage, ...]:
        interim = tuple(self._interim[asking])
        self._interim[asking].clear()
        self._held -= sum(map(_cost, interim))
        return interim

    def _emit(
        self, asking: int, request: HttpMessage | None, answer: _Answer | None, events: list[HttpEvent]
    ) -> None:
        if answer is None:
            # Those 1xx that came belong to the first request without a response.
            response, interim = None, self._take_interim(asking)
        else:
            response, interim = answer.response, answer.interim
        certain = not self._shaken or request is None or (response is None and not self._lost[asking])
        events.append(HttpExchange(request=request, response=response, interim=interim, certain=certain))
        if not self._busy():
            self._shaken = False

    def _busy(self) -> bool:
        """Whether a message waits for another one, or is not complete."""
        waiting = any(self._requests) or any(self._responses) or any(self._lost)
        return waiting or any(framer.request_method or framer.lost for framer in self._framers)


class _Answer:
    """A final response with those 1xx before it."""

    __slots__ = ("interim", "response")

    def __init__(self, response: HttpMessage, interim: tuple[HttpMessage, ...]) -> None:
        self.response = response
        self.interim = interim

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last frame that carried it."""
        return min(self.response.frames), max(self.response.frames)


def _cost(message: HttpMessage) -> int:
    return 1024 + 2 * len(message.head) + len(message.body) + 40 * len(message.frames)


def parse_message(data: bytes) -> tuple[HttpMessage | None, bytes]:
    """Read the one HTTP message that ``data`` should be, and what lies behind it.

    This is how a stored packet holds it (CompoundMessageHeader.Data, [MS-MQRR] 2.2.5.1.2.2). Without a start
    line there is no message and all of ``data`` is the rest; a message that ``data`` cuts is not complete.
    Frames and time are 0.
    """
    data = as_bytes(data)
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
