"""How the members of a structure lie in one syntax: `Plan`, of `PackedMembers`s and `Single` members.

The rule kept here: an offset is known as far as alignment is. Members of fixed size follow each other in a
run until one needs more alignment than the place is known to have.
"""

from __future__ import annotations

import struct

from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Ranged, Scalar
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType


class PackedMembers:
    """Members that one `struct` reads: its gaps, and what makes values of what it gives."""

    __slots__ = (
        "align",
        "first",
        "gaps",
        "last",
        "layout",
        "offsets",
        "pointers",
        "ranges",
        "size",
        "types",
        "wrapped",
    )

    def __init__(self, first: int, align: int) -> None:
        self.first = first
        self.last = first
        self.align = align
        self.layout: struct.Struct
        self.size = 0
        self.gaps: tuple[tuple[int, int], ...] = ()
        self.types: tuple[NdrType, ...] = ()
        self.offsets: tuple[int, ...] = ()
        # Places of members among all of the structure.
        self.wrapped: tuple[tuple[int, Scalar], ...] = ()
        self.pointers: tuple[int, ...] = ()
        self.ranges: tuple[tuple[int, int, Ranged], ...] = ()


class Single:
    """A member that is read on its own; ``scoped`` when it looks at the others."""

    __slots__ = ("place", "scoped", "type")

    def __init__(self, place: int, type_: NdrType) -> None:
        self.place = place
        self.type = type_
        self.scoped = type_.scoped()


class Plan:
    """How the members lie in one syntax: runs and single members in order."""

    __slots__ = ("alignment", "steps")

    def __init__(
        self, types: tuple[NdrType, ...], syntax: Syntax, alignment: int, *, deferring: bool
    ) -> None:
        self.alignment = alignment
        self.steps: list[PackedMembers | Single] = []
        # ``known`` is what the place is a multiple of, ``offset`` the distance from there.
        known, offset = alignment, 0
        run: PackedMembers | None = None
        letters = ""
        gaps: list[tuple[int, int]] = []
        offsets: list[int] = []

        def close() -> None:
            nonlocal run, letters
            if run is None:
                return
            own = run.types = types[run.first : run.last]
            run.layout = syntax.layout(letters)
            run.size = run.layout.size
            run.gaps, run.offsets = tuple(gaps), tuple(offsets)
            placed = tuple(enumerate(own, run.first))
            run.wrapped = tuple(
                (place, one) for place, one in placed if isinstance(one, Scalar) and not one.plain(syntax)
            )
            run.pointers = tuple(place for place, one in placed if isinstance(one, Pointer))
            run.ranges = tuple(
                (place, offset, one)
                for (place, one), offset in zip(placed, offsets, strict=True)
                if isinstance(one, Ranged)
            )
            self.steps.append(run)
            run, letters = None, ""
            gaps.clear()
            offsets.clear()

        for place, one in enumerate(types):
            # In a parameter list a pointee follows its pointer at once, so a pointer ends a run.
            scalar = isinstance(one, Scalar) or (isinstance(one, Pointer) and not deferring)
            if not scalar:
                close()
                self.steps.append(Single(place, one))
                known, offset = 1, 0
                continue
            need = one.alignment(syntax)
            if need > known:
                close()
                known, offset = need, 0
            if run is None:
                run = PackedMembers(place, known)
            lacking = -offset % need
            if lacking:
                gaps.append((offset, offset + lacking))
                letters += f"{lacking}x"
            letters += one.letter(syntax) if isinstance(one, Scalar) else syntax.count
            offsets.append(offset + lacking)
            offset += lacking + one.smallest(syntax)
            run.last = place + 1
        close()
