"""Ping, which asks whether sessions are accepted. [MS-MQQB] 2.2.7, 3.1.7.6 to 3.1.7.9"""

from __future__ import annotations

from collections.abc import Callable

from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError
from msmq_wire.model.data.elements import QueueManager
from msmq_wire.model.data.timers import Timer
from msmq_wire.wire.packets.ping import PING_SIGNATURE, Ping

__all__ = ["Pinger", "answer_ping"]

_RC, _RF = 1, 2
_SIZE = 24
_WAIT = 1000
"""Milliseconds of the Ping Response Timer. [MS-MQQB] 3.1.2.9"""


def _read(data: bytes) -> Ping | None:
    if len(data) != _SIZE:
        return None
    try:
        packet: Ping = decode(data, "ping")
    except DecodeError:
        return None
    return packet if packet.signature == PING_SIGNATURE else None


def answer_ping(manager: QueueManager, data: bytes, *, accepting: bool = True) -> bytes | None:
    """Receive Ping Request: the datagram that answers; None for what is no ping. [MS-MQQB] 3.1.7.7"""
    request = _read(data)
    if request is None:
        return None
    flags = request.flags & _RC | (0 if accepting else _RF)
    return encode(Ping(flags=flags, cookie=request.cookie, qm_guid=manager.identifier))


class Pinger:
    """Asks, and waits a second for the answer; ``cookie`` is PingCookie."""

    def __init__(self, manager: QueueManager, *, server_class: bool = True) -> None:
        self.cookie = 0
        self._manager = manager
        self._flags = 0 if server_class else _RC
        self._waiting: tuple[Timer, Callable[[bool], None]] | None = None

    def request(self, done: Callable[[bool], None]) -> bytes:
        """Send Ping Request: the datagram; ``done`` is told whether a session would be accepted.

        [MS-MQQB] 3.1.7.6. Who still waits for the answer to an earlier one hears that it did not come.
        """
        self._answered(False)
        self.cookie = (self.cookie + 1) & 0xFFFF_FFFF
        self._waiting = self._manager.timers.start(_WAIT, lambda: self._answered(False)), done
        return encode(Ping(flags=self._flags, cookie=self.cookie, qm_guid=self._manager.identifier))

    def feed(self, data: bytes) -> None:
        """Receive Ping Response; what answers nothing is ignored. [MS-MQQB] 3.1.7.8"""
        response = _read(data)
        if response is not None and response.cookie == self.cookie:
            self._answered(not response.flags & _RF)

    def _answered(self, accepted: bool) -> None:
        if self._waiting is None:
            return
        (timer, done), self._waiting = self._waiting, None
        timer.cancel()
        done(accepted)
