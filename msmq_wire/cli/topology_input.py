"""The topology that a command is given: read, checked, its notes told.

The rule kept here: whatever is wrong with it is one line on standard error and status 1.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from msmq_wire.cli.reporting import is_hiding, print_error, print_note
from msmq_wire.errors import TopologyError
from msmq_wire.routing.topology import Topology
from msmq_wire.routing.topology_file import parse_topology

MAX_TOPOLOGY = 1 << 29
"""Bytes of a topology read at most: fifty thousand queue managers in LDIF are some hundred million."""
_MOST_NOTES = 6

TopologyFile = Annotated[
    str,
    typer.Option(
        "--topology",
        metavar="T",
        help="The enterprise: TOML, JSON or an LDIF export of the directory; - is standard input.",
        show_default=False,
    ),
]


def read_topology(file: str, *, quiet: bool = False) -> Topology:
    """The topology of a file; its notes go to standard error unless ``quiet``.

    Raises typer.Exit(1) after one line where it cannot be read or contradicts itself, and where what routing
    needs is not installed.
    """
    if find_spec("networkx") is None:
        print_error('routing needs networkx: pip install "msmq-wire[routing]"')
        raise typer.Exit(1)
    name = topology_name(file)
    try:
        topology = parse_topology(_read(file))
    except TopologyError as error:
        print_error(f"{name}: {'what is wrong may name hosts and is not shown' if is_hiding() else error}")
        raise typer.Exit(1) from None
    if not quiet:
        for note in topology.notes[:_MOST_NOTES]:
            print_note(f"{name}: {note}")
        if len(topology.notes) > _MOST_NOTES:
            print_note(f"{name}: and {len(topology.notes) - _MOST_NOTES} more")
    return topology


def topology_name(file: str) -> str:
    """What a topology is called in messages."""
    return "standard input" if file == "-" else file


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_TOPOLOGY + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(MAX_TOPOLOGY + 1)
    except (OSError, ValueError) as error:
        # A name that no file can have is a ValueError.
        raise TopologyError(f"cannot read it: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_TOPOLOGY:
        raise TopologyError(f"it is larger than {MAX_TOPOLOGY >> 20} MiB")
    return data
