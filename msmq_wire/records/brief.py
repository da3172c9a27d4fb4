"""`Brief`: messages that are told without a record for each, and `Briefing`, what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from msmq_wire.records.message import MessageColumn


class Brief(msgspec.Struct, frozen=True):
    """Packets one after the other, and the ``lines`` that a `Briefing` made of the messages among them.

    ``id`` is that of the last one, ``types`` counts them.
    """

    id: int
    types: Mapping[str, int]
    lines: list[Any]


class Briefing(msgspec.Struct, frozen=True):
    """What is asked of messages: columns, and what ``make`` makes of each row of their values.

    ``make`` gets a list for each column.
    """

    columns: tuple[MessageColumn, ...]
    make: Callable[[Sequence[list[Any]]], list[Any]]
    acknowledgments: bool = False
