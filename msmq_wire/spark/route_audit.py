"""Auditing the hops in a table of messages on Spark.

The rule kept here: every capture is judged by itself, in the order of its records, as in the process that
read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from msmq_wire.records.column import PLACE
from msmq_wire.routing.hop_view import HOP_COLUMNS, hop_view
from msmq_wire.routing.topology import Topology
from msmq_wire.tables.store.hop_records import COLUMNS, SHOWN, TYPES, record_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from msmq_wire.routing.hop import ObservedHop

_TOGETHER = 4096
"""Rows made at a time."""
_ALWAYS = ("record", "capture", "verdict")
"""Columns that are never null; the others have always been nullable here."""


@cache
def hop_schema() -> Any:
    """The Arrow schema of `audit_messages`: the columns of hops, and ``time_ns``."""
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

    from msmq_wire.tables.spark_types import TABLE_COLUMNS, table_field

    columns = [TABLE_COLUMNS[one.name] if one.name in PLACE else one for one in HOP_COLUMNS]
    columns.insert(columns.index(TABLE_COLUMNS["time"]) + 1, TABLE_COLUMNS["time_ns"])
    return pa.schema([table_field(one, nullable=one.name not in _ALWAYS) for one in columns])


def audit_messages(messages: DataFrame, topology: Topology) -> DataFrame:
    """The hops in a table of messages, each compared with the ways that a topology allows.

    ``messages`` is the table ``messages`` of a run, or rows of the data source ``msmq-messages``, in any
    order and of any number of captures. The rows have the columns of `hop_schema`; for a capture they are
    those that `msmq_wire.routing.audit` gives of it. All rows of a capture go to one task, sorted by their
    ids; it holds a batch of them at a time. The topology goes to every task. Needs the extra ``routing`` on
    every machine.
    """
    from msmq_wire.spark.spark_schema import spark_schema

    names = (f"{place} as {name}" for name, place in COLUMNS.items() if name != SHOWN)
    of_audit = f"parent is null and type in {TYPES}"
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
