"""``msmq-wire why``: says what happened to one message, or to the messages of a queue or a label."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from msmq_wire.api.why import TextLine, explained, gaps, heading, several
from msmq_wire.capture.listing import is_capture_name
from msmq_wire.cli.event_log_option import Events
from msmq_wire.cli.following import MESSAGE_HELP, CaptureStory, followed
from msmq_wire.cli.formats import LineFormat
from msmq_wire.cli.options import CaptureFiles
from msmq_wire.cli.reading_options import BODY_KEYS, ReadingOptions, with_reading_options
from msmq_wire.cli.render.step_text import StepText
from msmq_wire.detection.diagnosis import why as reasons
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.detection.diagnosis.timeline import message_steps, step_view
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.view import time_text
from msmq_wire.sessions import MessageLife, Story


def _no_capture(text: str) -> str:
    """What somebody calls a message. Raises typer.BadParameter where a FILE stands in its place."""
    if is_capture_name(text) and os.path.exists(text):
        raise typer.BadParameter(
            f"{text} is a capture; put the label, the queue or the id of the message last"
        )
    return text


@with_reading_options(follows=True, but=BODY_KEYS)
def why(
    files: CaptureFiles,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help=f"A {MESSAGE_HELP}",
            show_default=False,
            callback=_no_capture,
            is_eager=True,
        ),
    ],
    format_: Annotated[LineFormat, typer.Option("--format", help="How to print it.")] = LineFormat.TEXT,
    events: Events = None,
    *,
    options: ReadingOptions,
) -> None:
    """Say what became of a message, and why.

    One message is told in a sentence, with the reason, what to do, each step with its time and frame, and
    what the capture cannot tell of it. Where several fit TEXT they are counted and listed with their
    outcomes. A number that no message has is the id of an item, or a frame. JSON lines have an object for
    each message.

    Several files tell one story. The files of a ring buffer are one capture. Each step stands below the
    file that has its frame.

    Exit status: 0 done; 1 a FILE could not be read, was damaged or held no MSMQ traffic, or there is no such
    message; 2 bad usage.

    Examples:

        msmq-wire why capture.pcapng "Order 4711"

        msmq-wire why capture.pcapng "private$\\orders"

        msmq-wire why capture.pcapng "frame 59" --local

        msmq-wire why ring_*.pcapng "id 33"

        msmq-wire why capture.pcapng "Order 4711" --events receiver.evtx
    """
    zone = options.zone()
    read = followed(files, options, events=events)
    story, status = read.story, 0
    if read.is_reported:
        found = read.messages(text, len(story.lives))
        status = 0 if found else 1
        lives = [life for life in story.lives if life.message_id in found]
        out = StepText(options.screen(), zone, read.words)
        if format_ is LineFormat.JSONL:
            for life in lives:
                print(json_line(_row(life, story, read.words)))
        elif len(found) > 1:
            _several(out, lives, read, read.called(text))
        else:
            for life in lives:
                _one(out, life, story, read.words)
    read.end(status)


def _one(out: StepText, life: MessageLife, story: Story, words: Phrases) -> None:
    message = explained(life, story, words)
    _print(out, heading(message))
    out.steps(message_steps(life, story))
    _print(out, gaps(message))


def _several(out: StepText, lives: list[MessageLife], read: CaptureStory, called: str) -> None:
    found = []
    for life in lives:
        one = reasons.why(life, read.story, read.words)
        found.append((life.first.record, life.message_id, life.label, one.outcome, one.reason))
    _print(out, several(found, called))


def _print(out: StepText, lines: Iterable[TextLine]) -> None:
    for text, style, hang in lines:
        out.line(text, style, hang)


def _row(life: MessageLife, story: Story, words: Phrases) -> dict[str, Any]:
    one = explained(life, story, words)
    return {
        "message_id": one.message_id,
        "record": one.record,
        "capture": one.capture,
        "frame": one.frame,
        "time": time_text(one.time_ns),
        "label": one.label,
        "queue": one.queue,
        "outcome": one.outcome,
        "sentence": one.sentence,
        "reason": one.reason,
        "action": one.action,
        "path": one.path,
        "unknown": list(one.unknown),
        "steps": [step_view(step, words) for step in message_steps(life, story)],
    }
