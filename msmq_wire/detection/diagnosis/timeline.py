"""`message_steps` and `SessionSteps`: every step of one message or session, in the order of time.

The rule kept here: one frame shows each step. Conclusions from several frames are not steps. What a queue
manager tells in a report message is a step that the capture does not show, as is what an event log says: both
say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Any, NamedTuple, Protocol

import msgspec

from msmq_wire.detection.diagnosis.computer_log_texts import placed, put_text
from msmq_wire.detection.diagnosis.phrases import Phrases, short
from msmq_wire.records.record import Record
from msmq_wire.records.seen_at import is_partly, point_names, sight_texts, sights_of, unseen_text
from msmq_wire.records.tree.srmp_nodes import shortened
from msmq_wire.records.tree.value_text import timestamp_text
from msmq_wire.records.view import time_text
from msmq_wire.sessions import MessageLife, Moment, Story, class_words
from msmq_wire.sessions.computer_logs import LoggedPut
from msmq_wire.sessions.followed_message import message_key, message_name, moment_of
from msmq_wire.units import SECOND
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_MOST = 10_000


class AnyStep(Protocol):
    """What a step says, whatever it knows of its time and frame."""

    @property
    def src(self) -> str: ...

    @property
    def dst(self) -> str: ...

    @property
    def what(self) -> str: ...

    @property
    def detail(self) -> str: ...

    @property
    def seen_at(self) -> tuple[str, ...]: ...


class TimelineStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: the time, the sender, the receiver, and the event.

    ``src`` and ``dst`` are ``address:port``, empty if nothing was sent. ``detail`` has more about the event.
    ``told_by`` is the queue manager that tells the event in a report message, which the rest is about; None
    for an event that the frame itself shows. ``seen_at`` says what each vantage point saw of it, as rows do,
    where not all saw all of it. ``put`` is the event of a log that says it, None for what is no event: then
    ``at`` has no frame, the record of its message, and a time by the clock of the capture, if that is known.
    """

    at: Moment
    src: str
    dst: str
    what: str
    detail: str = ""
    told_by: GUID | None = None
    seen_at: tuple[str, ...] = ()
    put: LoggedPut | None = None


class StepTexts(NamedTuple):
    """The texts of a step in a list: its time, the time since the first step, and the event."""

    clock: str
    place: str
    what: str
    rest: str

    def line(self, width: int) -> str:
        """The texts as a line, with ``what`` filled to a width."""
        return f"{self.clock}  {self.place}  {self.what:<{width}}{f'  {self.rest}' if self.rest else ''}"


def step_texts(
    step: AnyStep, time: int | None, frame: int | None, start: int | None, zone: tzinfo | None, arrow: str
) -> StepTexts:
    """The texts of a step at a time; ``start`` is the time of the first step."""
    ends = f"{step.src} {arrow} {step.dst}" if step.src or step.dst else ""
    return StepTexts(
        clock="" if time is None else timestamp_text(time, zone),
        place=f"{since_text(time, start)}  {'' if frame is None else frame:>7}",
        what=step.what,
        rest="  ".join(part for part in (shortened(step.detail), ends, unseen_text(step.seen_at)) if part),
    )


def since_text(time: int | None, start: int | None) -> str:
    """The seconds since the first step."""
    return f"{'':>9}" if start is None or time is None else f"{(time - start) / SECOND:>9.3f}"


def step_view(step: TimelineStep, words: Phrases) -> dict[str, Any]:
    """A step as data for JSON; the frame number is the one in its file."""
    capture, frame = located(step, words)
    seen_at = {"seen_at": list(step.seen_at)} if step.seen_at else {}
    return {
        "record": step.at.record,
        "capture": capture,
        "frame": frame,
        "time": time_text(step.at.time),
        "src": step.src or None,
        "dst": step.dst or None,
        "what": step.what,
        "detail": step.detail,
        "told_by": None if step.told_by is None else str(step.told_by),
        **seen_at,
        **({} if step.put is None else {"event_log": _event_view(step.put)}),
    }


def located(step: TimelineStep, words: Phrases) -> tuple[str, int | None]:
    """The file of a step and the frame number in it; an event of a log has neither."""
    return words.located(step.at) if step.put is None else ("", None)


def _event_view(put: LoggedPut) -> dict[str, Any]:
    return {
        "computer": put.log.computer,
        "files": list(put.log.files),
        "event_record_id": put.event.record_id,
        "time": time_text(put.event.time),
        "side": put.side,
    }


def message_steps(life: MessageLife, story: Story) -> list[TimelineStep]:
    """The steps of a message, from its session to its receiver."""
    steps = sorted(_message_steps(life, story), key=lambda step: (step.at.record, step.at.frame or 0))
    sights = story.point_sights
    if sights is not None:
        steps = [msgspec.structs.replace(one, seen_at=sight_texts(sights.of(one.at.record))) for one in steps]
    for put in () if story.logs is None else placed(story.logs.of(life.message_id)):
        _insert(steps, put, life)
    return steps


def _insert(steps: list[TimelineStep], put: LoggedPut, life: MessageLife) -> None:
    """Put an event among the steps: by its time, else before or behind the packet of the message."""
    step = TimelineStep(
        at=Moment(life.first.record, None, put.at), src="", dst="", what="put into a queue",
        detail=put_text(put), put=put,
    )  # fmt: skip
    if put.at is not None:
        until = put.at - (put.side == "sender")
        earlier = (one for one in steps if one.at.time is not None and one.at.time <= until)
        last = max((steps.index(one) for one in earlier), default=-1)
        steps.insert(last + 1, step)
        return
    sent = next((place for place, one in enumerate(steps) if one.at == life.first), len(steps) - 1)
    place = max({"sender": sent, "receiver": sent + 1}.get(put.side or "", len(steps)), 0)
    while place < len(steps) and steps[place].put is not None:
        place += 1
    steps.insert(place, step)


def _message_steps(life: MessageLife, story: Story) -> Iterator[TimelineStep]:
    session = None if life.session is None else story.session(life.session)
    src, dst = life.src, life.dst
    if session is not None and session.opened is not None and session.parameters_response is not None:
        number = f"session {session.number}"
        src_, dst_ = session.server, session.client
        yield TimelineStep(at=session.opened, src=src_, dst=dst_, what="session open", detail=number)
    how = {"tcp": "sent", "http": "sent over HTTP", "rpc": "seen in a call"}.get(life.via, "sent")
    if life.via != "report":
        yield TimelineStep(at=life.first, src=src, dst=dst, what=how, detail=_described(life))
    for report in life.reports:
        yield TimelineStep(
            at=report.at,
            src=report.src,
            dst=report.dst,
            what="told by a queue manager",
            detail=report.said if report.sure else f"may belong to this message: {report.said}",
            told_by=report.queue_manager,
        )
    for moment in life.resent_at:
        yield TimelineStep(at=moment, src=src, dst=dst, what="sent again")
    for hop in life.route:
        yield TimelineStep(at=hop.at, src=hop.src, dst=hop.dst, what="sent on", detail=f"hop {hop.hops}")
    if life.acknowledged is not None and life.acknowledged == life.stored:
        yield TimelineStep(at=life.acknowledged, src=dst, dst=src, what="acknowledged", detail="and stored")
    else:
        if life.acknowledged is not None:
            yield TimelineStep(
                at=life.acknowledged, src=dst, dst=src, what="acknowledged", detail="by the next host"
            )
        if life.stored is not None:
            yield TimelineStep(at=life.stored, src=dst, dst=src, what="stored", detail="by the next host")
    if life.order_ack is not None:
        yield TimelineStep(
            at=life.order_ack, src=dst, dst=src, what="OrderAck", detail="the destination saved it"
        )
    if life.accepted is not None:
        yield TimelineStep(
            at=life.accepted, src=dst, dst=src, what=f"HTTP {life.http_status}", detail="accepted"
        )
    for ack in life.acknowledgments:
        kind = {"final_ack": "FinalAck", "administration_ack": "administration ack", "receipt": "receipt"}
        detail = {2: "it reached its queue", 0x4000: "it was received"}.get(ack.message_class)
        detail = detail or class_words(ack.message_class)
        yield TimelineStep(at=ack.at, src=ack.src, dst=ack.dst, what=kind[ack.kind], detail=detail)
    yield from _read_steps(life, story)
    if session is not None and session.close is not None:
        closer, other = session.client, session.server
        if session.closer == "server":
            closer, other = other, closer
        what = "session reset" if session.closed_by == "reset" else "session closed"
        yield TimelineStep(
            at=session.close, src=closer, dst=other, what=what, detail=f"session {session.number}"
        )


def _read_steps(life: MessageLife, story: Story) -> Iterator[TimelineStep]:
    wanted = set(life.reads)
    for read in story.reads if wanted else ():
        if read.number not in wanted:
            continue
        what = "received remotely" if read.removes else "peeked remotely"
        yield TimelineStep(at=read.at, src=read.server, dst=read.client, what=what, detail=read.queue or "")
        if read.ended is not None:
            ends = {"ack": "taken off the queue", "nack": "put back", "cancelled": "read cancelled"}
            what, detail = ends[read.end or "cancelled"], ""
            if read.transactional and read.end == "ack":
                what, detail = "read acknowledged", "it leaves the queue when the transaction is committed"
            yield TimelineStep(at=read.ended, src=read.client, dst=read.server, what=what, detail=detail)
    for queue_ in story.queues:
        if queue_.purged is not None and queue_.number == life.purged_by:
            yield TimelineStep(at=queue_.purged, src=queue_.client, dst=queue_.server, what="queue purged")
    for moment, queue in zip(life.moved, life.moved_to, strict=True):
        yield TimelineStep(at=moment, src="", dst="", what="moved", detail=f"to {queue or 'another queue'}")
    if life.rejected is not None:
        detail = class_words(life.rejected_class or 0)
        yield TimelineStep(at=life.rejected, src="", dst="", what="rejected", detail=detail)
    for name, moment in life.copies:
        yield TimelineStep(
            at=moment, src="", dst="", what="found", detail=f"in a {name.replace('_', ' ')} queue"
        )


def _described(life: MessageLife) -> str:
    parts = [life.queue or "", life.delivery or ""]
    if life.label:
        parts.append(f'"{life.label}"')
    if life.size is not None:
        parts.append(f"{life.size:,} bytes")
    return ", ".join(part for part in parts if part)


class SessionSteps:
    """Takes the records of one connection; keeps the first 10,000 steps, ``more`` counts the others.

    The packets after a gap are found late, and the gap itself still later. ``steps`` are in the order of
    frames, a gap before the packets that follow it.
    """

    def __init__(self, capture: str, stream: int | None) -> None:
        self._place = (capture, stream)
        self._steps: list[TimelineStep] = []
        self._holes: dict[str, list[int]] = {}
        self._frames: list[tuple[int, ...]] = []
        self.more = 0

    @property
    def steps(self) -> list[TimelineStep]:
        """The steps in the order of frames; steps without a frame come first."""
        steps = self._steps
        if point_names(self._place[0]):
            # What a point saw is known at the end.
            sights = [sights_of(self._place[0], frames) if frames else () for frames in self._frames]
            steps = [
                msgspec.structs.replace(step, seen_at=sight_texts(one)) if is_partly(one) else step
                for step, one in zip(steps, sights, strict=True)
            ]
        return sorted(steps, key=lambda step: step.at.frame or 0)

    def feed(self, record: Record) -> None:
        """Take a record; ignore other connections."""
        if (record.capture, record.stream) != self._place or record.parent is not None:
            return
        what, detail = _of(record)
        if not what:
            return
        if len(self._steps) >= _MOST:
            self.more += 1
            return
        src, dst, moment = record.src or "", record.dst or "", moment_of(record)
        if record.type == "gap":
            self._holes.setdefault(src, []).append(len(self._steps))
        else:
            for hole in self._holes.pop(src, ()):
                self._steps[hole] = msgspec.structs.replace(self._steps[hole], at=moment)
        self._steps.append(TimelineStep(at=moment, src=src, dst=dst, what=what, detail=detail))
        self._frames.append(() if record.type == "gap" else record.frames)


_EVENTS = {
    "syn": "SYN",
    "syn_ack": "SYN-ACK",
    "fin": "FIN",
    "rst": "RST",
    "syn_retransmission": "SYN again",
    "conflict": "bytes sent again with other content",
    "icmp_unreachable": "ICMP unreachable",
    "packet_too_big": "ICMP: packet too big",
    "proxied": "PROXY header",
}


def _of(record: Record) -> tuple[str, str]:
    """The event and the detail of a record; empty if it is not a step."""
    packet, type_ = record.packet, record.type
    if type_ == "tcp_stream":
        event = record.event or ""
        quiet = ("established", "closed", "evicted", "start_midstream", "capture_end")
        return ("", "") if event in quiet else (_EVENTS.get(event, event.replace("_", " ")), "")
    if type_ == "gap":
        known = "bytes" if record.missing is None else f"{record.missing:,} bytes"
        text = f"{known} missing" if record.missing != 0 else f"{record.length:,} bytes not understood"
        return text, f"({record.reason})" if record.reason else ""
    if type_ == "establish_connection":
        header = reached(packet, "establish_connection_header")
        refused = _refused(packet)
        guids = reached(header, "client_guid"), reached(header, "server_guid")
        names = ["any" if guid == NULL_GUID else short(str(guid)) for guid in guids if guid is not None]
        return "EstablishConnection", refused or " to ".join(names)
    if type_ == "connection_parameters":
        header = reached(packet, "connection_parameters_header")
        window = reached(header, "window_size")
        return "ConnectionParameters", _refused(packet) or ("" if window is None else f"window {window}")
    if type_ == "session_ack":
        return "SessionAck", _session_ack(reached(packet, "session_header"))
    if type_ in ("user_message", "order_ack", "final_ack"):
        return _user(record)
    return ("packet of an unknown kind", "") if type_ == "unknown_packet" else ("", "")


def _refused(packet: object) -> str:
    flags = reached(reached(packet, "internal_header"), "flags")
    return "refused" if isinstance(flags, int) and flags & 0x10 else ""


def _session_ack(header: object) -> str:
    number = reached(header, "ack_sequence_number")
    if number is None:
        return ""
    text = f"received {number}"
    low = reached(header, "recoverable_msg_ack_seq_number")
    flags = reached(header, "recoverable_msg_ack_flags")
    if low and flags:
        stored = [str(low + bit) for bit in range(32) if flags >> bit & 1]
        shown = stored[0] if len(stored) == 1 else f"{stored[0]} to {stored[-1]}"
        text += f", stored {shown}"
    return text


def _user(record: Record) -> tuple[str, str]:
    packet = record.packet
    user = reached(packet, "user_header")
    number = reached(user, "message_id")
    if number is None:
        return "message, cut", ""
    name = short(message_name(message_key(user.source_queue_manager, number)))
    if record.type == "order_ack":
        body = reached(packet, "order_ack_body")
        covers = reached(body, "tx_sequence_number")
        return "OrderAck", "" if covers is None else f"saved up to {covers}"
    if record.type == "final_ack":
        class_ = reached(reached(packet, "message_properties_header"), "message_class") or 0
        return "FinalAck", "received" if class_ == 0x4000 else class_words(class_)
    properties = reached(packet, "message_properties_header")
    label, size = reached(properties, "label"), reached(properties, "message_size")
    parts = [f'"{label.text}"' if label else "", "" if size is None else f"{size:,} bytes"]
    acks = _session_ack(reached(packet, "session_header"))
    parts.append(f"+ {acks}" if acks else "")
    place = reached(reached(packet, "transaction_header"), "tx_sequence_number")
    parts.append("" if place is None else f"number {place}")
    what = "message" if record.error is None else "message, cut,"
    return f"{what} {name}", " ".join(part for part in parts if part)
