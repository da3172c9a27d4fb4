"""``msmq-wire route-audit``: compares the hops of messages with the routes that a topology allows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import tzinfo
from typing import Annotated

import typer

from msmq_wire.capture.named_captures import holds_captures
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.formats import RowFormat
from msmq_wire.cli.options import Filters, filter_for
from msmq_wire.cli.reading_options import BODY_KEYS, ReadingOptions, with_reading_options
from msmq_wire.cli.render.hop_table import HopTable
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.cli.row_writers import CsvWriter, JsonWriter
from msmq_wire.cli.selection import Selection
from msmq_wire.cli.store_options import check_store
from msmq_wire.cli.topology_input import TopologyFile, read_topology
from msmq_wire.errors import CaptureError
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.message import message_view
from msmq_wire.records.record import Record
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.report.redaction.forms import without_guids
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.routing.hop import ObservedHop
from msmq_wire.routing.hop_view import HopRow, hop_view
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.wire.private import LABEL

_DEVIATES = 3
_MOST_REASONS = 1 << 12

_Judged = tuple[Record, ObservedHop, str | None]
_Write = Callable[[ObservedHop, str | None], None]

AuditedFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Captures or folders of them, as decode reads them; - is standard input; or folders with the "
        "tables of spark run.",
        show_default=False,
    ),
]


@with_reading_options(but=(*BODY_KEYS, "queues", "nt_passwords", "nt_hashes", "keytabs"))
def route_audit(
    files: AuditedFiles,
    topology_file: TopologyFile,
    format_: Annotated[RowFormat, typer.Option("--format", help="How to print them.")] = RowFormat.TABLE,
    all_: Annotated[bool, typer.Option("--all", help="Show every hop, those on a possible way too.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="End with status 3 if a hop deviates.")] = False,
    filters: Filters = None,
    *,
    options: ReadingOptions,
) -> None:
    """Check whether messages took an allowed path.

    Every message that went over the binary protocol is a hop, from one queue manager to the next. It is
    compared with all ways that [MS-MQBR] leaves open: who passed it to whom, and after how many routing
    servers (RC). Shown are the hops that deviate, and one of those that could not be judged for the same
    reason between the same hosts; direct format names are not routed and only counted. Captures that are
    named together are judged together, those in tables each by itself. Hops of a traced message that no
    capture shows are shown last, as a queue manager tells them in a report message; they do not count as
    deviating, and tables do not have them. Filters: see filter --help. With
    --redact hosts, names of the topology and the sentences about deviations are left out.

    Exit status: 0 done; 1 a FILE or the topology could not be read, was damaged or held nothing; 2 bad usage;
    3 with --fail a hop that matches deviates, whatever else happened.

    Examples:

        msmq-wire route-audit --topology enterprise.toml capture.pcapng

        msmq-wire route-audit --topology enterprise.toml *.pcap --all --format csv > hops.csv

        msmq-wire route-audit --topology export.ldf tables --fail
    """
    # With a filter a zone says what its times mean.
    zone = options.zone(None if format_ is RowFormat.TABLE or filters else format_)
    if topology_file == "-" and "-" in files:
        raise typer.BadParameter("standard input is a capture or the topology, not both")
    folders = [file for file in files if _holds_tables(file, options)]
    captures = [file for file in files if file not in folders]
    if folders and (filters or options.followed_ports()):
        raise typer.BadParameter("--filter, --port and --decode-as read captures, not tables")
    selection = Selection(filter_for(filters, zone))
    redactor = options.redactor()
    topology = read_topology(topology_file, quiet=options.quiet or redactor.hides_hosts)
    if folders:
        check_store()
    reading = options.reading(captures, redactor, streams=True)
    tally = _Tally()
    several = len(reading.files) > 1 or bool(folders)
    # Names of the topology are hosts: without it nothing can name them.
    shown_topology = topology_of((), (), ()) if redactor.hides_hosts else topology
    write = _writer(format_, shown_topology, options.screen(), zone, several)

    def take(judged: Iterator[_Judged]) -> None:
        for record, hop, label in judged:
            tally.hops += hop.told_by is None
            if selection.filter is not None and record not in selection:
                continue
            if tally.count(hop) or all_:
                tally.shown += 1
                shown = redactor.record(record)
                if label is None and format_ is RowFormat.TABLE:
                    label = (message_view(shown) or {}).get("label")
                write(redactor.redacted(hop), label)

    take(_in_captures(reading, topology))
    status = 0
    for folder in folders:
        before = tally.hops
        try:
            take(_in_tables(folder, topology, redactor))
        except CaptureError as error:
            print_error(error.message)
            status = 1
        else:
            if tally.hops == before:
                print_error(f"{folder}: no messages in these tables")
                status = 1
    reported = tally.described(filtered=selection.filter is not None)
    if captures:
        reading.print_summary(*reported)
    elif not options.quiet and not status:
        print_note("; ".join(reported))
    raise typer.Exit(_DEVIATES if fail and tally.deviating else reading.status or status)


def _in_captures(reading: CaptureSet, topology: Topology) -> Iterator[_Judged]:
    """The hops in captures: all of them tell one story, as those of several hosts do."""
    # What it needs is an extra.
    from msmq_wire.routing.auditor import Auditor

    auditor = Auditor(topology)
    for record in reading:
        hop = auditor.feed(record)
        if hop is not None:
            yield record, hop, None
    for record, hop in auditor.told():
        yield record, hop, ""


def _in_tables(folder: str, topology: Topology, redactor: Redactor) -> Iterator[_Judged]:
    """The hops in tables: they may be those of years, so each capture is a story of its own."""
    from msmq_wire.routing.auditor import Auditor
    from msmq_wire.tables.store.hop_records import table_records

    auditor = Auditor(topology)
    capture = ""
    for record, label in table_records(folder):
        if record.capture != capture:
            auditor.forget()
            capture = record.capture
        hop = auditor.feed(record)
        if hop is not None:
            yield record, hop, redactor.redacted(label, LABEL)


def _holds_tables(path: str, options: ReadingOptions) -> bool:
    """Whether a path is the output of a run: a URL, or a folder without captures."""
    return "://" in path or (os.path.isdir(path) and not holds_captures(path, options.recursive))


def _writer(
    format_: RowFormat, topology: Topology, screen: Screen, zone: tzinfo | None, several: bool
) -> _Write:
    match format_:
        case RowFormat.JSONL:
            write_row = JsonWriter()
            return lambda hop, _: write_row(hop_view(hop, topology))
        case RowFormat.CSV:
            write_flat = CsvWriter(tuple(HopRow.columns))
            return lambda hop, _: write_flat(hop_view(hop, topology) | {"deviations": _flat(hop)})
    return HopTable(screen, topology, zone, several=several).add


def _flat(hop: ObservedHop) -> str:
    return "; ".join(
        f"{one.kind}: {one.message} ({one.spec})" if one.message else str(one.kind) for one in hop.deviations
    )


class _Tally:
    """Counts hops by what was said of them; remembers some reasons, to show each once.

    Those that are only told count apart, and never as deviating: nobody signs a report message.
    """

    def __init__(self) -> None:
        self.hops = 0
        self.shown = 0
        self.deviating = 0
        self._matching = self._told = 0
        self._kinds: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._seen: set[tuple[str, str, str]] = set()

    def count(self, hop: ObservedHop) -> bool:
        """Count a hop; whether it is worth a look."""
        if hop.told_by is not None:
            self._told += 1
            return True
        self._matching += 1
        if hop.deviations:
            self.deviating += 1
            self._kinds.update(str(one.kind) for one in hop.deviations)
            return True
        if hop.reason is None:
            return False
        self._reasons[without_guids(hop.reason)] += 1
        if hop.sighting.queue_manager_address is None:
            return False
        key = (hop.reason, host_of(hop.sighting.src), host_of(hop.sighting.dst))
        if key in self._seen or len(self._seen) >= _MOST_REASONS:
            return False
        self._seen.add(key)
        return True

    def described(self, *, filtered: bool) -> tuple[str, ...]:
        """What was said, and how much of it was shown."""
        told = (
            (f"{count_text(self._told, 'hop')} told by queue managers, not observed",) if self._told else ()
        )
        if not self.hops:
            return ("no hops of messages", *told)
        hops = count_text(self.hops, "hop")
        found = f"{self._matching} of {hops} match" if filtered else hops
        not_judged = self._reasons.total()
        parts = [
            (self._matching - self.deviating - not_judged, "on path", ""),
            (self.deviating, "deviating", _listed("{1} {0}", self._kinds)),
            (not_judged, "not judged", _listed("{0}: {1}", self._reasons)),
        ]
        words = [f"{count} {word}{more}" for count, word, more in parts if count]
        reported = found + (f": {', '.join(words)}" if words else "")
        seen = self.shown - self._told
        hidden = self._matching - seen
        shown = f"{seen or 'none'} shown, --all shows {'the others' if seen else 'them'}"
        return (reported, shown, *told) if hidden else (reported, *told)


def _listed(words: str, counts: Counter[str]) -> str:
    return f" ({', '.join(words.format(name, count) for name, count in counts.most_common())})"
