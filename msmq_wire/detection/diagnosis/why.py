"""Explains why a message did not arrive, or how far it came, and what to do.

The rule kept here: a statement claims no more than its evidence. Acknowledged by the next host is not
delivered, delivered is not received.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from msmq_wire.detection.diagnosis.computer_log_texts import queue_of
from msmq_wire.detection.diagnosis.delivery_failures import REMEDIES
from msmq_wire.detection.diagnosis.message_sums import is_taken
from msmq_wire.detection.diagnosis.network_phrases import fault_action, fault_clause
from msmq_wire.detection.diagnosis.phrases import Phrases, host, quoted, short
from msmq_wire.detection.diagnosis.whereabouts import Whereabouts
from msmq_wire.detection.network_faults import NetworkFault, shown_fault
from msmq_wire.records.coverage import Need, Position
from msmq_wire.records.outcome import Outcome
from msmq_wire.sessions import MessageLife, Story, TraceStep
from msmq_wire.sessions.trace_step import in_order_of_path

_NEEDS: tuple[Need, ...] = ("opening", "both_sides", "whole", "order", "read", "counted", "kept")
_SENTENCES = {
    "acknowledged": "came to the next host, and nothing shows that it reached its queue",
    "stored": "is on the disk of the next host, and nothing shows that an application received it",
    "delivered": "is in its queue, and nothing shows that an application received it",
    "received": "was received",
    "refused": "was refused",
    "expired": "expired",
    "purged": "was not received: its queue was purged",
    "unknown": "left its sender, and nothing shows that it arrived",
}
"""The sentence for each outcome; it claims no more than the evidence."""
_DO = {
    "acknowledged": "check whether {dst} has the queue, or routes the message on",
    "stored": "look into the queue at {dst}, and check whether the program that reads it runs",
    "delivered": "look into the queue at {dst}, and check whether the program that reads it runs",
    "refused": "ask the application that sent the class",
    "expired": "find out what delayed it, or give it more time",
    "unknown": "look into the outgoing queue of {src}, and check whether {dst} can be reached",
}
_ARRIVAL, _RECEIPT = 1, 2
"""Bits of the acknowledgments asked for: PA and PR. [MS-MQMQ] 2.2.19.3"""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a message, in words.

    ``outcome`` is the outcome of its life. ``action`` is empty if nothing is to be done. ``unknown`` is what
    the capture does not show. ``path`` is the way that report messages tell, empty without any.
    """

    outcome: Outcome
    sentence: str
    reason: str
    action: str
    unknown: tuple[str, ...]
    path: str = ""


def why(life: MessageLife, story: Story, words: Phrases) -> Explanation:
    """Explain what happened to a message of a story."""
    last = life.route[-1] if life.route else life
    src, dst = host(last.src), host(last.dst)
    name = life.label or short(life.message_id)
    from_ = f" from {host(life.src)}"
    if life.via == "rpc":
        # The server of a call has the queue and returned the message: who sent it was not captured.
        from_, dst = "", src
    elif life.via == "report":
        from_ = ""
    told, came = [one for one in in_order_of_path(life.reports) if one.sure], _SENTENCES[life.outcome]
    arrived = life.outcome == "acknowledged" and any(one.came for one in told)
    if told and (arrived or life.outcome == "unknown"):
        step = told[-1]
        src = f"queue manager {step.queue_manager}"
        dst = step.next_hop or src
        if arrived:
            way, who = ("came", "it") if step.kind == "received" else ("was sent", src)
            came = f"{way} to {dst}, as {who} says, and nothing shows that it reached its queue"
    start = f"{_noun(life)}{quoted(name)}{from_} to {life.queue or 'a queue that is not known'}"
    action = _DO.get(life.outcome, "").format(src=src, dst=dst)
    if life.nack_class is not None:
        action = REMEDIES.get(life.nack_class, action)
    where = Whereabouts(story)
    lost = _lost_acknowledgments(life, where, words)
    reason, fault = f"{life.reason}{lost}.", _fault(life, story)
    if fault is not None:
        clause = fault_clause(fault)
        reason += f" {clause[:1].upper()}{clause[1:]}."
        action = fault_action(fault)
    if life.dead_letter and (life.failed or life.outcome == "unknown"):
        action += f"; look for it in the dead-letter queue of {host(life.src)}"
    unknown = tuple(_unknown(life, story))
    if life.outcome == "unknown" and life.via == "tcp":
        loss, place = where.loss_of(life), where.arrival_of(life)
        if loss is not None:
            came = f"left its sender and was lost on its way: {loss.text}"
            action = loss.action
        elif place:
            came = f"came to the receiver ({place}), and nothing shows that its queue manager took it"
            action = f"look at the queue manager of {dst}"
    put = None if story.logs is None else story.logs.arrival(life.message_id)
    if put is not None and life.outcome in ("unknown", "acknowledged"):
        where_put = (
            f"put into the queue {queue_of(put.event)} of {put.log.computer}, as the event log there says"
        )
        came = f"was {where_put}, and nothing shows that an application received it"
        if life.outcome == "unknown":
            reason += f" But the event log of {put.log.computer} says that it was put into the queue."
        action = _DO["delivered"].format(src=src, dst=dst)
    purge = next((queue for queue in story.queues if queue.number == life.purged_by), None)
    if purge is None:
        sentence = f"{start} {came}."
        return Explanation(
            outcome=life.outcome,
            sentence=sentence,
            reason=reason,
            action=action,
            unknown=unknown,
            path=_path(told),
        )
    assert purge.purged is not None
    return Explanation(
        outcome="purged",
        sentence=f"{start} had arrived when {host(purge.client)} purged its queue.",
        reason=f"{host(purge.client)} purged it in {words.frame(purge.purged)}, and no receive of it was "
        "captured before: the purge deleted it, unless an application had received it.",
        action="ask the owners of the queue whether they purged it",
        unknown=unknown,
        path=_path(told),
    )


def _lost_acknowledgments(life: MessageLife, where: Whereabouts, words: Phrases) -> str:
    """Which acknowledgments the sender did not get."""
    for moment in dict.fromkeys((life.acknowledged, life.stored, life.order_ack)):
        loss = None if moment is None else where.loss(moment, life.dst, life.src)
        if loss is not None:
            sender, receiver = host(life.src), host(life.dst)
            ack = f"the acknowledgment in {words.frame(moment)} was {loss.text_at(receiver, sender)}"
            return f"; but {ack}: {sender} does not know of it, and sends its message again"
    return ""


def _fault(life: MessageLife, story: Story) -> NetworkFault | None:
    """The fault of the network that kept a message, or the word of it, from its way."""
    if life.session is None or life.route or life.outcome != "unknown" or is_taken(life):
        return None
    return shown_fault(story.session(life.session), story.visibility)


def _noun(life: MessageLife) -> str:
    if not life.reports_on:
        return "Message"
    be = "is" if len(life.reports_on) == 1 else "may be"
    return f"Report message (it {be} about {' or '.join(map(short, life.reports_on))})"


def _path(steps: list[TraceStep]) -> str:
    """The way of a message as queue managers tell it, from its source on."""
    return ", ".join(
        f"{short(str(one.queue_manager))} "
        f"{'received it' if one.kind == 'received' else f'sent it to {one.next_hop}'} (hop {one.hops})"
        for one in steps
    )


def _unknown(life: MessageLife, story: Story) -> Iterator[str]:
    """What the capture does not show about a message."""
    place = Position("", life.first.record, life.first.frame or 0, life.src, life.dst)
    if life.via == "report":
        yield "its own packet was not captured: only report messages tell of it"
    elif life.outcome == "expired" or not (life.failed or life.outcome == "received"):
        yield from story.visibility.lacking(_NEEDS, place)
    if not life.certain:
        yield "bytes are missing: it is not certain which message an acknowledgment is about"
    classes = {one.message_class for one in life.acknowledgments}
    asked = [
        word
        for word, bits, answers in (
            ("arrival", _ARRIVAL, {0x0002}),
            ("receipt", _RECEIPT, {0x4000}),
        )
        if life.wanted & bits and not any(one in answers or one & 0x8000 for one in classes)
    ]
    if asked and not life.about:
        yield f"it asks for an acknowledgment of its {' and '.join(asked)}, but none was captured"
    arrived = life.outcome in ("acknowledged", "stored", "delivered") and life.via != "report"
    if arrived and not life.wanted & _RECEIPT:
        yield (
            "it asks for no acknowledgment of its receipt: the network does not show whether an application "
            "received it"
        )
    if life.outcome == "received" and life.received is not None:
        yield "the network does not show what the application did with it"
    yield from _untold(life)
    if life.twin:
        yield "another message has the same identifier: an acknowledgment may be about either"


def _untold(life: MessageLife) -> Iterator[str]:
    """What report messages do not tell, or not surely."""
    told = [one for one in in_order_of_path(life.reports) if one.sure]
    if told and told[-1].kind == "sent":
        yield (
            f"no report that {told[-1].next_hop} received it was captured: a report may be lost, and its "
            "queue manager may send none"
        )
    if len(told) < len({one.reported for one in life.reports}):
        yield (
            "a report message names its message by four digits of a queue manager and a number: another "
            "message has the same"
        )
    if life.reports:
        yield "no report message is signed: each is the word of its sender"
    elif life.traced:
        yield "it asks for report messages, but none was captured"
