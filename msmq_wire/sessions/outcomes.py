"""What became of a message, by the evidence that was kept: the outcome, its reason in words, its frames.

The rule kept here: the strongest evidence decides. That an application received it outweighs a refusal,
a refusal outweighs a delivery, a delivery what the next host acknowledged; silence proves nothing. Time runs
by the clock of the sender, where that is known, and never against what somebody acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.outcome import Outcome
from msmq_wire.sessions.clocks import HostClock, is_time
from msmq_wire.sessions.followed_message import FollowedMessage, History, manager_of, message_name
from msmq_wire.sessions.id_collisions import IDENTIFIER
from msmq_wire.sessions.life import MessageAcknowledgment, MessageLife
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.reads import RemoteQueue
from msmq_wire.sessions.trace_step import TraceStep, in_order_of_path
from msmq_wire.units import SECOND
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.types.enumerations import MessageClass

_ACK_RECEIVE = int(MessageClass.MQMSG_CLASS_ACK_RECEIVE)
_ACK_REACH_QUEUE = int(MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE)
TIMEOUTS = {
    int(MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT): "time_to_reach_queue",
    int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT): "time_to_be_received",
}
"""Classes that say that a time was over which the sender had set."""
_PURGED = int(MessageClass.MQMSG_CLASS_NACK_Q_PURGED)
_NACK = 0x8000
_THERE = frozenset(("acknowledged", "stored", "delivered"))
"""Outcomes of what came as far as the host of its queue, and may still be there."""

NACK_REASONS: Mapping[int, str] = {
    0x8000: "the destination queue does not exist",
    0x8001: "it was deleted before it reached its queue",
    0x8002: "it did not reach its queue in time",
    0x8003: "the quota of the destination is used up",
    0x8004: "the sender may not write to the queue",
    0x8005: "it passed through too many hosts",
    0x8006: "its signature is not valid",
    0x8007: "it could not be decrypted",
    0x8009: "it is transactional and the queue is not",
    0x800A: "the queue is transactional and it is not",
    0x800B: "the destination does not have its cryptographic provider",
    0xC000: "its queue was deleted before anybody received it",
    0xC001: "its queue was purged before anybody received it",
    0xC002: "it was not received in time",
    0xC004: "the application rejected it",
}
"""MESSAGE_CLASS_VALUES of negative acknowledgments in words, [MS-MQMQ] 2.2.18.1.6."""
UNLISTED_REASONS: Mapping[int, str] = {
    0x8008: "it could not be encrypted",
    0x800C: "the identifier of its source computer changed",
    0xC003: "its time was over at its sender",
}
"""Those that the headers of Windows name and the specification does not."""
_WANTED = 0xF
"""Bits of MessagePropertiesHeader that ask for acknowledgments. [MS-MQMQ] 2.2.19.3"""
_NO_LIMIT = (INFINITE, None)
_ON_ITS_WAY = frozenset(("unknown", "acknowledged"))
"""Outcomes of what may have come further than anything but a report shows."""


class _Told(NamedTuple):
    outcome: Outcome
    reason: str
    evidence: tuple[Moment | None, ...]
    nack_class: int | None = None
    purged_by: int | None = None


def class_words(message_class: int) -> str:
    """A negative acknowledgment class in words; its number where it has none."""
    words = NACK_REASONS.get(message_class) or UNLISTED_REASONS.get(message_class)
    return words or f"class 0x{message_class:04x}"


def is_plain(message: FollowedMessage) -> bool:
    """Whether a message was sent once over TCP, taken by the next host for good, and asked for nothing more.

    Its life has nothing to tell but that, unless its queue was purged.
    """
    return (
        message.history is None
        and message.acknowledged is not None
        and (message.stored is not None or message.delivery == "express")
        and message.certain
        and message.stream is None
        and not message.message_class
        and not message.traced
        and not message.wanted & _WANTED
        and message.via == "tcp"
        and message.time_to_reach_queue in _NO_LIMIT
        and message.time_to_be_received in _NO_LIMIT
        and len(message.key) == IDENTIFIER
    )


def life_of(
    message: FollowedMessage,
    ordered: Moment | None,
    now: int | None,
    clock: HostClock | None = None,
    purges: Iterable[RemoteQueue] = (),
    reports: tuple[TraceStep, ...] = (),
    reports_on: tuple[str, ...] = (),
) -> MessageLife:
    """Tell the life of a message; ``ordered`` is its OrderAck, ``now`` the time of the last record (ns).

    ``clock`` is that of its sender, ``purges`` are the queues of the name of its own that were purged,
    ``reports`` what report messages tell, ``reports_on`` the messages that it reports on.
    """
    history = message.history or _NOTHING
    first, key = message.first, message.key
    reach_by = _end(message, message.time_to_reach_queue)
    receive_by = _end(message, message.time_to_be_received)
    original, flags = message.acknowledged_key, message.flags
    acknowledges = None if original is None else message_name(original)
    reported = _carried(message, ordered) if message.history is None else _judge(message, history, ordered)
    if reports and reported.outcome in _ON_ITS_WAY:
        reported = _traced(reports, reported)
    clock = clock if clock is not None and clock.sure else None
    expired = None
    if reach_by is not None or receive_by is not None or reported.nack_class is not None:
        expired = _expired(message, reported, reach_by, receive_by, now, clock)
        if reported.outcome == "unknown":
            reported = _ran_out(message, reported, expired, reach_by, clock)
    if purges and acknowledges is None:
        reported = next(_purged(message, history, reported, purges), reported)
    frames = dict.fromkeys([one.frame for one in (first, *reported.evidence) if one is not None])
    # By position: this is made for every message.
    return MessageLife(
        message_name(key),
        None if isinstance(key, str) else manager_of(key[:16])[0],
        first,
        message.via,
        message.src,
        message.dst,
        message.session,
        message.queue,
        message.label,
        message.message_class,
        message.priority,
        message.delivery,
        message.size,
        message.sent_time,
        message.time_to_reach_queue,
        message.time_to_be_received,
        reach_by,
        receive_by,
        bool(flags & 0x200),
        bool(flags & 0x100),
        message.wanted & _WANTED,
        message.admin_queue,
        flags & 0x1F,
        tuple(history.hops),
        acknowledges,
        message.stream,
        message.place,
        message.transaction,
        message.acknowledged,
        message.stored,
        ordered,
        history.accepted,
        history.http_status,
        tuple(history.acknowledgments),
        message.resends,
        message.duplicates,
        tuple(history.resent_at),
        tuple(history.reads),
        history.peeked,
        history.received,
        history.received_by,
        tuple(history.moved),
        history.rejected,
        history.rejected_class,
        tuple(history.copies),
        None if clock is None else clock.ahead(first.time or clock.at),
        expired,
        reported.outcome,
        reported.nack_class,
        reported.reason,
        tuple([frame for frame in frames if frame is not None]),
        message.certain,
        tuple(history.moved_to),
        len(key) > IDENTIFIER and not isinstance(key, str),
        reported.purged_by,
        message.traced,
        reports,
        reports_on,
    )


_NOTHING = History()


def _end(message: FollowedMessage, seconds: int | None) -> int | None:
    sent = message.sent_time
    if seconds is None or seconds == INFINITE or sent is None or not is_time(sent, message.first.time):
        return None
    return sent + seconds


def _judge(message: FollowedMessage, history: History, ordered: Moment | None) -> _Told:
    acks: list[MessageAcknowledgment] = history.acknowledgments
    by_class = {one.message_class: one for one in reversed(acks)}
    received = by_class.get(_ACK_RECEIVE)
    if received is not None:
        return _Told("received", f"{_by(received)} says that an application received it", (received.at,))
    if history.received is not None:
        return _Told("received", f"{history.received_by} received it by remote read", (history.received,))
    nack = next((one for one in acks if one.message_class & _NACK), None)
    if nack is not None:
        outcome: Outcome = "expired" if nack.message_class in TIMEOUTS else "refused"
        outcome = "purged" if nack.message_class == _PURGED else outcome
        reason = f"{_by(nack)} says: {class_words(nack.message_class)}"
        return _Told(outcome, reason, (nack.at,), nack.message_class)
    if history.rejected is not None and (history.rejected_class or 0) & _NACK:
        class_ = history.rejected_class or 0
        return _Told("refused", f"its reader put it back: {class_words(class_)}", (history.rejected,), class_)
    reached = by_class.get(_ACK_REACH_QUEUE)
    if reached is not None:
        return _Told("delivered", f"{_by(reached)} says that it reached its queue", (reached.at,))
    if ordered is None and history.peeked is not None:
        return _Told("delivered", "a remote peek found it in its queue", (history.peeked,))
    if ordered is None and history.found is not None:
        reason = "a remote read found it in its queue, and no call shows that it left the queue"
        return _Told("delivered", reason, (history.found,))
    reported = _carried(message, ordered)
    if reported is not _UNKNOWN or history.http_status is None:
        return reported
    if history.accepted is not None:
        return _Told("acknowledged", f"HTTP {history.http_status} accepted it", (history.accepted,))
    return _Told("unknown", f"HTTP {history.http_status} answered it", ())


_UNKNOWN = _Told("unknown", "nothing that was captured acknowledges it", ())


def _carried(message: FollowedMessage, ordered: Moment | None) -> _Told:
    """What those that carry a message, and its stream, say of it."""
    if ordered is not None:
        return _Told("delivered", "an OrderAck covers it: the destination saved it", (ordered,))
    if message.stored is not None:
        return _Told("stored", "a session ack says that the next host wrote it to disk", (message.stored,))
    if message.acknowledged is not None:
        return _Told("acknowledged", "a session ack says that the next host has it", (message.acknowledged,))
    return _UNKNOWN


def _traced(reports: tuple[TraceStep, ...], reported: _Told) -> _Told:
    """What queue managers say of the way of a message that nothing else shows to be in its queue."""
    sure = [one for one in in_order_of_path(reports) if one.sure]
    came = [one for one in sure if one.came]
    if came:
        last = came[-1]
        verb = "received it" if last.kind == "received" else f"sent it to {last.next_hop}"
        reason = f"queue manager {last.queue_manager} says in a report message that it {verb}"
        return _Told("acknowledged", reason, (*reported.evidence, last.at))
    if sure and reported is _UNKNOWN:
        first = sure[-1]
        said = f"its queue manager says in a report message that it sent it to {first.next_hop}"
        return reported._replace(reason=f"{said}, and {reported.reason}", evidence=(first.at,))
    return reported


def _purged(
    message: FollowedMessage, history: History, reported: _Told, purges: Iterable[RemoteQueue]
) -> Iterator[_Told]:
    """What a purge makes of a message that was in the queue, as far as anybody saw, when it was purged."""
    there = reported.outcome in _THERE or (message.via == "rpc" and reported.outcome == "unknown")
    if not there or history.moved:
        return
    place = message.src if message.via == "rpc" else history.hops[-1].dst if history.hops else message.dst
    for queue in purges:
        at = queue.purged
        if at is not None and message.first.record <= at.record and host_of(place) == host_of(queue.server):
            reason = f"{host_of(queue.client)} purged its queue, and no receive of it was captured before"
            yield _Told("purged", reason, (*reported.evidence, at), purged_by=queue.number)


def _by(one: MessageAcknowledgment) -> str:
    return {
        "final_ack": "a FinalAck",
        "administration_ack": "an administration acknowledgment",
        "receipt": "an SRMP receipt",
    }[one.kind]


def _expired(
    message: FollowedMessage,
    reported: _Told,
    reach_by: int | None,
    receive_by: int | None,
    now: int | None,
    clock: HostClock | None,
) -> str | None:
    """The limit that passed without news, by the clock of the sender.

    A message that was late when it was sent, and was acknowledged, is told so only where that clock is sure:
    a sender sends none that its own clock calls expired. [MS-MQMQ] 2.2.19.1, [MS-MQQB] 3.1.7.1.2
    """
    if reported.nack_class in TIMEOUTS:
        return TIMEOUTS[reported.nack_class]
    if now is None or reported.outcome in ("received", "refused"):
        return None
    first = message.first.time
    if reported.outcome == "unknown" and _past(reach_by, now, clock):
        return "time_to_reach_queue"
    if reported.outcome in ("acknowledged", "stored") and clock is not None and _past(reach_by, first, clock):
        return "time_to_reach_queue"
    if not _past(receive_by, now, clock):
        return None
    # Where it was taken it came in time: a clock that is not known makes it look late.
    looks_late = reported.outcome != "unknown" and clock is None and _past(receive_by, first, None)
    return None if looks_late else "time_to_be_received"


def _past(limit: int | None, captured: int | None, clock: HostClock | None) -> bool:
    """Whether the clock of the sender, as far as it is known, was past a limit at a time of the capture."""
    if limit is None or captured is None:
        return False
    return captured // SECOND + (0 if clock is None else clock.ahead(captured)) > limit


def _ran_out(
    message: FollowedMessage,
    reported: _Told,
    expired: str | None,
    reach_by: int | None,
    clock: HostClock | None,
) -> _Told:
    """What became of a message of which nobody told anything."""
    if expired == "time_to_reach_queue":
        if _past(reach_by, message.first.time, clock):
            doubt = "" if clock is not None else ", or its sender's clock is slow"
            reason = f"it was sent after its time to reach the queue had passed{doubt}"
            return _Told("expired", reason, reported.evidence)
        return _Told("expired", "its time to reach the queue passed without an acknowledgment", ())
    if expired is not None:
        return _Told("expired", "its time to be received passed without an acknowledgment", ())
    if clock is not None and clock.astray and _past(reach_by, message.first.time, None):
        reason = f"{reported.reason}, and {clock.said}: other hosts may treat it as expired"
        return reported._replace(reason=reason)
    return reported
