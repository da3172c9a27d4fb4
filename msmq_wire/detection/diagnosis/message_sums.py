"""`MessageSums`: counts of messages for question 4 (what was acknowledged) and for other questions.

The rule kept here: each message is examined once; counters and the first messages of each kind are kept. An
acknowledgment of the protocol shows what the next host has, not what an application did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.claims import Fact
from msmq_wire.detection.diagnosis.delivery_failures import DeliveryFailures
from msmq_wire.detection.diagnosis.network_causes import add_undelivered
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, later, listed, part, short
from msmq_wire.sessions import MessageAcknowledgment, MessageLife, Moment, Story, class_words
from msmq_wire.sessions.outcomes import TIMEOUTS
from msmq_wire.sessions.trace_step import in_order_of_path
from msmq_wire.units import SECOND

_MOST_HOSTS = 1024
_MOST_WAITING = 64
_MOST_CLAIMS = 1024
_NEGATIVE, _AFTER_ARRIVAL = 0x8000, 0x4000
_FOR_EVER = 0xFFFFFFFF
_RESENDS = 2
"""So many resends after an OrderAck are reported; one may have crossed the OrderAck."""
_STORED = "reported as stored"
_ENDS = frozenset(("delivered", "received", "refused", "expired", "purged"))


class StaleMessages(msgspec.Struct):
    """Messages of one host that looked expired when they were sent, and the fact by the sender's clock.

    ``limits`` are their time limits in seconds, at most two.
    """

    first: MessageLife
    fact: Fact | None
    count: int = 0
    limits: set[int] = set()

    def add(self, life: MessageLife) -> None:
        """Count a message."""
        self.count += 1
        if len(self.limits) < 2:
            self.limits.add(min(life.time_to_reach_queue or _FOR_EVER, life.time_to_be_received or _FOR_EVER))


class SenderTrouble(msgspec.Struct):
    """Counts of messages of one host: refused, without an OrderAck, and the most resends of one."""

    refused: int = 0
    waiting: int = 0
    resends: int = 0


class LostMessages(msgspec.Struct):
    """Messages from one host to one queue that were lost for one reason: the first ones, and the number.

    All of them asked for dead-lettering, or journaling, or named no administration queue over TCP, where
    ``dead_letter``, ``journal`` and ``nobody_told`` say so.
    """

    lives: list[MessageLife] = []
    count: int = 0
    dead_letter: bool = True
    journal: bool = True
    nobody_told: bool = True

    def add(self, life: MessageLife) -> None:
        """Count a message."""
        self.count += 1
        if len(self.lives) < MOST:
            self.lives.append(life)
        self.dead_letter &= life.dead_letter
        self.journal &= life.journal
        self.nobody_told &= life.admin_queue is None and life.via == "tcp"


class ResentMessages(msgspec.Struct):
    """Messages that were sent again after their OrderAck: the first one, the number, and the moments."""

    first: MessageLife
    count: int = 0
    moments: list[Moment] = []


class MessageSums:
    """Takes lives; keeps the counts and examples that the answers need.

    ``few`` are the first messages of all, ``never`` the first ones without an acknowledgment. ``bad`` are
    refused or expired messages by queue, host, outcome and reason. ``waiting`` are the first transactional
    messages with a session acknowledgment but without an OrderAck.

    ``stale`` are messages that looked expired when they were sent, but did not expire. ``refused_late``
    counts messages that a receiver treated as expired. ``wronged`` are those of them that were in time by the
    clock of the sender, by sender and receiver.

    ``troubles`` are by host. ``answered`` and ``ended`` are the claims of questions 4 and 5. ``places`` are
    the messages by their stream and number.
    """

    def __init__(self) -> None:
        self.total = self.carried = self.acknowledgments = self.reports = 0
        self.resends = self.duplicates = self.uncertain = 0
        self.outcomes: Counter[str] = Counter()
        self.acknowledged = self.recoverable = self.stored = 0
        self.few: list[MessageLife] = []
        self.never: list[MessageLife] = []
        self.never_count = 0
        self.transactional = self.waiting_count = self.collisions = 0
        self.waiting: list[MessageLife] = []
        self.troubles: dict[str, SenderTrouble] = {}
        self.bad: dict[tuple[str | None, str, str, str], LostMessages] = {}
        self.bad_classes: Counter[str] = Counter()
        self.stale: dict[tuple[str, Fact | None], StaleMessages] = {}
        self.refused_late: Counter[str] = Counter()
        self.wronged: dict[tuple[str, str], StaleMessages] = {}
        self.answered: list[tuple[Fact, str]] = []
        self.ended: list[tuple[Fact, str]] = []
        self.places: dict[tuple[int, int], str] = {}
        self.failures = DeliveryFailures()
        self.confirmed_again: dict[tuple[str, str], ResentMessages] = {}

    def feed(self, life: MessageLife) -> None:
        """Take a message; acknowledgments and reports are only counted."""
        if life.about:
            self.acknowledgments += life.acknowledges is not None
            self.reports += bool(life.reports_on)
            return
        self.total += 1
        self.outcomes[life.outcome] += 1
        self.resends += life.resends
        self.duplicates += life.duplicates
        self._claim(life)
        self._late(life)
        is_acknowledged = is_taken(life)
        self.failures.feed(life, taken=is_acknowledged)
        if len(self.few) <= MOST:
            self.few.append(life)
        if life.failed:
            self.bad_classes[why(life)] += 1
            key = life.queue, host(life.src), life.outcome, why(life)
            if key in self.bad or len(self.bad) < _MOST_HOSTS:
                self.bad.setdefault(key, LostMessages()).add(life)
            if life.outcome != "expired":
                self._trouble(life).refused += 1
        if life.via == "rpc":
            return
        self.carried += 1
        self.uncertain += not life.certain
        self.acknowledged += is_acknowledged
        if life.delivery in ("recoverable", "transactional") and life.via == "tcp":
            self.recoverable += 1
            self.stored += life.stored is not None
        if life.resends:
            self._trouble(life).resends += life.resends
            self._confirmed(life)
        if life.stream is not None:
            self.transactional += 1
            if life.outcome in ("acknowledged", "stored"):
                self._trouble(life).waiting += 1
                self.waiting_count += 1
                if len(self.waiting) < _MOST_WAITING:
                    self.waiting.append(life)
        if not is_acknowledged:
            self.never_count += 1
            if len(self.never) < MOST:
                self.never.append(life)

    def _confirmed(self, life: MessageLife) -> None:
        """Count a message that was sent again after its OrderAck."""
        covered = None if life.order_ack is None else life.order_ack.time
        after = [one for one in life.resent_at if covered is not None and (one.time or 0) > covered]
        key = host(life.src), host(life.dst)
        if len(after) < _RESENDS or not life.certain:
            return
        if key in self.confirmed_again or len(self.confirmed_again) < _MOST_HOSTS:
            again = self.confirmed_again.setdefault(key, ResentMessages(life))
            again.count += 1
            again.moments += (life.first, *after)[: MOST - len(again.moments)]

    def _trouble(self, life: MessageLife) -> SenderTrouble:
        name = host(life.src)
        if name not in self.troubles and len(self.troubles) >= _MOST_HOSTS:
            return SenderTrouble()
        return self.troubles.setdefault(name, SenderTrouble())

    def _claim(self, life: MessageLife) -> None:
        if life.twin:
            # What is claimed of its name is claimed of the other.
            self.collisions += 1
            return
        name = life.message_id
        number = life.tx_sequence_number
        if number is not None and life.stream is not None and len(self.places) < _MOST_CLAIMS:
            self.places[life.stream, number] = name
        if len(self.ended) < _MOST_CLAIMS:
            self.ended += ((fact, name) for fact in _outcome_claims(life))
        if life.via != "rpc" and len(self.answered) < _MOST_CLAIMS:
            self.answered += ((fact, name) for fact in _acknowledgment_claims(life))

    def _late(self, life: MessageLife) -> None:
        if life.outcome == "expired" and life.nack_class in TIMEOUTS:
            self._refused_late(life)
        if life.via != "tcp" or life.outcome == "expired" or not _is_over(life, 0):
            return
        fact: Fact | None = None
        if life.clock_offset is not None:
            fact = "late" if _is_over(life, life.clock_offset) else "in_time"
            if len(self.ended) < _MOST_CLAIMS and not life.twin:
                self.ended.append((fact, life.message_id))
        key = (host(life.src), fact)
        if key in self.stale or len(self.stale) < _MOST_HOSTS:
            self.stale.setdefault(key, StaleMessages(life, fact)).add(life)

    def _refused_late(self, life: MessageLife) -> None:
        """Count a message that a receiver treated as expired, but that was in time by its sender's clock."""
        src, dst = host(life.src), host(life.dst)
        if len(self.refused_late) < _MOST_HOSTS or dst in self.refused_late:
            self.refused_late[dst] += 1
        offset = life.clock_offset
        if offset is None or not _is_over(life, 0) or _is_over(life, offset):
            return
        if (src, dst) in self.wronged or len(self.wronged) < _MOST_HOSTS:
            self.wronged.setdefault((src, dst), StaleMessages(life, "in_time")).add(life)


def is_taken(life: MessageLife) -> bool:
    """Whether any evidence shows that the next host, or one after it, has the message."""
    if life.acknowledged is not None or life.stored is not None:
        return True
    if life.order_ack is not None or life.accepted is not None:
        return True
    if any(one.came and one.sure for one in life.reports):
        return True
    return any(one.message_class for one in life.acknowledgments) if life.acknowledgments else False


def is_settled(life: MessageLife) -> bool:
    """Whether everything about a message is known, so that later packets change no answer."""
    if life.about:
        return True
    if life.outcome == "expired" and life.nack_class is None:
        # It expired by the clock only: an acknowledgment may still come.
        return False
    if life.via == "rpc" or life.outcome in _ENDS:
        return True
    if life.stream is not None or not is_taken(life):
        return False
    return life.delivery == "express" or life.stored is not None


def _acknowledgment_claims(life: MessageLife) -> Iterator[Fact]:
    """The claims of question 4 about a message."""
    if not is_taken(life):
        yield "never_acknowledged"
        return
    yield "acknowledged"
    if life.acknowledged is not None and not life.resends and not life.route:
        yield "in_session"
    if life.stored is not None:
        yield "stored"
    if life.order_ack is not None:
        yield "covered"
    if life.outcome in ("received", "delivered") or life.nack_class:
        yield from (
            fact for fact in _outcome_claims(life) if any(_shows(one, fact) for one in life.acknowledgments)
        )


def _shows(one: MessageAcknowledgment, fact: Fact) -> bool:
    return fact == {2: "delivered", _AFTER_ARRIVAL: "received"}.get(
        one.message_class, _refusal(one.message_class)
    )


def _refusal(class_: int) -> Fact:
    return "not_received" if class_ & _AFTER_ARRIVAL else "not_delivered"


def _outcome_claims(life: MessageLife) -> Iterator[Fact]:
    """The claims of question 5 about a message."""
    if life.nack_class:
        yield _refusal(life.nack_class)
    elif life.outcome == "unknown":
        # A message that only a remote call returned was not sent here.
        if life.via != "rpc":
            yield "unknown"
    elif life.outcome != "refused" and life.outcome != "purged":
        yield life.outcome


def _is_over(life: MessageLife, ahead: int) -> bool:
    """Whether a message was expired when sent, by a clock ``ahead`` seconds of the capture's clock."""
    if life.first.time is None or (life.reach_by is None and life.receive_by is None):
        return False
    limits = [limit for limit in (life.reach_by, life.receive_by) if limit is not None]
    return bool(limits) and life.first.time // SECOND + ahead > min(limits)


def acknowledged(sums: MessageSums, story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 4, [MS-MQMQ] 2.2.20.4, [MS-MQQB] 3.1.5.5 and 3.1.5.6."""
    total = sums.carried
    for fact, message in sums.answered:
        builder.claim(fact, message)
    builder.facts = {
        "messages": total,
        "acknowledged": sums.acknowledged,
        "recoverable": sums.recoverable,
        "stored": sums.stored,
        "never_acknowledged": sums.never_count,
        "never_acknowledged_ids": [life.message_id for life in sums.never],
        "resends": sums.resends,
        "duplicates": sums.duplicates,
        "not_covered": sums.waiting_count,
    }
    if not total:
        return
    if total <= MOST:
        for life in sums.few:
            if life.via != "rpc" and is_taken(life):
                text, moments = _taken(life, words)
                builder.say(text, life.first, *moments)
    else:
        stored = f", {sums.stored:,} of {sums.recoverable:,} recoverable ones as stored"
        stored = stored if sums.recoverable else ""
        was = "was" if sums.acknowledged == 1 else "were"
        builder.say(f"{part(sums.acknowledged, total, 'message')} {was} acknowledged{stored}.")
    if sums.never_count:
        ids = [f"{short(life.message_id)} ({words.frame(life.first)})" for life in sums.never]
        rest = "sessions and the acknowledgments in them: decode"
        none = sums.never_count == total > 1
        some = f"{part(sums.never_count, total, 'message')} {'was' if sums.never_count == 1 else 'were'} not"
        text = f"None of {total:,} messages was" if none else some
        text += f" acknowledged in the capture: {listed(ids, sums.never_count, rest=rest)}."
        builder.say(text, *(life.first for life in sums.never))
        add_undelivered(sums.never, story, words, builder)
    elif total > MOST:
        builder.say("No message was left without an acknowledgment.")
    if sums.waiting_count:
        number = sums.waiting_count
        ids = [f"{short(life.message_id)} ({words.frame(life.first)})" for life in sums.waiting[:MOST]]
        covers = f"No OrderAck covers {number:,} of {count(sums.transactional, 'transactional message')}: "
        text = (
            f"{covers}{listed(ids, number)}. A session acknowledgment says that the next host has a message, "
        )
        text += "an OrderAck that its queue does."
        builder.say(text, *(life.first for life in sums.waiting), attention="info")
    if sums.resends:
        again = f"Messages were sent again {count(sums.resends, 'time')}"
        after = f", {sums.duplicates:,} of them after an acknowledgment" if sums.duplicates else ""
        builder.say(f"{again}{after}.", attention="info")
    if sums.collisions:
        have = (
            "has the identifier of another message"
            if sums.collisions == 1
            else "have identifiers of other messages"
        )
        text = f"{count(sums.collisions, 'message')} {have}: an acknowledgment may be about either"
        builder.add_caveats(text)
    if sums.uncertain:
        builder.add_caveats(
            f"acknowledgments of {count(sums.uncertain, 'message')} are doubtful: bytes are missing"
        )


def _taken(life: MessageLife, words: Phrases) -> tuple[str, list[Moment | None]]:
    """The first acknowledgment of each kind."""
    steps: list[tuple[str, Moment]] = []
    if life.acknowledged is not None:
        steps.append(("acknowledged", life.acknowledged))
    if life.stored is not None:
        steps.append((_STORED, life.stored))
    if life.accepted is not None:
        steps.append((f"accepted by HTTP {life.http_status}", life.accepted))
    if life.order_ack is not None:
        steps.append(("covered by an OrderAck", life.order_ack))
    for ack in life.acknowledgments:
        what = _class_text(ack.message_class)
        if life.outcome in ("received", "delivered") and ack.message_class & _NEGATIVE:
            what += ", although another acknowledgment contradicts this,"
        steps.append((what, ack.at))
    told = [one for one in in_order_of_path(life.reports) if one.came and one.sure]
    if told:
        manager = short(str(told[-1].queue_manager))
        steps.append((f"told to have come to queue manager {manager} by its report message", told[-1].at))
    if len(steps) > 1 and steps[0][1] == steps[1][1] and steps[1][0] == _STORED:
        steps[:2] = [(f"acknowledged and {_STORED}", steps[0][1])]
    at = [f"{what} in {words.frame(moment)}{_after(life, moment)}" for what, moment in steps]
    queue = life.queue or "a queue that is not known"
    text = f"Message {short(life.message_id)} to {queue} was {listed(at)}."
    if life.delivery in ("recoverable", "transactional") and life.stored is None and life.via == "tcp":
        text += " Nothing says that it was stored."
    return text, [moment for _, moment in steps]


def _after(life: MessageLife, moment: Moment) -> str:
    return later(life.first, moment, "after it was sent") if moment != life.first else ""


def _class_text(message_class: int) -> str:
    if message_class == 0x0002:
        return "reported to be in its queue"
    if message_class == 0x4000:
        return "reported as received"
    return f"refused ({class_words(message_class)})"


def why(life: MessageLife) -> str:
    return class_words(life.nack_class) if life.nack_class else life.reason
