"""Flat rows as JSON lines and CSV."""

from __future__ import annotations

import csv
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.invisible import UNSEEN

__all__ = ["csv_writer", "json_writer"]

# What begins a formula in a spreadsheet: also full-width or small, and behind what it does not show.
_FORMULA = frozenset("=+-@")

Write = Callable[[Mapping[str, Any]], None]


def json_writer() -> Write:
    """Writes each row as a line of JSON."""
    return lambda row: print(json_line(dict(row)))


def csv_writer(keys: Sequence[str]) -> Write:
    """Writes the keys above the first row, then each row; lists with spaces between."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    started = False

    def write(row: Mapping[str, Any]) -> None:
        nonlocal started
        if not started:
            writer.writerow(keys)
            started = True
        writer.writerow([_cell(row.get(key)) for key in keys])

    return write


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return escaped(str(value))
    return f"'{escaped(value)}" if _is_formula(value) else escaped(value)


def _is_formula(text: str) -> bool:
    first = next((one for one in text if not one.isspace() and not UNSEEN.match(one)), "")
    return unicodedata.normalize("NFKC", first) in _FORMULA
