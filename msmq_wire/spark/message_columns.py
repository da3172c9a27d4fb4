"""The table ``messages``: every record but those of calls, as one wide table of Arrow columns.

The rule kept here: the rows of `read_tables`, with the same ids; headers are columns of the names and fields
that the registry gives them, and what `message_view` says of a message stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.index import Array
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.tables import OTHER, schema, tables_of
from msmq_wire.records.message import COLUMNS, MessageColumn, message_view
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.spark.arrow_types import (
    TIME,
    field,
    fitting,
    spark_field,
    spark_type,
    struct_of,
    table_rows,
)
from msmq_wire.spark.capture_reading import Numbering
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import BitTable
from msmq_wire.wire.registry import PACKETS

__all__ = ["CALLS", "PLACE", "batches_of", "message_schema", "place_columns"]

CALLS = ("rpc_bind", "rpc_call", "rpc_fault", "com_call")
"""The types of records that are rows of the table ``calls``."""

PLACE = [
    field("capture", pa.string(), "The file; with scope group the folder.", nullable=False),
    field("path", pa.string(), "The file that completes it."),
    field("frame_no", pa.int64(), "The frame of that file that completes it, from 1."),
    field("id", pa.int64(), "Number of the record in its capture.", nullable=False),
    field("parent", pa.int64(), "Number of the record that carried it."),
    field("type", pa.string(), "Type of the record.", nullable=False),
    field("frames", pa.list_(pa.int64()), "Frames that carry it; through all files of a capture."),
    field("time", TIME, "When the frame that completes it was captured, UTC."),
    field("time_ns", pa.int64(), "The same in nanoseconds since 1970."),
    field("src", pa.string(), "Address and port it came from."),
    field("dst", pa.string(), "Address and port it went to."),
    field("stream", pa.int64(), "Connection in its capture; null for UDP."),
    field("offset", pa.int64(), "Bytes of its direction before it.", nullable=False),
    field("length", pa.int64(), "Captured bytes.", nullable=False),
]
"""Where a record was found."""

_KINDS = {"number": pa.int64(), "text": pa.string(), "body": pa.binary()}
_SUMMARY = [
    field(one.name, _KINDS[one.kind], one.doc)
    for one in COLUMNS
    if one.kind == "body" or not (one.record or one.of or one.asked)
]
"""What there is of messages, whatever carried them."""
_END = [
    field("missing", pa.int64(), "Bytes of a gap that were not captured, null if unknown."),
    field("reason", pa.string(), "Why there is a gap, or a file ends."),
    field("event", pa.string(), "Step of a connection."),
]
_RESULT = ("anomalies", "consumed", "remainder", "error")
_BODY = "message_body"
# Types whose fields stand in a column of their own; those of the others are headers.
_OWN = {
    "ping": "ping",
    "transfer_buffer": "transfer_buffer",
    "srmp_message": "srmp",
    "srmp_receipt": "srmp",
}
# Where the bytes of bodies are.
_PAYLOADS = (
    ("body",),
    ("compound_message_header", "data"),
    ("transfer_buffer", "properties", "body"),
    ("srmp", "body"),
    ("srmp", "parts", "data"),
    ("srmp", "response", "body"),
)
_WHERE = ("id", "parent", "frames", "time", "src", "dst", "stream", "offset", "length")


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
    ends = [spark_field(result.field(name)) for name in _RESULT]
    return pa.schema([*PLACE, *_SUMMARY, *columns.values(), *ends, *_END])


def _own_fields(table: str) -> list[Any]:
    """The columns of a table that say what was decoded."""
    return [one for one in schema(table) if one.name not in _WHERE and one.name not in _RESULT]


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


def batches_of(
    batch: PacketBatch, numbering: Numbering, *, judge: bool = True, payload: bool = True
) -> dict[str, Any]:
    """The rows of a part of a capture: record batches of ``messages`` by table, those of calls apart.

    Without ``payload`` the bytes of bodies are null wherever they stand.
    """
    completed = completed_by(batch)
    records = {record.id: record for record in batch.others}
    found = {}
    for table, made in tables_of(batch, judge=judge).items():
        if table in CALLS:
            continue
        found[table] = _wide(table, made, batch.capture, completed, numbering, records, payload)
    return found


def completed_by(batch: PacketBatch) -> Callable[[Array], Array]:
    """Return what gives the number of the frame that completed each id of a batch, 0 for the end."""
    ids = np.concatenate((batch.id, np.array([record.id for record in batch.others], np.int64)))
    frames = np.concatenate((batch.completed, batch.others_completed))
    order = np.argsort(ids)
    ids, frames = ids[order], frames[order]
    return lambda wanted: frames[np.searchsorted(ids, wanted)]


def place_columns(
    made: Any, capture: str, types: Any, completed: Callable[[Array], Array], numbering: Numbering
) -> dict[str, Any]:
    """The columns `PLACE` of a record batch of `read_tables`."""
    count = len(made)
    frame = completed(made.column("id").to_numpy())
    frames = made.column("frames")
    if not frame.all():
        # The end of the capture completed it: it stands where its last frame is.
        frame = np.where(frame == 0, _last(frames), frame)
    place, own = numbering.locate(frame)
    known = frame > 0
    paths = pa.array(numbering.paths, pa.string()).take(pa.array(place, mask=~known))
    if numbering.damaged:
        damaged = [numbering.damaged.get(id_) for id_ in made.column("id").to_pylist()]
        paths = pc.coalesce(paths, pa.array(damaged, pa.string()))
    time = made.column("time")
    return {
        "capture": pa.repeat(pa.scalar(capture, pa.string()), count),
        "path": paths,
        "frame_no": pa.array(own, mask=~known),
        "type": types,
        "frames": frames,
        "time": time.cast(TIME, safe=False),
        "time_ns": time.cast(pa.int64()),
        **{name: made.column(name) for name in ("id", "parent", "src", "dst", "stream", "offset", "length")},
    }


def _last(frames: Any) -> Array:
    """The last number of each list, 0 for an empty one."""
    ends = frames.offsets.to_numpy()
    numbers = np.append(frames.values.to_numpy(), 0)
    found: Array = np.where(ends[1:] > ends[:-1], numbers[ends[1:] - 1], 0)
    return found


def _wide(
    table: str,
    made: Any,
    capture: str,
    completed: Callable[[Array], Array],
    numbering: Numbering,
    records: dict[int, Record],
    payload: bool,
) -> Any:
    """The rows of one table of `read_tables` as rows of ``messages``."""
    count = len(made)
    types = made.column("type") if table == OTHER else pa.array([table] * count, pa.string())
    columns = place_columns(made, capture, types, completed, numbering)
    if table in _OWN:
        columns[_OWN[table]] = struct_of(made, message_schema().field(_OWN[table]).type)
        columns |= {name: made.column(name) for name in _RESULT}
    else:
        columns |= {name: made.column(name) for name in made.schema.names if name not in columns}
        if "user_header" in columns:
            columns |= _summary(made)
    if table in ("transfer_buffer", "srmp_message", "srmp_receipt"):
        columns |= _summary_of([records[number] for number in made.column("id").to_pylist()])
    rows = table_rows(columns, count, message_schema())
    return rows if payload else _without_payload(rows)


def _without_payload(rows: Any) -> Any:
    whole = dict(zip(rows.schema.names, rows.columns, strict=True))
    for name, *inside in _PAYLOADS:
        whole[name] = _without(whole[name], inside)
    return pa.RecordBatch.from_arrays(list(whole.values()), schema=rows.schema)


def _without(array: Any, names: Sequence[str]) -> Any:
    """Return an array without the values of the member that ``names`` lead to."""
    if not names:
        return pa.nulls(len(array), array.type)
    mask = array.is_null() if array.null_count else None
    if pa.types.is_list(array.type):
        return pa.ListArray.from_arrays(array.offsets, _without(array.values, names), array.type, mask=mask)
    members = [array.field(index) for index in range(array.type.num_fields)]
    place = array.type.get_field_index(names[0])
    members[place] = _without(members[place], names[1:])
    return pa.StructArray.from_arrays(members, fields=list(array.type), mask=mask)


def _summary(made: Any) -> dict[str, Any]:
    """What `message_view` says, for packets with the headers of a message."""
    user, properties = made.column("user_header"), made.column("message_properties_header")
    flags = _member(user, "flags")
    path = _member(made.column("error"), "path")
    # Half a name is no name.
    no_label = pc.fill_null(pc.ends_with(path, "header.label"), False)
    no_queue = pc.fill_null(pc.starts_with(path, "user_header.destination_queue"), False)
    transactional, recoverable = _bit(flags, "th"), _bit(flags, "dm")
    delivery = pc.if_else(transactional, "transactional", pc.if_else(recoverable, "recoverable", "express"))
    source, number = _member(user, "source_queue_manager"), _member(user, "message_id")
    size = _member(properties, "message_size")
    if "compound_message_header" in made.schema.names:
        compound = made.column("compound_message_header")
        size = pc.if_else(pc.is_valid(compound), _member(compound, "msg_body_size"), size)
    fields = {one.name: _at(made, one) for one in COLUMNS if one.path}
    return fields | {
        "queue": _unless(no_queue, _member(_member(user, "destination_queue"), "format_name")),
        "label": _unless(no_label, _member(properties, "label")),
        "delivery": delivery,
        "message_id": pc.binary_join_element_wise(source, number.cast(pa.string()), "\\"),
        "body_size": size,
        # No packet but that of a stored message was carried by another record.
        "via": pc.if_else(pc.is_valid(made.column("parent")), "rpc", "tcp"),
        "body": _member(properties, _BODY),
    }


def _at(made: Any, column: MessageColumn) -> Any:
    """A column that is a field of a packet, or bits of one."""
    header, name, *_ = column.path.split(".")
    values = _member(made.column(header), name)
    bit = column.bit
    if bit is None:
        return values
    return pc.shift_right(pc.bit_wise_and(values, bit.mask), bit.shift)


def _mask(table: BitTable | None, name: str) -> int:
    return 0 if table is None else table.bits[name].mask


def _member(array: Any, name: str) -> Any:
    return pc.struct_field(array, name)


def _bit(flags: Any, name: str) -> Any:
    return pc.not_equal(pc.bit_wise_and(flags, _mask(UserHeader.BITS, name)), 0)


def _unless(mask: Any, array: Any) -> Any:
    return pc.if_else(mask, pa.scalar(None, array.type), array)


def _summary_of(records: Sequence[Record]) -> dict[str, Any]:
    """What `message_view` says, for messages that calls or HTTP carried."""
    names = [one.name for one in _SUMMARY if one.name != "body"]
    rows = [message_view(record, acknowledgments=True) or {} for record in records]
    columns = {}
    for name in names:
        kind = message_schema().field(name).type
        values = [row.get(name) for row in rows]
        columns[name] = pa.array(map(fitting, values) if pa.types.is_int64(kind) else values, kind)
    return columns | {"body": pa.array([_body(record.packet) for record in records], pa.binary())}


def _body(packet: Any) -> bytes | None:
    return packet.properties.body if isinstance(packet, TransferBuffer) else packet.body
