"""`Display`: how a table shows a column; `ColumnDeclaration`: what a column says of its values."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.records.view import time_text
from msmq_wire.wire.private import What

Kind: TypeAlias = Literal[
    "number", "text", "time", "duration", "endpoint", "address", "flag", "guid", "section",
    "numbers", "texts", "guids", "sections", "objects", "bytes", "body",
]  # fmt: skip
"""What a value is: ``time`` nanoseconds since 1970, ``duration`` nanoseconds, ``flag`` true or false.

``section`` is a `SpecRef`; ``numbers``, ``texts``, ``guids``, ``sections`` and ``objects`` are tuples;
``body`` is a `MessageBody`.
"""
AS_JSON: Mapping[Kind, Callable[[Any], Any]] = {
    "time": time_text,
    "guid": str,
    "section": str,
    "numbers": list,
    "texts": list,
    "guids": lambda values: list(map(str, values)),
    "sections": lambda values: list(map(str, values)),
    "bytes": lambda data: base64.b64encode(data).decode("ascii"),
}
"""How a value looks in JSON where that is not itself."""


class Display(msgspec.Struct, frozen=True):
    """How a table shows a column: its heading, the width of a terminal that shows it, how far it shrinks.

    Without ``smallest`` it does not shrink, with ``last`` only when the others have shrunk; of a cell with
    ``end`` the end is shown where it does not fit. ``text`` makes its cell of a row where that is not its
    value alone; what is for ``several`` is shown where more than one file is read, what is ``seldom`` there
    where the first rows have some. ``short`` shortens a cell on a terminal, ``tint`` is the style of a cell
    by its text. A ``number`` stands to the right; ``key`` is what rows call it, if not its heading.
    """

    head: str
    least: int = 0
    smallest: int | None = None
    end: bool = False
    style: str = ""
    last: bool = False
    several: bool = False
    seldom: bool = False
    text: Callable[[Any], Any] | None = None
    short: Callable[[str], str] | None = None
    tint: Callable[[str], str] | None = None
    number: bool = False
    key: str = ""


class _Named(msgspec.Struct, frozen=True, dict=True):
    """What a column is called and means."""

    name: str
    kind: Kind
    doc: str


class ColumnDeclaration(_Named, frozen=True, kw_only=True):
    """What a column says of its values, whatever they are values of.

    ``choices`` are all the texts that there are, ``pattern`` what a text matches, ``least`` and ``most`` the
    bounds of a number, or of how many ``objects`` there are; without ``optional`` there always is a value.
    ``reveals`` is what a column tells that is more than a field. A row has what is ``asked`` for only where
    it was, and a table what has no ``display``. ``needs`` are the modules of an extra without which there is
    no value.
    """

    choices: tuple[str, ...] = ()
    pattern: str = ""
    least: int = 0
    most: int | None = None
    optional: bool = True
    reveals: What | None = None
    asked: bool = False
    needs: tuple[str, ...] = ()
    display: Display | None = None

    @property
    def names(self) -> type[IntEnum] | None:
        """The names of its numbers, where they have any."""
        return None


CAPTURE = Display("capture", 0, 12, end=True, style="dim", several=True)
"""How the file is shown."""
