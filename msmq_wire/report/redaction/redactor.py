"""Records without what must not leave the house, by what the declarations of their fields say.

The rule kept here: a text, bytes or a GUID without a marker goes, whatever was asked for. What goes keeps its
length, so offsets and sizes stay true; what stands for a host is the same everywhere in one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.records.record import Record
from msmq_wire.report.redaction.cut_numbers import without_text_numbers
from msmq_wire.report.redaction.forms import FORMS
from msmq_wire.report.redaction.problems import redacted_problem
from msmq_wire.report.redaction.stand_ins import StandIns, blank
from msmq_wire.report.redaction.web_forms import CHECKED
from msmq_wire.spec import SpecRef
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Anomaly, View
from msmq_wire.wire.packets.acknowledgment import is_order_queue
from msmq_wire.wire.packets.base import BinaryPacket
from msmq_wire.wire.private import FILE, Private, Public, What, privacy
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.wchar_text import WcharText

_S = TypeVar("_S", bound=msgspec.Struct)
_T = TypeVar("_T")


class Redaction(StrEnum):
    """What can be redacted."""

    BODIES = "bodies"
    LABELS = "labels"
    HOSTS = "hosts"

    @property
    def what(self) -> What:
        """What a value tells that goes with it."""
        return _WHAT[self]


_WHAT: Mapping[Redaction, What] = {
    Redaction.BODIES: "body",
    Redaction.LABELS: "label",
    Redaction.HOSTS: "host",
}
_NUMBERS = frozenset((int, float, bool, type(None)))


class Redactor:
    """Redacts the records of one run."""

    def __init__(self, what: set[Redaction], stand_ins: StandIns | None = None) -> None:
        self.what = what
        self._going: set[What] = {"secret", *(one.what for one in what)}
        self._stand_ins = stand_ins or StandIns()

    def only(self, what: set[Redaction]) -> Redactor:
        """One that redacts these of what this one does; what stands for a host or a file is the same."""
        return Redactor(self.what & what, self._stand_ins)

    @property
    def hides_hosts(self) -> bool:
        """Whether nothing that is printed may name a host."""
        return Redaction.HOSTS in self.what

    def record(self, record: Record) -> Record:
        """A copy of a record without what is redacted."""
        shown = self.redacted(record)
        if record.error is None or not self.what:
            return shown
        size = getattr(getattr(record.packet, "base_header", None), "packet_size", 0)
        claimed = size if isinstance(size, int) and size <= MAX_PACKET_SIZE else 0
        limit = max(claimed, record.length)
        packet = without_text_numbers(shown.packet, record.error, limit)
        return msgspec.structs.replace(shown, packet=packet, error=redacted_problem(record.error, limit))

    def file(self, path: str) -> str:
        """What a file that is read is called."""
        return self.redacted(path, FILE)

    def redacted(self, value: _T, marker: Private | Public | None = None) -> _T:
        """A value of a declared class, or of a field with this marker, without what is redacted."""
        return self._value(value, marker, None) if self.what else value

    def _value(self, value: Any, marker: Private | Public | None, around: View | None) -> Any:
        if isinstance(value, str | bytes):
            return self._leaf(value, marker, around)
        if isinstance(value, tuple):
            return tuple(self._value(one, marker, around) for one in value)
        if isinstance(value, Anomaly | DecodeError):
            return redacted_problem(value)  # type: ignore[type-var]  # one of the two
        if isinstance(value, msgspec.Struct) and not isinstance(value, SpecRef):
            return self._structure(value, around)
        return self._leaf(value, marker, around) if isinstance(value, int) and marker is not None else value

    def _structure(self, value: _S, around: View | None) -> _S:
        inside = View(value, around)
        changed = {}
        for name, marker in _telling(type(value)):
            before = getattr(value, name)
            after = self._value(before, marker, inside)
            if after is not before:
                changed[name] = after
        shown = msgspec.structs.replace(value, **changed) if changed else value
        if self.hides_hosts:
            shown = _without_report(shown)
        return self._acknowledged(shown, value) if isinstance(value, BinaryPacket) else shown

    def _leaf(self, value: Any, marker: Private | Public | None, around: View | None) -> Any:
        if isinstance(marker, Public):
            return value if _is_known(value, marker, around) else blank(value)
        if marker is None:
            return blank(value)
        by = None if marker.by is None or around is None else marker.by(around)
        goes = marker.what in self._going
        if marker.form in CHECKED:
            return CHECKED[marker.form](self._stand_ins, value, by, goes)
        return FORMS[marker.form](self._stand_ins, value, by) if goes else value

    def _acknowledged(self, shown: Any, packet: Any) -> Any:
        """The packet with what the body of an acknowledgment declares redacted, too.

        One that is cut counts as a user message: then its queue tells, and only what both kinds have stays.
        """
        header = getattr(packet, "user_header", None)
        holder = getattr(shown, "message_properties_header", None)
        if not isinstance(header, UserHeader) or not isinstance(holder, MessagePropertiesHeader):
            return shown
        body, declaring = holder.message_body, [cls for _, cls in packet.INSIDE.values()]
        if not isinstance(body, bytes) or not (declaring or is_order_queue(header)):
            return shown
        schema = (declaring or [OrderAckBody])[0].schema()
        declared = schema.parse(body.ljust(schema.sizeof(), b"\0"))
        reported = schema.build(self._structure(declared, None))[: len(body)].ljust(len(body), b"\0")
        holder = msgspec.structs.replace(holder, message_body=reported)
        return msgspec.structs.replace(shown, message_properties_header=holder)


_REPORT_TEXTS = (
    ("message_class", "label", "message_body"),
    ("message_class", "label", "body"),
    ("p_class", "pp_title", "pp_body"),
)
"""The class, the label and the body of a message, in a packet, as properties, and in a call."""


@cache
def _report_texts(cls: type[msgspec.Struct]) -> tuple[str, ...]:
    return next((names for names in _REPORT_TEXTS if {*names} <= {*cls.__struct_fields__}), ())


def _without_report(shown: _S) -> _S:
    """A structure without the texts of a report message: both name queue managers and addresses."""
    names = _report_texts(type(shown))
    if not names or getattr(shown, names[0]) != MessageClass.MQMSG_CLASS_REPORT:
        return shown
    found: dict[str, Any] = {name: getattr(shown, name) for name in names[1:]}
    gone: dict[str, Any] = {name: blank(value) for name, value in found.items() if isinstance(value, str)}
    gone |= {name: blank(value) for name, value in found.items() if isinstance(value, bytes)}
    return msgspec.structs.replace(shown, **gone)


@cache
def _telling(cls: type[msgspec.Struct]) -> tuple[tuple[str, Private | Public | None], ...]:
    """The fields of a class that may tell something, with what they say of it."""
    markers, hints = privacy(cls), get_type_hints(cls)
    return tuple(
        (name, markers.get(name))
        for name in cls.__struct_fields__
        if name in markers or not _NUMBERS.issuperset(get_args(hints[name]) or (hints[name],))
    )


def _is_known(value: Any, marker: Public, around: View | None) -> bool:
    if isinstance(value, WcharText):
        text = value.text.partition("\0")[0]
        # Behind its end there may be anything.
        value = text if value == WcharText.of(text) else value
    if isinstance(value, int):
        return True
    if not isinstance(value, str):
        return marker.only is None and marker.among is None
    among = marker.among(around) if callable(marker.among) else marker.among
    matches = marker.only is None or marker.only.fullmatch(value) is not None
    return matches and (among is None or value in among)
