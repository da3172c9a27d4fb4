"""`DeliveryFailures`: causes for messages that were refused, expired or never acknowledged.

The rule kept here: one cause covers all failures at one server, or all refusals for one queue. A message is
not called lost if its acknowledgment may come after the end of the capture.
"""

from __future__ import annotations

import re

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.network_phrases import below, fault_action, fault_clause, layer_of_fault
from msmq_wire.detection.diagnosis.phrases import count, failed_word, host, listed, quoted, short, span
from msmq_wire.detection.diagnosis.whereabouts import Whereabouts
from msmq_wire.detection.finding import Confidence, Connection, Layer, connection_of
from msmq_wire.detection.folding import Fold
from msmq_wire.detection.network_faults import NetworkFault, final_fault
from msmq_wire.detection.overdue import PATIENCE, NextSessions, patience_of
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import MessageLife, Moment, Session, Story, class_words
from msmq_wire.sessions.outcomes import TIMEOUTS

_NEEDS: tuple[Need, ...] = (
    "both_sides", "whole", "order", "read", "next_openings", "counted", "in_time",
)  # fmt: skip
_SENT: tuple[Need, ...] = ("opening", "both_sides", "whole")
"""What a capture must hold between two hosts to show that an acknowledgment, or a message, is missing."""

_MOST = 4096
_MOST_MOMENTS, _MOST_NAMED = 16, 3
_NACK, _RECEIVED = 0x8000, 0x4000
_DELETED, _PURGED, _UNREAD = 0xC000, 0xC001, 0xC002
_TAKEN = (_DELETED, _PURGED)
"""Classes of messages that had reached their queue, and so were not refused."""
_RULES = {"refused": "MSG-REFUSED", "expired": "MSG-EXPIRED", "unanswered": "MSG-UNACKED"}
"""The rule that reports each ending."""
_NO_SUCCESS = 300
"""HTTP statuses from here on are failures."""

REMEDIES: dict[int, str] = {
    0x8000: "create the queue, or correct its name at the sender",
    0x8001: "ask who deleted it",
    0x8002: "find out what delayed it, or give it more time",
    0x8003: "start the program that reads the queue, or raise its quota; a purge would delete messages",
    0x8004: "give the sender the right to write to the queue",
    0x8005: "look at the routing between the two hosts",
    0x8006: "look at the certificate of the sender",
    0x8007: "renew the encryption key that the sender has of the destination",
    0x8009: "send it to a transactional queue, or outside a transaction",
    0x800A: "send it in a transaction, or to another queue",
    0x800B: "install the cryptographic provider at the destination",
    _DELETED: "ask who deleted the queue",
    _PURGED: "ask who purged the queue",
    _UNREAD: "find out why nobody read the queue in time",
    0xC004: "ask the application why it rejected it",
}
"""What to do, by MESSAGE_CLASS_VALUES of negative acknowledgments."""
_BY_APPLICATIONS = frozenset((0x8003, 0x8009, 0x800A, _UNREAD, 0xC004))
"""Classes whose cause is a program that sends or reads: no queue manager can do what is to be done."""


class _Key(msgspec.Struct, frozen=True):
    ending: str
    """``refused``, ``expired`` or ``unanswered``."""
    why: str
    nack_class: int | None
    queue: str | None
    src: str
    dst: str
    session: int | None
    reported: bool = False
    """Whether the application got the acknowledgment of the time-out that it requested."""


class _FailedMessages(msgspec.Struct):
    """Messages that failed alike: the first one, the evidence, their senders and queues."""

    first: MessageLife
    moments: list[Moment] = []
    connections: dict[Connection, None] = {}
    senders: dict[str, None] = {}
    queues: dict[str | None, None] = {}
    session: Session | None = None
    latest: int = 0
    """The time of the last one (ns)."""
    count: int = 0
    certain: bool = True
    dead_letter: bool = True
    """Whether all of them requested dead-lettering."""

    def join(self, other: _FailedMessages) -> None:
        """Add the messages of another group."""
        self.count += other.count
        self.latest = max(self.latest, other.latest)
        self.certain &= other.certain
        self.dead_letter &= other.dead_letter
        self.moments += other.moments[: _MOST_MOMENTS - len(self.moments)]
        if len(self.connections) < _MOST_MOMENTS:
            self.connections |= other.connections
        # Their number is limited by the number of groups.
        self.senders |= other.senders
        self.queues |= other.queues


class DeliveryFailures:
    """Takes the lives of messages; adds the causes of those that did not arrive."""

    def __init__(self) -> None:
        self._groups: dict[_Key, _FailedMessages] = {}
        self._reported: dict[tuple[str, str, int], tuple[Moment, Connection]] = {}

    def feed(self, life: MessageLife, *, taken: bool) -> None:
        """Take a message; ``taken`` says whether it was acknowledged."""
        # A forwarded message was accepted. The last host on its route has it now.
        last = life.route[-1] if life.route else life
        if (life.message_class or 0) & _NACK and life.acknowledges is None:
            self._remember_nack(life.src, life.dst, life.message_class or 0, life.first)
            return
        if life.failed:
            ending = "expired" if life.outcome == "expired" else "refused"
            why = "" if life.nack_class else life.reason
        elif (
            taken
            or life.via == "rpc"
            or life.outcome != "unknown"
            or (life.http_status is not None and life.http_status < _NO_SUCCESS)
        ):
            return
        elif not life.certain:
            # An acknowledgment may have come that could not be matched to it.
            return
        else:
            ending, why = "unanswered", "" if life.http_status is None else f"HTTP {life.http_status}"
        reported = ending == "expired" and any(
            one.kind == "administration_ack" and one.message_class == life.nack_class
            for one in life.acknowledgments
        )
        ends = host(last.src), host(last.dst)
        key = _Key(ending, why, life.nack_class, life.queue, *ends, last.session, reported)
        group = self._groups.get(key)
        if group is None and len(self._groups) >= _MOST:
            key = msgspec.structs.replace(key, queue=None, session=None)
            group = self._groups.get(key)
            if group is None and len(self._groups) >= 2 * _MOST:
                return
        if group is None:
            group = self._groups[key] = _FailedMessages(life)
        group.count += 1
        group.latest = max(group.latest, life.first.time or 0)
        group.senders[ends[0]] = None
        if len(group.queues) < _MOST_MOMENTS:
            group.queues[life.queue] = None
        group.certain &= life.certain
        group.dead_letter &= life.dead_letter
        if len(group.connections) < _MOST_MOMENTS:
            group.connections[connection_of(last.src, last.dst)] = None
        if len(group.moments) >= _MOST_MOMENTS:
            return
        acks = [one.at for one in life.acknowledgments if one.message_class == life.nack_class]
        for moment in (life.first, *acks, life.rejected):
            if moment is not None and len(group.moments) < _MOST_MOMENTS:
                group.moments.append(moment)

    def _remember_nack(self, src: str, dst: str, message_class: int, moment: Moment) -> None:
        if len(self._reported) < _MOST:
            self._reported.setdefault(
                (host(src), host(dst), message_class), (moment, connection_of(src, dst))
            )

    def unanswered(self, story: Story, candidates: Fold, builder: AnswerBuilder) -> None:
        """Raise the attention of an answer if acknowledgments are missing."""
        own = AnswerBuilder(builder.visibility)
        self.add_causes(story, candidates, own)
        for cause in own.causes:
            builder.raise_attention(cause.severity if cause.kind == "unanswered" else None)

    def add_causes(self, story: Story, candidates: Fold, builder: AnswerBuilder) -> None:
        """Add a cause for each group of failed messages."""
        expired = coming = 0
        following = NextSessions(story)
        merged: dict[_Key, _FailedMessages] = {}
        for key, group in self._groups.items():
            session = None if key.session is None else story.session(key.session)
            if any(candidates.hostile(*one) for one in group.connections):
                continue
            if key.reported:
                # It expired as its sender wanted, and the sender got the acknowledgment.
                expired += group.count
                continue
            if not (key.nack_class or key.why.startswith("HTTP")) and not _acknowledgment_was_captured(
                group, builder
            ):
                continue
            # A packet that breaks a rule may be the reason for a missing acknowledgment.
            odd = any(candidates.mentions(*one) for one in group.connections)
            last = group.first.route[-1] if group.first.route else group.first
            if not (key.nack_class or odd) and following.may_come(key.session, last.src):
                coming += group.count
                continue
            why = (
                _reason_unacknowledged(key, group, session, story)
                if key.ending == "unanswered" and not key.why
                else key.why
            )
            if why is None:
                continue
            # One cause for a server; refusals have one cause for each queue.
            queue = key.queue if key.nack_class else None
            one = msgspec.structs.replace(key, session=None, why=why, src="", queue=queue)
            merged.setdefault(one, _FailedMessages(group.first, session=session)).join(group)
        where = Whereabouts(story)
        for key, group in merged.items():
            builder.add_cause(_cause(key, group, where.arrival_of(group.first)))
        if expired:
            builder.add_note(f"{count(expired, 'message')} expired, and the sender was told")
        if coming:
            was = "was" if coming == 1 else "were"
            text = f"{count(coming, 'message')} {was} not acknowledged before the connection closed"
            builder.add_note(f"{text}, and the capture ends before the sender could send again")
        received = {one.message_id for one in story.strays if one.message_class == _RECEIVED}
        for stray in story.strays:
            if stray.message_id is not None and stray.message_id in received:
                # Another rule reports two acknowledgments that contradict each other.
                continue
            if stray.message_class & _NACK:
                self._remember_nack(stray.src, stray.dst, stray.message_class, stray.at)
        for (src, dst, class_), (moment, connection) in self._reported.items():
            if candidates.hostile(*connection):
                continue
            dropped = bool(story.left_out.lives)
            if class_ in TIMEOUTS and (dropped or not builder.was_captured_between(_SENT, src, dst, moment)):
                # It is unknown whether the sender requested this acknowledgment.
                which = "was dropped to save memory" if dropped else "was not captured"
                builder.add_note(f"{src} told {dst} that a message expired; the message itself {which}")
                continue
            builder.add_cause(_cause_without_message(src, dst, class_, moment, dropped=dropped))


def _acknowledgment_was_captured(group: _FailedMessages, builder: AnswerBuilder) -> bool:
    """Whether an acknowledgment would have been captured."""
    ends = {(host(one), host(other)) for one, other in group.connections}
    return all(builder.was_captured_between(_NEEDS, *one, group.first.first) for one in ends)


def _reason_unacknowledged(
    key: _Key, group: _FailedMessages, session: Session | None, story: Story
) -> str | None:
    """Why a message was not acknowledged; None if it may still be."""
    if session is not None and not session.started:
        # The count before the capture is unknown: only messages after all acknowledgments are certain.
        acks = [one.last_ack.record for one in session.directions if one.last_ack is not None]
        if not acks or max(acks) > group.first.first.record:
            return None
    since = group.first.first.time
    waited = None if since is None or story.last is None else story.last - since
    fault = None if session is None else final_fault(session)
    if fault is not None and not _came_late(fault, since, session):
        return below(fault)
    if session is None:
        # With many connections, judge by the last message, which waited for the shortest time.
        waited = None if not group.latest or story.last is None else story.last - group.latest
        them = "it" if group.count == 1 else "them"
        if waited is None or waited < PATIENCE:
            return None
        return f"after {span(waited)} nothing acknowledges {them}"
    if session.reason == "ack_timeout":
        return "the connection ended after the time for an acknowledgment"
    if session.close is not None and session.closed_by in ("fin", "reset"):
        closer = host(session.server if session.closer == "server" else session.client)
        who = closer if closer == key.dst else "the sender"
        how = "reset" if session.closed_by == "reset" else "closed"
        return f"{who} {how} the connection"
    if waited is None or waited < patience_of(session):
        return None
    return "the connection stayed open"


def _came_late(fault: NetworkFault, since: int | None, session: Session | None) -> bool:
    """Whether a message was too long without an acknowledgment before a fault began."""
    began = min((one.time for one in fault.moments if one.time is not None), default=None)
    patience = PATIENCE if session is None else patience_of(session)
    return since is not None and began is not None and began - since > patience


def _cause(key: _Key, group: _FailedMessages, came: str = "") -> Cause:
    """The cause for messages that failed alike; the first one ``came`` to the vantage point of that name."""
    session = group.session
    src = listed(list(group.senders)[:_MOST_NAMED], len(group.senders))
    queues = [queue or "a queue that is not known" for queue in group.queues]
    name = f"{short(group.first.message_id)}{quoted(group.first.label)}"
    what = f"Message {name}" if group.count == 1 else f"{count(group.count, 'message')}, first {name},"
    to = f"{what} from {src} to {listed(queues[:_MOST_NAMED], len(queues))}"
    was = "was" if group.count == 1 else "were"
    confidence: Confidence = "certain"
    layer: Layer | None = "application" if key.nack_class in _BY_APPLICATIONS else None
    sure = group.certain and (session is None or session.certain)
    fault = None
    if key.ending == "unanswered":
        confidence = "certain" if key.why.startswith("HTTP") else "likely" if sure else "guess"
        several = len(group.senders) > 1
        why = key.why.replace("the sender ", "the senders ") if several else key.why
        fault = final_fault(session) if session is not None and why.startswith("network ") else None
        why = why if fault is None else fault_clause(fault)
        seen = f"seen at the receiver ({came}), " if came else ""
        text = f"{to}: {seen}the capture shows no acknowledgment by {key.dst}, and {why}"
        action = f"look into the outgoing {'queues' if several else 'queue'} of {src}, and check whether "
        action += f"{'the message' if group.count == 1 else 'the messages'} arrived at {key.dst}"
        if came:
            action = f"look at the queue manager of {key.dst}: the messages came there"
            action = action if group.count > 1 else action.replace("messages", "message")
        if fault is not None:
            action, layer = fault_action(fault), layer_of_fault(fault)
        if key.why.startswith("HTTP"):
            text = f"{to} {was} not accepted: {key.dst} answered {key.why}"
            action = f"look at the web server of {key.dst}, and at the queue that the URL names"
    elif key.nack_class:
        verb = "expired" if key.ending == "expired" else f"{was} {failed_word(key.nack_class in _TAKEN)}"
        why = class_words(key.nack_class)
        why = why if group.count == 1 else in_plural(why)
        text = f"{to} {verb}: {why} (class 0x{key.nack_class:04x})"
        action = REMEDIES.get(key.nack_class, "ask the application that sent this class")
        if group.dead_letter and len(group.senders) == 1:
            it = "the message" if group.count == 1 else "the messages"
            action += f"; look for {it} in the dead-letter queue of {src}"
    else:
        confidence = "likely" if group.certain else "guess"
        text = f"{to} {'expired' if key.ending == 'expired' else f'{was} refused'}: {key.why}"
        action = f"find out what delayed it at {src}, or give it more time"
    kind, about = key.ending, key.dst
    if key.nack_class == _PURGED:
        kind, about = "purged", key.queue or ""
    elif key.nack_class == _UNREAD:
        kind, about = "unread", next(iter(group.senders))
    moments = list(group.moments)
    if session is not None and session.close is not None and key.ending == "unanswered":
        moments.append(session.close)
    return Cause(
        text=text,
        severity="low"
        if key.nack_class in TIMEOUTS or (key.ending == "unanswered" and not sure)
        else "medium",
        confidence=confidence,
        moments=tuple(moments),
        who=(*list(group.senders)[:_MOST_MOMENTS], key.dst),
        action=action,
        count=group.count,
        rules=(_RULES[key.ending],),
        kind=kind,
        about=about,
        brief=f"{count(group.count, 'message')} from {src} {_briefly(key, was)}",
        explains=("late",) if key.ending == "unanswered" else (),
        message=group.first.first.record,
        connections=tuple(group.connections) if key.ending == "unanswered" else (),
        layer=layer,
        below=below(fault),
    )


def _briefly(key: _Key, was: str) -> str:
    return {"expired": "expired", "refused": f"{was} {failed_word(key.nack_class in _TAKEN)}"}.get(
        key.ending, f"{was} not acknowledged in the capture"
    )


_SEVERAL = (
    ("it was", "they were"),
    ("it is", "they are"),
    ("its", "their"),
    ("rejected it", "rejected them"),
    ("received it", "received them"),
    ("it", "they"),
)


def in_plural(why: str) -> str:
    """Turn a phrase about one message into one about several."""
    for one, many in _SEVERAL:
        why = re.sub(rf"\b{one}\b", many, why)
    return why


def _cause_without_message(src: str, dst: str, message_class: int, moment: Moment, *, dropped: bool) -> Cause:
    """The cause for a negative acknowledgment without its message in memory."""
    over = message_class in TIMEOUTS
    was = "expired" if over else f"was {failed_word(message_class in _TAKEN)}"
    reported = f"{src} told {dst} that a message {was}"
    return Cause(
        text=f"{reported}: {class_words(message_class)} (class 0x{message_class:04x}); the message itself "
        f"was {'dropped to save memory' if dropped else 'not captured'}",
        severity="low" if over else "medium",
        confidence="certain",
        moments=(moment,),
        who=(dst, src),
        action=REMEDIES.get(message_class, "ask the application that sent this class"),
        rules=(_RULES["expired" if over else "refused"],),
        kind="refused",
        about=src,
    )
