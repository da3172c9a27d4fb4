"""``msmq-wire replay``: prints the replies and packets of queue managers that violate their protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import tzinfo
from operator import itemgetter
from typing import Annotated, TypeAlias

import typer

from msmq_wire.cli.formats import TableFormat
from msmq_wire.cli.options import CaptureFiles, Filters, filter_for
from msmq_wire.cli.reading_options import BODY_KEYS, ReadingOptions, with_reading_options
from msmq_wire.cli.render.deviation_table import DeviationTable
from msmq_wire.cli.selection import Selection
from msmq_wire.cli.severity import Level
from msmq_wire.detection import SEVERITIES, Finding, Severity
from msmq_wire.detection.conduct import CONDUCT, conduct_deviation
from msmq_wire.detection.rule import Rule
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.record import Record
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.replay.deviation_view import deviation_view
from msmq_wire.report.redaction.redacted_findings import RedactingJudge
from msmq_wire.report.redaction.replaying import RedactingReplayer, rule_of
from msmq_wire.sessions.tracker import SESSION_PACKETS

_FOUND = 3
_CALLS = frozenset(("rpc_call", "com_call"))
_JUDGED = SESSION_PACKETS | _CALLS


_Judged: TypeAlias = tuple[Rule, Severity, ReplayDeviation]


@with_reading_options(follows=True, but=(*BODY_KEYS, "queues"))
def replay(
    files: CaptureFiles,
    format_: Annotated[TableFormat, typer.Option("--format", help="How to print them.")] = TableFormat.TABLE,
    fail_on: Annotated[
        Level,
        typer.Option(
            "--fail-on",
            metavar="LEVEL",
            help="End with status 3 if there is one of this severity or above.",
        ),
    ] = Level.LOW,
    filters: Filters = None,
    *,
    options: ReadingOptions,
) -> None:
    """Check the replies of a queue manager against the rules.

    Every call of RemoteRead, qm2qm, qmcomm, qmcomm2 and qmmgmt, and ReceiveCurrent_v1 of queue objects, is
    held against the processing rules of its method, with all that is known by then: open handles, cursors,
    receives that have not ended, messages that were seen, taken or removed. Every session of the binary
    protocol is held against its rules: how it is opened, what it counts and acknowledges. What was before the
    capture is not known, and what is sealed, lost or missing takes knowledge away: a reply is wrong only if
    no rule allows it in any case.

    Each deviation says what was due, what came, and the rule with its section; its severity is that of a rule
    of msmq-wire findings: RPL-..., or for sessions SES-..., TXN-... or PNG-..., which come last. A filter
    keeps those whose call or packet matches (see filter --help). With --redact a sentence that may quote what
    is redacted gives way to the title of its rule.

    Exit status: 0 no deviation; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage;
    3 a deviation that matches is at or above --fail-on, low by default, whatever else happened.

    Examples:

        msmq-wire replay capture.pcapng

        msmq-wire replay sealed.pcap --keytab server.keytab --format jsonl

        msmq-wire replay *.pcap --fail-on high --filter "dst ~ 192.0.2.10"
    """
    # With a filter a zone says what its times mean.
    zone = options.zone(None if format_ is TableFormat.TABLE or filters else format_)
    selection = Selection(filter_for(filters, zone))
    redactor = options.redactor()
    reading = options.reading(files, redactor, streams=True, rows=True)
    write = _writer(format_, options, zone, several=len(reading.files) > 1)
    sessions = RedactingJudge(CONDUCT, redactor, budget=reading.budget)
    replayer = RedactingReplayer(redactor, sessions.followers)
    counts: Counter[Severity] = Counter()
    matching: set[int] = set()
    calls = judged = 0

    def take(found: Iterable[_Judged]) -> None:
        nonlocal judged
        for rule, severity, one in found:
            judged += 1
            if selection.filter is None or one.record in matching:
                counts[severity] += 1
                write(rule, severity, one)

    for item in reading.batched():
        records = (item,) if isinstance(item, Record) else item.others
        calls += sum(record.type in _CALLS for record in records)
        if selection.filter is not None:
            shown = records if isinstance(item, Record) else item.records()
            matching.update(one.id for one in shown if one.type in _JUDGED and one in selection)
        if isinstance(item, Record):
            reported = sessions.feed(item)
            take(_of_replies(replayer.feed(item)))
            take(_of_sessions(reported))
        else:
            others = [
                (number, one)
                for number, reported in sessions.taken(item)
                for one in _of_sessions((reported,))
            ]
            replies = [
                (number, one) for number, reported in replayer.take(item) for one in _of_replies((reported,))
            ]
            # Of one record replies come first.
            take(one for _, one in sorted((*replies, *others), key=itemgetter(0)))
    if reading.at_end:
        take(_of_replies(replayer.finish()))
        take(_of_sessions(sessions.finish()))
    more = [f"{count} more of {id_}" for id_, count in sessions.more.items()]
    reading.tell_left_out(sessions.left_out)
    reading.print_summary(_reported(counts, judged), count_text(calls, "call"), *more)
    found_bad = any(counts[name] for name in SEVERITIES[fail_on.rank :])
    raise typer.Exit(_FOUND if found_bad else reading.status)


def _of_replies(found: Iterable[ReplayDeviation]) -> Iterator[_Judged]:
    return ((rule_of(one), rule_of(one).severity, one) for one in found)


def _of_sessions(found: Iterable[Finding]) -> Iterator[_Judged]:
    for finding in found:
        one = conduct_deviation(finding)
        if one is not None:
            yield CONDUCT[finding.id], finding.severity, one


def _writer(
    format_: TableFormat, options: ReadingOptions, zone: tzinfo | None, *, several: bool
) -> Callable[[Rule, Severity, ReplayDeviation], None]:
    if format_ is TableFormat.JSONL:
        return lambda rule, severity, one: print(
            json_line({"id": rule.id, "severity": severity, **deviation_view(one)})
        )
    table = DeviationTable(options.screen(), zone, several=several)
    return lambda _, severity, one: table.add(one, severity)


def _reported(counts: Counter[Severity], judged: int) -> str:
    """How many deviations there are, by severity, and how many did not match."""
    parts = [f"{counts[name]} {name}" for name in reversed(SEVERITIES) if counts[name]]
    found = counts.total()
    text = count_text(found, "deviation") if found else "no deviations"
    text += f": {', '.join(parts)}" if parts else ""
    return text if found == judged else f"{text}; {found} of {count_text(judged, 'deviation')} match"
