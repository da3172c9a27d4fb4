"""Which columns are chosen: by their names, by ``+`` and ``-``, or all."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec

from msmq_wire.errors import ArgumentError
from msmq_wire.records.display import ColumnDeclaration
from msmq_wire.records.message import COLUMNS

_LONGEST = 100
_NEAREST = 3


def column_names(
    declared: Sequence[ColumnDeclaration], also: Mapping[str, str], *, bodies: bool = False
) -> dict[str, str]:
    """The names of columns, and what else they are called, each with its column.

    Of a body a table shows what it is and how it begins; elsewhere, without ``bodies``, it is its text.
    """
    known = {one.name: one.name for one in declared if bodies or one.kind != "body"}
    heads = {one.display.head: one.name for one in declared if one.display is not None and one.name in known}
    others = {"body": "body_text", **heads, **also}
    return known | {other: name for other, name in others.items() if other not in known and name in known}


def chosen_columns(
    wanted: str | None, usual: Sequence[str], known: Mapping[str, str], *, paths: bool = True
) -> tuple[str, ...] | None:
    """The columns that ``wanted`` names, None where nothing is wanted. Raises ArgumentError.

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
            raise ArgumentError(_unknown(name, known, paths=paths))
        for one in names:
            if word[0] == "-":
                found.pop(one, None)
            else:
                found[one] = None
    if not found:
        raise ArgumentError("no column is left")
    return tuple(found)


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
