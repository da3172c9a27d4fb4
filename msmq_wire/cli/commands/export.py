"""``msmq-wire export``: the frames that carry what matches, as a capture of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated

import typer

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.cli.options import CaptureFiles, Filters, Ids, Ports, Quiet, filter_for
from msmq_wire.cli.reading import Reading, Selection
from msmq_wire.cli.render.values import count_text
from msmq_wire.cli.reporting import complain
from msmq_wire.errors import CaptureError

__all__ = ["export"]


def export(
    files: CaptureFiles,
    to: Annotated[
        str, typer.Option("--to", metavar="OUT.pcap", help="The capture to write.", show_default=False)
    ],
    filters: Filters = None,
    ids: Ids = None,
    ports: Ports = None,
    quiet: Quiet = False,
) -> None:
    """Write the frames that carry matching items to a capture.

    The FILEs are read twice, so standard input cannot be one of them. The frames keep their order, bytes and
    times. Items that came in more than one frame bring all of their frames. Filters: see decode --help.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, or OUT.pcap cannot
    be written; 2 bad usage.

    Examples:

        msmq-wire export big.pcapng --to orders.pcap --filter 'queue ~ orders'

        msmq-wire export big.pcapng --to one.pcap --id 17
    """
    if "-" in files:
        raise typer.BadParameter("standard input cannot be read twice: give a file", param_hint="FILE")
    for file in files:
        if _same_file(file, to):
            raise typer.BadParameter(f"{to} is what is read", param_hint="--to")
    selection = Selection(filter_for(filters, None), frozenset(ids or ()))
    reading = Reading(files, ports=ports or (), quiet=quiet)
    wanted: dict[str, set[int]] = {}
    items = 0
    for record in reading:
        if record.frames and record in selection:
            items += 1
            wanted.setdefault(record.capture, set()).update(record.frames)
    try:
        written = write_pcap(to, _frames(files, wanted))
    except CaptureError as error:
        complain(f"{to}: {error.message}")
        raise typer.Exit(1) from None
    frames = f"{count_text(written.frames, 'frame')} of {count_text(items, 'item')} written to {to}"
    reading.tell_summary(f"{frames} ({written.format})")
    raise typer.Exit(reading.status)


def _frames(files: list[str], wanted: dict[str, set[int]]) -> Iterator[Frame]:
    for file in dict.fromkeys(files):
        numbers = wanted.get(file, set())
        last = max(numbers, default=0)
        if not numbers:
            continue
        for frame in read_frames(file):
            if frame.number in numbers:
                yield frame
            if frame.number >= last:
                break


def _same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return os.path.abspath(path) == os.path.abspath(other)
