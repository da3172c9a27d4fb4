"""Every command of the program, by walking it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from msmq_wire.cli.program import ListedCommand, program


@cache
def commands() -> dict[str, ListedCommand]:
    """Every command, by its name behind that of its group."""
    return dict(_commands(program()))


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, ListedCommand]]:
    for word, command in group.commands.items():
        name = f"{before} {word}".strip()
        if isinstance(command, ListedCommand):
            yield name, command
        else:
            yield from _commands(command, name)


def having(option: str) -> list[str]:
    """The commands that have an option."""
    return [name for name, one in commands().items() if any(option in each.opts for each in one.whole.params)]


def formats(command: str) -> list[str]:
    """The formats of a command, none where it has no such option."""
    params: list[Any] = commands()[command].whole.params
    return [str(one) for each in params if "--format" in each.opts for one in each.type_descriptor.annotation]
