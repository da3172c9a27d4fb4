"""UTF-16 columns to Arrow strings.

The rule kept here: a text is what `WcharText.text` says. All texts of a column are decoded in one go; those
that could read into their neighbours, or end in the middle of a unit, one by one.
"""

from __future__ import annotations

import codecs
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.engines.columns.values import Bools, Integers, Source
from msmq_wire.wire.types.wchar_text import WcharText


class Texts(NamedTuple):
    """A column of texts, and which of them do not show all their bytes."""

    texts: pa.StringArray
    inexact: Bools


def texts_of(source: Source, offsets: Integers, lengths: Integers, present: Bools | None) -> Texts:
    """The texts of UTF-16 bytes without their terminators; null where they are not ``present``."""
    filled = lengths > 0
    terminated = filled & (lengths & 1 == 0)
    last = source.peek(np.maximum(offsets + lengths - 2, 0), 2)
    terminated &= (last == 0).all(axis=1)
    single = filled & ~terminated
    plain = np.where(single, 0, lengths - 2 * terminated)
    units, ends = _units(source, offsets, plain)
    text: bytes
    starts = ends
    if units.max(initial=0) < 0x80:
        text = units.astype(np.uint8).tobytes()
    else:
        surrogates = np.flatnonzero(units & 0xF800 == 0xD800)
        if len(surrogates):
            single[np.searchsorted(ends, surrogates, side="right") - 1] = True
            units, ends = _units(source, offsets, np.where(single, 0, plain))
        text = codecs.utf_16_le_decode(units.tobytes(), "strict", True)[0].encode()
        widths = 1 + (units >= 0x80) + (units >= 0x800)
        starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])[ends]
    if len(text) >= 1 << 31:
        raise ValueError("the texts of a batch are longer than 2 GiB")
    validity = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [validity, pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(text)]
    texts = pa.StringArray.from_buffers(len(offsets), buffers[1], buffers[2], validity)
    if not single.any():
        return Texts(texts, single)
    return _with_singles(source, offsets, lengths, texts, np.flatnonzero(single))


def _units(source: Source, offsets: Integers, lengths: Integers) -> tuple[Any, Integers]:
    """The UTF-16 units of all rows, one behind the other, and where each row begins, with the end."""
    if not lengths.any():
        return np.zeros(0, np.uint16), np.zeros(len(lengths) + 1, np.int64)
    copied = source.copied(offsets, lengths)
    _, ends, data = copied.buffers()
    places = np.frombuffer(ends, np.int64, len(lengths) + 1) // 2
    return np.frombuffer(data, "<u2", int(places[-1])), places


def _with_singles(
    source: Source, offsets: Integers, lengths: Integers, texts: pa.StringArray, rows: Integers
) -> Texts:
    """The texts with those of some rows read one by one."""
    inexact = np.zeros(len(offsets), np.bool_)
    found = []
    for row in rows.tolist():
        at, length = int(offsets[row]), int(lengths[row])
        value = WcharText(source.bytes[at : at + length].tobytes())
        found.append(value.text)
        inexact[row] = not value.exact
    order = np.arange(len(offsets))
    order[rows] = len(offsets) + np.arange(len(rows))
    return Texts(pa.concat_arrays([texts, pa.array(found, pa.string())]).take(pa.array(order)), inexact)
