"""Rows as a table that is printed while they are read.

The rule kept here: the first rows decide how wide the columns are, so memory stays bounded: a hundred, or as
many as came in a while; where rows come as somebody sends them, the first one does. A cell that does not fit
is cut with a mark and never wraps. A narrow terminal gets fewer columns, and no terminal fractions of
seconds; in a pipe only what no screen is wide enough for is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from enum import IntEnum
from typing import Any

import msgspec
from rich.cells import cell_len, set_cell_size

from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.values import rfc3339_text
from msmq_wire.records.bodies import preview
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.message import COLUMNS, Look, MessageColumn
from msmq_wire.records.message_body import MessageBody
from msmq_wire.units import MILLISECOND

__all__ = ["Column", "Table", "call_columns", "call_table", "message_table"]

_SAMPLE = 100
_LONGEST = 256
"""Cells of a text in a pipe: most texts of a packet are shorter, and one row must not make all as long."""
_GAP = 2
_LEAST_NUMBER, _LEAST_TEXT = 6, 10
"""Cells of columns that do not shrink, where only the first row is known."""
_WHOLE_SECONDS = 19
_PREVIEW = 60
_PREVIEW_SHARE = 5
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,200}\?>")

Row = Mapping[str, Any]


class Column(msgspec.Struct, frozen=True):
    """One column: ``text`` makes its cell of a row, ``least`` is the width of a terminal that shows it.

    ``key`` is what rows and ``--columns`` call it, where that is not its ``name``, which is its heading.
    ``smallest`` is how far it shrinks, None not at all; with ``last`` only when the others have shrunk.
    ``number`` puts it to the right; of a cell with ``end`` the end is shown where it does not fit.
    """

    name: str
    text: Callable[[Row], Any]
    least: int = 0
    smallest: int | None = None
    last: bool = False
    number: bool = False
    end: bool = False
    style: str = ""
    key: str = ""


class Table:
    """Prints rows, with ``at_once`` each when it is added; call `finish` after the last one."""

    def __init__(self, screen: Screen, columns: Sequence[Column], *, at_once: bool = False) -> None:
        self.screen = screen
        self._sample = 1 if at_once else _SAMPLE
        self._few = at_once
        self.columns = [one for one in columns if screen.width is None or screen.width >= one.least]
        self.left_out = [one.name for one in columns if one not in self.columns]
        self._waiting: list[list[str]] = []
        self._widths: list[int] | None = None

    @property
    def keys(self) -> list[str]:
        """What its columns are called in a row."""
        return [one.key or one.name for one in self.columns]

    def add(self, row: Row) -> None:
        """Take one row."""
        values = (column.text(row) for column in self.columns)
        cells = ["" if value is None else str(value) for value in values]
        cells = [self._short(text, column) for text, column in zip(cells, self.columns, strict=True)]
        if self._widths is not None:
            self._print(cells)
            return
        self._waiting.append(cells)
        if len(self._waiting) == self._sample:
            self.finish()

    def show_waiting(self) -> None:
        """Print the rows that wait for others, which may be long in coming."""
        self._few = True
        self.finish()

    def finish(self) -> None:
        """Print the rows that wait for their widths."""
        if self._widths is None and self._waiting:
            self._widths = self._fit()
            self._print([column.name for column in self.columns], heading=True)
        for cells in self._waiting:
            self._print(cells)
        self._waiting.clear()

    def _fit(self) -> list[int]:
        rows = [[column.name for column in self.columns], *self._waiting]
        widths = [max(cell_len(row[index]) for row in rows) for index in range(len(self.columns))]
        if self._few:
            least = (
                _LEAST_NUMBER if one.number else 0 if one.smallest else _LEAST_TEXT for one in self.columns
            )
            widths = list(map(max, widths, least))
        if self.screen.width is None:
            return widths
        # Shrink what can lose its end, the widest first, until a row has one line.
        while sum(widths) + _GAP * (len(widths) - 1) > self.screen.width:
            shrinking = [
                at
                for at, column in enumerate(self.columns)
                if column.smallest is not None and widths[at] > column.smallest
            ]
            if not shrinking:
                break
            widths[max(shrinking, key=lambda at: (not self.columns[at].last, widths[at]))] -= 1
        if self._few:
            self._spread(widths, self.screen.width)
        return widths

    def _spread(self, widths: list[int], width: int) -> None:
        """Give what a line has left to the columns that can shrink: longer texts may come."""
        growing = [at for at, column in enumerate(self.columns) if column.smallest is not None]
        for left in range(width - sum(widths) - _GAP * (len(widths) - 1), 0, -1):
            if growing:
                widths[growing[left % len(growing)]] += 1

    def _print(self, cells: list[str], *, heading: bool = False) -> None:
        assert self._widths is not None
        segments = []
        for column, text, width in zip(self.columns, cells, self._widths, strict=True):
            if cell_len(text) > width and self.screen.width is not None:
                text = self._cut(text, width, column)
            space = " " * (width - cell_len(text))
            text = space + text if column.number else text + space
            segments += [(text, "title" if heading else column.style), (" " * _GAP, "")]
        self.screen.line(segments)

    def _short(self, text: str, column: Column) -> str:
        """A text as it may be printed, with a mark where it is longer than any screen is wide."""
        longest = max(_LONGEST, self.screen.width or 0)
        # What is escaped is longer: once before, so that not all of it is, and once after.
        return self._clip(self.screen.safe(self._clip(text, longest, column)), longest, column)

    def _clip(self, text: str, longest: int, column: Column) -> str:
        if len(text) <= longest:
            return text
        mark = self.screen.choose("…", "~")
        return mark + text[1 - longest :] if column.end else text[: longest - 1] + mark

    def _cut(self, text: str, width: int, column: Column) -> str:
        mark = self.screen.choose("…", "~")
        if not column.end:
            return set_cell_size(text, width - 1).rstrip() + mark
        kept = text
        while cell_len(kept) > width - 1:
            kept = kept[max(1, len(kept) - width) :]
        return mark + kept


def message_table(
    screen: Screen, zone: tzinfo | None = UTC, names: Sequence[str] | None = None, *, at_once: bool = False
) -> Table:
    """The table of ``messages``; zone None is local time, ``at_once`` as for `Table`.

    ``names`` are the columns that were asked for: columns of messages, or paths of packets. Its rows have
    `Table.keys`, and a ``body`` is a `MessageBody` or None.
    """
    if names is None:
        shown = [_message_column(one, one.look, screen, zone) for one in COLUMNS if one.look is not None]
        return Table(screen, shown, at_once=at_once)
    known = {one.name: one for one in COLUMNS}
    asked = [
        _asked(_message_column(known[name], known[name].look or Look(name), screen, zone))
        if name in known
        else _plain(name)
        for name in names
    ]
    return Table(screen, asked, at_once=at_once)


def call_table(
    screen: Screen, zone: tzinfo | None = UTC, names: Sequence[str] | None = None, *, at_once: bool = False
) -> Table:
    """The table of ``calls``, for rows of `msmq_wire.cli.call_rows`; arguments as for `message_table`."""
    columns = call_columns(screen, zone)
    if names is not None:
        known = {one.key or one.name: one for one in columns}
        columns = [_asked(known[name]) if name in known else _plain(name) for name in names]
    return Table(screen, columns, at_once=at_once)


def call_columns(screen: Screen, zone: tzinfo | None = UTC) -> list[Column]:
    """The columns of the table of calls, for a terminal of any width."""
    narrow = screen.width is not None and screen.width < 100
    short = screen.width is not None and screen.width < 160
    return [
        Column("id", _cell("id"), number=True, style="strong"),
        Column("time", _time(screen, zone, start=5 if narrow else 0), 90),
        Column("client", _host("client") if short else _cell("client"), 0, 10),
        Column("server", _host("server") if short else _cell("server"), 130, 10),
        Column("interface", _cell("interface"), 200),
        Column("opnum", _cell("opnum"), 200, number=True),
        Column("method", _cell("method"), 150, 14),
        Column("queue", _cell("queue"), 0, 12, end=True, style="name"),
        Column("status", _status_text, 0, 10),
        Column("ms", _milliseconds, 140, number=True, key="latency"),
        Column("request", _cell("request_id"), 180, number=True, key="request_id"),
        Column("what", _cell("what"), 60, 16, last=True, style="note"),
    ]


def _asked(column: Column) -> Column:
    """A column on a terminal of any width, since somebody asked for it."""
    return msgspec.structs.replace(column, least=0)


def _plain(name: str) -> Column:
    """A column that shows a value of a row as it is."""
    return Column(name, _cell(name), smallest=8)


def _message_column(column: MessageColumn, look: Look, screen: Screen, zone: tzinfo | None) -> Column:
    narrow = screen.width is not None and screen.width < 100
    short = screen.width is not None and screen.width < 150
    text = _cell(column.name)
    if column.kind == "time":
        text = _time(screen, zone, column.name, start=5 if narrow else 0)
    elif column.kind == "endpoint" and short:
        text = _host(column.name)
    elif column.kind == "body":
        text = _body(screen)
    elif column.names is not None:
        text = _named(column.name, column.names)
    number = column.kind == "number" and column.names is None
    return Column(
        look.head,
        text,
        look.least,
        8 if column.look is None and not number else look.smallest,
        number=number,
        end=look.end,
        style=look.style,
        key=column.name,
    )


def _host(name: str) -> Callable[[Row], Any]:
    return lambda row: host_of(str(row.get(name) or ""))


def _cell(name: str) -> Callable[[Row], Any]:
    def text(row: Row) -> Any:
        value = row.get(name)
        return " ".join(map(str, value)) if isinstance(value, list | tuple) else value

    return text


def _time(screen: Screen, zone: tzinfo | None, name: str = "time", *, start: int = 0) -> Callable[[Row], str]:
    """The time, on a terminal in whole seconds from the ``start`` of its text on."""

    def text(row: Row) -> str:
        time = row.get(name)
        shown = rfc3339_text(time, zone) if isinstance(time, str) else ""
        return shown if screen.width is None else shown[start:_WHOLE_SECONDS]

    return text


def _body(screen: Screen) -> Callable[[Row], str]:
    """The kind of a body and how it begins, as long as a share of the screen; bodies are opened for it."""
    width = _PREVIEW if screen.width is None else min(_PREVIEW, screen.width // _PREVIEW_SHARE)

    def text(row: Row) -> str:
        body = row.get("body")
        if not isinstance(body, MessageBody):
            return ""
        content = body.content
        if content.kind == "xml" and content.text is not None:
            # What every document begins with says nothing about this one.
            declared = _DECLARATION.match(content.text)
            content = msgspec.structs.replace(content, text=content.text[declared.end() if declared else 0 :])
        begins = preview(content, width)
        named = preview(msgspec.structs.replace(content, text=None), width)
        # The text of a body where a preview is that, else what it is.
        return f"{content.kind}: {begins}" if begins not in ("", named) else named or content.kind

    return text


def _named(name: str, names: type[IntEnum]) -> Callable[[Row], str]:
    """A number as its name, without what all its names begin with, or in hexadecimal if it has none."""
    known = {int(one): one.name.removeprefix("MQMSG_CLASS_").lower() for one in names}

    def text(row: Row) -> str:
        value = row.get(name)
        if not isinstance(value, int):
            return "" if value is None else str(value)
        return known.get(value) or f"{value:#06x}"

    return text


def _status_text(row: Row) -> str:
    """``ok``, the symbol of an error, that of a fault named as one, and what else there is to say.

    A call of no known method is at most ``answered``, and one whose answer ends before its status is ``cut``.
    """
    if row.get("fault"):
        return f"fault {row.get('status_name') or ''}".rstrip()
    if row.get("status"):
        return str(row.get("status_name"))
    if row.get("sealed"):
        return "sealed"
    if row.get("cut"):
        return "cut"
    if not row.get("answered"):
        return "no answer"
    return "ok" if row.get("method") else "answered"


def _milliseconds(row: Row) -> str:
    latency = row.get("latency")
    return "" if latency is None else f"{latency / MILLISECOND:.3f}"
