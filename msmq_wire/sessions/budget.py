"""The memory of what is followed: one budget of bytes for all of it, and what goes when it is used up.

The rule kept here: what takes most gives first, so a flood of one kind pushes out none of the others; of that
kind the oldest go. Bytes are estimates of what CPython takes for an entry and its texts, on the high side.
"""

from __future__ import annotations

from collections.abc import Callable

BUDGET = 40 << 20
"""Bytes of sessions, messages, transactional sequences and remote reads together, unless told otherwise."""
_GO_TOGETHER = 64
"""The part of a budget that is freed at once."""


class Share:
    """What one kind of entries takes of a budget; ``give`` lets the oldest of them go."""

    __slots__ = ("_budget", "give", "taken")

    def __init__(self, budget: Budget, give: Callable[[], None]) -> None:
        self._budget = budget
        self.give = give
        self.taken = 0

    def take(self, size: int) -> None:
        """Count so many bytes more, or less."""
        self.taken += size
        self._budget.taken += size


class Budget:
    """At most ``most`` bytes, `BUDGET` by default; ``taken`` is what all shares take."""

    def __init__(self, most: int | None = None) -> None:
        self._most = BUDGET if most is None else most
        self._shares: list[Share] = []
        self.taken = 0

    def share(self, give: Callable[[], None]) -> Share:
        """Return another share."""
        self._shares.append(Share(self, give))
        return self._shares[-1]

    @property
    def room(self) -> int:
        """How many bytes more there may be."""
        return self._most - self.taken

    def settle(self) -> None:
        """Let go what is too much."""
        if self.taken <= self._most:
            return
        until = self._most - self._most // _GO_TOGETHER
        giving = list(self._shares)
        while self.taken > until and giving:
            largest = max(giving, key=_taken)
            before = largest.taken
            largest.give()
            if largest.taken >= before:
                giving.remove(largest)


def _taken(share: Share) -> int:
    return share.taken
