"""The life of a message in steps: what became of it, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.report.markup import visible
from msmq_wire.sessions import MessageLife, Moment, class_words

_MOST = 8
"""Steps of one kind."""
_KINDS = {
    "final_ack": "FinalAck",
    "administration_ack": "administration acknowledgment",
    "receipt": "SRMP receipt",
}


def steps_of(life: MessageLife) -> tuple[tuple[str, Moment], ...]:
    """What happened to it, in order of time."""
    steps = [(words, moment) for words, moment in _steps(life) if moment is not None]
    if len(steps) > 1:
        steps.sort(key=lambda step: step[1].time or 0)
    return tuple(steps)


def _steps(life: MessageLife) -> Iterator[tuple[str, Moment | None]]:
    yield "session acknowledgment", life.acknowledged
    yield "written to disk by the next host", life.stored
    yield "OrderAck", life.order_ack
    yield f"HTTP {life.http_status}", life.accepted
    yield from (("sent again", moment) for moment in life.resent_at[:_MOST])
    yield from ((f"went on to {visible(hop.dst)}", hop.at) for hop in life.route[:_MOST])
    for one in life.acknowledgments[:_MOST]:
        yield f"{_KINDS[one.kind]}: {_class(one.message_class)}", one.at
    yield "peeked by remote read", life.peeked
    yield f"received by {visible(life.received_by or 'remote read')}", life.received
    yield from (("moved to another queue", moment) for moment in life.moved[:_MOST])
    yield "given back by its reader", life.rejected
    yield from ((f"found in the {queue.replace('_', ' ')} queue", at) for queue, at in life.copies[:_MOST])


def _class(message_class: int) -> str:
    return _POSITIVE.get(message_class) or class_words(message_class)


_POSITIVE = {0x0002: "it reached its queue", 0x4000: "an application received it"}
