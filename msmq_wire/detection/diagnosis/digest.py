"""The digest of a diagnosis: at most five lines that say what is wrong, before the answers.

The rule kept here: the first line is the root cause, and no two lines are about the same cause. If nothing is
wrong, the digest says so, and what was examined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.causes import causes, is_standing, layer_of
from msmq_wire.detection.diagnosis.answer import Answer
from msmq_wire.detection.diagnosis.digest_lines import NOTHING, Digest, DigestLine
from msmq_wire.detection.diagnosis.facts import Facts
from msmq_wire.detection.diagnosis.failed_connections import never_accepted
from msmq_wire.detection.diagnosis.naming import named
from msmq_wire.detection.diagnosis.phrases import Phrases, count, listed
from msmq_wire.detection.diagnosis.silent_sides import silent_clauses
from msmq_wire.detection.diagnosis.vantage_points import recording_gaps
from msmq_wire.detection.finding import CONFIDENCES, SEVERITIES, Confidence, Finding, Layer, Severity
from msmq_wire.detection.folding import MOST_KEPT, FindingGroup, Fold
from msmq_wire.detection.registry import RULES
from msmq_wire.records.record import Record
from msmq_wire.sessions import Moment, Story
from msmq_wire.sessions.followed_message import moment_of

MOST_LINES = 5
"""Lines of a digest, at most."""
_MOST_FRAMES = 64
_MOST_ALSO = 3
_MOST_CHARACTERS = 200
_MOST_HOSTS = 3
_MOST_TO_DO = 100
_PKTMON_SIZE = 128
_PKTMON = "Record whole packets: pktmon start --capture --pkt-size 0."
_FROM = SEVERITIES.index("low")
_OF_RECORDINGS = 19
"""The question about captures and event logs: what they lack is no fault of a queue manager."""
_IDENTITY, _ANY = "ID-", "FRM-MUST"
_NAME = re.compile(r"[A-Z][a-z]*[^a-z\s]|[A-Z]{2}")
"""The start of a title that begins with a name: ``PacketSize``, ``SRMP``."""


class _Draft(msgspec.Struct):
    """A line in the making."""

    severity: Severity
    confidence: Confidence
    layer: Layer
    text: str
    who: tuple[str, ...]
    action: str
    moments: list[Moment]
    count: int
    at: int
    rule: str | None = None
    question: int | None = None
    message: int | None = None
    frames: dict[int, None] = {}
    also: dict[str, None] = {}
    standing: bool = False
    odd: bool = False
    senders: dict[str, None] = {}
    many: bool = False
    """Whether there may be more hosts than those in ``who``."""
    times: int = 0
    segments: set[Moment] = set()
    """Those of ``moments`` whose frames carry segments, and not the records that tell of them."""
    seen: tuple[int, ...] = ()
    """The records of the cause itself, not of the findings that it explains."""
    about: str = ""
    """The first affected message, or the queue."""
    span: tuple[int | None, int | None] = (None, None)
    """The times of its first and last finding."""

    @property
    def said(self) -> str:
        """The text: the problem, the hosts, how often, and what else it explains."""
        hosts = [name for name in self.who if name not in self.senders]
        ends = [_hosts(list(self.senders)), _hosts(hosts, many=self.many)] if self.senders else []
        title, colon, rest = self.text.partition(": ")
        if title.partition(" ")[0].isalpha():
            # It begins with a word, and not with a host.
            title = f"{title[:1].upper()}{title[1:]}"
        many = self.times > 1
        times = f"{self.times:,} times" if many else ""
        several = self.count > 1 if self.question is not None else many
        about = f"first {self.about}" if self.about and several else self.about
        facts = (" to ".join(filter(None, ends)), times, about)
        known = ", ".join(filter(None, facts))
        between = f" ({known})" if known else ""
        if self.question is not None and known:
            between, rest = "", f"{rest}{between}"
        also = list(self.also)
        more = f"; also {listed(also[:_MOST_ALSO], len(also))}" if also else ""
        return f"{title}{between}{colon}{rest}{more}."

    @property
    def place(self) -> tuple[int, int, int, int, int]:
        """The sort key; of low severity, lost messages come first."""
        rank, sure = SEVERITIES.index(self.severity), CONFIDENCES.index(self.confidence)
        tier = 1 if self.standing else 2 if rank == _FROM and self.odd else 0
        return -max(rank - self.standing, _FROM), tier, -sure, -self.count, self.at


def looked(answers: Iterable[Answer], facts: Facts, story: Story, frames: int | None) -> str:
    """The text of `Digest.looked_at`: what was examined, the notes, and what the capture does not show."""
    # A connection that TCP never accepted is no session; it is named where there is nothing else.
    tried = sum(map(never_accepted, story.sessions))
    sessions = len(story.sessions) - tried + story.left_out.sessions
    numbers = {
        "message": next((answer.facts["messages"] for answer in answers if answer.number == 3), 0),
        "session": sessions,
        "connection": 0 if sessions else tried,
        "call": facts.calls,
        "ping": len(story.pings) + story.left_out.pings,
        "record": facts.records,
    }
    # Whoever has messages, sessions or calls need not hear how many records that was.
    shown = {noun: number for noun, number in numbers.items() if number and noun != "record"}
    shown = shown or ({"record": facts.records} if facts.records else {})
    text = listed([count(number, noun) for noun, number in shown.items()]) or NOTHING
    if numbers["message"] and story.left_out.lives:
        # Of what was let go for memory no end is known, and it is not counted.
        text = f"at least {text}"
    if frames is not None:
        text += f" in {count(frames, 'frame')}"
    late = sum(not one.started for one in story.sessions)
    unseen = [
        f"the beginning of {count(late, 'connection')}" if late else "",
        f"what {count(facts.sealed, 'sealed call')} did" if facts.sealed else "",
        f"the end of {count(facts.cut, 'packet')} cut short" if facts.cut else "",
    ]
    notes = [note for answer in answers for note in answer.notes]
    notes += [f"not seen: {listed([one for one in unseen if one])}"] if any(unseen) else []
    return "; ".join((text, *notes))


def digest_of(
    answers: Sequence[Answer],
    candidates: Fold,
    words: Phrases,
    looked_at: str,
    story: Story | None = None,
) -> Digest:
    """Make the digest of answers and findings."""
    drafts = [_of_group(group) for group in causes(_groups(answers, candidates))]
    drafts = drafts or list(_answers_without_cause(answers))
    ranked = sorted(drafts, key=lambda draft: draft.place)
    ranked = list(_merged(ranked))
    lacking = () if story is None else (*_capture_line(story, words), *_recording_lines(story))
    shown = ranked[: MOST_LINES - len(lacking)]
    if story is not None:
        _add_subjects(shown, story)
    lines = (*lacking, *(_line(draft, words) for draft in shown))
    return Digest(lines=lines, more=len(ranked) - len(shown), looked_at=looked_at)


def _add_subjects(drafts: Sequence[_Draft], story: Story) -> None:
    """Add the message or queue to each draft whose text names none."""
    names = named(story, {record for draft in drafts for record in draft.seen})
    for draft in drafts:
        about = next((names[record] for record in sorted(draft.seen) if record in names), None)
        if about is not None and not any(name in draft.text for name in about.names):
            draft.about = about.text(draft.who)


def causes_of(answers: Sequence[Answer], candidates: Fold) -> Iterator[tuple[Cause, FindingGroup | None]]:
    """Yield the causes that the digest counts, each with the findings that explain it."""
    for lead in causes(_groups(answers, candidates)):
        if lead.answer is not None:
            yield msgspec.structs.replace(lead.answer, severity=lead.severity), None
            continue
        yield from ((one.answer, lead) for one in lead.explained if one.answer is not None)


def _groups(answers: Iterable[Answer], candidates: Fold) -> list[FindingGroup]:
    """The findings of rules and the causes of answers as groups; they may overlap."""
    named = (
        FindingGroup(
            id=f"{cause.rules[0]} {' '.join(cause.who[:1])}".rstrip(),
            lead=Finding(
                id=cause.rules[0],
                title=cause.text,
                severity=cause.severity,
                confidence=cause.confidence,
                layer=cause.layer or RULES[cause.rules[0]].layer,
                message=cause.text,
                evidence=(),
                answered=cause.rules,
            ),
            severity=cause.severity,
            confidence=cause.confidence,
            count=cause.count,
            first=cause.first,
            last=None,
            hosts=cause.who,
            answer=cause,
        )
        for answer in answers
        for cause in answer.causes
    )
    return [*candidates.groups(), *named]


def _capture_line(story: Story, words: Phrases) -> tuple[DigestLine, ...]:
    """The line about what the capture lacks, if that affects the answers."""
    visibility = story.visibility

    def place(record: Record) -> str:
        at = moment_of(record)
        return f"{words.frame(at)}{words.period([at])}"

    said = visibility.said(place)
    if not said:
        return ()
    moments = [moment_of(at) for _, at in said if at is not None]
    silent = [text for text, _ in silent_clauses(story, words)]
    unknown = "What depends on their order is not certain"
    if visibility.broken:
        unknown = "What happened after that is not known"
        if visibility.told_elsewhere:
            unknown = "Of what came after that only the other recordings tell"
    if visibility.halves:
        unknown = "What the other side sent is not known"
    elif visibility.holes or visibility.dropped:
        unknown = "Waits and missing acknowledgments cannot be judged there"
    elif visibility.cut:
        unknown = "What was cut off is not known"
    text = "; ".join([*(text for text, _ in said), *silent])
    first, last = _span(one.time for one in moments)
    # The number of bytes of a frame that pktmon records by default.
    whole = _PKTMON if visibility.cut and visibility.snapped <= _PKTMON_SIZE else ""
    return (
        DigestLine(
            severity="info",
            confidence="certain",
            layer="capture",
            text=f"{text[:1].upper()}{text[1:]}. {unknown}.",
            action=whole,
            frames=tuple(one.frame for one in moments if one.frame is not None),
            records=tuple(one.record for one in moments),
            count=max(1, visibility.holes),
            first=first,
            last=last,
        ),
    )


def _recording_lines(story: Story) -> Iterator[DigestLine]:
    """A line about the recordings that lost frames which another one has."""
    gaps = recording_gaps(story.point_sights)
    if gaps:
        text = f"{'; '.join((gaps[0], *(one[:1].lower() + one[1:] for one in gaps[1:])))}. "
        text += "The other recording has them, so that no answer lacks them."
        yield DigestLine(severity="info", confidence="certain", layer="capture", text=text)


def _answers_without_cause(answers: Iterable[Answer]) -> Iterator[_Draft]:
    """Drafts for answers with attention but without a cause."""
    for answer in answers:
        if answer.flagged and answer.attention is not None:
            flagged = (one for one in answer.statements if one.attention == answer.attention)
            first = next(flagged, answer.statements[0])
            layer: Layer = "capture" if answer.number == _OF_RECORDINGS else "queue manager"
            yield _Draft(
                severity=answer.attention, confidence="guess", layer=layer,
                text=first.text.removesuffix("."), who=(), action="", moments=[], count=1, at=answer.number,
                question=answer.number, frames=dict.fromkeys(first.frames),
            )  # fmt: skip


def _merged(drafts: Sequence[_Draft]) -> Iterator[_Draft]:
    """Merge drafts of one rule about several senders; keep the order."""
    by_rule: dict[str | None, _Draft] = {}
    for draft in drafts:
        first = by_rule.setdefault(draft.rule, draft) if draft.senders else draft
        if first is draft:
            continue
        first.senders |= draft.senders
        first.many |= draft.many
        first.who = tuple(dict.fromkeys((*first.senders, *first.who, *draft.who)))
        first.times += draft.times
        first.count += draft.count
        first.moments += draft.moments[: max(_MOST_FRAMES - len(first.moments), 0)]
        first.segments |= draft.segments
        first.frames |= draft.frames
        first.also |= draft.also
        first.seen += draft.seen
        first.span = _span((*first.span, *draft.span))
    yield from (draft for draft in drafts if not draft.senders or by_rule[draft.rule] is draft)


def _of_group(lead: FindingGroup) -> _Draft:
    draft = _of_rule(lead) if lead.answer is None else _of_answer(lead, lead.answer)
    for group in lead.explained:
        if group.answer is not None:
            draft.also[group.answer.brief or _explained_phrase(group)] = None
            draft.moments += group.answer.moments
            draft.segments.update(group.answer.moments if group.answer.segments else ())
            draft.standing = False
            continue
        draft.frames |= dict.fromkeys(group.frames if group.captures == lead.captures else ())
        if group.lead.id != lead.lead.id:
            draft.also[_explained_phrase(group)] = None
    return draft


def _explained_phrase(group: FindingGroup) -> str:
    """A short phrase for an explained finding: its title, and the field if the title names none."""
    title, path = _titled(group), group.lead.message.partition(": ")[0]
    if group.lead.id == _ANY and path:
        title = f"{path} has a value that the protocol forbids"
    return f"{title} ({group.lead.id})"


def _of_answer(lead: FindingGroup, cause: Cause) -> _Draft:
    return _Draft(
        severity=lead.severity,
        confidence=lead.confidence,
        layer=layer_of(lead),
        text=cause.text,
        who=cause.who,
        action=cause.action,
        moments=[*cause.moments] or _moments(lead),
        segments=set(cause.moments) if cause.segments else set(),
        seen=() if cause.segments else tuple(one.record for one in cause.moments),
        count=lead.occurrences,
        at=cause.first,
        rule=lead.lead.id,
        question=cause.question,
        message=cause.message,
        frames={} if cause.moments else dict.fromkeys(lead.frames),
        odd=cause.odd,
    )


def _of_rule(lead: FindingGroup) -> _Draft:
    sender = lead.attacker or lead.sender or next(iter(lead.hosts), "")
    who = tuple(dict.fromkeys((sender, *lead.hosts))) if sender else ()
    said = lead.lead.message
    cves = [cve for cve in lead.lead.cves if cve not in said and lead.confidence == "published"]
    draft = _Draft(
        severity=lead.severity,
        confidence=lead.confidence,
        layer=layer_of(lead),
        text=_titled(lead),
        who=who,
        action=_action(lead),
        moments=_moments(lead),
        seen=tuple(one.record for one in _moments(lead)),
        count=lead.occurrences,
        at=lead.first or 0,
        rule=lead.lead.id,
        frames=dict.fromkeys(lead.frames),
        standing=is_standing(lead) and lead.severity != "high",
        odd=lead.lead.id == _ANY,
        # Who is one with whom, its message says.
        senders={sender: None} if sender and not lead.lead.id.startswith(_IDENTITY) else {},
        many=len(lead.hosts) >= MOST_KEPT,
        times=lead.count,
        span=(lead.first, lead.last),
    )
    if said and said != lead.lead.title:
        draft.text += f": {_cut(said)}"
    if lead.lead.caveats:
        draft.text += f"; but {_cut(lead.lead.caveats[0])}"
    if cves:
        draft.text += f", which matches the published condition of {listed(cves)}"
    return draft


def _titled(group: FindingGroup) -> str:
    title = group.lead.title
    return title if _NAME.match(title) else f"{title[:1].lower()}{title[1:]}"


def _cut(text: str) -> str:
    """Shorten the message of a rule for a line."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    # Rules join what they saw with semicolons.
    whole = text[: _MOST_CHARACTERS + 1].rpartition("; ")[0]
    if whole:
        return whole
    return f"{text[:_MOST_CHARACTERS].rpartition(' ')[0] or text[:_MOST_CHARACTERS]}…"


def _action(lead: FindingGroup) -> str:
    """The first action of the rule, and the second one if both are short."""
    rule = RULES.get(lead.lead.id)
    first, *more = re.split(r"[.:] ", "" if rule is None else rule.action, maxsplit=1)[0].split("; ")
    both = f"{first}; {more[0]}" if more else first
    return (both if len(both) <= _MOST_TO_DO else first).removesuffix(".")


def _addressed(draft: _Draft) -> str:
    """Put the names of sender and receiver into an action, if there is one of each."""
    text = draft.action
    receivers = [name for name in draft.who if name not in draft.senders]
    if len(draft.senders) > 1:
        text = text.replace("what the sender is", "what the senders are")
    for role, names in (("sender", list(draft.senders)), ("receiver", receivers if draft.senders else [])):
        if len(names) == 1:
            text = re.sub(rf"\bthe {role}\b(?! of|')", names[0].replace("\\", "\\\\"), text)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _command(draft: _Draft) -> str:
    """The command for details: the life of the message, the answer, or the findings of the rule."""
    if draft.message is not None:
        return f'why "id {draft.message}"'
    if draft.question is not None:
        return f"diagnose --question {draft.question}"
    return f"findings --rule {draft.rule}" if draft.rule else ""


def _hosts(names: Sequence[str], *, many: bool = False) -> str:
    if many and len(names) > _MOST_HOSTS:
        return f"{', '.join(names[:_MOST_HOSTS])} and many more"
    return listed(names[:_MOST_HOSTS], len(names))


def _moments(group: FindingGroup) -> list[Moment]:
    return [
        Moment(place.record, place.frames[-1] if place.frames else None, place.time)
        for place in group.lead.evidence
        if place.record is not None
    ]


def _line(draft: _Draft, words: Phrases) -> DigestLine:
    moments = sorted(dict.fromkeys(draft.moments), key=words.place)[:_MOST_FRAMES]
    frames = dict.fromkeys(one.frame for one in moments if one.frame is not None)
    first, last = _span((*draft.span, *(one.time for one in draft.moments)))
    return DigestLine(
        severity=draft.severity,
        confidence=draft.confidence,
        layer=draft.layer,
        text=draft.said,
        who=draft.who[:MOST_KEPT],
        frames=tuple(sorted({*frames, *draft.frames}))[:_MOST_FRAMES],
        records=tuple(sorted({one.record for one in moments if one not in draft.segments})),
        where=f"{words.frames(moments)}{words.period(moments)}" if frames else "",
        action=_addressed(draft),
        rule=draft.rule,
        question=draft.question,
        command=_command(draft),
        count=draft.count,
        first=first,
        last=last,
    )


def _span(times: Iterable[int | None]) -> tuple[int | None, int | None]:
    """The first and the last of the times that are known."""
    known = [one for one in times if one]
    return min(known, default=None), max(known, default=None)
