"""TIM-EXPIRED: a message is sent after its time to reach the queue, or to be received, is over."""

from __future__ import annotations

from collections.abc import Iterable

from msmq_wire.findings.lengths import place_of, reached
from msmq_wire.findings.rule import Context, Rule, Seen
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.headers.base_header import INFINITE, SIGNATURE

__all__ = ["RULE"]

_SECOND = 1_000_000_000
_LIMITS = {
    "base_header.time_to_reach_queue": "TimeToReachQueue",
    "user_header.time_to_be_received": "TimeToBeReceived",
}


def _check(record: Record, context: Context) -> Iterable[Seen]:
    sent = reached(record.packet, "user_header.sent_time")
    # In a message that was read from a queue TimeToReachQueue is a date, [MS-MQRR] 2.2.5: only what is sent.
    # Neither 0 nor "LIOR" is a time: TIM-SKEW, TIM-MAGIC.
    if sent in (None, 0, SIGNATURE) or record.time is None or not context.on_wire(record):
        return ()
    age = record.time // _SECOND - sent
    over = {path: limit for path in _LIMITS if age > (limit := reached(record.packet, path)) != INFINITE}
    if not over:
        return ()
    said = " and ".join(f"{_LIMITS[path]} of {limit} s" for path, limit in over.items())
    places = (*(place_of(record, path) for path in over), place_of(record, "user_header.sent_time"))
    caveats = ("age is the time of the capture less SentTime: the two clocks may differ",)
    text = f"the message is {age} s old and its {said} {'is' if len(over) == 1 else 'are'} over"
    return (Seen(message=text, evidence=places, caveats=caveats),)


RULE = Rule(
    id="TIM-EXPIRED",
    title="Message sent after its time is over",
    severity="info",
    confidence="likely",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"), SpecRef("MS-MQMQ", "2.2.19.2")),
    meaning="A receiver ignores a message that is older than its TimeToReachQueue, and one older than its "
    "TimeToBeReceived is gone before it can be read. This one looks like a message that vanishes.",
    action="Look for a negative acknowledgment or a copy in the dead-letter queue of the sender; raise the "
    "limits of the message or find out what delayed it.",
    harmless="Clocks that differ by more than the limit: then nothing has expired.",
    types=("user_message",),
    check=_check,
)
