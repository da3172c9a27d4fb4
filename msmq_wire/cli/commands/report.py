"""``msmq-wire report``: captures as one HTML page to hand over."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, BinaryIO

import typer

from msmq_wire.cli.options import CaptureFiles, Force, check_output
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.render.values import count_text
from msmq_wire.cli.reporting import complain, version_text
from msmq_wire.findings import RULES, Judge
from msmq_wire.output import whole_file
from msmq_wire.redaction.judging import RedactingJudge
from msmq_wire.report import Gone, ReadFacts, Shelf, Totals, report_page
from msmq_wire.sessions import Follower

__all__ = ["report"]


@with_reading_options(but=("utc", "local", "timezone", "color"))
def report(
    files: CaptureFiles,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE",
            help="The HTML file to write; - is standard output.",
            show_default=False,
        ),
    ],
    force: Force = False,
    *,
    options: ReadingOptions,
) -> None:
    """Write a report about captures: one HTML page that loads nothing from a network.

    It has a summary, findings with their bytes, who talks to whom, message rate and acknowledgment latency,
    queues, sessions over time, remote reads, a table of messages to search and sort, and what is missing.
    The table has at most 50,000 messages; all counts are of all of them. The same captures give the same
    page.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, or PAGE could not
    be written; 2 bad usage, or PAGE is there. The page is written even when a FILE is damaged, and says so.

    Examples:

        msmq-wire report capture.pcapng -o report.html

        msmq-wire report *.pcap --redact hosts,labels,bodies -o report.html
    """
    if output != "-":
        check_output(output, "--output", force=force)
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        # Said before captures are read, and not after.
        complain(f"cannot write {output}: there is no folder {folder}")
        raise typer.Exit(1)
    redactor = options.redactor()
    reading = options.reading(files, redactor, streams=True)
    _refuse_inputs(reading.files, output)
    totals, shelf, gone = Totals(), Shelf(), Gone()
    # What is told comes from redacted records alone, so these are followed by themselves.
    follower = Follower(leave=gone.leave) if redactor.what else None
    plain = Judge(leave=gone.leave)
    judge = RedactingJudge(RULES, redactor) if redactor.what else plain
    failures = []
    for record in reading:
        shelf.add(judge.feed(record))
        shown = redactor.record(record)
        totals.feed(shown)
        if follower is not None:
            follower.feed(shown)
        if shown.type == "error" and shown.error is None:
            failures.append(f"{_name(shown.capture)}: {shown.reason or 'the file is damaged'}")
    shelf.add(judge.finish())
    shelf.more.update(judge.more)
    if not totals.records and reading.status:
        # Nothing could be read, and the errors say so.
        raise typer.Exit(1)
    facts = ReadFacts(
        program=version_text(),
        captures=tuple(map(_name, reading.files)),
        frames=reading.frames,
        understood=reading.understood,
        skipped=reading.skipped,
        notices=() if redactor.hides_hosts else tuple(reading.notices),
        failures=tuple(failures),
        redacted=tuple(sorted(redactor.what)),
    )
    story = plain.story if follower is None else follower.finish()
    assert story is not None
    parts = list(report_page(totals, story, shelf, facts, gone))
    try:
        with _opened(output, force=force) as page:
            page.writelines(part.encode() for part in parts)
    except BrokenPipeError:
        raise
    except OSError as error:
        complain(f"cannot write {output}: {error.strerror or error}")
        raise typer.Exit(1) from None
    reading.tell_left_out(story.left_out)
    reading.tell_summary(
        count_text(shelf.total + shelf.more.total(), "finding"),
        f"report written to {'standard output' if output == '-' else output}",
    )
    raise typer.Exit(reading.status)


def _refuse_inputs(files: Sequence[str], output: str) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            if os.path.samefile(file, output):
                raise typer.BadParameter(f"{output} is one of the captures", param_hint="--output")


def _name(file: str) -> str:
    return "standard input" if file == "-" else os.path.basename(file)


@contextlib.contextmanager
def _opened(output: str, *, force: bool) -> Iterator[BinaryIO]:
    if output == "-":
        yield sys.stdout.buffer
        return
    with whole_file(output, force=force) as page:
        yield page
