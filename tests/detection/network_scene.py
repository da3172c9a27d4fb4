"""Sessions with what TCP and ICMP show of the network, written by hand, and what a diagnosis says of them."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.detection.diagnosis import Answer, Diagnosis, Digest
from msmq_wire.sessions import Moment, NetworkEvidence, SentEvidence, Session, Story
from tests.sessions.tape import SECOND, START, Tape

MINUTE = 60 * SECOND
CLIENT, SERVER = "192.0.2.21", "192.0.2.10"


def moment(record: int, seconds: float = 0.0) -> Moment:
    """A moment so many seconds after the start of a tape."""
    return Moment(record, record, START + int(seconds * SECOND))


def lost(times: int = 5, lasted: float = 12.4, *, idle: float = 0.0, record: int = 4) -> SentEvidence:
    """Bytes that a side sent again and that nothing acknowledged."""
    return SentEvidence(
        retransmissions=times,
        first_retransmission=moment(record, idle + 0.3),
        last_retransmission=moment(record, idle + lasted),
        unanswered=times,
        unanswered_since=moment(record, idle),
        unanswered_time=int(lasted * SECOND),
        idle_before=int(idle * SECOND),
        unacknowledged=600,
    )


def full(seconds: float, *, closed: bool = False, times: int = 1, at: float = 0.0) -> SentEvidence:
    """A side whose receive window was 0 for so long, from a time on."""
    return SentEvidence(
        zero_windows=times + 2,
        window_closings=times,
        first_zero_window=moment(9, at),
        last_zero_window=moment(9, at + seconds),
        longest_zero_window=int(seconds * SECOND),
        window_closed=closed,
    )


def evidence(client: SentEvidence | None = None, server: SentEvidence | None = None, **more: Any) -> Any:
    """The evidence of a session, by its two sides."""
    return NetworkEvidence(directions=(client or SentEvidence(), server or SentEvidence()), **more)


def seen(tape: Tape, *networks: NetworkEvidence | None) -> Story:
    """The story of a tape; its sessions have this evidence in turn."""
    story = tape.story()
    sessions: list[Session] = list(story.sessions)
    for number, network in enumerate(networks):
        sessions[number] = msgspec.structs.replace(sessions[number], network=network)
    return msgspec.structs.replace(story, sessions=tuple(sessions))


def diagnosed(tape: Tape, *networks: NetworkEvidence | None) -> tuple[Digest, dict[int, Answer]]:
    """What a diagnosis says of a tape whose sessions have this evidence in turn."""
    diagnosis, story = Diagnosis(), seen(tape, *networks)
    for record in tape.records:
        diagnosis.feed(record)
    answers = diagnosis.answers(story)
    return diagnosis.digest(answers, story), {one.number: one for one in answers}


def text_of(digest: Digest, answers: dict[int, Answer]) -> str:
    """All that is said, in one text."""
    lines = [*map(str, digest.lines), *(text for one in answers.values() for text in one.sentences)]
    return "\n".join(lines)
