"""``msmq-wire diagnose``: says what is wrong in captures, and answers questions about them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from msmq_wire.api.diagnosis import diagnosed
from msmq_wire.cli.event_log_option import Events, given_logs
from msmq_wire.cli.options import CaptureFiles
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.render.answer_text import AnswerText
from msmq_wire.cli.row_writers import CsvWriter
from msmq_wire.detection.diagnosis import QUESTIONS
from msmq_wire.detection.diagnosis.answer_view import answer_view, digest_view
from msmq_wire.detection.diagnosis.inventory import INVENTORY_COLUMNS
from msmq_wire.engines.text.escaping import json_line

_TABLE = 18
"""The question whose answer has rows."""


class AnswerFormat(StrEnum):
    """How answers are printed."""

    TEXT = "text"
    JSONL = "jsonl"
    CSV = "csv"


@with_reading_options(follows=True, verifies=True)
def diagnose(
    files: CaptureFiles,
    format_: Annotated[
        AnswerFormat, typer.Option("--format", help="How to print it; csv is the table of question 18.")
    ] = AnswerFormat.TEXT,
    questions: Annotated[
        list[int] | None,
        typer.Option(
            "--question",
            metavar="N",
            min=min(QUESTIONS),
            max=max(QUESTIONS),
            help="Print the answer to this question, in place of the digest. May be repeated.",
            show_default=False,
        ),
    ] = None,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="Print the answers that call for a look.")
    ] = False,
    events: Events = None,
    *,
    options: ReadingOptions,
) -> None:
    """Say what is wrong in captures, and what to do about it.

    The digest has at most five causes, the most important first. Each says what happened, how sure that is,
    which frames show it, and what to do. "msmq-wire FILE" does the same.

    Behind the digest are the answers to 19 questions. -v prints those that have something to say, the most
    important first. --question prints one:

         1  pings                          10  encryption and signatures
         2  connections without an answer  11  programs that wrote the bodies
         3  messages that were sent        12  transactional streams
         4  acknowledgments                13  peers, scans and exploits
         5  messages that vanished         14  received or only stored
         6  cloned queue managers          15  messages that come back
         7  addresses                      16  shared times to be received
         8  ports                          17  slow receivers
         9  remote reads                   18  inventory for a migration
                                           19  what the capture could not see

    Several files are judged together, and frames are named with their file. The files of a ring buffer are
    one capture: their names differ in digits only, and they follow each other in time. What the capture does
    not hold stands beside the answer that it touches. JSON lines have the digest and all answers. To follow
    one message, use msmq-wire timeline.

    Event logs of Windows (--events) are a second witness: questions 4, 5 and 19 say what they add, and where
    they contradict the capture.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage.

    Examples:

        msmq-wire diagnose capture.pcapng

        msmq-wire diagnose capture.pcapng -v

        msmq-wire diagnose capture.pcapng --question 4 --question 5

        msmq-wire diagnose *.pcap --question 18 --format csv > inventory.csv

        msmq-wire diagnose capture.pcapng --events sender.evtx --events receiver.evtx

        msmq-wire diagnose *.pcap --redact hosts,labels --format jsonl > answers.jsonl
    """
    if format_ is AnswerFormat.CSV and set(questions or ()) != {_TABLE}:
        raise typer.BadParameter(
            f"csv is the table of one answer: --question {_TABLE}", param_hint="--format"
        )
    zone = options.zone()
    redactor = options.redactor()
    reading = options.reading(files, redactor, streams=True)
    logs = given_logs(events, redactor, quiet=options.quiet)
    found = diagnosed(reading, redactor, zone, questions or (), logs.files)
    shown = [answer for answer in found.answers if answer.flagged or not flagged]
    if format_ is AnswerFormat.JSONL:
        if found.digest is not None:
            print(json_line(digest_view(found.digest)))
        for answer in shown:
            print(json_line(answer_view(answer)))
    elif format_ is AnswerFormat.CSV:
        write = CsvWriter([column.name for column in INVENTORY_COLUMNS])
        for row in (row for answer in found.answers for row in answer.facts["rows"]):
            write(row)
    else:
        text = AnswerText(options.screen())
        if found.digest is not None:
            text.digest(found.digest)
            posed = [answer for answer in shown if answer.posed]
            shown = sorted(posed, key=lambda answer: -answer.rank) if options.verbose or flagged else []
            if posed and not shown:
                text.more(posed)
        for answer in shown:
            text.add(answer)
    reading.tell_left_out(found.story.left_out)
    reading.print_summary()
    raise typer.Exit(reading.status or logs.status)
