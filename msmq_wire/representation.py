"""What ``repr`` shows of values: one short line with their texts.

The rule kept here: the line has at most `LONGEST` characters, whatever a sender wrote, and none of them
controls a screen. A line in ``<`` and ``>`` leaves something out; another one is Python that makes the value
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from msmq_wire.invisible import escaped

LONGEST = 120
"""Characters of a line."""

_TEXT = 32
_BYTES = 16
_ITEMS = 4


def shortened(text: str, most: int = _TEXT) -> str:
    """A text of a sender, without what could control a screen, cut after ``most`` characters."""
    # What is cut off is not looked at: it may be a megabyte.
    safe = escaped(text[: most + 1])
    return safe if len(safe) <= most else f"{safe[: most - 1]}…"


def literal(text: str) -> str:
    """A text as Python writes it, with what is not seen by its number."""
    return escaped(repr(text))


def label_text(label: str | None) -> str:
    """The label of a message in quotes; empty where there is none."""
    return f'"{shortened(label)}"' if label else ""


def line(value: object, *parts: str) -> str:
    """The line of a value from its parts; empty ones are left out."""
    return f"<{shortened(' '.join((type(value).__name__, *filter(None, parts))), LONGEST - 2)}>"


def parse_line(value: object) -> str:
    """The line of a value that its class parses from its text."""
    whole = f"{type(value).__name__}.parse({literal(str(value))})"
    return whole if len(whole) <= LONGEST else line(value, str(value))


def reading_line(reading: object, source: str, item: str, given: int, *, ended: bool) -> str:
    """The line of what is iterated once: what it reads, how much it gave, and whether there is more."""
    items = f"{given:,} {item}{'' if given == 1 else 's'}"
    return line(reading, f"{shortened(source, 60)}:", f"{items}, ended" if ended else f"{items} so far")


def struct_line(value: msgspec.Struct) -> str:
    """The line of a value with fields: those that are not what they are by default."""
    names = value.__struct_fields__
    defaults = dict(zip(reversed(names), reversed(value.__struct_defaults__), strict=False))
    parts = []
    for name in names:
        field = getattr(value, name)
        if name not in defaults or field != defaults[name]:
            parts.append(f"{name}={_short(field)}")
    whole = f"{type(value).__name__}({', '.join(parts)})"
    if len(whole) <= LONGEST and "…" not in whole:
        return whole
    return line(value, ", ".join(parts))


def _short(value: Any) -> str:
    """A field: of a value with fields of its own nothing."""
    if hasattr(value, "__struct_fields__"):
        return "…" if value.__struct_fields__ else f"{type(value).__name__}()"
    if type(value) is bytes:
        return repr(value) if len(value) <= _BYTES else f"{len(value)} bytes…"
    if isinstance(value, str):
        return literal(value) if len(value) <= _TEXT else f"{literal(value[:_TEXT])}…"
    if isinstance(value, tuple | list):
        if len(value) > _ITEMS:
            return f"{len(value)} items…"
        inner = ", ".join(map(_short, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, Mapping):
        return f"{len(value)} items…" if value else "{}"
    return escaped(repr(value))
