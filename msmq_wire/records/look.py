"""What the values of columns are, and how a table shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.records.view import time_text

__all__ = ["AS_JSON", "CAPTURE", "Kind", "Look"]

Kind: TypeAlias = Literal[
    "number", "text", "time", "duration", "endpoint", "flag", "numbers", "texts", "body"
]
"""What a value is: ``time`` nanoseconds since 1970, ``duration`` nanoseconds, ``flag`` true or false.

``numbers`` and ``texts`` are tuples, ``body`` is a `MessageBody`.
"""
AS_JSON: Mapping[Kind, Callable[[Any], Any]] = {"time": time_text, "numbers": list, "texts": list}
"""How a value looks in JSON where that is not itself."""


class Look(msgspec.Struct, frozen=True):
    """How a table shows a column: its heading, the width of a terminal that shows it, how far it shrinks.

    As in `msmq_wire.cli.render.table.Column`. ``text`` makes its cell of a row where that is not its value
    alone; what is for ``several`` is shown where more than one file is read.
    """

    head: str
    least: int = 0
    smallest: int | None = None
    end: bool = False
    style: str = ""
    last: bool = False
    several: bool = False
    text: Callable[[Any], str] | None = None


CAPTURE = Look("capture", 0, 12, end=True, style="dim", several=True)
"""How the file is shown."""
