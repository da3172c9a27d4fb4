"""The typer application: which commands there are, and the options of the program itself."""

from __future__ import annotations

import functools
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_command

from msmq_wire.cli.commands.calls import calls
from msmq_wire.cli.commands.compare_recording import compare_recording
from msmq_wire.cli.commands.decode import decode
from msmq_wire.cli.commands.diagnose import diagnose
from msmq_wire.cli.commands.explain import explain
from msmq_wire.cli.commands.export import export
from msmq_wire.cli.commands.findings import findings
from msmq_wire.cli.commands.lab import lab_commands
from msmq_wire.cli.commands.messages import messages
from msmq_wire.cli.commands.packet import packet
from msmq_wire.cli.commands.replay import replay
from msmq_wire.cli.commands.report import report
from msmq_wire.cli.commands.route import route
from msmq_wire.cli.commands.route_audit import route_audit
from msmq_wire.cli.commands.spark import spark_commands
from msmq_wire.cli.commands.timeline import timeline
from msmq_wire.cli.commands.wireshark import wireshark
from msmq_wire.cli.reporting import PROGRAM, version_text
from msmq_wire.engines.codec import default_engine

__all__ = ["build", "program"]


@functools.cache
def program() -> TyperGroup:
    """The application as it is run; made once, since that takes longer than most of its runs."""
    made = get_command(build())
    assert isinstance(made, TyperGroup)
    return made


def build() -> typer.Typer:
    """The application with all its commands, in the order of the help."""
    app = typer.Typer(
        name=PROGRAM,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_program)
    for command in (
        packet,
        decode,
        messages,
        calls,
        diagnose,
        timeline,
        findings,
        explain,
        report,
        export,
        replay,
        compare_recording,
        route,
        route_audit,
        wireshark,
    ):
        app.command(command.__name__.replace("_", "-"))(command)
    app.add_typer(spark_commands())
    app.add_typer(lab_commands())
    return app


def _show_version(value: bool) -> None:
    if value:
        typer.echo(version_text())
        raise typer.Exit


def _program(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Read Microsoft Message Queuing (MSMQ) traffic: single packets, captures, messages, remote read calls.

    Start with: msmq-wire messages FILE to see what was sent, msmq-wire calls FILE to see who read it,
    msmq-wire decode FILE to see all of it, msmq-wire findings FILE to see what is odd.
    """
    try:
        default_engine()
    except ValueError as error:
        raise typer.BadParameter(f"MSMQ_WIRE_ENGINE: {error}") from None
