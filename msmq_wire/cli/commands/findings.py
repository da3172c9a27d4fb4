"""``msmq-wire findings``: what is odd in captures, as a table, JSON lines, CSV or a SARIF log."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo
from enum import StrEnum
from typing import Annotated

import typer

import msmq_wire
from msmq_wire.cli.columns import Columns
from msmq_wire.cli.completion import rule_ids
from msmq_wire.cli.options import CaptureFiles, Filters, finding_filter_for
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.render.finding_table import FindingTable
from msmq_wire.cli.render.sarif import sarif_log
from msmq_wire.cli.render.values import count_text
from msmq_wire.cli.row_output import RowOutput
from msmq_wire.cli.rule_names import rules_named
from msmq_wire.cli.severity import Level
from msmq_wire.cli.topology_input import read_topology
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.findings import RULES, SEVERITIES, Finding
from msmq_wire.findings.columns import FINDING_ALIASES, FINDING_COLUMNS, FindingRow
from msmq_wire.findings.judge import HopAuditor
from msmq_wire.findings.rule import Rule
from msmq_wire.findings.view import finding_view
from msmq_wire.records.record import Record
from msmq_wire.redaction.judging import RedactingJudge

__all__ = ["FindingsFormat", "findings"]

TopologyOfFindings = Annotated[
    str | None,
    typer.Option(
        "--topology",
        metavar="T",
        help="Judge the ways of messages, too, by this enterprise (see route --help).",
        show_default=False,
    ),
]

_FOUND = 3


class FindingsFormat(StrEnum):
    """How findings are printed."""

    TABLE = "table"
    JSONL = "jsonl"
    SARIF = "sarif"
    CSV = "csv"


@with_reading_options()
def findings(
    files: CaptureFiles,
    format_: Annotated[
        FindingsFormat, typer.Option("--format", help="How to print them.")
    ] = FindingsFormat.TABLE,
    level: Annotated[
        Level, typer.Option("--level", metavar="LEVEL", help="Show findings from this severity on.")
    ] = Level.INFO,
    fail_on: Annotated[
        Level | None,
        typer.Option(
            "--fail-on",
            metavar="LEVEL",
            help="End with status 3 if there is a finding of this severity or above.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="ID",
            help="Ask only this rule, as FRM-SIG. May be repeated.",
            autocompletion=rule_ids,
            show_default=False,
        ),
    ] = None,
    topology: TopologyOfFindings = None,
    filters: Filters = None,
    columns: Columns = None,
    *,
    options: ReadingOptions,
) -> None:
    """Say what is odd in captures: broken rules, attack shapes, known scanners, lost messages.

    A finding says what was observed and in which frames; msmq-wire explain ID says what it means. Severities
    are info, low, medium and high. A filter asks what a finding says, as in severity >= medium and
    rule ~ rpc, and the item in which it has evidence, as in host == 192.0.2.7 (msmq-wire filter --help);
    every item is judged all the same. With --redact the rules judge what was captured,
    and a message that may quote what is redacted gives way to the title of its rule. The rules RTE-... need
    a topology.

    The table has blocks of text; with --columns it has a row for each finding, with the columns that CSV
    has, as in severity,rule,time,src,frames,message. A row has the place of the first evidence.

    Exit status: 0 done; 1 a FILE or the topology could not be read, a FILE was damaged or held no MSMQ
    traffic; 2 bad usage; 3 a finding that matches is at or above --fail-on, whether it is shown or not and
    whatever else happened.

    Examples:

        msmq-wire findings capture.pcapng

        msmq-wire findings capture.pcapng --level medium --filter 'src ~ 192.0.2.7'

        msmq-wire findings *.pcap --format sarif --fail-on high > findings.sarif

        msmq-wire findings *.pcap --columns severity,rule,capture,frames,message

        msmq-wire findings capture.pcapng --topology enterprise.toml
    """
    # With a filter a zone says what its times mean.
    zone = options.zone(None if format_ is FindingsFormat.TABLE or filters else format_)
    asked: Mapping[str, Rule] = rules_named(rules, "--rule") if rules else RULES
    for rule in asked.values() if rules and topology is None else ():
        if rule.over == "hop":
            raise typer.BadParameter(f"{rule.id} needs --topology", param_hint="--rule")
    if topology == "-" and "-" in files:
        raise typer.BadParameter("standard input cannot be both a capture and the topology")
    if columns is not None and format_ is FindingsFormat.SARIF:
        raise typer.BadParameter("a SARIF log has no columns", param_hint="--columns")
    wanted = finding_filter_for(filters, zone)
    redactor = options.redactor()
    reading = options.reading(files, redactor, streams=True, rows=True)
    kept: list[Finding] = []
    output = RowOutput(
        format_, FINDING_COLUMNS, columns, reading, options.screen(), zone, also=FINDING_ALIASES, paths=False
    )
    rows = columns is not None or format_ is FindingsFormat.CSV
    write = (
        (lambda finding: output.write(FindingRow(finding)))
        if rows
        else _writer(format_, asked, options, zone, kept, several=reading.several)
    )
    judge = RedactingJudge(asked, redactor, _auditor(topology, quiet=options.quiet))
    counts: Counter[str] = Counter()
    judged = 0

    def take(found: Iterable[Finding]) -> None:
        nonlocal judged
        for finding in found:
            judged += 1
            if wanted is not None and finding not in wanted:
                continue
            counts[finding.severity] += 1
            if finding.rank >= level.rank:
                write(finding)

    for item in reading.batched():
        if isinstance(item, Record):
            if wanted is not None:
                wanted.see(item)
            take(judge.feed(item))
        else:
            if wanted is not None:
                wanted.take(item)
            take(judge.take(item))
    if reading.at_end:
        take(judge.finish())
    output.finish(quiet=options.quiet)
    more = [f"{count} more of {id_}" for id_, count in judge.more.items()]
    if format_ is FindingsFormat.SARIF:
        log = sarif_log(
            kept,
            asked,
            version=msmq_wire.__version__,
            folder=os.getcwd(),
            complete=reading.status == 0,
            notes=more,
        )
        print(json_line(log, indent=2))
    reading.tell_left_out(judge.left_out)
    reading.tell_summary(_told(counts, judged, level), *more)
    found_bad = fail_on is not None and any(counts[name] for name in SEVERITIES[fail_on.rank :])
    raise typer.Exit(_FOUND if found_bad else reading.status)


def _auditor(topology: str | None, *, quiet: bool) -> HopAuditor | None:
    if topology is None:
        return None
    known = read_topology(topology, quiet=quiet)
    # What it needs is an extra; that it is there has been seen by now.
    from msmq_wire.routing.auditor import Auditor

    return Auditor(known)


def _writer(
    format_: FindingsFormat,
    rules: Mapping[str, Rule],
    options: ReadingOptions,
    zone: tzinfo | None,
    kept: list[Finding],
    *,
    several: bool,
) -> Callable[[Finding], None]:
    match format_:
        case FindingsFormat.JSONL:
            return lambda finding: print(json_line(finding_view(finding)))
        case FindingsFormat.SARIF:
            return kept.append
    return FindingTable(options.screen(), max(map(len, rules)), zone, several=several).add


def _told(counts: Counter[str], judged: int, level: Level) -> str:
    """How many findings there are, by severity, and how many of them are not shown."""
    matching = counts.total()
    parts = [f"{counts[name]} {name}" for name in reversed(SEVERITIES) if counts[name]]
    text = count_text(matching, "finding") if matching else "no findings"
    text += f": {', '.join(parts)}" if parts else ""
    shown = sum(counts[name] for name in SEVERITIES[level.rank :])
    return text if shown == judged else f"{text}; {shown} of {count_text(judged, 'finding')} shown"
