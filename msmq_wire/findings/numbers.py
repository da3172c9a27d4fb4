"""A set of numbers, about a bit each where they are near each other, as those of records are."""

from __future__ import annotations

_PAGE = 8
"""Bits of a number within a page."""
_REST = (1 << _PAGE) - 1


class Numbers:
    """Numbers from 0 on."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[int, int] = {}

    def add(self, number: int) -> None:
        """Put a number into it."""
        page = number >> _PAGE
        self._pages[page] = self._pages.get(page, 0) | 1 << (number & _REST)

    def __contains__(self, number: int) -> bool:
        return bool(self._pages.get(number >> _PAGE, 0) >> (number & _REST) & 1)
