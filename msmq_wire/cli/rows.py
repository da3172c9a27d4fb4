"""Flat rows as JSON lines and CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msmq_wire.cli.render.safe_text import escaped, json_line

__all__ = ["csv_writer", "json_writer"]

# What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

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
        return " ".join(map(str, value))
    text = escaped(str(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text
