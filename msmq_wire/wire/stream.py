"""Byte streams that know what a packet offset is.

The rule kept here: positions are offsets in the packet as it was sent. Bytes that a section split left
out (`missing`) have offsets like all others; reading across them yields the bytes that are there. Nothing
is read past ``limit``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from msmq_wire.errors import DecodeError

Range = tuple[int, int]
"""(start, length) in packet offsets."""


def counted(length: int) -> str:
    """A number of bytes in words."""
    return "1 byte" if length == 1 else f"{length} bytes"


class Span(msgspec.Struct, frozen=True, gc=False):
    """Where a field lies: packet offset and length in bytes (bytes that are missing not counted)."""

    offset: int
    length: int


def _merged(missing: Sequence[Range]) -> tuple[Range, ...]:
    """The ranges in order, those that touch or overlap made one."""
    merged: list[Range] = []
    for start, length in sorted(missing):
        if length <= 0:
            continue
        if merged and start <= sum(merged[-1]):
            before = merged[-1][0]
            merged[-1] = (before, max(sum(merged[-1]), start + length) - before)
        else:
            merged.append((start, length))
    return tuple(merged)


def extent(size: int, missing: Sequence[Range]) -> int:
    """The packet offset where ``size`` bytes end that have the missing ranges, in order, among them."""
    for start, length in missing:
        if start <= size:
            size += length
    return size


class WireReader:
    """A stream over one structure's bytes; construct reads from it as from any other."""

    __slots__ = ("_data", "_missing", "_pos", "_wanted", "bounded", "end", "limit")

    def __init__(self, data: bytes, *, missing: Sequence[Range] = ()) -> None:
        self._data = data
        self._missing = _merged(missing)
        self._pos = 0
        self._wanted = 0
        self.end = extent(len(data), self._missing)
        self.limit = self.end
        self.bounded = False

    def bound(self, limit: int) -> None:
        """Let nothing be read past ``limit``, a packet offset that the packet itself states."""
        self.limit = limit
        self.bounded = True

    def unbound(self) -> None:
        """Let everything be read again."""
        self.limit = self.end
        self.bounded = False

    def tell(self) -> int:
        return self._pos

    def seek(self, offset: int, whence: int = 0) -> int:
        self._pos = offset + (0, self._pos, self.end)[whence]
        return self._pos

    @property
    def consumed(self) -> int:
        """Bytes of the data (not packet offsets) before the current position."""
        return self._physical(self._pos)

    def _physical(self, offset: int) -> int:
        skipped = 0
        for start, length in self._missing:
            if start >= offset:
                break
            skipped += min(length, offset - start)
        return offset - skipped

    def take(self, length: int) -> bytes:
        """Read ``length`` packet bytes; those that a section split left out are simply not in the result.

        Raises DecodeError (``negative-length``, ``past-packet-size``, ``missing-bytes``); its
        ``partial`` is what there was.
        """
        start = self._pos
        if length < 0:
            raise DecodeError("negative-length", f"a length of {length} bytes", offset=start)
        stop = start + length
        if stop > self.limit or stop > self.end:
            raise self.shortage(length)
        self._pos = stop
        if self._missing:
            return self._data[self._physical(start) : self._physical(stop)]
        return self._data[start:stop]

    def shortage(self, length: int | None = None) -> DecodeError:
        """The error for ``length`` bytes that are not there, by default those of the last `read`."""
        start = self._pos
        length = self._wanted if length is None else length
        stop = max(start, min(self.limit, self.end))
        code, where = "missing-bytes", ""
        if self.bounded and self.limit <= self.end:
            code, where = "past-packet-size", " before the end that PacketSize sets"
        partial = self._data[self._physical(start) : self._physical(stop)]
        return DecodeError(
            code, f"{counted(length)} needed, {stop - start} left{where}", offset=start, partial=partial
        )

    def read(self, length: int = -1) -> bytes:
        """Read for construct: ``length`` bytes, or fewer without moving (see `shortage`)."""
        start = self._pos
        self._wanted = length
        stop = min(self.limit, self.end) if length < 0 else start + length
        if stop > self.limit or stop > self.end:
            return b""
        data = (
            self._data[self._physical(start) : self._physical(stop)]
            if self._missing
            else self._data[start:stop]
        )
        if length < 0 or len(data) == length:
            self._pos = stop
        return data

    def peek(self, at: int, length: int, *, strict: bool = True) -> bytes | None:
        """Look at ``length`` bytes ``at`` bytes ahead; None past the limit.

        Past the end of a cut packet it raises DecodeError, or returns None unless ``strict``.
        """
        start = self._pos + at
        if start + length > self.limit:
            return None
        if start + length > self.end:
            if not strict:
                return None
            raise DecodeError("missing-bytes", f"{counted(length)} needed", offset=self._pos)
        data = self._data[self._physical(start) : self._physical(start + length)]
        return data if len(data) == length else None

    def find(self, needle: bytes, step: int) -> int:
        """Distance to ``needle`` at a multiple of ``step`` before the limit, or -1.

        Bytes that a section split left out end the search.
        """
        end = min(self.limit, self.end)
        if self._missing:
            end = min(end, *(start for start, length in self._missing if start + length > self._pos), end)
        start, stop = self._physical(self._pos), self._physical(max(self._pos, end))
        found = self._data.find(needle, start, stop)
        while found >= 0 and (found - start) % step:
            found = self._data.find(needle, found + 1, stop)
        return found - start if found >= 0 else -1

    @property
    def remaining(self) -> int:
        """Packet bytes up to the limit."""
        return self.limit - self._pos


class WireWriter:
    """Collects a structure's bytes.

    With ``laying_out`` it also takes partial values, whose last field may be short, and records the span of
    every field, or of those in ``wanted``.
    """

    __slots__ = ("_missing", "_parts", "_pos", "_wanted", "laying_out", "names", "spans")

    def __init__(
        self,
        *,
        missing: Sequence[Range] = (),
        laying_out: bool = False,
        wanted: Collection[str] | None = None,
    ) -> None:
        self._parts: list[bytes] = []
        self._pos = 0
        self._missing = _merged(missing)
        self._wanted = wanted
        self.laying_out = laying_out
        self.names: list[str] = []
        self.spans: dict[str, Span] = {}

    def wrote(self, start: int) -> None:
        """Take note that the field of the current path began at ``start`` and ends here."""
        if self.laying_out:
            path = ".".join(self.names)
            if self._wanted is None or path in self._wanted:
                self.spans[path] = Span(start, self._pos - start)

    def tell(self) -> int:
        return self._pos

    def extent(self, size: int) -> int:
        """The packet offset where ``size`` bytes end if they are all there is."""
        return extent(size, self._missing)

    def absent(self, length: int) -> int:
        """How many of the next ``length`` packet bytes a section split left out."""
        stop = self._pos + length
        total = 0
        for start, size in self._missing:
            total += max(0, min(stop, start + size) - max(self._pos, start))
        return total

    def write(self, data: bytes) -> int:
        self._parts.append(data)
        self._pos += len(data)
        return len(data)

    def skip(self, length: int) -> None:
        """Move on over bytes that are not there."""
        self._pos += length

    @property
    def written(self) -> int:
        """Bytes written so far."""
        return sum(map(len, self._parts))

    def getvalue(self) -> bytes:
        return b"".join(self._parts)
