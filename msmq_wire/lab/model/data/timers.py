"""Timers without a clock: whoever owns the time says how late it is, and what is due then happens.

The rule kept here: what happens depends on the times that were given and on nothing else; timers of the same
moment go off in the order in which they were started.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count

INFINITE = 0xFFFF_FFFF
"""A duration that does not end, in milliseconds or seconds."""
_FEW = 64


def _nothing() -> None:
    """What is not held need not be let go."""


class Timer:
    """A timer that was started; ``cancel`` it, or it goes off once. ``due`` is in milliseconds."""

    __slots__ = ("_action", "_cancelled", "due")

    def __init__(self, due: int, action: Callable[[], None], cancelled: Callable[[], None]) -> None:
        self.due = due
        self._action: Callable[[], None] | None = action
        self._cancelled = cancelled

    @property
    def running(self) -> bool:
        """Whether it has neither gone off nor been cancelled."""
        return self._action is not None

    def cancel(self) -> None:
        """It goes off no more."""
        if self._action is not None:
            self._action = None
            self._cancelled()

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
        self._gone = 0

    def start(self, milliseconds: int, action: Callable[[], None]) -> Timer:
        """Have ``action`` called after so long; with `INFINITE` it is never called."""
        held = milliseconds != INFINITE
        timer = Timer(self.now + milliseconds, action, self._forget if held else _nothing)
        if held:
            heappush(self._heap, (timer.due, next(self._numbers), timer))
        return timer

    def _forget(self) -> None:
        """One that is held was cancelled; when they are many they are let go."""
        self._gone += 1
        if self._gone > _FEW + len(self._heap) // 2:
            self._heap = [one for one in self._heap if one[2].running]
            heapify(self._heap)
            self._gone = 0

    @property
    def next_due(self) -> int | None:
        """When the next one goes off; None if none runs."""
        while self._heap and not self._heap[0][2].running:
            heappop(self._heap)
            self._gone -= 1
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
