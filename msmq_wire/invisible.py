"""Characters that are not seen, and what is shown in their place.

The rule kept here: this is the one table. Whatever shows text (a screen, a cell, a line of JSON, a page, a
picture) asks it which characters could move a cursor, end a line, turn the reading direction or hide.
"""

from __future__ import annotations

import re
from collections.abc import Callable

UNICODE_VERSION = "18.0"
"""The version of the Unicode Character Database that the tables here follow."""

DEFAULT_IGNORABLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Default_Ignorable_Code_Point, first and last of each range: what a renderer shows nothing for."""

_CONTROLS = (
    # C0, DEL and C1; line and paragraph separators; lone surrogates.
    (0x0000, 0x001F),
    (0x007F, 0x009F),
    (0x2028, 0x2029),
    (0xD800, 0xDFFF),
    # The other characters of general category Cf.
    (0x0600, 0x0605),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
)

RANGES = tuple(sorted(DEFAULT_IGNORABLE + _CONTROLS))
"""What is not seen, or controls what shows it: first and last of each range."""

UNSEEN = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in RANGES)}]")
"""One character of `RANGES`."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def seen(character: str) -> bool:
    """Whether a character prints and is not invisible."""
    return character.isprintable() and UNSEEN.match(character) is None


def shown(text: str, instead: Callable[[str], str]) -> str:
    """The text with ``instead`` of each character that is not `seen`."""
    if text.isprintable() and (text.isascii() or UNSEEN.search(text) is None):
        return text
    return "".join(one if seen(one) else instead(one) for one in text)


def numbered(character: str) -> str:
    """A character by its number: ``\\x1b``, ``\\u202e``, ``\\U000e0100``."""
    code = ord(character)
    if code < 0x100:
        return _SHORT.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escaped(text: str) -> str:
    """The text with every character of `RANGES` by its number. A backslash stays as it is."""
    if text.isascii() and text.isprintable():
        return text
    return UNSEEN.sub(_by_number, text)


def _by_number(match: re.Match[str]) -> str:
    return numbered(match[0])
