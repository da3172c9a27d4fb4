"""``--columns``: which columns a table, CSV or JSON lines have, and what stands in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

import typer

from msmq_wire.cli.completion import column_names
from msmq_wire.cli.reporting import print_note
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.column_choice import chosen_columns
from msmq_wire.records.message import COLUMNS

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Show these columns, as in time,src,queue. +via,-id changes what is shown, all shows all.",
        autocompletion=column_names,
        show_default=False,
    ),
]


def columns_for(
    wanted: str | None, usual: Sequence[str], known: Mapping[str, str], *, paths: bool = True
) -> tuple[str, ...] | None:
    """The columns that --columns names, as `chosen_columns` says. Raises typer.BadParameter."""
    try:
        return chosen_columns(wanted, usual, known, paths=paths)
    except MsmqWireError as error:
        raise typer.BadParameter(str(error), param_hint="--columns") from None


def columns_left_out(redacted: Collection[str]) -> frozenset[str]:
    """The columns that show nothing: a redacted body is no text, and no signature fits a redacted message."""
    reported = {"body"} if "bodies" in redacted else set[str]()
    if redacted:
        reported.add("secret")
    return frozenset(one.name for one in COLUMNS if one.tells in reported)


def print_hidden_columns(names: Sequence[str], *, cramped: bool) -> None:
    """Say below a table which columns its terminal has no room for, and how to get them, or all of a cell."""
    if names:
        print_note(f"hidden columns: {', '.join(names)} (show with --columns +{names[0]})")
    elif cramped:
        print_note("cells are cut: use fewer --columns, a wider terminal or a pipe")
