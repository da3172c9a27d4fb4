"""``msmq-wire encode``: the JSON of a packet, edited or not, back to bytes."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from msmq_wire.cli.options import Force, check_output
from msmq_wire.cli.packet_input import input_name, read_input
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.errors import EncodeError, MsmqWireError
from msmq_wire.output import whole_file
from msmq_wire.records.packet_document import PacketDocument, read_document

_LINE = 16


def encode_(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="The JSON; - is standard input.", show_default=False)
    ],
    fit: Annotated[
        bool, typer.Option("--fit", help="Make sizes, counts, padding and presence bits right.")
    ] = False,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write; - is standard output.",
            show_default=True,
        ),
    ] = "-",
    force: Force = False,
) -> None:
    """Write the bytes of a packet from its JSON.

    FILE holds what packet --format json prints, edited or not. Values are written as they are, whether or not
    they make sense. With --fit, what follows from the parts is made right: change a label and its length
    follows, set a header to null and the bit that announces it is cleared.

    The bytes go to a file or a pipe as they are, and to a terminal as hex text.

    Exit status: 0 done; 1 FILE cannot be read or holds no such JSON, or its values contradict each other; 2
    bad usage, or the file to write is there.

    Examples:

        msmq-wire packet message.bin --format json > message.json

        msmq-wire encode message.json --fit -o edited.bin

        msmq-wire encode message.json | msmq-wire packet -
    """
    if output != "-":
        if os.path.exists(output) and os.path.exists(file) and os.path.samefile(output, file):
            raise typer.BadParameter(f"{output} is what is read", param_hint="--output")
        check_output(output, "--output", force=force)
    try:
        text = read_input(file)
        document, data = _encoded(text, fit=fit)
    except MsmqWireError as error:
        print_error(f"{input_name(file)}: {error}")
        raise typer.Exit(1) from None
    for path in document.overridden:
        print_note(f"note: {path} is not written, {path}_raw wins: remove that to write the text")
    if output == "-":
        _print(data)
        return
    try:
        with whole_file(output, force=force) as written:
            written.write(data)
    except OSError as error:
        print_error(f"cannot write {output}: {error.strerror or error}")
        raise typer.Exit(1) from None


def _encoded(text: bytes, *, fit: bool) -> tuple[PacketDocument, bytes]:
    try:
        return _once(text, fit=fit)
    except EncodeError as error:
        if fit:
            raise
        try:
            _once(text, fit=True)
        except EncodeError:
            raise error from None
        raise MsmqWireError(f"{error}: add --fit to make sizes, counts and bits right") from None


def _once(text: bytes, *, fit: bool) -> tuple[PacketDocument, bytes]:
    document = read_document(text, fitted=fit)
    return document, document.data()


def _print(data: bytes) -> None:
    if sys.stdout.isatty():
        lines = (data[at : at + _LINE].hex(" ") for at in range(0, len(data), _LINE))
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    else:
        sys.stdout.buffer.write(data)
    sys.stdout.flush()
