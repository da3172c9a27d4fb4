"""The time of the event loop for the timers of the model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from msmq_wire.lab.model.data.timers import Timers

_LONGEST = 3600.0
"""The longest delay in seconds; a loop does not accept every delay."""


class LoopClock:
    """Drives the `Timers` of the model by the time of the event loop.

    Whatever changes the model does so inside `event`. Time runs from the first event or `start` on, from the
    moment at which ``timers`` stand then. `stop` before the loop ends: no timer goes off behind it.
    """

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._zero = 0.0
        self._wake: asyncio.TimerHandle | None = None
        self._due: int | None = None
        self._stopped = False

    def start(self, zero: float | None = None) -> None:
        """Start the clock in the running loop; ``zero`` is its start in loop time."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._zero = self._loop.time() - self._timers.now / 1000 if zero is None else zero
            self._arrange()

    def stop(self) -> None:
        """Stop all timers."""
        self._stopped = True
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None

    @contextmanager
    def event(self) -> Iterator[None]:
        """Update the time of the model, run the change, then schedule the next timer."""
        self.start()
        self._advance()
        try:
            yield
        finally:
            self._arrange()

    def _advance(self) -> None:
        if self._loop is not None and not self._stopped:
            self._timers.advance(int((self._loop.time() - self._zero) * 1000))

    def _arrange(self) -> None:
        due = self._timers.next_due
        if self._loop is None or self._stopped or (self._wake is not None and due == self._due):
            return
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        self._due = due
        if due is not None:
            # A moment later than due, never sooner: milliseconds are cut off.
            delay = self._zero + (due + 1) / 1000 - self._loop.time()
            self._wake = self._loop.call_later(min(max(delay, 0.001), _LONGEST), self._go_off)

    def _go_off(self) -> None:
        self._wake = None
        try:
            self._advance()
        finally:
            self._arrange()
