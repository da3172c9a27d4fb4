"""The records of hops, made again from the table of messages: what an audit of routes looks at.

The rule kept here: a row has what the audit looks at, so it is made a record again and judged as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.records.record import Record
from msmq_wire.tables.store.snapshot import reading
from msmq_wire.tables.store.store import Store
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID

COLUMNS = {
    "capture": "capture",
    "id": "id",
    "type": "type",
    "frames": "frames",
    "time_ns": "time_ns",
    "src": "src",
    "dst": "dst",
    "stream": "stream",
    "label": "label",
    "source_queue_manager": "user_header.source_queue_manager",
    "queue_manager_address": "user_header.queue_manager_address",
    "number": "user_header.message_id",
    "flags": "user_header.flags",
    "client_guid": "establish_connection_header.client_guid",
    "server_guid": "establish_connection_header.server_guid",
}
"""What the audit looks at, by where it stands in a table of messages."""
_NUMBERS = ("id", "time_ns", "stream", "number", "flags")
TYPES = ("user_message", "establish_connection")
_TOGETHER = 4096
"""Rows made at a time."""
SHOWN = "label"
"""What is shown of a message and never judged."""


def record_of(row: Mapping[str, Any]) -> Record:
    """The record of a row of `table_records`, with no more of its packet than the audit looks at.

    What a cut packet lacks is UNSET, as in the packet itself; so is what is no GUID.
    """
    packet: UserMessage | EstablishConnection
    if row["type"] == "establish_connection":
        ends = EstablishConnectionHeader(
            client_guid=_guid(row["client_guid"]), server_guid=_guid(row["server_guid"])
        )
        packet = EstablishConnection(establish_connection_header=ends)
    else:
        names = _guid(row["source_queue_manager"]), _guid(row["queue_manager_address"])
        numbers = row["number"], row["flags"]
        whole = all(value is not msgspec.UNSET for value in names) and None not in numbers
        user = UserHeader(
            source_queue_manager=names[0],
            queue_manager_address=names[1],
            message_id=_reached(row["number"]),
            # Without it there is nothing to judge.
            flags=numbers[1] if whole else _reached(None),
        )
        packet = UserMessage(user_header=user)
    return Record(
        id=row["id"],
        type=row["type"],
        capture=row["capture"],
        frames=tuple(row["frames"] or ()),
        time=row["time_ns"],
        src=row["src"],
        dst=row["dst"],
        stream=row["stream"],
        packet=packet,
    )


def _reached(value: Any) -> Any:
    return msgspec.UNSET if value is None else value


def _guid(text: str | None) -> Any:
    try:
        return msgspec.UNSET if text is None else GUID.parse(text)
    except ValueError:
        return msgspec.UNSET


def table_records(output: str) -> Iterator[tuple[Record, str | None]]:
    """The records in the tables of a run that an audit looks at, and the labels of messages.

    ``output`` is the folder, or URL, that the run wrote to. Captures come one after the other, in the order
    of their names; of one of them the columns that are needed are in memory.
    Raises CaptureError where there are no tables, and for what cannot be read.
    """
    kinds = {"frames": pa.list_(pa.int64())} | dict.fromkeys(_NUMBERS, pa.int64())
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    columns = {name: ds.field(*path.split(".")) for name, path in COLUMNS.items()}
    of_audit = ds.field("type").isin(TYPES) & ds.field("parent").is_null()
    try:
        snapshot = Store(output).snapshot()
        for name in sorted(snapshot.rows("captures", ["capture"]).column("capture").to_pylist()):
            messages = snapshot.dataset("messages", holding=[name])
            if messages is None:
                return
            with reading(snapshot.place):
                rows = messages.to_table(columns=columns, filter=of_audit & (ds.field("capture") == name))
            for batch in rows.cast(schema).sort_by("id").to_batches(_TOGETHER):
                for row in batch.to_pylist():
                    yield record_of(row), row[SHOWN]
    except MsmqWireError as error:
        raise CaptureError(str(error)) from None
