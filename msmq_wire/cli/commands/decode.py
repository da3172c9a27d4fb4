"""``msmq-wire decode``: everything MSMQ in captures, as trees or JSON lines."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from msmq_wire.cli.options import (
    BodyLimit,
    CaptureFiles,
    Color,
    ColorOption,
    Filters,
    Ids,
    LocalTime,
    Ports,
    Quiet,
    Redactions,
    ShowHex,
    TimeZone,
    UtcTime,
    filter_for,
    redactor_for,
    refuse_without_effect,
    screen_for,
    tree_options,
    zone_for,
)
from msmq_wire.cli.reading import Reading, Selection
from msmq_wire.cli.render.safe_text import json_line
from msmq_wire.cli.render.tree import print_record
from msmq_wire.cli.secrets import Keytabs, NtHashes, NtPasswords, negotiator_for
from msmq_wire.records.view import message_view, record_view

__all__ = ["DecodeFormat", "decode"]


class DecodeFormat(StrEnum):
    """How records are printed."""

    TREE = "tree"
    JSONL = "jsonl"


def decode(
    files: CaptureFiles,
    format_: Annotated[DecodeFormat, typer.Option("--format", help="How to print it.")] = DecodeFormat.TREE,
    filters: Filters = None,
    ids: Ids = None,
    hex_: ShowHex = False,
    ports: Ports = None,
    nt_passwords: NtPasswords = None,
    nt_hashes: NtHashes = None,
    keytabs: Keytabs = None,
    streams: Annotated[bool, typer.Option("--streams", help="Show how TCP streams begin and end.")] = False,
    redact: Redactions = None,
    body_limit: BodyLimit = None,
    utc: UtcTime = False,
    local: LocalTime = False,
    timezone: TimeZone = None,
    color: ColorOption = Color.AUTO,
    quiet: Quiet = False,
) -> None:
    """Show every MSMQ packet and every remote read call of captures, in order of completion.

    Several FILEs are read one after the other; ids run on. A summary goes to standard error.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage.

    A filter compares what a row shows, or a field by its path, with == != < <= > >= or ~ (contains), joined
    by and, or, not and parentheses. Names: type, id, capture, src, dst, host, time, stream, length, queue,
    label, message_id, message_class, priority, delivery, sent_time, body_type, body, anomalies, error;
    of calls also method, interface, opnum, status, sealed, and request.X and response.X.

    Sealed calls open with the password or NT hash of the caller, or the keytab of the server.

    Examples:

        msmq-wire decode capture.pcapng

        msmq-wire decode *.pcap --format jsonl --filter 'anomalies > 0' > odd.jsonl

        msmq-wire decode capture.pcap --filter 'host == 192.0.2.0/24 and user_header.flags.dq == DIRECT'

        tcpdump -w - port 1801 | msmq-wire decode -
    """
    zone = zone_for(utc, local, timezone)
    if format_ is DecodeFormat.JSONL:
        # A zone still says what the times of a filter mean.
        zone_given = (local or timezone is not None) and not filters
        refuse_without_effect(
            format_,
            {
                "--hex": hex_,
                "--body-limit": body_limit is not None,
                "--local": zone_given and local,
                "--timezone": zone_given,
            },
        )
    options = tree_options(hex_, body_limit, zone)
    selection = Selection(filter_for(filters, zone), frozenset(ids or ()))
    redactor = redactor_for(redact)
    screen = screen_for(color)
    live = "-" in files
    reading = Reading(
        files,
        ports=ports or (),
        streams=streams,
        quiet=quiet,
        negotiator=negotiator_for(nt_passwords, nt_hashes, keytabs),
        anonymous=redactor.hides_hosts,
    )
    items = matching = 0
    for record in reading:
        items += 1
        if record not in selection:
            continue
        matching += 1
        shown = redactor.record(record)
        if format_ is DecodeFormat.JSONL:
            sys.stdout.write(json_line(record_view(shown)) + "\n")
        else:
            row = message_view(shown, acknowledgments=True)
            print_record(screen, shown, options, via="" if row is None else str(row.get("via") or ""))
        if live:
            sys.stdout.flush()
    reading.tell_summary(*selection.told(matching, items, "item"))
    raise typer.Exit(reading.status)
