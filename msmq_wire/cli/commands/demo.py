"""``msmq-wire demo``: the capture that comes with the program, shown or saved."""

from __future__ import annotations

import os
from datetime import UTC
from importlib.resources import as_file
from typing import Annotated

import typer

from msmq_wire.cli.built_in import demo_capture
from msmq_wire.cli.options import Color, ColorOption, Force, Quiet, check_output, screen_for, tree_options
from msmq_wire.cli.reading import Reading
from msmq_wire.cli.render.tree_writer import TreeWriter
from msmq_wire.cli.reporting import PROGRAM, complain, tell
from msmq_wire.output import whole_file
from msmq_wire.records.message import message_of

__all__ = ["demo"]


def demo(
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Write it to FILE instead, so that other commands can read it.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    color: ColorOption = Color.AUTO,
    quiet: Quiet = False,
) -> None:
    """Show the capture that comes with the program: 25 frames in which three messages are sent.

    It is shown as decode shows it. The names and addresses in it are made up.

    Exit status: 0 done; 1 FILE cannot be written; 2 bad usage, or FILE is there.

    Examples:

        msmq-wire demo

        msmq-wire demo --save demo.pcap

        msmq-wire messages demo.pcap
    """
    if save is not None:
        check_output(save, "--save", force=force)
        _write(save, force=force)
        if not quiet:
            tell(f"written to {save}: {PROGRAM} messages {save} lists the messages in it")
        return
    if force:
        raise typer.BadParameter("--force changes nothing without --save")
    writer = TreeWriter(screen_for(color), tree_options(False, None, UTC))
    with as_file(demo_capture()) as path:
        reading = Reading([os.fspath(path)], quiet=quiet, rows=True)
        for record in reading:
            message = message_of(record, acknowledgments=True)
            writer.record(record, "" if message is None else message["via"])
        reading.tell_summary(f"{PROGRAM} demo --save demo.pcap writes this capture to a file")
    raise typer.Exit(reading.status)


def _write(path: str, *, force: bool) -> None:
    try:
        with whole_file(path, force=force) as file:
            file.write(demo_capture().read_bytes())
    except BrokenPipeError:
        raise
    except OSError as error:
        complain(f"cannot write {path}: {error.strerror or error}")
        raise typer.Exit(1) from None
