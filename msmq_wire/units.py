"""Units of time, in nanoseconds as every time and interval here, and of bytes, as people read them."""

from __future__ import annotations

MICROSECOND = 1000
MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def size_text(count: int) -> str:
    """Bytes in the largest unit that leaves a number above one, as ``1.5 GB``."""
    size, unit = float(count), 0
    while size >= 999.95 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{count} {'byte' if count == 1 else 'bytes'}"
