"""TIM-SKEW: SentTime is later than the capture, or too long before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, TimeComparison
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.records.record import Record
from msmq_wire.sessions.clocks import (
    AHEAD,
    NEAR,
    HostClock,
    difference_text,
    is_time,
    length_of_time,
    sender_of,
)
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND
from msmq_wire.wire.expressions import this, within
from msmq_wire.wire.headers.base_header import INFINITE, SIGNATURE

_WAIT = 4 * 86400
"""The default time to reach a queue, in seconds."""
_ENDLESS_WAIT = 30 * 86400
"""A message without a time limit is reported after so many seconds."""
_CAPTURE = ("it may be the clock of the capturing host that is wrong",)
_HOSTS = ("it may be all these hosts that are wrong by the same time",)
_SENT, _LIMIT, _TIME = this.user_header.sent_time, this.base_header.time_to_reach_queue, this._.time
# The seconds of the capture are cut, not rounded.
_IS_AHEAD = _TIME < (_SENT - AHEAD) * SECOND
_IS_LATE = (_TIME >= (_SENT + _WAIT + 1) * SECOND) & (
    ((_LIMIT == INFINITE) & (_TIME >= (_SENT + _ENDLESS_WAIT + 1) * SECOND))
    | ((_LIMIT != INFINITE) & (_TIME >= (_SENT + _LIMIT + 1) * SECOND))
)
_IS_OF_2013 = within(_TIME, (SIGNATURE - NEAR) * SECOND, (SIGNATURE + NEAR + 1) * SECOND - 1)


def _check(record: Record, context: Context) -> Iterable[Detection]:
    sent = reached(record.packet, "user_header.sent_time")
    if sent is None or record.time is None or not context.on_wire(record):
        return ()
    # A SentTime of "LIOR" is no time: TIM-MAGIC. One of 0 is none either, and told here.
    if sent and not is_time(sent, record.time):
        return ()
    age = record.time // SECOND - sent
    # Where several places recorded it, the clock of one of them may be the one that is wrong.
    offsets = record.capture.clock_offsets if isinstance(record.capture, JoinedCapture) else ()
    if any(-AHEAD <= age - offset // SECOND <= _WAIT for offset in (0, *offsets)):
        return ()
    limit = record.packet.base_header.time_to_reach_queue
    if 0 < age <= (_ENDLESS_WAIT if limit == INFINITE else max(limit, _WAIT)):
        return ()
    text = (
        f"SentTime is {length_of_time(abs(age))} {'before' if age > 0 else 'after'} the time of the capture"
    )
    caveats = ("the clock of the sender, of the capturing host, or of both may be wrong",)
    place = place_of(record, "user_header.sent_time")
    sender = sender_of(record.packet.user_header.source_queue_manager, record.src)
    timed = TimeComparison(sender=sender, sent=sent, captured=record.time)
    return (Detection(message=text, evidence=(place,), caveats=caveats, timed=timed),)


def _by_clock(
    seen: Detection, timed: TimeComparison, clock: HostClock, common: Sequence[HostClock]
) -> Detection | None:
    ahead = timed.sent - timed.captured // SECOND
    if clock.astray and abs(ahead - clock.ahead(timed.captured)) <= AHEAD:
        if common:
            # The clock is sure, so it is one of these.
            message = difference_text("the capturing host", -common[0].offset, common)
            return msgspec.structs.replace(seen, message=message, caveats=_HOSTS, layer="capture")
        shown = f"{clock.agreeing} of {clock.pairs} messages over {length_of_time(clock.span // SECOND)}"
        return msgspec.structs.replace(seen, message=f"{clock.said}: {shown} show it", caveats=_CAPTURE)
    caveats = (
        f"{clock.agreeing} other messages of the sender show its clock, "
        "and this time does not fit that clock",
    )
    return msgspec.structs.replace(seen, caveats=caveats)


RULE = Rule(
    id="TIM-SKEW",
    title="SentTime far from the time of the capture",
    severity="low",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"),),
    meaning="SentTime and the capture differ by more than store-and-forward explains. SentTime is over 5 "
    "minutes in the future, or longer ago than the message may wait (4 days at least, 30 days if it may "
    "wait for ever). Receivers compare SentTime with their own clock to decide whether a message has "
    "expired. If enough messages of a sender agree, its clock differs from that of the capture, and one "
    "finding says so. If two hosts or more differ by the same time, the capturing host has the wrong clock.",
    action="Compare the clocks of the two hosts and of the capturing host: messages may expire on arrival, "
    "or never.",
    harmless="A message that waited for weeks in an outgoing queue, a capture with wrong or shifted times, "
    "or a packet with an invented time.",
    types=("user_message",),
    when=((_TIME != 0) & (_IS_AHEAD | _IS_LATE) & ((_SENT != SIGNATURE) | _IS_OF_2013),),
    exact=True,
    check=_check,
    by_clock=_by_clock,
    without_suricata="it compares the clock of the sender with that of the capture",
)
