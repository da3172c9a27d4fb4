"""A block of text on a terminal: a head of one line, and sentences folded below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len

from msmq_wire.cli.render.screen import Screen, fold
from msmq_wire.records.tree.tree_screen import Segment

GAP = "  "
"""Between two texts of a line."""
WHOLE_SECONDS = 19
"""Characters of a time that has no fractions."""

_INDENT = 8
_LONGEST = 2000
"""Cells of a sentence; folding more than that only takes time."""


def head(
    screen: Screen, width: int, begun: Iterable[Segment], texts: Iterable[Segment]
) -> Iterator[list[Segment]]:
    """A line that begins so and goes on with each text that fits; the others stand below it."""
    line, below = list(begun), []
    for text, style in texts:
        if sum(cell_len(shown) for shown, _ in line) + cell_len(text) <= width:
            line += [(text, style), (GAP, "")]
        else:
            below.append((text, style))
    yield line
    for text, style in below:
        yield from folded(screen, width, text, style)


def folded(screen: Screen, width: int, text: str, style: str = "") -> Iterator[list[Segment]]:
    """A text as lines, indented; a very long one is cut."""
    safe = screen.safe(text)
    if cell_len(safe) > _LONGEST:
        safe = safe[: _LONGEST // 2] + screen.choose("…", "~")
    if safe:
        yield from ([(" " * _INDENT, ""), (line, style)] for line in fold(safe, width - _INDENT))


def ends_text(screen: Screen, src: str | None, dst: str | None) -> str:
    """Both addresses, ``?`` for one that is not known."""
    return screen.safe(f"{src or '?'} {screen.choose('→', '->')} {dst or '?'}")
