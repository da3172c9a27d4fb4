"""What commands over the tables of a store share: where they are, sizes, and what must be installed.

The rule kept here: only a command that needs Spark starts it; the others need deltalake alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.spark_session import check_spark, errors_told

if TYPE_CHECKING:
    from msmq_wire.spark.store import Store

__all__ = ["TablesFolder", "opened_store", "size_of"]

_MOST_DIGITS = 15
_BITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}

TablesFolder = Annotated[
    str,
    typer.Option(
        "--tables",
        metavar="DIR",
        help="The folder, or URL, that msmq-wire spark run wrote to.",
        show_default=False,
    ),
]


@contextlib.contextmanager
def opened_store(tables: str) -> Iterator[Store]:
    """The tables; what the project raises in the block is one line, and ends the command with status 1."""
    check_spark(None, None)
    from msmq_wire.spark.store import Store

    with errors_told():
        yield Store(tables)


def size_of(text: str, hint: str) -> int:
    """Bytes that a text as ``128m`` says. Raises typer.BadParameter."""
    bare = text.lower().removesuffix("b")
    digits = bare.rstrip("kmgt")
    bits = _BITS.get(bare[len(digits) :])
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and int(digits)):
        bits = None
    if bits is None:
        raise typer.BadParameter(f"{text} is no size as 128m or 1g", param_hint=hint)
    return int(digits) << bits
