"""``msmq-wire messages``: one row per message, as a table, JSON lines or CSV, and their bodies as files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from msmq_wire.api.limits import READ_TWICE
from msmq_wire.cli.body_files import INDEX, BodyFiles
from msmq_wire.cli.columns import Columns, columns_left_out
from msmq_wire.cli.formats import FileFormat, RowFormat
from msmq_wire.cli.jobs import Jobs, in_parts
from msmq_wire.cli.message_column_sets import CARVED_MESSAGE_COLUMNS, LIVE_MESSAGE_COLUMNS, MESSAGE_COLUMNS
from msmq_wire.cli.options import (
    CaptureFiles,
    Filters,
    Force,
    check_folder,
    check_output,
    filter_for,
    filters_by_outcome,
)
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.reporting import print_error
from msmq_wire.cli.row_output import RowOutput
from msmq_wire.cli.selection import Selection
from msmq_wire.cli.table_output import TableFileName, table_output
from msmq_wire.errors import CaptureError
from msmq_wire.records.joined_capture import located
from msmq_wire.records.message import COLUMNS, message_of
from msmq_wire.records.message_body import MessageBody, message_body
from msmq_wire.records.message_lines import csv_lines, json_lines
from msmq_wire.records.message_rows import message_projection, message_row, names_outcome
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.records.projection import ProjectedRows, Projection, rows_of_values
from msmq_wire.records.tree.value_text import count_text

if TYPE_CHECKING:
    from msmq_wire.api.outcomes import Outcomes

_BAD_USAGE = 2
_KNOWN = {one.name: one for one in COLUMNS}


_LINES = {RowFormat.JSONL: json_lines, RowFormat.CSV: csv_lines}


@with_reading_options(carves=True, follows=True)
def messages(
    files: CaptureFiles,
    format_: Annotated[
        RowFormat | None, typer.Option("--format", help="How to print them.", show_default="table")
    ] = None,
    to: TableFileName = None,
    bodies: Annotated[
        str | None,
        typer.Option(
            "--bodies",
            metavar="DIR",
            help="Write each body to a file in DIR, and what is known of it to index.jsonl there.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    all_: Annotated[bool, typer.Option("--all", help="List order and final acknowledgments too.")] = False,
    filters: Filters = None,
    columns: Columns = None,
    jobs: Jobs = 1,
    *,
    options: ReadingOptions,
) -> None:
    """List messages, including those returned by remote reads.

    The outcome of a message is the strongest that the capture shows: acknowledged (the next host has it),
    stored, delivered (it is in its queue), received, refused, expired, purged, or unknown. The table has it.
    Other formats have it where --columns names it, and --filter takes it. For it a FILE is read twice.

    Resent TCP bytes never show twice; messages that MSMQ sent again have rows of their own. In CSV a text
    that a spreadsheet would take for a formula begins with an apostrophe. The table shows how a body begins,
    or what it is. A body that is not whole goes to a file named ID-LABEL.cut.EXTENSION; where a file of its
    name is there, no more bodies are written unless --force is given. Messages in sealed calls need a key.
    Filters: see filter --help.

    With --to the rows go to a table for pandas, Polars or DuckDB: those of JSON lines, with times as times.

    A terminal that has no room for all columns shows sender, receiver, queue and what else fits, and says
    what it leaves out. Columns by name: those of JSON lines; outcome, capture, sent_at, message_class_name,
    body_type_name, body, body_text; any path of a packet, as user_header.message_id.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage, or a
    file in DIR is there, or that of --to.

    Examples:

        msmq-wire messages capture.pcapng

        msmq-wire messages capture.pcapng --filter "outcome in (refused, expired)"

        msmq-wire messages capture.pcapng --bodies bodies --filter "queue ~ orders"

        msmq-wire messages *.pcap --format csv > messages.csv

        msmq-wire messages capture.pcapng --columns time,src,queue,label,body

        msmq-wire messages capture.pcapng --columns +outcome --format jsonl

        msmq-wire messages capture.pcapng --to messages.parquet
    """
    # With a filter a zone says what its times mean.
    table = table_output(to, format_, files, force=force and to is not None, jobs=jobs)
    kind = (format_ or RowFormat.TABLE) if table is None else table.format
    zone = options.zone(None if kind is RowFormat.TABLE or filters else kind)
    redactor = options.redactor()
    if bodies is not None and redactor.what:
        raise typer.BadParameter("--bodies writes bodies as they are: it cannot be used with --redact")
    if bodies is None and to is None and force:
        raise typer.BadParameter("--force changes nothing without --bodies or --to")
    if bodies is not None and jobs > 1:
        raise typer.BadParameter("--bodies writes to one folder: it cannot be used with --jobs")
    if bodies is not None:
        check_folder(bodies, "--bodies")
        check_output(os.path.join(bodies, INDEX), "--bodies", force=force, in_place=True)
    matches = filter_for(filters, zone, outcomes=True)
    reading = options.reading(files, redactor, rows=True, follows=True)
    found = CARVED_MESSAGE_COLUMNS if options.carve else MESSAGE_COLUMNS
    if reading.once and not options.carve:
        found = LIVE_MESSAGE_COLUMNS
        if names_outcome(columns):
            raise typer.BadParameter(f"{OUTCOME.name} {READ_TWICE}", param_hint="--columns")
    by_outcome = filters_by_outcome(filters, reading)
    output = RowOutput(
        kind,
        found.available,
        columns,
        reading,
        options.screen(),
        zone,
        usual=found.by_default,
        shown=found.table_widths,
        to=table,
    )
    try:
        body_files = None if bodies is None else BodyFiles(bodies, force=force)
    except CaptureError as error:
        print_error(error.message)
        raise typer.Exit(1) from None
    hidden = columns_left_out(redactor.what)
    projection = None
    outcomes = None
    if by_outcome or OUTCOME.name in output.keys:
        # Loads all that follows sessions.
        from msmq_wire.api.outcomes import Outcomes

        outcomes = Outcomes(reading)
    selection = Selection(matches, outcome_of=None if outcomes is None else outcomes.of_record)
    if not (filters or redactor.what or body_files):
        projection = _projection(kind, output, outcomes, acknowledgments=all_)
    status = without_body = 0

    def show() -> tuple[int, int]:
        nonlocal status, without_body
        items = matching = 0
        for record in reading.projected(projection):
            if isinstance(record, ProjectedRows):
                items += len(record.lines)
                matching += len(record.lines)
                output.lines(record.lines)
                continue
            record = located(record)
            shown = redactor.record(record)
            message = message_of(shown, acknowledgments=all_)
            if message is None:
                continue
            items += 1
            if record not in selection:
                continue
            matching += 1
            became = None if outcomes is None else outcomes.of_record(record)
            output.write(message_row(shown, message, became, hidden=hidden))
            if body_files is not None and status == 0:
                body = message_body(shown)
                if body is None:
                    without_body += 1
                else:
                    status = _write_body(body_files, message.row(), body, record.capture)
        return matching, items

    with body_files or contextlib.nullcontext(), output.writing():
        # What stands for a host is the same in all files.
        shown = [*in_parts(reading, 1 if redactor.what else jobs, show, output=output)]
    matching, items = map(sum, zip((0, 0), *shown, strict=True))
    output.finish(quiet=options.quiet)
    if outcomes is not None:
        reading.tell_left_out(outcomes.left_out)
    more = list(selection.described(matching, items, "message") if items else ("no messages",))
    if table is not None:
        more.append(table.described())
    if body_files is not None:
        cut = f", {body_files.cut} of them cut" if body_files.cut else ""
        more.append(f"{count_text(body_files.written, 'file')} written to {bodies}{cut}")
        if without_body:
            more.append(f"{count_text(without_body, 'message')} without a body")
    reading.print_summary(*more)
    raise typer.Exit(reading.status or status)


def _projection(
    kind: RowFormat | FileFormat, output: RowOutput, outcomes: Outcomes | None, *, acknowledgments: bool
) -> Projection | None:
    """What makes rows without a record for each, where all columns can be had so."""
    of_all = None if outcomes is None else outcomes.of_all
    make: Callable[[Sequence[list[Any]]], list[Any]] | None = None
    if output.table is not None:
        make = output.table.cells
    elif isinstance(kind, FileFormat):
        make = rows_of_values
    elif outcomes is None:
        make = _LINES[kind](tuple(_KNOWN[name] for name in output.keys if name in _KNOWN))
    return message_projection(output.keys, make, of_all, acknowledgments=acknowledgments)


def _write_body(body_files: BodyFiles, row: Mapping[str, Any], body: MessageBody, capture: str) -> int:
    try:
        body_files.write(row, body, capture=capture)
    except CaptureError as error:
        if isinstance(error.__cause__, FileExistsError):
            print_error(error.message if body_files.force else f"{error.message}: --force writes over it")
            return _BAD_USAGE
        print_error(error.message)
        return 1
    return 0
