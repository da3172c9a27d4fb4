"""The typer application: which commands there are, and the options of the program itself.

The rule kept here: a command is known by its line of the table; its module is imported when it is run, or
when its own help is asked for.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from msmq_wire.cli.plain_values import PlainCommand, PlainGroup
from msmq_wire.cli.reporting import PROGRAM, print_error, version_text

_BAD_USAGE = 2
_DEFAULT = "diagnose"

GROUPS: Final[Mapping[str, str]] = {
    "suricata": "Write detection rules for Suricata.",
    "lab": "Run a small queue manager for tests, and talk to it.",
    "spark": "Decode many captures into tables, and query them in SQL.",
}
"""Groups of commands by name, with what the help says of them."""

_SECTIONS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Answer": {
        "diagnose": ("diagnose:diagnose", "Say what is wrong in captures, and what to do about it."),
        "report": ("report:report", "Write a report about captures as one HTML page."),
        "why": ("why:why", "Say what became of a message, and why."),
        "timeline": (
            "timeline:timeline",
            "Show one message, session or whole capture, step by step.",
        ),
        "demo": ("demo:demo", "Show a built-in capture with a fault and an attack."),
    },
    "Look": {
        "messages": ("messages:messages", "List messages, including those returned by remote reads."),
        "calls": ("calls:calls", "List remote reads and other calls: who read which queue."),
        "decode": ("decode:decode", "Show packets and calls, a line for each or all fields."),
        "packet": ("packet:packet", "Decode the bytes of one packet."),
        "filter": ("filter:filter_", "Check a filter expression and explain it."),
    },
    "Judge": {
        "findings": ("findings:findings", "List broken rules, attacks, scanners and lost messages."),
        "explain": ("explain:explain", "Explain a finding: what it means and what to do."),
        "replay": ("replay:replay", "Check the replies of a queue manager against the rules."),
        "route": ("route:route", "Predict the path of a message between queue managers."),
        "route-audit": ("route_audit:route_audit", "Check whether messages took an allowed path."),
        "topology": ("topology:topology", "Write the sites and links that directory calls reveal."),
    },
    "Files": {
        "export": ("export:export", "Write the frames of matching items to a new capture."),
        "encode": ("encode:encode_", "Write the bytes of a packet from its JSON."),
        "carve": ("carve:carve", "Find messages in queue files, memory and disk images."),
    },
    "Other tools": {
        "wireshark": ("wireshark:wireshark", "Install or check the MSMQ dissector for Wireshark."),
        "suricata rules": ("suricata_rules:rules", "Write detection rules for Suricata."),
        "corpus": ("corpus:corpus", "Write samples to test a parser with, and their meaning."),
        "doctor": ("doctor:doctor", "Check what is installed and what works."),
    },
    "Lab": {
        "lab serve": ("lab_serve:serve", "Serve queues until Ctrl+C."),
        "lab send": ("lab_send:send", "Send messages to a queue and wait for acknowledgments."),
        "lab receive": ("lab_read:receive", "Take messages off a queue."),
        "lab peek": ("lab_read:peek", "Show messages of a queue and leave them there."),
        "lab purge": ("lab_read:purge", "Remove all messages of a queue."),
        "lab move": ("lab_read:move", "Move messages into a subqueue or back."),
        "lab queues": ("lab_mgmt:queues", "List the queues of a computer with their messages and bytes."),
        "lab mgmt": ("lab_mgmt:mgmt", "Ask a queue manager for management data, or have it act."),
        "lab record": (
            "lab_record:record_scenario",
            "Run a scenario on two lab queue managers and record it.",
        ),
        "compare-recording": (
            "compare_recording:compare_recording",
            "Compare a recorded scenario with its capture.",
        ),
    },
    "Spark": {
        "spark run": ("spark_run:run", "Decode captures into Parquet tables, every capture once."),
        "spark sql": ("spark_sql:sql", "Query the tables in SQL."),
        "spark status": ("spark_status:status", "Show what the tables hold and how the latest runs ended."),
        "spark forget": ("spark_forget:forget", "Remove captures from all tables."),
        "spark compact": ("spark_compact:compact", "Merge small files, and remove rows that do not count."),
        "spark vacuum": ("spark_vacuum:vacuum", "Delete files that no table uses any more."),
        "spark export": ("spark_export:export", "Copy the tables to plain Parquet files."),
        "spark package": ("spark_package:package", "Write the files that spark-submit needs."),
    },
}
"""The parts of the help with their commands, in order: where each is (module of `commands`, function), and
the first sentence of its help."""

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    name: command for part in _SECTIONS.values() for name, command in part.items()
}
"""The commands by name, in the order of the help."""

_LONGEST_NAME = max(len(name) for name in COMMANDS if " " not in name)


class ListedCommand(TyperCommand):
    """A command by its line of the table."""

    def __init__(self, name: str, place: str, line: str) -> None:
        super().__init__(name, help=line, rich_markup_mode=None)
        self._place = place

    @functools.cached_property
    def whole(self) -> TyperCommand:
        """The command itself; this imports its module."""
        name, _, function = self._place.partition(":")
        place = f"msmq_wire.cli.commands.{name}"
        try:
            module = import_module(place)
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
            print_error(f"this installation has no command {self.name}")
            raise typer.Exit(1) from None
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

    usages = ("COMMAND [OPTIONS]...",)

    def get_short_help_str(self, limit: int = 0) -> str:
        """Its line, as that of a command."""
        return self.help or ""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str()) for name, one in self.commands.items()])
        super().format_options(ctx, formatter)


class Program(PlainGroup):
    """The program: files without a command are diagnosed."""

    usages = ("FILE...", "COMMAND [OPTIONS]...")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take a command line; ``diagnose`` is the command where files stand alone."""
        if args[:1] == ["help"] or args[-1:] in (["/?"], ["-?"]):
            # What people type who know other programs.
            args = [one for one in args if one not in ("help", "/?", "-?")] + ["--help"]
        if self._names_files(args):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def _names_files(self, args: list[str]) -> bool:
        """Whether a command line has no command, but names a file first or anywhere one that is there."""
        first = args[0] if args else ""
        if not first or first in self.commands:
            return False
        if first.startswith("-") and first != "-":
            return any(map(os.path.exists, args)) and not any(one in self.commands for one in args)
        # A command has no dot in its name, and no separator.
        return first == "-" or os.path.exists(first) or bool(set(first) & set("./\\"))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by what they are for, then the options."""
        for title, part in _SECTIONS.items():
            names = dict.fromkeys(path.partition(" ")[0] for path in part)
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(_LONGEST_NAME), self.commands[name].get_short_help_str()) for name in names]
                )
        super().format_options(ctx, formatter)


@functools.cache
def program() -> TyperGroup:
    """The application with all its commands, in the order of the help."""
    app = typer.Typer(
        name=PROGRAM,
        cls=Program,
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
    """Read Microsoft Message Queuing (MSMQ) traffic in captures.

    Start with "msmq-wire FILE": it says what is wrong in a capture. "msmq-wire demo" shows an example.
    "msmq-wire COMMAND --help" explains a command.
    """
    # The help is shown without it.
    from msmq_wire.engines.codec import default_engine

    try:
        default_engine()
    except ValueError as error:
        raise typer.BadParameter(f"MSMQ_WIRE_ENGINE: {error}") from None
