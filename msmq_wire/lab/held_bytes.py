"""How much the connections of a port hold together, and who goes where that is too much.

The rule kept here: whoever is told to go counts no more from that moment on. A transport only schedules the
end of its connection, so that who waits for it inside a loop waits for ever.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

__all__ = ["HeldBytes", "Holder"]


class Holder(Protocol):
    """A connection, as far as what it holds goes."""

    @property
    def held(self) -> int:
        """Bytes that it holds now."""

    def drop(self) -> None:
        """Break the connection off."""


_Holder = TypeVar("_Holder", bound=Holder)


class HeldBytes(Generic[_Holder]):
    """What connections hold; ``most`` is what all of them may hold together."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._counted: dict[_Holder, int] = {}
        self._sum = 0

    def enter(self, holder: _Holder) -> None:
        """A connection is there, and holds nothing yet."""
        self._counted[holder] = 0

    def leave(self, holder: _Holder) -> None:
        """It holds nothing any more."""
        self._sum -= self._counted.pop(holder, 0)

    def weigh(self, holder: _Holder) -> None:
        """Take note of what a connection holds; where that is too much in all, those that hold most go."""
        if holder not in self._counted:
            return
        held = holder.held
        self._sum += held - self._counted[holder]
        self._counted[holder] = held
        if self._sum <= self.most:
            return
        # What was sent meanwhile is not held any more.
        self._counted = {one: one.held for one in self._counted}
        self._sum = sum(self._counted.values())
        while self._sum > self.most:
            largest = max(self._counted, key=self._counted.__getitem__)
            self.leave(largest)
            largest.drop()
