"""``--columns``: which columns a table, CSV or JSON lines have."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from msmq_wire.cli.completion import column_names
from msmq_wire.cli.reporting import tell

__all__ = ["Columns", "columns_for", "tell_left_out"]

_LONGEST = 100

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Show these columns, as in time,src,queue; +via,-id changes what is shown; all shows all.",
        autocompletion=column_names,
        show_default=False,
    ),
]


def columns_for(
    wanted: str | None,
    usual: Sequence[str],
    known: Mapping[str, str],
    is_path: Callable[[str], bool] = lambda name: False,
) -> tuple[str, ...] | None:
    """The columns that ``wanted`` names, None where nothing is wanted. Raises typer.BadParameter.

    ``usual`` are those that ``+`` and ``-`` change. ``known`` has the names of all columns, and whatever else
    they are called, each with its column; what else is a column says ``is_path``.
    """
    if wanted is None:
        return None
    words = [word.strip() for word in wanted.split(",") if word.strip()]
    changes = bool(words) and all(word[0] in "+-" for word in words)
    found = dict.fromkeys(usual if changes else ())
    for word in words:
        name = word.lstrip("+-")
        if name == "all":
            names = list(dict.fromkeys(known.values()))
        elif name in known or is_path(name):
            names = [known.get(name, name)]
        else:
            raise typer.BadParameter(_unknown(name, known), param_hint="--columns")
        for one in names:
            if word[0] == "-":
                found.pop(one, None)
            else:
                found[one] = None
    if not found:
        raise typer.BadParameter("no column is left", param_hint="--columns")
    return tuple(found)


def _unknown(name: str, known: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name[:_LONGEST].lower(), known, n=1)
    hint = f"; the nearest is {near[0]}" if near else ""
    return (
        f"no column is called {name!r}{hint}; there are {', '.join(dict.fromkeys(known.values()))}, and all"
    )


def tell_left_out(names: Sequence[str]) -> None:
    """Say below a table which columns its terminal has no room for, and how to get them."""
    if names:
        tell(
            f"not shown, for want of room: {', '.join(names)}; --columns +{names[0]}, a wider terminal or a "
            "pipe shows more"
        )
