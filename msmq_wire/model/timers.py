"""Timers without a clock: whoever owns the time says how late it is, and what is due then happens.

The rule kept here: what happens depends on the times that were given and on nothing else; timers of the same
moment go off in the order in which they were started.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

__all__ = ["INFINITE", "Timer", "Timers"]

INFINITE = 0xFFFF_FFFF
"""A duration that does not end, in milliseconds or seconds."""


class Timer:
    """A timer that was started; ``cancel`` it, or it goes off once. ``due`` is in milliseconds."""

    __slots__ = ("_action", "due")

    def __init__(self, due: int, action: Callable[[], None]) -> None:
        self.due = due
        self._action: Callable[[], None] | None = action

    @property
    def running(self) -> bool:
        """Whether it has neither gone off nor been cancelled."""
        return self._action is not None

    def cancel(self) -> None:
        """It goes off no more."""
        self._action = None

    def go_off(self) -> None:
        """Do what it was started for, unless that was done or cancelled."""
        action, self._action = self._action, None
        if action is not None:
            action()


class Timers:
    """Timers in the order in which they are due; ``now`` is in milliseconds since any moment."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self._numbers = count()
        self._heap: list[tuple[int, int, Timer]] = []

    def start(self, milliseconds: int, action: Callable[[], None]) -> Timer:
        """Have ``action`` called after so long; with `INFINITE` it is never called."""
        timer = Timer(self.now + milliseconds, action)
        if milliseconds != INFINITE:
            heappush(self._heap, (timer.due, next(self._numbers), timer))
        return timer

    @property
    def next_due(self) -> int | None:
        """When the next one goes off; None if none runs."""
        while self._heap and not self._heap[0][2].running:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    @property
    def running(self) -> int:
        """How many will go off."""
        return sum(timer.running for _, _, timer in self._heap)

    def advance(self, now: int) -> None:
        """It is ``now``: what is due until then happens, each at its time. Time never goes back."""
        while (due := self.next_due) is not None and due <= now:
            self.now = max(self.now, due)
            heappop(self._heap)[2].go_off()
        self.now = max(self.now, now)
