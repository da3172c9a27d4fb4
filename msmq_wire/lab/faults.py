"""Faults on request, drawn from a seed, so that every run has the same faults.

The rule kept here: each connection and each kind of fault has random numbers of its own. What one connection
does changes nothing for another, and asking for one more kind changes nothing for the others.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import deque
from collections.abc import Callable

import msgspec

from msmq_wire.errors import MsmqWireError

_PROBABILITIES = ("drop", "duplicate", "nack", "cut")
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}")
_TIME = re.compile(rf"({_NUMBER.pattern})(ms|s)")
_LONGEST_DELAY = 60.0


class AppliedFault(msgspec.Struct, frozen=True, gc=False):
    """The faults of one unit (a PDU or a packet) that is to be sent.

    ``delay`` is in seconds. ``keep`` is None, or how many of its bytes are sent before the connection is
    closed.
    """

    delay: float = 0.0
    keep: int | None = None


class FaultPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How probable each fault is, 0 to 1, for every unit; ``delay`` is in seconds and meets all of them.

    ``drop`` closes the connection at a random byte of the unit, or right behind it; ``cut`` closes it after
    half of the unit; ``duplicate`` sends a datagram or a request twice; ``nack`` answers with a failure what
    could have been done.
    """

    drop: float = 0.0
    delay: float = 0.0
    duplicate: float = 0.0
    nack: float = 0.0
    cut: float = 0.0

    def connection(self, seed: int | str, number: int | str = 0) -> ConnectionFaults:
        """The faults of one connection, by its number; the same arguments give the same faults."""
        return ConnectionFaults(self, seed, number)


def parse_faults(text: str) -> FaultPlan:
    """Read ``drop=0.01,delay=50ms,cut=0.001``; raises `MsmqWireError` that names the part that is wrong.

    The kinds are those of `FaultPlan`. A delay is ``50ms`` or ``1.5s``, a minute at most. Empty text is a
    plan without faults.
    """
    found: dict[str, float] = {}
    for part in text.split(",") if text.strip() else ():
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in FaultPlan.__struct_fields__ or not equals:
            known = ", ".join(FaultPlan.__struct_fields__)
            raise MsmqWireError(f"{part.strip()!r} is no fault: write name=value, name is one of {known}")
        if name in found:
            raise MsmqWireError(f"the fault {name} is there twice")
        found[name] = _delay(value) if name == "delay" else _probability(name, value)
    return FaultPlan(**found)


def _probability(name: str, text: str) -> float:
    if not _NUMBER.fullmatch(text) or float(text) > 1:
        raise MsmqWireError(f"{name}={text}: a probability from 0 to 1 is needed, such as {name}=0.01")
    return float(text)


def _delay(text: str) -> float:
    found = _TIME.fullmatch(text)
    seconds = -1.0 if found is None else float(found[1]) / (1000 if found[3] == "ms" else 1)
    if not 0 <= seconds <= _LONGEST_DELAY:
        raise MsmqWireError(f"delay={text}: a time up to 60 seconds is needed, such as delay=50ms")
    return seconds


class ConnectionFaults:
    """The faults of one connection, in the order of its units."""

    def __init__(self, plan: FaultPlan, seed: int | str, number: int | str) -> None:
        self.plan = plan
        self._draws = {kind: random.Random(f"{seed}/{number}/{kind}") for kind in _PROBABILITIES}

    def applied(self, size: int) -> AppliedFault:
        """The faults of the next unit, which has ``size`` bytes."""
        keep: int | None = None
        if self._happens("cut", self.plan.cut):
            keep = size // 2
        if self._happens("drop", self.plan.drop):
            keep = self._draws["drop"].randrange(size + 1)
        return AppliedFault(self.plan.delay, keep)

    def duplicated(self) -> bool:
        """Whether the next datagram or request is sent twice."""
        return self._happens("duplicate", self.plan.duplicate)

    def refused(self) -> bool:
        """Whether the next request is answered with a failure."""
        return self._happens("nack", self.plan.nack)

    def _happens(self, kind: str, probability: float) -> bool:
        return self._draws[kind].random() < probability


class FaultySender:
    """Sends whole units over a transport, each with its `AppliedFault`; without faults it just sends.

    ``sent`` is told the bytes that the transport takes, when it takes them. Units leave in the order in which
    they were given. `stop` when the connection ends.
    """

    def __init__(
        self,
        transport: asyncio.WriteTransport,
        faults: ConnectionFaults | None,
        sent: Callable[[bytes], None] | None = None,
    ) -> None:
        self._transport = transport
        self._faults = faults
        self._sent = sent
        self._waiting: deque[tuple[float, bytes, int | None]] = deque()
        self._handle: asyncio.TimerHandle | None = None
        self._ended = False
        self.pending = 0
        """Bytes that wait for their time."""

    def send(self, data: bytes) -> None:
        """Send a unit."""
        if self._ended:
            return
        applied = AppliedFault() if self._faults is None else self._faults.applied(len(data))
        if not applied.delay:
            self._write(data, applied.keep)
            return
        loop = asyncio.get_running_loop()
        self._waiting.append((loop.time() + applied.delay, data, applied.keep))
        self.pending += len(data)
        if self._handle is None:
            self._handle = loop.call_later(applied.delay, self._next)

    def stop(self) -> None:
        """Stop sending, and drop the waiting units."""
        self._ended = True
        self._waiting.clear()
        self.pending = 0
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def close(self) -> None:
        """Send the waiting units now, then close the transport."""
        while self._waiting and not self._ended:
            _, data, keep = self._waiting.popleft()
            self._write(data, keep)
        self.stop()
        self._transport.close()

    def _next(self) -> None:
        self._handle = None
        _, data, keep = self._waiting.popleft()
        self.pending -= len(data)
        self._write(data, keep)
        if self._waiting and not self._ended:
            loop = asyncio.get_running_loop()
            self._handle = loop.call_at(self._waiting[0][0], self._next)

    def _write(self, data: bytes, keep: int | None) -> None:
        if self._transport.is_closing():
            self.stop()
            return
        if keep is not None:
            data = data[:keep]
        if data:
            if self._sent is not None:
                self._sent(data)
            self._transport.write(data)
        if keep is not None:
            self.stop()
            self._transport.close()
