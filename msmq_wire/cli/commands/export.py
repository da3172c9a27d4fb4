"""``msmq-wire export``: writes the frames of matching items to a new capture."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence, Set
from datetime import UTC
from typing import Annotated, BinaryIO, TypeAlias, cast

import typer

from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import IcmpUnreachable, UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.frame_set import FrameSet
from msmq_wire.cli.jobs import Jobs, in_parts
from msmq_wire.cli.options import (
    CapturesReadTwice,
    Filters,
    Force,
    Ids,
    check_output,
    filter_for,
    filters_by_outcome,
)
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.reporting import print_error
from msmq_wire.cli.selection import Selection
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.endpoint import endpoint
from msmq_wire.records.joined_capture import JoinedCapture, frames_by_file, located
from msmq_wire.records.record import Record
from msmq_wire.records.tree.value_text import count_text

_Ends: TypeAlias = frozenset[str]
"""The two ends of a connection."""


@with_reading_options(
    carves=True, follows=True, but=("queues", "redact", "utc", "local", "timezone", "color")
)
def export(
    files: CapturesReadTwice,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="OUT.pcap",
            help="The capture to write; - is standard output.",
            show_default=False,
        ),
    ],
    force: Force = False,
    filters: Filters = None,
    ids: Ids = None,
    connections: Annotated[
        bool,
        typer.Option(
            "--connections",
            help="Write whole connections: all frames between the ends of what matches, handshakes too.",
        ),
    ] = False,
    jobs: Jobs = 1,
    *,
    options: ReadingOptions,
) -> None:
    """Write the frames of matching items to a new capture.

    The FILEs are read twice, and once more for a filter by outcome. Standard input and pipes cannot be among
    them. The frames keep their order, bytes and times. Items that came in more than one frame bring all of
    their frames. Of captures that recorded the same traffic each frame is written once, with the addresses
    and by the clock of the first. With --force OUT.pcap is replaced when all is written, and left alone when
    nothing matches. Who wants to judge what is written needs --connections: without the frames between its
    items a session looks broken. A key lets filters see into sealed calls; their frames are written as they
    are. Filters: see filter --help.

    With --carve there are no frames: each find is written as a connection that never was, from 192.0.2.1 to
    192.0.2.2, at the beginning of 1970, so that other programs can show it.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, nothing matched, or
    OUT.pcap cannot be written; 2 bad usage, or OUT.pcap is there.

    Examples:

        msmq-wire export big.pcapng --to orders.pcap --filter "queue ~ orders"

        msmq-wire export big.pcapng --to refused.pcap --filter "outcome == refused" --connections

        msmq-wire export big.pcapng --to one.pcap --id 17

        msmq-wire export big.pcapng --to host.pcap --filter "host == 192.0.2.7" --connections
    """
    matches = filter_for(filters, UTC, outcomes=True)
    reading = options.reading(files, options.redactor(), streams=bool(ids) or connections, follows=True)
    if connections and reading.at_rest:
        raise typer.BadParameter("what lies at rest has no connections", param_hint="--connections")
    _check_paths(reading.files, to, force=force)
    outcomes = None
    if filters_by_outcome(filters, reading):
        # Loads all that follows sessions.
        from msmq_wire.api.outcomes import Outcomes

        outcomes = Outcomes(reading)
    outcome_of = None if outcomes is None else outcomes.of_record
    selection = Selection(matches, frozenset(ids or ()), outcome_of)
    if reading.at_rest:
        raise typer.Exit(_export_finds(reading, selection, to, force=force))

    def find() -> tuple[int, dict[str, FrameSet], set[_Ends]]:
        items, found, ends = 0, dict[str, FrameSet](), set[_Ends]()
        for record in reading:
            if record.frames and located(record) in selection:
                items += 1
                for file, frames in _frames_by_part(record).items():
                    found.setdefault(file, FrameSet()).add(frames)
                if connections and record.src and record.dst:
                    ends.add(frozenset((record.src, record.dst)))
        return items, found, ends

    items = 0
    wanted: dict[str, FrameSet] = {}
    between: set[_Ends] = set()
    for number, found, ends in in_parts(reading, jobs, find):
        items += number
        wanted |= found
        between |= ends
    if outcomes is not None:
        reading.tell_left_out(outcomes.left_out)
    if not wanted:
        if not reading.status:
            print_error("nothing matches")
        reading.print_summary(f"{_name(to)} is not written")
        raise typer.Exit(1)
    try:
        target = sys.stdout.buffer if to == "-" else to
        written = write_pcap(target, _frames(reading, wanted, between), force=force)
    except CaptureError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            raise error.__cause__ from None
        print_error(f"{_name(to)}: {error.message}")
        raise typer.Exit(1) from None
    frames = f"{count_text(written.frames, 'frame')} of {count_text(items, 'item')} written to {_name(to)}"
    reading.print_summary(f"{frames} ({written.format})")
    raise typer.Exit(reading.status)


def _export_finds(reading: CaptureSet, selection: Selection, to: str, *, force: bool) -> int:
    """Write what was found at rest as a capture of what nobody captured; the exit status."""
    if to == "-":
        raise typer.BadParameter("--carve writes a file: give its name", param_hint="--to")
    # Few need it.
    from msmq_wire.cli.carve_reading import CarveReading
    from msmq_wire.cli.found_capture import FoundCapture

    assert isinstance(reading, CarveReading)
    left_out = 0
    capture: FoundCapture | None = None
    try:
        with contextlib.ExitStack() as closing:
            for record in reading:
                if record.grade is None or record not in selection:
                    continue
                if capture is None:
                    capture = closing.enter_context(FoundCapture(to, force=force))
                left_out += not capture.write(record, reading.data)
    except CaptureError as error:
        print_error(f"{_name(to)}: {error.message}")
        return 1
    if capture is None:
        if not reading.status:
            print_error("nothing matches")
        reading.print_summary(f"{_name(to)} is not written")
        return 1
    more = (
        f"{count_text(capture.written, 'find')} written to {_name(to)}, each on a connection that never was"
    )
    if left_out:
        more += f"; {left_out} envelopes without the head of their request left out"
    reading.print_summary(more)
    return reading.status


def _check_paths(files: Sequence[str], to: str, *, force: bool) -> None:
    """Refuse what cannot be read twice or replaced. Raises typer.BadParameter."""
    if "-" in files:
        raise typer.BadParameter("standard input cannot be read twice: give a file", param_hint="FILE")
    if to == "-" and sys.stdout.isatty():
        raise typer.BadParameter("a capture is not for a terminal: give a file", param_hint="--to")
    for file in files:
        if not (_may_be_file(file) or os.path.isdir(file)):
            raise typer.BadParameter(f"{file} is no file that can be read twice", param_hint="FILE")
        if _same_file(file, to):
            raise typer.BadParameter(f"{to} is what is read", param_hint="--to")
    if to != "-":
        check_output(to, "--to", force=force)


def _may_be_file(path: str) -> bool:
    """Whether a path is a regular file, or nothing yet; what cannot be known shows when it is opened."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return True


def _name(to: str) -> str:
    return "standard output" if to == "-" else to


def _frames(reading: CaptureSet, wanted: dict[str, FrameSet], between: Set[_Ends]) -> Iterator[Frame]:
    """The frames that are wanted, and all others between the same ends."""
    done: set[str] = set()
    for files in reading.captures:
        merged = reading.merged(files)
        if merged is not None:
            with contextlib.closing(merged):
                # It has all that is asked of a binary file.
                frames = read_frames(cast("BinaryIO", merged))
                yield from _chosen(frames, wanted.get(merged.name), between)
            continue
        for file in files:
            if file not in done and (between or file in wanted):
                done.add(file)
                yield from _chosen(read_frames(file), wanted.get(file), between)


def _chosen(frames: Iterator[Frame], numbers: FrameSet | None, between: Set[_Ends]) -> Iterator[Frame]:
    """Those of the frames of a file."""
    if between:
        known = numbers or FrameSet()
        # What is wrong with the file was told by the first reading.
        with contextlib.suppress(CaptureError):
            for frame in frames:
                if frame.number in known or not _ends(frame).isdisjoint(between):
                    yield frame
    elif numbers is not None:
        for frame in frames:
            if frame.number in numbers:
                yield frame
            if frame.number >= numbers.last:
                break


def _frames_by_part(record: Record) -> dict[str, tuple[int, ...]]:
    """The frames of a record by file; by the whole capture where vantage points recorded it."""
    if isinstance(record.capture, JoinedCapture) and record.capture.point_files:
        return {record.capture: record.frames}
    return frames_by_file(record.capture, record.frames)


def _ends(frame: Frame) -> set[_Ends]:
    """The ends of the connection that a frame belongs to, or is about."""
    found = set()
    for one in dissect(frame):
        if isinstance(one, (TcpSegment, UdpDatagram)):
            found.add(frozenset((endpoint(one.src, one.sport), endpoint(one.dst, one.dport))))
        elif isinstance(one, IcmpUnreachable):
            src = endpoint(one.original_src, one.original_sport)
            found.add(frozenset((src, endpoint(one.original_dst, one.original_dport))))
    return found


def _same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return os.path.abspath(path) == os.path.abspath(other)
