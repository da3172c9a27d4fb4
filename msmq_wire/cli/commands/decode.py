"""``msmq-wire decode``: prints all items in captures, or on an interface, as trees, JSON lines or rows."""

from __future__ import annotations

import contextlib
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.columns import Columns
from msmq_wire.cli.formats import FileFormat
from msmq_wire.cli.jobs import Jobs, in_parts
from msmq_wire.cli.live import LiveReading
from msmq_wire.cli.options import (
    CAPTURES,
    BodyLimit,
    Filters,
    Force,
    Ids,
    ShowHex,
    filter_for,
    refuse_without_effect,
    tree_options,
)
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.render.tree_writer import TreeWriter
from msmq_wire.cli.selection import Selection
from msmq_wire.cli.table_output import TableFileName, table_output
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.joined_capture import located
from msmq_wire.records.json_lines import record_line
from msmq_wire.records.message import message_of
from msmq_wire.records.record import is_step
from msmq_wire.records.view import record_view


class DecodeFormat(StrEnum):
    """How records are printed."""

    TREE = "tree"
    JSONL = "jsonl"
    TABLE = "table"
    CSV = "csv"


@with_reading_options(
    carves=True,
    verifies=True,
    before={"redact": ("live", "capture_filter", "streams"), "utc": ("body_limit",)},
)
def decode(
    files: Annotated[list[str] | None, CAPTURES] = None,
    format_: Annotated[
        DecodeFormat | None,
        typer.Option(
            "--format", help="How to print it.", show_default="tree; table on a terminal or with --columns"
        ),
    ] = None,
    to: TableFileName = None,
    force: Force = False,
    filters: Filters = None,
    ids: Ids = None,
    columns: Columns = None,
    hex_: ShowHex = False,
    *,
    live: Annotated[
        str | None,
        typer.Option(
            "--live",
            metavar="IFACE",
            help="Instead of FILE: capture on an interface through Wireshark, until Ctrl-C. Also a named "
            "pipe, or - for a pipe on standard input.",
            show_default=False,
        ),
    ] = None,
    capture_filter: Annotated[
        str | None,
        typer.Option(
            "--capture-filter",
            metavar="EXPR",
            help='What --live captures, as in "tcp port 1801 or udp port 3527".',
            show_default=False,
        ),
    ] = None,
    streams: Annotated[bool, typer.Option("--streams", help="Show how TCP streams begin and end.")] = False,
    body_limit: BodyLimit = None,
    jobs: Jobs = 1,
    options: ReadingOptions,
) -> None:
    """Show packets and calls, a line for each or all fields.

    On a terminal each has one line; --id N and -v show all of its fields, as a file or pipe gets them.

    Packets and calls come in order of completion. Several FILEs are read one after the other; ids run on. The
    files of a ring buffer are read as one capture, in order of time: their names differ in digits only. A
    summary goes to standard error.

    With --to a row for each packet or call goes to a table for pandas, Polars or DuckDB.

    With --live packets are shown as they come, and Ctrl-C ends the capture; it needs Wireshark and the extra
    wireshark.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, or an interface did
    so; 2 bad usage.

    A filter compares columns, or fields by their paths, with == != < <= > >= ~ (contains), matches (a regular
    expression) and in (a, b), joined by and, or, not and parentheses: see filter --help.

    Columns by name: those of JSON lines here, of messages and of calls; any path of a packet, as
    user_header.message_id. A path that a row does not have is empty there.

    Sealed calls open with the password or NT hash of the caller, or the keytab of the server.

    Examples:

        msmq-wire decode capture.pcapng

        msmq-wire decode *.pcap --format jsonl --filter "anomalies > 0" > odd.jsonl

        msmq-wire decode capture.pcap --filter "host == 192.0.2.0/24 and user_header.flags.dq == DIRECT"

        msmq-wire decode capture.pcap --columns frames,time,queue,user_header.message_id --format csv

        tcpdump -w - port 1801 | msmq-wire decode -

        msmq-wire decode --live eth0 --capture-filter "host 192.0.2.10"
    """
    _check_sources(files, ids, live, capture_filter)
    if options.carve and (live is not None or streams):
        raise typer.BadParameter("--carve searches files: it knows no connections", param_hint="--carve")
    screen = options.screen()
    table = table_output(to, format_, files or (), force=force, jobs=jobs)
    kind: DecodeFormat | FileFormat
    if table is not None:
        kind = table.format
    elif format_ is not None:
        kind = format_
    else:
        # On a terminal a line for each, and the fields of those that are asked for.
        fields = ids or hex_ or body_limit is not None or options.verbose or not screen.terminal
        kind = DecodeFormat.TREE if columns is None and fields else DecodeFormat.TABLE
    if kind is DecodeFormat.TREE and columns is not None:
        raise typer.BadParameter(
            "a tree has no columns; --format table, csv or jsonl has", param_hint="--columns"
        )
    trees_only = {"--hex": hex_, "--body-limit": body_limit is not None}
    refuse_without_effect(kind, {} if kind is DecodeFormat.TREE else trees_only)
    # A zone still says what the times of a filter mean.
    shown_in = filters or kind in (DecodeFormat.TREE, DecodeFormat.TABLE)
    zone = options.zone(None if shown_in else kind)
    selection = Selection(filter_for(filters, zone), frozenset(ids or ()))
    redactor = options.redactor()
    if options.verify and redactor.what:
        raise typer.BadParameter(
            "no signature fits what is left of a redacted message: not with --redact", param_hint="--verify"
        )
    writer = TreeWriter(screen, tree_options(hex_, body_limit, zone))
    reading: CaptureSet
    if live is None:
        # An id that is asked for is shown, whatever it is of.
        reading = options.reading(files or (), redactor, streams=streams or bool(ids), rows=True)
    else:
        given = options.given(redactor, streams=streams, rows=True)
        reading = options.with_keys(LiveReading(live, capture_filter, **given))
    rows = None
    if columns is not None or table is not None or kind in (DecodeFormat.TABLE, DecodeFormat.CSV):
        # Trees and whole items do without what rows need.
        from msmq_wire.cli.record_rows import RecordRows

        rows = RecordRows(kind, columns, reading, screen, zone, redactor, to=table)

    def show() -> tuple[int, int]:
        capture = None
        items = matching = 0
        # Closed at once if the output is closed: a live capture must not go on.
        records: Any = iter(reading)
        with contextlib.closing(records):
            for record in map(located, records):
                items += streams or not is_step(record)
                if record not in selection:
                    continue
                matching += 1
                shown = redactor.record(record)
                if rows is not None:
                    rows.write(shown)
                elif kind is DecodeFormat.JSONL:
                    # Writers know values as they were decoded.
                    line = record_line(record) if shown is record else json_line(record_view(shown))
                    sys.stdout.write(line + "\n")
                else:
                    if reading.several and shown.capture != capture:
                        capture = shown.capture
                        screen.line([(screen.safe(capture), "title")])
                    message = message_of(shown, acknowledgments=True)
                    writer.record(shown, "" if message is None else message["via"])
        return matching, items

    # What stands for a host is the same in all files.
    jobs = 1 if redactor.what else jobs
    with contextlib.nullcontext() if rows is None else rows.output.writing():
        shown = [*in_parts(reading, jobs, show, screen, None if rows is None else rows.output)]
    matching, items = map(sum, zip((0, 0), *shown, strict=True))
    if rows is not None:
        rows.finish(quiet=options.quiet)
    to_file = () if table is None else (table.described(),)
    reading.print_summary(*selection.described(matching, items, "item"), *to_file)
    raise typer.Exit(reading.status)


def _check_sources(
    files: list[str] | None, ids: list[int] | None, live: str | None, capture_filter: str | None
) -> None:
    """Raise typer.BadParameter for sources that contradict each other, or options that cannot apply."""
    if live is None:
        if not files:
            raise typer.BadParameter("give a FILE, or --live with an interface")
        if capture_filter is not None:
            raise typer.BadParameter("--capture-filter needs --live; for a FILE there is --filter")
    elif files:
        raise typer.BadParameter("--live is instead of a FILE")
    elif ids:
        raise typer.BadParameter("--id cannot be used with --live: ids are not known before")
