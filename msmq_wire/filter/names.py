"""What filters of records know: the keys of their rows, the columns of messages and of calls, and every path.

The rule kept here: a column is a name because it is declared. What Wireshark, scapy and the tables of Spark
call the same thing is a name, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias, get_args, get_type_hints

from msmq_wire.filter.paths import PREFIXES, call_places, paths
from msmq_wire.filter.place import NUMBER, TEXT, WORDS, Kind, Place, numbers_of
from msmq_wire.filter.subject import Subject, at
from msmq_wire.filter.vocabulary import Name, Vocabulary
from msmq_wire.records.call_story import call_story, is_answered, is_cut
from msmq_wire.records.composed import COMPOSED
from msmq_wire.records.message import COLUMNS, DATES, MessageColumn
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import UNKNOWN_PACKET
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import anomaly_view, error_view
from msmq_wire.rpc.hresults import describe
from msmq_wire.wire.registry import PACKETS

__all__ = ["RecordName", "groups", "is_path", "records", "values_at"]

RecordName: TypeAlias = Name[Subject]
Values: TypeAlias = Callable[[Subject], tuple[Any, ...]]

_TYPES = tuple(sorted((*PACKETS, *COMPOSED, UNKNOWN_PACKET, "gap", "error", "tcp_stream")))
_ADDRESS = Place("address")
_INDEX = re.compile(r"\[\d+\]")
_KINDS: Mapping[str, Kind] = {
    "number": "number",
    "numbers": "number",
    "text": "text",
    "body": "text",
    "time": "time",
    "endpoint": "address",
}
_FOLDED = ("queue", "message_class_name", "body_type_name")
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "frames": ("frame", "frame.number"),
    "time": ("frame.time", "frame.time_utc", "frame.time_epoch"),
    "src": ("ip.src", "ipv6.src"),
    "dst": ("ip.dst", "ipv6.dst"),
    "host": ("ip.addr", "ipv6.addr"),
    "capture": ("path",),
}
"""What Wireshark, or a table, calls a name."""
_BEFORE = ("packet.", "msmq.", "msmq_rpc.")
"""What stands before paths in Wireshark, or in JSON."""
_OF_WIRESHARK = frozenset(("msmq_rpc.kind",))
"""What looks like a name and is something else."""
_JUDGED: Mapping[str, Callable[[Any], Any]] = {
    "error": lambda record: error_view(record.error),
    "anomalies": lambda record: [anomaly_view(one) for one in record.anomalies],
}
"""What has keys of its own in a row of JSON."""
_PROBLEM = ("code", "message", "path", "offset", "length", "spec")
_CALL = (
    "interface",
    "opnum",
    "method",
    "status",
    "fault",
    "latency",
    "request_id",
    "syntax",
    "sealed",
    "verified",
    "guessed",
    "account",
)
"""The fields of calls that are columns."""


def _of_record(attribute: str) -> Values:
    def values(subject: Subject) -> tuple[Any, ...]:
        found = getattr(subject.record, attribute)
        return found if isinstance(found, tuple) else (found,)

    return values


def _of_call(of: Callable[[RpcCall], Any]) -> Values:
    def values(subject: Subject) -> tuple[Any, ...]:
        packet = subject.record.packet
        return (of(packet),) if isinstance(packet, RpcCall) else ()

    return values


def _of_caller(attribute: str) -> Values:
    def values(subject: Subject) -> tuple[Any, ...]:
        record = subject.record
        return (getattr(record, attribute),) if isinstance(record.packet, RpcCall) else ()

    return values


def _call_field(name: str) -> Values:
    """A field of a call; binds, faults and messages over HTTP have some of the same names."""

    def values(subject: Subject) -> tuple[Any, ...]:
        packet = subject.record.packet
        return (getattr(packet, name),) if isinstance(packet, RpcCall) else at(subject.view, name)

    return values


def _error(subject: Subject) -> tuple[Any, ...]:
    error = subject.record.error
    return (None if error is None else error.code,)


def _anomalies(subject: Subject) -> tuple[Any, ...]:
    return (len(subject.record.anomalies),)


def _completing(subject: Subject) -> tuple[Any, ...]:
    return (max(subject.record.frames, default=None),)


def _host(subject: Subject) -> tuple[Any, ...]:
    return (subject.record.src, subject.record.dst)


def _queue(message: Values) -> Values:
    def values(subject: Subject) -> tuple[Any, ...]:
        packet = subject.record.packet
        return (packet.queue,) if isinstance(packet, RpcCall) else message(subject)

    return values


def _body(subject: Subject) -> tuple[Any, ...]:
    body = message_body(subject.record)
    if body is None:
        return ()
    text = body.content.text
    return (body.data.decode("latin-1") if text is None else text,)


def _of_message(column: MessageColumn) -> Values:
    name, by_carrier, path = column.name, column.values, column.path
    if column.kind == "body":
        return _body
    in_seconds = column.unit == "unix-time"

    def values(subject: Subject) -> tuple[Any, ...]:
        message = subject.message
        if message is None:
            # A packet that is no message may have the field all the same.
            return at(subject.view, path) if path else ()
        found = by_carrier[message.carrier](message.record)
        dated = not in_seconds or (found is not None and DATES.start <= found < DATES.stop)
        return (found,) if dated else ()

    return _queue(values) if name == "queue" else values


def _column(column: MessageColumn) -> RecordName:
    whole = isinstance(column.record, str) and bool(column.record)
    values = _of_record(str(column.record)) if whole else _of_message(column)
    place = Place(
        "message-id" if column.name == "message_id" else _KINDS[column.kind],
        numbers_of(column.names),
        column.unit,
        choices=column.choices,
        folded=column.name in _FOLDED,
    )
    heading = () if column.look is None or column.look.head == column.name else (column.look.head,)
    doc = column.doc
    return Name(column.name, doc, place, values, (*heading, *_ELSEWHERE.get(column.name, ())))


def _rows() -> tuple[RecordName, ...]:
    """The keys of any row of ``decode`` that messages do not have."""
    return (
        Name("type", "Type of the item.", Place("text", choices=_TYPES), _of_record("type")),
        Name("host", "src or dst.", _ADDRESS, _host, _ELSEWHERE["host"]),
        Name("stream", "Its TCP connection, from 0, in order of appearance.", NUMBER, _of_record("stream")),
        Name("offset", "Bytes of its direction that were captured before it.", NUMBER, _of_record("offset")),
        Name("length", "Its captured bytes.", NUMBER, _of_record("length")),
        Name("anomalies", "How many values break a rule.", NUMBER, _anomalies),
        Name("error", "Code of what ended its decoding.", WORDS, _error),
        Name("consumed", "Bytes that were decoded.", NUMBER, _of_record("consumed")),
        Name("missing", "Bytes that a gap lacks.", NUMBER, _of_record("missing")),
        Name("reason", "Why there is a gap, or a file ends.", TEXT, _of_record("reason")),
        Name("event", "Step of a connection, with decode --streams.", WORDS, _of_record("event")),
        Name("frame_no", "The frame that completes it.", NUMBER, _completing),
        Name("time_ns", "time in nanoseconds since 1970.", NUMBER, _of_record("time")),
    )


def _calls() -> tuple[RecordName, ...]:
    """The columns of calls."""
    hints, places = get_type_hints(RpcCall, include_extras=True), call_places()
    fields = {name: Name(name, get_args(hints[name])[1], places[name], _call_field(name)) for name in _CALL}
    return (
        Name("client", "Address and port of the caller.", _ADDRESS, _of_caller("src")),
        Name("server", "Address and port of the called.", _ADDRESS, _of_caller("dst")),
        *fields.values(),
        Name("status_name", "Name of the status.", WORDS, _of_call(_status_name)),
        Name(
            "what",
            "What the call did, in words, without the message that it brought.",
            TEXT,
            _of_call(lambda call: call_story(call, None)),
        ),
        Name("answered", "Whether a response or a fault was seen.", NUMBER, _of_call(is_answered)),
        Name("cut", "Whether the answer was not read as far as its status.", NUMBER, _of_call(is_cut)),
    )


def _status_name(call: RpcCall) -> str | None:
    return None if call.status is None else describe(call.status).symbol


@cache
def groups() -> Mapping[str, tuple[RecordName, ...]]:
    """The names, by what has them."""
    columns = tuple(map(_column, COLUMNS))
    shared = tuple(one for one, column in zip(columns, COLUMNS, strict=True) if _of_any(column))
    return {
        "items": (*shared, *_rows()),
        "messages": tuple(one for one in columns if one not in shared),
        "calls": _calls(),
    }


def _of_any(column: MessageColumn) -> bool:
    """Whether any record has it."""
    return isinstance(column.record, str) and bool(column.record)


@cache
def records() -> Vocabulary[Subject]:
    """The names of records."""
    return Vocabulary(tuple(one for group in groups().values() for one in group), _other)


@cache
def _other(name: str) -> RecordName | None:
    """What a path is, or a name of Wireshark."""
    for prefix in _BEFORE:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            twice = rest.startswith(_BEFORE) or name in _OF_WIRESHARK
            return None if twice else records().known(rest)
    head, _, rest = name.partition(".")
    if name == "anomaly" or (head in _JUDGED and rest in _PROBLEM):
        return _judged("anomalies.code" if name == "anomaly" else name)
    places, plain = paths(), _INDEX.sub("", name)
    if plain in places:
        return Name(name, "", places[plain], lambda subject: at(subject.view, name))
    types, path = PREFIXES.get(head, ()), name[len(head) + 1 :]
    if types and _INDEX.sub("", path) in places:
        return Name(
            name,
            "",
            places[_INDEX.sub("", path)],
            lambda subject: at(subject.view, path) if subject.record.type in types else (),
        )
    return None


def _judged(name: str) -> RecordName:
    head, _, rest = name.partition(".")
    place = NUMBER if rest in ("offset", "length") else WORDS
    return Name(name, "", place, lambda subject: at({head: _JUDGED[head](subject.record)}, name))


def is_path(name: str) -> bool:
    """Whether a name is a path of packets, or of what was judged of them."""
    found = None if name in records().names else records().known(name)
    return found is not None


def values_at(subject: Subject, path: str) -> tuple[Any, ...]:
    """The values at a path of a record."""
    return records()[path].values(subject)
