"""`DeliveryFailures`: causes for messages that were refused, expired or never acknowledged.

The rule kept here: what one server does to all that comes, or refuses for one queue, is one cause. A message
whose acknowledgment may come after the end of the capture is not called lost.
"""

from __future__ import annotations

import re

import msgspec

from msmq_wire.findings.cause import Cause
from msmq_wire.findings.diagnosis.answer import AnswerBuilder
from msmq_wire.findings.diagnosis.phrases import count, failed_word, host, listed, quoted, short, span
from msmq_wire.findings.finding import Confidence, Connection, connection_of
from msmq_wire.findings.folding import Fold
from msmq_wire.findings.overdue import PATIENCE, NextSessions, patience_of
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import MessageLife, Moment, Session, Story, class_words
from msmq_wire.sessions.outcomes import TIMEOUTS

_NEEDS: tuple[Need, ...] = (
    "both_sides", "whole", "order", "read", "next_openings", "counted", "in_time",
)  # fmt: skip
_SENT: tuple[Need, ...] = ("opening", "both_sides", "whole")
"""What has to have been captured between two hosts to say that no acknowledgment came, or no message."""

_MOST = 4096
_MOST_MOMENTS, _MOST_NAMED = 16, 3
_NACK, _RECEIVED = 0x8000, 0x4000
_DELETED, _PURGED, _UNREAD = 0xC000, 0xC001, 0xC002
_TAKEN = (_DELETED, _PURGED)
"""Classes that say that the queue had taken the message, which was not refused."""
_RULES = {"refused": "MSG-REFUSED", "expired": "MSG-EXPIRED", "unanswered": "MSG-UNACKED"}
"""The rules that tell of a fate."""
_NO_SUCCESS = 300
"""From this HTTP status on a message was not accepted."""

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
    """Whether an application that asked for it was told that the time is over."""


class _Pile(msgspec.Struct):
    """Messages of one fate: the first of them, what shows it, who sent them, and to which queues."""

    first: MessageLife
    moments: list[Moment] = []
    connections: dict[Connection, None] = {}
    senders: dict[str, None] = {}
    queues: dict[str | None, None] = {}
    session: Session | None = None
    latest: int = 0
    """When the last of them was sent (ns)."""
    count: int = 0
    certain: bool = True
    dead_letter: bool = True
    """Whether all of them asked for dead-lettering."""

    def join(self, other: _Pile) -> None:
        """Take the messages of another pile."""
        self.count += other.count
        self.latest = max(self.latest, other.latest)
        self.certain &= other.certain
        self.dead_letter &= other.dead_letter
        self.moments += other.moments[: _MOST_MOMENTS - len(self.moments)]
        if len(self.connections) < _MOST_MOMENTS:
            self.connections |= other.connections
        # All of them are counted; there are no more than piles.
        self.senders |= other.senders
        self.queues |= other.queues


class DeliveryFailures:
    """Takes the lives of messages; says what was wrong with those that did not arrive."""

    def __init__(self) -> None:
        self._piles: dict[_Key, _Pile] = {}
        self._reported: dict[tuple[str, str, int], tuple[Moment, Connection]] = {}

    def feed(self, life: MessageLife, *, taken: bool) -> None:
        """Take a message; ``taken`` says that somebody acknowledged it."""
        # What was sent on was taken; who has it now is the host that it was sent to last.
        last = life.route[-1] if life.route else life
        if (life.message_class or 0) & _NACK and life.acknowledges is None:
            self._hear(life.src, life.dst, life.message_class or 0, life.first)
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
            # An acknowledgment may have come that could not be told to be its own.
            return
        else:
            ending, why = "unanswered", "" if life.http_status is None else f"HTTP {life.http_status}"
        reported = ending == "expired" and any(
            one.kind == "administration_ack" and one.message_class == life.nack_class
            for one in life.acknowledgments
        )
        ends = host(last.src), host(last.dst)
        key = _Key(ending, why, life.nack_class, life.queue, *ends, last.session, reported)
        pile = self._piles.get(key)
        if pile is None and len(self._piles) >= _MOST:
            key = msgspec.structs.replace(key, queue=None, session=None)
            pile = self._piles.get(key)
            if pile is None and len(self._piles) >= 2 * _MOST:
                return
        if pile is None:
            pile = self._piles[key] = _Pile(life)
        pile.count += 1
        pile.latest = max(pile.latest, life.first.time or 0)
        pile.senders[ends[0]] = None
        if len(pile.queues) < _MOST_MOMENTS:
            pile.queues[life.queue] = None
        pile.certain &= life.certain
        pile.dead_letter &= life.dead_letter
        if len(pile.connections) < _MOST_MOMENTS:
            pile.connections[connection_of(last.src, last.dst)] = None
        if len(pile.moments) >= _MOST_MOMENTS:
            return
        acks = [one.at for one in life.acknowledgments if one.message_class == life.nack_class]
        for moment in (life.first, *acks, life.rejected):
            if moment is not None and len(pile.moments) < _MOST_MOMENTS:
                pile.moments.append(moment)

    def _hear(self, src: str, dst: str, message_class: int, moment: Moment) -> None:
        if len(self._reported) < _MOST:
            self._reported.setdefault(
                (host(src), host(dst), message_class), (moment, connection_of(src, dst))
            )

    def unanswered(self, story: Story, candidates: Fold, builder: AnswerBuilder) -> None:
        """Let an answer call for a look where messages were not acknowledged that should have been."""
        own = AnswerBuilder(builder.visibility)
        self.add_causes(story, candidates, own)
        for cause in own.causes:
            builder.raise_attention(cause.severity if cause.kind == "unanswered" else None)

    def add_causes(self, story: Story, candidates: Fold, builder: AnswerBuilder) -> None:
        """Name the causes."""
        expired = coming = 0
        following = NextSessions(story)
        merged: dict[_Key, _Pile] = {}
        for key, pile in self._piles.items():
            session = None if key.session is None else story.session(key.session)
            if any(candidates.hostile(*one) for one in pile.connections):
                continue
            if key.reported:
                # Its time was up, as its sender wanted, who asked to be told and was.
                expired += pile.count
                continue
            if not (key.nack_class or key.why.startswith("HTTP")) and not _shown(pile, builder):
                continue
            # Where a packet breaks a rule, that may be why nobody acknowledged it.
            odd = any(candidates.mentions(*one) for one in pile.connections)
            last = pile.first.route[-1] if pile.first.route else pile.first
            if not (key.nack_class or odd) and following.may_come(key.session, last.src):
                coming += pile.count
                continue
            why = (
                _silence(key, pile, session, story) if key.ending == "unanswered" and not key.why else key.why
            )
            if why is None:
                continue
            # What one server does to all that comes is one cause; what is refused is so for its queue.
            queue = key.queue if key.nack_class else None
            one = msgspec.structs.replace(key, session=None, why=why, src="", queue=queue)
            merged.setdefault(one, _Pile(pile.first, session=session)).join(pile)
        for key, pile in merged.items():
            builder.add_cause(_cause(key, pile))
        if expired:
            builder.add_note(f"{count(expired, 'message')} expired, and the sender was told")
        if coming:
            was = "was" if coming == 1 else "were"
            text = f"{count(coming, 'message')} {was} not acknowledged before the connection closed"
            builder.add_note(f"{text}, and the capture ends before the sender could send again")
        received = {one.message_id for one in story.strays if one.message_class == _RECEIVED}
        for stray in story.strays:
            if stray.message_id is not None and stray.message_id in received:
                # Two acknowledgments that contradict each other are another rule's.
                continue
            if stray.message_class & _NACK:
                self._hear(stray.src, stray.dst, stray.message_class, stray.at)
        for (src, dst, class_), (moment, connection) in self._reported.items():
            if candidates.hostile(*connection):
                continue
            dropped = bool(story.left_out.lives)
            if class_ in TIMEOUTS and (dropped or not builder.was_captured_between(_SENT, src, dst, moment)):
                # Whether its sender asked to be told that is not known.
                which = "was dropped to save memory" if dropped else "was not captured"
                builder.add_note(f"{src} told {dst} that a message expired; the message itself {which}")
                continue
            builder.add_cause(_told_of(src, dst, class_, moment, dropped=dropped))


def _shown(pile: _Pile, builder: AnswerBuilder) -> bool:
    """Whether an acknowledgment would have been captured."""
    ends = {(host(one), host(other)) for one, other in pile.connections}
    return all(builder.was_captured_between(_NEEDS, *one, pile.first.first) for one in ends)


def _silence(key: _Key, pile: _Pile, session: Session | None, story: Story) -> str | None:
    """Why nothing acknowledged a message; None where that may come yet."""
    if session is not None and not session.started:
        # What was counted before is not known: only of what came behind all acknowledgments is it sure.
        acks = [one.last_ack.record for one in session.directions if one.last_ack is not None]
        if not acks or max(acks) > pile.first.first.record:
            return None
    since = pile.first.first.time
    waited = None if since is None or story.last is None else story.last - since
    if session is None:
        # Of many connections not each is told apart: their last message waited for the shortest time.
        waited = None if not pile.latest or story.last is None else story.last - pile.latest
        them = "it" if pile.count == 1 else "them"
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


def _cause(key: _Key, pile: _Pile) -> Cause:
    session = pile.session
    src = listed(list(pile.senders)[:_MOST_NAMED], len(pile.senders))
    queues = [queue or "a queue that is not known" for queue in pile.queues]
    name = f"{short(pile.first.message_id)}{quoted(pile.first.label)}"
    what = f"Message {name}" if pile.count == 1 else f"{count(pile.count, 'message')}, first {name},"
    to = f"{what} from {src} to {listed(queues[:_MOST_NAMED], len(queues))}"
    was = "was" if pile.count == 1 else "were"
    confidence: Confidence = "certain"
    sure = pile.certain and (session is None or session.certain)
    if key.ending == "unanswered":
        confidence = "certain" if key.why.startswith("HTTP") else "likely" if sure else "guess"
        several = len(pile.senders) > 1
        why = key.why.replace("the sender ", "the senders ") if several else key.why
        text = f"{to}: the capture shows no acknowledgment by {key.dst}, and {why}"
        action = f"look into the outgoing {'queues' if several else 'queue'} of {src}, and check whether "
        action += f"{'the message' if pile.count == 1 else 'the messages'} arrived at {key.dst}"
        if key.why.startswith("HTTP"):
            text = f"{to} {was} not accepted: {key.dst} answered {key.why}"
            action = f"look at the web server of {key.dst}, and at the queue that the URL names"
    elif key.nack_class:
        verb = "expired" if key.ending == "expired" else f"{was} {failed_word(key.nack_class in _TAKEN)}"
        why = class_words(key.nack_class)
        why = why if pile.count == 1 else of_several(why)
        text = f"{to} {verb}: {why} (class 0x{key.nack_class:04x})"
        action = REMEDIES.get(key.nack_class, "ask the application that sent this class")
        if pile.dead_letter and len(pile.senders) == 1:
            it = "the message" if pile.count == 1 else "the messages"
            action += f"; look for {it} in the dead-letter queue of {src}"
    else:
        confidence = "likely" if pile.certain else "guess"
        text = f"{to} {'expired' if key.ending == 'expired' else f'{was} refused'}: {key.why}"
        action = f"find out what delayed it at {src}, or give it more time"
    kind, about = key.ending, key.dst
    if key.nack_class == _PURGED:
        kind, about = "purged", key.queue or ""
    elif key.nack_class == _UNREAD:
        kind, about = "unread", next(iter(pile.senders))
    moments = list(pile.moments)
    if session is not None and session.close is not None and key.ending == "unanswered":
        moments.append(session.close)
    return Cause(
        text=text,
        severity="low"
        if key.nack_class in TIMEOUTS or (key.ending == "unanswered" and not sure)
        else "medium",
        confidence=confidence,
        moments=tuple(moments),
        who=(*list(pile.senders)[:_MOST_MOMENTS], key.dst),
        action=action,
        count=pile.count,
        rules=(_RULES[key.ending],),
        kind=kind,
        about=about,
        brief=f"{count(pile.count, 'message')} from {src} {_briefly(key, was)}",
        explains=("late",) if key.ending == "unanswered" else (),
        message=pile.first.first.record,
        connections=tuple(pile.connections) if key.ending == "unanswered" else (),
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


def of_several(why: str) -> str:
    """What is said of a message, of several."""
    for one, many in _SEVERAL:
        why = re.sub(rf"\b{one}\b", many, why)
    return why


def _told_of(src: str, dst: str, message_class: int, moment: Moment, *, dropped: bool) -> Cause:
    """A negative acknowledgment of a message that was not captured, or dropped to save memory."""
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
