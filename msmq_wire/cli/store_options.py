"""What commands over the tables of a store share: where they are, sizes, and what must be installed.

The rule kept here: only a command that needs Spark starts it; the others need deltalake alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.reporting import print_error
from msmq_wire.errors import MsmqWireError
from msmq_wire.units import byte_count

if TYPE_CHECKING:
    from msmq_wire.tables.store.store import Store

_NEEDED = ("deltalake", "numpy", "pyarrow")

TablesFolder = Annotated[
    str,
    typer.Option(
        "--tables",
        metavar="DIR",
        help="The folder, or URL, that msmq-wire spark run wrote to.",
        show_default=False,
    ),
]


def check_store() -> None:
    """Raise typer.Exit(1) after one line where tables cannot be read."""
    if any(find_spec(name) is None for name in _NEEDED):
        print_error('tables need deltalake: pip install "msmq-wire[spark]"')
        raise typer.Exit(1)


@contextlib.contextmanager
def errors_told() -> Iterator[None]:
    """Tell what the project raises in the block in one line, and end the command with status 1."""
    try:
        yield
    except MsmqWireError as error:
        print_error(str(error))
        raise typer.Exit(1) from None


@contextlib.contextmanager
def opened_store(tables: str) -> Iterator[Store]:
    """The tables; what the project raises in the block is one line, and ends the command with status 1."""
    check_store()
    from msmq_wire.tables.store.store import Store

    with errors_told():
        yield Store(tables)


def size_of(text: str, hint: str) -> int:
    """Bytes that a text as ``128m`` says. Raises typer.BadParameter."""
    size = byte_count(text)
    if size is None:
        raise typer.BadParameter(f"{text} is no size as 128m or 1g", param_hint=hint)
    return size
