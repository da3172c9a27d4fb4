"""The table ``messages``: every record but those of calls, as one wide table of Arrow columns.

The rule kept here: the rows of `read_tables`, with the same ids; headers are columns of the names and fields
that the registry gives them, and what `message_view` says of a message stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

from msmq_wire.capture.index import Array
from msmq_wire.capture.joined_batches import Joined
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.tables import OTHER, RESULT, places_of, record_tables, schema, tables_of
from msmq_wire.records.body_keys import keys_in_force, opened
from msmq_wire.records.column import PLACE as WHERE
from msmq_wire.records.join_keys import JoinKeys, join_keys
from msmq_wire.records.message import COLUMNS, MessageColumn, message_of
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.seen_at import point_names, sight_texts, sights_of
from msmq_wire.tables.spark_types import (
    TIME,
    columns_of,
    conform,
    field,
    nulls,
    numbers,
    record_fields,
    spark_field,
    spark_type,
    struct_of,
    table_field,
    table_rows,
)
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.registry import PACKETS

Placed: TypeAlias = Callable[[Any, Any, Any], dict[str, Any]]
"""Gives the columns that say where records were found: of a record batch of `record_tables`, those that a
schema has, and the types of the records."""

CALLS = ("rpc_bind", "rpc_call", "rpc_fault", "com_call")
"""The types of records that are rows of the table ``calls``."""

PLACE = record_fields(
    *("capture", "path", "frame_no", "id", "parent", "type", "frames", "time", "time_ns"),
    *("src", "dst", "stream", "offset", "length", "seen_at", *JoinKeys._fields),
)
"""Where a record was found."""
_TYPES = {one.name: one.type for one in PLACE}

_COLUMNS = {one.name: one for one in COLUMNS}
_MADE = [one for one in COLUMNS if one.of and not one.asked]
"""Those that are made from a number."""
_SUMMARY = [
    table_field(one, nullable=True)
    for one in COLUMNS
    if one.kind == "body" or not (one.asked or one.name in {place.name for place in PLACE})
]
"""What `messages` prints of a message, whatever carried it, and its body."""
_OPENED = [
    field("opened_body", pa.binary(), "The body opened, where it is encrypted and a given key opens it."),
    *(table_field(one) for one in COLUMNS if one.name == "opened_with"),
]
PLACE_END = record_fields("missing", "frames_missing", "reason", "event")
_BODY = "message_body"
_OF_CIPHER = ("encryption_algorithm", _BODY, "message_size", "privacy_level")
_KEY = ("security_header", "security_data", "encryption_key")
assert SecurityHeader.BITS is not None
_EB = SecurityHeader.BITS.bits["eb"].mask
# Types whose fields stand in a column of their own; those of the others are headers.
_OWN = {
    "ping": "ping",
    "topology_client_request": "topology_client_request",
    "topology_server_reply": "topology_server_reply",
    "transfer_buffer": "transfer_buffer",
    "srmp_message": "srmp",
    "srmp_receipt": "srmp",
}
# Where the bytes of bodies are.
_PAYLOADS = (
    ("body",),
    ("opened_body",),
    ("compound_message_header", "data"),
    ("transfer_buffer", "properties", "body"),
    ("srmp", "body"),
    ("srmp", "parts", "data"),
    ("srmp", "response", "body"),
)
_WHERE = tuple(name for name in WHERE if name != "capture")
# What is known of a packet before it is decoded.
_UNDECODED = {one.name for one in PLACE} - {"type"}
# What columns are made of that are not called like it, in the tables of packets.
_OF: Mapping[str, tuple[str, ...]] = {
    "path": ("frames",),
    "seen_at": ("frames",),
    **dict.fromkeys(JoinKeys._fields, ("src", "dst", "stream")),
    "frame_no": ("frames",),
    "time_ns": ("time",),
    "queue": ("user_header.destination_queue", "error"),
    "label": ("message_properties_header.label", "error"),
    "delivery": ("user_header.flags",),
    "message_id": ("user_header.source_queue_manager", "user_header.message_id"),
    "body_size": ("message_properties_header.message_size", "compound_message_header.msg_body_size"),
    "via": ("parent",),
    "how": ("parent",),
    "cut": ("parent", "length", "error", "base_header.packet_size"),
    "body": ("message_properties_header.message_body",),
    "opened_body": ("message_properties_header", "security_header"),
    "opened_with": ("message_properties_header", "security_header"),
    **{one.name: (".".join(one.path.split(".")[:2]),) for one in COLUMNS if one.path},
    **{one.name: (_COLUMNS[one.of].path,) for one in _MADE},
}


@cache
def message_schema() -> Any:
    """The Arrow schema of the table."""
    columns: dict[str, Any] = {}
    for table in (*PACKETS, UNKNOWN_PACKET):
        if table not in _OWN:
            for one in _own_fields(table):
                columns[one.name] = _united(columns.get(one.name), one)
    for table, name in _OWN.items():
        members = [pa.field(one.name, spark_type(one.type)) for one in _own_fields(table)]
        columns[name] = field(name, pa.struct(members), f"What {table} records have.")
    result = schema("user_message")
    ends = [spark_field(result.field(name)) for name in RESULT]
    return pa.schema([*PLACE, *_SUMMARY, *_OPENED, *columns.values(), *ends, *PLACE_END])


def _own_fields(table: str) -> list[Any]:
    """The columns of a table that say what was decoded."""
    return [one for one in schema(table) if one.name not in _WHERE and one.name not in RESULT]


def _united(known: Any, one: Any) -> Any:
    """A column that has the members of both; the body of a message has a column of its own."""
    kind = spark_type(one.type)
    if pa.types.is_struct(kind):
        members = {} if known is None else {member.name: member for member in known.type}
        for member in kind:
            if member.name != _BODY:
                members.setdefault(member.name, member)
        kind = pa.struct(list(members.values()))
    return pa.field(one.name, kind, metadata=one.metadata)


@cache
def _wanted(columns: frozenset[str]) -> frozenset[str]:
    """What columns of ``messages`` are made of, as `tables_of` wants it."""
    found = {path for name in columns for path in _OF.get(name, (name,))}
    for table, name in _OWN.items():
        if name in columns:
            found.update(one.name for one in _own_fields(table))
    return frozenset(found)


def batches_of(
    batch: PacketBatch,
    numbering: Numbering,
    *,
    judge: bool = True,
    payload: bool = True,
    columns: frozenset[str] | None = None,
) -> dict[str, Any]:
    """The rows of a part of a capture: record batches of ``messages`` by table, those of calls apart.

    Without ``payload`` the bytes of bodies are null wherever they stand. Of the columns, those that
    ``columns`` names, in the order of `message_schema`; no more is decoded than they need, nor is anything
    judged without ``anomalies``.
    """
    target = columns_of(message_schema(), columns)
    placing = Placing(batch, numbering)
    others = tuple(record for record in batch.others if record.type not in CALLS)
    if _UNDECODED.issuperset(target.names):
        made = places_of(batch, _wanted(frozenset(target.names)), others)
        return {OTHER: table_rows(placing.columns(made, target), len(made), target)}
    wanted = None if columns is None else _wanted(columns)
    batch = replace(batch, others=others)
    tables = tables_of(batch, judge=judge and "anomalies" in target.names, wanted=wanted)
    records = {record.id: record for record in others}
    place = placing.columns
    return {table: _wide(table, made, place, records, payload, target) for table, made in tables.items()}


def rows_of(records: Iterable[Record], place: Placed, target: Any, *, payload: bool = True) -> Iterable[Any]:
    """Records that came decoded as rows of ``target``, columns of `message_schema` and others that ``place``
    gives; options as for `batches_of`."""
    known = {record.id: record for record in records}
    judge, wanted = "anomalies" in target.names, _wanted(frozenset(target.names))
    tables = record_tables(known.values(), judge=judge, wanted=wanted)
    return [_wide(table, made, place, known, payload, target) for table, made in tables.items()]


class Placing:
    """Tells where the records of a part of a capture were found."""

    def __init__(self, batch: PacketBatch, numbering: Numbering) -> None:
        self._batch = batch
        self._numbering = numbering

    def columns(self, made: Any, target: Any, types: Any = None) -> dict[str, Any]:
        """The columns `PLACE` of a record batch of `read_tables`, as far as ``target`` has them."""
        names = set(target.names)
        found = {name: made.column(name) for name in _WHERE if name in names and name != "time"}
        if isinstance(self._numbering, Joined):
            found |= _own(made, found, self._numbering)
        elif "capture" in names:
            found["capture"] = pa.repeat(pa.scalar(self._batch.capture, pa.string()), len(made))
        if "type" in names:
            found["type"] = types
        if "path" in names or "frame_no" in names:
            found["path"], found["frame_no"] = self._file_and_frame(made)
        if "seen_at" in names and point_names(self._batch.capture):
            frames = made.column("frames").to_pylist()
            seen = [sight_texts(sights_of(self._batch.capture, one)) if one else None for one in frames]
            found["seen_at"] = pa.array(seen, target.field("seen_at").type)
        if names.intersection(JoinKeys._fields):
            found |= _joined(made, names)
        if "time" in names:
            found["time"] = made.column("time").cast(TIME, safe=False)
        if "time_ns" in names:
            found["time_ns"] = made.column("time").cast(pa.int64())
        return found

    def own_id(self, number: int) -> int:
        """The id of a record as its capture has it."""
        return self._numbering.own(number) if isinstance(self._numbering, Joined) else number

    def _file_and_frame(self, made: Any) -> tuple[Any, Any]:
        ids, frames = self._completed
        frame = frames[np.searchsorted(ids, made.column("id").to_numpy())]
        if not frame.all():
            # The end of the capture completed it: it stands where its last frame is.
            frame = np.where(frame == 0, _last(made.column("frames")), frame)
        place, own = self._numbering.locate(frame)
        known = frame > 0
        if len(self._numbering.paths) == 1:
            # What has no frame, as a stream of which no packet was decoded, is of the only file.
            paths = pa.repeat(pa.scalar(self._numbering.paths[0], pa.string()), len(frame))
        else:
            paths = pa.array(self._numbering.paths, pa.string()).take(pa.array(place, mask=~known))
        owned = self._numbering.owned
        if owned:
            named = [owned.get(id_) for id_ in made.column("id").to_pylist()]
            paths = pc.coalesce(paths, pa.array(named, pa.string()))
        return paths, pa.array(own, mask=~known)

    @cached_property
    def _completed(self) -> tuple[Array, Array]:
        """The ids of the batch in order, and the frame that completed each, 0 for the end."""
        batch = self._batch
        ids = np.concatenate((batch.id, np.array([record.id for record in batch.others], np.int64)))
        frames = np.concatenate((batch.completed, batch.others_completed))
        order = np.argsort(ids)
        return ids[order], frames[order]


def _own(made: Any, found: Mapping[str, Any], numbering: Joined) -> dict[str, Any]:
    """The columns of rows of several captures that have numbers of their own in each."""
    ids = made.column("id").to_numpy()
    part = numbering.part(ids)
    before = np.array(numbering.ids)[part]
    own = {
        "capture": pa.array(numbering.captures, pa.string()).take(pa.array(part)),
        "id": pa.array(ids - before),
    }
    if "parent" in found:
        own["parent"] = pc.subtract(found["parent"], pa.array(before))
    if "frames" in found:
        frames = found["frames"]
        ends = frames.offsets.to_numpy()
        numbers = frames.values.to_numpy()[ends[0] : ends[-1]]
        moved = numbers - np.repeat(np.array(numbering.frames)[part], np.diff(ends))
        own["frames"] = pa.ListArray.from_arrays(pa.array(ends - ends[0]), pa.array(moved), frames.type)
    return own


def _joined(made: Any, names: Set[str]) -> dict[str, Any]:
    """The columns of `JoinKeys`: made once for each pair of ends, of which there are few."""
    src, dst = (made.column(name).dictionary_encode() for name in ("src", "dst"))
    known = [pc.fill_null(one.indices, len(one.dictionary)).to_numpy() for one in (src, dst)]
    udp = made.column("stream").is_null().to_numpy(zero_copy_only=False)
    flows = np.column_stack((*known, udp)).astype(np.int64)
    pairs, rows = np.unique(flows, axis=0, return_inverse=True)
    ends = [[*one.dictionary.to_pylist(), None] for one in (src, dst)]
    keys = [join_keys(ends[0][a], ends[1][b], udp=bool(c)) for a, b, c in pairs.tolist()]
    return {
        name: pa.array([one[which] for one in keys], _TYPES[name]).take(pa.array(rows.ravel()))
        for which, name in enumerate(JoinKeys._fields)
        if name in names
    }


def _last(frames: Any) -> Array:
    """The last number of each list, 0 for an empty one."""
    ends = frames.offsets.to_numpy()
    numbers = np.append(frames.values.to_numpy(), 0)
    found: Array = np.where(ends[1:] > ends[:-1], numbers[ends[1:] - 1], 0)
    return found


def _wide(
    table: str, made: Any, place: Placed, records: Mapping[int, Record], payload: bool, target: Any
) -> Any:
    """The rows of one table of `read_tables` as rows of ``messages``."""
    count, names = len(made), set(target.names)
    types = pa.repeat(pa.scalar(table, pa.string()), count)
    if table == OTHER and "type" in names:
        types = made.column("type")
    columns = place(made, target, types)
    own = _OWN.get(table)
    kept = made.schema.names if own is None else RESULT
    columns |= {name: made.column(name) for name in kept if name in names and name not in columns}
    if own is not None and own in names:
        columns[own] = struct_of(made, message_schema().field(own).type)
    if "user_header" in schema(table).names:
        columns |= {name: make(made) for name, make in _SUMMED.items() if name in names}
        if "how" in names:
            columns["how"] = _how(made, records)
        if keys_in_force() and not names.isdisjoint(one.name for one in _OPENED):
            columns |= {name: one for name, one in _opened(made).items() if name in names}
    if table in ("transfer_buffer", "srmp_message", "srmp_receipt"):
        columns |= _summary_of([records[number] for number in made.column("id").to_pylist()], names)
    if not payload:
        columns = {name: _without_payload(name, array) for name, array in columns.items()}
    return table_rows(columns, count, target)


def _without_payload(name: str, array: Any) -> Any:
    """A column without the bytes of bodies: members that are left out are null in the table."""
    for first, *inside in _PAYLOADS:
        if first == name:
            kind = _without(array.type, inside)
            array = pa.nulls(len(array), array.type) if kind is None else conform(array, kind)
    return array


def _without(kind: Any, inside: Sequence[str]) -> Any:
    """A type without the member that names lead to; None without a name."""
    if not inside:
        return None
    if pa.types.is_list(kind):
        return pa.list_(_without(kind.value_type, inside))
    kinds = {one.name: one.type for one in kind}
    kinds[inside[0]] = _without(kinds[inside[0]], inside[1:])
    return pa.struct([(name, one) for name, one in kinds.items() if one is not None])


def _field(*path: str) -> Callable[[Any], Any]:
    """What gives a field of a header."""
    return lambda made: _member(made.column(path[0]), *path[1:])


def _bits(column: MessageColumn) -> Callable[[Any], Any]:
    """What gives a column that is a field of a packet, or bits of one."""
    values, bit = _field(*column.path.split(".")[:2]), column.bit
    if bit is None:
        return values
    return lambda made: pc.shift_right(pc.bit_wise_and(values(made), bit.mask), bit.shift)


def _whole(path: str, *name: str) -> Callable[[Any], Any]:
    """What gives a text that is null where the decode ended in ``path``: half a name is no name."""

    def text(made: Any) -> Any:
        found = _field(*name)(made)
        cut = pc.fill_null(pc.match_substring_regex(_member(made.column("error"), "path"), path), False)
        return pc.if_else(cut, pa.scalar(None, found.type), found)

    return text


def _delivery(made: Any) -> Any:
    assert UserHeader.BITS is not None
    flags, bits = _field("user_header", "flags")(made), UserHeader.BITS.bits
    transactional, recoverable = (
        pc.not_equal(pc.bit_wise_and(flags, bits[name].mask), 0) for name in ("th", "dm")
    )
    return pc.if_else(transactional, "transactional", pc.if_else(recoverable, "recoverable", "express"))


def _message_id(made: Any) -> Any:
    source, number = _field(*_OF["message_id"][0].split("."))(made), _field("user_header", "message_id")(made)
    return pc.binary_join_element_wise(source, number.cast(pa.string()), "\\")


def _body_size(made: Any) -> Any:
    size = _field("message_properties_header", "message_size")(made)
    if "compound_message_header" not in made.schema.names:
        return size
    compound = made.column("compound_message_header")
    return pc.if_else(pc.is_valid(compound), _member(compound, "msg_body_size"), size)


def _how(made: Any, records: Mapping[int, Record]) -> Any:
    parents = made.column("parent")
    if parents.null_count == len(parents):
        return pa.repeat("sent", len(parents))
    pairs = zip(made.column("id").to_pylist(), parents.to_pylist(), strict=True)
    return pa.array(
        ["sent" if parent is None else _COLUMNS["how"].value(records[id_]) for id_, parent in pairs]
    )


def _cut(made: Any) -> Any:
    code = _member(made.column("error"), "code")
    short = pc.and_(pc.fill_null(pc.equal(code, "missing-bytes"), False), pc.is_null(made.column("parent")))
    if not pc.any(short).as_py():
        return nulls(len(made), pa.string())
    length, size = made.column("length"), _field("base_header", "packet_size")(made)
    sent = pc.if_else(pc.greater(size, length), size.cast(pa.string()), None)
    text = pc.binary_join_element_wise(length.cast(pa.string()), pc.fill_null(sent, "?"), " of ")
    return pc.if_else(short, text, None)


def _made(column: MessageColumn) -> Callable[[Any], Any]:
    """What gives a column that is made from another, value by value."""
    numbers = _bits(_COLUMNS[column.of])

    def values(made: Any) -> Any:
        found = numbers(made).dictionary_encode()
        each = map(column.made, found.dictionary.to_pylist())
        return _array(each, message_schema().field(column.name).type).take(found.indices)

    return values


def _array(values: Iterable[Any], kind: Any) -> Any:
    """Values of a declared column as a table has them: times in microseconds, null for what is too large."""
    if pa.types.is_timestamp(kind):
        values = [None if value is None else value // 1000 for value in values]
    return numbers(list(values), kind) if pa.types.is_int64(kind) else pa.array(values, kind)


def _via(made: Any) -> Any:
    # No packet but that of a stored message was carried by another record.
    return pc.if_else(pc.is_valid(made.column("parent")), "rpc", "tcp")


_SUMMED: Mapping[str, Callable[[Any], Any]] = {
    **{one.name: _bits(one) for one in COLUMNS if one.path},
    **{one.name: _made(one) for one in _MADE},
    "queue": _whole(r"^user_header\.destination_queue", "user_header", "destination_queue", "format_name"),
    "label": _whole(r"header\.label$", "message_properties_header", "label"),
    "delivery": _delivery,
    "message_id": _message_id,
    "body_size": _body_size,
    "via": _via,
    "cut": _cut,
    "body": _field("message_properties_header", _BODY),
}
"""What `message_view` says, for packets with the headers of a message."""


def _opened(made: Any) -> dict[str, Any]:
    """What keys in force make of the bodies that are encrypted, message by message."""
    bodies: list[bytes | None] = [None] * len(made)
    reported: list[str | None] = [None] * len(made)
    flags = _field("security_header", "flags")(made)
    encrypted = pc.fill_null(pc.not_equal(pc.bit_wise_and(flags, _EB), 0), False)
    paths = (*(("message_properties_header", name) for name in _OF_CIPHER), _KEY)
    columns = [_field(*path)(made) for path in paths]
    for place in np.flatnonzero(encrypted.to_numpy(zero_copy_only=False)).tolist():
        algorithm, data, size, level, key = (column[place].as_py() for column in columns)
        held = data or b""
        found = opened(algorithm, key or b"", held, max(size or 0, len(held)), level) if held else None
        if found is not None and found.body is not None:
            bodies[place], reported[place] = found.body, found.how
    return {"opened_body": pa.array(bodies, pa.binary()), "opened_with": pa.array(reported, pa.string())}


def _member(array: Any, *names: str) -> Any:
    return pc.struct_field(array, list(names)) if names else array


def _summary_of(records: Sequence[Record], names: Set[str]) -> dict[str, Any]:
    """What `message_view` says, for messages that calls or HTTP carried."""
    reported = [one.name for one in _SUMMARY if one.name != "body" and one.name in names]
    rows = [message_of(record, acknowledgments=True) if reported else None for record in records]
    columns = {
        name: _array((row and row[name] for row in rows), message_schema().field(name).type)
        for name in reported
    }
    if "body" in names:
        columns["body"] = pa.array([_body(record.packet) for record in records], pa.binary())
    return columns


def _body(packet: Any) -> bytes | None:
    return packet.properties.body if isinstance(packet, TransferBuffer) else packet.body
