"""``msmq-wire export``: the frames that carry what matches, as a capture of their own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC
from typing import Annotated

import typer

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import Written, write_pcap
from msmq_wire.cli.frame_set import FrameSet
from msmq_wire.cli.options import CaptureFiles, Filters, Ids, Ports, Quiet, filter_for
from msmq_wire.cli.reading import Reading, Selection
from msmq_wire.cli.render.values import count_text
from msmq_wire.cli.reporting import complain
from msmq_wire.cli.secrets import Keytabs, NtHashes, NtPasswords, negotiator_for
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
    nt_passwords: NtPasswords = None,
    nt_hashes: NtHashes = None,
    keytabs: Keytabs = None,
    quiet: Quiet = False,
) -> None:
    """Write the frames that carry matching items to a capture.

    The FILEs are read twice, so standard input and pipes cannot be among them. The frames keep their order,
    bytes and times. Items that came in more than one frame bring all of their frames. OUT.pcap is replaced
    when all is written, and left alone when nothing matches. A key lets filters see into sealed calls; their
    frames are written as they are. Filters: see decode --help.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, nothing matched, or
    OUT.pcap cannot be written; 2 bad usage.

    Examples:

        msmq-wire export big.pcapng --to orders.pcap --filter 'queue ~ orders'

        msmq-wire export big.pcapng --to one.pcap --id 17
    """
    _check_paths(files, to)
    selection = Selection(filter_for(filters, UTC), frozenset(ids or ()))
    negotiator = negotiator_for(nt_passwords, nt_hashes, keytabs)
    reading = Reading(files, ports=ports or (), quiet=quiet, negotiator=negotiator)
    wanted: dict[str, FrameSet] = {}
    items = 0
    for record in reading:
        if record.frames and record in selection:
            items += 1
            wanted.setdefault(record.capture, FrameSet()).add(record.frames)
    if not wanted:
        if not reading.status:
            complain("nothing matches")
        reading.tell_summary(f"{to} is not written")
        raise typer.Exit(1)
    try:
        written = _replace(to, _frames(files, wanted))
    except CaptureError as error:
        complain(f"{to}: {error.message}")
        raise typer.Exit(1) from None
    frames = f"{count_text(written.frames, 'frame')} of {count_text(items, 'item')} written to {to}"
    reading.tell_summary(f"{frames} ({written.format})")
    raise typer.Exit(reading.status)


def _check_paths(files: list[str], to: str) -> None:
    """Refuse what cannot be read twice or replaced. Raises typer.BadParameter."""
    if "-" in files:
        raise typer.BadParameter("standard input cannot be read twice: give a file", param_hint="FILE")
    if to == "-":
        raise typer.BadParameter("a capture goes to a file, not to standard output", param_hint="--to")
    for file in files:
        if not _may_be_file(file):
            raise typer.BadParameter(f"{file} is no file that can be read twice", param_hint="FILE")
        if _same_file(file, to):
            raise typer.BadParameter(f"{to} is what is read", param_hint="--to")
    if not _may_be_file(to):
        raise typer.BadParameter(f"{to} is there and no file", param_hint="--to")


def _may_be_file(path: str) -> bool:
    """Whether a path is a regular file, or nothing yet; what cannot be known shows when it is opened."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return True


def _replace(path: str, frames: Iterator[Frame]) -> Written:
    """Write a capture beside a path and rename it: whatever fails, the file of that path stays as it was."""
    # A link stays a link.
    path = os.path.realpath(path)
    beside = os.path.join(os.path.dirname(path), f".msmq-wire-{secrets.token_hex(8)}.tmp")
    try:
        written = write_pcap(beside, frames)
        try:
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(path, beside)
            os.replace(beside, path)
        except OSError as error:
            raise CaptureError(f"cannot write the capture: {error.strerror or error}") from error
        return written
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def _frames(files: list[str], wanted: dict[str, FrameSet]) -> Iterator[Frame]:
    for file in dict.fromkeys(files):
        numbers = wanted.get(file)
        if numbers is None:
            continue
        for frame in read_frames(file):
            if frame.number in numbers:
                yield frame
            if frame.number >= numbers.last:
                break


def _same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return os.path.abspath(path) == os.path.abspath(other)
