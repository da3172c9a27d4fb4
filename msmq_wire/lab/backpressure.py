"""`Backpressure`: stops reading from a peer that does not read its answers or that has work queued.

The rule kept here: a connection does one piece of work per turn of the event loop, and none while its peer
does not read. Other connections get their turns, and only the answers to one piece of work are buffered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Backpressure:
    """Calls ``work``, which does one piece of work and returns whether there is more.

    ``stalled_since`` is the loop time at which the peer stopped reading, or None while it reads.
    """

    def __init__(self, transport: asyncio.Transport, work: Callable[[], bool]) -> None:
        self.stalled_since: float | None = None
        self._transport = transport
        self._work = work
        self._next: asyncio.Handle | None = None

    def wake(self) -> None:
        """Do a piece of work now, unless the next turn is scheduled."""
        if self._next is None:
            self._run_turn()

    def pause(self) -> None:
        """Stop reading and working: the peer does not read."""
        self.stalled_since = asyncio.get_running_loop().time()
        self._transport.pause_reading()

    def resume(self) -> None:
        """Work and read again: the peer reads."""
        self.stalled_since = None
        self.wake()

    def _run_turn(self) -> None:
        self._next = None
        if self._transport.is_closing() or self.stalled_since is not None:
            return
        if self._work():
            self._transport.pause_reading()
            self._next = asyncio.get_running_loop().call_soon(self._run_turn)
        elif self.stalled_since is None:
            self._transport.resume_reading()
