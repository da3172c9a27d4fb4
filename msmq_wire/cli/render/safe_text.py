"""Text from the wire made harmless: it reaches a terminal, a table or a JSON line but controls none of them.

The rule kept here: what could move a cursor, change a colour, end a line or turn the reading direction, and
what is not seen at all, is shown by its number.
"""

from __future__ import annotations

from msmq_wire import invisible


def escaped(text: str, *, encoding: str = "utf-8") -> str:
    """The text with every unsafe character as ``\\x1b`` or ``\\u202e``, and what ``encoding`` lacks too.

    A backslash stays as it is: queue names are full of them.
    """
    safe = invisible.escaped(text)
    if safe.isascii() or encoding.replace("-", "").lower() == "utf8":
        return safe
    return safe.encode(encoding, "backslashreplace").decode(encoding)
