"""What is said about a body: its kind, how sure that is, its text, and a table of what was found in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from msmq_wire.representation import struct_line

Confidence = Literal["declared", "certain", "likely", "guess"]
Details = tuple[tuple[str, str], ...]

_LONGEST = 500
SCALARS = frozenset({"boolean", "currency", "date", "guid", "number"})


class BodyKinds(NamedTuple):
    """Kinds of bodies for a reader: the words for them, by what they are recognised, what is shown."""

    kinds: tuple[str, ...]
    recognised: str
    shown: str


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A body that was looked at; the bytes stay with the caller.

    ``kind`` is a word such as ``xml``, ``number`` or ``binary_formatter``, ``title`` the same for a reader.
    ``confidence``: ``declared`` by the body type and the bytes fit; ``certain``, all of the bytes have the
    form; ``likely``, their beginning has it; ``guess`` otherwise. ``text`` are the characters as they are in
    the body, or a single value as text; None where there are none. ``details`` are pairs of name and value.
    ``extension`` is that of a file name and never comes from the bytes. ``convention`` names the library
    whose headers or envelope were found. ``outside_section``: the body type is none of [MS-MQMQ] 2.2.12.
    """

    kind: str
    confidence: Confidence
    title: str = ""
    text: str | None = None
    encoding: str = ""
    details: Details = ()
    extension: str = "bin"
    convention: str = ""
    outside_section: bool = False

    __repr__ = struct_line

    @property
    def scalar(self) -> bool:
        """Whether the body is one value, which ``text`` shows."""
        return self.kind in SCALARS


def shortened(text: str) -> str:
    """The text of a detail: of more than 500 characters the first, and an ellipsis."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def first_of(rows: Sequence[tuple[str, str]], most: int) -> Details:
    """The first details, and how many more there are."""
    more = len(rows) - most
    listed = tuple(rows[:most])
    return listed if more <= 0 else (*listed, ("more", f"{more:,} more"))
