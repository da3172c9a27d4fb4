"""Sessions as swimlanes on one time axis, and a table of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msmq_wire.detection.diagnosis.network_phrases import fault_clause
from msmq_wire.detection.network_faults import faults_of, shown_faults
from msmq_wire.markup import Markup, joined, scrolling, tag
from msmq_wire.records.visibility import Visibility
from msmq_wire.report.axis import TimeAxis
from msmq_wire.report.html_tables import table, when
from msmq_wire.report.totals import Lane, Totals
from msmq_wire.report.wording import count_text, date_text, duration_text
from msmq_wire.sessions import Moment, Session, Story

_MOST_LANES = 40
_ANYWAY = 8
"""Lanes that are drawn though everything is in order."""
_MOST_LISTED = 200
_WIDTH, _LEFT, _RIGHT = 960, 262, 948
_ROW, _TOP = 46, 8
_LABEL = 40
_CLOSED = {
    "fin": "closed",
    "reset": "reset",
    "unreachable": "host unreachable",
    "silent": "fell silent",
    "capture_end": "still there at the end",
}


def listed_sessions(story: Story) -> Sequence[Session]:
    """The sessions that the table lists: those with something to see before others, in their order."""
    if len(story.sessions) <= _MOST_LISTED:
        return story.sessions
    chosen = sorted(story.sessions, key=_weight, reverse=True)[:_MOST_LISTED]
    return sorted(chosen, key=lambda session: session.number)


def session_section(story: Story, totals: Totals) -> Markup:
    """Lanes of sessions with something to see, the others counted, and a table."""
    if not story.sessions:
        return tag("p", "No connection of the binary protocol was captured.")
    telling = [session for session in story.sessions if _odd(session)]
    chosen = sorted(story.sessions, key=_weight, reverse=True)
    chosen = chosen[: min(max(len(telling), _ANYWAY), _MOST_LANES)]
    chosen.sort(key=lambda session: session.number)
    left_out = len(story.sessions) - len(chosen)
    odd = len(telling) - sum(map(_odd, chosen))
    note = None
    if left_out:
        words = f"{count_text(left_out, 'session')} not drawn: "
        words += f"{odd:,} with something out of order, " if odd else ""
        words += f"{left_out - odd:,} in which everything is in order" if left_out > odd else "no other"
        note = tag("p", f"{words}.", class_="note")
    lanes = scrolling("Sessions over time", _picture(chosen, totals))
    return joined(_legend(), lanes, note, _listed(story))


def _odd(session: Session) -> bool:
    """Whether there is something to see in a session beside messages that pass."""
    return bool(
        session.notes
        or faults_of(session)
        or session.reached != "open"
        or session.closed_by in ("reset", "unreachable")
        or session.reason not in (None, "idle")
        or any(one.gaps or one.unacknowledged or one.resent for one in session.directions)
    )


def _weight(session: Session) -> tuple[bool, int, int]:
    return _odd(session), sum(one.messages for one in session.directions), -session.number


def session_words(session: Session) -> str:
    """How far a session came and how it ended."""
    if session.state == "refused_tcp":
        return "TCP refused"
    how = {
        "tcp_only": "TCP only" if session.syn_ack or not session.started else "SYN not answered",
        "establishing": "not established",
        "parameters": "no parameters agreed",
        "open": "open",
    }[session.reached]
    if session.state == "refused":
        how = f"refused by {session.refused_by}"
    parts = [how, _CLOSED[session.closed_by]]
    if session.closer:
        parts[-1] += f" by {session.closer}"
    if session.reason:
        parts.append(session.reason.replace("_", " "))
    return ", ".join(parts)


def _listed(story: Story) -> Markup:
    rows = []
    sessions = listed_sessions(story)
    for session in sessions:
        sent, answered = session.directions
        length = _length(session)
        rows.append(
            (
                session.number,
                when(session.first.time),
                session.client,
                session.server,
                tag("span", session_words(session), class_="wide"),
                "-" if length is None else duration_text(length),
                f"{sent.messages:,} / {answered.messages:,}",
                f"{sent.unacknowledged:,} / {answered.unacknowledged:,}",
                f"{sent.resent:,} / {answered.resent:,}",
                _notes(session, story.visibility),
            )
        )
    counts = ("#Messages (client / server)", "#Not acknowledged", "#Sent again", "Out of order")
    heads = ("Session", "Began (UTC)", "Client", "Server", "How it went", "#Lasted", *counts)
    ids = [f"session-{session.number}" for session in sessions]
    return table("Sessions", heads, rows, more=len(story.sessions) - len(rows), ids=ids)


def _notes(session: Session, visibility: Visibility) -> str:
    words = [
        note.kind.replace("_", " ") + (f" ({note.count} times)" if note.count > 1 else "")
        for note in session.notes
    ]
    words += (fault_clause(fault) for fault in shown_faults(session, visibility))
    if not session.certain:
        words.append("parts are missing from the capture")
    return ", ".join(words) or "-"


def _length(session: Session) -> int | None:
    if session.first.time is None or session.last.time is None:
        return None
    return max(session.last.time - session.first.time, 0)


def _legend() -> Markup:
    items = (
        ("step", "connection, Establish, Parameters, open"),
        ("message up", "messages from the client"),
        ("message down", "messages from the server"),
        ("ack", "session acks"),
        ("gap", "bytes not captured"),
        ("end", "closed"),
        ("end reset", "reset or refused"),
    )
    return tag(
        "ul",
        *(
            tag(
                "li",
                tag(
                    "svg",
                    _sign(kind),
                    viewBox="0 0 16 16",
                    width=16,
                    height=16,
                    aria_hidden="true",
                ),
                words,
            )
            for kind, words in items
        ),
        class_="legend",
    )


def _sign(kind: str) -> Markup:
    if kind == "ack":
        return tag("circle", cx=8, cy=8, r=3, class_=kind)
    if kind.startswith("end"):
        return _end_sign(8, 8, reset="reset" in kind)
    y, height = {"message up": (2, 8), "message down": (6, 8)}.get(kind, (2, 12))
    return tag("rect", x=6.5, y=y, width=8 if kind == "gap" else 3, height=height, class_=kind)


def _end_sign(x: float, y: float, *, reset: bool, words: str | None = None) -> Markup:
    title = None if words is None else tag("title", words)
    if reset:
        d = f"M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"
        return tag("path", title, d=d, class_="end reset")
    return tag("rect", title, x=f"{x - 4:.1f}", y=f"{y - 4:.1f}", width=8, height=8, class_="end")


def _picture(sessions: list[Session], totals: Totals) -> Markup:
    known = [totals.lanes.get((session.capture, session.stream or 0)) for session in sessions]
    busy = (one for session, lane in zip(sessions, known, strict=True) for one in _busy(session, lane))
    axis = TimeAxis(busy, _LEFT + 10, _RIGHT)
    bottom = _TOP + _ROW * len(sessions)
    lanes = [
        _lane(session, lane, axis, _TOP + _ROW * at)
        for at, (session, lane) in enumerate(zip(sessions, known, strict=True))
    ]
    words = f"{count_text(len(sessions), 'session')} over {duration_text(axis.span)}"
    return tag(
        "svg",
        tag("title", words),
        axis.drawn(_TOP, bottom),
        *lanes,
        viewBox=f"0 0 {_WIDTH} {bottom + 26}",
        role="img",
        aria_label=words,
        class_="picture",
    )


def _busy(session: Session, lane: Lane | None) -> Iterator[tuple[int, int]]:
    """When something happened in a session."""
    moments = [session.first, session.last, session.close, *(moment for _, moment in _steps(session))]
    yield from ((one.time, one.time) for one in moments if one is not None and one.time is not None)
    if lane is not None:
        for buckets in (*lane.sent.values(), lane.acks, lane.gaps):
            for start, _ in buckets.items():
                yield _within(session, start), _within(session, start + buckets.width)


def _within(session: Session, time: int) -> int:
    """A time of a step that is not before the session, and not behind it."""
    span = _span(session)
    return time if span is None else min(max(time, span[0]), span[1])


def _span(session: Session) -> tuple[int, int] | None:
    times = [time for time in (session.first.time, session.last.time) if time is not None]
    return (min(times), max(times)) if times else None


def _lane(session: Session, lane: Lane | None, axis: TimeAxis, top: int) -> Markup:
    middle = top + _ROW / 2
    ends = f"{session.client} → {session.server}"
    left = 26 + 9 * max(len(str(session.number)) - 2, 0)
    room = _LABEL - (left - 26) // 6
    parts = [
        tag("title", f"session {session.number}: {ends}; {session_words(session)}"),
        tag("text", f"{session.number}", x=4, y=middle - 4, class_="host"),
        tag(
            "text",
            ends if len(ends) <= room else f"{ends[: room - 1]}…",
            x=left,
            y=middle - 4,
            class_="small",
        ),
        tag("text", session_words(session)[: room + 4], x=left, y=middle + 11, class_="small muted"),
        tag("line", x1=4, x2=_RIGHT, y1=top + _ROW, y2=top + _ROW, class_="rule"),
    ]
    span = _span(session)
    if span is None:
        return tag("g", *parts)
    start, end = axis.x(span[0]), axis.x(span[1])
    parts.append(
        tag(
            "rect",
            x=f"{start:.1f}",
            y=middle - 1.5,
            width=f"{max(end - start, 2):.1f}",
            height=3,
            class_="life" if session.opened else "life closed",
        )
    )
    if lane is not None:
        parts += _activity(session, lane, axis, middle)
    for name, moment in _steps(session):
        if moment.time is not None:
            words = f"{name}: {date_text(moment.time)}, frame {moment.frame or '?'}"
            parts.append(
                tag(
                    "rect",
                    tag("title", words),
                    x=f"{axis.x(moment.time) - 1:.1f}",
                    y=middle - 8,
                    width=2,
                    height=16,
                    class_="step",
                )
            )
    if session.close is not None and session.close.time is not None:
        reset = session.closed_by in ("reset", "unreachable") or session.state.startswith("refused")
        words = (
            f"{session_words(session)}: {date_text(session.close.time)}, frame {session.close.frame or '?'}"
        )
        parts.append(_end_sign(axis.x(session.close.time), middle, reset=reset, words=words))
    return tag("g", *parts)


def _steps(session: Session) -> list[tuple[str, Moment]]:
    steps = (
        ("SYN", session.syn),
        ("SYN-ACK", session.syn_ack),
        ("Establish request", session.establish_request),
        ("Establish response", session.establish_response),
        ("Parameters request", session.parameters_request),
        ("Parameters response", session.parameters_response),
        ("open", session.opened),
    )
    return [(name, moment) for name, moment in steps if moment is not None]


def _activity(session: Session, lane: Lane, axis: TimeAxis, middle: float) -> list[Markup]:
    drawn = []
    for start, count in lane.gaps.items():
        words = f"{count_text(count, 'gap')} near {date_text(start)}"
        drawn.append(_mark(axis.x(_within(session, start)), middle - 14, 5, 28, "gap", words))
    for src, buckets in lane.sent.items():
        up = src == session.client
        highest = max(buckets.counts.values())
        for start, count in buckets.items():
            height = 5 + 9 * count / highest
            words = f"{count_text(count, 'message')} from {src} at {date_text(start)}"
            y = middle - 2 - height if up else middle + 2
            kind = "message up" if up else "message down"
            x = axis.x(_within(session, start + buckets.width // 2))
            drawn.append(_mark(x, y, 2.4, height, kind, words))
    for start, count in lane.acks.items():
        words = f"{count_text(count, 'session ack')} at {date_text(start)}"
        x = axis.x(_within(session, start + lane.acks.width // 2))
        drawn.append(
            tag("circle", tag("title", words), cx=f"{x:.1f}", cy=f"{middle:.1f}", r=2.6, class_="ack")
        )
    return drawn


def _mark(x: float, y: float, width: float, height: float, kind: str, words: str) -> Markup:
    return tag(
        "rect",
        tag("title", words),
        x=f"{x - width / 2:.1f}",
        y=f"{y:.1f}",
        width=width,
        height=f"{height:.1f}",
        class_=kind,
    )
