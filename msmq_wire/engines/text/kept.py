"""`Kept`: texts that come again, by the value they show.

The rule kept here: a bounded number of texts of a bounded length, whatever traffic brings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Kept"]

_MOST = 2048
_LONGEST = 512


class Kept(dict[Any, str]):
    """Texts by value: traffic repeats its flags, hosts, queues and seconds. A long text is made each time."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Any], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, value: Any) -> str:
        text = self._make(value)
        # What is long in the value is long in its text, too.
        if len(text) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[value] = text
        return text
