"""Units of time, in nanoseconds as every time and interval here, and of bytes, as people read them."""

from __future__ import annotations

MICROSECOND = 1000
MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_BITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_MOST_DIGITS = 15


def size_text(count: int) -> str:
    """Bytes in the largest unit that leaves a number above one, as ``1.5 GB``."""
    size, unit = float(count), 0
    while size >= 999.95 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{count} {'byte' if count == 1 else 'bytes'}"


def byte_count(text: str) -> int | None:
    """Bytes that a text as ``128m`` or ``1GB`` says; None where it says none."""
    bare = text.lower().removesuffix("b")
    digits = bare.rstrip("kmgt")
    bits = _BITS.get(bare[len(digits) :])
    if bits is None or not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        return None
    return int(digits) << bits or None
