"""``msmq-wire compare-recording``: compares a capture of a scenario with its recording."""

from __future__ import annotations

from typing import Annotated

import typer

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.formats import TableFormat
from msmq_wire.cli.reading_options import BODY_KEYS, ReadingOptions, with_reading_options
from msmq_wire.cli.recording_folder import RecordingFolder, default_scenario, read_folder
from msmq_wire.cli.render.comparison_table import print_comparison
from msmq_wire.cli.reporting import print_error
from msmq_wire.detection import RULES
from msmq_wire.detection.judge import beyond
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.recordings.compare import RecordingComparison
from msmq_wire.lab.recordings.compare_values import ComparisonResult
from msmq_wire.lab.recordings.compare_view import compared_rows
from msmq_wire.lab.recordings.redaction import publishable
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.report.redaction.redacted_findings import RedactingJudge
from msmq_wire.report.redaction.redactor import Redaction, Redactor

_DIFFERS = 3


@with_reading_options(follows=True, but=(*BODY_KEYS, "recursive", "queues", "redact"))
def compare_recording(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR",
            help="A folder with recording.json and the capture that it names.",
            show_default=False,
        ),
    ],
    format_: Annotated[TableFormat, typer.Option("--format", help="How to print it.")] = TableFormat.TABLE,
    publish: Annotated[
        bool,
        typer.Option("--publish", help="Leave out addresses and names of hosts, as --redact hosts does."),
    ] = False,
    *,
    options: ReadingOptions,
) -> None:
    """Compare a recorded scenario with its capture.

    recording.json says what an application was told, step by step: fixtures/record/record.ps1 makes it on
    Windows, and msmq-wire lab record. Every message, acknowledgment and call that it tells of is looked for
    in the capture and compared, value by value. What was captured and no step tells of differs, too, and so
    does every rule of msmq-wire findings and replay that the traffic breaks. A difference names its step,
    frames, field and offset, both values, and the readings of docs/deviations.md that it touches. What could
    not be compared is told. The scenario is DIR/scenario.json, or ours where its digest is the one recorded.

    Exit status: 0 all agree; 1 the folder or its capture could not be read; 2 bad usage; 3 something differs.

    Examples:

        msmq-wire compare-recording recorded

        msmq-wire compare-recording recorded --keytab server.keytab --format jsonl

        msmq-wire compare-recording recorded --publish > comparison.txt
    """
    zone = options.zone(None if format_ is TableFormat.TABLE else format_)
    redactor = Redactor({Redaction.HOSTS} if publish else set())
    try:
        read = read_folder(folder, default_scenario())
    except MsmqWireError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
    reading = options.reading([read.capture], redactor, streams=True)
    judge = RedactingJudge(RULES, redactor, budget=reading.budget)
    compared = _compare(reading, read, judge, redactor)
    if compared is None:
        raise typer.Exit(1)
    if format_ is TableFormat.JSONL:
        for row in compared_rows(compared):
            print(json_line(row))
    else:
        print_comparison(options.screen(), compared, zone)
    reading.tell_left_out(judge.left_out)
    more = beyond(judge.more)
    reading.print_summary(*_reported(compared), *more)
    raise typer.Exit(_DIFFERS if compared.differences else reading.status)


def _compare(
    reading: CaptureSet, read: RecordingFolder, judge: RedactingJudge, redactor: Redactor
) -> ComparisonResult | None:
    """What the comparison came to; None where nothing of the capture could be read."""
    comparison = RecordingComparison(read.recording, read.scenario, read.digest)
    for record in reading:
        comparison.feed(record)
        comparison.found(judge.feed(record))
    comparison.found(judge.finish())
    if judge.story is None or not reading.counts.understood:
        return None
    return publishable(comparison.finish(judge.story), redactor)


def _reported(compared: ComparisonResult) -> tuple[str, str, str]:
    differences, agreeing = len(compared.differences), sum(one.count for one in compared.agreements)
    return (
        count_text(differences, "difference") if differences else "no differences",
        f"{count_text(agreeing, 'value')} agree",
        f"{sum(one.count for one in compared.not_compared)} not compared",
    )
