"""What an event log of Windows says of Message Queuing: `LogEvent` and `EventLogFile`.

The rule kept here: only the text of event 1 is known, "Message with ID %1\\%2 was put into queue %3". Other
events keep their data as it was written, and nothing is read out of them.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from msmq_wire.wire.private import ENDPOINT, FILE, HOST, PUBLIC, QUEUE_NAME
from msmq_wire.wire.types.guid import GUID

CHANNEL = "Microsoft-Windows-MSMQ/End2End"
PROVIDER = "Microsoft-Windows-MSMQ"
PROVIDER_ID = "ce18af71-5efd-4f5a-9bd5-635e34632f69"
PUT = 1
"""The event that says that a message was put into a queue."""


class LogEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event of the channel End2End.

    ``time`` is ns since 1970 by the clock of ``computer``, ``record_id`` its EventRecordID; None where the
    file does not say. ``queue_manager`` and ``number`` name the message that was put into ``queue``; None in
    other events, and where the data has another form. ``local`` says whether the name of the queue names this
    computer (True) or another one (False), None where it names none. ``data`` are the texts of other events.
    """

    computer: Annotated[str, ENDPOINT]
    event_id: int
    record_id: int | None = None
    time: int | None = None
    queue_manager: Annotated[GUID | None, HOST] = None
    number: int | None = None
    queue: Annotated[str, QUEUE_NAME] = ""
    local: bool | None = None
    data: tuple[str, ...] = ()

    @property
    def message_id(self) -> str | None:
        """``guid\\number`` of the message, as in other places; None if no message was put into a queue."""
        return None if self.queue_manager is None else f"{self.queue_manager}\\{self.number}"


class LogClearing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event that says that a log was cleared: 104 for this channel, 1102 for the log Security."""

    computer: Annotated[str, ENDPOINT]
    event_id: int
    time: int | None


class EventLogFile(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one file.

    ``foreign`` counts events of other channels and providers. ``damage`` says what could not be read, in a
    sentence without its full stop; empty where all was.
    """

    file: Annotated[str, FILE]
    events: tuple[LogEvent, ...] = ()
    clearings: tuple[LogClearing, ...] = ()
    foreign: int = 0
    damage: Annotated[str, PUBLIC] = ""


def names_computer(queue: str, computer: str) -> bool | None:
    """Whether the name of a queue names a computer (True), another one (False), or none (None).

    Names count by their first label, without case. An address names no computer.
    """
    host = _host_in(queue)
    if host is None or not computer:
        return None
    if host in (".", ""):
        return True
    if host.startswith("[") or host.replace(".", "").isdecimal() or ":" in host:
        return None
    return host.partition(".")[0].lower() == computer.partition(".")[0].lower()


def _host_in(queue: str) -> str | None:
    """The host in a direct format name or a path name; empty for a queue of this computer."""
    name = queue.strip()
    upper = name.upper()
    if upper.startswith("DIRECT="):
        protocol, _, rest = name[7:].partition(":")
        if protocol.upper() in ("HTTP", "HTTPS"):
            return rest.lstrip("/").partition("/")[0].partition(":")[0]
        return rest.partition("\\")[0] if protocol.upper() in ("OS", "TCP") else None
    if "=" in name.partition("\\")[0]:
        return None
    host, slash, _ = name.partition("\\")
    if not slash:
        return None
    return "" if host.lower() == "private$" else host
