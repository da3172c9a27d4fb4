"""``--columns``: which columns a table, CSV or JSON lines have, and what stands in them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Annotated, Any, Protocol

import typer

from msmq_wire.cli.completion import column_names
from msmq_wire.cli.reporting import print_note
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.record import Record

_LONGEST = 100
_NEAREST = 3

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


class RecordSource(Protocol):
    """What is told of a record: a message, a call, or the record itself."""

    def __contains__(self, name: object, /) -> bool:
        """Whether it has a column."""

    def __getitem__(self, name: str, /) -> Any:
        """The value of a column."""

    def json(self, name: str, /) -> Any:
        """The value of a column as JSON."""


class RowValues:
    """The values of a row by the names of its columns: what is told of a record, and fields of its packet.

    What is ``hidden`` is None.
    """

    def __init__(self, record: Record, *reported: RecordSource, hidden: Collection[str] = ()) -> None:
        self._record = record
        self._reported = reported
        self._hidden = hidden

    def __getitem__(self, name: str) -> Any:
        """The value of a column, None without one; a list where a path leads to several."""
        if name in self._hidden:
            return None
        for reported in self._reported:
            if name in reported:
                return reported[name]
        return self._at(name)

    def get(self, name: str) -> Any:
        """The same as JSON."""
        if name in self._hidden:
            return None
        for reported in self._reported:
            if name in reported:
                return reported.json(name)
        return self._at(name)

    def _at(self, name: str) -> Any:
        from msmq_wire.records.filter.record_names import values_at

        found = values_at(self._subject, name)
        return None if not found else found[0] if len(found) == 1 else list(found)

    @cached_property
    def _subject(self) -> Subject:
        return Subject(self._record)


def columns_for(
    wanted: str | None, usual: Sequence[str], known: Mapping[str, str], *, paths: bool = True
) -> tuple[str, ...] | None:
    """The columns that ``wanted`` names, None where nothing is wanted. Raises typer.BadParameter.

    ``usual`` are those that ``+`` and ``-`` change. ``known`` has the names of all columns, and whatever else
    they are called, each with its column; with ``paths`` the fields of packets are columns too.
    """
    if wanted is None:
        return None
    words = [word.strip() for word in wanted.split(",") if word.strip()]
    changes = bool(words) and all(word[0] in "+-" for word in words)
    found = dict.fromkeys(usual if changes else ())
    for word in words:
        name = word.lstrip("+-")
        if name == "all":
            names = [one for one in dict.fromkeys(known.values()) if one not in _without_extra()]
        elif name in known:
            names = [known[name]]
        elif paths and _is_path(name.removeprefix("packet.")):
            names = [name.removeprefix("packet.")]
        else:
            raise typer.BadParameter(_unknown(name, known, paths=paths), param_hint="--columns")
        for one in names:
            if word[0] == "-":
                found.pop(one, None)
            else:
                found[one] = None
    if not found:
        raise typer.BadParameter("no column is left", param_hint="--columns")
    return tuple(found)


def columns_left_out(redacted: Collection[str]) -> frozenset[str]:
    """The columns that show nothing: a redacted body is no text, and no signature fits a redacted message."""
    reported = {"body"} if "bodies" in redacted else set[str]()
    if redacted:
        reported.add("secret")
    return frozenset(one.name for one in COLUMNS if one.tells in reported)


@cache
def _without_extra() -> frozenset[str]:
    """The columns that ask for an extra which is not installed: by name they are refused, in all left out."""
    return frozenset(one.name for one in COLUMNS if any(find_spec(module) is None for module in one.needs))


def _is_path(name: str) -> bool:
    # What a filter knows of packets is much to load, and most columns are no paths.
    from msmq_wire.records.filter.record_names import is_path

    return is_path(name)


def _nearest_paths(name: str) -> list[str]:
    from msmq_wire.records.filter.paths import paths

    return difflib.get_close_matches(name, paths(), _NEAREST)


def _unknown(name: str, known: Mapping[str, str], *, paths: bool) -> str:
    """What is said of a name that is no column: those that look like it, else all columns."""
    wanted = name[:_LONGEST].lower()
    near = difflib.get_close_matches(wanted, known, n=1)
    if paths and not near:
        # A message has a label; a call has none, though there is the name.
        near = [one for one in _nearest_paths(wanted.removeprefix("packet.")) if one != name]
    text = f"no column is called {name[:_LONGEST]!r}"
    if near:
        return f"{text}. Did you mean {' or '.join(map(repr, near))}?"
    if "." in name:
        return text
    there = f"{text}; there are {', '.join(dict.fromkeys(known.values()))}, and all"
    return f"{there}; so are paths of packets" if paths else there


def print_hidden_columns(names: Sequence[str], *, cramped: bool) -> None:
    """Say below a table which columns its terminal has no room for, and how to get them, or all of a cell."""
    if names:
        print_note(f"hidden columns: {', '.join(names)} (show with --columns +{names[0]})")
    elif cramped:
        print_note("cells are cut: use fewer --columns, a wider terminal or a pipe")
