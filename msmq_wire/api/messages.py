"""`messages`: the messages in captures as Python objects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msmq_wire.api.capture_iterator import CaptureIterator, CaptureReport, Captures
from msmq_wire.api.filters import Expressions, filter_of, filters_by_outcome
from msmq_wire.api.limits import READ_TWICE
from msmq_wire.api.message_attributes import MessageAttributes
from msmq_wire.api.outcomes import Outcomes
from msmq_wire.errors import ArgumentError
from msmq_wire.html_values import facts_html
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.joined_capture import located
from msmq_wire.records.message import MessageValues, message_of
from msmq_wire.records.message_body import MessageBody
from msmq_wire.records.outcome import OUTCOME, Outcome
from msmq_wire.records.recognition import Ports
from msmq_wire.representation import line
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    from msmq_wire.records import public_record
    from msmq_wire.records.filter.compiling import Filter


class Message(MessageAttributes, frozen=True, kw_only=True):
    """A message in a capture: each column of the command ``messages`` is an attribute.

    Times are aware datetimes in UTC; beside each is its name with ``_ns``, the nanoseconds since 1970. A
    number that has names is a member of its enumeration, or an int without one. ``body`` are the bytes of the
    body, ``text`` is the body where it is text. What was not captured is None. ``record`` is the item of the
    capture, with the whole packet.

    ``outcome`` is the strongest outcome that the capture shows; None where it is not known who sent the
    message, or where no outcomes were asked for.
    """

    outcome: Outcome | None = None

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in ("id", "queue", "label", "outcome"))
        return line(self, *shown)

    def _repr_html_(self) -> str:
        names = ("sent_at", "time", "src", "dst", "queue", "label", "message_id", "outcome", "text")
        return facts_html(f"message {self.id}", ((name, getattr(self, name, None)) for name in names))

    @cached_property
    def _values(self) -> MessageValues:
        values = message_of(self.record, acknowledgments=True, inside=True)
        assert values is not None
        return values

    def _column(self, name: str) -> Any:
        return self._values[name]

    @property
    def text(self) -> str | None:
        """The body as text, as `body_text`."""
        return self.body_text

    @property
    def message_body(self) -> MessageBody | None:
        """The body with what is known of it: whether it is whole, and in ``content`` what is in it."""
        body: MessageBody | None = self._column("body")
        return body


def messages(
    path: Captures,
    *,
    filter: Expressions = None,
    outcomes: bool = True,
    all: bool = False,
    ports: Ports = (),
    negotiator: Negotiator | None = None,
    memory: int | None = None,
    recursive: bool = False,
) -> CaptureIterator[Message]:
    """Iterate over the messages in captures, including those returned by remote reads.

    ``path`` is a path, ``"-"`` for standard input, a binary file object, or several paths: files that follow
    each other in time are one capture. A folder is all captures in it, with ``recursive`` also those in its
    folders. ``filter`` is what ``--filter`` takes; of several all must match. ``all`` adds order and final
    acknowledgments. ``ports`` and ``negotiator`` are those of `read_capture`. Encrypted bodies are opened
    within `msmq_wire.records.body_keys.opening_bodies`.

    For outcomes the captures are read once to their end before the first message is given: ``memory`` bounds
    the bytes that this takes, by default as `--memory` of the command. ``outcomes=False`` reads them once.

    Raises ArgumentError for a wrong filter, and for outcomes of what can be read only once. Iterating raises
    CaptureError for a file that cannot be opened or is no capture. A damaged file gives what is before the
    damage; ``errors`` and ``notices`` of the iterator say so afterwards.
    """
    matches = filter_of(filter, outcomes=outcomes, way="outcomes=True filters by it")
    report = CaptureReport(path, ports=ports, negotiator=negotiator, memory=memory, recursive=recursive)
    if outcomes and report.sequence.once:
        way = "" if filters_by_outcome(filter) else ", or use outcomes=False"
        raise ArgumentError(f"{OUTCOME.name} {READ_TWICE}{way}")
    return CaptureIterator(report, _messages(report, matches, outcomes=outcomes, acknowledgments=all))


def _messages(
    report: CaptureReport, matches: Filter | None, *, outcomes: bool, acknowledgments: bool
) -> Iterator[Message]:
    found = Outcomes(report.sequence) if outcomes else None
    outcome_of = None if found is None else found.of_record
    if found is not None:
        report.dropped = found.left_out
    for record in map(located, report.sequence):
        if message_of(record, acknowledgments=acknowledgments) is None:
            continue
        if matches is None or matches(Subject(record, outcome_of)):
            outcome = None if outcome_of is None else outcome_of(record)
            yield Message(record=cast("public_record.Record", record), outcome=outcome)
