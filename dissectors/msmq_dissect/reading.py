# SPDX-License-Identifier: AGPL-3.0-or-later
"""Streams of dissect in, finds out: a chunk at a time, and past what cannot be read.

The rule kept here: what dissect cannot read is a hole in the bytes, never their end.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeAlias

from dissect.cstruct import exceptions as cstruct_errors  # type: ignore[import-untyped]  # it has no annotations
from dissect.evidence import exception as evidence_errors  # type: ignore[import-untyped]  # it has no annotations
from dissect.hypervisor import exceptions as hypervisor_errors  # type: ignore[import-untyped]  # it has no annotations
from dissect.target import exceptions as target_errors  # type: ignore[import-untyped]  # it has no annotations
from dissect.util import exceptions as util_errors  # type: ignore[import-untyped]  # it has no annotations

from msmq_wire.capture.carve.search import CarvedItem, Carver

__all__ = ["CHUNK", "DAMAGE", "carve", "reason_of"]

CHUNK = 1 << 20
"""Bytes that are read at once, and given up at once where they cannot be read."""
DAMAGE: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    cstruct_errors.Error,
    evidence_errors.Error,
    hypervisor_errors.Error,
    struct.error,
    target_errors.Error,
    util_errors.Error,
    zlib.error,
)
"""What dissect raises on bytes that are not what they say: it has no one error for that."""
_PATIENCE = 1024
"""Chunks in a row that cannot be read before the rest is given up, too."""
Unread: TypeAlias = Callable[[int, int, str], None]
"""Told of bytes that cannot be read: where, how many, and why."""


def carve(stream: BinaryIO, size: int, unread: Unread) -> Iterator[CarvedItem]:
    """The finds in ``size`` bytes of a stream, by offset; what cannot be read is told and passed over."""
    carver, failed = Carver(), 0
    while carver.offset < size:
        start, wanted = carver.offset, min(CHUNK, size - carver.offset)
        try:
            stream.seek(start)
            data = stream.read(wanted)
        except DAMAGE as error:
            failed += 1
            lost = wanted if failed < _PATIENCE else size - start
            unread(start, lost, reason_of(error))
            yield from carver.hole(lost)
            continue
        if not data:
            unread(start, size - start, "they are not there")
            break
        failed = 0
        yield from carver.feed(data)
    yield from carver.finish()


def reason_of(error: BaseException) -> str:
    """What the innermost error behind one says, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    reported = getattr(error, "strerror", None) or " ".join(str(error).split())
    if isinstance(error, LookupError) or not reported:
        return f"{type(error).__name__} {reported}".rstrip()
    return str(reported)
