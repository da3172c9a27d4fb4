"""What is said of a capture, and what a degraded one adds to that or loses of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.detection import RULES, Finding, Judge
from msmq_wire.detection.diagnosis import Diagnosis
from msmq_wire.detection.diagnosis.digest_lines import Digest
from msmq_wire.detection.finding import SEVERITIES
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.records.visibility import Visibility
from msmq_wire.sessions import LeftOut, Session
from tests.imperfect.degradations import Degraded, Ends, ends_of

__all__ = ["Said", "accusations", "claims_of", "frames_of", "judged", "lost_claims"]

_NUMBERS = re.compile(r"frames? [\d, and]+")
"""Numbers of frames, which others have where frames come twice."""
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_COUNTS = re.compile(r"\d+ (?=hosts)")


Hole = tuple[str, str, int]


class Said(NamedTuple):
    """Findings, the digest, and how many sessions and messages there are.

    ``opened`` counts the sessions that carried packets, ``holes`` names each gap by its connection (the end
    that is not port 1801), by whether the client sent what is missing, and by its bytes. ``answers`` are the
    sentences and caveats of all answers. ``lowered`` and ``withheld`` count by rule what was said less
    gravely, or not, for what the capture could not see.
    """

    findings: tuple[Finding, ...]
    digest: Digest
    sessions: int
    messages: int
    acks: int
    opened: int
    visibility: Visibility
    holes: tuple[Hole, ...]
    left_out: LeftOut
    answers: str
    lowered: Counter[str]
    withheld: Counter[str]


def judged(paths: Sequence[Path], memory: int | None = None) -> Said:
    """Judge files as the commands do."""
    diagnosis = Diagnosis()
    judging = Judge(RULES, budget=memory, leave=diagnosis.leave)
    reading = CaptureSet([str(path) for path in paths], streams=True, quiet=True)
    findings: list[Finding] = []
    holes: list[Hole] = []
    for item in reading:
        assert isinstance(item, Record)
        if item.type == "gap" and item.stream is not None and item.missing and item.reason != "snaplen":
            holes.append(_hole(item))
        found = judging.feed(item)
        diagnosis.feed(item, found)
        findings += found
    found = judging.finish()
    diagnosis.found(found)
    findings += found
    story = judging.story
    assert story is not None
    answers = diagnosis.answers(story)
    digest = diagnosis.digest(answers, story, frames=reading.counts.frames)
    sent = answers[2].facts
    sessions = len(story.sessions) + story.left_out.sessions
    return Said(
        tuple(findings),
        digest,
        sessions,
        sent["messages"],
        sent["acknowledgments"],
        opened=sum(map(_carried, story.sessions)),
        visibility=story.visibility,
        holes=tuple(sorted(holes)),
        left_out=story.left_out,
        answers=" ".join(
            text for one in answers for text in (*(said.text for said in one.statements), *one.caveats)
        ),
        lowered=judging.lowered,
        withheld=judging.withheld,
    )


def _carried(session: Session) -> bool:
    """Whether packets of a session were captured."""
    sent = any(one.messages or one.session_acks for one in session.directions)
    return sent or session.reached != "tcp_only"


def _hole(gap: Record) -> Hole:
    """A gap by its connection, the side that sent what is missing, and its bytes."""
    src, dst = gap.src or "", gap.dst or ""
    return (src, "client", gap.missing or 0) if dst.endswith(":1801") else (dst, "server", gap.missing or 0)


def accusations(whole: Said, less: Said) -> list[str]:
    """What is said of a degraded capture at ``low`` or above, and not of the whole one.

    Of a connection that the whole one calls an attack its messages and openings are not told beside that:
    where the attack cannot be seen any more and they are, nobody is accused of more. Neither is who is called
    something else, no graver, that the same rules tell: whoever tries many hosts, of whom fewer were
    captured.
    """
    # What another rule explains is a note, and none where that one cannot see its cause.
    known = {one.id for one in whole.findings if one.severity != "info" or one.explained_by}
    attacked = {frozenset(_ends(one)) for one in whole.findings if one.severity == "high"}
    found = {
        one.id
        for one in less.findings
        if one.severity != "info" and not (one.answered and frozenset(_ends(one)) in attacked)
    }
    found -= {
        one.id for one in less.findings if one.answered and any(_tells(of, one) for of in whole.findings)
    }
    reported = {name for one in whole.digest.lines for name in (one.rule, f"question {one.question}")}
    lines = {
        f"line {one.rule or one.question}"
        for one in less.digest.lines
        if one.severity != "info"
        and not {one.rule, f"question {one.question}"} & reported - {None, "question None"}
        and (one.rule or one.question)
        and one.rule not in known
        and (one.rule is None or one.rule in found)
    }
    return [*sorted(found - known), *sorted(lines)]


def _tells(whole: Finding, less: Finding) -> bool:
    """Whether an answer calls the same host the same, as grave or graver."""
    graver = SEVERITIES.index(whole.severity) >= SEVERITIES.index(less.severity)
    return graver and {*whole.answered} == {*less.answered} and _actor(whole) == _actor(less)


def _actor(one: Finding) -> str | None:
    return host_of(one.evidence[0].src) if one.evidence else None


def _ends(one: Finding) -> Iterator[str | None]:
    return (host_of(end) for end in (one.evidence[0].src, one.evidence[0].dst)) if one.evidence else iter(())


def claims_of(said: Said) -> dict[tuple[str, str], str]:
    """The findings by rule and message, without the numbers of frames, each with its severity."""
    return {(one.id, _NUMBERS.sub("", one.message)): one.severity for one in said.findings}


def _said(one: Finding) -> str:
    """What a finding says, without the numbers of frames; an answer names files, too."""
    return "" if one.answered else _NUMBERS.sub("", one.message)


def _hosts(of: Ends | None) -> frozenset[str]:
    return frozenset(str(ip_address(address)) for address, _ in of or ())


def lost_claims(path: Path, frames: Sequence[Frame], whole: Said, less: Said, how: Degraded) -> list[str]:
    """Claims of the whole capture about connections that the degradation left alone, and that are gone.

    A claim is about the connections between the hosts of its evidence, and between those that it names. Where
    others of the host that it accuses were touched it may count less.
    """
    ends = {frame.number: ends_of(frame) for frame in frames}
    touched = {ends[number] for number in how.touched}
    if None in touched:
        # A fragment may belong to any connection.
        return []
    near = {_hosts(of) for of in touched}
    found = {(one.id, one.severity, _said(one)) for one in less.findings}
    counted = {(one.id, one.severity, _actor(one), _COUNTS.sub("", _said(one))) for one in less.findings}
    lost = []
    for one in whole.findings:
        if one.severity == "info" or not one.evidence:
            continue
        hosts = {host_of(end) for place in one.evidence for end in (place.src, place.dst)}
        hosts |= {*_ADDRESS.findall(one.message)}
        hosts |= {
            host for place in one.evidence for number in place.frames for host in _hosts(ends.get(number))
        }
        if any(pair <= hosts for pair in near) or (one.id, one.severity, _said(one)) in found:
            continue
        less_of = one.id, one.severity, _actor(one), _COUNTS.sub("", _said(one))
        if not (any(_actor(one) in pair for pair in near) and less_of in counted):
            lost.append(f"{one.id} {one.severity}: {one.message[:90]}")
    return lost


def frames_of(path: Path) -> list[Frame]:
    """The frames of a capture."""
    return list(read_frames(path))
