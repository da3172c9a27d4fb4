"""What a capture held, as whoever reads it counts: `Summary`."""

from __future__ import annotations

from collections import Counter

import msgspec


class Summary(msgspec.Struct):
    """What a capture held: frames read, frames of MSMQ traffic, the others by reason, records by type.

    ``notices`` counts what a reader should know beside that, such as traffic that may be MSMQ but is opaque.
    ``first`` and ``last`` are the times of the earliest and the latest frame, nanoseconds since 1970. ``cut``
    counts the frames that were captured in part, ``snapped`` is the largest part.
    """

    frames: int = 0
    understood: int = 0
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    notices: Counter[str] = msgspec.field(default_factory=Counter)
    packets: Counter[str] = msgspec.field(default_factory=Counter)
    first: int | None = None
    last: int | None = None
    cut: int = 0
    snapped: int = 0
