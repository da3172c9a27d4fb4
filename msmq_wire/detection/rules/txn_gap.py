"""TXN-GAP: a transactional message names a previous message that was not captured."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Severity
from msmq_wire.detection.overdue import RESENDS
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_at
from msmq_wire.sessions import Story, TransactionalStream, TransactionGap
from msmq_wire.spec import SpecRef


def _check(story: Story, context: Context) -> Iterator[Detection]:
    for stream in story.streams:
        if stream.gaps:
            session = story.session(stream.sessions[0]) if stream.sessions else None
            for gap in stream.gaps:
                yield _detection(stream, gap, "" if session is None else session.capture, story.last)


def _detection(stream: TransactionalStream, gap: TransactionGap, capture: str, last: int | None) -> Detection:
    severity, caveats = _severity_and_caveats(gap, last)
    moments = (gap.at,) if gap.filled is None else (gap.at, gap.filled)
    sequence = f"in sequence {stream.tx_sequence_id:#x} to {stream.queue or 'a queue'}"
    return Detection(
        message=f"{_missing_text(stream, gap)}, {sequence}: "
        f"message {gap.number} names {gap.previous} as the one before it, but the last one was {gap.after}",
        evidence=tuple(place_at(moment, stream.src, stream.dst, capture) for moment in moments),
        severity=severity,
        caveats=caveats,
    )


def _missing_text(stream: TransactionalStream, gap: TransactionGap) -> str:
    """The missing numbers, and how many messages wait for them."""
    first = gap.after + 1
    missing, one = f"numbers {first} to {gap.previous}", first >= gap.previous
    if one:
        missing = f"number {first}"
    elif gap.previous == first + 1:
        missing = f"numbers {first} and {gap.previous}"
    if gap.filled is not None:
        return f"{missing} came later than {gap.number}"
    behind = stream.last_number - gap.number + 1
    waiting = "1 message waits" if behind == 1 else f"{behind:,} messages wait"
    reported = f", and {waiting} for {'it' if one else 'them'}" if 0 < behind <= stream.messages else ""
    return f"{missing} {'is' if one else 'are'} missing{reported}"


def _severity_and_caveats(gap: TransactionGap, last: int | None) -> tuple[Severity | None, tuple[str, ...]]:
    if gap.filled is not None:
        return "info", ()
    if gap.at.time is not None and last is not None and last - gap.at.time < RESENDS:
        return "low", ("the capture ends less than 30 seconds later: the sender may have sent it after that",)
    return None, ()


RULE = Rule(
    id="TXN-GAP",
    title="A gap in a transactional sequence",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.6"), SpecRef("MS-MQQB", "3.1.1.6.2")),
    meaning="The receiver does not accept a message whose PreviousTxSequenceNumber is above the last number "
    "that it has. It waits until the sender sends the missing number. Until then the whole sequence stands "
    "still.",
    action="Look for the missing number: was it sent on another session, and do the OrderAcks of the "
    "receiver go on?",
    harmless="The missing message was sent before the capture began, or over another path.",
    over="story",
    needs=("between", "counted", "in_time"),
    check=_check,
)
