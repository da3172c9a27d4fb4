"""``msmq-wire diagnose``: what is wrong in captures, and questions about them answered in plain words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from msmq_wire.cli.options import CaptureFiles
from msmq_wire.cli.reading import Reading
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.render.answer_text import AnswerText
from msmq_wire.cli.render.values import count_text
from msmq_wire.cli.rows import CsvWriter
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.findings import RULES
from msmq_wire.findings.diagnosis import JUDGED, QUESTIONS, Answer, Diagnosis
from msmq_wire.findings.diagnosis.inventory import INVENTORY_COLUMNS
from msmq_wire.findings.diagnosis.view import answer_view, digest_view
from msmq_wire.records.record import Record
from msmq_wire.redaction.judging import Telling
from msmq_wire.redaction.redactor import Redactor
from msmq_wire.sessions import Story

__all__ = ["AnswerFormat", "diagnose"]

_TABLE = 18
"""The question whose answer has rows."""


class AnswerFormat(StrEnum):
    """How answers are printed."""

    TEXT = "text"
    JSONL = "jsonl"
    CSV = "csv"


@with_reading_options(verifies=True)
def diagnose(
    files: CaptureFiles,
    format_: Annotated[
        AnswerFormat, typer.Option("--format", help="How to print them; csv is the table of question 18.")
    ] = AnswerFormat.TEXT,
    questions: Annotated[
        list[int] | None,
        typer.Option(
            "--question",
            metavar="N",
            min=min(QUESTIONS),
            max=max(QUESTIONS),
            help="Answer only this question. May be repeated.",
            show_default=False,
        ),
    ] = None,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="Of the answers show only those that call for a look.")
    ] = False,
    *,
    options: ReadingOptions,
) -> None:
    """Say what is wrong in captures, and answer eighteen questions, with the frames that show it.

    First come at most five lines: what is wrong, the cause first, how sure that is, in which frames it is
    seen, and what to do. Then the answers, those that call for a look first; with --question only these, in
    order.

    1 pings; 2 connections without an answer; 3 what was sent; 4 what was acknowledged and stored; 5 what
    vanished; 6 queue managers that share an identifier; 7 addresses; 8 ports; 9 remote reads; 10 encryption
    and signatures; 11 what wrote the bodies; 12 transactional streams; 13 peers, scans and exploits; 14 what
    was received or only stored, and what its sender keeps; 15 messages that come back again and again; 16 a
    time to be received that a transaction shares; 17 receivers that slow their senders down; 18 what a
    migration would have to carry, as a table that --format csv has for other programs. Several
    files are one capture: frames are named with their file. What is missing from a capture stands beside the
    answer that it touches. One message or one session step by step: msmq-wire timeline.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic; 2 bad usage.

    Examples:

        msmq-wire diagnose capture.pcapng

        msmq-wire diagnose capture.pcapng --flagged

        msmq-wire diagnose capture.pcapng --question 4 --question 5

        msmq-wire diagnose *.pcap --question 18 --format csv > inventory.csv

        msmq-wire diagnose *.pcap --redact hosts,labels --format jsonl > answers.jsonl
    """
    if format_ is AnswerFormat.CSV and set(questions or ()) != {_TABLE}:
        raise typer.BadParameter(
            f"csv is the table of one answer: --question {_TABLE}", param_hint="--format"
        )
    zone = options.zone()
    redactor = options.redactor()
    reading = options.reading(files, redactor, streams=True)
    numbers = sorted(set(questions or QUESTIONS))
    diagnosis = Diagnosis()
    story = _follow(reading, diagnosis, redactor, judged=bool(JUDGED & set(numbers)))
    answers: tuple[Answer, ...] = ()
    if reading.frames or not reading.status:
        answers = diagnosis.answers(story, numbers=numbers, zone=zone)
        digest = None if questions else diagnosis.digest(answers, story, frames=reading.frames)
        shown = [answer for answer in answers if answer.flagged or not flagged]
        if format_ is AnswerFormat.JSONL:
            if digest is not None:
                print(json_line(digest_view(digest)))
            for answer in shown:
                print(json_line(answer_view(answer)))
        elif format_ is AnswerFormat.CSV:
            write = CsvWriter([column.name for column in INVENTORY_COLUMNS])
            for row in answers[0].facts["rows"]:
                write(row)
        else:
            text = AnswerText(options.screen())
            if digest is not None:
                text.digest(digest)
                shown.sort(key=lambda answer: -answer.rank)
            for answer in shown:
                text.add(answer)
    reading.tell_left_out(story.left_out)
    looked = sum(answer.flagged for answer in answers)
    reading.tell_summary(f"{count_text(looked, 'answer')} to look at" if looked else "nothing stands out")
    raise typer.Exit(reading.status)


def _follow(reading: Reading, diagnosis: Diagnosis, redactor: Redactor, *, judged: bool) -> Story:
    """Feed a diagnosis with all records as they may be shown; return their story.

    Rules see what was captured, and take most of the time: they are asked only where an answer heeds them,
    and those that never speak above info not at all.
    """
    rules = {id_: rule for id_, rule in RULES.items() if rule.severity != "info"} if judged else {}
    telling = Telling(rules, redactor, diagnosis.leave)
    for item, found in telling.told(reading.batched()):
        if isinstance(item, Record):
            diagnosis.feed(item, found)
        else:
            diagnosis.take(item, found)
    found, story = telling.finish()
    diagnosis.found(found)
    return story
