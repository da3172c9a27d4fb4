"""``msmq-wire report``: writes a report about captures as one HTML page."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, BinaryIO

import msgspec
import typer

from msmq_wire.capture.carve.queue_totals import Queues
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.options import CaptureFiles, Force, check_output
from msmq_wire.cli.reading_options import ReadingOptions, with_reading_options
from msmq_wire.cli.reporting import print_error, version_text
from msmq_wire.detection import RULES, SEVERITIES, Finding
from msmq_wire.output import whole_file
from msmq_wire.records.joined_capture import located
from msmq_wire.records.record import Record
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.report.at_rest import AtRest
from msmq_wire.report.evicted_totals import EvictedTotals
from msmq_wire.report.finding_section import FindingSample
from msmq_wire.report.page import ReadFacts, report_page
from msmq_wire.report.redaction.redacted_findings import RedactedFindings
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.report.totals import Totals
from msmq_wire.sessions import Story

if TYPE_CHECKING:
    from msmq_wire.capture.packet_batch import PacketBatch
    from msmq_wire.detection.diagnosis import Diagnosis


@with_reading_options(carves=True, follows=True, verifies=True, but=("utc", "local", "timezone", "color"))
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
    """Write a report about captures as one HTML page.

    The page loads nothing from a network. On top it says what is wrong, then what diagnose answers, with
    links to what shows it: findings with their bytes, who talks to whom, message rate and acknowledgment
    latency, queues, sessions over time, remote reads, a table of messages to search, to sort and to open, the
    SHA-256 of every FILE, and what is missing. The table has at most 50,000 messages; all counts are of all
    of them. The same captures give the same page.

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
        print_error(f"cannot write {output}: there is no folder {folder}")
        raise typer.Exit(1)
    redactor = options.redactor()
    reading = options.reading(files, redactor, streams=True)
    _refuse_inputs(reading.files, output)
    reading.hashing = True
    taken = _Taken(bodies="bodies" not in redactor.what)
    story, diagnosis = _follow(reading, redactor, taken)
    if not taken.totals.records and reading.status:
        # Nothing could be read, and the errors say so.
        raise typer.Exit(1)
    facts = ReadFacts(
        program=version_text(),
        captures=tuple(_name(redactor.file(one)) for one in reading.files),
        files=tuple(
            msgspec.structs.replace(one, name=_name(redactor.file(one.name))) for one in reading.hashed
        ),
        frames=reading.counts.frames,
        understood=reading.counts.understood,
        skipped=reading.counts.skipped,
        notices=() if redactor.hides_hosts else tuple(reading.counts.notices),
        failures=tuple(taken.failures),
        redacted=tuple(sorted(redactor.what)),
        at_rest=_at_rest(reading, taken, redactor),
        starts=_starts(reading),
    )
    sample, answers = taken.sample, diagnosis.answers(story)
    # The questions are about networks.
    digest = None if reading.at_rest else diagnosis.digest(answers, story, frames=reading.counts.frames)
    parts = list(report_page(taken.totals, story, sample, facts, taken.gone, answers=answers, digest=digest))
    try:
        with _opened(output, force=force) as page:
            page.writelines(part.encode() for part in parts)
    except BrokenPipeError:
        raise
    except OSError as error:
        print_error(f"cannot write {output}: {error.strerror or error}")
        raise typer.Exit(1) from None
    reading.tell_left_out(story.left_out)
    reading.print_summary(
        _found(sample),
        f"report written to {'standard output' if output == '-' else output}",
    )
    raise typer.Exit(reading.status)


def _found(sample: FindingSample) -> str:
    """How much was found, for the summary line."""
    total = sample.total + sample.more.total()
    above = any(sample.severities[name] for name in SEVERITIES[1:])
    return count_text(total, "finding") if above or not total else "nothing above info"


class _Taken:
    """What a page is made of beside the story, as far as it was read; ``failures`` are damaged files."""

    def __init__(self, *, bodies: bool) -> None:
        self.totals = Totals(bodies=bodies)
        self.sample = FindingSample()
        self.gone = EvictedTotals()
        self.failures: list[str] = []
        self.queues = Queues()

    def add(self, item: Record | PacketBatch, found: list[Finding]) -> None:
        """Take what was read, and what was found there."""
        others: tuple[Record, ...]
        if isinstance(item, Record):
            self.totals.feed(item)
            if item.grade is not None:
                self.queues.add(item)
            others = (item,)
        else:
            self.totals.take(item)
            others = item.others
        for record in others:
            if record.type == "error" and record.error is None:
                self.failures.append(
                    f"{_name(located(record).capture)}: {record.reason or 'the file is damaged'}"
                )
        self.sample.add(found)

    def finish(self, found: list[Finding], more: Mapping[str, int]) -> None:
        """Take what is found at the end; ``more`` counts by rule what was not given."""
        self.sample.add(found)
        self.sample.more.update(more)


def _follow(reading: CaptureSet, redactor: Redactor, taken: _Taken) -> tuple[Story, Diagnosis]:
    """Take everything that is read as it may be shown; the story and the diagnosis."""
    redacted = RedactedFindings(RULES, redactor, taken.gone.leave, budget=reading.budget)
    for item, found in redacted.judged(reading.batched()):
        taken.add(item, found)
    found, story = redacted.finish()
    taken.finish(found, redacted.more)
    return story, redacted.diagnosis


def _starts(reading: CaptureSet) -> tuple[int | None, ...]:
    """How many frames of its capture lie before each file that was opened; nothing where each is alone.

    None for files of vantage points.
    """
    if reading.at_rest or all(len(files) == 1 for files in reading.captures):
        return ()
    firsts = {files[0] for files in reading.captures}
    merged = {file for files in reading.shared for file in files}
    starts: list[int | None] = []
    before = 0
    for one in reading.hashed:
        before = 0 if one.name in firsts else before
        starts.append(None if one.name in merged else before)
        before += one.frames
    return tuple(starts)


def _at_rest(reading: CaptureSet, taken: _Taken, redactor: Redactor) -> AtRest | None:
    """What was searched, and what was found there by queue."""
    if not reading.at_rest:
        return None
    return AtRest([redactor.redacted(one) for one in reading.searched], taken.queues)


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
