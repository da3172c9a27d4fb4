"""The table ``calls``: RPC calls, binds and faults, and the messages that calls carried, as Arrow columns.

The rule kept here: the fields of `RpcCall` are columns of their names; what ``msmq-wire calls`` says of a
call beside them is told by the same functions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.composed_tables import composed_fields
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.tables import ARROW_TYPES, RESULT, record_tables
from msmq_wire.capture.tables import schema as table_schema
from msmq_wire.records.call import CALL_COLUMNS, CallValues
from msmq_wire.records.call_story import CarriedMessage, carries_packet
from msmq_wire.records.join_keys import JoinKeys
from msmq_wire.records.message import COLUMNS, message_view
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.tables.message_columns import CALLS, PLACE, Placing
from msmq_wire.tables.spark_types import (
    TABLE_COLUMNS,
    columns_of,
    field,
    spark_field,
    struct_of,
    table_field,
    table_rows,
)

_OF_MESSAGES = {one.name: one for one in (*TABLE_COLUMNS.values(), *COLUMNS)}
_CARRIED = pa.struct(
    [
        (name, ARROW_TYPES[_OF_MESSAGES[name].kind])
        for name in ("id", "type", "queue", "label", "message_id", "message_class", "body_type", "body_size")
    ]
)
_STORY = ("account", "status_name", "answered", "cut", "what")
"""What `calls` prints of a call that is not as its field has it."""
_TOLD = ("rpc_call", "com_call")
"""The types of records that are calls."""


@cache
def call_schema() -> Any:
    """The Arrow schema of the table."""
    reported = {one.name: one for one in CALL_COLUMNS}
    story = [table_field(reported[name], nullable=True) for name in _STORY]
    calls = [spark_field(one) for one in composed_fields("rpc_call") if one.name not in _STORY]
    others = [
        field(
            name, pa.struct([spark_field(one) for one in composed_fields(name)]), f"What {name} records have."
        )
        for name in ("rpc_bind", "rpc_fault")
    ]
    shared = {one.name for one in (*calls, *story)}
    added = [spark_field(one) for one in composed_fields("com_call") if one.name not in shared]
    others.append(field("com_call", pa.struct(added), "What com_call records have beside what calls have."))
    carried = field("messages", pa.list_(_CARRIED), "The messages that the call carried.")
    return pa.schema([*PLACE, *calls, *story, carried, *others, *_results()])


@cache
def _results() -> list[Any]:
    return [spark_field(table_schema("rpc_call").field(name)) for name in RESULT]


def call_batches(
    batch: PacketBatch,
    numbering: Numbering,
    *,
    judge: bool = True,
    columns: frozenset[str] | None = None,
) -> list[Any]:
    """The rows of a part of a capture, a record batch for each type of record; ``columns`` as there."""
    calls = [record for record in batch.others if record.type in CALLS]
    target = columns_of(call_schema(), columns)
    placing = Placing(batch, numbering)
    wanted = None if columns is None else _wanted(columns)
    made = record_tables(calls, judge=judge, wanted=wanted)
    return [_wide(table, rows, placing, batch, target) for table, rows in made.items()]


@cache
def _wanted(columns: frozenset[str]) -> frozenset[str]:
    """What columns of ``calls`` are made of, as `tables_of` wants it."""
    found = {"time" if name == "time_ns" else name for name in columns} | {"frames"}
    if columns.intersection(JoinKeys._fields):
        found |= {"src", "dst", "stream"}
    for table in CALLS:
        if table in columns:
            found.update(one.name for one in call_schema().field(table).type)
    return frozenset(found)


def _wide(table: str, made: Any, placing: Placing, batch: PacketBatch, target: Any) -> Any:
    count, names = len(made), set(target.names)
    columns = placing.columns(made, target, pa.repeat(pa.scalar(table, pa.string()), count))
    own = [one.name for one in composed_fields("rpc_call")] if table in _TOLD else []
    kept = (*RESULT, *(name for name in own if name not in _STORY))
    columns |= {name: made.column(name) for name in kept if name in names}
    if table in _TOLD and names.intersection((*_STORY, "messages")):
        columns |= _story(made.column("id").to_pylist(), batch, placing)
    if table in names and table != "rpc_call":
        columns[table] = struct_of(made, call_schema().field(table).type)
    return table_rows(columns, count, target)


def _story(ids: list[int], batch: PacketBatch, placing: Placing) -> dict[str, Any]:
    """What the calls with these ids did."""
    records = {record.id: record for record in batch.others}
    inside: dict[int, list[Record]] = {}
    for record in batch.others:
        if record.parent is not None and not isinstance(record.packet, SrmpMessage):
            inside.setdefault(record.parent, []).append(record)
    reported: dict[str, list[Any]] = {name: [] for name in _STORY}
    messages = []
    for id_ in ids:
        record, brought = records[id_], inside.get(id_, [])
        rows = [row for row in map(message_view, brought) if row is not None]
        types = [one.type for one in brought if message_view(one) is not None]
        message = rows[0] if rows and carries_packet(record.packet) else None
        carried = None if message is None else CarriedMessage(message["body_size"], message["label"])
        call = CallValues(record, carried)
        for name, values in reported.items():
            values.append(call[name])
        messages.append(
            [
                {one.name: row.get(one.name) for one in _CARRIED}
                | {"type": type_, "id": placing.own_id(row["id"])}
                for type_, row in zip(types, rows, strict=True)
            ]
        )
    return {
        **{name: pa.array(values, call_schema().field(name).type) for name, values in reported.items()},
        "messages": pa.array(messages, pa.list_(_CARRIED)),
    }
