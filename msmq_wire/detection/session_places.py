"""Makes evidence from moments of sessions, and says what a note about a session needs.

The rule kept here: a moment names its record and frame; a path and an offset are given only where every
packet of the kind has the field in one place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, TypedDict, Unpack

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Detection
from msmq_wire.records.coverage import Need, Position
from msmq_wire.records.endpoint import AT_MSMQ
from msmq_wire.records.record import Record
from msmq_wire.sessions import Moment, Session, SessionNote, Story
from msmq_wire.units import SECOND

_BEFORE = {"establish_unasked": 0, "parameters_unasked": 1, "parameters_before_establish": 1}
"""How many of its two handshake packets a side sent before the packet of a note; 2 by default."""


class FieldBytes(TypedDict, total=False):
    """A field of the record, with its bytes."""

    path: str
    offset: int
    length: int
    data: bytes


def place_at(
    moment: Moment,
    src: str,
    dst: str,
    capture: str = "",
    *,
    transport: Literal["tcp", "udp"] = "tcp",
    **field: Unpack[FieldBytes],
) -> Evidence:
    """A moment as evidence; without a path, the whole record."""
    return Evidence(
        capture=capture,
        record=moment.record,
        frames=() if moment.frame is None else (moment.frame,),
        time=moment.time,
        src=src,
        dst=dst,
        transport=transport,
        **field,
    )


def place_in(session: Session, moment: Moment, direction: int, **field: Unpack[FieldBytes]) -> Evidence:
    """A moment of a session as evidence; ``direction`` is 0 for a packet of the client, 1 of the server."""
    return place_at(moment, *_ends_of(session, direction), session.capture, **field)


def position_of(session: Session, moment: Moment, direction: int = 0) -> Position:
    """A moment of a session as a position, for questions about the visibility."""
    return Position(session.capture, moment.record, moment.frame or 0, *_ends_of(session, direction))


def _ends_of(session: Session, direction: int) -> tuple[str, str]:
    return (session.server, session.client) if direction else (session.client, session.server)


def noted(session: Session, *kinds: str) -> Iterator[SessionNote]:
    """The notes of a session with these kinds, in order."""
    return (note for note in session.notes if note.kind in kinds)


def needs_of(session: Session, note: SessionNote) -> tuple[Need, ...]:
    """What a capture must hold of a session for a note about a missing packet.

    If the sender of the packet left out its own EstablishConnection, or its ConnectionParameters (except in a
    note about them), the other direction does not matter.
    """
    side = note.direction
    establish = (session.establish_request, session.establish_response)
    parameters = (session.parameters_request, session.parameters_response)
    own = (establish[side], parameters[side])[: _BEFORE.get(note.kind, 2)]
    done = all(moment is not None and moment.record < note.first.record for moment in own)
    return ("opening", "both_sides", "before", "order") if done else ("opening", "before_here", "order")


def one_sided(session: Session) -> bool:
    """Whether only one direction of a session was captured; a sender that continues got an answer."""
    if session.syn is not None and session.syn_ack is None:
        return session.establish_request is not None and session.establish_response is None
    return session.syn_ack is not None and session.syn is None and session.establish_request is None


def accepted(session: Session) -> bool:
    """Whether TCP accepted the connection, even if the answer to its SYN was not captured."""
    if session.syn_ack is not None or session.reached != "tcp_only" or session.closed_by == "fin":
        return True
    if session.proxied:
        # Who sends a header has been answered.
        return True
    return any(one.gaps for one in session.directions)


def asked_again(session: Session) -> bool:
    """Whether the client retransmitted its SYN after a second or more, so that nothing had answered it.

    After a reset, a client retries within half a second; after an answer, it does not retransmit.
    """
    syn, last, again = session.syn, session.last_syn, session.syn_retransmissions
    if syn is None or syn.time is None or last is None or last.time is None:
        return False
    return last.time - syn.time >= again * SECOND


def note_seen(
    session: Session, note: SessionNote, message: str, needs: tuple[Need, ...] | None = None
) -> Detection:
    """A note as a detection."""
    again = f", {note.count} times in all" if note.count > 1 else ""
    return Detection(
        message=f"{message}{again}",
        evidence=(place_in(session, note.first, note.direction),),
        needs=needs,
    )


def is_from_server(record: Record) -> bool:
    """Whether a packet goes from port 1801 to another; EstablishConnection itself does not show this."""
    return is_answer(record.src or "", record.dst or "")


def is_answer(src: str, dst: str) -> bool:
    """Whether the direction is from port 1801 to another port."""
    return src.endswith(AT_MSMQ) and not dst.endswith(AT_MSMQ)


class SessionIndex:
    """Finds the session of a record, quickly even among many sessions."""

    def __init__(self, story: Story) -> None:
        self._of: dict[tuple[str, str], list[Session]] = {}
        for session in story.sessions:
            self._of.setdefault((session.client, session.server), []).append(session)
            self._of.setdefault((session.server, session.client), []).append(session)

    def at(self, moment: Moment, src: str, dst: str) -> Session | None:
        """The latest session between two endpoints that began before a moment; None if there is none."""
        sessions = self._of.get((src, dst), ())
        place = bisect_right(sessions, moment.record, key=lambda one: one.first.record)
        return sessions[place - 1] if place else None
