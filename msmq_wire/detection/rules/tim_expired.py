"""TIM-EXPIRED: a message is sent after its time limit to reach the queue, or to be received."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, TimeComparison
from msmq_wire.records.record import Record
from msmq_wire.sessions.clocks import HostClock, is_time, length_of_time, sender_of
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.base_header import INFINITE

_SENT = this.user_header.sent_time
_LIMITS = {
    "base_header.time_to_reach_queue": "TimeToReachQueue",
    "user_header.time_to_be_received": "TimeToBeReceived",
}


def _check(record: Record, context: Context) -> Iterable[Detection]:
    sent = reached(record.packet, "user_header.sent_time")
    # In a message that was read from a queue TimeToReachQueue is a date, [MS-MQRR] 2.2.5: only what is sent.
    # What is no time is told elsewhere: TIM-SKEW, TIM-MAGIC.
    if record.time is None or not is_time(sent, record.time) or not context.on_wire(record):
        return ()
    age = record.time // SECOND - sent
    over = {path: limit for path in _LIMITS if age > (limit := reached(record.packet, path)) != INFINITE}
    if not over:
        return ()
    places = (*(place_of(record, path) for path in over), place_of(record, "user_header.sent_time"))
    caveats = ("age is the time of the capture minus SentTime: the two clocks may differ",)
    sender = sender_of(record.packet.user_header.source_queue_manager, record.src)
    limits = {_LIMITS[path]: limit for path, limit in over.items()}
    timed = TimeComparison(sender=sender, sent=sent, captured=record.time, limits=limits)
    return (Detection(message=_message(age, limits), evidence=places, caveats=caveats, timed=timed),)


def _message(age: int, limits: dict[str, int]) -> str:
    said = " and ".join(f"{name} of {length_of_time(limit)}" for name, limit in limits.items())
    was = "was" if len(limits) == 1 else "were"
    return f"the message was {length_of_time(age)} old when it was sent, and its {said} {was} over"


def _by_clock(
    seen: Detection, timed: TimeComparison, clock: HostClock, common: Sequence[HostClock]
) -> Detection | None:
    age = timed.captured // SECOND + clock.ahead(timed.captured) - timed.sent
    limits = {name: limit for name, limit in timed.limits.items() if age > limit}
    if not limits:
        return None
    caveats = (f"by the clock of its sender, which {clock.agreeing} messages show",)
    return msgspec.structs.replace(seen, message=_message(age, limits), caveats=caveats)


RULE = Rule(
    id="TIM-EXPIRED",
    title="A message that was already too old when it was sent",
    severity="info",
    confidence="likely",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"), SpecRef("MS-MQMQ", "2.2.19.2")),
    meaning="A receiver ignores a message that is older than its TimeToReachQueue. A message that is older "
    "than its TimeToBeReceived is gone before it can be read. To its sender, this message seems to vanish.",
    action="Look for a negative acknowledgment, or for a copy in the dead-letter queue of the sender; raise "
    "the limits of the message, or find out what delayed it.",
    harmless="Clocks that differ by more than the limit: then nothing has expired. Where other messages "
    "show the clock of the sender, the times here are measured by that clock.",
    types=("user_message",),
    when=(
        *(
            (limit != INFINITE) & (_SENT != 0) & (this._.time >= (_SENT + limit + 1) * SECOND)
            for limit in (this.base_header.time_to_reach_queue, this.user_header.time_to_be_received)
        ),
    ),
    check=_check,
    by_clock=_by_clock,
)
