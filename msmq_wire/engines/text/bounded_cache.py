"""`BoundedCache`: values that were made before, a bounded number of them.

The rule kept here: a bounded number of them, and no long text, whatever traffic brings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_MOST = 2048
_LONGEST = 512

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedCache(dict[_Key, _Value]):
    """By value what ``make`` gives for it: traffic repeats its flags, hosts, queues, seconds and shapes.

    A text of more than ``longest`` characters is made each time.
    """

    __slots__ = ("longest", "make")

    def __init__(self, make: Callable[[_Key], _Value], *, longest: int = _LONGEST) -> None:
        super().__init__()
        self.make = make
        self.longest = longest

    def __missing__(self, value: _Key) -> _Value:
        made = self.make(value)
        # What is long in the value is long in its text, too.
        if not isinstance(made, str) or len(made) <= self.longest:
            if len(self) >= _MOST:
                self.clear()
            self[value] = made
        return made
