"""``msmq-wire findings``: prints the findings in captures, as a table, JSON lines, CSV or a SARIF log."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated

import typer

import msmq_wire
from msmq_wire.api.findings import judged
from msmq_wire.cli.columns import Columns
from msmq_wire.cli.completion import rule_ids
from msmq_wire.cli.formats import FileFormat
from msmq_wire.cli.options import CaptureFiles, Filters, Force, finding_filter_for
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.render.finding_table import FindingTable, TableOrder
from msmq_wire.cli.render.sarif import sarif_log
from msmq_wire.cli.row_output import RowOutput
from msmq_wire.cli.rule_names import rules_named
from msmq_wire.cli.severity import Level
from msmq_wire.cli.table_output import TableFileName, table_output
from msmq_wire.cli.topology_input import read_topology
from msmq_wire.detection import RULES, SEVERITIES, Finding
from msmq_wire.detection.causes import causes
from msmq_wire.detection.columns import (
    FINDING_ALIASES,
    FINDING_COLUMNS,
    JSON_COLUMNS,
    FindingRow,
    FindingView,
)
from msmq_wire.detection.finding_view import finding_view
from msmq_wire.detection.folding import Fold
from msmq_wire.detection.judge import HopAuditor, beyond
from msmq_wire.detection.rule import Rule
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.report.redaction.redacted_findings import RedactingJudge

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


@with_reading_options(carves=True, follows=True, verifies=True)
def findings(
    files: CaptureFiles,
    format_: Annotated[
        FindingsFormat | None, typer.Option("--format", help="How to print them.", show_default="table")
    ] = None,
    to: TableFileName = None,
    force: Force = False,
    level: Annotated[
        Level | None,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="Show findings from this severity on: low in the table, else info.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        TableOrder | None,
        typer.Option("--by", help="Order the table by sender, rule or file first.", show_default=False),
    ] = None,
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
    """List broken rules, attacks, scanners and lost messages.

    A finding says what was observed and in which frames; msmq-wire explain ID says what it means. Severities
    are info, low, medium and high. A filter asks what a finding says, as in severity >= medium and
    rule ~ rpc, and the item in which it has evidence, as in host == 192.0.2.7 (msmq-wire filter --help);
    every item is judged all the same. With --redact the rules judge what was captured,
    and a message that may quote what is redacted gives way to the title of its rule. The rules RTE-... need
    a topology.

    The table tells each cause once, the gravest first: what a rule saw again and again of one sender is
    counted, and what is only another sight of the same cause stands behind "also:". All findings, each by
    itself, are in JSON lines, CSV and SARIF, and in the rows of --columns, as in
    severity,rule,time,src,frames,message. A row has the place of the first evidence.
    With --to findings go to a table for pandas, Polars or DuckDB, with all their evidence.

    Exit status: 0 done; 1 a FILE or the topology could not be read, a FILE was damaged or held no MSMQ
    traffic; 2 bad usage; 3 a finding that matches is at or above --fail-on, whether it is shown or not and
    whatever else happened.

    Examples:

        msmq-wire findings capture.pcapng

        msmq-wire findings capture.pcapng --level medium --filter "src ~ 192.0.2.7"

        msmq-wire findings *.pcap --by host

        msmq-wire findings *.pcap --format sarif --fail-on high > findings.sarif

        msmq-wire findings *.pcap --columns severity,rule,capture,frames,message

        msmq-wire findings capture.pcapng --topology enterprise.toml
    """
    # With a filter a zone says what its times mean.
    table = table_output(to, format_, files, force=force)
    kind = (format_ or FindingsFormat.TABLE) if table is None else table.format
    zone = options.zone(None if kind is FindingsFormat.TABLE or filters else kind)
    asked: Mapping[str, Rule] = rules_named(rules, "--rule") if rules else RULES
    for rule in asked.values() if rules and topology is None else ():
        if rule.over == "hop":
            raise typer.BadParameter(f"{rule.id} needs --topology", param_hint="--rule")
    if topology == "-" and "-" in files:
        raise typer.BadParameter("standard input cannot be both a capture and the topology")
    if columns is not None and kind is FindingsFormat.SARIF:
        raise typer.BadParameter("a SARIF log has no columns", param_hint="--columns")
    rows = columns is not None or table is not None or kind is FindingsFormat.CSV
    as_table = kind is FindingsFormat.TABLE and not rows
    if by is not None and not as_table:
        raise typer.BadParameter("only the table is ordered by something", param_hint="--by")
    least = level or (Level.LOW if as_table else Level.INFO)
    wanted = finding_filter_for(filters, zone)
    redactor = options.redactor()
    reading = options.reading(files, redactor, streams=True, rows=True)
    kept: list[Finding] = []
    # As in JSON lines: rows of all evidence, where no columns are wanted.
    whole = table is not None and columns is None
    output = RowOutput(
        kind,
        JSON_COLUMNS if whole else FINDING_COLUMNS,
        columns,
        reading,
        options.screen(),
        zone,
        also={} if whole else FINDING_ALIASES,
        paths=False,
        to=table,
    )
    fold = Fold(by_capture=by is TableOrder.FILE)
    write = _row_of(output, FindingView if whole else FindingRow) if rows else _writer(kind, fold, kept)
    judge = RedactingJudge(asked, redactor, _auditor(topology, quiet=options.quiet), budget=reading.budget)
    counts: Counter[str] = Counter()
    found = 0
    with output.writing():
        for finding in judged(reading, judge, wanted):
            found += 1
            if wanted is not None and finding not in wanted:
                continue
            counts[finding.severity] += 1
            # A note is shown with what explains it.
            if as_table or finding.rank >= least.rank:
                write(finding)
    found_causes = (group for group in causes(fold.groups()) if group.rank >= least.rank)
    groups = sorted(found_causes, key=lambda group: group.place)
    listed = FindingTable(options.screen(), max(map(len, asked)), zone, several=reading.several)
    listed.print(groups, by)
    output.finish(quiet=options.quiet)
    more = beyond(judge.more)
    if kind is FindingsFormat.SARIF:
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
    shown = (
        sum(group.occurrences for group in groups)
        if as_table
        else sum(counts[name] for name in SEVERITIES[least.rank :])
    )
    to_file = () if table is None else (table.described(),)
    reading.print_summary(_reported(counts, found, shown, None if not as_table else least), *more, *to_file)
    found_bad = fail_on is not None and any(counts[name] for name in SEVERITIES[fail_on.rank :])
    raise typer.Exit(_FOUND if found_bad else reading.status)


def _auditor(topology: str | None, *, quiet: bool) -> HopAuditor | None:
    if topology is None:
        return None
    known = read_topology(topology, quiet=quiet)
    # What it needs is an extra; that it is there has been seen by now.
    from msmq_wire.routing.auditor import Auditor

    return Auditor(known)


def _row_of(output: RowOutput, row: type[FindingRow | FindingView]) -> Callable[[Finding], None]:
    return lambda finding: output.write(row(finding))


def _writer(kind: FindingsFormat | FileFormat, fold: Fold, kept: list[Finding]) -> Callable[[Finding], None]:
    match kind:
        case FindingsFormat.JSONL:
            return lambda finding: print(json_line(finding_view(finding)))
        case FindingsFormat.SARIF:
            return kept.append
    return fold.add


def _reported(counts: Counter[str], judged: int, shown: int, folded: Level | None) -> str:
    """How many findings there are, by severity, and how many of them are not shown.

    In a table that is ``folded`` from this level on, what is hidden can be shown.
    """
    matching = counts.total()
    if folded is not None and 0 < matching == judged == counts["info"]:
        hidden = "" if shown else " (--level info shows them)"
        return f"nothing above info; {count_text(matching, 'note')}{hidden}"
    parts = [f"{counts[name]} {name}" for name in reversed(SEVERITIES) if counts[name]]
    text = count_text(matching, "finding") if matching else "no findings"
    text += f": {', '.join(parts)}" if parts else ""
    if folded is None:
        return text if shown == judged else f"{text}; {shown} of {count_text(judged, 'finding')} shown"
    if matching != judged:
        text += f"; {judged - matching} others do not match"
    if shown != matching:
        text += f"; {matching - shown} below {folded} hidden (--level info shows them)"
    return text
