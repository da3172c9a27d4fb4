"""A set of frame numbers that stays small: one bit a frame up to the last one."""

from __future__ import annotations

from collections.abc import Iterable


class FrameSet:
    """1-based frame numbers of one capture; 8 million frames take 1 MiB at most."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self.last = 0

    def add(self, numbers: Iterable[int]) -> None:
        """Add frame numbers, which must not be negative."""
        for number in numbers:
            index = number >> 3
            if index >= len(self._bits):
                self._bits += bytes(index + 1 - len(self._bits))
            self._bits[index] |= 1 << (number & 7)
            self.last = max(self.last, number)

    def __contains__(self, number: int) -> bool:
        index = number >> 3
        return index < len(self._bits) and bool(self._bits[index] >> (number & 7) & 1)
