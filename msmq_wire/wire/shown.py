"""Fields that are shown other than by their value: `ShownName`, `ShownQueue`, `ShownText`.

The rule kept here: the marker stands beside the layout, and whatever shows a structure asks it: the JSON
view, its schema, Arrow, Lua, trees, filters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

ABSENT_IF_EMPTY = "absent-if-empty"
"""Marks bytes that are not there when there are none of them."""


class ShownName(msgspec.Struct, frozen=True):
    """A structure that is shown by a name; ``text`` gives it, None when it was not reached.

    ``value`` makes the structure of a name again, and raises FormatNameError for what is none. ``whole`` says
    whether it is the same then: where it is not, ``<field>_raw`` has the bytes.
    """

    text: Callable[[Any], str | None]
    value: Callable[[str], Any]
    whole: Callable[[Any], bool]


class ShownQueue(msgspec.Struct, frozen=True):
    """A queue of a UserHeader, shown by its type and the format name that the header gives.

    ``bits`` name the type.
    """

    bits: str


class ShownText(msgspec.Struct, frozen=True):
    """Bytes that are shown as a text, as far as they are one, by a number that stands ``by`` them.

    ``by`` is a field of their structure, ``_.flags`` of the one around it, of which ``mask`` leaves the
    number. ``text`` takes the number and the bytes, and gives None for what is no text. ``whole`` says
    whether a text shows all bytes: where it does not, ``<field>_raw`` has them. Without it every text does.
    ``value`` takes the number, a text and the size of the field (0 where it has none of its own), and gives
    the bytes; None for a text that is none of that number.
    """

    text: Callable[[int, bytes], str | None]
    by: str
    mask: int = -1
    whole: Callable[[int, bytes], bool] | None = None
    value: Callable[[int, str, int], bytes | None] | None = None

    def shows_all(self, number: int, data: bytes) -> bool:
        """Whether the text of some bytes shows all of them."""
        return self.whole is None or self.whole(number, data)

    def number(self, owner: Any, around: Any) -> int:
        """The number by the bytes; 0 where it was not reached."""
        found = getattr(around if self.by.startswith("_.") else owner, self.by.removeprefix("_."), None)
        return found & self.mask if isinstance(found, int) else 0


Marker: TypeAlias = ShownName | ShownQueue | ShownText
