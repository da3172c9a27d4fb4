"""What a message is: the same wherever a capture shows it. [MS-MQRR] 2.2.5.1, 3.1.4.7, [MS-MQQP] 2.2.2.1

The rule kept here: compared is what no queue manager changes, and only where both sides are whole: SentTime,
the label, the size and the bytes of the body. A server may put an address over QueueManagerAddress, add
headers behind the packet, decrypt the body, change the class of a message that failed and count its hops;
none of that is looked at. TimeToReachQueue becomes a point in time, which is not before SentTime.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.replay.packet_deviations import Asked, packet_deviation
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rule_table import row_of
from msmq_wire.replay.state import KnownHandle, ServerState, ShownMessage
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.sessions.followed_message import message_key, message_name
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

PACKET = "the packet"
"""What shows a message that is sent over the binary protocol."""
AH = 1 << 25
EB = 0x20
_MASK = 0xFFFFFFFF
_UNIQUE = ProcessingRule("MQMQ", "2.2.19.2")
"""[MS-MQMQ] 2.2.19.2, MessageID: unique for each message that a queue manager sends."""
_COMPARED = {"SentTime": "sent_time", "label": "label", "body size": "size", "body": "body"}


def judge_packet(known: ServerState, record: Record) -> list[ReplayDeviation]:
    """Take a message that was sent over the binary protocol; its number may be that of another one."""
    shown = shown_by(record)
    return [] if shown is None else judge_shown(known, shown, lambda: record)


def shown_by(record: Record) -> ShownMessage | None:
    """What a message is that was sent over the binary protocol; None where its name was not captured."""
    frame = record.frames[-1] if record.frames else None
    return _of_packet(record.packet, PACKET, frame, host_of(record.dst), host_of(record.src))


def judge_shown(known: ServerState, shown: ShownMessage, record: Asked) -> list[ReplayDeviation]:
    """Take what a packet shows of a message."""
    before = known.shown.get(shown.key)
    differing = [] if before is None else _differing(before, shown)
    # With another SentTime it is another message, whose number came again.
    if before is None or not differing or "SentTime" in differing:
        known.shown.put(shown.key, shown)
        return []
    return [
        packet_deviation(
            ReplayKind.CONTENT,
            record(),
            _UNIQUE,
            f"{message_name(shown.key)} has another {differing[0]} than in {before.where}",
            "an identifier of its own for each message",
            "the same identifier",
            path="user_header.message_id",
            certain=before.sender == shown.sender,
        )
    ]


def learn_content(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> None:
    """Take a message that a call brought; its lookup identifier tells it from others of its queue."""
    shown, place = _carried(call), _place(known, read, used)
    if call.ok and place is not None and shown is not None:
        known.shown.put(place, shown)


def judge_content(
    known: ServerState, call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A message that comes otherwise than the capture shows it elsewhere, or with a time that cannot be."""
    shown, place = _carried(call), _place(known, read, used)
    if not call.ok or shown is None:
        return
    sent = known.shown.get(shown.key)
    yield from _judge_time(call, sent)
    seen = None if place is None else known.shown.get(place)
    if sent is not None and (differing := _differing(sent, shown)):
        yield _different(call, sent, shown, differing[0])
    elif seen is not None and seen.key == shown.key and _differing(seen, shown) == ["body"]:
        # What differs in more may be another message: queues that are made anew count from the beginning.
        yield _different(call, seen, shown, "body")


def _differing(one: ShownMessage, other: ShownMessage) -> list[str]:
    pairs = ((what, getattr(one, name), getattr(other, name)) for what, name in _COMPARED.items())
    return [what for what, before, now in pairs if None not in (before, now) and before != now]


def _different(call: ObservedCall, before: ShownMessage, shown: ShownMessage, what: str) -> ReplayDeviation:
    numbers = what in ("SentTime", "body size")
    name = _COMPARED[what]
    return call.deviation(
        ReplayKind.CONTENT,
        call.row(f"message-changed:{name}") or row_of("message-changed", call.method),
        f"{call.method} returns {message_name(shown.key)} with another {what} than {before.where} has",
        f"{getattr(before, name)}" if numbers else "the same",
        came=f"{getattr(shown, name)}" if numbers else "another",
        # Where the time is another one, too, the number may have been given to another message.
        certain=before.host == call.server and what != "SentTime",
    )


def _place(known: ServerState, read: ObservedRead, used: KnownHandle | None) -> Hashable | None:
    return None if used is None or not read.sequence else (known.place(used), read.sequence)


def _judge_time(call: ObservedCall, before: ShownMessage | None) -> Iterator[ReplayDeviation]:
    """TimeToReachQueue of a section: SentTime and the seconds that the message had."""
    row, packet = call.row("time-to-reach-queue"), None if call.message is None else call.message.packet
    sent, time = _field(packet, "user_header.sent_time"), _field(packet, "base_header.time_to_reach_queue")
    # The text makes no exception for the infinite value: some add it to SentTime as it is.
    if row is None or sent is None or time in (None, INFINITE, (sent + INFINITE) & _MASK):
        return
    seconds = None if before is None or before.sent_time != sent else before.time_to_reach_queue
    due = None if seconds is None else sent + seconds
    where = "" if before is None or seconds is None else f", and {before.where} has {seconds} s"
    if time < sent:
        what, expected = "which is before", "a time that is not before it"
    elif due is not None and seconds != INFINITE and time not in (due & _MASK, min(due, INFINITE)):
        what, expected = f"{time - sent} s after", f"{due}"
    else:
        return
    yield call.deviation(
        ReplayKind.CONTENT,
        row,
        f"{call.method} returns a message with TimeToReachQueue {time}, {what} SentTime {sent}{where}",
        expected,
        came=f"{time}",
    )


def _carried(call: ObservedCall) -> ShownMessage | None:
    packet = None if call.message is None else call.message.packet
    if packet is None:
        return None
    frames = call.record.frames
    frame = frames[-1] if frames else None
    if isinstance(packet, TransferBuffer):
        return _of_buffer(packet, call.method, frame, call.server)
    return _of_packet(packet, call.method, frame, call.server, absolute=True)


def _of_packet(
    packet: Any, by: str, frame: int | None, at: str, sender: str = "", *, absolute: bool = False
) -> ShownMessage | None:
    source, sent = (
        _field(packet, "user_header.source_queue_manager"),
        _field(packet, "user_header.message_id"),
    )
    if not isinstance(source, GUID) or not isinstance(sent, int):
        return None
    properties = reached(packet, "message_properties_header")
    size, body = number(properties, "message_size"), reached(properties, "message_body")
    label = reached(properties, "label")
    # Of a packet that is cut a part of the label may be there.
    labelled = isinstance(label, WcharText) and len(label) == 2 * (number(properties, "label_length") or 0)
    flags = _field(packet, "user_header.flags")
    sealed = (_field(packet, "security_header.flags") or 0) & EB
    # The body of an encrypted message is decrypted, that of an SRMP message lies elsewhere.
    elsewhere = flags is None or flags & AH or sealed
    return ShownMessage(
        key=message_key(source, sent),
        by=by,
        frame=frame,
        host=at,
        sender=sender,
        sent_time=_field(packet, "user_header.sent_time"),
        time_to_reach_queue=None if absolute else _field(packet, "base_header.time_to_reach_queue"),
        label=hash(label.text) if labelled else None,
        size=None if elsewhere else size,
        body=None if elsewhere else _digest(body, size),
    )


def _of_buffer(buffer: TransferBuffer, by: str, frame: int | None, at: str) -> ShownMessage | None:
    reported = buffer.properties
    identifier = reported.identifier
    if not isinstance(identifier, ObjectId) or not isinstance(identifier.lineage, GUID):
        return None
    doubtful = {*reported.truncated, *(one.partition(":")[0] for one in reported.problems)}
    size = None if "body_length" in doubtful else reported.body_length
    label = reported.label
    return ShownMessage(
        key=message_key(identifier.lineage, identifier.uniquifier),
        by=by,
        frame=frame,
        host=at,
        sender="",
        sent_time=None if "sent_time" in doubtful else reported.sent_time,
        time_to_reach_queue=None,
        label=hash(label.text) if isinstance(label, WcharText) and "label" not in doubtful else None,
        size=size,
        body=None if "body" in doubtful else _digest(reported.body, size),
    )


def _digest(body: Any, size: int | None) -> int | None:
    """A number that stands for a body that is all there."""
    return hash(bytes(body)) if isinstance(body, bytes) and len(body) == size else None


def _field(packet: Any, path: str) -> Any:
    part, _, name = path.partition(".")
    return reached(reached(packet, part), name)
