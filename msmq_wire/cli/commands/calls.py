"""``msmq-wire calls``: one row a remote read call, told as a story."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from msmq_wire.cli.call_rows import KEYS, CallRows
from msmq_wire.cli.columns import Columns, columns_for, tell_left_out
from msmq_wire.cli.options import CaptureFiles, Filters, Ids, filter_for
from msmq_wire.cli.reading import Selection
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.render.table import call_columns, call_table
from msmq_wire.cli.rows import csv_writer, json_writer
from msmq_wire.records.rpc_packets import RpcCall

__all__ = ["CallsFormat", "calls"]


class CallsFormat(StrEnum):
    """How calls are printed."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"


@with_reading_options()
def calls(
    files: CaptureFiles,
    format_: Annotated[CallsFormat, typer.Option("--format", help="How to print them.")] = CallsFormat.TABLE,
    filters: Filters = None,
    ids: Ids = None,
    columns: Columns = None,
    *,
    options: ReadingOptions,
) -> None:
    """List the remote read calls in captures: who read which queue, and what came of it.

    The calls of RemoteRead, qmcomm, qmcomm2 and qm2qm are found on any port. Most are sealed: with the
    password or NT hash of the caller, or the keytab of the server, they can be read. In JSON lines and CSV
    latency is in nanoseconds and status a number, in the table they are milliseconds and a name. Filters:
    see decode --help; further names here are method, interface, status, sealed and paths as
    request.ul_timeout.

    A terminal that has no room for all columns shows client, queue, status and what else fits, and says what
    it leaves out. Columns by name: those of JSON lines.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage.

    Examples:

        msmq-wire calls capture.pcapng

        msmq-wire calls capture.pcapng --nt-password @password.txt

        msmq-wire calls capture.pcapng --filter 'method ~ StartReceive and status != 0'

        msmq-wire calls *.pcap --keytab server.keytab --format csv > calls.csv
    """
    # With a filter a zone says what its times mean.
    zone = options.zone(None if format_ is CallsFormat.TABLE or filters else format_)
    redactor = options.redactor()
    screen = options.screen()
    heads = {one.name: one.key or one.name for one in call_columns(screen)}
    names = columns_for(
        columns,
        call_table(screen).keys if format_ is CallsFormat.TABLE else KEYS,
        {key: key for key in KEYS} | heads,
    )
    selection = Selection(filter_for(filters, zone), frozenset(ids or ()))
    reading = options.reading(files, redactor, rows=True)
    table = call_table(screen, zone, names, at_once=reading.as_it_comes)
    reading.show_waiting = table.show_waiting
    write = {
        CallsFormat.TABLE: table.add,
        CallsFormat.JSONL: json_writer(),
        CallsFormat.CSV: csv_writer(names or KEYS),
    }[format_]
    # A cell of the table may be made of several columns.
    chosen = None if format_ is CallsFormat.TABLE else names
    rows = CallRows()
    items = matching = 0
    for record in reading:
        is_call = isinstance(record.packet, RpcCall)
        wanted = is_call and record in selection
        items += is_call
        matching += wanted
        for row in rows.take(redactor.record(record), wanted=wanted):
            write(row if chosen is None else {name: row[name] for name in chosen})
    for row in rows.finish() if reading.at_end else ():
        write(row if chosen is None else {name: row[name] for name in chosen})
    table.finish()
    if not options.quiet and matching and format_ is CallsFormat.TABLE:
        tell_left_out(table.left_out)
    reading.tell_summary(*selection.told(matching, items, "call"))
    raise typer.Exit(reading.status)
