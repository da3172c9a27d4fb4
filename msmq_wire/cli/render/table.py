"""Messages as a table that is printed while they are read.

The rule kept here: the first rows decide how wide the columns are, so memory stays bounded; a cell that does
not fit is cut with a mark and never wraps. A narrow terminal gets fewer columns, and no terminal fractions
of seconds; in a pipe nothing is cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Any

from rich.cells import cell_len, set_cell_size

from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.values import rfc3339_text
from msmq_wire.wire.types.enumerations import MessageClass

__all__ = ["MessageTable"]

_SAMPLE = 100
_GAP = 2
_SMALLEST = 8
_HEADINGS = ("id", "time", "src", "dst", "queue", "label", "class", "size", "via")
_NARROW = 110
_NARROW_HEADINGS = ("id", "time", "queue", "label", "class", "size")
_NUMBERS = {"id", "size"}
_SHRINKING = ("queue", "label", "class", "src", "dst")
_WHOLE_SECONDS = 19
_STYLES = {"id": "strong", "queue": "name", "label": "note", "via": "dim"}


class MessageTable:
    """Prints ``messages`` rows; call `finish` after the last one. ``zone`` None is local time."""

    def __init__(self, screen: Screen, zone: tzinfo | None = UTC) -> None:
        self.screen = screen
        self.zone = zone
        narrow = screen.width is not None and screen.width < _NARROW
        self.headings = _NARROW_HEADINGS if narrow else _HEADINGS
        self._waiting: list[list[str]] = []
        self._widths: list[int] | None = None

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row, as `msmq_wire.records.view.message_view` gives it."""
        cells = [self.screen.safe(text) for text in self._texts(row)]
        if self._widths is not None:
            self._print(cells)
            return
        self._waiting.append(cells)
        if len(self._waiting) == _SAMPLE:
            self.flush()

    def flush(self) -> None:
        """Print the rows that wait for their widths."""
        if self._widths is None and self._waiting:
            self._widths = self._fit()
            self._print(list(self.headings), heading=True)
        for cells in self._waiting:
            self._print(cells)
        self._waiting.clear()

    finish = flush

    def _texts(self, row: Mapping[str, Any]) -> list[str]:
        time = row.get("time")
        text = rfc3339_text(time, self.zone) if isinstance(time, str) else ""
        shown = {
            **row,
            "time": text if self.screen.width is None else text[:_WHOLE_SECONDS],
            "class": _class_text(row.get("message_class")),
            "size": row.get("body_size"),
        }
        return ["" if shown.get(name) is None else str(shown[name]) for name in self.headings]

    def _fit(self) -> list[int]:
        rows = [list(self.headings), *self._waiting]
        widths = [max(cell_len(row[index]) for row in rows) for index in range(len(self.headings))]
        if self.screen.width is None:
            return widths
        # Shrink what can lose its end, the widest first, until a row has one line.
        shrinking = [self.headings.index(name) for name in _SHRINKING if name in self.headings]
        while sum(widths) + _GAP * (len(widths) - 1) > self.screen.width:
            widest = max(shrinking, key=lambda index: widths[index])
            if widths[widest] <= _SMALLEST:
                break
            widths[widest] -= 1
        return widths

    def _print(self, cells: list[str], *, heading: bool = False) -> None:
        assert self._widths is not None
        segments = []
        for name, text, width in zip(self.headings, cells, self._widths, strict=True):
            if cell_len(text) > width and self.screen.width is not None:
                mark = self.screen.choose("…", "~")
                text = set_cell_size(text, width - 1).rstrip() + mark
            space = " " * (width - cell_len(text))
            text = space + text if name in _NUMBERS else text + space
            segments += [(text, "title" if heading else _STYLES.get(name, "")), (" " * _GAP, "")]
        self.screen.line(segments)


def _class_text(value: Any) -> str:
    if not isinstance(value, int):
        return "" if value is None else str(value)
    try:
        return MessageClass(value).name.removeprefix("MQMSG_CLASS_").lower()
    except ValueError:
        return f"{value:#06x}"
