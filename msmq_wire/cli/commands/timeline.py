"""``msmq-wire timeline``: every step of one message, of one session as a diagram, or of a whole capture."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Annotated, Any

import typer

from msmq_wire.cli.event_log_option import Events
from msmq_wire.cli.following import MESSAGE_HELP, CaptureStory, followed
from msmq_wire.cli.formats import TimelineFormat
from msmq_wire.cli.options import CaptureFiles, Filters, filter_for
from msmq_wire.cli.reading_options import BODY_KEYS, ReadingOptions, with_reading_options
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.render.step_text import StepText
from msmq_wire.cli.reporting import print_error
from msmq_wire.cli.selection import Selection
from msmq_wire.cli.timeline_output import TimelineRows, print_items
from msmq_wire.detection.diagnosis.network_phrases import fault_clause
from msmq_wire.detection.diagnosis.phrases import Phrases, quoted, short
from msmq_wire.detection.diagnosis.timeline import SessionSteps, TimelineStep, message_steps, step_view
from msmq_wire.detection.network_faults import shown_faults
from msmq_wire.records.tree.srmp_nodes import shortened
from msmq_wire.records.tree.value_text import count_text, timestamp_text
from msmq_wire.records.view import time_text
from msmq_wire.sessions import MessageLife, Session, Story
from msmq_wire.sessions.point_sights import PointCount

_MOST = 3
_MOST_CANDIDATES = 10


@with_reading_options(follows=True, but=BODY_KEYS)
def timeline(
    files: CaptureFiles,
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            metavar="TEXT",
            help=f"A message: a {MESSAGE_HELP}",
            show_default=False,
        ),
    ] = None,
    session: Annotated[
        int | None,
        typer.Option(
            "--session",
            metavar="N",
            min=0,
            help="A session by order of appearance, from 0.",
            show_default=False,
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="All packets, calls and steps of connections in the capture.")
    ] = False,
    format_: Annotated[
        TimelineFormat, typer.Option("--format", help="How to print it.")
    ] = TimelineFormat.TEXT,
    filters: Filters = None,
    events: Events = None,
    *,
    options: ReadingOptions,
) -> None:
    """Show one message, session or whole capture, step by step.

    Each step has its time, its frame and its sender. A message: where it was sent, sent again and sent on,
    what acknowledged it, who read it, and what event logs say of it (--events). A session: a sequence
    diagram of its packets, client on the left; the FILEs are read twice for it, so standard input cannot be
    among them. With neither, the sessions are listed with their numbers.

    With --all every packet, call and step of a connection has a line, in the order of time; --filter chooses
    among them. Captures that do not belong together come one after the other. timesketch and timesketch-csv
    are files that Timesketch imports: "message", "datetime" and "timestamp_desc" come first.

    Several files tell one story. The files of a ring buffer are one capture. Each step stands below the
    file that has its frame.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, or there is no such
    message or session; 2 bad usage, or several messages fit TEXT.

    Examples:

        msmq-wire timeline capture.pcapng --session 0

        msmq-wire timeline capture.pcapng --message "Order 4711"

        msmq-wire timeline capture.pcapng --message "a1d30c5b\\4162" --local

        msmq-wire timeline *.pcapng --all --format timesketch > timeline.jsonl
    """
    zone = options.zone()
    if all_ + (message is not None) + (session is not None) > 1:
        raise typer.BadParameter("only one of --all, --message and --session can be used")
    if events and message is None:
        raise typer.BadParameter("events are about messages: use it with --message", param_hint="--events")
    if all_:
        redactor = options.redactor()
        reading = options.reading(files, redactor, streams=True)
        selection = Selection(filter_for(filters, zone))
        notes = print_items(reading, redactor, selection, format_, StepText(options.screen(), zone))
        reading.print_summary(*notes)
        raise typer.Exit(reading.status)
    if filters:
        raise typer.BadParameter("it chooses among all items: add --all", param_hint="--filter")
    if format_ not in (TimelineFormat.TEXT, TimelineFormat.JSONL) and message is None and session is None:
        raise typer.BadParameter("what is to be in it: add --all, --message TEXT or --session N")
    read = followed(files, options, twice=session is not None, events=events)
    rows = None if format_ is TimelineFormat.TEXT else TimelineRows(format_)
    show = _Shown(rows, StepText(options.screen(), zone, read.words), zone)
    status = 0
    if read.is_reported:
        if message is not None:
            status = show.message(read, message)
        elif session is not None:
            status = show.session(read, session)
        else:
            show.sessions(read)
    read.end(status, *(() if rows is None else rows.notes))


class _Shown:
    """Prints what was asked for; each of its methods returns an exit status."""

    def __init__(self, rows: TimelineRows | None, text: StepText, zone: tzinfo | None) -> None:
        self._rows = rows
        self._text = text
        self._zone = zone

    def message(self, read: CaptureStory, wanted: str) -> int:
        """The steps of a message."""
        found, story = read.messages(wanted, _MOST_CANDIDATES), read.story
        if not found:
            return 1
        if len(found) > 1:
            shown = [f"{short(name)}{quoted(label)}" for name, label in found.items()]
            text = ", ".join(shown[:_MOST]) + (" and others" if len(shown) > _MOST else "")
            print_error(f"several messages fit {read.called(wanted)}: {escaped(text)}")
            return 2
        for life in story.lives:
            if life.message_id not in found:
                continue
            steps = message_steps(life, story)
            if self._rows is not None:
                _write(self._rows, steps, read.words)
                continue
            for line in _life_lines(life):
                self._text.line(line)
            self._text.steps(steps)
            self._text.line(f"Outcome: {life.outcome}, since {life.reason}.", "strong")
        return 0

    def session(self, read: CaptureStory, number: int) -> int:
        """The steps of a session."""
        found = read.story.session(number)
        if found is None:
            count = len(read.story.sessions)
            what = f"they are 0 to {count - 1}" if count else "there is none"
            print_error(f"no session {number} in the capture: {what}")
            return 1
        steps = _read_again(found, read)
        if self._rows is not None:
            _write(self._rows, steps.steps, read.words)
            return 0
        self._text.line(_session_line(found), "strong", hang=4)
        self._text.line(_when(found, self._zone), "dim")
        for line in _seen(found, read.story):
            self._text.line(line, "dim")
        self._text.diagram(steps.steps, found.client, found.server)
        if steps.more:
            self._text.line(f"{count_text(steps.more, 'more step')} not shown.")
        self._text.line(_end(found))
        for fault in shown_faults(found, read.story.visibility):
            clause = fault_clause(fault)
            self._text.line(f"Network: {clause}.", hang=4)
        return 0

    def sessions(self, read: CaptureStory) -> None:
        """A line for each session."""
        file = ""
        for one in read.story.sessions:
            if self._rows is not None:
                self._rows.write(_session_row(one, read), one.first.time)
            else:
                file = self._text.heading(one.first, file)
                self._text.line(_session_line(one), hang=4)
        if not read.story.sessions and self._rows is None:
            self._text.line("No session in the capture; with --message a message is told.")


def _write(rows: TimelineRows, steps: list[TimelineStep], words: Phrases) -> None:
    for step in steps:
        rows.write(step_view(step, words), step.at.time)


def _read_again(session: Session, read: CaptureStory) -> SessionSteps:
    """The steps of a session from a second reading."""
    steps: SessionSteps | None = None
    for record in read.reading.again():
        shown = read.redactor.record(record)
        if steps is None and (record.stream, record.id) == (session.stream, session.first.record):
            steps = SessionSteps(shown.capture, session.stream)
        if steps is not None:
            steps.feed(shown)
    return steps or SessionSteps(session.capture, session.stream)


def _life_lines(life: MessageLife) -> list[str]:
    label = f' "{life.label}"' if life.label else ""
    return [
        f"Message {life.message_id}{label}",
        f"to {shortened(life.queue or 'a queue that is not known')}",
    ]


def _session_line(session: Session) -> str:
    sent, back = (direction.messages for direction in session.directions)
    text = f"session {session.number}: {session.client} to {session.server}, {session.state}"
    counts = f"{count_text(sent, 'message')} there, {back} back"
    return f"{text.replace('_', ' ')}, {counts}"


def _when(session: Session, zone: tzinfo | None) -> str:
    begun = "" if session.first.time is None else f"begins {timestamp_text(session.first.time, zone)}"
    guids = [str(guid) for guid in (session.client_queue_manager, session.server_queue_manager) if guid]
    named = f"queue managers {', '.join(guids)}" if guids else ""
    return "; ".join(part for part in (begun, named) if part)


def _end(session: Session) -> str:
    by = f" by the {session.closer}" if session.closer else ""
    how = {
        "fin": f"closed{by}",
        "reset": f"reset{by}",
        "unreachable": "ended by ICMP",
        "silent": "no answer any more",
        "capture_end": "still there when the capture ended",
    }[session.closed_by]
    reason = f", as for {session.reason.replace('_', ' ')}" if session.reason else ""
    waiting = [direction.unacknowledged for direction in session.directions]
    left = f"; without acknowledgment: {waiting[0]} there, {waiting[1]} back" if any(waiting) else ""
    return f"End: {how}{reason}{left}."


def _seen(session: Session, story: Story) -> Iterator[str]:
    """How much of a session each vantage point saw."""
    for point, seen, total in _points(session, story):
        yield f"{'all' if seen == total else f'{seen:,}'} of {count_text(total, 'packet')} seen at {point}"


def _points(session: Session, story: Story) -> tuple[PointCount, ...]:
    sights = story.point_sights
    return () if sights is None else sights.of_stream(session.capture, session.stream)


def _session_row(session: Session, read: CaptureStory) -> dict[str, Any]:
    capture, frame = read.words.located(session.first)
    points = _points(session, read.story)
    seen_at = [{"point": one.point, "seen": one.seen, "packets": one.total} for one in points]
    return {
        "session": session.number,
        "client": session.client,
        "server": session.server,
        "state": session.state,
        "closed_by": session.closed_by,
        "reached": session.reached,
        "first": {"capture": capture, "frame": frame, "time": time_text(session.first.time)},
        "messages": [direction.messages for direction in session.directions],
        "unacknowledged": [direction.unacknowledged for direction in session.directions],
        **({"seen_at": seen_at} if seen_at else {}),
        "network": [fault.kind for fault in shown_faults(session, read.story.visibility)],
    }
