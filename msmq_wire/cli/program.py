"""The typer application: which commands there are, and the options of the program itself.

The rule kept here: a command is known by its line of the table; its module is imported when it is run, or
when its own help is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from msmq_wire.cli.plain_values import PlainCommand, PlainGroup
from msmq_wire.cli.reporting import PROGRAM, version_text
from msmq_wire.engines.codec import default_engine

__all__ = ["COMMANDS", "GROUPS", "ListedCommand", "program"]

_BAD_USAGE = 2

GROUPS: Final[Mapping[str, str]] = {
    "suricata": "Rules for Suricata, the intrusion detection system, made from the rules of findings.",
    "spark": "Fill tables with many captures, on this machine or a cluster, and ask them in SQL.",
    "lab": "Serve queues on this machine, and send to and read from them; not a production queue manager.",
}
"""Groups of commands by name, with what the help says of them; they come after the commands of no group."""

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "demo": (
        "demo:demo",
        "Show the capture that comes with the program: 25 frames in which three messages are sent.",
    ),
    "packet": ("packet:packet", "Decode one packet."),
    "decode": (
        "decode:decode",
        "Show every MSMQ packet and every remote read call of captures, in order of completion.",
    ),
    "messages": (
        "messages:messages",
        "List the messages in captures, those that remote read calls brought among them.",
    ),
    "calls": (
        "calls:calls",
        "List the remote read calls in captures: who read which queue, and what came of it.",
    ),
    "diagnose": (
        "diagnose:diagnose",
        "Say what is wrong in captures, and answer eighteen questions, with the frames that show it.",
    ),
    "timeline": (
        "timeline:timeline",
        "Tell one message or one session step by step, with times, frames and who sent what.",
    ),
    "findings": (
        "findings:findings",
        "Say what is odd in captures: broken rules, attack shapes, known scanners, lost messages.",
    ),
    "explain": (
        "explain:explain",
        "Explain rules of msmq-wire findings: what they look for, what it means, what to do.",
    ),
    "report": (
        "report:report",
        "Write a report about captures: one HTML page that loads nothing from a network.",
    ),
    "export": ("export:export", "Write the frames that carry matching items to a capture."),
    "carve": (
        "carve:carve",
        "Say which messages lie in storage files, memory dumps and disk images, and list them.",
    ),
    "filter": ("filter:filter_", "Check an expression for --filter, and say what it means."),
    "replay": (
        "replay:replay",
        "Say which replies and packets of a queue manager break the rules of its protocols.",
    ),
    "compare-recording": (
        "compare_recording:compare_recording",
        "Compare what was recorded of a scenario with what was captured of it.",
    ),
    "topology": (
        "topology:topology",
        "Write the enterprise that the calls of the directory in captures tell of, as a topology.",
    ),
    "route": ("route:route", "Show which way a message goes from one queue manager to another."),
    "route-audit": (
        "route_audit:route_audit",
        "Say which messages went another way than the topology allows.",
    ),
    "wireshark": (
        "wireshark:wireshark",
        "Put the MSMQ dissector into Wireshark: install it, print its path, or check what is installed.",
    ),
    "doctor": (
        "doctor:doctor",
        "Say what is installed and what works: extras, tshark with its Lua, the dissector, Java.",
    ),
    "suricata rules": (
        "suricata_rules:rules",
        "Write the rules of findings that one packet decides as a rule file for Suricata.",
    ),
    "spark run": ("spark_run:run", "Decode captures into Parquet tables, every capture once."),
    "spark sql": ("spark_sql:sql", "Ask the tables in SQL."),
    "spark status": (
        "spark_status:status",
        "Say what tables hold: captures, rows, files and bytes, how they were read, and the latest runs.",
    ),
    "spark forget": (
        "spark_forget:forget",
        "Take captures out of all tables: their rows, and that their files were ever seen.",
    ),
    "spark compact": (
        "spark_compact:compact",
        "Put small files of all tables together, so that queries and runs have fewer to open.",
    ),
    "spark vacuum": (
        "spark_vacuum:vacuum",
        "Delete files that are in no table: those that were replaced, and what runs left that were ended.",
    ),
    "spark export": (
        "spark_export:export",
        "Copy the tables as they are now to plain Parquet, for what reads files and knows no log.",
    ),
    "spark package": (
        "spark_package:package",
        "Write what spark-submit needs: this package as msmq_wire.zip, and msmq_wire_job.py, which runs it.",
    ),
    "lab serve": (
        "lab_serve:serve",
        "Serve queues with the binary protocol, remote read over DCE/RPC and SRMP, until Ctrl+C or SIGTERM.",
    ),
    "lab send": (
        "lab_send:send",
        "Send messages to a queue, and wait until all of them are acknowledged.",
    ),
    "lab receive": (
        "lab_read:receive",
        "Take messages off a queue, in two phases: started, then ended with an acknowledgment.",
    ),
    "lab peek": (
        "lab_read:peek",
        "Show messages of a queue and leave them there; with qm2qm the first one only.",
    ),
    "lab purge": ("lab_read:purge", "Remove all messages of a queue."),
    "lab move": (
        "lab_read:move",
        "Move the first messages of a queue, or one of them, into its subqueue or back.",
    ),
    "lab queues": (
        "lab_mgmt:queues",
        "List the private queues of a computer and the active ones, how many messages each has and their "
        "bytes.",
    ),
    "lab mgmt": (
        "lab_mgmt:mgmt",
        "Ask a queue manager for all that management tells of it or of a queue, or have it act.",
    ),
    "lab record": (
        "lab_record:record_scenario",
        "Run a scenario on two queue managers of the lab, and record it as on Windows.",
    ),
}
"""By name, in their order: where it is (module of `commands`, function), the first sentence of its help."""


class ListedCommand(TyperCommand):
    """A command by its line of the table."""

    def __init__(self, name: str, place: str, line: str) -> None:
        super().__init__(name, help=line, rich_markup_mode=None)
        self._place = place

    @functools.cached_property
    def whole(self) -> TyperCommand:
        """The command itself; this imports its module."""
        name, _, function = self._place.partition(":")
        module = import_module(f"msmq_wire.cli.commands.{name}")
        app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
        app.command(self.name, cls=PlainCommand)(getattr(module, function))
        made = get_command(app)
        assert isinstance(made, TyperCommand)
        return made

    def get_short_help_str(self, limit: int = 0) -> str:
        """Its line, which is wrapped where it is too long and never cut."""
        return self.help or ""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """A context of the command itself: what follows, its help and what completes it, too, asks that."""
        return self.whole.make_context(info_name, args, parent, **extra)


class ListedGroup(PlainGroup):
    """A group by its line of the table."""

    def get_short_help_str(self, limit: int = 0) -> str:
        """Its line, as that of a command."""
        return self.help or ""


@functools.cache
def program() -> TyperGroup:
    """The application with all its commands, in the order of the help."""
    app = typer.Typer(
        name=PROGRAM,
        cls=PlainGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_program)
    made = _group(app)
    groups = {
        name: _group(
            typer.Typer(
                name=name,
                cls=ListedGroup,
                help=line,
                rich_markup_mode=None,
                add_completion=False,
                invoke_without_command=True,
                callback=_only_help,
            )
        )
        for name, line in GROUPS.items()
    }
    for path, (place, line) in COMMANDS.items():
        group, _, name = path.rpartition(" ")
        (groups[group] if group else made).add_command(ListedCommand(name, place, line))
    for group_of_commands in groups.values():
        made.add_command(group_of_commands)
    return made


def _group(app: typer.Typer) -> TyperGroup:
    made = get_command(app)
    assert isinstance(made, TyperGroup)
    return made


def _only_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(_BAD_USAGE)


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

    Start with: msmq-wire demo to see an example, msmq-wire messages FILE to see what was sent, msmq-wire
    calls FILE to see who read it, msmq-wire decode FILE to see all of it, msmq-wire findings FILE to see what
    is odd.
    """
    try:
        default_engine()
    except ValueError as error:
        raise typer.BadParameter(f"MSMQ_WIRE_ENGINE: {error}") from None
