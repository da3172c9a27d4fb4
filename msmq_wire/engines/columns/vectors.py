"""What the column engine computes with: the bytes of a batch, row sets and columns.

The rule kept here: no read leaves the bytes, and a column belongs to a set of rows.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
from numpy.typing import NDArray

from msmq_wire.buffers import as_buffer
from msmq_wire.wire.fields import WireStruct

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Records = NDArray[Any]

_INLINE = 12
"""Bytes that an entry of an Arrow binary view holds itself."""
_FIXED = 256
"""Byte strings of one length up to this are compared where they are gathered."""


def coded_numbers(values: Integers) -> tuple[Integers, list[int]]:
    """A code for every number, and the number of every code."""
    # `pa.array` of an array, and `to_numpy`, import pandas wherever there is one.
    buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
    return _coded(pa.Array.from_buffers(pa.int64(), len(values), buffers))


def _coded(array: pa.Array) -> tuple[Integers, list[Any]]:
    encoded = array.dictionary_encode()
    indices = encoded.indices
    codes = np.frombuffer(indices.buffers()[1], np.int32, len(indices), indices.offset * 4)
    return codes.astype(np.int64), encoded.dictionary.to_pylist()


class BatchBytes:
    """The bytes of a batch; no read leaves them."""

    def __init__(self, data: Any) -> None:
        as_buffer(data)
        self.data = data
        self.bytes: NDArray[np.uint8] = np.frombuffer(data, np.uint8)

    def __len__(self) -> int:
        return len(self.bytes)

    def gather(self, positions: Integers, size: int) -> Records:
        """``size`` bytes at each position as records; near the end of all bytes not those asked for."""
        buffer = self.bytes
        if len(buffer) < size:
            buffer = np.zeros(size, np.uint8)
            buffer[: len(self.bytes)] = self.bytes
        top = len(buffer) - size
        view: Records = np.ndarray((top + 1,), f"V{size}", buffer=buffer, strides=(1,))
        return view[np.minimum(positions, top)]

    def peek(self, positions: Integers, size: int) -> NDArray[np.uint8]:
        """``size`` bytes at each position as a matrix; what lies past the end of the bytes is 0."""
        found = self.gather(positions, size).view(np.uint8).reshape(len(positions), size)
        over = np.flatnonzero(positions > len(self.bytes) - size)
        if len(over):
            last = self.bytes[-size:]
            tail = np.zeros(2 * size, np.uint8)
            tail[: len(last)] = last
            start = np.minimum(positions[over] - (len(self.bytes) - len(last)), size)
            found[over] = tail[start[:, None] + np.arange(size)]
        return found

    def views(self, offsets: Integers, lengths: Integers, base: int = 0) -> NDArray[np.uint32]:
        """Entries of an Arrow binary view, four words each; ``base`` is where its buffer begins."""
        entries = np.zeros((len(offsets), 4), np.uint32)
        longest = int(lengths.max(initial=0))
        if not longest:
            return entries
        entries[:, 0] = lengths
        head = self.peek(offsets, _INLINE)
        if longest > _INLINE:
            long = lengths > _INLINE
            everything = bool(long.all())
            if not everything:
                head *= np.arange(_INLINE) < np.where(long, _INLINE, lengths)[:, None]
            words = head.view(np.uint32)
            entries[:, 1] = words[:, 0]
            entries[:, 2] = 0 if everything else np.where(long, 0, words[:, 1])
            entries[:, 3] = offsets - base if everything else np.where(long, offsets - base, words[:, 2])
        else:
            head *= np.arange(_INLINE) < lengths[:, None]
            entries[:, 1:] = head.view(np.uint32)
        return entries

    def copied(self, offsets: Integers, lengths: Integers) -> pa.LargeBinaryArray:
        """The bytes at each offset, one behind the other in a buffer of their own."""
        filled = lengths > 0
        base = int(offsets.min(initial=len(self.bytes), where=filled))
        top = int((offsets + lengths).max(initial=base, where=filled))
        if top - base >= 1 << 31:
            pieces = zip(offsets.tolist(), lengths.tolist(), strict=True)
            return pa.array([self.bytes[at : at + size].tobytes() for at, size in pieces], pa.large_binary())
        # Only what an entry holds itself has to be in it: nobody but Arrow's copy sees these.
        entries = np.zeros((len(offsets), 4), np.uint32)
        entries[:, 0], entries[:, 3] = lengths, offsets - base
        short = np.flatnonzero(lengths <= _INLINE)
        if len(short):
            entries[short] = self.views(offsets[short], lengths[short], base)
        buffers = [None, pa.py_buffer(entries), pa.py_buffer(self.bytes[base:top])]
        return pa.Array.from_buffers(pa.binary_view(), len(offsets), buffers).cast(pa.large_binary())


class RowSet:
    """A set of the rows of a walk; ``index`` are their numbers in order, None for all of them."""

    def __init__(self, total: int, index: Integers | None = None, parent: RowSet | None = None) -> None:
        self.total = total
        self.index = index
        self.parent = parent
        self.count = total if index is None else len(index)

    @cached_property
    def mask(self) -> Bools:
        """Which of all rows belong to the set."""
        mask = np.zeros(self.total, np.bool_)
        mask[slice(None) if self.index is None else self.index] = True
        return mask

    def of(self, index: Integers) -> RowSet:
        """The rows with the given numbers, which are some of the set."""
        return RowSet(self.total, index, self)

    def narrowed(self, local: Integers) -> RowSet:
        """The rows with the given places in this set."""
        return RowSet(self.total, local if self.index is None else self.index[local], self)

    def includes(self, other: RowSet) -> bool:
        """Whether the other set was made from this one."""
        inner: RowSet | None = other
        while inner is not None and inner is not self:
            inner = inner.parent
        return inner is self or self.index is None

    def spread(self, values: NDArray[Any], other: RowSet) -> NDArray[Any]:
        """Values of these rows for the rows of another set; 0 where they have none."""
        if other is self:
            return values
        if self.index is not None:
            everywhere = np.zeros((self.total, *values.shape[1:]), values.dtype)
            everywhere[self.index] = values
            values = everywhere
        return values if other.index is None else values[other.index]


class RowSelection:
    """The ``count`` rows of a walk that are shown: ``index`` are their numbers in order, None for all."""

    def __init__(self, count: int, index: Integers | None = None) -> None:
        self.count = count
        self.index = index

    def spread(self, rows: RowSet, values: NDArray[Any]) -> NDArray[Any]:
        """Values of a set of rows for those that are shown; 0 where they have none."""
        everywhere = rows.spread(values, RowSet(rows.total))
        return everywhere if self.index is None else everywhere[self.index]

    def has(self, rows: RowSet) -> Bools | None:
        """Which of those that are shown belong to a set, None for all."""
        if rows.index is None:
            return None
        mask = rows.mask if self.index is None else rows.mask[self.index]
        return None if mask.all() else mask


class FieldRun:
    """Consecutive fixed fields of some rows, gathered at once."""

    def __init__(self, source: BatchBytes, positions: Integers, size: int) -> None:
        self.positions = positions
        self.size = size
        self.records = source.gather(positions, size)

    def field(self, offset: int, dtype: str) -> NDArray[Any]:
        """A column of the records, not copied."""
        return np.ndarray((len(self.records),), dtype, self.records, offset, (self.size,))


class NumberColumn:
    """A column of integers; those that are fields of ``size`` bytes are placed in the source."""

    def __init__(
        self, rows: RowSet, values: NDArray[Any], size: int = 8, at: tuple[FieldRun, int] | None = None
    ) -> None:
        self.rows = rows
        self.raw = values
        self.size = size
        self._at = at

    @property
    def is_placed(self) -> bool:
        """Whether there are bytes that they stand for."""
        return self._at is not None

    @property
    def offsets(self) -> Integers:
        """Where they begin in the source."""
        assert self._at is not None
        run, offset = self._at
        return run.positions + offset

    @property
    def lengths(self) -> Integers:
        """Bytes of each."""
        return np.broadcast_to(np.int64(self.size), self.rows.count)

    @cached_property
    def values(self) -> Integers:
        """The numbers, widened before anything is added to them."""
        return self.raw.astype(np.int64)

    def distinct(self) -> tuple[Integers, list[int]]:
        """A code for every row, and the value of every code."""
        return coded_numbers(self.values)


class OctetsColumn:
    """A column of byte strings, as offsets and lengths in the source."""

    def __init__(
        self,
        source: BatchBytes,
        rows: RowSet,
        kind: type[bytes],
        offsets: Integers | tuple[FieldRun, int],
        lengths: Integers | int,
    ) -> None:
        self.source = source
        self.rows = rows
        self.kind = kind
        self.size = lengths if isinstance(lengths, int) else None
        self.is_placed = True
        self._at = offsets
        self._lengths = lengths

    @cached_property
    def offsets(self) -> Integers:
        """Where they begin in the source."""
        if isinstance(self._at, tuple):
            run, offset = self._at
            return run.positions + offset
        return self._at

    @cached_property
    def lengths(self) -> Integers:
        """Bytes of each."""
        if isinstance(self._lengths, int):
            return np.broadcast_to(np.int64(self._lengths), self.rows.count)
        return self._lengths

    @cached_property
    def fixed(self) -> Records:
        """The bytes themselves, as records, where all have one length."""
        assert self.size is not None
        if isinstance(self._at, tuple):
            run, offset = self._at
            return np.ascontiguousarray(run.field(offset, f"V{self.size}"))
        return self.source.gather(self.offsets, self.size)

    @property
    def matrix(self) -> NDArray[np.uint8]:
        """The bytes as an array of rows, where all have one length; copied only if they must be."""
        assert self.size is not None
        if isinstance(self._at, tuple):
            run, offset = self._at
            shape, strides = (self.rows.count, self.size), (run.size, 1)
            return np.ndarray(shape, np.uint8, run.records, offset, strides)
        return self.fixed.view(np.uint8).reshape(-1, self.size)

    @cached_property
    def codes(self) -> tuple[Integers, list[bytes]]:
        """A code for every row, and the value of every code."""
        size = self.size if self.size is not None else int(self.lengths.max(initial=0))
        if self.size or (0 < size <= _FIXED and int(self.lengths.min(initial=size)) == size):
            records = self.fixed if self.size else self.source.gather(self.offsets, size)
            buffers = [None, pa.py_buffer(records.view(np.uint8))]
            array = pa.Array.from_buffers(pa.binary(size), self.rows.count, buffers)
        else:
            array = self.source.copied(self.offsets, self.lengths)
        codes, values = _coded(array)
        return codes, values if self.kind is bytes else [self.kind(value) for value in values]

    @property
    def is_repetitive(self) -> bool:
        """Whether the distinct values are known already, and few."""
        return "codes" in self.__dict__ and len(self.codes[1]) * 8 <= self.rows.count

    def distinct(self) -> tuple[Integers, list[bytes]]:
        """As `codes`."""
        return self.codes

    def hide(self, rows: Bools) -> None:
        """Take the bytes from some of all rows: what these claim may lie outside the source."""
        hidden = rows if self.rows.index is None else rows[self.rows.index]
        if isinstance(self._lengths, int) and isinstance(self._at, tuple):
            return
        self.__dict__["offsets"] = np.where(hidden, 0, self.offsets)
        self.__dict__["lengths"] = np.where(hidden, 0, self.lengths)

    def equals(self, value: bytes) -> Bools:
        """Which rows hold exactly these bytes."""
        size = len(value)
        if not size:
            return np.equal(self.lengths, 0)
        if self.size is None:
            same: Bools = np.equal(self.lengths, size)
            at = np.flatnonzero(same)
            found = self.source.peek(self.offsets[at], size)
            same[at] = (found == np.frombuffer(value, np.uint8)).all(axis=1)
            return same
        if self.size != size:
            return np.zeros(self.rows.count, np.bool_)
        words = "<u8" if size % 8 == 0 else "u1"
        found = self.fixed.view(words).reshape(self.rows.count, -1)
        equal: Bools = (found == np.frombuffer(value, words)).all(axis=1)
        return equal

    def value(self, at: int) -> bytes:
        """The value of the row at a place in the set."""
        start, length = int(self.offsets[at]), int(self.lengths[at])
        return self.kind(self.source.bytes[start : start + length].tobytes())


class StructColumn:
    """A structure in some rows: its fields by name, None for what no row has."""

    def __init__(
        self, rows: RowSet, cls: type[WireStruct], context: Mapping[str, int], parent: StructColumn | None
    ) -> None:
        self.rows = rows
        self.cls = cls
        self.context = context
        # Without a circle a batch is gone as soon as nobody needs it.
        self._parent = None if parent is None else weakref.ref(parent)
        # Where it is in its packet, None where that depends on the row.
        self.path: str | None = None
        self.fields: dict[str, Column] = {}
        self.inside: dict[str, StructColumn] = {}

    @property
    def parent(self) -> StructColumn | None:
        """The structure around it, for as long as that is there."""
        return None if self._parent is None else self._parent()


class UnionColumn:
    """A field whose layout differs from row to row: a column for every layout, rows without bytes in none."""

    def __init__(self, arms: Sequence[NumberColumn | OctetsColumn | StructColumn]) -> None:
        self.arms = arms


class ListColumn:
    """A list in some rows: how many elements each has, and a column for every place in the list.

    ``places[k]`` holds the elements at place k, in the rows whose list is longer than k.
    """

    def __init__(self, rows: RowSet, lengths: Integers, places: Sequence[Column]) -> None:
        self.rows = rows
        self.lengths = lengths
        self.places = places


Column = NumberColumn | OctetsColumn | StructColumn | UnionColumn | ListColumn | None
