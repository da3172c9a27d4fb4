"""Names that filters of records know: row keys, columns of messages and calls, and packet paths.

The rule kept here: a column is a name because it is declared. What Wireshark, scapy and the tables of Spark
call the same thing is a name, too.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from msgspec.structs import replace

from msmq_wire.records.call import CALL_COLUMNS, call_of
from msmq_wire.records.column import RECORD_COLUMNS, Column
from msmq_wire.records.composed import RECORD_TYPES
from msmq_wire.records.filter.field import FOLDED, NUMBER, WORDS, FilterField, Kind, numbers_of
from msmq_wire.records.filter.paths import PREFIXES, call_places, paths
from msmq_wire.records.filter.subject import Subject, at
from msmq_wire.records.filter.vocabulary import Name, Vocabulary
from msmq_wire.records.message import COLUMNS, DATES, MessageColumn
from msmq_wire.records.message_body import message_body
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import anomaly_view, error_view

RecordName: TypeAlias = Name[Subject]
Values: TypeAlias = Callable[[Subject], tuple[Any, ...]]

_TYPES = tuple(sorted(RECORD_TYPES))
_ADDRESS = FilterField("address")
_INDEX = re.compile(r"\[\d+\]")
_KINDS: Mapping[str, Kind] = {
    "number": "number",
    "numbers": "number",
    "duration": "number",
    "flag": "number",
    "time": "time",
    "endpoint": "address",
    "address": "address",
}
"""The kind of a place by that of a column; what is none of these is text."""
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "frames": ("frame", "frame.number"),
    "time": ("frame.time", "frame.time_utc", "frame.time_epoch"),
    "src": ("ip.src", "ipv6.src"),
    "dst": ("ip.dst", "ipv6.dst"),
    "host": ("ip.addr", "ipv6.addr"),
    "capture": ("path",),
    "anomaly_codes": ("anomalies.code", "anomaly"),
}
"""What Wireshark, or a table, calls a name."""
_BEFORE = ("packet.", "msmq.", "msmq_rpc.")
"""What stands before paths in Wireshark, or in JSON."""
_OF_WIRESHARK = frozenset(("msmq_rpc.kind",))
"""What looks like a name and is something else."""
_OF_SPARK = ("user_header.address_overlay", "user_header.queue_manager_address")
"""A path that tables have and JSON has not, because one field holds either of two."""
_JUDGED: Mapping[str, Callable[[Any], Any]] = {
    "error": lambda record: error_view(record.error),
    "anomalies": lambda record: [anomaly_view(one) for one in record.anomalies],
}
"""What has keys of its own in a row of JSON."""
_AT_END = {OUTCOME.name: "an outcome is known only at the end of a capture: messages and export filter by it"}
"""What is said of a name by commands that show items as they are read."""
_PROBLEM = ("code", "message", "path", "offset", "length", "spec")


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _of_record(column: Column) -> Values:
    return lambda subject: _each(column.value(subject.record))


def _of_call(column: Column) -> Values:
    """What a call has; other records may have a field of its name all the same."""
    where, name = column.where, column.name
    is_field = isinstance(where, str) and where.startswith("packet.")

    def values(subject: Subject) -> tuple[Any, ...]:
        call = call_of(subject.record)
        if call is None:
            return subject.at(name) if is_field else ()
        return _each(column.value(call))

    return values


def _of_both(flag: Column, reported: MessageColumn) -> RecordName:
    """A flag of calls that messages have with more to say: of these, whether they have it."""
    call, message = _of_call(flag), _of_message(reported)
    named = _named(flag, lambda subject: call(subject) or (any(message(subject)),))
    return replace(named, doc=f"{flag.doc} Of a message: {reported.doc[0].lower()}{reported.doc[1:]}")


def _completing(subject: Subject) -> tuple[Any, ...]:
    return (max(subject.record.frames, default=None),)


def _remainder(subject: Subject) -> tuple[Any, ...]:
    return (base64.b64encode(subject.record.remainder).decode("ascii"),)


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
            return subject.at(path) if path else ()
        found = by_carrier[message.carrier](message.record)
        if in_seconds and (found is None or not DATES.start <= found < DATES.stop):
            return ()
        return (found,)

    return _queue(values) if name == "queue" else values


def _named(column: Column, values: Values, place: FilterField | None = None) -> RecordName:
    name, display = column.name, column.display
    if column.kind == "flag":
        place = None
    place = place or FilterField(
        "message-id" if name == "message_id" else _KINDS.get(column.kind, "text"),
        numbers_of(column.names),
        "flag" if column.kind == "flag" else getattr(column, "unit", ""),
        choices=_TYPES if name == "type" else column.choices,
        folded=name in FOLDED,
    )
    # A heading may say another unit.
    own = (
        display is None or display.head == name or column.kind == "duration" or display.head in call_places()
    )
    heading = () if own or display is None else (display.head,)
    mistaken = (display.head,) if display is not None and column.kind == "duration" else ()
    return Name(name, column.doc, place, values, (*heading, *_ELSEWHERE.get(name, ())), mistaken)


def _more() -> tuple[RecordName, ...]:
    """What there is of any record and in no table, or only in that of others."""
    return (
        Name("host", "src or dst.", _ADDRESS, _host, _ELSEWHERE["host"]),
        Name("consumed", "Bytes that were decoded.", NUMBER, lambda one: (one.record.consumed,)),
        Name("remainder", "What is behind it, base64 as in JSON.", FilterField("text"), _remainder),
        Name("frame_no", "The frame that completes it.", NUMBER, _completing),
        Name("time_ns", "Its time in nanoseconds since 1970.", NUMBER, lambda one: (one.record.time,)),
    )


@cache
def groups() -> Mapping[str, tuple[RecordName, ...]]:
    """The names, by what has them."""
    shared = {one.name for one in RECORD_COLUMNS}
    flags = {one.name for one in CALL_COLUMNS if one.kind == "flag"}
    messages = [one for one in COLUMNS if one.name not in shared | flags]
    reported = {one.name: one for one in COLUMNS if one.name in flags}
    known, places = shared | {one.name for one in messages}, call_places()
    outcome = _named(OUTCOME, lambda subject: (subject.outcome,))
    return {
        "items": (*(_named(one, _of_record(one)) for one in RECORD_COLUMNS), *_more()),
        "messages": (
            *(_named(one, _of_message(one)) for one in messages),
            replace(outcome, doc=f"{outcome.doc} In messages and export alone."),
        ),
        "calls": tuple(
            _of_both(one, reported[one.name])
            if one.name in reported
            else _named(one, _of_call(one), places.get(one.name))
            for one in CALL_COLUMNS
            if one.name not in known
        ),
    }


@cache
def records(*, outcomes: bool = False) -> Vocabulary[Subject]:
    """The names of records; without ``outcomes`` what is known only at the end of a capture is refused."""
    refused = {} if outcomes else _AT_END
    names = (one for group in groups().values() for one in group if one.name not in refused)
    return Vocabulary(tuple(names), _other, refused)


@cache
def _other(name: str) -> RecordName | None:
    """What a path is, or a name of Wireshark."""
    for prefix in _BEFORE:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            twice = rest.startswith(_BEFORE) or name in _OF_WIRESHARK
            return None if twice else records().known(rest)
    name = name.replace(*_OF_SPARK)
    head, _, rest = name.partition(".")
    if name in PREFIXES:
        return Name(name, "", FilterField(), lambda subject: (subject.record.type in PREFIXES[name],))
    if head in _JUDGED and rest in _PROBLEM:
        return _judged(name)
    places, plain = paths(), _INDEX.sub("", name)
    if plain in places:
        return Name(name, "", places[plain], lambda subject: subject.at(name))
    types, path = PREFIXES.get(head, ()), name[len(head) + 1 :]
    if types and _INDEX.sub("", path) in places:
        return Name(
            name,
            "",
            places[_INDEX.sub("", path)],
            lambda subject: subject.at(path) if subject.record.type in types else (),
        )
    return None


def _judged(name: str) -> RecordName:
    head, _, rest = name.partition(".")
    place = NUMBER if rest in ("offset", "length") else WORDS
    return Name(name, "", place, lambda subject: at({head: _JUDGED[head](subject.record)}, name))


def is_path(name: str) -> bool:
    """Whether a name is a path of packets, or what any item has, be it a message, a call or neither."""
    if name in records().names:
        return any(name == one.name for one in groups()["items"])
    return records().known(name) is not None


def values_at(subject: Subject, path: str) -> tuple[Any, ...]:
    """The values at a path of a record."""
    return records()[path].values(subject)
