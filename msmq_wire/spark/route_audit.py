"""Auditing the hops in tables of messages: on Spark, and in a process of its own with pyarrow alone.

The rule kept here: a row has what the audit looks at, so it is made a record again and judged as one; every
capture is judged by itself, in the order of its records, as in the process that read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.records.record import Record
from msmq_wire.routing.hop_view import hop_view
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from msmq_wire.routing.hop import ObservedHop

__all__ = ["audit_messages", "hop_schema", "record_of", "table_records"]

_COLUMNS = {
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
_TYPES = ("user_message", "establish_connection")
_TOGETHER = 4096
"""Rows made at a time."""
_TEXT = "label"
"""What is shown of a message and never judged."""


@cache
def hop_schema() -> Any:
    """The Arrow schema of `audit_messages`: the keys of `hop_view`, and ``time_ns``."""
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

    from msmq_wire.spark.arrow_types import TIME, field

    text, number = pa.string(), pa.int64()
    deviation = pa.struct([pa.field(name, text) for name in ("kind", "message", "spec")])
    return pa.schema(
        [
            field("record", number, "Number of the record in its capture.", nullable=False),
            field("capture", text, "The file; with scope group the folder.", nullable=False),
            field("frames", pa.list_(number), "Frames that carry it; through all files of a capture."),
            field("time", TIME, "When the frame that completes it was captured, UTC."),
            field("time_ns", number, "The same in nanoseconds since 1970."),
            field("src", text, "Address and port it came from."),
            field("dst", text, "Address and port it went to."),
            field("stream", number, "Connection in its capture."),
            field("message_id", text, "GUID of the queue manager that made the message, and number."),
            field("source", text, "Queue manager that sent it, null where that is not known."),
            field("source_name", text, "Its name in the topology."),
            field("target", text, "Queue manager that got it, null where that is not known."),
            field("target_name", text, "Its name in the topology."),
            field("destination", text, "Queue manager that it is for; null for a direct format name."),
            field("destination_name", text, "Its name in the topology."),
            field("hops", number, "Routing servers that it has passed: UserHeader RC."),
            field("verdict", text, "on_path, not_judged, or the kinds of its deviations.", nullable=False),
            field("deviations", pa.list_(deviation), "In what it differs from every possible way."),
            field("expected", pa.list_(text), "Queue managers to which the source may pass it."),
            field("reason", text, "Why it could not be judged."),
        ]
    )


def audit_messages(messages: DataFrame, topology: Topology) -> DataFrame:
    """The hops in a table of messages, each compared with the ways that a topology allows.

    ``messages`` is the table ``messages`` of a run, or rows of the data source ``msmq-messages``, in any
    order and of any number of captures. The rows have the columns of `hop_schema`; for a capture they are
    those that `msmq_wire.routing.audit` gives of it. All rows of a capture go to one task, sorted by their
    ids; it holds a batch of them at a time. The topology goes to every task. Needs the extra ``routing`` on
    every machine.
    """
    from msmq_wire.spark.spark_schema import spark_schema

    names = (f"{place} as {name}" for name, place in _COLUMNS.items() if name != _TEXT)
    of_audit = f"parent is null and type in {_TYPES}"
    needed = messages.where(of_audit).selectExpr(*names)
    placed = needed.repartition("capture").sortWithinPartitions("capture", "id")
    return placed.mapInArrow(partial(_audited, topology=topology), spark_schema(hop_schema()))


def _audited(batches: Iterable[Any], topology: Topology) -> Iterator[Any]:
    some: list[ObservedHop] = []
    for hop in _hops(batches, topology):
        some.append(hop)
        if len(some) == _TOGETHER:
            yield _rows(some, topology)
            some = []
    if some:
        yield _rows(some, topology)


def _hops(batches: Iterable[Any], topology: Topology) -> Iterator[ObservedHop]:
    from msmq_wire.routing.auditor import Auditor

    auditor: Auditor | None = None
    capture = ""
    for batch in batches:
        for row in batch.to_pylist():
            auditor = auditor or Auditor(topology)
            if row["capture"] != capture:
                auditor.forget()
                capture = row["capture"]
            hop = auditor.feed(record_of(row))
            if hop is not None:
                yield hop


def _rows(hops: Iterable[ObservedHop], topology: Topology) -> Any:
    import pyarrow as pa

    rows = []
    for hop in hops:
        time = hop.sighting.time
        times = {"time": None if time is None else time // 1000, "time_ns": time}
        rows.append(hop_view(hop, topology) | times)
    return pa.RecordBatch.from_pylist(rows, schema=hop_schema())


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
    of their names; of one of them the columns that are needed are in memory. Needs pyarrow and deltalake.
    Raises CaptureError where there are no tables, and for what cannot be read.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs

    from msmq_wire.spark.store import Store

    try:
        snapshot = Store(output).snapshot()
    except MsmqWireError as error:
        raise CaptureError(str(error)) from None
    kinds = {"frames": pa.list_(pa.int64())} | dict.fromkeys(_NUMBERS, pa.int64())
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in _COLUMNS])
    columns = {name: ds.field(*path.split(".")) for name, path in _COLUMNS.items()}
    names = snapshot.rows("captures", ["capture"]).column("capture").to_pylist()
    try:
        for name in sorted(names):
            messages = snapshot.dataset("messages", holding=[name])
            if messages is None:
                return
            wanted = (
                (ds.field("capture") == name) & ds.field("type").isin(_TYPES) & ds.field("parent").is_null()
            )
            rows = messages.to_table(columns=columns, filter=wanted).cast(schema).sort_by("id")
            for batch in rows.to_batches(_TOGETHER):
                for row in batch.to_pylist():
                    yield record_of(row), row[_TEXT]
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise CaptureError(f"no table of messages can be read from {output}: {problem}") from error
