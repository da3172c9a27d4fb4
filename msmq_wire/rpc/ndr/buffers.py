"""`NdrReader` and `NdrWriter`: a stub being read or written, and what a value alone does not tell.

The rule kept here: nothing on the wire is lost. Referent ids, bytes of alignment gaps that are not zero and counts
that differ from what the declaration says are `Residue` beside the value.
"""

from __future__ import annotations

import msgspec

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.spec import SpecRef

__all__ = ["MAX_DEPTH", "NO_RESIDUE", "NdrReader", "NdrWriter", "Problem", "Residue"]

MAX_DEPTH = 24
"""How deep values may nest: arrays of variants in variants."""

_FIRST_REFERENT = 0x00020000
_ZEROS = bytes(16)


class Residue(msgspec.Struct, frozen=True, gc=False):
    """What rebuilds a stub byte by byte from its value.

    ``referent_ids`` of the pointers that are not NULL, in wire order; ``filler`` are (stub offset, bytes) of alignment gaps that are not zero;
    ``counts`` are (number of the varying array in wire order, max_count, offset) where these two are not what
    the declaration says.
    """

    referent_ids: tuple[int, ...] = ()
    filler: tuple[tuple[int, bytes], ...] = ()
    counts: tuple[tuple[int, int, int], ...] = ()


NO_RESIDUE = Residue()


class Problem:
    """A count or number that the IDL does not allow; its path grows while the structures around it are left."""

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


class NdrReader:
    """A stub and the place in it; offsets, and so alignment, count from the start of the stub.

    With ``judging`` the MUSTs of structures are problems as well as the counts that the IDL does not allow.
    """

    __slots__ = (
        "counts",
        "data",
        "depth",
        "end",
        "filler",
        "judging",
        "pos",
        "problems",
        "referents",
        "syntax",
        "varying",
    )

    def __init__(self, data: bytes, syntax: Syntax, *, judging: bool = False) -> None:
        self.data = data
        self.syntax = syntax
        self.judging = judging
        self.pos = 0
        self.end = len(data)
        self.depth = 0
        self.varying = 0
        self.referents: list[int] = []
        self.filler: list[tuple[int, bytes]] = []
        self.counts: list[tuple[int, int, int]] = []
        self.problems: list[Problem] = []

    def align(self, to: int) -> None:
        """Move to a multiple of ``to``; at the end of the stub the gap may be missing."""
        pos = self.pos
        lacking = -pos % to
        if lacking:
            stop = min(pos + lacking, self.end)
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

    def number(self, letter: str, size: int) -> int:
        """One aligned number, such as a count or a referent id."""
        self.align(size)
        start = self.pos
        if start + size > self.end:
            raise self.shortage(size)
        self.pos = start + size
        value: int = self.syntax.layout(letter).unpack_from(self.data, start)[0]
        return value

    def count(self) -> int:
        """max_count, offset or actual_count: 4 bytes, 8 in NDR64."""
        return self.number("Q", 8) if self.syntax.wide else self.number("I", 4)

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
            raise DecodeError("too-deep", f"more than {MAX_DEPTH} levels of values in values", offset=self.pos)

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
        self.problems.append(Problem(code, message, offset, length, path, spec))

    def residue(self) -> Residue:
        """What the value does not tell."""
        if not self.referents and not self.filler and not self.counts:
            return NO_RESIDUE
        return Residue(tuple(self.referents), tuple(self.filler), tuple(self.counts))


class NdrWriter:
    """Collects a stub; with a `Residue` it comes out as it was read."""

    __slots__ = ("_counts", "_filler", "_parts", "_pointers", "_referents", "pos", "syntax", "varying")

    def __init__(self, syntax: Syntax, residue: Residue = NO_RESIDUE) -> None:
        self.syntax = syntax
        self.pos = 0
        self.varying = 0
        self._parts: list[bytes] = []
        self._pointers = 0
        self._referents = residue.referent_ids
        self._filler = residue.filler
        self._counts = {ordinal: (maximum, offset) for ordinal, maximum, offset in residue.counts}

    def align(self, to: int) -> None:
        """Write zeros up to a multiple of ``to``."""
        lacking = -self.pos % to
        if lacking:
            self.write(_ZEROS[:lacking])

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._parts.append(data)
        self.pos += len(data)

    def number(self, letter: str, size: int, value: int) -> None:
        """Write one aligned number."""
        self.align(size)
        self.write(self.syntax.layout(letter).pack(value))

    def count(self, value: int) -> None:
        """Write max_count, offset or actual_count."""
        self.number("Q", 8, value) if self.syntax.wide else self.number("I", 4, value)

    def referent(self) -> int:
        """The id of the next pointer that is not NULL."""
        place = self._pointers
        self._pointers += 1
        return self._referents[place] if place < len(self._referents) else _FIRST_REFERENT + 4 * place

    def counts(self, maximum: int) -> tuple[int, int]:
        """max_count and offset of the next varying array, whose declaration says ``maximum`` and 0."""
        self.varying += 1
        return self._counts.get(self.varying - 1, (maximum, 0))

    def getvalue(self) -> bytes:
        """The stub, its alignment gaps as they were read."""
        data = b"".join(self._parts)
        if not self._filler:
            return data
        patched = bytearray(data)
        for offset, gap in self._filler:
            if any(patched[offset : offset + len(gap)]):
                raise EncodeError("the filler of another value")
            patched[offset : offset + len(gap)] = gap
        return bytes(patched)
