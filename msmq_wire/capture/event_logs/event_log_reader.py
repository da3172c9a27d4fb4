"""Reads the event log of a computer from a file: `read_event_log`.

The rule kept here: only the channel End2End of Message Queuing is read. Everything else is counted, but for
events that say that a log was cleared. What was read before damage is kept, and the damage is told.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from msmq_wire.capture.event_logs.event_xml import EventXml, WrittenEvent
from msmq_wire.capture.event_logs.evtx_file import MAGIC, EvtxEvents
from msmq_wire.capture.opened_file import reason_of
from msmq_wire.errors import CaptureError
from msmq_wire.records.log_event import (
    CHANNEL,
    PROVIDER,
    PROVIDER_ID,
    PUT,
    EventLogFile,
    LogClearing,
    LogEvent,
    names_computer,
)
from msmq_wire.wire.types.guid import GUID

MOST_EVENTS = 500_000
"""Events of the channel that are kept of one file."""
_MOST_TEXT = 1 << 26
"""Characters of other events, and of names of queues, that are kept of one file."""
_MOST_CLEARINGS = 64
_MOST_BYTES = 1 << 30
_STEP = 1 << 16
_CLEARED, _SECURITY_CLEARED = 104, 1102
_EVENTLOG = "microsoft-windows-eventlog"
_MOST_NUMBER = 1 << 32
_WAY_OUT = "export the log: wevtutil qe Microsoft-Windows-MSMQ/End2End /f:xml"


def read_event_log(path: str) -> EventLogFile:
    """Read an .evtx file or exported XML.

    Raises CaptureError for a file that cannot be opened or is neither, and MissingExtraError where it is
    .evtx and the package evtx is not installed.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise CaptureError(f"cannot open {path}: it is no regular file")
        with open(path, "rb") as file:
            head = file.read(256)
    except (OSError, ValueError) as error:
        raise CaptureError(f"cannot open {path}: {reason_of(error)}") from error
    if head.startswith(MAGIC):
        from_evtx = EvtxEvents(path)
        return _collected(path, from_evtx, from_evtx)
    if not _is_xml(head):
        raise CaptureError(f"{path} is no event log, neither .evtx nor XML; {_WAY_OUT}")
    from_xml = _XmlEvents(path)
    return _collected(path, from_xml, from_xml)


def _is_xml(head: bytes) -> bool:
    text = head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    return text.startswith(b"<")


class _XmlEvents:
    """The events of an XML file; iterate once, then ``problem`` says what could not be read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.problem = ""

    def __iter__(self) -> Iterator[WrittenEvent]:
        reader, left = EventXml(), _MOST_BYTES
        with open(self._path, "rb") as file:
            while left > 0 and not reader.problem:
                data = file.read(_STEP)
                left -= len(data)
                yield from reader.feed(data, last=not data)
                if not data:
                    break
        self.problem = reader.problem or ("" if left > 0 else f"it is larger than {_MOST_BYTES >> 30} GiB")


def _collected(path: str, events: Iterable[WrittenEvent], source: EvtxEvents | _XmlEvents) -> EventLogFile:
    kept: list[LogEvent] = []
    clearings: list[LogClearing] = []
    texts: dict[str, str] = {}
    foreign = size = 0
    damage = ""
    for event in events:
        if not _is_of_channel(event):
            foreign += 1
            if _clears(event) and len(clearings) < _MOST_CLEARINGS:
                clearings.append(
                    LogClearing(computer=event.computer, event_id=event.event_id or 0, time=event.time)
                )
            continue
        found = _log_event(event, texts)
        size += len(found.queue) + sum(map(len, found.data))
        if len(kept) >= MOST_EVENTS or size > _MOST_TEXT:
            damage = f"it has more than {len(kept):,} events, and the others were not read"
            break
        kept.append(found)
    damage = damage or source.problem
    return EventLogFile(
        file=path, events=tuple(kept), clearings=tuple(clearings), foreign=foreign, damage=damage
    )


def _is_of_channel(event: WrittenEvent) -> bool:
    known = event.provider.lower() == PROVIDER.lower() or event.provider_id == PROVIDER_ID
    return known and event.channel.lower() == CHANNEL.lower()


def _clears(event: WrittenEvent) -> bool:
    """Whether an event says that the log was cleared, or the one of security."""
    if event.provider.lower() != _EVENTLOG:
        return False
    if event.event_id == _CLEARED:
        return any(text.lower() == CHANNEL.lower() for text in event.data)
    return event.event_id == _SECURITY_CLEARED


def _log_event(event: WrittenEvent, texts: dict[str, str]) -> LogEvent:
    computer = texts.setdefault(event.computer, event.computer)
    put = _put(event.data) if event.event_id == PUT else None
    if put is None:
        return LogEvent(
            computer=computer,
            event_id=-1 if event.event_id is None else event.event_id,
            record_id=event.record_id,
            time=event.time,
            data=tuple(event.data),
        )
    queue_manager, number, queue = put
    return LogEvent(
        computer=computer,
        event_id=PUT,
        record_id=event.record_id,
        time=event.time,
        queue_manager=queue_manager,
        number=number,
        queue=texts.setdefault(queue, queue),
        local=names_computer(queue, computer),
    )


def _put(data: list[str]) -> tuple[GUID, int, str] | None:
    """The message and the queue in the data of event 1; None where it has another form."""
    if len(data) != 3 or not (data[1].isascii() and data[1].isdecimal() and len(data[1]) <= 10):
        return None
    try:
        queue_manager = GUID.parse(data[0])
    except ValueError:
        return None
    number = int(data[1])
    return (queue_manager, number, data[2]) if number < _MOST_NUMBER else None
