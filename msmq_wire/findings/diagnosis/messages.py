"""Questions 3 and 4: what was sent and what was acknowledged; and what question 5 has to know of messages.

The rule kept here: all messages are looked at once, and counters and the first few of each kind are kept. An
acknowledgment by the protocol says what the next host has, not what an application did. What time a message
had is told by the clock of its sender, where that is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from msmq_wire.findings.diagnosis.answer import MOST, Telling
from msmq_wire.findings.diagnosis.cause import Cause
from msmq_wire.findings.diagnosis.claims import Fact
from msmq_wire.findings.diagnosis.fates import Fates
from msmq_wire.findings.diagnosis.suspects import Connection, Suspects, connection_of
from msmq_wire.findings.diagnosis.words import Words, count, host, listed, part, short, span
from msmq_wire.sessions import Acknowledgment, HostClock, MessageLife, Moment, Story, class_words
from msmq_wire.sessions.clocks import AHEAD, is_time, length_of_time
from msmq_wire.units import SECOND

__all__ = ["MessageSums", "Stale", "acknowledged", "is_taken", "seconds_text", "sent", "why"]

Name = TypeVar("Name", str, int)

_MOST_GROUPS = 1024
_MOST_NAMES = 16
_MOST_SHAPES = 64
_MOST_BAD = 64
_MOST_CLAIMS = 1024
_NEGATIVE, _AFTER_ARRIVAL = 0x8000, 0x4000
_INFINITE = 0xFFFFFFFF
_PERIODS = ((86400, "day", "days"), (3600, "h", "h"), (60, "min", "min"), (1, "s", "s"))
_DIRECT = {
    "OS": "computer name",
    "TCP": "IP address",
    "SPX": "SPX address",
    "HTTP": "URL",
    "HTTPS": "URL",
}


class _Group(msgspec.Struct):
    """Messages of one way to one queue."""

    first: Moment
    last: Moment
    count: int = 0
    resends: int = 0
    sizes: tuple[int, int] | None = None
    sent: tuple[int, int] | None = None
    senders: dict[str, None] = {}
    receivers: dict[str, None] = {}
    labels: dict[str, None] = {}
    priorities: dict[int, None] = {}
    reach: dict[int, None] = {}
    receive: dict[int, None] = {}
    asked: int = 0
    shapes: set[tuple[object, ...]] = set()
    connections: dict[Connection, None] = {}


class Stale(msgspec.Struct):
    """Messages of one host that looked expired when they were sent, and what the sender's clock says."""

    first: MessageLife
    fact: Fact | None
    count: int = 0


class Trouble(msgspec.Struct):
    """Messages of one host that were refused, that no OrderAck covers, and how often any was sent again."""

    refused: int = 0
    waiting: int = 0
    resends: int = 0


GroupKey = tuple[str | None, str, str | None, str]
"""Queue, carrier, delivery, and the sender where its clock is wrong."""


class MessageSums:
    """Takes lives; keeps what the three answers need.

    ``groups`` are messages by queue, carrier and delivery; ``never`` are the first messages that nothing
    acknowledged, ``bad`` those that were refused or expired, ``few`` the first of all. ``waiting`` are the
    first transactional messages that were acknowledged in a session, and that no OrderAck covers. ``stale``
    are those that looked expired when they were sent, and that is not what became of them. ``troubles`` are
    by host. ``answered`` and ``ended`` are what questions 4 and 5 claim, ``places`` the numbers of
    transactional messages in their streams.
    """

    def __init__(self) -> None:
        self.groups: dict[GroupKey, _Group] = {}
        self.ungrouped = 0
        self.total = self.carried = self.acknowledgments = 0
        self.resends = self.duplicates = self.uncertain = 0
        self.outcomes: Counter[str] = Counter()
        self.acknowledged = self.recoverable = self.stored = self.delivered = self.received = 0
        self.few: list[MessageLife] = []
        self.never: list[MessageLife] = []
        self.never_count = 0
        self.transactional = self.waiting_count = self.twins = 0
        self.waiting: list[MessageLife] = []
        self.troubles: dict[str, Trouble] = {}
        self.bad: list[MessageLife] = []
        self.bad_classes: Counter[str] = Counter()
        self.stale: dict[tuple[str, Fact | None], Stale] = {}
        self.answered: list[tuple[Fact, str]] = []
        self.ended: list[tuple[Fact, str]] = []
        self.places: dict[tuple[int, int], str] = {}
        self.fates = Fates()

    def feed(self, life: MessageLife) -> None:
        """Take a message; acknowledgments, which are messages too, are only counted."""
        if life.acknowledges is not None:
            self.acknowledgments += 1
            return
        self.total += 1
        self._group(life)
        self.outcomes[life.outcome] += 1
        self.resends += life.resends
        self.duplicates += life.duplicates
        self._claim(life)
        self._late(life)
        is_acknowledged = is_taken(life)
        self.fates.feed(life, taken=is_acknowledged)
        if len(self.few) <= MOST:
            self.few.append(life)
        if life.outcome in ("refused", "expired"):
            self.bad_classes[why(life)] += 1
            if len(self.bad) < _MOST_BAD:
                self.bad.append(life)
            if life.outcome == "refused":
                self._trouble(life).refused += 1
        self.received += life.outcome == "received"
        self.delivered += life.outcome == "delivered"
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
        if life.stream is not None:
            self.transactional += 1
            if life.outcome in ("acknowledged", "stored"):
                self._trouble(life).waiting += 1
                self.waiting_count += 1
                if len(self.waiting) < _MOST_BAD:
                    self.waiting.append(life)
        if not is_acknowledged:
            self.never_count += 1
            if len(self.never) < MOST:
                self.never.append(life)

    def _trouble(self, life: MessageLife) -> Trouble:
        name = host(life.src)
        if name not in self.troubles and len(self.troubles) >= _MOST_GROUPS:
            return Trouble()
        return self.troubles.setdefault(name, Trouble())

    def _claim(self, life: MessageLife) -> None:
        if life.twin:
            # What is claimed of its name is claimed of the other.
            self.twins += 1
            return
        name = life.message_id
        number = life.tx_sequence_number
        if number is not None and life.stream is not None and len(self.places) < _MOST_CLAIMS:
            self.places[life.stream, number] = name
        if len(self.ended) < _MOST_CLAIMS:
            self.ended += ((fact, name) for fact in _ended(life))
        if life.via != "rpc" and len(self.answered) < _MOST_CLAIMS:
            self.answered += ((fact, name) for fact in _answered(life))

    def _late(self, life: MessageLife) -> None:
        if life.via != "tcp" or life.outcome == "expired" or not _is_over(life, 0):
            return
        fact: Fact | None = None
        if life.clock_offset is not None:
            fact = "late" if _is_over(life, life.clock_offset) else "in_time"
            if len(self.ended) < _MOST_CLAIMS and not life.twin:
                self.ended.append((fact, life.message_id))
        key = (host(life.src), fact)
        if key in self.stale or len(self.stale) < _MOST_GROUPS:
            self.stale.setdefault(key, Stale(life, fact)).count += 1

    def _group(self, life: MessageLife) -> None:
        astray = life.clock_offset is not None and abs(life.clock_offset) > AHEAD
        key = (life.queue, life.via, life.delivery, host(life.src) if astray else "")
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= _MOST_GROUPS:
                self.ungrouped += 1
                return
            group = self.groups[key] = _Group(first=life.first, last=life.first)
        group.count += 1
        group.last = life.first
        group.resends += life.resends
        group.sizes = _reach(group.sizes, life.size)
        group.sent = _reach(group.sent, life.sent_time if is_time(life.sent_time, life.first.time) else None)
        group.asked += life.admin_queue is not None
        if life.label:
            _keep(group.labels, life.label)
        shape = (life.src, life.dst, life.priority, life.time_to_reach_queue, life.time_to_be_received)
        # Most are as others before.
        if shape in group.shapes:
            return
        if len(group.shapes) < _MOST_SHAPES:
            group.shapes.add(shape)
        if len(group.connections) < _MOST_NAMES:
            group.connections[connection_of(life.src, life.dst)] = None
        _keep(group.senders, host(life.src))
        _keep(group.receivers, host(life.dst))
        if life.priority is not None:
            _keep(group.priorities, life.priority)
        if life.time_to_reach_queue is not None:
            _keep(group.reach, life.time_to_reach_queue)
        if life.time_to_be_received is not None:
            _keep(group.receive, life.time_to_be_received)


def is_taken(life: MessageLife) -> bool:
    """Whether anything says that the next host, or the one behind it, has the message."""
    if life.acknowledged is not None or life.stored is not None:
        return True
    if life.order_ack is not None or life.accepted is not None:
        return True
    return any(one.message_class for one in life.acknowledgments) if life.acknowledgments else False


def _answered(life: MessageLife) -> Iterator[Fact]:
    """What acknowledges a message, as question 4 counts and tells it."""
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
        yield from (fact for fact in _ended(life) if any(_tells(one, fact) for one in life.acknowledgments))


def _tells(one: Acknowledgment, fact: Fact) -> bool:
    return fact == {2: "delivered", _AFTER_ARRIVAL: "received"}.get(
        one.message_class, _refusal(one.message_class)
    )


def _refusal(class_: int) -> Fact:
    return "not_received" if class_ & _AFTER_ARRIVAL else "not_delivered"


def _ended(life: MessageLife) -> Iterator[Fact]:
    """What became of a message, as question 5 counts and tells it."""
    if life.nack_class:
        yield _refusal(life.nack_class)
    elif life.outcome == "unknown":
        # What only a remote call showed was not sent here: nobody asks what became of it.
        if life.via != "rpc":
            yield "unknown"
    elif life.outcome != "refused":
        yield life.outcome


def _is_over(life: MessageLife, ahead: int) -> bool:
    """Whether a limit had passed when a message was sent, by a clock ``ahead`` of that of the capture."""
    if life.first.time is None or (life.reach_by is None and life.receive_by is None):
        return False
    limits = [limit for limit in (life.reach_by, life.receive_by) if limit is not None]
    return bool(limits) and life.first.time // SECOND + ahead > min(limits)


def _keep(names: dict[Name, None], name: Name) -> None:
    if name not in names and len(names) < _MOST_NAMES:
        names[name] = None


def _reach(span_: tuple[int, int] | None, value: int | None) -> tuple[int, int] | None:
    if value is None or (span_ is not None and span_[0] <= value <= span_[1]):
        return span_
    return (value, value) if span_ is None else (min(span_[0], value), max(span_[1], value))


def sent(sums: MessageSums, story: Story, suspects: Suspects, words: Words, telling: Telling) -> None:
    """Question 3, [MS-MQMQ] 2.2.19.1 to 2.2.19.3."""
    groups = sorted(sums.groups.items(), key=lambda one: -one[1].count)
    for (queue, via, delivery, _), group in groups[:MOST]:
        text = _group_text(queue, via, delivery, group, words)
        hostile = [one for one in group.connections if suspects.hostile(*one)]
        if hostile:
            what = "This is" if len(hostile) == len(group.connections) else "Some of them are"
            text += f" {what} not what a peer sends: see question 13."
        telling.say(text, group.first, group.last)
    if len(groups) > MOST or sums.ungrouped:
        rest = sum(group.count for _, group in groups[MOST:]) + sums.ungrouped
        telling.say(f"And {count(rest, 'message')} to other queues: messages lists them.")
    clocks = list(story.clocks)
    if telling.statements:
        _clocks(clocks, sums, telling)
    telling.facts = {
        "messages": sums.total,
        "acknowledgments": sums.acknowledgments,
        "clocks": [
            {
                "host": clock.host,
                "queue_manager": None if clock.queue_manager is None else str(clock.queue_manager),
                "offset": clock.offset,
                "drift": round(clock.drift, 3),
                "pairs": clock.pairs,
                "agreeing": clock.agreeing,
                "sure": clock.sure,
            }
            for clock in clocks[:64]
        ],
        "queues": [
            {"queue": queue, "via": via, "delivery": delivery, "messages": group.count, "sizes": group.sizes}
            for (queue, via, delivery, _), group in groups[:64]
        ],
    }


def _clocks(clocks: list[HostClock], sums: MessageSums, telling: Telling) -> None:
    """The clocks of senders that are not that of the capture."""
    sure = [clock for clock in clocks if clock.sure]
    # A message that waited has an old SentTime; none has a time to come.
    astray = [clock for clock in clocks if clock.astray and (clock.sure or clock.offset > 0)]
    for clock in astray[:MOST]:
        telling.say(_clock_text(clock))
        _blame(clock, sums, telling)
    if len(astray) > MOST:
        telling.say(
            f"And the clocks of {count(len(astray) - MOST, 'more sender')} differ from the capture's."
        )
    offsets = [clock.offset for clock in sure]
    if len(sure) > 1 and all(clock.astray for clock in sure) and max(offsets) - min(offsets) <= AHEAD:
        telling.say("All of them differ alike: it may be the clock of the capture that is wrong.")


def _blame(clock: HostClock, sums: MessageSums, telling: Telling) -> None:
    """A clock that is wrong, and the messages that look expired by it."""
    stale = sums.stale.get((clock.host, "in_time" if clock.sure else None))
    text = _clock_text(clock).removesuffix(".")
    if stale is not None:
        first = short(stale.first.message_id)
        text += f"; {count(stale.count, 'message')} seemed past their time by it, first {first}"
    telling.blame(
        Cause(
            text=text,
            severity="low" if stale is None or not clock.sure else "medium",
            confidence="likely" if clock.sure else "guess",
            moments=() if stale is None else (stale.first.first,),
            who=(clock.host,),
            action=f"set the clock of {clock.host}, or that of the capturing host",
            count=clock.agreeing,
            rules=("TIM-SKEW", "TIM-EXPIRED"),
        )
    )


def _clock_text(clock: HostClock) -> str:
    """A clock against that of the capture, and how sure that is."""
    said = clock.said[:1].upper() + clock.said[1:]
    if not clock.sure:
        return f"{said}, or its SentTime is made up: {count(clock.pairs, 'message')} do not tell."
    shown = f"{clock.agreeing:,} of {count(clock.pairs, 'message')} over {span(clock.span)} show it"
    drift = round(clock.drift)
    gains = "gains" if drift > 0 else "loses"
    return f"{said}: {shown}{f'; it {gains} {length_of_time(abs(drift))} a day' if drift else ''}."


_CARRIED = {"tcp": "", "rpc": " (read or sent by a call)", "http": " over HTTP"}


def _group_text(queue: str | None, via: str, delivery: str | None, group: _Group, words: Words) -> str:
    to = queue or "a queue that the packet does not name"
    ends = "" if via == "rpc" else f" from {listed(list(group.senders))} to {listed(list(group.receivers))}"
    parts = [f"{count(group.count, 'message')} for {to}{_CARRIED.get(via, '')}{ends}", delivery or ""]
    if group.priorities:
        noun = "priority" if len(group.priorities) == 1 else "priorities"
        parts.append(f"{noun} {listed([str(one) for one in sorted(group.priorities)])}")
    if group.sizes is not None:
        low, high = group.sizes
        parts.append(count(low, "byte") if low == high else f"{low:,} to {count(high, 'byte')}")
    text = ", ".join(part for part in parts if part)
    if group.labels:
        labels = [f'"{label if len(label) <= 40 else label[:39] + "…"}"' for label in group.labels]
        most = 3
        more = "" if len(labels) <= most else " and others"
        shown = ", ".join(labels[:most]) + more
        text += f"; {'label' if len(labels) == 1 else 'labels'} {shown}"
    else:
        text += "; no label"
    limits = [
        part
        for part in (
            _limit("to reach the queue", group.reach),
            _limit("to be received", group.receive),
        )
        if part
    ]
    text += f"; {' and '.join(limits)}" if limits else "; no limit of time"
    if group.sent is not None:
        low, high = group.sent
        until = "" if low == high else f" to {words.clock(high)}"
        text += f"; sent {words.clock(low)}{until} by the sender's clock"
    first, last = words.frame(group.first), words.frame(group.last)
    text += f"; {first}." if group.count == 1 else f"; first {first}, last {last}."
    return text + _direct(queue)


def _limit(what: str, limits: dict[int, None]) -> str:
    finite = sorted(limit for limit in limits if limit != _INFINITE)
    if not finite:
        return ""
    shown = listed([seconds_text(limit) for limit in finite])
    return f"{shown} {what}"


def seconds_text(seconds: int) -> str:
    parts = []
    for size, one, many in _PERIODS:
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number} {one if number == 1 else many}")
    return " ".join(parts) or "0 s"


def _direct(queue: str | None) -> str:
    kind, equals, rest = (queue or "").partition("=")
    if kind != "DIRECT" or not equals:
        return ""
    protocol = rest.partition(":")[0].upper()
    return f" The sender named the host by {_DIRECT[protocol]}." if protocol in _DIRECT else ""


def acknowledged(sums: MessageSums, words: Words, telling: Telling) -> None:
    """Question 4, [MS-MQMQ] 2.2.20.4, [MS-MQQB] 3.1.5.5 and 3.1.5.6."""
    total = sums.carried
    for fact, message in sums.answered:
        telling.claim(fact, message)
    telling.facts = {
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
                telling.say(text, life.first, *moments)
    else:
        stored = f", {sums.stored:,} of {sums.recoverable:,} recoverable ones as stored"
        stored = stored if sums.recoverable else ""
        was = "was" if sums.acknowledged == 1 else "were"
        telling.say(f"{part(sums.acknowledged, total, 'message')} {was} acknowledged{stored}.")
    if sums.never_count:
        ids = [f"{short(life.message_id)} ({words.frame(life.first)})" for life in sums.never]
        was = "was" if sums.never_count == 1 else "were"
        rest = "sessions and the acknowledgments in them: decode"
        text = f"{part(sums.never_count, total, 'message')} {was} never acknowledged: "
        text += f"{listed(ids, sums.never_count, rest=rest)}."
        telling.say(text, *(life.first for life in sums.never))
    elif total > MOST:
        telling.say("No message was left without an acknowledgment.")
    if sums.waiting_count:
        number = sums.waiting_count
        ids = [f"{short(life.message_id)} ({words.frame(life.first)})" for life in sums.waiting[:MOST]]
        covers = f"No OrderAck covers {number:,} of {count(sums.transactional, 'transactional message')}: "
        text = (
            f"{covers}{listed(ids, number)}. A session acknowledgment says that the next host has a message, "
        )
        text += "an OrderAck that its queue does."
        telling.say(text, *(life.first for life in sums.waiting), attention="info")
    if sums.resends:
        again = f"Messages were sent again {count(sums.resends, 'time')}"
        after = f", {sums.duplicates:,} of them after an acknowledgment" if sums.duplicates else ""
        telling.say(f"{again}{after}.", attention="info")
    if sums.twins:
        have = "has the identifier of another one" if sums.twins == 1 else "have identifiers of others"
        text = f"{count(sums.twins, 'message')} {have}: what names one of them may be about the other"
        telling.but(text)
    if sums.uncertain:
        telling.but(f"acknowledgments of {count(sums.uncertain, 'message')} are doubtful: bytes are missing")


def _taken(life: MessageLife, words: Words) -> tuple[str, list[Moment | None]]:
    """What acknowledges a message, the first of each kind."""
    steps: list[tuple[str, Moment]] = []
    if life.acknowledged is not None:
        steps.append(("acknowledged", life.acknowledged))
    if life.stored is not None:
        steps.append(("stored", life.stored))
    if life.accepted is not None:
        steps.append((f"accepted by HTTP {life.http_status}", life.accepted))
    if life.order_ack is not None:
        steps.append(("covered by an OrderAck", life.order_ack))
    for ack in life.acknowledgments:
        what = _class_text(ack.message_class)
        if life.outcome in ("received", "delivered") and ack.message_class & _NEGATIVE:
            what += ", which another acknowledgment outweighs,"
        steps.append((what, ack.at))
    if len(steps) > 1 and steps[0][1] == steps[1][1] and steps[1][0] == "stored":
        steps[:2] = [("acknowledged and stored", steps[0][1])]
    at = [_step(what, moment, life.first, words) for what, moment in steps]
    queue = life.queue or "a queue that is not known"
    text = f"Message {short(life.message_id)} to {queue} was {listed(at)}."
    if life.delivery in ("recoverable", "transactional") and life.stored is None and life.via == "tcp":
        text += " Nothing says that it was stored."
    return text, [moment for _, moment in steps]


def _class_text(message_class: int) -> str:
    if message_class == 0x0002:
        return "told to have reached its queue"
    if message_class == 0x4000:
        return "told to have been received"
    return f"refused ({class_words(message_class)})"


def _step(what: str, moment: Moment, first: Moment, words: Words) -> str:
    later = ""
    if moment.time is not None and first.time is not None and moment != first:
        later = f" ({span(moment.time - first.time)} later)"
    return f"{what} in {words.frame(moment)}{later}"


def why(life: MessageLife) -> str:
    return class_words(life.nack_class) if life.nack_class else life.reason
