"""Units of time: `SECOND` and `MILLISECOND`, in the nanoseconds that every time and interval here is in."""

from __future__ import annotations

__all__ = ["MILLISECOND", "SECOND"]

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND
