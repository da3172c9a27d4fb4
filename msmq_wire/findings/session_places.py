"""Places in sessions and in the story: evidence from a moment, and what makes it doubtful.

The rule kept here: a moment names its record and frame; a path and an offset are given only where every
packet of the kind has the field in one place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TypedDict, Unpack

from msmq_wire.findings.finding import Evidence, Severity
from msmq_wire.findings.rule import Context, Seen
from msmq_wire.records.endpoint import AT_MSMQ
from msmq_wire.records.record import Record
from msmq_wire.sessions import Moment, Session, SessionNote, Story

__all__ = [
    "HALF", "SessionIndex", "doubts_of", "half_captured", "is_answer", "is_from_server", "note_seen", "noted",
    "one_sided", "place_at", "place_in",
]  # fmt: skip

HALF = "one direction of this connection was captured: the other side's packets are not known"
_LATE = "the beginning of this connection was not captured"
_LOST = "bytes of this connection are missing from the capture"
_UNREAD = "bytes of this connection are in no packet: they may have been messages"
_BEFORE = {"establish_unasked": 0, "parameters_unasked": 1, "parameters_before_establish": 1}
"""How many of its two packets a side has sent before one that a note is about; 2 where nothing is said."""


class Field(TypedDict, total=False):
    """A field of the record, with its bytes."""

    path: str
    offset: int
    length: int
    data: bytes


def place_at(moment: Moment, src: str, dst: str, capture: str = "", **field: Unpack[Field]) -> Evidence:
    """A moment as evidence; without a path the record itself."""
    return Evidence(
        capture=capture,
        record=moment.record,
        frames=() if moment.frame is None else (moment.frame,),
        time=moment.time,
        src=src,
        dst=dst,
        **field,
    )


def place_in(session: Session, moment: Moment, direction: int, **field: Unpack[Field]) -> Evidence:
    """A moment of a session; ``direction`` is 0 for a packet of the client, 1 for one of the server."""
    ends = (session.client, session.server)
    return place_at(moment, ends[direction], ends[1 - direction], session.capture, **field)


def doubts_of(session: Session, context: Context) -> tuple[str, ...]:
    """What is missing of a session, as caveats; nothing where all of it was captured and understood."""
    if not session.started:
        return (_LATE,)
    if session.certain:
        return ()
    return (_LOST if context.lossy(session.stream) else _UNREAD,)


def noted(session: Session, *kinds: str) -> Iterator[SessionNote]:
    """The notes of these kinds, in order of appearance."""
    return (note for note in session.notes if note.kind in kinds)


def half_captured(session: Session, note: SessionNote) -> bool:
    """Whether the capture has one direction only, and the side that sent the packet did its part before.

    That side's EstablishConnection and, unless the note is about them, ConnectionParameters come first;
    of the other side there is nothing, not even the packet that opens the TCP connection.
    """
    side, other = note.direction, 1 - note.direction
    establish = (session.establish_request, session.establish_response)
    parameters = (session.parameters_request, session.parameters_response)
    unseen = (
        (session.syn, session.syn_ack)[other],
        establish[other],
        parameters[other],
        session.directions[other].first_message,
        # What one direction acknowledges is told by packets of the other.
        session.directions[side].first_ack,
    )
    if any(moment is not None for moment in unseen) or session.closer == ("client", "server")[other]:
        return False
    own = (establish[side], parameters[side])[: _BEFORE.get(note.kind, 2)]
    return all(moment is not None and moment.record < note.first.record for moment in own)


def one_sided(session: Session) -> bool:
    """Whether one direction of a session was captured from its start: whoever speaks on was answered."""
    if session.syn is not None and session.syn_ack is None:
        return session.establish_request is not None and session.establish_response is None
    return session.syn_ack is not None and session.syn is None and session.establish_request is None


def note_seen(
    session: Session, note: SessionNote, context: Context, message: str, doubtful: Severity
) -> Seen:
    """A note as an observation; ``doubtful`` is its severity where bytes of the session are missing."""
    again = f", {note.count} times in all" if note.count > 1 else ""
    return Seen(
        message=f"{message}{again}",
        evidence=(place_in(session, note.first, note.direction),),
        severity=None if note.certain else doubtful,
        confidence=None if note.certain else "guess",
        caveats=() if note.certain else doubts_of(session, context),
    )


def is_from_server(record: Record) -> bool:
    """Whether a packet goes from port 1801 to another: EstablishConnection does not say whose it is."""
    return is_answer(record.src or "", record.dst or "")


def is_answer(src: str, dst: str) -> bool:
    """Whether what goes from one end to the other goes from port 1801 to another."""
    return src.endswith(AT_MSMQ) and not dst.endswith(AT_MSMQ)


class SessionIndex:
    """Finds the session that carried a record, in time that does not grow with the number of sessions."""

    def __init__(self, story: Story) -> None:
        self._of: dict[tuple[str, str], list[Session]] = {}
        for session in story.sessions:
            self._of.setdefault((session.client, session.server), []).append(session)
            self._of.setdefault((session.server, session.client), []).append(session)

    def at(self, moment: Moment, src: str, dst: str) -> Session | None:
        """The latest session between two endpoints that had begun at a moment; None if there is none."""
        sessions = self._of.get((src, dst), ())
        place = bisect_right(sessions, moment.record, key=lambda one: one.first.record)
        return sessions[place - 1] if place else None
