"""`TreeScreen`: what a tree is printed on; `TextScreen` keeps it as text.

The rule kept here: a tree knows no terminal. The command line has a screen with a width and colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Protocol, TextIO
from unicodedata import combining, east_asian_width

from msmq_wire import invisible

Segment = tuple[str, str]
"""A text and the name of its style."""


class TreeScreen(Protocol):
    """A stream with its width in cells (None: lines are not folded), its encoding and its colours."""

    stream: TextIO
    width: int | None
    color: bool

    def safe(self, text: str) -> str:
        """The text without what could control the screen or what its encoding lacks."""

    def choose(self, unicode_text: str, ascii_text: str) -> str:
        """One of two texts, by what the encoding has."""

    def styled(self, text: str, style: str) -> str:
        """The text in a style, where there are colours."""

    def cells(self, text: str) -> int:
        """How many cells a text takes."""

    def fold(self, text: str, width: int) -> Iterator[str]:
        """The text in pieces of at most ``width`` cells."""

    def line(self, segments: Iterable[Segment]) -> None:
        """Print one line; the texts are taken to be safe."""

    def lines(self, texts: Iterable[str]) -> None:
        """Print lines at once; the texts are taken to be safe."""


class TextScreen:
    """Keeps what is printed as text: no colours, no folds, every character of Unicode."""

    def __init__(self) -> None:
        self._kept = StringIO()
        self.stream: TextIO = self._kept
        self.width: int | None = None
        self.color = False

    @property
    def text(self) -> str:
        """What was printed."""
        return self._kept.getvalue()

    def safe(self, text: str) -> str:
        return invisible.escaped(text)

    def choose(self, unicode_text: str, ascii_text: str) -> str:
        return unicode_text

    def styled(self, text: str, style: str) -> str:
        return text

    def cells(self, text: str) -> int:
        if text.isascii():
            return len(text)
        return sum(0 if combining(one) else 1 + (east_asian_width(one) in "WF") for one in text)

    def fold(self, text: str, width: int) -> Iterator[str]:
        yield text

    def line(self, segments: Iterable[Segment]) -> None:
        self.lines(("".join([text for text, _ in segments]),))

    def lines(self, texts: Iterable[str]) -> None:
        self.stream.write("".join([f"{text.rstrip()}\n" for text in texts]))
