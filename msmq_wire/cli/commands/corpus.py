"""``msmq-wire corpus``: writes bytes to try a parser with, and what they mean."""

from __future__ import annotations

import os
from typing import Annotated

import msgspec
import typer

from msmq_wire.cli.body_files import INDEX
from msmq_wire.cli.options import Force, Quiet, check_folder, check_output
from msmq_wire.cli.reporting import print_error
from msmq_wire.corpus import GROUPS, Sample, every_sample
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.output import make_folder, whole_file
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text


def corpus(
    folder: Annotated[
        str,
        typer.Argument(metavar="DIR", help="Where to write; made if it is not there.", show_default=False),
    ],
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help=f"Write one group ({', '.join(GROUPS)}) or one structure, as user_header.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write samples to test a parser with, and their meaning.

    Each sample is a file GROUP/NAME/KIND-NUMBER.bin. A valid one breaks no rule. A boundary one has a field
    at the end of its range, or one bit changed, and breaks no rule either. A broken one breaks a rule or
    cannot be decoded. index.jsonl has a line for each file: its change, and what a parser must make of it.

    The samples are derived from the declared structures. They are the same bytes at every run. All of them
    are about 18,700 files with 4 MB, and take 80 MB on a disk with blocks of 4 kB.

    Exit status: 0 done; 1 a file cannot be written; 2 bad usage, or DIR is not empty.

    Examples:

        msmq-wire corpus samples

        msmq-wire corpus samples --only packets

        msmq-wire corpus samples --only user_header --force
    """
    check_folder(folder, "DIR")
    check_output(os.path.join(folder, INDEX), "DIR", force=force)
    if not force and os.path.isdir(folder) and os.listdir(folder):
        raise typer.BadParameter(f"{folder} is not empty (--force writes into it)", param_hint="DIR")
    try:
        samples = list(every_sample(only))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--only") from None
    try:
        _write(folder, samples, force=force)
    except OSError as error:
        print_error(f"{error.filename or folder}: {error.strerror or error}")
        raise typer.Exit(1) from None
    if not quiet:
        size = sum(len(sample.data) for sample in samples)
        print(f"{count_text(len(samples), 'sample')}, {size_text(size)}, in {folder}, described in {INDEX}")


def _write(folder: str, samples: list[Sample], *, force: bool) -> None:
    """The files, and behind them the index: where it is, all of them are."""
    made: set[str] = set()
    for sample in samples:
        path = os.path.join(folder, *sample.file.split("/"))
        parent = os.path.dirname(path)
        if parent not in made:
            make_folder(parent)
            made.add(parent)
        with whole_file(path, force=force) as file:
            file.write(sample.data)
    with whole_file(os.path.join(folder, INDEX), force=force) as file:
        for sample in samples:
            file.write(f"{json_line(_line(sample))}\n".encode())


def _line(sample: Sample) -> dict[str, object]:
    line: dict[str, object] = {
        "file": sample.file,
        "group": sample.group,
        "name": sample.stem,
        "kind": sample.kind,
        "size": len(sample.data),
        **sample.parse_as,
    }
    if sample.changed is not None:
        line["changed"] = msgspec.to_builtins(sample.changed)
    return {**line, "expected": msgspec.to_builtins(sample.expected)}
