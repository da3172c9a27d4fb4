"""`FilterField`: what a filter knows of a field before there is a value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, IntFlag
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["", "number", "text", "time", "address", "message-id", "rank"]
"""``time`` counts nanoseconds since 1970, a ``rank`` is one of `FilterField.choices` in their order."""


class FilterField(msgspec.Struct, frozen=True):
    """What a name or a path stands for.

    ``kind`` is empty where only the value shows it. ``names`` are the numbers that have one, ``unit`` what
    they count, ``flags`` whether they are bits of one word. ``choices`` are all the texts that there are;
    ``folded`` texts are equal whatever their case.
    """

    kind: Kind = ""
    names: Mapping[str, int] = {}
    unit: str = ""
    flags: bool = False
    choices: tuple[str, ...] = ()
    folded: bool = False

    @property
    def dated(self) -> bool:
        """Whether a moment can be compared with it."""
        return self.kind == "time" or self.unit == "unix-time"

    @property
    def shown(self) -> str:
        """Its kind in a word or two."""
        if self.choices:
            return "word"
        if self.unit == "unix-time":
            return "time"
        if self.unit == "flag":
            return "true or false"
        return "number or name" if self.names else self.kind.replace("-", " ") or "text"


FOLDED = frozenset(
    (
        "account",
        "body_type_name",
        "error",
        "event",
        "interface",
        "kind",
        "message_class_name",
        "method",
        "queue",
        "rule",
        "status_name",
        "syntax",
    )
)
"""Texts of these names are equal whatever their case."""
NUMBER = FilterField("number")
TEXT = FilterField("text")
WORDS = FilterField("text", folded=True)


def numbers_of(enumeration: type[IntEnum] | type[IntFlag] | None) -> Mapping[str, int]:
    """The members of an enumeration, none without one."""
    return {} if enumeration is None else {name: int(one) for name, one in enumeration.__members__.items()}
