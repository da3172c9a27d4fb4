"""Question 19: what the capture lacks, as a whole and in each connection."""

from __future__ import annotations

from itertools import islice
from typing import Any

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import Phrases, count, span
from msmq_wire.detection.diagnosis.silent_sides import silent_clauses
from msmq_wire.records.coverage import NEVER, Coverage
from msmq_wire.sessions import Moment, Story
from msmq_wire.sessions.followed_message import moment_of

_MOST_FACTS = 64


def captured(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Add statements about missing parts of the capture and of its connections."""
    visibility = story.visibility
    for text, shown in visibility.said(lambda record: words.frame(moment_of(record))):
        builder.say(f"{text[:1].upper()}{text[1:]}.", None if shown is None else moment_of(shown))
    for text, last in silent_clauses(story, words):
        builder.say(f"{text[:1].upper()}{text[1:]}.", last)
    lacking = visibility.lacking_connections()
    for one in lacking[:MOST]:
        reported, at = _lacks(one, words)
        builder.say(f"{one.ends[0]} to {one.ends[1]}{_lasted(one)}: {'; '.join(reported)}.", frames=at)
    if len(lacking) > MOST:
        builder.say(f"The same is known of {count(len(lacking) - MOST, 'more connection')}.")
    builder.facts = {
        "broken_files": visibility.broken,
        "frames": visibility.frames,
        "lost_frames": visibility.lost_frames,
        "dropped_frames": visibility.dropped,
        "holes": visibility.holes,
        "missing_bytes": visibility.missing,
        "cut_frames": visibility.cut_frames,
        "cut_at": visibility.snapped or None,
        "one_direction": visibility.halves,
        "in_order_of_time": not (visibility.disordered or visibility.backwards),
        "connections": [_facts(one) for one in islice(lacking, _MOST_FACTS)],
    }


def _lasted(one: Coverage) -> str:
    return f" (captured for {span(one.latest - one.begun)})" if one.begun and one.latest else ""


def _lacks(one: Coverage, words: Phrases) -> tuple[list[str], list[int]]:
    """The missing parts of a connection as clauses, and their frames."""
    reported: list[str] = []
    moments: list[Moment] = []

    def frame(number: int) -> str:
        moments.append(Moment(one.first, number, None))
        return words.frame(moments[-1])

    if not one.started:
        reported.append("it began before the capture")
    if one.one_sided and any(one.seen):
        reported.append(f"only what {one.ends[one.seen.index(True)]} sent was captured")
    if one.holes:
        total = " in total" if one.holes > 1 else ""
        size = f" of {count(one.missing, 'byte')}{total}" if one.missing else ""
        since, until = min(one.first_hole), max(one.last_hole)
        here = [Moment(one.first, number, None) for number in (since, until) if number]
        moments += here
        where = f"between {words.frames(here)}" if since else f"before {words.frame(here[0])}"
        reported.append(f"{count(one.holes, 'gap')}{size} {where}")
    if one.cut:
        reported.append(f"{count(one.cut, 'packet')} cut off")
    if one.unread:
        reported.append(f"{count(one.unread, 'run')} of bytes in no packet")
    if one.unseen != NEVER:
        reported.append(f"{frame(one.unseen)} acknowledges bytes that were not captured")
    if one.disordered != NEVER:
        reported.append(f"frames are not in the order of their time, first {frame(one.disordered)}")
    if one.dropped:
        reported.append("dropped to save memory while it went on")
    return reported, [one.frame for one in moments if one.frame is not None]


def _facts(one: Coverage) -> dict[str, Any]:
    """The missing parts as data; times are nanoseconds since 1970."""
    return {
        "capture": one.capture,
        "stream": one.stream,
        "client": one.ends[0],
        "server": one.ends[1],
        "first_time": one.begun or None,
        "last_time": one.latest or None,
        "beginning": one.started,
        "both_directions": not one.one_sided,
        "holes": one.holes,
        "missing_bytes": one.missing,
        "hole_frames": [list(frames) for frames in one.spans[:_MOST_FACTS]],
        "cut_packets": one.cut,
        "unread_runs": one.unread,
        "acknowledges_unseen": None if one.unseen == NEVER else one.unseen,
        "out_of_order": None if one.disordered == NEVER else one.disordered,
        "dropped_for_memory": one.dropped,
    }
