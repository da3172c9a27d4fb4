"""The text of a report message, which message tracing sends: [MS-MQQB] 3.1.5.8.9 and 3.1.7.1.7.

The rule kept here: what is written follows the grammar of the two sections to the letter. What is read may
differ in the case of hexadecimal digits, in spaces and in line ends. It may have a label that only the
help of Microsoft shows.
"""

from __future__ import annotations

import contextlib
import re
from datetime import datetime
from typing import Literal, Self

import msgspec

from msmq_wire.errors import FormatNameError
from msmq_wire.wire.names.format_name import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

ReportKind = Literal["received", "sent"]

CONFLICT_LABEL = "Report Message Conflict"
"""The label of a report about two report queues for one message. It stands in Microsoft's help only."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONGEST_BODY = 8192
_NOON = 12

_LABEL = re.compile(
    r"(?P<qm_id>[0-9a-f]{4}):(?P<message_id>[0-9a-f]{1,8}):(?P<hops>[0-9a-f]{1,2}) "
    r"(?:received by (?P<receiver>[^ ]{1,256})|sent from (?P<sender>[^ ]{1,256}) to (?P<address>[^ ]{1,64}))"
    r" at (?P<time>[ -~]{1,64})",
    re.IGNORECASE | re.ASCII,
)
_TIME = re.compile(
    r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?: ([ap])m)? "
    r"([a-z]{3}), ?([a-z]{3}) ([0-9]{1,2}) ([0-9]{4}|[0-9]{2})",
    re.IGNORECASE | re.ASCII,
)
_BODY = re.compile(
    r"<MESSAGE ID> ?([0-9a-f]{1,8}) ?</MESSAGE ID>\r?\n"
    r"<TARGET QUEUE> ?([^\r\n]{0,2048}?) ?</TARGET QUEUE>"
    r"(?:\r?\n<NEXT HOP> ?([^\r\n]{0,256}?) ?</NEXT HOP>\r?\n<HOP COUNT> ?([0-9a-f]{1,2}) ?</HOP COUNT>)?"
    r"(?:\r?\n)?\0?",
    re.IGNORECASE | re.ASCII,
)


class ReportTime(msgspec.Struct, frozen=True, kw_only=True):
    """What the time of a label says.

    ``moment`` is the clock of the reporting queue manager, without a zone: the text has none. It is None if
    the text is no moment, such as ``13:00 AM``. ``weekday_fits``: the day of the week is the one of the date.
    """

    moment: datetime | None
    has_seconds: bool
    weekday_fits: bool

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read the time of a label. None for a text of another form."""
        found = _TIME.fullmatch(text)
        if found is None:
            return None
        hour, minute, second, half, day, month, date, year = found.groups(default="")
        clock = _hour_of_day(int(hour), half.lower())
        moment = None
        if clock is not None and month.title() in _MONTHS:
            # Of two digits, 70 to 99 are years before 2000, as in POSIX.
            whole_year = int(year) if len(year) > 2 else 1970 + (int(year) - 70) % 100
            try:
                moment = datetime(
                    whole_year,
                    _MONTHS.index(month.title()) + 1,
                    int(date),
                    clock,
                    int(minute),
                    int(second or 0),
                )
            except ValueError:
                moment = None
        fits = moment is not None and _DAYS[moment.weekday()] == day.title()
        return cls(moment=moment, has_seconds=bool(second), weekday_fits=fits)


def _hour_of_day(hour: int, half: str) -> int | None:
    """The hour from 0 to 23; None where it contradicts AM or PM.

    The grammar permits 12 and 24 hours, both with AM or PM. No hour has two meanings.
    """
    if not half:
        return hour
    if hour == _NOON:
        return _NOON if half == "p" else 0
    if hour > _NOON:
        return hour if half == "p" else None
    if half == "a":
        return hour
    return hour + _NOON if hour else None


def time_text(moment: datetime) -> str:
    """The time of a label: 12 hours, with seconds."""
    hour = moment.hour % _NOON or _NOON
    half = "PM" if moment.hour >= _NOON else "AM"
    date = f"{_DAYS[moment.weekday()]},{_MONTHS[moment.month - 1]} {moment.day:02} {moment.year % 100:02}"
    return f"{hour:02}:{moment.minute:02}:{moment.second:02} {half} {date}"


class ReportLabel(msgspec.Struct, frozen=True, kw_only=True):
    """The label of a report message.

    ``qm_id`` are the first four hexadecimal digits of the queue manager that sent the traced message, in
    lower case. ``message_id`` is the number of the traced message there, ``hops`` its UserHeader.Flags.RC.
    ``computer`` is the queue manager that reports: a GUID in lower case, or a name, as in Microsoft's help.
    ``time`` is as written, and `ReportTime.parse` reads it. ``address`` is the next hop: only a label of the
    help has it.
    """

    qm_id: str
    message_id: int
    hops: int
    computer: str
    time: str
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read a label, without its NUL. None for a label of another form."""
        found = _LABEL.fullmatch(text)
        if found is None:
            return None
        computer = found["receiver"] or found["sender"]
        with contextlib.suppress(ValueError):
            computer = str(GUID.parse(computer))
        return cls(
            qm_id=found["qm_id"].lower(),
            message_id=int(found["message_id"], 16),
            hops=int(found["hops"], 16),
            computer=computer,
            time=found["time"],
            address=found["address"] or "",
        )

    def __str__(self) -> str:
        """The label by the grammar, without its NUL."""
        start = f"{self.qm_id.upper()}:{self.message_id:08X}:{self.hops:02X}"
        return f"{start} received by {self.computer.upper()} at {self.time}"


class ReportBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a report message.

    ``message_id`` is the number of the traced message at its sender, ``target_queue`` its destination as a
    format name. A report about a sent packet has ``next_hop``, an address, and ``hop_count``. A report about
    a received packet has neither.
    """

    message_id: int
    target_queue: str
    next_hop: str | None = None
    hop_count: int | None = None

    @property
    def kind(self) -> ReportKind:
        """Whether the packet was received or sent."""
        return "received" if self.next_hop is None else "sent"

    @classmethod
    def parse(cls, data: bytes) -> Self | None:
        """Read the bytes of a body. None for a body of another form."""
        if len(data) > _LONGEST_BODY:
            return None
        try:
            text = data.decode("utf-16-le")
        except UnicodeDecodeError:
            return None
        found = _BODY.fullmatch(text)
        if found is None:
            return None
        identifier, queue, next_hop, hops = found.groups()
        return cls(
            message_id=int(identifier, 16),
            target_queue=queue,
            next_hop=next_hop,
            hop_count=None if hops is None else int(hops, 16),
        )

    def __str__(self) -> str:
        """The body by the grammar: a space before the end tag of HOP COUNT is part of it."""
        lines = [
            f"<MESSAGE ID>{self.message_id:08X}</MESSAGE ID>",
            f"<TARGET QUEUE>{self.target_queue}</TARGET QUEUE>",
        ]
        if self.next_hop is not None:
            lines += [
                f"<NEXT HOP>{self.next_hop}</NEXT HOP>",
                f"<HOP COUNT>{self.hop_count or 0:02X} </HOP COUNT>",
            ]
        return "".join(f"{line}\r\n" for line in lines)


class ReportMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What the label and the body of a report message say; None for the one that has another form.

    ``conflict``: the label is the one of Microsoft's help about two report queues for one message.
    """

    label: ReportLabel | None
    body: ReportBody | None
    conflict: bool = False

    @property
    def kind(self) -> ReportKind:
        """Whether the packet was received or sent."""
        if self.body is not None:
            return self.body.kind
        return "sent" if self.label is not None and self.label.address else "received"

    @property
    def message_id(self) -> int | None:
        """The number of the traced message at its sender."""
        said = self.label or self.body
        return None if said is None else said.message_id

    @property
    def traced(self) -> str | None:
        """The traced message: four digits of its queue manager, a backslash and its number."""
        return None if self.label is None else f"{self.label.qm_id}\\{self.label.message_id}"

    @property
    def next_hop(self) -> str | None:
        """The address that the packet was sent to."""
        if self.body is not None:
            return self.body.next_hop
        return (self.label.address or None) if self.label is not None else None

    @property
    def hops(self) -> int | None:
        """UserHeader.Flags.RC of the traced message."""
        if self.label is not None:
            return self.label.hops
        return None if self.body is None else self.body.hop_count

    def is_about(self, queue_manager: GUID, message_id: int) -> bool:
        """Whether a message can be the traced one: its sender has no more than four digits in a report."""
        return message_id == self.message_id and (
            self.label is None or str(queue_manager).startswith(self.label.qm_id)
        )

    @property
    def disagreements(self) -> tuple[str, ...]:
        """What label and body say differently: ``message_id``, ``hops``, ``next_hop``."""
        label, body = self.label, self.body
        if label is None or body is None:
            return ()
        pairs = {
            "message_id": (label.message_id, body.message_id),
            "hops": (label.hops, label.hops if body.hop_count is None else body.hop_count),
            "next_hop": (label.address or body.next_hop, body.next_hop),
        }
        return tuple(name for name, (one, other) in pairs.items() if one != other)


def target_name(text: str) -> FormatName | None:
    """The queue that the body of a report names; None for a text that is no name.

    No section has a grammar for it, so braces around a GUID are read, and a direct name without its keyword.
    """
    plain = text.replace("{", "").replace("}", "")
    for name in (plain, f"DIRECT={plain}"):
        with contextlib.suppress(FormatNameError):
            return FormatName.parse(name)
    return None


def report_of(label: WcharText, body: bytes) -> ReportMessage | None:
    """Read a report message by its label and its body. None if neither has the form."""
    text = label.text
    read_label, read_body = ReportLabel.parse(text), ReportBody.parse(body)
    conflict = text.casefold().startswith(CONFLICT_LABEL.casefold())
    if read_label is None and read_body is None and not conflict:
        return None
    return ReportMessage(label=read_label, body=read_body, conflict=conflict)


def report_texts(
    *,
    source: GUID,
    message_id: int,
    hops: int,
    reporter: GUID,
    moment: datetime,
    target_queue: str,
    next_hop: str | None = None,
) -> tuple[str, bytes]:
    """Label and body of a report about the message ``message_id`` of the queue manager ``source``.

    ``next_hop`` is the address that the packet was sent to, None for a packet that was received.
    """
    label = ReportLabel(
        qm_id=str(source)[:4],
        message_id=message_id,
        hops=hops,
        computer=str(reporter),
        time=time_text(moment),
    )
    body = ReportBody(
        message_id=message_id,
        target_queue=target_queue,
        next_hop=next_hop,
        hop_count=None if next_hop is None else hops,
    )
    return str(label), str(body).encode("utf-16-le")
