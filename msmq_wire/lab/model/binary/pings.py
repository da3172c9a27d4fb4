"""Ping, which asks whether sessions are accepted. [MS-MQQB] 2.2.7, 3.1.7.6 to 3.1.7.9

The rule kept here: a request is answered once, and an answer never. Both have the same form, so that two
ports that answer each other would go on for ever: one datagram with a false source address is enough.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

import msgspec

from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.wire.packets.ping import PING_SIGNATURE, Ping
from msmq_wire.wire.types.guid import GUID

_RC, _RF = 1, 2
_SIZE = 24
_WAIT = 1000
"""Milliseconds of the Ping Response Timer. [MS-MQQB] 3.1.2.9"""
_MOST_PER_SECOND = 100
"""Pings of one source that are answered."""
_MOST_SOURCES = 1024
_MOST_ANSWERED = 256
"""The last pings of a source, which are not answered again."""


def _read(data: bytes) -> Ping | None:
    if len(data) != _SIZE:
        return None
    try:
        packet: Ping = decode(data, "ping")
    except DecodeError:
        return None
    return packet if packet.signature == PING_SIGNATURE else None


class _Source(msgspec.Struct, eq=False):
    """Pings of one address and port: how many were answered in which second, and the last ones."""

    second: int
    count: int = 0
    answered: OrderedDict[tuple[GUID, int], None] = msgspec.field(default_factory=OrderedDict)


class PingResponder:
    """Answers the pings of all sources, each within a rate."""

    def __init__(self, manager: ModelQueueManager) -> None:
        self._manager = manager
        self._sources: OrderedDict[Hashable, _Source] = OrderedDict()

    def answer(self, data: bytes, source: Hashable, *, accepting: bool = True) -> bytes | None:
        """Receive Ping Request: the datagram that answers; None for no answer. [MS-MQQB] 3.1.7.7

        Not answered are an own answer that came back, one that refuses, and what came from there already:
        a queue manager counts its cookie up, and so a ping that comes twice is an answer to an answer.
        """
        request = _read(data)
        if request is None or request.flags & _RF or request.qm_guid == self._manager.identifier:
            return None
        if not self._has_room(source, (request.qm_guid, request.cookie)):
            return None
        flags = request.flags & _RC | (0 if accepting else _RF)
        return encode(Ping(flags=flags, cookie=request.cookie, qm_guid=self._manager.identifier))

    def _has_room(self, source: Hashable, ping: tuple[GUID, int]) -> bool:
        """Whether a ping of a source is a new one and within the rate."""
        second = self._manager.timers.now // 1000
        found = self._sources.setdefault(source, _Source(second))
        self._sources.move_to_end(source)
        if len(self._sources) > _MOST_SOURCES:
            self._sources.popitem(last=False)
        if found.second != second:
            found.second, found.count = second, 0
        if ping in found.answered or found.count >= _MOST_PER_SECOND:
            return False
        found.count += 1
        found.answered[ping] = None
        if len(found.answered) > _MOST_ANSWERED:
            found.answered.popitem(last=False)
        return True


class Pinger:
    """Asks, and waits a second for the answer; ``cookie`` is PingCookie."""

    def __init__(self, manager: ModelQueueManager, *, server_class: bool = True) -> None:
        self.cookie = 0
        self._manager = manager
        self._flags = 0 if server_class else _RC
        self._last: tuple[Timer, Callable[[bool], None]] | None = None

    def request(self, done: Callable[[bool], None]) -> bytes:
        """Send Ping Request: the datagram; ``done`` is told whether a session would be accepted.

        [MS-MQQB] 3.1.7.6. Each request has its own timer. Only the last one can be answered: its cookie is
        PingCookie.
        """
        self.cookie = (self.cookie + 1) & 0xFFFF_FFFF
        self._last = self._manager.timers.start(_WAIT, lambda: done(False)), done
        return encode(Ping(flags=self._flags, cookie=self.cookie, qm_guid=self._manager.identifier))

    def feed(self, data: bytes) -> None:
        """Receive Ping Response; what answers nothing is ignored. [MS-MQQB] 3.1.7.8"""
        response = _read(data)
        if response is None or response.cookie != self.cookie or self._last is None:
            return
        timer, done = self._last
        if timer.running:
            timer.cancel()
            done(not response.flags & _RF)
