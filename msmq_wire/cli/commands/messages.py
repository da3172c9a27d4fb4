"""``msmq-wire messages``: one row a message, as a table, JSON lines or CSV, and their bodies as files."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from msmq_wire.cli.body_files import BodyFiles
from msmq_wire.cli.options import (
    CaptureFiles,
    Color,
    ColorOption,
    Filters,
    LocalTime,
    Ports,
    Quiet,
    TimeZone,
    UtcTime,
    filter_for,
    screen_for,
    zone_for,
)
from msmq_wire.cli.reading import Reading, Selection
from msmq_wire.cli.render.safe_text import escaped, json_line
from msmq_wire.cli.render.table import MessageTable
from msmq_wire.cli.render.values import count_text
from msmq_wire.cli.reporting import complain
from msmq_wire.errors import CaptureError
from msmq_wire.records.record import Record
from msmq_wire.records.view import message_view
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader

__all__ = ["KEYS", "MessagesFormat", "messages"]

KEYS = (
    "id",
    "parent",
    "time",
    "src",
    "dst",
    "queue",
    "label",
    "message_class",
    "priority",
    "delivery",
    "sent_time",
    "message_id",
    "body_type",
    "body_size",
    "via",
    "frames",
)
# What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

Row = Mapping[str, Any]


class MessagesFormat(StrEnum):
    """How messages are printed."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"


def messages(
    files: CaptureFiles,
    format_: Annotated[
        MessagesFormat, typer.Option("--format", help="How to print them.")
    ] = MessagesFormat.TABLE,
    bodies: Annotated[
        str | None,
        typer.Option("--bodies", metavar="DIR", help="Write each body to a file in DIR.", show_default=False),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="List order and final acknowledgments too.")] = False,
    filters: Filters = None,
    ports: Ports = None,
    utc: UtcTime = False,
    local: LocalTime = False,
    timezone: TimeZone = None,
    color: ColorOption = Color.AUTO,
    quiet: Quiet = False,
) -> None:
    """List the messages in captures.

    Resent TCP bytes never show twice; messages that MSMQ sent again have rows of their own. In CSV a text
    that a spreadsheet would take for a formula begins with an apostrophe. Filters: see decode --help.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage.

    Examples:

        msmq-wire messages capture.pcapng

        msmq-wire messages capture.pcapng --bodies bodies --filter 'queue ~ orders'

        msmq-wire messages *.pcap --format csv > messages.csv
    """
    zone = zone_for(utc, local, timezone)
    selection = Selection(filter_for(filters, zone))
    try:
        body_files = None if bodies is None else BodyFiles(bodies)
    except CaptureError as error:
        complain(error.message)
        raise typer.Exit(1) from None
    table = MessageTable(screen_for(color), zone)
    write = {MessagesFormat.TABLE: table.add, MessagesFormat.JSONL: _json, MessagesFormat.CSV: _csv()}[
        format_
    ]
    reading = Reading(files, ports=ports or (), quiet=quiet)
    status = 0
    for record in reading:
        if record not in selection:
            continue
        row = message_view(record, acknowledgments=all_)
        if row is None:
            continue
        write(row)
        if body_files is not None and status == 0:
            status = _write_body(body_files, record)
        if "-" in files:
            sys.stdout.flush()
    table.finish()
    written = "" if body_files is None else f"{count_text(body_files.written, 'file')} written to {bodies}"
    reading.tell_summary(*filter(None, [written]))
    raise typer.Exit(reading.status or status)


def _json(row: Row) -> None:
    sys.stdout.write(json_line(dict(row)) + "\n")


def _csv() -> Callable[[Row], None]:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    started = False

    def write(row: Row) -> None:
        nonlocal started
        if not started:
            writer.writerow(KEYS)
            started = True
        writer.writerow([_cell(row.get(key)) for key in KEYS])

    return write


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    text = escaped(str(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text


def _write_body(body_files: BodyFiles, record: Record) -> int:
    properties = getattr(record.packet, "message_properties_header", None)
    if not isinstance(properties, MessagePropertiesHeader) or not isinstance(properties.message_body, bytes):
        return 0
    if not properties.message_body:
        return 0
    try:
        body_files.write(record.id, properties.label.text, properties.message_body, properties.body_type)
    except CaptureError as error:
        complain(error.message)
        return 1
    return 0
