"""Where lines go: a stream with its width, its encoding and, on a terminal, its colours.

The rule kept here: colours only add to what the text says, and there are none in a pipe.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from typing import Literal, TextIO

from rich.cells import cell_len, chop_cells

from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.records.tree.tree_screen import Segment

ColorMode = Literal["auto", "always", "never"]

_ASKING = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""Where one of these is set, rich knows whether colours are wanted in a pipe, too."""
_STYLES = {
    "": "",
    "dim": "2",
    "strong": "1",
    "title": "1;36",
    "name": "36",
    "value": "",
    "note": "32",
    "spec": "2;3",
    "warning": "1;33",
    "error": "1;31",
}


class Screen:
    """A text stream to print on. ``width`` is None where lines need no folding: files and pipes."""

    def __init__(self, stream: TextIO, color: ColorMode = "auto") -> None:
        self.stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"
        self.terminal = stream.isatty()
        self.width = self._width()
        self.unicode = self.encoding.lower().replace("-", "").startswith("utf")
        self.color = color == "always" or (color == "auto" and self._has_color())

    def _width(self) -> int | None:
        stated = os.environ.get("COLUMNS", "")
        if stated.isdigit() and int(stated):
            return max(int(stated), 40)
        return max(shutil.get_terminal_size((100, 24)).columns, 40) if self.terminal else None

    def _has_color(self) -> bool:
        if not self.terminal and not _ASKING & os.environ.keys():
            return False
        # Most output goes to files and pipes, which need not wait for it.
        from rich.console import Console

        console = Console(file=self.stream)
        return console.is_terminal and console.color_system is not None and not console.no_color

    def safe(self, text: str) -> str:
        """The text without what could control the terminal or what its encoding lacks."""
        return escaped(text, encoding=self.encoding)

    def choose(self, unicode_text: str, ascii_text: str) -> str:
        """One of two texts, by what the encoding has."""
        return unicode_text if self.unicode else ascii_text

    def styled(self, text: str, style: str) -> str:
        """The text in a style, where there are colours."""
        if not self.color or not text or not _STYLES[style]:
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def cells(self, text: str) -> int:
        """How many cells a text takes."""
        return cell_len(text)

    def fold(self, text: str, width: int) -> Iterator[str]:
        """The text in pieces of at most ``width`` cells."""
        return fold(text, width)

    def line(self, segments: Iterable[Segment]) -> None:
        """Print one line; the texts are taken to be safe."""
        self.lines(("".join([self.styled(text, style) for text, style in segments]),))

    def lines(self, texts: Iterable[str]) -> None:
        """Print lines at once; the texts are taken to be safe."""
        self.stream.write("".join([f"{text.rstrip()}\n" for text in texts]))


def fold(text: str, width: int) -> Iterator[str]:
    """The text in pieces of at most ``width`` cells, cut at spaces where there are any."""
    while cell_len(text) > width:
        head = chop_cells(text, width)[0]
        space = head.rfind(" ")
        if text[len(head)] == " ":
            space = len(head)
        at = space if space > width // 2 else len(head)
        yield text[:at].rstrip()
        text = text[at:].lstrip()
    yield text
