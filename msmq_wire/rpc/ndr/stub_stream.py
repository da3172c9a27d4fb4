"""`NdrReader` and `NdrWriter` read and write a stub; `Residue` keeps what its value does not hold.

The rule kept here: nothing on the wire is lost. Referent ids, bytes of alignment gaps that are not zero,
counts and discriminants that differ from what the declaration says are `Residue` beside the value.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import msgspec

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.spec import SpecRef

MAX_DEPTH = 24
"""How deep values may nest: arrays of variants in variants."""

MAX_PROBLEMS = 100
"""How many problems of one stub are told."""

_FIRST_REFERENT = 0x00020000
_ZEROS = bytes(16)


class Residue(msgspec.Struct, frozen=True, gc=False):
    """What rebuilds a stub byte by byte from its value.

    ``referent_ids`` are those of the pointers that are not NULL, in wire order; ``filler`` are (stub offset,
    bytes) of alignment gaps that are not zero; ``counts`` are (number of the varying array in wire order,
    max_count, offset) where these two are not what the declaration says; ``tags`` are (number of the union in
    wire order, discriminant) where it is not the member that switches the union; ``missing`` is how many
    bytes of the alignment gap at the end are not there.
    """

    referent_ids: tuple[int, ...] = ()
    filler: tuple[tuple[int, bytes], ...] = ()
    counts: tuple[tuple[int, int, int], ...] = ()
    tags: tuple[tuple[int, int], ...] = ()
    missing: int = 0


NO_RESIDUE = Residue()


class Problem:
    """What the IDL or a MUST does not allow; its path grows while the structures around it are left."""

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
    """How pointers, counts and offsets are read: their bytes and layout."""
    layout = syntax.layout(syntax.count)
    return layout.size, layout


class Mark(msgspec.Struct, frozen=True, gc=False):
    """Where a reader was and how much it had kept by then."""

    pos: int
    depth: int
    varying: int
    unions: int
    missing: int
    kept: tuple[int, ...]


class NdrReader:
    """A stub and the place in it; offsets, and so alignment, count from the start of the stub.

    With ``judging`` it takes note of problems: counts and numbers that the IDL does not allow, MUSTs of
    structures that are broken. At most `MAX_PROBLEMS` are kept.
    """

    __slots__ = (
        "counts",
        "data",
        "depth",
        "end",
        "filler",
        "judging",
        "missing",
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
        """Keep what lies between fields read at once, where it is not zero."""
        for first, last in gaps:
            gap = self.data[start + first : start + last]
            if gap != _ZEROS[: last - first]:
                self.filler.append((start + first, gap))

    def take(self, length: int) -> bytes:
        """The next bytes; DecodeError (``missing-bytes``) when they are not all there."""
        start = self.pos
        stop = start + length
        if stop > self.end:
            raise self.shortage(length)
        self.pos = stop
        return self.data[start:stop]

    def count(self) -> int:
        """max_count, offset, actual_count or a referent id: 4 bytes, 8 in NDR64."""
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
        """The error for bytes that are not there."""
        start = min(self.pos, self.end)
        return DecodeError(
            "missing-bytes",
            f"{length} bytes needed, {self.end - start} left",
            offset=start,
        )

    def room(self, count: int, size: int) -> None:
        """Refuse ``count`` elements of at least ``size`` bytes that cannot be there, before any is read."""
        if count * size > self.end - self.pos:
            raise DecodeError(
                "missing-bytes",
                f"{count} elements of at least {size} bytes, {self.end - self.pos} bytes left",
                offset=self.pos,
            )

    def enter(self) -> None:
        """Count one more level of nesting."""
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
        """Take note of a value that the IDL, or ``spec``, does not allow."""
        if self.judging and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(code, message, offset, length, path, spec))

    def mark(self) -> Mark:
        """Where the reader is, to come back to."""
        kept = tuple(len(one) for one in self._kept())
        return Mark(self.pos, self.depth, self.varying, self.unions, self.missing, kept)

    def back(self, mark: Mark) -> None:
        """Go back and forget what was kept since."""
        self.pos, self.depth, self.missing = mark.pos, mark.depth, mark.missing
        self.varying, self.unions = mark.varying, mark.unions
        for kept, length in zip(self._kept(), mark.kept, strict=True):
            del kept[length:]

    def _kept(self) -> tuple[list[Any], ...]:
        return self.referents, self.filler, self.counts, self.tags, self.problems

    def residue(self) -> Residue:
        """What the value does not tell."""
        if not (self.referents or self.filler or self.counts or self.tags or self.missing):
            return NO_RESIDUE
        return Residue(
            tuple(self.referents), tuple(self.filler), tuple(self.counts), tuple(self.tags), self.missing
        )


class NdrWriter:
    """Collects a stub; with a `Residue` it comes out as it was read."""

    __slots__ = (
        "_counts",
        "_filler",
        "_missing",
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
            raise EncodeError(f"{value!r} does not fit {size} bytes") from None

    def referent(self) -> int:
        """The id of the next pointer that is not NULL."""
        place = self._pointers
        self._pointers += 1
        return self._referents[place] if place < len(self._referents) else _FIRST_REFERENT + 4 * place

    def counts(self, maximum: int) -> tuple[int, int]:
        """max_count and offset of the next varying array, whose declaration says ``maximum`` and 0."""
        self.varying += 1
        return self._counts.get(self.varying - 1, (maximum, 0))

    def tag(self, selected: int) -> int:
        """The discriminant of the next union, whose member says ``selected``."""
        self.unions += 1
        return self._tags.get(self.unions - 1, selected)

    def getvalue(self) -> bytes:
        """The stub, its alignment gaps as they were read."""
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
