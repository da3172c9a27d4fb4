"""Question 5: what happened to messages that did not arrive.

The rule kept here: what was refused for one reason is told once, with what to do; silence of a destination
proves nothing, and what a session acknowledged may still be out of its queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.delivery_failures import REMEDIES, in_plural
from msmq_wire.detection.diagnosis.message_sums import LostMessages, MessageSums, StaleMessages
from msmq_wire.detection.diagnosis.network_phrases import fault_clause
from msmq_wire.detection.diagnosis.path_losses import PathLosses
from msmq_wire.detection.diagnosis.phrases import (
    ASK,
    Phrases,
    count,
    failed_word,
    host,
    listed,
    seconds_text,
    short,
)
from msmq_wire.detection.diagnosis.whereabouts import Whereabouts
from msmq_wire.detection.network_faults import shown_fault
from msmq_wire.sessions import MessageLife, Moment, RemoteQueue, Story, TransactionalStream, class_words
from msmq_wire.sessions.clocks import length_of_time
from msmq_wire.units import SECOND

_SILENT = (
    "Current Windows does not send nacks 0x8000, 0x8004, 0x8006, 0x8007 and 0x800B by default: a message "
    "can be refused without one."
)
_NOWHERE = "a queue that is not known"


def lost(sums: MessageSums, losses: PathLosses, story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 5, [MS-MQMQ] 2.2.18.1.6 and 2.2.19.1, [MS-MQQB] 3.1.5.8.6."""
    bad = sums.bad_classes.total()
    for one in list(sums.bad.values())[:MOST]:
        builder.say(
            _bad_text(one, words), *(at for life in one.lives for at in (life.first, *_refusal_moments(life)))
        )
    if len(sums.bad) > MOST:
        kinds = listed([f"{number:,} {reason}" for reason, number in sums.bad_classes.most_common()])
        builder.say(f"{bad:,} messages in all were refused or expired: {kinds}.")
    for fact, message in sums.ended:
        builder.claim(fact, message)
    for stale in list(sums.stale.values())[:MOST]:
        builder.say(_stale_text(stale, words), stale.first.first, attention="low")
    purged = [queue for queue in story.queues if queue.purged is not None]
    for queue in purged[:MOST]:
        gone = list(_gone_with(queue, story))
        builder.say(
            _purged_text(queue, gone, words), queue.purged, *(life.first for life in gone), attention="medium"
        )
    losses.messages(words, builder)
    unknown = [
        life for life in sums.never if life.outcome == "unknown" and life.message_id not in losses.lost_ids
    ]
    number = sums.never_count - sum(life.outcome != "unknown" for life in sums.never) - len(losses.lost_ids)
    where = Whereabouts(story)
    for life in unknown[:3]:
        text = f"The capture does not show what became of message {short(life.message_id)} to "
        text += life.queue or _NOWHERE
        place = where.arrival_of(life)
        came = f"; it was seen at the receiver ({place})" if place else ""
        text += f", sent in {words.frame(life.first)}{came}{_session_end(life, story, words)}."
        builder.say(text + _requested(_alone(life)), life.first)
    if number > min(len(unknown), 3) > 0:
        builder.say(
            f"The same is true of {count(number - min(len(unknown), 3), 'more message')}: {ASK.format(4)}."
        )
    _wait(sums, story, words, builder)
    ran_out = any(
        life.outcome == "expired" and not life.nack_class for one in sums.bad.values() for life in one.lives
    )
    if number or ran_out or any(stale.fact != "in_time" for stale in sums.stale.values()):
        builder.add_caveats(_SILENT)
    if not builder.statements and sums.total:
        text = "Nothing did: no message was refused, expired, purged or left without an acknowledgment"
        text += " in this capture."
        if sums.outcomes["received"] < sums.total:
            text += " The network does not show what an application did with messages that arrived."
        builder.say(text)
    builder.facts = {
        "outcomes": dict(sums.outcomes),
        "refused_or_expired": dict(sums.bad_classes),
        "purged_queues": [queue.queue for queue in purged[:64]],
        **losses.facts(),
    }


def _alone(life: MessageLife) -> LostMessages:
    one = LostMessages()
    one.add(life)
    return one


def _refusal_moments(life: MessageLife) -> list[Moment]:
    """The moments that show that a message was refused."""
    acks = [one.at for one in life.acknowledgments if one.message_class == life.nack_class]
    return acks or ([] if life.rejected is None else [life.rejected])


def _bad_text(bad: LostMessages, words: Phrases) -> str:
    first = bad.lives[0]
    to = first.queue or _NOWHERE
    was = "was" if bad.count == 1 else "were"
    verb = "expired" if first.outcome == "expired" else f"{was} {failed_word(first.outcome == 'purged')}"
    reason = class_words(first.nack_class) if first.nack_class else first.reason
    reason = reason if bad.count == 1 else in_plural(reason)
    reason += f" (class 0x{first.nack_class:04x}" if first.nack_class else ""
    if bad.count == 1:
        where = "".join(f", {words.frame(at)}" for at in _refusal_moments(first)[:1])
        reason += f"{where})" if first.nack_class else ""
        text = (
            f"Message {short(first.message_id)} to {to} {verb}: {reason}; sent in {words.frame(first.first)}."
        )
    else:
        shown = [
            f"{short(life.message_id)} (sent in {words.frame(life.first)}"
            + "".join(f", reported in {words.frame(at)}" for at in _refusal_moments(life)[:1])
            + ")"
            for life in bad.lives
        ]
        text = f"{count(bad.count, 'message')} from {host(first.src)} to {to} {verb}: {reason}"
        text += f"{')' if first.nack_class else ''}: {listed(shown, bad.count)}."
    remedy = REMEDIES.get(first.nack_class or 0, "")
    text += _requested(bad)
    return f"{text} {remedy[:1].upper()}{remedy[1:]}." if remedy else text


def _gone_with(queue: RemoteQueue, story: Story) -> Iterator[MessageLife]:
    """Messages that reached a queue before its purge, without a captured receive."""
    return (life for life in story.lives if life.purged_by == queue.number)


def _purged_text(queue: RemoteQueue, gone: list[MessageLife], words: Phrases) -> str:
    name, server = queue.queue or "A queue", host(queue.server)
    text = f"{name} was purged by {host(queue.client)} in {words.frame(queue.purged)}."
    if not gone:
        return text
    ids = [f"{short(life.message_id)} ({words.frame(life.first)})" for life in gone[:MOST]]
    it = "it" if len(gone) == 1 else "them"
    text += f" {count(len(gone), 'message')} for it had come to {server} before, and no receive of {it} was "
    text += f"captured: {listed(ids, len(gone))}. The purge deleted {it}, unless an application had received "
    return f"{text}{it}."


def _wait(sums: MessageSums, story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Transactional messages with a session acknowledgment but without an OrderAck, by stream."""
    streams = {stream.number: stream for stream in story.streams}
    by_stream: dict[int, list[MessageLife]] = {}
    for life in sums.waiting:
        if life.stream is not None:
            by_stream.setdefault(life.stream, []).append(life)
    for number, lives in list(by_stream.items())[:MOST]:
        builder.say(
            _wait_text(lives, streams.get(number), words), *(life.first for life in lives), attention="info"
        )
    rest = sums.waiting_count - sum(len(lives) for lives in list(by_stream.values())[:MOST])
    if rest:
        builder.say(f"The same is true of {count(rest, 'more message')}: {ASK.format(12)}.")


def _wait_text(lives: list[MessageLife], stream: TransactionalStream | None, words: Phrases) -> str:
    first = lives[0]
    ids = [f"{short(life.message_id)} ({words.frame(life.first)})" for life in lives[:MOST]]
    text = f"The capture shows no OrderAck for {count(len(lives), 'message')} from {host(first.src)} to "
    text += f"{first.queue or _NOWHERE}: "
    text += listed(ids, len(lives))
    again = sum(life.resends for life in lives)
    if again:
        total = " in all" if len(lives) > 1 else ""
        text += f". {'It was' if len(lives) == 1 else 'They were'} sent again {count(again, 'time')}{total}"
    gap = next((gap for gap in stream.gaps if gap.filled is None), None) if stream is not None else None
    if gap is not None and (first.tx_sequence_number or 0) >= gap.number:
        missing = f"Sequence number {gap.after + 1} is"
        if gap.number - gap.after > 2:
            missing = f"Sequence numbers {gap.after + 1} to {gap.number - 1} are"
        text += f". {missing} missing before {gap.number}, and a destination accepts "
        text += "transactional messages in order only"
    return f"{text}. For the whole stream {ASK.format(12)}."


def _stale_text(stale: StaleMessages, words: Phrases) -> str:
    """Messages that were expired when they were sent, by the clock of the capture."""
    life = stale.first
    sent_at = (life.first.time or 0) // SECOND
    limit = min(one for one in (life.reach_by, life.receive_by) if one is not None) - (life.sent_time or 0)
    from_ = host(life.src)
    text = f"{count(stale.count, 'message')} from {from_}, first {short(life.message_id)} in "
    text += f"{words.frame(life.first)}, looked expired when sent: "
    age = length_of_time(sent_at - (life.sent_time or 0))
    text += f"{age} old by SentTime, with {seconds_text(limit)} to live."
    if stale.fact == "in_time":
        offset = life.clock_offset or 0
        behind = f"{length_of_time(-offset)} behind that of the capture"
        return f"{text} The clock of {from_} is {behind}: by that clock they were in time."
    if stale.fact == "late":
        return f"{text} They had expired by the clock of {from_}, too; a receiver ignores late messages."
    became = (
        "" if life.outcome == "unknown" else ": what happened to them later does not fit expired messages"
    )
    return f"{text} The clock of {from_} may be slow{became}."


def _session_end(life: MessageLife, story: Story, words: Phrases) -> str:
    session = None if life.session is None else story.session(life.session)
    fault = shown_fault(session, story.visibility)
    if fault is not None:
        return f"; {fault_clause(fault)}"
    if session is None or session.close is None:
        return "; the capture ends before an acknowledgment" if life.via == "tcp" else ""
    how = "reset" if session.closed_by == "reset" else "closed"
    return f"; its connection was {how} in {words.frame(session.close)} without an acknowledgment"


def _requested(bad: LostMessages) -> str:
    """What all senders requested (journal, dead letter) that shows more elsewhere."""
    it, its = ("It", "its") if bad.count == 1 else ("They", "their")
    notes = []
    if bad.dead_letter:
        notes.append(f"{it} asked for dead-lettering: look into the dead-letter queue of {its} sender.")
    if bad.journal:
        notes.append(f"{it} asked for journaling: a copy should be in the journal of {its} sender.")
    if bad.nobody_told:
        names = "names" if bad.count == 1 else "name"
        notes.append(f"{it} {names} no administration queue for acknowledgments, so nobody is told.")
    return "".join(f" {note}" for note in notes)
