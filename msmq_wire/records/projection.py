"""`Projection`: the columns that a command needs; `ProjectedRows`: their values, without records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from msmq_wire.records.message import MessageColumn


class ProjectedRows(msgspec.Struct, frozen=True):
    """Packets one after the other, and the ``lines`` that a `Projection` made of the messages among them.

    ``id`` is that of the last one, ``types`` counts them.
    """

    id: int
    types: Mapping[str, int]
    lines: list[Any]


def rows_of_values(values: Sequence[list[Any]]) -> list[Any]:
    """Rows as they are, of a list for each column: one that `Projection.make` may be."""
    return list(zip(*values, strict=True))


class Projection(msgspec.Struct, frozen=True):
    """What is asked of messages: columns, and what ``make`` makes of each row of their values.

    ``make`` gets a list for each column.
    """

    columns: tuple[MessageColumn, ...]
    make: Callable[[Sequence[list[Any]]], list[Any]]
    acknowledgments: bool = False
