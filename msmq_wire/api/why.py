"""`why`: what became of a message, and why, as a Python object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

import msgspec

from msmq_wire.api.capture_iterator import CaptureReport, Captures
from msmq_wire.api.following import follow_story
from msmq_wire.api.log_files import LogPaths, damage_texts, read_logs
from msmq_wire.arguments import check_text
from msmq_wire.detection import Evidence
from msmq_wire.detection.diagnosis import why as reasons
from msmq_wire.detection.diagnosis.computer_log_texts import only_logged
from msmq_wire.detection.diagnosis.naming import matching, no_message
from msmq_wire.detection.diagnosis.phrases import Phrases, count, quoted, short
from msmq_wire.detection.diagnosis.timeline import TimelineStep, located, message_steps, step_texts
from msmq_wire.errors import CaptureError, NoSuchMessageError
from msmq_wire.html_values import facts_html, rows_html
from msmq_wire.invisible import escaped
from msmq_wire.records.outcome import Outcome
from msmq_wire.records.recognition import Ports
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.records.view import date_time
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.representation import line, shortened
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.sessions import MessageLife, Story

_SHOWN = 20
"""Messages that are listed of those that fit; all of them are counted."""
FoundMessage: TypeAlias = tuple[int, str, str | None, Outcome, str]
"""One of several messages: its record, identifier, label, outcome and reason."""


class TextLine(NamedTuple):
    """A line of the command: its text, its style, and how far what goes on below is indented."""

    text: str
    style: str = ""
    hang: int = 0


class ExplainedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a message: the time, the sender, the receiver, and the event, with where it was seen.

    ``told_by`` is the queue manager that tells the event in a report message, None where the frame itself
    shows it. ``file`` is the short name of the capture if there are several. ``seen_at`` says what each
    vantage point saw of it, where not all saw all of it. ``event_log`` is the computer whose event log says
    it, None for what the capture shows; such a step has no capture and no frame.
    """

    record: int
    capture: str
    frame: int | None
    time_ns: int | None
    src: str
    dst: str
    what: str
    detail: str
    file: str = ""
    told_by: str | None = None
    seen_at: tuple[str, ...] = ()
    event_log: str | None = None

    def __repr__(self) -> str:
        time = "" if self.time is None else f"{self.time:%Y-%m-%d %H:%M:%S.%f}"[:-3] + "Z"
        return line(self, time, shortened(self.text, 120))

    @property
    def time(self) -> datetime | None:
        """When it happened, in UTC."""
        return date_time(self.time_ns)

    @property
    def text(self) -> str:
        """The event with what is known of it."""
        return f"{self.what}: {self.detail}" if self.detail else self.what


class ExplainedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message.

    ``sentence`` tells it, with the ``reason`` and the ``action``, empty if nothing is to be done. ``unknown``
    is what the capture does not show. ``record``, ``capture``, ``frame`` and ``time`` are those of the packet
    that brought it first, ``steps`` all that happened to it, in order. ``path`` is the way that report
    messages tell, empty without any. ``str`` gives the text of the command.
    """

    message_id: str
    record: int
    capture: str
    frame: int | None
    time_ns: int | None
    label: str | None
    queue: str | None
    outcome: Outcome
    sentence: str
    reason: str
    action: str
    unknown: tuple[str, ...]
    steps: tuple[ExplainedStep, ...]
    path: str = ""

    def __repr__(self) -> str:
        return line(self, f"({self.outcome})", shortened(self.sentence, 120))

    def __str__(self) -> str:
        above, below = ([one.text for one in lines] for lines in (heading(self), gaps(self)))
        return "\n".join(escaped(one).rstrip() for one in (*above, *self._step_lines(), *below))

    def _step_lines(self) -> Iterator[str]:
        start = next((step.time_ns for step in self.steps if step.time_ns is not None), None)
        width = max((len(step.what) for step in self.steps), default=0)
        file = ""
        for step in self.steps:
            if step.file and step.file != file:
                file = step.file
                yield f"in {file}:"
            yield step_texts(step, step.time_ns, step.frame, start, UTC, "→").line(width)

    def _repr_html_(self) -> str:
        facts = (
            ("what", self.sentence),
            ("why", self.reason),
            ("told path", self.path),
            ("to do", self.action),
            ("unknown", "\n".join(self.unknown)),
        )
        steps = [(step.time, step.src, step.dst, step.text) for step in self.steps]
        title = f"message {short(self.message_id)}: {self.outcome}"
        return facts_html(title, facts) + rows_html("Steps", ("time", "from", "to", "event"), steps)

    @property
    def time(self) -> datetime | None:
        """When it was seen first, in UTC."""
        return date_time(self.time_ns)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The places that show the steps, each once."""
        return tuple(dict.fromkeys(_evidence(step) for step in self.steps if step.event_log is None))


class WhyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The ``messages`` that somebody meant, at least one. ``str`` gives the text of the command ``why``.

    Where one fits, its outcome, sentence, steps and so on are attributes of the answer, too. Where several
    fit, these raise NoSuchMessageError, which says how many there are. ``errors`` say which files could not
    be read to their end, ``notices`` what else to know of the reading.
    """

    words: str
    messages: tuple[ExplainedMessage, ...]
    errors: tuple[CaptureError, ...] = ()
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if len(self.messages) == 1:
            return line(self, f"({self.outcome})", shortened(self.sentence, 120))
        return line(self, f"{len(self.messages):,} messages fit {shortened(repr(self.words))}")

    def __iter__(self) -> Iterator[ExplainedMessage]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    def __str__(self) -> str:
        if len(self.messages) == 1:
            return str(self.message)
        found = [(one.record, one.message_id, one.label, one.outcome, one.reason) for one in self.messages]
        return "\n".join(escaped(one.text) for one in several(found, self.words))

    def _repr_html_(self) -> str:
        if len(self.messages) == 1:
            return self.message._repr_html_()
        rows = [(short(one.message_id), one.label, one.outcome, one.sentence) for one in self.messages]
        return rows_html(f"Messages for {self.words!r}", ("message", "label", "outcome", "what"), rows)

    @property
    def message(self) -> ExplainedMessage:
        """The only message. Raises NoSuchMessageError where several fit."""
        first, *others = self.messages
        if others:
            counts = Counter(one.outcome for one in self.messages).most_common()
            outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in counts)
            raise NoSuchMessageError(
                f"{count(len(self.messages), 'message')} fit {self.words!r} ({outcomes}): "
                f"take one of .messages, or name one, as {short(first.message_id)}"
            )
        return first

    @property
    def outcome(self) -> Outcome:
        """What became of it."""
        return self.message.outcome

    @property
    def sentence(self) -> str:
        """What became of it, in a sentence."""
        return self.message.sentence

    @property
    def reason(self) -> str:
        """Why."""
        return self.message.reason

    @property
    def action(self) -> str:
        """What to do; empty if nothing is to be done."""
        return self.message.action

    @property
    def unknown(self) -> tuple[str, ...]:
        """What the capture does not show."""
        return self.message.unknown

    @property
    def steps(self) -> tuple[ExplainedStep, ...]:
        """All that happened to it, in order."""
        return self.message.steps

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The places that show the steps."""
        return self.message.evidence


def why(
    path: Captures,
    words: str,
    *,
    ports: Ports = (),
    negotiator: Negotiator | None = None,
    memory: int | None = None,
    recursive: bool = False,
    events: LogPaths = (),
) -> WhyAnswer:
    """Say what became of a message, and why; other arguments as for `messages`.

    ``words`` are text in its label or queue, ``GUID\\NUMBER``, the first digits of its GUID with
    ``\\NUMBER``, ``NUMBER`` alone, ``frame N``, ``frame N of FILE`` or ``id N``.

    ``events`` are event logs of Windows, .evtx or XML: what they say of the message are steps, too.

    Raises NoSuchMessageError where no message fits, CaptureError for a file that cannot be read,
    MissingExtraError for .evtx without the package evtx, and TypeError where ``words`` is no text.
    """
    check_text("words", words)
    logs = read_logs(events)
    report = CaptureReport(
        path, ports=ports, streams=True, negotiator=negotiator, memory=memory, recursive=recursive
    )
    story, phrases = follow_story(report.sequence, Redactor(set()))
    story = story.beside(logs)
    report.dropped, report.more = story.left_out, damage_texts(logs)
    report.warn()
    found = matching(story, words, len(story.lives), phrases)
    if not found:
        raise NoSuchMessageError(f"{no_message(repr(words))}{only_logged(story, words)}")
    lives = [life for life in story.lives if life.message_id in found]
    messages = tuple(explained(life, story, phrases) for life in lives)
    return WhyAnswer(words=words, messages=messages, errors=report.errors, notices=report.notices)


def explained(life: MessageLife, story: Story, words: Phrases) -> ExplainedMessage:
    """What became of a message of a story."""
    reported = reasons.why(life, story, words)
    capture, frame = words.located(life.first)
    return ExplainedMessage(
        message_id=life.message_id,
        record=life.first.record,
        capture=capture,
        frame=frame,
        time_ns=life.first.time,
        label=life.label,
        queue=life.queue,
        outcome=reported.outcome,
        sentence=reported.sentence,
        reason=reported.reason,
        action=reported.action,
        unknown=reported.unknown,
        steps=tuple(_step(step, words) for step in message_steps(life, story)),
        path=reported.path,
    )


def heading(message: ExplainedMessage) -> Iterator[TextLine]:
    """The lines about a message above its steps."""
    yield TextLine(message.sentence, "strong")
    yield TextLine(f"Why: {message.reason}", hang=5)
    if message.path:
        yield TextLine(f"Path, as queue managers tell it: {message.path}.", hang=6)
    if message.action:
        yield TextLine(f"To do: {message.action}.", hang=7)
    yield TextLine(f"Message {message.message_id}, id {message.record}:", "dim")


def gaps(message: ExplainedMessage) -> Iterator[TextLine]:
    """The lines below the steps: what the capture cannot tell."""
    if message.unknown:
        yield TextLine("The capture cannot tell:")
        yield from (TextLine(f"- {text}", hang=2) for text in message.unknown)


def several(found: Sequence[FoundMessage], called: str) -> Iterator[TextLine]:
    """The lines about several messages that fit: how many by outcome, and a line for each, the rare first."""
    outcomes = Counter(outcome for _, _, _, outcome, _ in found)
    counts = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.most_common())
    yield TextLine(f"{count_text(len(found), 'message')} fit {called}: {counts}.", "strong")
    # What is rare is what somebody looks for.
    ranked = sorted(found, key=lambda one: (outcomes[one[3]], one[0]))
    for _, message_id, label, outcome, reason in ranked[:_SHOWN]:
        yield TextLine(f"{short(message_id)}{quoted(label)}: {outcome}, {reason.removesuffix('.')}", hang=2)
    if len(ranked) > _SHOWN:
        yield TextLine(f"and {count_text(len(ranked) - _SHOWN, 'more message')}")
    yield TextLine(f'One of them: msmq-wire why FILE "{short(ranked[0][1])}"', "dim")


def _step(step: TimelineStep, words: Phrases) -> ExplainedStep:
    capture, frame = located(step, words)
    return ExplainedStep(
        record=step.at.record,
        capture=capture,
        frame=frame,
        time_ns=step.at.time,
        src=step.src,
        dst=step.dst,
        what=step.what,
        detail=step.detail,
        file="" if step.put is not None else words.file(step.at),
        told_by=None if step.told_by is None else str(step.told_by),
        seen_at=step.seen_at,
        event_log=None if step.put is None else step.put.log.computer,
    )


def _evidence(step: ExplainedStep) -> Evidence:
    return Evidence(
        capture=step.capture,
        record=step.record,
        frames=() if step.frame is None else (step.frame,),
        time=step.time_ns,
        src=step.src or None,
        dst=step.dst or None,
    )
