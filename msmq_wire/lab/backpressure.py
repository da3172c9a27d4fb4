"""Backpressure of a connection: no bytes are taken from a peer that has answers to read or work to wait for.

The rule kept here: a connection does one piece of work in a turn of the loop, and none while its peer does
not read. So the other connections have their turns, and the answers that wait are those to one piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Backpressure:
    """Paces ``work``, which does one piece and returns whether more waits.

    ``stalled_since`` is when the peer stopped to read, in the time of the loop, or None while it reads.
    """

    def __init__(self, transport: asyncio.Transport, work: Callable[[], bool]) -> None:
        self.stalled_since: float | None = None
        self._transport = transport
        self._work = work
        self._next: asyncio.Handle | None = None

    def go_on(self) -> None:
        """There is work: do a piece of it, unless its turn comes anyway."""
        if self._next is None:
            self._turn()

    def pause(self) -> None:
        """The peer does not read."""
        self.stalled_since = asyncio.get_running_loop().time()
        self._transport.pause_reading()

    def resume(self) -> None:
        """The peer reads again."""
        self.stalled_since = None
        self.go_on()

    def _turn(self) -> None:
        self._next = None
        if self._transport.is_closing() or self.stalled_since is not None:
            return
        if self._work():
            self._transport.pause_reading()
            self._next = asyncio.get_running_loop().call_soon(self._turn)
        elif self.stalled_since is None:
            self._transport.resume_reading()
