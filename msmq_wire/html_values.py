"""Values as small HTML tables, for a notebook: `facts_html` of one value, `rows_html` of several.

The rule kept here: a notebook runs what it is given. Everything is escaped and cut, styles are inline, and
there is no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from msmq_wire.markup import Markup, tag, visible

_MOST_ROWS = 50
_MOST_TEXT = 200
_TABLE = "border-collapse: collapse"
_CELL = "text-align: left; vertical-align: top; padding: 2px 8px; white-space: pre-wrap"


def facts_html(title: str, facts: Iterable[tuple[str, object]]) -> str:
    """A title, and below it names with their values; what is None, empty or no value is left out."""
    rows = [
        tag("tr", tag("th", name, scope="row", style=_CELL), tag("td", _text(value), style=_CELL))
        for name, value in facts
        if value not in (None, "", ())
    ]
    return _table(title, rows)


def rows_html(title: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A title, a line of names and at most 50 rows; a last line says how many rows are not shown."""
    head = tag("tr", *(tag("th", name, scope="col", style=_CELL) for name in names))
    lines = [
        tag("tr", *(tag("td", _text(value), style=_CELL) for value in row))
        for row in islice(rows, _MOST_ROWS)
    ]
    left = len(rows) - len(lines)
    if left:
        more = f"{left:,} more {'row is' if left == 1 else 'rows are'} not shown"
        lines.append(tag("tr", tag("td", more, colspan=len(names), style=_CELL)))
    return _table(title, [head, *lines])


def _table(title: str, rows: Sequence[Markup]) -> str:
    caption = tag("caption", visible(title, _MOST_TEXT), style=f"{_CELL}; font-weight: bold")
    return tag("table", caption, tag("tbody", *rows), style=_TABLE)


def _text(value: object) -> str:
    return "" if value is None else visible(str(value), _MOST_TEXT)
