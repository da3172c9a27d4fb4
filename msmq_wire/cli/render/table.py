"""Rows as a table that is printed while they are read.

The rule kept here: the first rows decide how wide the columns are, so memory stays bounded: a hundred, or as
many as came in a while; where rows come as somebody sends them, the first one does. A cell that does not fit
is cut with a mark, unless it is a number, and never wraps. A narrow terminal gets fewer columns, and no
terminal fractions of seconds; in a pipe only what no screen is wide enough for is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, tzinfo
from enum import IntEnum
from functools import partial
from typing import Any, Protocol

import msgspec
from rich.cells import cell_len, set_cell_size

from msmq_wire.cli.render.screen import Screen
from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.records.bodies import Body, preview
from msmq_wire.records.display import ColumnDeclaration, Display
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.message_body import MessageBody
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.records.tree.value_text import rfc3339_text, timestamp_text
from msmq_wire.units import MILLISECOND

_SAMPLE = 100
_LONGEST = 256
"""Cells of a text in a pipe: most texts of a packet are shorter, and one row must not make all as long."""
_GAP = 2
_LEAST_NUMBER, _LEAST_TEXT = 6, 10
"""Cells of columns that do not shrink, where only the first row is known."""
_SMALLEST_ASKED = 4
_ID = "id"
"""The column that is used to ask for an item."""
_WHOLE_SECONDS = 19
_PREVIEW = 60
_PREVIEW_SHARE = 5
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,200}\?>")


class TableRow(Protocol):
    """What has the values of a row by the names of its columns, as a dict does."""

    def __getitem__(self, name: str, /) -> Any: ...

    def get(self, name: str, /) -> Any:
        """A value, None without one."""


class Table:
    """Prints rows, with ``at_once`` each when it is added; call `finish` after the last one.

    ``taken`` is how much narrower it is for columns that are not always there. It is ``cramped`` where
    columns are narrower than they are good for. With ``keep`` rows of cells are for that.
    """

    def __init__(
        self, screen: Screen, columns: Sequence[Display], *, at_once: bool = False, taken: int = 0
    ) -> None:
        self.screen = screen
        self._sample = 1 if at_once else _SAMPLE
        self._few = at_once
        width = screen.width
        self.columns = [
            one for one in columns if not one.least or width is None or width - taken >= one.least
        ]
        self.left_out = [one.head for one in columns if one not in self.columns and not one.seldom]
        self._waiting: list[Sequence[str]] = []
        self._form = ""
        self._size = 0
        self._widths: list[int] | None = None
        self._shown = self.columns
        self._empty: list[int] = []
        self.cramped = False
        self.keep: Callable[[list[tuple[str, ...]]], None] | None = None

    @property
    def printed(self) -> bool:
        """Whether there was a row."""
        return self._widths is not None

    @property
    def keys(self) -> list[str]:
        """What its columns are called in a row."""
        return [one.key or one.head for one in self.columns]

    @property
    def usual(self) -> list[str]:
        """Those of them that are shown whatever the rows have."""
        return [one.key or one.head for one in self.columns if not one.seldom]

    def add(self, row: TableRow) -> None:
        """Take one row."""
        self.lines(([self._cell(column, row) for column in self.columns],))

    def cells(self, values: Sequence[list[Any]]) -> list[Sequence[str]]:
        """The cells of rows for `lines`, of a list of values for each column."""
        columns = []
        for column, own in zip(self.columns, values, strict=True):
            cell = partial(self._cell_of, column)
            if any(value.__class__ is MessageBody for value in own):
                columns.append(map(cell, own))
            else:
                # Traffic repeats its hosts, queues and sizes.
                made = {value: cell(value) for value in set(own)}
                columns.append(map(made.__getitem__, own))
        return list(zip(*columns, strict=True))

    def lines(self, rows: Iterable[Sequence[str]]) -> None:
        """Take rows of cells."""
        if self.keep is not None:
            self.keep(list(map(tuple, rows)))
            return
        found: list[str] = []
        for cells in rows:
            if self._widths is None:
                self._waiting.append(cells)
                if len(self._waiting) == self._sample:
                    self.finish()
            else:
                found.append(self._line(cells))
        self.screen.lines(found)

    def _cell(self, column: Display, row: TableRow) -> str:
        value = (column.text or _cell(column.key or column.head))(row)
        return "" if value is None else self._short(str(value), column)

    def _cell_of(self, column: Display, value: Any) -> str:
        return self._cell(column, {column.key or column.head: value})

    def show_waiting(self) -> None:
        """Print the rows that wait for others, which may be long in coming."""
        self._few = True
        self.finish()

    def finish(self) -> None:
        """Print the rows that wait for their widths."""
        if self._widths is None and self._waiting:
            self._empty = [
                at
                for at, column in enumerate(self.columns)
                if column.seldom and not any(cells[at] for cells in self._waiting)
            ]
            self._shown = [one for at, one in enumerate(self.columns) if at not in self._empty]
            self._widths = self._fit([self._kept(cells) for cells in self._waiting])
            forms = (
                f"%{'' if one.number else '-'}{width}s"
                for one, width in zip(self._shown, self._widths, strict=True)
            )
            self._form = (" " * _GAP).join(forms)
            self._size = sum(self._widths) + _GAP * (len(self._widths) - 1)
            self.screen.lines((self._line([column.head for column in self.columns], heading=True),))
        self.screen.lines(map(self._line, self._waiting))
        self._waiting.clear()

    def _kept(self, cells: Sequence[str]) -> Sequence[str]:
        """The cells of the columns that are shown."""
        return [text for at, text in enumerate(cells) if at not in self._empty] if self._empty else cells

    def _fit(self, waiting: Sequence[Sequence[str]]) -> list[int]:
        rows = [[column.head for column in self._shown], *waiting]
        widths = [max(cell_len(row[index]) for row in rows) for index in range(len(self._shown))]
        if self._few:
            least = (
                _LEAST_NUMBER if one.number else 0 if one.smallest else _LEAST_TEXT for one in self._shown
            )
            widths = list(map(max, widths, least))
        if self.screen.width is None:
            return widths
        if len(waiting) >= self._sample:
            # More rows come, and what counts them grows.
            widths = [
                max(width, _LEAST_NUMBER) if one.number and one.head == _ID else width
                for one, width in zip(self._shown, widths, strict=True)
            ]
        # Shrink what can lose its end, the widest first, until a row has one line; what was asked for may
        # be too much for that, then any text.
        while sum(widths) + _GAP * (len(widths) - 1) > self.screen.width:
            shrinking = [
                at
                for at, column in enumerate(self._shown)
                if column.smallest is not None and widths[at] > column.smallest
            ]
            if not shrinking:
                self.cramped = True
                shrinking = [
                    at
                    for at, column in enumerate(self._shown)
                    if not column.number and widths[at] > _SMALLEST_ASKED
                ]
            if not shrinking:
                break
            widths[max(shrinking, key=lambda at: (not self._shown[at].last, widths[at]))] -= 1
        if self._few:
            self._spread(widths, self.screen.width)
        return widths

    def _spread(self, widths: list[int], width: int) -> None:
        """Give what a line has left to the columns that can shrink: longer texts may come."""
        growing = [at for at, column in enumerate(self._shown) if column.smallest is not None]
        for left in range(width - sum(widths) - _GAP * (len(widths) - 1), 0, -1):
            if growing:
                widths[growing[left % len(growing)]] += 1

    def _line(self, cells: Sequence[str], *, heading: bool = False) -> str:
        assert self._widths is not None
        cells = self._kept(cells)
        if not self.screen.color:
            line = self._form % tuple(cells)
            # What fits makes it no longer, and plain ASCII has a cell for each character.
            if line.isascii() and (len(line) == self._size or self.screen.width is None):
                return line
        parts = []
        owed = 0
        for column, text, width in zip(self._shown, cells, self._widths, strict=True):
            if column.number and cell_len(text) > width:
                # A number that is cut is another number: what can shrink has less room in this row.
                owed += cell_len(text) - width
                width = cell_len(text)
            elif owed and column.smallest is not None:
                less = min(owed, width - 1)
                owed, width = owed - less, width - less
            style = "title" if heading else column.style if column.tint is None else column.tint(text)
            if cell_len(text) > width and self.screen.width is not None:
                # What a path ends with tells it from others below the same header.
                text = self._cut(text, width, end=column.end or (heading and "." in text))
            space = " " * (width - cell_len(text))
            text = space + text if column.number else text + space
            parts.append(self.screen.styled(text, style))
        return (" " * _GAP).join(parts)

    def _short(self, text: str, column: Display) -> str:
        """A text as it may be printed, with a mark where it is longer than any screen is wide."""
        longest = max(_LONGEST, self.screen.width or 0)
        if len(text) <= longest and text.isascii() and text.isprintable():
            return text
        # What is escaped is longer: once before, so that not all of it is, and once after.
        return self._clip(self.screen.safe(self._clip(text, longest, column)), longest, column)

    def _clip(self, text: str, longest: int, column: Display) -> str:
        if len(text) <= longest:
            return text
        mark = self.screen.choose("…", "~")
        return mark + text[1 - longest :] if column.end else text[: longest - 1] + mark

    def _cut(self, text: str, width: int, *, end: bool) -> str:
        mark = self.screen.choose("…", "~")
        if not end:
            return set_cell_size(text, width - 1).rstrip() + mark
        kept = text
        while cell_len(kept) > width - 1:
            kept = kept[max(1, len(kept) - width) :]
        return mark + kept


def table_of(
    declared: Sequence[ColumnDeclaration],
    screen: Screen,
    zone: tzinfo | None = UTC,
    names: Sequence[str] | None = None,
    *,
    several: bool = False,
    at_once: bool = False,
) -> Table:
    """The table of declared columns; zone None is local time, ``at_once`` as for `Table`.

    ``names`` are the columns that were asked for: declared ones, or paths of packets. Without, those that
    have a look are shown as far as there is room, the file among them where ``several`` are read. Its rows
    have what `Table.keys` and the looks ask for, and a ``body`` is a `MessageBody` or None.
    """
    if names is None:
        looks = [(one, one.display) for one in declared if one.display is not None]
        shown = [_column(one, display, screen, zone) for one, display in looks if not display.several]
        added = [_column(one, display, screen, zone) for one, display in looks if display.several and several]
        shown[1:1] = added
        return Table(screen, shown, at_once=at_once, taken=sum(_GAP + (one.smallest or 0) for one in added))
    known = {one.name: one for one in declared}
    asked = [
        _asked(_column(known[name], known[name].display or Display(name), screen, zone))
        if name in known
        else Display(name, smallest=8)
        for name in names
    ]
    return Table(screen, asked, at_once=at_once)


def _asked(display: Display) -> Display:
    """A column on a terminal of any width, since somebody asked for it."""
    return msgspec.structs.replace(display, least=0, seldom=False)


def _column(column: ColumnDeclaration, display: Display, screen: Screen, zone: tzinfo | None) -> Display:
    narrow = screen.width is not None and screen.width < 110
    short = screen.width is not None and screen.width < 150
    text = display.text or _cell(column.name)
    if column.kind == "time":
        text = _time(screen, zone, column.name, start=5 if narrow else 0)
    elif column.kind == "duration":
        text = _milliseconds(column.name)
    elif column.kind == "endpoint" and short:
        text = _host(column.name)
    elif column.kind == "body":
        text = _body(screen)
    elif column.names is not None:
        text = _named(column.name, column.names)
    if display.short is not None:
        text = _shortened(text, with_queue_names if screen.width is None else display.short)
    number = column.kind in ("number", "duration") and column.names is None and display.text is None
    smallest = 8 if column.display is None and not number else display.smallest
    return msgspec.structs.replace(display, text=text, smallest=smallest, number=number, key=column.name)


def _shortened(text: Callable[[TableRow], Any], short: Callable[[str], str]) -> Callable[[TableRow], Any]:
    def shortened(row: TableRow) -> Any:
        whole = text(row)
        return None if whole is None else short(str(whole))

    return shortened


def _host(name: str) -> Callable[[TableRow], Any]:
    return lambda row: host_of(str(row.get(name) or ""))


def _cell(name: str) -> Callable[[TableRow], Any]:
    def text(row: TableRow) -> Any:
        value = row.get(name)
        if isinstance(value, list | tuple):
            return " ".join(map(str, value))
        # As JSON and filters write it.
        return str(value).lower() if isinstance(value, bool) else value

    return text


def _time(
    screen: Screen, zone: tzinfo | None, name: str = "time", *, start: int = 0
) -> Callable[[TableRow], str]:
    """The time, on a terminal in whole seconds from the ``start`` of its text on."""

    def text(row: TableRow) -> str:
        time = row.get(name)
        if isinstance(time, int):
            shown = timestamp_text(time, zone)
        else:
            shown = rfc3339_text(time, zone) if isinstance(time, str) else ""
        return shown if screen.width is None else shown[start:_WHOLE_SECONDS]

    return text


def _body(screen: Screen) -> Callable[[TableRow], str]:
    """The kind of a body and how it begins, as long as a share of the screen; bodies are opened for it."""
    width = _PREVIEW if screen.width is None else min(_PREVIEW, screen.width // _PREVIEW_SHARE)

    def shown(content: Body) -> str:
        begins = preview(content, width)
        named = preview(msgspec.structs.replace(content, text=None), width)
        # The text of a body where a preview is that, else what it is.
        return f"{content.kind}: {begins}" if begins not in ("", named) else named or content.kind

    without_text: BoundedCache[tuple[str, str], str] = BoundedCache(
        lambda named: shown(Body(kind=named[0], confidence="guess", title=named[1]))
    )

    def text(row: TableRow) -> str:
        body = row.get("body")
        if not isinstance(body, MessageBody):
            return ""
        content = body.content
        if content.text is None and not content.encoding and len(content.title) <= width:
            return without_text[content.kind, content.title]
        if content.kind == "xml" and content.text is not None:
            # What every document begins with says nothing about this one.
            declared = _DECLARATION.match(content.text)
            content = msgspec.structs.replace(content, text=content.text[declared.end() if declared else 0 :])
        return shown(content)

    return text


def _named(name: str, names: type[IntEnum]) -> Callable[[TableRow], str]:
    """A number as its name, without what all its names begin with, or in hexadecimal if it has none."""
    known = {int(one): one.name.removeprefix("MQMSG_CLASS_").lower() for one in names}

    def text(row: TableRow) -> str:
        value = row.get(name)
        if not isinstance(value, int):
            return "" if value is None else str(value)
        return known.get(value) or f"{value:#06x}"

    return text


def _milliseconds(name: str) -> Callable[[TableRow], str]:
    def text(row: TableRow) -> str:
        nanoseconds = row.get(name)
        return "" if nanoseconds is None else f"{nanoseconds / MILLISECOND:.3f}"

    return text
