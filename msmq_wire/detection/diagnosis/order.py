"""Question 12: whether transactional streams are complete and in order.

The rule kept here: a receiver never requests a resend; the sender resends messages without an acknowledgment.
"""

from __future__ import annotations

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.message_sums import MessageSums, ResentMessages
from msmq_wire.detection.diagnosis.network_phrases import below, fault_action, fault_clause, layer_of_fault
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, listed, quoted, short
from msmq_wire.detection.finding import Severity, connection_of
from msmq_wire.detection.network_faults import shown_fault
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import Story, TransactionalStream
from msmq_wire.units import SECOND

_PATIENCE = 120 * SECOND
_MOST_SESSIONS = 64
"""A stream has the numbers of so many sessions."""
_GAPS: tuple[Need, ...] = ("between", "counted", "in_time")
_ACKS: tuple[Need, ...] = ("both_sides", "whole", "to_source", "counted")
"""What a capture must hold between two hosts to show that numbers, or OrderAcks, are missing."""


def streams(sums: MessageSums, story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 12, [MS-MQQB] 3.1.1.6.2, 3.1.5.8.6 and 2.2.4."""
    odd = sorted(story.streams, key=lambda one: not _is_odd(one))
    for stream in odd[:MOST]:
        attention: Severity | None = "info" if _is_odd(stream) else None
        gap = next((gap for gap in stream.gaps if gap.filled is None), None)
        sender, receiver = host(stream.src), host(stream.dst)
        if gap is not None and builder.was_captured_between(_GAPS, sender, receiver, gap.at):
            attention = "medium"
        elif _is_stuck(stream, story) and builder.was_captured_between(_ACKS, sender, receiver, stream.last):
            attention = "low"
            builder.add_cause(_stuck_cause(stream, story))
        moments = [moment for gap in stream.gaps[:MOST] for moment in (gap.at, gap.filled)]
        shown = stream.first, stream.last, *moments, stream.last_order_ack
        builder.say(_stream_text(stream, words), *shown, attention=attention)
    if len(story.streams) > MOST:
        whole = sum(not _is_odd(one) for one in story.streams)
        text = f"{len(story.streams):,} streams in all, {whole:,} of them complete and acknowledged."
        builder.say(text)
    for (sender, receiver), again in sums.confirmed_again.items():
        if builder.was_captured_between(_ACKS, sender, receiver, again.first.first):
            builder.add_cause(_ignored_acks_cause(sender, receiver, again))
    known = {stream.number: stream for stream in story.streams}
    for (number, place), message in sums.places.items():
        if number in known:
            covered = known[number].order_acks and place <= known[number].acknowledged
            builder.claim("covered" if covered else "not_covered", message)
    if any(stream.repeats or stream.gaps for stream in story.streams):
        builder.say(
            "A receiver never asks for a resend: it sends no OrderAck, and the sender sends again what no "
            "OrderAck covers."
        )
    builder.facts = {
        "streams": [
            {
                "source_queue_manager": str(stream.source_queue_manager),
                "tx_sequence_id": stream.tx_sequence_id,
                "queue": stream.queue,
                "messages": stream.messages,
                "first_number": stream.first_number,
                "last_number": stream.last_number,
                "acknowledged": stream.acknowledged,
                "awaiting": stream.awaiting,
                "gaps": len(stream.gaps) + stream.gaps_left_out,
                "repeats": stream.repeats,
                "certain": stream.certain,
            }
            for stream in odd[:64]
        ]
    }


def _is_odd(stream: TransactionalStream) -> bool:
    open_gap = any(gap.filled is None for gap in stream.gaps)
    return bool(open_gap or stream.repeats or stream.gaps or stream.awaiting or stream.acknowledged_ahead)


def _is_stuck(stream: TransactionalStream, story: Story) -> bool:
    """Whether messages wait for an OrderAck longer than the resend timer, [MS-MQQB] 3.1.2.6."""
    since, last = stream.last.time, story.last
    return bool(stream.awaiting) and since is not None and last is not None and last - since > _PATIENCE


def _stuck_cause(stream: TransactionalStream, story: Story) -> Cause:
    sender, receiver = host(stream.src), host(stream.dst)
    # Of more sessions the last one is not known.
    number = stream.sessions[-1] if 0 < len(stream.sessions) < _MOST_SESSIONS else None
    session = None if number is None else story.session(number)
    fault = shown_fault(session, story.visibility)
    queue = stream.queue or "a queue that is not known"
    return Cause(
        text=f"{count(stream.awaiting, 'transactional message')} from {sender} to {queue} are not covered by "
        f"an OrderAck{'' if fault is None else f': {fault_clause(fault)}'}",
        severity="low",
        confidence="likely" if stream.certain else "guess",
        moments=(stream.first, stream.last),
        who=(sender, receiver),
        action=f"look at {receiver}, and into the outgoing queue of {sender}"
        if fault is None
        else fault_action(fault),
        count=stream.awaiting,
        rules=("MSG-UNACKED",),
        kind="unanswered",
        about=receiver,
        brief=f"{count(stream.awaiting, 'message')} from {sender} not covered by an OrderAck",
        layer=None if fault is None else layer_of_fault(fault),
        below=below(fault),
        connections=()
        if fault is None or session is None
        else (connection_of(session.client, session.server),),
    )


def _stream_text(stream: TransactionalStream, words: Phrases) -> str:
    first, last = stream.first_number, stream.last_number
    numbers = f"number {first}" if first == last else f"numbers {first} to {last}"
    source = short(str(stream.source_queue_manager))
    text = f"Stream {stream.tx_sequence_id:#x} of {source} ({host(stream.src)}) to "
    different = count(stream.messages - stream.repeats, "message")
    text += f"{stream.queue or 'a queue that is not known'}: {different}, {numbers}"
    notes = []
    if first > 1:
        notes.append("it began before this capture")
    for gap in stream.gaps[:3]:
        notes.append(_gap_text(gap.after, gap.number, words.frame(gap.at), gap.certain))
        if gap.filled is not None:
            notes[-1] += f" and came from {words.frame(gap.filled)} on"
    more = len(stream.gaps) - 3 + stream.gaps_left_out
    if more > 0:
        notes.append(f"and {count(more, 'more gap')}")
    if not stream.gaps:
        notes.append("in order, no number is missing")
    if stream.bridges:
        left_out = [str(bridge.number) for bridge in stream.bridges]
        total = len(left_out) + stream.bridges_left_out
        notes.append(f"numbers before {listed(left_out, total)} were skipped by the sender, not lost")
    if stream.repeats:
        notes.append(f"{count(stream.repeats, 'number')} came again")
    if stream.order_acks:
        notes.append(
            f"OrderAcks cover all up to {stream.acknowledged}, last in {words.frame(stream.last_order_ack)}"
        )
    else:
        notes.append("no OrderAck was captured")
    if stream.awaiting:
        waiting = [str(number) for number in stream.awaiting_numbers]
        notes.append(f"not covered: {listed(waiting, stream.awaiting)}")
    if stream.acknowledged_ahead is not None:
        at = words.frame(stream.acknowledged_ahead)
        notes.append(f"the OrderAck in {at} covers numbers that were not captured")
    for class_, number in stream.final_acks:
        what = "received" if class_ == 0x4000 else f"class 0x{class_:04x}"
        notes.append(f"{count(number, 'FinalAck')} ({what})")
    return f"{text}; {'; '.join(notes)}."


def _gap_text(after: int, number: int, frame: str, certain: bool) -> str:
    missing = f"number {after + 1} is" if number - after == 2 else f"numbers {after + 1} to {number - 1} are"
    doubt = "" if certain else ", perhaps only from the capture"
    return f"{missing} missing before {number} in {frame}{doubt}"


def _ignored_acks_cause(sender: str, receiver: str, again: ResentMessages) -> Cause:
    """The cause for a sender that ignores OrderAcks."""
    life = again.first
    name = f"{short(life.message_id)}{quoted(life.label)}"
    what = f"message {name}" if again.count == 1 else f"{count(again.count, 'message')}, first {name},"
    return Cause(
        text=f"{sender} sent {what} {life.resends:,} times again though {receiver} had confirmed it with an "
        f"OrderAck: the OrderAcks do not reach the queue manager of {sender}, or it does not act on them",
        severity="low",
        confidence="likely",
        moments=tuple(again.moments),
        who=(sender, receiver),
        action=f"restart the queue manager of {sender}, and compare its outgoing queue with the destination",
        count=again.count,
        rules=("TXN-AGAIN",),
        kind="unheard",
        about=receiver,
        message=life.first.record,
    )
