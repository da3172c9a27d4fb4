"""``msmq-wire demo``: diagnoses or saves the built-in capture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC
from importlib.resources import as_file
from typing import Annotated

import typer

from msmq_wire.api.diagnosis import diagnosed
from msmq_wire.capture.reader import read_capture
from msmq_wire.cli.built_in import demo_capture
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.options import (
    Color,
    ColorOption,
    Force,
    Quiet,
    check_output,
    redactor_for,
    screen_for,
    tree_options,
)
from msmq_wire.cli.render.answer_text import AnswerText
from msmq_wire.cli.render.outline import print_outline
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.table import table_of
from msmq_wire.cli.reporting import PROGRAM, print_error, print_note
from msmq_wire.output import whole_file
from msmq_wire.records.message import COLUMNS, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.row_values import RowValues

_FILE = "demo.pcap"
_COLUMNS = ("id", "time", "src", "queue", "label", "message_class")
_ROWS = 4
_BEFORE = 2
"""How many of these come before the message that the first cause is about."""


def demo(
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Write the capture to FILE instead, so that other commands can read it.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    color: ColorOption = Color.AUTO,
    quiet: Quiet = False,
) -> None:
    """Show a built-in capture with a fault and an attack.

    It shows what diagnose says of the capture, six of its messages and one packet. The names and addresses
    in it are made up.

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
            print_note(f"written to {save}. Next: {PROGRAM} {save}")
        return
    if force:
        raise typer.BadParameter("--force changes nothing without --save")
    screen = screen_for(color)
    with as_file(demo_capture()) as path:
        found = diagnosed(CaptureSet([os.fspath(path)], streams=True, quiet=True), redactor_for(None), UTC)
        records = list(read_capture(os.fspath(path)))
    assert found.digest is not None
    AnswerText(screen).digest(found.digest)
    frames = set(found.digest.lines[0].frames)
    messages = [record for record in records if message_of(record) is not None]
    about = next(at for at, record in enumerate(messages) if frames & set(record.frames))
    first = max(0, about - _BEFORE)
    _rows(screen, messages[first : first + _ROWS], len(messages))
    screen.line(())
    print_outline(screen, messages[about], tree_options(False, None, UTC))
    _next(screen)


def _rows(screen: Screen, messages: Sequence[Record], count: int) -> None:
    screen.line(())
    screen.line([("Messages and acknowledgments", "title"), (f", {len(messages)} of {count}", "dim")])
    table = table_of(COLUMNS, screen, UTC, _COLUMNS)
    for record in messages:
        message = message_of(record)
        assert message is not None
        table.add(RowValues(record, message))
    table.finish()


def _next(screen: Screen) -> None:
    """The next two commands."""
    first, second = f"{PROGRAM} demo --save {_FILE}", f"{PROGRAM} {_FILE} -v"
    screen.line(())
    screen.line([("Next: ", "dim"), (first, "name"), (", then ", "dim"), (second, "name")])


def _write(path: str, *, force: bool) -> None:
    try:
        with whole_file(path, force=force) as file:
            file.write(demo_capture().read_bytes())
    except BrokenPipeError:
        raise
    except OSError as error:
        print_error(f"cannot write {path}: {error.strerror or error}")
        raise typer.Exit(1) from None
