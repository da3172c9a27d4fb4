"""Cells and lines of CSV that a spreadsheet takes for what they are.

The rule kept here: what begins a formula has an apostrophe in front, what is not seen stands by its number,
and no cell has two lines. Plain ASCII costs no search for any of it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from msmq_wire.invisible import UNSEEN, escaped

# What begins a formula in a spreadsheet: also full-width or small, and behind what it does not show.
_FORMULA = frozenset("=+-@")
_SUSPECT = _FORMULA | {" "}


def csv_cell(value: Any) -> str:
    """A value as a cell: nothing for None, what is in a list or a tuple with spaces between."""
    if value is None:
        return ""
    if value.__class__ is not str:
        if not isinstance(value, str | list | tuple):
            return _enclosed(escaped(str(value)))
        value = value if isinstance(value, str) else " ".join(map(str, value))
    if value.isascii() and value.isprintable() and value[:1] not in _SUSPECT:
        return _enclosed(value)
    text = escaped(value)
    return _enclosed(f"'{text}" if _is_formula(value) else text)


def csv_line(values: Iterable[Any]) -> str:
    """Values as a line, without its end."""
    line = ",".join(map(csv_cell, values))
    # An empty line would be no row.
    return line or '""'


def _enclosed(text: str) -> str:
    if '"' in text:
        text = text.replace('"', '""')
    elif "," not in text:
        return text
    return f'"{text}"'


def _is_formula(text: str) -> bool:
    first = next((one for one in text if not one.isspace() and not UNSEEN.match(one)), "")
    return unicodedata.normalize("NFKC", first) in _FORMULA
