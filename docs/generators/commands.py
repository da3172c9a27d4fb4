"""The command reference: what ``--help`` prints."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator

from docs.generators.markers import code, table
from msmq_wire.cli.app import main
from msmq_wire.cli.program import COMMANDS, GROUPS
from msmq_wire.spark.queries import QUERIES

__all__ = ["blocks", "names"]

_WIDTH = "100"
_PLAIN = {"COLUMNS": _WIDTH, "LINES": "40", "NO_COLOR": "1", "TERM": "dumb"}


def names() -> list[tuple[str, ...]]:
    """The commands in the order of the help, those of a group by its name and theirs."""
    found = [tuple(path.split()) for path in COMMANDS]
    alone = [name for name in found if len(name) == 1]
    return alone + [
        name for group in GROUPS for name in ((group,), *(one for one in found if one[0] == group))
    ]


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _help(*command: str) -> str:
    output = io.StringIO()
    with _environment(_PLAIN), contextlib.redirect_stdout(output):
        status = main([*command, "--help"])
    if status != 0 or not output.getvalue():
        raise RuntimeError(f"{' '.join(command)} --help ended with status {status}")
    lines = (line.rstrip() for line in output.getvalue().strip().splitlines())
    return "\n".join(("```text", *lines, "```"))


def blocks() -> dict[str, str]:
    """The help of the program and of every command, by name, and the queries that have one."""
    queries = table(("Query", "What it tells"), [(code(one.name), one.meaning) for one in QUERIES.values()])
    helps = {"-".join(name): _help(*name) for name in names()}
    return {"program": _help(), **helps, "spark-queries": queries}
