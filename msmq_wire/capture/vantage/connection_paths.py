"""What a connection is captured in at each vantage point, and under which path its frames are given.

The rule kept here: a connection has one path, that of the first point if it has it in time. The second path
of a point is that of copies which it recorded twice, and stays its own.
"""

from __future__ import annotations

from typing import TypeAlias

Target: TypeAlias = tuple[int, int, bytes]
"""The interface, the link type and the path that frames are given with."""
Place: TypeAlias = tuple[int, bytes]
"""A point, and a path there."""

_MOST = 1 << 6


class ConnectionPaths:
    """The paths of one connection, which both of its directions share."""

    __slots__ = ("_given", "_own")

    def __init__(self) -> None:
        self._own: dict[Place, Target] = {}
        self._given: dict[Place, Target] = {}

    def __contains__(self, place: Place) -> bool:
        return place in self._own

    def add(self, place: Place, own: Target) -> None:
        """Take note of a path at a point."""
        if len(self._own) < _MOST:
            self._own[place] = own

    def has_copies(self, point: int) -> bool:
        """Whether a point has the connection in several paths, as where it recorded its frames twice."""
        return len(self._own) > 1 and sum(of == point for of, _ in self._own) > 1

    def target(self, place: Place, own: Target) -> Target:
        """How a frame is given that a point has with a path of its own."""
        found = self._given.get(place)
        if found is not None:
            return found
        for other in sorted((one for one in self._own if one not in self._given), key=lambda one: one[0]):
            self._settle(other)
        return self._given.get(place, own)

    def _settle(self, place: Place) -> None:
        point, path = place
        mine = {target: one for one, target in self._given.items() if one[0] == point}
        others = [target for one, target in self._given.items() if one[0] != point]
        wanted = [(of, known) for (of, known) in self._own if of == point and (of, known) not in self._given]
        same = next((target for target in others if target[2] == path), None)
        if same is None:
            # Not the one that another path of this point has as well.
            known = {one[1] for one in wanted} | {path}
            free = (target for target in others if target not in mine and target[2] not in known)
            same = next(free, self._own[place])
        elif same in mine:
            # Another path was taken for this one, before this one came.
            self._given[mine[same]] = self._own[mine[same]]
        self._given[place] = same
