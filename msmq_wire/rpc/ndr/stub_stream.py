"""`NdrReader` and `NdrWriter` read and write a stub; `Residue` keeps the data that its value does not hold.

The rule kept here: nothing on the wire is lost. `Residue` keeps referent ids, padding that is not zero, and
counts and discriminants that differ from the declaration.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import msgspec

from msmq_wire.arguments import misfit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.spec import SpecRef

MAX_DEPTH = 24
"""The deepest nesting of values, such as arrays of variants in variants."""

MAX_PROBLEMS = 100
"""The most problems that are reported for one stub."""

_FIRST_REFERENT = 0x00020000
_ZEROS = bytes(16)


class Residue(msgspec.Struct, frozen=True, gc=False):
    """The data that rebuilds the exact bytes of a stub from its value.

    ``referent_ids`` are those of the pointers that are not NULL, in wire order; ``filler`` are (stub offset,
    bytes) of alignment gaps that are not zero; ``counts`` are (number of the varying array in wire order,
    max_count, offset) where these two are not what the declaration says; ``tags`` are (number of the union in
    wire order, discriminant) where it is not the member that switches the union; ``missing`` is how many
    bytes of the alignment gap at the end are not there; ``nulls`` is how many pointers are NULL although
    their array has elements by its size_is.
    """

    referent_ids: tuple[int, ...] = ()
    filler: tuple[tuple[int, bytes], ...] = ()
    counts: tuple[tuple[int, int, int], ...] = ()
    tags: tuple[tuple[int, int], ...] = ()
    missing: int = 0
    nulls: int = 0


NO_RESIDUE = Residue()


class Problem:
    """A value that the IDL or a MUST forbids; each enclosing structure prefixes its path."""

    __slots__ = ("code", "length", "message", "offset", "path", "spec")

    def __init__(
        self, code: str, message: str, offset: int, length: int, path: str, spec: SpecRef | None
    ) -> None:
        self.code = code
        self.message = message
        self.offset = offset
        self.length = length
        self.path = path
        self.spec = spec


@cache
def _counting(syntax: Syntax) -> tuple[int, struct.Struct]:
    """The size and layout of pointers, counts and offsets."""
    layout = syntax.layout(syntax.count)
    return layout.size, layout


class Mark(msgspec.Struct, frozen=True, gc=False):
    """A saved position of a reader, with the size of its residue."""

    pos: int
    depth: int
    varying: int
    unions: int
    missing: int
    nulls: int
    kept: tuple[int, ...]


class NdrReader:
    """Reads a stub; offsets and alignment count from its start.

    With ``judging`` it collects problems: counts and numbers that the IDL forbids, and broken MUSTs of
    structures. At most `MAX_PROBLEMS` are kept.
    """

    __slots__ = (
        "counts",
        "data",
        "depth",
        "end",
        "filler",
        "judging",
        "missing",
        "nulls",
        "number_layout",
        "number_size",
        "pos",
        "problems",
        "referents",
        "syntax",
        "tags",
        "unions",
        "varying",
    )

    def __init__(self, data: bytes, syntax: Syntax, *, judging: bool = False) -> None:
        self.data = data
        self.syntax = syntax
        self.judging = judging
        self.number_size, self.number_layout = _counting(syntax)
        self.pos = 0
        self.end = len(data)
        self.depth = 0
        self.varying = 0
        self.unions = 0
        self.missing = 0
        self.nulls = 0
        self.referents: list[int] = []
        self.filler: list[tuple[int, bytes]] = []
        self.counts: list[tuple[int, int, int]] = []
        self.tags: list[tuple[int, int]] = []
        self.problems: list[Problem] = []

    def align(self, to: int) -> None:
        """Move to a multiple of ``to``; at the end of the stub the gap may be missing."""
        pos = self.pos
        lacking = -pos % to
        if lacking:
            stop = pos + lacking
            if stop > self.end:
                # Gaps in gaps: the outermost reaches furthest.
                self.missing = max(self.missing, stop - self.end)
                stop = self.end
            gap = self.data[pos:stop]
            if gap != _ZEROS[: len(gap)]:
                self.filler.append((pos, gap))
            self.pos = stop

    def gaps(self, start: int, gaps: tuple[tuple[int, int], ...]) -> None:
        """Keep padding between packed fields if it is not zero."""
        for first, last in gaps:
            gap = self.data[start + first : start + last]
            if gap != _ZEROS[: last - first]:
                self.filler.append((start + first, gap))

    def take(self, length: int) -> bytes:
        """Read the next bytes; raises DecodeError (``missing-bytes``) if there are too few."""
        start = self.pos
        stop = start + length
        if stop > self.end:
            raise self.shortage(length)
        self.pos = stop
        return self.data[start:stop]

    def count(self) -> int:
        """Read max_count, offset, actual_count or a referent id: 4 bytes, 8 in NDR64."""
        size = self.number_size
        if self.pos % size:
            self.align(size)
        start = self.pos
        stop = start + size
        if stop > self.end:
            raise self.shortage(size)
        self.pos = stop
        value: int = self.number_layout.unpack_from(self.data, start)[0]
        return value

    def shortage(self, length: int) -> DecodeError:
        """The error for missing bytes."""
        start = min(self.pos, self.end)
        return DecodeError(
            "missing-bytes",
            f"{length} bytes needed, {self.end - start} left",
            offset=start,
        )

    def room(self, count: int, size: int) -> None:
        """Refuse ``count`` elements of at least ``size`` bytes if the stub is too short for them."""
        if count * size > self.end - self.pos:
            raise DecodeError(
                "missing-bytes",
                f"{count} elements of at least {size} bytes, {self.end - self.pos} bytes left",
                offset=self.pos,
            )

    def enter(self) -> None:
        """Enter one more level of nesting."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise DecodeError(
                "too-deep", f"more than {MAX_DEPTH} levels of values in values", offset=self.pos
            )

    def problem(
        self,
        code: str,
        message: str,
        offset: int,
        length: int,
        path: str = "",
        spec: SpecRef | None = None,
    ) -> None:
        """Report a value that the IDL, or ``spec``, forbids."""
        if self.judging and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(code, message, offset, length, path, spec))

    def mark(self) -> Mark:
        """Save the position."""
        kept = tuple(len(one) for one in self._kept())
        return Mark(self.pos, self.depth, self.varying, self.unions, self.missing, self.nulls, kept)

    def restore(self, mark: Mark) -> None:
        """Restore a saved position, and drop the residue since."""
        self.pos, self.depth, self.missing = mark.pos, mark.depth, mark.missing
        self.varying, self.unions, self.nulls = mark.varying, mark.unions, mark.nulls
        for kept, length in zip(self._kept(), mark.kept, strict=True):
            del kept[length:]

    def _kept(self) -> tuple[list[Any], ...]:
        return self.referents, self.filler, self.counts, self.tags, self.problems

    def residue(self) -> Residue:
        """The `Residue` of the stub."""
        if not (self.referents or self.filler or self.counts or self.tags or self.missing or self.nulls):
            return NO_RESIDUE
        return Residue(
            tuple(self.referents),
            tuple(self.filler),
            tuple(self.counts),
            tuple(self.tags),
            self.missing,
            self.nulls,
        )


class NdrWriter:
    """Collects a stub; with a `Residue` it comes out as it was read."""

    __slots__ = (
        "_counts",
        "_filler",
        "_missing",
        "_nulls",
        "_parts",
        "_pointers",
        "_referents",
        "_tags",
        "pos",
        "syntax",
        "unions",
        "varying",
    )

    def __init__(self, syntax: Syntax, residue: Residue = NO_RESIDUE) -> None:
        self.syntax = syntax
        self.pos = 0
        self.varying = 0
        self.unions = 0
        self._parts: list[bytes] = []
        self._pointers = 0
        self._referents = residue.referent_ids
        self._filler = residue.filler
        self._missing = residue.missing
        self._nulls = residue.nulls
        self._counts = {ordinal: (maximum, offset) for ordinal, maximum, offset in residue.counts}
        self._tags = dict(residue.tags)

    def align(self, to: int) -> None:
        """Write zeros up to a multiple of ``to``."""
        lacking = -self.pos % to
        if lacking:
            self.write(_ZEROS[:lacking])

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._parts.append(data)
        self.pos += len(data)

    def count(self, value: int) -> None:
        """Write max_count, offset, actual_count or a referent id."""
        size, layout = _counting(self.syntax)
        self.align(size)
        try:
            self.write(layout.pack(value))
        except struct.error:
            raise EncodeError(misfit(value, size)) from None

    def referent(self) -> int:
        """The referent id of the next pointer that is not NULL."""
        place = self._pointers
        self._pointers += 1
        return self._referents[place] if place < len(self._referents) else _FIRST_REFERENT + 4 * place

    def counts(self, maximum: int) -> tuple[int, int]:
        """max_count and offset of the next varying array; ``maximum`` and 0 by the declaration."""
        self.varying += 1
        return self._counts.get(self.varying - 1, (maximum, 0))

    def tag(self, selected: int) -> int:
        """The discriminant of the next union; ``selected`` by its member."""
        self.unions += 1
        return self._tags.get(self.unions - 1, selected)

    def null_array(self, size: int) -> None:
        """Write a NULL pointer to an array of ``size`` elements; refused unless the residue has it."""
        if not self._nulls:
            raise EncodeError(f"NULL where size_is says {size}: give the elements, or the size 0")
        self._nulls -= 1

    def getvalue(self) -> bytes:
        """Return the stub, with its padding as it was read."""
        data = b"".join(self._parts)
        if not self._filler and not self._missing:
            return data
        patched = bytearray(data)
        kept = max(0, len(patched) - self._missing)
        if self._missing > 7 or any(patched[kept:]):
            raise EncodeError("the residue of another value")
        del patched[kept:]
        for offset, gap in self._filler:
            place = patched[offset : offset + len(gap)]
            if len(place) != len(gap) or any(place):
                raise EncodeError("the residue of another value")
            patched[offset : offset + len(gap)] = gap
        return bytes(patched)
