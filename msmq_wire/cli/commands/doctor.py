"""``msmq-wire doctor``: checks what is installed and what works, and says how to repair the rest."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from msmq_wire.cli.health import Health, health
from msmq_wire.cli.options import Color, ColorOption, screen_for
from msmq_wire.cli.render.screen import Screen, fold

_STYLES = {"works": "note", "absent": "dim", "problem": "error"}
_PIPE = 200


class HealthFormat(StrEnum):
    """How it is told."""

    TEXT = "text"
    JSON = "json"


def doctor(
    format_: Annotated[HealthFormat, typer.Option("--format", help="How to print it.")] = HealthFormat.TEXT,
    color: ColorOption = Color.AUTO,
) -> None:
    """Check what is installed and what works.

    It looks at extras, tshark and its Lua, the dissector and Java. Each line says whether something works, is
    absent (and how to get it), or is there and broken. Each extra is tried in a process of its own, which
    takes a second or two. Nothing is changed, no network is asked.

    Exit status: 0 nothing that is there is broken; 1 something is; 2 bad usage.

    Examples:

        msmq-wire doctor

        msmq-wire doctor --format json
    """
    found = health()
    if format_ is HealthFormat.JSON:
        typer.echo(found.as_json())
    else:
        _print(found, screen_for(color))
    raise typer.Exit(0 if found.works else 1)


def _print(found: Health, screen: Screen) -> None:
    screen.line([(screen.safe(found.headline), "strong")])
    names = max(len(check.name) for check in found.checks)
    indent = 11 + names
    for check in found.checks:
        head = [(f"{check.state:<7}  ", _STYLES[check.state]), (f"{check.name:<{names}}  ", "")]
        for text in fold(screen.safe(check.said), (screen.width or _PIPE) - indent):
            screen.line([*head, (text, "")])
            head = [(" " * indent, "")]
