"""`Plan`: the layout of the members of a structure in one syntax, as `PackedMembers` and `Single` members.

The rule kept here: offsets are known modulo an alignment. Members of fixed size are packed until one needs a
stronger alignment than is known.
"""

from __future__ import annotations

import struct

from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Ranged, Scalar
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType


class PackedMembers:
    """Members that one `struct` reads, with its padding and the conversions to values."""

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
    """A member that is read alone; ``uses_scope`` if it depends on other members."""

    __slots__ = ("place", "type", "uses_scope")

    def __init__(self, place: int, type_: NdrType) -> None:
        self.place = place
        self.type = type_
        self.uses_scope = type_.uses_scope()


class Plan:
    """The layout of the members in one syntax: packed and single members in order."""

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
            offset += lacking + one.minimum_size(syntax)
            run.last = place + 1
        close()
