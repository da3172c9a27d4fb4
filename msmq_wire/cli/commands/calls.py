"""``msmq-wire calls``: one row per remote read call."""

from __future__ import annotations

from typing import Annotated

import typer

from msmq_wire.cli.columns import Columns
from msmq_wire.cli.formats import RowFormat
from msmq_wire.cli.jobs import Jobs, in_parts
from msmq_wire.cli.options import CaptureFiles, Filters, Force, Ids, filter_for
from msmq_wire.cli.reading_options import BODY_KEYS, ReadingOptions, with_reading_options
from msmq_wire.cli.render.table import TableRow
from msmq_wire.cli.row_output import RowOutput
from msmq_wire.cli.selection import Selection
from msmq_wire.cli.table_output import TableFileName, table_output
from msmq_wire.records.call import CALL_COLUMNS, CallFinder, CallValues
from msmq_wire.records.joined_capture import located
from msmq_wire.records.row_values import RowValues
from msmq_wire.records.rpc_packets import RpcCall


@with_reading_options(but=BODY_KEYS)
def calls(
    files: CaptureFiles,
    format_: Annotated[
        RowFormat | None, typer.Option("--format", help="How to print them.", show_default="table")
    ] = None,
    to: TableFileName = None,
    force: Force = False,
    filters: Filters = None,
    ids: Ids = None,
    columns: Columns = None,
    jobs: Jobs = 1,
    *,
    options: ReadingOptions,
) -> None:
    """List remote reads and other calls: who read which queue.

    The calls of RemoteRead, qmcomm, qmcomm2, qm2qm, qmmgmt, dscomm and dscomm2 are found on any port. Most
    are sealed: with the password or NT hash of the caller, or the keytab of the server, they can be read. In
    JSON lines and CSV latency is in nanoseconds and status a number, in the table they are milliseconds and a
    name. Filters: see filter --help. With --to the rows go to a table for pandas, Polars or DuckDB.

    A terminal that has no room for all columns shows client, queue, status and what else fits, and says what
    it leaves out. Columns by name: those of JSON lines; any path of a packet, as request.ul_timeout. Where
    several captures are read, capture is one.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage.

    Examples:

        msmq-wire calls capture.pcapng

        msmq-wire calls capture.pcapng --nt-password @password.txt

        msmq-wire calls capture.pcapng --filter "method ~ StartReceive and status != 0"

        msmq-wire calls *.pcap --keytab server.keytab --format csv > calls.csv
    """
    # With a filter a zone says what its times mean.
    table = table_output(to, format_, files, force=force, jobs=jobs)
    kind = (format_ or RowFormat.TABLE) if table is None else table.format
    zone = options.zone(None if kind is RowFormat.TABLE or filters else kind)
    redactor = options.redactor()
    selection = Selection(filter_for(filters, zone), frozenset(ids or ()))
    reading = options.reading(files, redactor, rows=True)
    output = RowOutput(kind, CALL_COLUMNS, columns, reading, options.screen(), zone, to=table)

    def row(call: CallValues) -> TableRow:
        return RowValues(call.record, call) if output.has_paths else call

    def show() -> tuple[int, int]:
        found = CallFinder()
        items = matching = 0
        for record in map(located, reading):
            is_call = isinstance(record.packet, RpcCall)
            wanted = is_call and record in selection
            items += is_call
            matching += wanted
            for call in found.take(redactor.record(record), wanted=wanted):
                output.write(row(call))
        for call in found.finish() if reading.at_end else ():
            output.write(row(call))
        return matching, items

    with output.writing():
        # What stands for a host is the same in all files.
        shown = [*in_parts(reading, 1 if redactor.what else jobs, show, output=output)]
    matching, items = map(sum, zip((0, 0), *shown, strict=True))
    output.finish(quiet=options.quiet)
    more = selection.described(matching, items, "call") if items else ("no calls",)
    reading.print_summary(*more, *(() if table is None else (table.described(),)))
    raise typer.Exit(reading.status)
