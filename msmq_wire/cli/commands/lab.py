"""``msmq-wire lab``: a queue manager on loopback, and clients of it, for captures, tests and fuzzing."""

from __future__ import annotations

import typer

from msmq_wire.cli.commands.lab_read import move, peek, purge, queues, receive
from msmq_wire.cli.commands.lab_record import record_scenario
from msmq_wire.cli.commands.lab_send import send
from msmq_wire.cli.commands.lab_serve import serve

__all__ = ["lab_commands"]

_BAD_USAGE = 2


def lab_commands() -> typer.Typer:
    """The group of commands that open sockets."""
    group = typer.Typer(name="lab", rich_markup_mode=None, invoke_without_command=True, callback=_group)
    for command in (serve, send, receive, peek, purge, move, queues):
        group.command()(command)
    group.command("record")(record_scenario)
    return group


def _group(context: typer.Context) -> None:
    """Serve queues on this machine, and send to and read from them; not a production queue manager."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(_BAD_USAGE)
