"""``msmq-wire carve``: finds messages in files that are not captures; prints queues first, then each item."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from msmq_wire.capture.carve.offsets import read_offsets
from msmq_wire.capture.carve.queue_totals import QUEUE_COLUMNS, QueueRow, Queues
from msmq_wire.capture.carve.reader import SearchedFile
from msmq_wire.capture.queue_files import QueueFile, read_queue_file
from msmq_wire.cli.body_files import INDEX
from msmq_wire.cli.carve_reading import CarveReading, graded
from msmq_wire.cli.columns import Columns
from msmq_wire.cli.find_files import FindFiles
from msmq_wire.cli.formats import RowFormat
from msmq_wire.cli.options import Filters, Force, Ids, check_folder, check_output, filter_for
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.record_rows import RecordRows
from msmq_wire.cli.render.queue_file_text import print_queue_file, queue_file_view
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.table import table_of
from msmq_wire.cli.reporting import print_error
from msmq_wire.cli.selection import Selection
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.records.message import message_of
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text

_MOST_SHOWN = 100
"""Files that register a queue and are shown."""


@with_reading_options(but=("ports", "decode_as", "nt_passwords", "nt_hashes", "keytabs"))
def carve(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files of any kind: storage files (*.mq), memory dumps, disk images, block devices, plain "
            "or compressed with gzip, bzip2, xz or zstd. - is standard input, a folder all files in it.",
            show_default=False,
        ),
    ],
    format_: Annotated[RowFormat, typer.Option("--format", help="How to print it.")] = RowFormat.TABLE,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DIR",
            help="Write the bytes of each find to a file in DIR, and what is known of it to index.jsonl "
            "there.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    filters: Filters = None,
    ids: Ids = None,
    columns: Columns = None,
    packets_only: Annotated[
        bool, typer.Option("--packets-only", help="Search no SRMP envelopes, which takes less time.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="LIST",
            help="Look only where LIST says, a file with an offset or an address a line, as yarascan of "
            "Volatility 3 prints them; - is standard input.",
            show_default=False,
        ),
    ] = None,
    no_hash: Annotated[
        bool, typer.Option("--no-sha256", help="Take no SHA-256 of the FILEs, which takes less time.")
    ] = False,
    *,
    options: ReadingOptions,
) -> None:
    """Find messages in queue files, memory and disk images.

    The FILEs are searched for packets of the binary protocol and for SRMP envelopes, at every byte. Nothing
    is written beside them. First come the FILEs with their SHA-256, then the queues, then each find with its
    grade: whole (it can be read to its end and breaks no rule), damaged (it contradicts itself), head (it
    reads well, and its end is not there). The same bytes in several places are one find.

    What storage files of Windows look like is not documented, and none was seen: what is known of the packets
    is searched, wherever they lie. Whether a message was deleted, or its transaction committed, they do not
    say. The commands messages, findings, decode, export and report read such files with --carve.

    Of a file in lqs, which registers a queue, each line is shown. The folder lqs beside storage files names
    their queues, as perhaps: --queues GUID=DIR says whose it is.

    Exit status: 0 done; 1 a FILE could not be read or was damaged, or nothing was found; 2 bad usage, or a
    file in DIR is there.

    Examples:

        msmq-wire carve storage/

        msmq-wire carve memory.dmp --filter "grade == whole and queue ~ orders"

        msmq-wire carve disk.img --to finds --format jsonl > finds.jsonl

        msmq-wire messages --carve storage/ --bodies bodies
    """
    zone = options.zone(None if format_ is RowFormat.TABLE or filters else format_)
    redactor = options.redactor()
    if to is not None and redactor.what:
        raise typer.BadParameter("--to writes bytes as they are: it cannot be used with --redact")
    if to is None and force:
        raise typer.BadParameter("--force changes nothing without --to")
    if to is not None:
        check_folder(to, "--to")
        check_output(os.path.join(to, INDEX), "--to", force=force, in_place=True)
    selection = Selection(filter_for(filters, zone), frozenset(ids or ()))
    given = options.given(redactor, streams=False, rows=False)
    offsets = None if at is None else _offsets(at, files)
    reading = options.with_keys(CarveReading(files, envelopes=not packets_only, offsets=offsets, **given))
    reading.hashing = not no_hash
    reading.registers = not redactor.what
    screen = options.screen()
    # The answer comes first, and it is known last.
    listed = io.StringIO()
    screen_of_list = _beside(screen, listed)
    rows = RecordRows(format_, columns, reading, screen_of_list, zone, redactor)
    queues = Queues()
    items = matching = 0
    try:
        with contextlib.redirect_stdout(listed), _find_files(to, force) as find_files:
            for record in reading:
                items += record.grade is not None
                # What a table has no row of is said beside it.
                if record not in selection or (record.grade is None and format_ is RowFormat.TABLE):
                    continue
                matching += record.grade is not None
                shown = redactor.record(record)
                queues.add(shown)
                rows.write(shown)
                if find_files is not None and record.grade is not None:
                    message = message_of(record)
                    find_files.write(record, (message and message["label"]) or "", reading.data)
            rows.finish(quiet=options.quiet)
    except CaptureError as error:
        print_error(error.message)
        raise typer.Exit(2 if isinstance(error.__cause__, FileExistsError) else 1) from None
    sources = [redactor.redacted(one) for one in reading.searched]
    if format_ is RowFormat.JSONL:
        for source in sources:
            print(json_line(_source_view(source)))
        for file in _queue_files(reading.queue_files):
            print(json_line(queue_file_view(file)))
        for totals in queues.rows():
            print(json_line({"type": "queue", **QueueRow(totals).row()}))
    elif format_ is RowFormat.TABLE and sources:
        _head(screen, sources)
        for file in _queue_files(reading.queue_files[:_MOST_SHOWN]):
            print_queue_file(screen, file)
        if len(reading.queue_files) > _MOST_SHOWN:
            more_files = len(reading.queue_files) - _MOST_SHOWN
            screen.line([(f"{more_files:,} more files register queues: --format jsonl has all", "dim")])
        if matching:
            table = table_of(QUEUE_COLUMNS, screen, zone)
            for totals in queues.rows():
                table.add(QueueRow(totals))
            table.finish()
            screen.line([])
    sys.stdout.write(listed.getvalue())
    more = list(selection.described(matching, items, "find"))
    if find_files is not None:
        more.append(f"{count_text(find_files.written, 'file')} written to {to}")
    reading.print_summary(*more)
    raise typer.Exit(reading.status)


def _offsets(path: str, files: list[str]) -> list[int]:
    """The offsets in a list. Raises typer.BadParameter."""
    if path == "-" and "-" in files:
        raise typer.BadParameter("standard input cannot be both a FILE and the list", param_hint="--at")
    try:
        with contextlib.ExitStack() as closing:
            lines = sys.stdin if path == "-" else closing.enter_context(open(path, errors="replace"))
            return read_offsets(lines)
    except (OSError, MsmqWireError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise typer.BadParameter(f"{path}: {reason}", param_hint="--at") from None


def _find_files(to: str | None, force: bool) -> Any:
    return contextlib.nullcontext() if to is None else FindFiles(to, force=force)


def _beside(screen: Screen, stream: io.StringIO) -> Screen:
    """The same screen, printing elsewhere."""
    other = Screen(screen.stream, "always" if screen.color else "never")
    other.stream = stream
    return other


def _queue_files(paths: list[str]) -> Iterator[QueueFile]:
    """What files register, one at a time: they may be many."""
    for path in paths:
        with contextlib.suppress(CaptureError):
            yield read_queue_file(path)


def _source_view(source: SearchedFile) -> dict[str, Any]:
    return {
        "type": "source",
        "capture": source.name,
        "kind": source.kind,
        "storage": source.storage,
        "size": source.size,
        "sha256": source.sha256,
        "disk_sha256": source.disk_sha256,
        "not_hashed": source.unhashed,
        "files": [
            {"name": one.name, "size": one.size, "sha256": one.sha256, "not_hashed": one.reason}
            for one in source.files
        ],
        "found": dict(source.grades),
        "copies": source.copies,
        "unreadable": source.unreadable,
        "error": source.failure,
    }


def _head(screen: Screen, sources: list[SearchedFile]) -> None:
    """The FILEs: what each is, its size and hash, and how much of what was found."""
    for source in sources:
        kind = source.kind if source.storage is None else f"{source.storage} by its name"
        screen.line(
            [
                (screen.safe(source.name), "title"),
                (f"  {kind}, {size_text(source.size)}, ", ""),
                (f"{graded(source.grades)}", "strong" if source.grades else "dim"),
                (f", {source.copies} of them copies" if source.copies else "", ""),
            ]
        )
        for line in _hashes(source):
            screen.line([(f"  {screen.safe(line)}", "dim")])
    screen.line([])


def _hashes(source: SearchedFile) -> Iterator[str]:
    """The hashes of a FILE, of an image those of all its files and of the disk in them."""
    failed = "" if source.failure is None else ": not read to its end"
    for one in source.files:
        hashed = f"SHA-256 {one.sha256}" if one.sha256 else f"no SHA-256{_why(one.reason)}"
        yield f"{hashed}  {one.name}, {size_text(one.size)}"
    of = " of the disk" if source.files else ""
    found = source.disk_sha256 if source.files else source.sha256
    yield (f"SHA-256{of} {found}" if found else f"no SHA-256{of}" + _why(source.unhashed)) + failed


def _why(reason: str | None) -> str:
    return "" if reason is None else f" ({reason})"
