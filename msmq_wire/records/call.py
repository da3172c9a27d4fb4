"""What a call is in a row: `CallValues`, and its columns, each declared once in `CALL_COLUMNS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints

import msgspec

from msmq_wire.records.call_story import CarriedMessage, call_story, carries_packet, is_answered, is_cut
from msmq_wire.records.column import CAPTURED, JOIN_KEYS, Column, ColumnRow, placed
from msmq_wire.records.display import Display, Kind
from msmq_wire.records.message import message_of
from msmq_wire.records.queue_names import short_queue
from msmq_wire.records.record import Record
from msmq_wire.records.registered_queues import sure_label, sure_name
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.hresults import describe


class CallFinder:
    """Finds each call; one that brought a message waits for it, which is the next record."""

    def __init__(self) -> None:
        self._waiting: CallValues | None = None

    def take(self, record: Record, *, wanted: bool = True) -> Iterator[CallValues]:
        """Take the next record, whatever it is; a call that is not ``wanted`` is left out."""
        call, self._waiting = self._waiting, None
        if call is not None:
            message = message_of(record) if record.parent == call.record.id else None
            if message is not None:
                call.carried = CarriedMessage(message["body_size"], message["label"])
            yield call
        found = call_of(record) if wanted else None
        if found is not None and carries_packet(found.packet):
            self._waiting = found
        elif found is not None:
            yield found

    def finish(self) -> Iterator[CallValues]:
        """Give the call that still waits."""
        call, self._waiting = self._waiting, None
        if call is not None:
            yield call


def call_of(record: Record) -> CallValues | None:
    """The call in a record, None when it is none."""
    return CallValues(record) if isinstance(record.packet, RpcCall) else None


def status_text(row: Any) -> str:
    """``ok``, the symbol of an error, that of a fault named as one, and what else there is to say.

    A call of no known method is at most ``answered``, and one whose answer ends before its status is ``cut``.
    """
    if row.get("fault"):
        return f"fault {row.get('status_name') or ''}".rstrip()
    if row.get("status"):
        return str(row.get("status_name"))
    if row.get("sealed"):
        return "sealed"
    if row.get("cut"):
        return "cut"
    if not row.get("answered"):
        return "no answer"
    return "ok" if row.get("method") else "answered"


def _status_name(call: CallValues) -> str | None:
    status = call.packet.status
    return None if status is None else describe(status).symbol


_HINTS = get_type_hints(RpcCall, include_extras=True)


def _field(name: str, kind: Kind, display: Display | None = None, **more: Any) -> Column:
    """A column that is a field of a call, and means what is said of it there."""
    doc = get_args(_HINTS[name])[-1]
    return Column(name, kind, doc, f"packet.{name}", display=display, **more)


def _of_queue(call: CallValues, says: Callable[[str], str | None]) -> str | None:
    queue = call.packet.queue
    return None if queue is None else says(queue)


def _of_record(column: Column) -> Column:
    """A column of records, of the one that is a call."""
    return msgspec.structs.replace(column, where=lambda call: column.value(call.record))


CALL_COLUMNS: tuple[Column, ...] = (
    placed("id", Column, where="record.id"),
    placed("time", Column, where="record.time", display=Display("time", 60)),
    placed(
        "src", Column, called="client", where="record.src",
        doc="Address and port of who calls.", display=Display("client", 0, 10, last=True),
    ),
    placed(
        "dst", Column, called="server", where="record.dst",
        doc="Address and port of who is called.", display=Display("server", 130, 10, last=True),
    ),
    _field("interface", "text", Display("interface", 200), optional=False),
    _field("opnum", "number", Display("opnum", 200)),
    _field("method", "text", Display("method", 150, 14)),
    _field("queue", "text", Display("queue", 0, 12, end=True, style="name", short=short_queue)),
    _field("status", "number", Display("status", 0, 10, end=True, text=status_text)),
    Column("status_name", "text", "Name of the status.", _status_name),
    _field("fault", "flag", optional=False),
    _field("latency", "duration", Display("ms", 140)),
    _field("request_id", "number", Display("request", 180)),
    Column(
        "what", "text", "What the call did, in words.", lambda call: call_story(call.packet, call.carried),
        optional=False, reveals="label", display=Display("what", 60, 16, style="note", last=True),
    ),
    _field("syntax", "text"),
    Column(
        "answered", "flag", "Whether a response or a fault was seen.",
        lambda call: is_answered(call.packet), optional=False,
    ),
    Column(
        "cut", "flag", "Whether an answer was seen, but not as far as its status.",
        lambda call: is_cut(call.packet), optional=False,
    ),
    _field("sealed", "flag", optional=False),
    _field("verified", "flag"),
    _field("guessed", "flag", optional=False),
    Column(
        "account", "text", "Whom the client says it is.", lambda call: call.packet.account or None,
        reveals="host",
    ),
    placed("frames", Column, where="record.frames"),
    placed("capture", Column, where="record.capture"),
    *map(_of_record, (*JOIN_KEYS, *CAPTURED)),
    Column(
        "queue_name", "text", "What its queue manager calls `queue`, where --queues says it for sure.",
        lambda call: _of_queue(call, sure_name), reveals="host", asked=True,
    ),
    Column(
        "queue_label", "text", "Label of that queue.",
        lambda call: _of_queue(call, sure_label), reveals="label", asked=True,
    ),
)  # fmt: skip
"""The columns of ``calls`` in their order."""


class CallValues(ColumnRow, columns=CALL_COLUMNS):
    """A call in a record, and what is known of the message that it brought; as ``call["client"]``."""

    __slots__ = ("carried", "record")

    def __init__(self, record: Record, carried: CarriedMessage | None = None) -> None:
        super().__init__()
        self.record = record
        self.carried = carried

    @property
    def packet(self) -> RpcCall:
        """The call."""
        packet: RpcCall = self.record.packet
        return packet
