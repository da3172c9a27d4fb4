"""`Judge`: runs every rule over records, and returns findings.

The rule kept here: findings come in the order of the records they are about, those of replies as soon as no
call can explain them any more, those of times, sessions, messages and the whole story at the end; a
rule that sees the same again and again is told so many times and then counted.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.detection.explained import Explainers, explained
from msmq_wire.detection.finding import SEVERITIES, Finding
from msmq_wire.detection.packet_conditions import compile_conditions
from msmq_wire.detection.record_captures import Sources
from msmq_wire.detection.registry import RULES
from msmq_wire.detection.rule import Detection, Over, Rule
from msmq_wire.detection.rule_index import RuleIndex
from msmq_wire.records.coverage import Position
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.run import Run, ids_of, in_order, time_until
from msmq_wire.sessions import (
    Clocks,
    Leaving,
    MessageLife,
    Session,
    Story,
    StoryFollower,
    TransactionalStream,
)
from msmq_wire.wire.fields import WireStruct

if TYPE_CHECKING:
    from msmq_wire.detection.diagnosed_causes import CauseCollector
    from msmq_wire.replay import Replayer
    from msmq_wire.replay.deviation import ReplayDeviation
    from msmq_wire.routing.hop import ObservedHop

MOST_OF_A_RULE = 1000
"""At most so many findings of one rule are returned; `Judge.more` counts the others."""
_WORTH_ASKING = 200
"""After so many whole packets of a class, a compiled function selects the rules for each packet."""
_MOST_KEYS = 1 << 16
"""At most so many session keys are remembered; the oldest one is forgotten first."""
_WIRE_TYPES = frozenset(
    (
        "establish_connection",
        "connection_parameters",
        "session_ack",
        "user_message",
        "order_ack",
        "final_ack",
        "unknown_packet",
    )
)
_OVER: Mapping[type, Over] = {MessageLife: "life", Session: "session", TransactionalStream: "story"}
"""What the rules take that judge an item which is not followed any more."""


class HopAuditor(Protocol):
    """Compares the hops of messages with a topology, as `msmq_wire.routing.Auditor` does."""

    def feed(self, record: Record) -> ObservedHop | None:
        """Take a record; return a hop if it is a message on the binary protocol."""


class _Held(msgspec.Struct):
    """A record that is held back, because the next record may explain it.

    ``rules`` are the rules that must check it, None before they are known. ``deviations`` are from its
    replay, None before the replay.
    """

    record: Record | None
    rules: list[Rule] | None = None
    deviations: list[ReplayDeviation] | None = None


class Judge:
    """Takes records in the order of their ids, one by one or in runs; call `finish` at the end.

    ``rules`` are the rules to run, all by default; those that are not ``wanted`` do not run. ``more`` counts
    findings over the limit, by rule; a rule of severity info stops at the limit. ``lowered`` and ``withheld``
    count findings whose severity was lowered, or that were dropped, because the capture is incomplete.
    ``story`` has the sessions and messages at the end.

    ``follower`` follows sessions; ``budget`` and ``messages`` limit its memory. Sessions, messages and
    transactional sequences that it drops early are judged alone at that time. They are passed to ``leave``,
    and so are remote reads. Without an ``auditor`` the rules about routing do not run. With ``answers`` there
    is a ``diagnosis``, if any rule reports its causes.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule] = RULES,
        *,
        budget: int | None = None,
        messages: int | None = None,
        leave: Callable[[Leaving], None] | None = None,
        auditor: HopAuditor | None = None,
        answers: bool = False,
        wanted: Callable[[Rule], bool] | None = None,
    ) -> None:
        self._auditor = auditor
        self._rules = RuleIndex(rules, wanted)
        blames = self._rules.has("cause")
        self._cause_collector = _cause_collector(rules, answers=answers) if blames else None
        self.diagnosis = (
            self._cause_collector.diagnosis if self._cause_collector is not None and answers else None
        )
        lives = leave is not None or blames or self._rules.has("life")
        self.follower = StoryFollower(budget=budget, messages=messages, leave=self._left, lives=lives)
        self._replayer = _replayer(self.follower) if self._rules.has("reply") else None
        self._leave = leave
        self._of_the_gone: list[Finding] = []
        self._timed: list[tuple[Rule, Detection]] = []
        self._waiting: Counter[str] = Counter()
        self._given: Counter[str] = Counter()
        self.more: Counter[str] = Counter()
        self.lowered: Counter[str] = Counter()
        self.withheld: Counter[str] = Counter()
        self._explainers = Explainers()
        self._sources = Sources()
        self._keys: OrderedDict[bytes, str] = OrderedDict()
        self._held: deque[_Held] = deque()
        self._going: dict[int, list[Leaving]] | None = None
        self._whole: Counter[tuple[str, type[WireStruct]]] = Counter()
        self._asking: dict[tuple[str, type[WireStruct]], Callable[[Record], list[Rule]]] = {}
        self._last: int | None = None
        self.story: Story | None = None

    # What checks over records may ask.

    def started(self, record: Record) -> bool:
        return self.follower.visibility.started(record)

    def on_wire(self, record: Record) -> bool:
        return record.parent is None and record.type in _WIRE_TYPES and record.grade is None

    def first_with_key(self, key: bytes, sender: str) -> str:
        digest = hashlib.sha256(as_bytes(key, "key")).digest()
        known = self._keys.setdefault(digest, sender)
        if len(self._keys) > _MOST_KEYS:
            self._keys.popitem(last=False)
        return known

    def feed(self, record: Record) -> list[Finding]:
        """Take a record; return the findings before it. A gap after a call may affect its messages."""
        self._last = record.time or self._last
        self._sources.add(record.id, record.capture)
        self.follower.feed(record)
        found = self._reported(0 if record.parent is not None else len(self._held))
        self._held.append(_Held(record))
        if self._cause_collector is not None:
            self._cause_collector.feed(record, found)
        return found

    def take(self, run: Run) -> list[Finding]:
        """Take a whole run; return the same as feeding its records."""
        return [one for _, one in self.taken(run)]

    def taken(self, run: Run) -> list[tuple[int, Finding]]:
        """Like `take`, with the id of the record for which `feed` would return each finding."""
        if self._auditor is not None:
            return [(record.id, one) for record in in_order(run) for one in self.feed(record)]
        # Loads numpy, as whoever has a run did.
        from msmq_wire.detection.column_conditions import packets_to_check

        ids = ids_of(run)
        first, last = ids[0], ids[-1]
        self._sources.add(first, run.capture)
        going: dict[int, list[Leaving]] = {}
        self._going = going
        seen = self.follower.visibility
        self.follower.follow(run)
        self._going = None
        for one in self._held:
            self._replay(one)
        others = {record.id: record for record in run.others}
        held = {number: _Held(record, None, []) for number, record in others.items()}
        for number, place, rules in packets_to_check(run, self._rules.of_type, self._counted):
            held[number] = _Held(run.record(place), rules, [])
        for number, deviation in () if self._replayer is None else self._replayer.take(run):
            at = held.setdefault(number, _Held(None, None, []))
            at.deviations = [*(at.deviations or ()), deviation]
        # What happens at a record is told in the order in which feeding tells it.
        found: list[tuple[int, Finding]] = []
        children = {record.id for record in run.others if record.parent is not None}
        order = deque(sorted(held))
        after = (_behind(ids, number, children) for number in held)
        for number in sorted({first, *held, *(one for one in after if one is not None), *going}):
            # Feeding asks what had been captured until then.
            seen.advance(number)
            for gone in going.get(number, ()):
                if isinstance(gone, TransactionalStream):
                    self._last = time_until(run, number) or self._last
                self._judge_leaving(gone)
            found += [(number, one) for one in self._reported(0 if number in children else len(self._held))]
            while order and order[0] <= number:
                self._held.append(held[order.popleft()])
        seen.advance()
        self._last = time_until(run, last) or self._last
        if self._cause_collector is not None:
            self._cause_collector.take(run, (one for _, one in found))
        return found

    def finish(self) -> list[Finding]:
        """Judge the last record, then sessions, messages and the whole story."""
        found = self._reported(len(self._held))
        if self._replayer is not None:
            self._replies(self._replayer.finish(), found)
        self.story = self.follower.finish()
        self._settle(self.story.clocks, found)
        for rule in self._rules:
            if rule.over == "story":
                for one in self._seen(rule, self.story):
                    self._give(rule, one, found)
            elif rule.over in ("session", "life"):
                for item in self.story.sessions if rule.over == "session" else self.story.lives:
                    for one in self._seen(rule, item):
                        self._give(rule, one, found)
        if self._cause_collector is not None:
            for rule, one in self._cause_collector.finish(self.story, tuple(found)):
                self._give(rule, one, found)
        return found

    def _settle(self, clocks: Clocks, found: list[Finding]) -> None:
        """Report the detections that compare times, now that the clocks are known."""
        reported: set[tuple[str, str]] = set()
        common = clocks.common() if self._timed else ()
        for rule, seen in self._timed:
            assert seen.timed is not None
            clock = clocks.of(seen.timed.sender)
            if clock is None or not clock.sure or rule.by_clock is None:
                self._tell(rule, seen, found)
                continue
            one = rule.by_clock(seen, seen.timed, clock, common)
            if one is not None and (rule.id, one.message) not in reported:
                reported.add((rule.id, one.message))
                self._tell(rule, one, found)
        self._timed.clear()
        for id_, number in self._waiting.items():
            # If clocks explain all kept detections, they explain the others, too.
            if number > MOST_OF_A_RULE and self._given[id_]:
                self.more[id_] += number - MOST_OF_A_RULE

    def _left(self, gone: Leaving) -> None:
        if self._going is None:
            self._judge_leaving(gone)
        elif self._of_leaving(gone):
            self._going.setdefault(self.follower.at, []).append(gone)
        if self._cause_collector is not None:
            self._cause_collector.leave(gone)
        if self._leave is not None:
            self._leave(gone)

    def _of_leaving(self, gone: Leaving) -> list[Rule]:
        over = _OVER.get(type(gone))
        return [] if over is None else self._rules.over(over)

    def _judge_leaving(self, gone: Leaving) -> None:
        # A sequence is judged alone, because its relations to others are no longer known.
        judged = Story.of_stream(gone, self._last) if isinstance(gone, TransactionalStream) else gone
        for rule in self._of_leaving(gone):
            for one in self._seen(rule, judged):
                self._give(rule, one, self._of_the_gone)

    def _replay(self, held: _Held) -> None:
        if held.deviations is None:
            held.deviations = []
            record = held.record
            # Data at rest was not sent in this capture.
            if record is not None and record.grade is None and self._replayer is not None:
                held.deviations += self._replayer.feed(record)

    def _reported(self, number: int) -> list[Finding]:
        """The findings in so many held records, and in items that left meanwhile."""
        found: list[Finding] = []
        for _ in range(number):
            held = self._held.popleft()
            if held.record is not None:
                self._judge(held.record, held.rules, found)
                if self._auditor is not None:
                    self._hop(self._auditor, held.record, found)
            self._replay(held)
            self._replies(held.deviations or (), found)
        found += self._of_the_gone
        self._of_the_gone = []
        return found

    def _counted(self, rule: Rule, number: int) -> bool:
        """Count so many detections of a rule, if the rule is over its limit."""
        if rule.severity == "info" or rule.id in self._rules.explaining:
            return False
        so_far, count = (self._given, self.more) if rule.by_clock is None else (self._waiting, self._waiting)
        if so_far[rule.id] < MOST_OF_A_RULE:
            return False
        count[rule.id] += number
        return True

    def _judge(self, record: Record, rules: list[Rule] | None, found: list[Finding]) -> None:
        if rules is None:
            rules = self._concerned(record)
        sightings = [
            (rule, one)
            for rule in rules
            if rule.id not in self._rules.retired
            for one in self._seen(rule, record)
        ]
        for rule, one in explained(sightings):
            self._give(rule, one, found)

    def _concerned(self, record: Record) -> list[Rule]:
        """The rules over records that must check a record."""
        # Rules about what is sent do not ask of what was stored, in whatever packet that comes.
        type_ = "message_packet" if is_read(record) else record.type
        codes = [anomaly.code for anomaly in record.anomalies]
        if record.error is not None:
            codes.append(record.error.code)
        if not codes and isinstance(record.packet, WireStruct):
            key = type_, type(record.packet)
            if key in self._asking:
                return self._asking[key](record)
            self._whole[key] += 1
            if self._whole[key] == _WORTH_ASKING:
                self._asking[key] = compile_conditions(key[1], self._rules.of_type(type_))
        return self._rules.of_type(type_) + self._rules.of_codes(type_, codes)

    def _hop(self, auditor: HopAuditor, record: Record, found: list[Finding]) -> None:
        hop = auditor.feed(record)
        if hop is not None and hop.deviations:
            for rule in self._rules.over("hop"):
                for one in self._seen(rule, hop):
                    self._give(rule, one, found)

    def _replies(self, deviations: Iterable[ReplayDeviation], found: list[Finding]) -> None:
        for deviation in deviations:
            for rule in self._rules.over("reply"):
                for one in self._seen(rule, deviation):
                    self._give(rule, one, found)

    def _give(self, rule: Rule, one: Detection, found: list[Finding]) -> None:
        if one.timed is None:
            self._tell(rule, one, found)
            return
        self._waiting[rule.id] += 1
        if self._waiting[rule.id] <= MOST_OF_A_RULE:
            self._timed.append((rule, one))
        elif rule.severity == "info":
            self._rules.retire(rule)

    def _seen(self, rule: Rule, item: Any) -> Iterator[Detection]:
        """The detections of a rule in an item, with severities lowered where the capture is incomplete."""
        visibility = self.follower.visibility
        for one in rule.check(item, self):
            needs = rule.needs if one.needs is None else one.needs
            prefers = rule.prefers if one.prefers is None else one.prefers
            if not (needs or prefers) or not one.evidence:
                yield one
                continue
            place = one.evidence[0]
            first, last = (min(place.frames), max(place.frames)) if place.frames else (0, 0)
            where = Position(place.capture, place.record or 0, first, place.src, place.dst, last)
            lacking = visibility.lacking(needs, where)
            less = visibility.lacking(prefers, where) if prefers else ()
            if lacking and rule.withheld:
                self.withheld[rule.id] += 1
            elif lacking or less:
                rank = SEVERITIES.index(one.severity or rule.severity)
                self.lowered[rule.id] += rank > 0
                yield msgspec.structs.replace(
                    one,
                    severity=SEVERITIES[0 if lacking else max(0, rank - 1)],
                    confidence="guess" if rank else one.confidence,
                    caveats=tuple(dict.fromkeys((*lacking, *less, *one.caveats))),
                )
            else:
                yield one

    def _tell(self, rule: Rule, one: Detection, found: list[Finding]) -> None:
        if self._given[rule.id] >= MOST_OF_A_RULE:
            self.more[rule.id] += 1
            if rule.severity == "info":
                self._rules.retire(rule)
            return
        self._given[rule.id] += 1
        one = self._explainers.explain(rule, one)
        self._explainers.add(rule, one)
        if self._cause_collector is not None:
            self._cause_collector.add(rule, one)
        evidence = self._sources.named(one.evidence)
        if one.segments:
            evidence = tuple(msgspec.structs.replace(place, record=None) for place in evidence)
        found.append(
            Finding(
                id=rule.id,
                title=rule.title,
                severity=one.severity or rule.severity,
                confidence=one.confidence or rule.confidence,
                layer=one.layer or rule.layer,
                message=one.message,
                evidence=evidence,
                caveats=one.caveats,
                cves=rule.cves if one.cves is None else one.cves,
                spec=", ".join(map(str, one.spec or rule.spec)),
                event=rule.event,
                explained_by=one.explained_by,
                cause=one.cause,
                first=one.first,
                answered=one.answered,
            )
        )


def _behind(ids: Sequence[int], number: int, children: Collection[int]) -> int | None:
    """The id of the record after one and its children; None if the run ends before."""
    at = bisect_right(ids, number)
    while at < len(ids) and ids[at] in children:
        at += 1
    return ids[at] if at < len(ids) else None


def _cause_collector(rules: Mapping[str, Rule], *, answers: bool) -> CauseCollector:
    # Loaded only if a rule reports causes.
    from msmq_wire.detection.diagnosed_causes import CauseCollector

    return CauseCollector(rules, answers=answers)


def _replayer(follower: StoryFollower) -> Replayer:
    # Loaded only if a rule judges replies.
    from msmq_wire.replay import Replayer

    return Replayer(follower)


def beyond(more: Mapping[str, int]) -> list[str]:
    """`Judge.more` in words; rules of severity info stop at the limit, and so have no exact count."""
    return [
        f"more of {id_}, not counted"
        if id_ in RULES and RULES[id_].severity == "info"
        else f"{count:,} more of {id_}"
        for id_, count in sorted(more.items())
        if count
    ]


def judge(
    records: Iterable[Record], rules: Mapping[str, Rule] = RULES, *, auditor: HopAuditor | None = None
) -> Iterator[Finding]:
    """Judge records, which should include the steps of connections (``streams=True``)."""
    judging = Judge(rules, auditor=auditor)
    for record in records:
        yield from judging.feed(record)
    yield from judging.finish()
