"""The audit of a table of messages: the rows of the audit of its captures, wherever the rows come from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fixtures.build_frames import pcap
from fixtures.build_routed_scenes import Hop, scene
from msmq_wire import read_capture
from msmq_wire.cli.app import main
from msmq_wire.records.view import time_text
from msmq_wire.routing import Topology, audit
from msmq_wire.routing.hop_view import HopRow, hop_view
from msmq_wire.routing.topology_file import parse_topology
from msmq_wire.spark import register
from msmq_wire.spark.route_audit import audit_messages, hop_schema
from msmq_wire.spark.spark_schema import spark_schema
from msmq_wire.spark.table_views import register_views
from msmq_wire.tables.message_columns import message_schema
from msmq_wire.tables.store.hop_records import table_records
from tests.effort import share

pytestmark = pytest.mark.needs("pyspark")

_EXAMPLE = Path(__file__).resolve().parents[2] / "fixtures" / "routing" / "example.toml"
_RIGHT = (
    Hop("A-CLIENT1", "A-ROUTER", "A-CLIENT1", "C-CLIENT1", 1),
    Hop("A-ROUTER", "A-GATE", "A-CLIENT1", "C-CLIENT1", 1, 1),
    Hop("A-GATE", "B-GATE", "A-CLIENT1", "C-CLIENT1", 1, 2),
    Hop("B-GATE", "C-GATE", "A-CLIENT1", "C-CLIENT1", 1, 3),
)
_WRONG = (
    Hop("B-GATE", "A-GATE", "A-CLIENT1", "C-CLIENT1", 1, 3),
    Hop("A-GATE", "D-GATE", "A-CLIENT1", "C-CLIENT1", 2, 1),
    Hop("A-CLIENT1", "B-CLIENT1", "A-CLIENT1", None, 3),
    Hop("outside", "A-GATE", "outside", "C-CLIENT1", 4, 2, established=False),
)


@pytest.fixture(scope="module")
def topology() -> Topology:
    return parse_topology(_EXAMPLE.read_bytes())


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two captures: in one a message goes back, in the other that cannot be seen."""
    folder = tmp_path_factory.mktemp("routed")
    (folder / "whole.pcap").write_bytes(pcap(scene(*_RIGHT, *_WRONG).frames))
    (folder / "end.pcap").write_bytes(pcap(scene(*_WRONG).frames))
    return folder


def expected_rows(topology: Topology, paths: Sequence[Path], streams: bool = False) -> list[dict[str, Any]]:
    return [
        hop_view(hop, topology)
        for path in sorted(paths)
        for hop in audit(read_capture(str(path), streams=streams), topology)
    ]


def audited(messages: DataFrame, topology: Topology) -> list[dict[str, Any]]:
    """The rows as `hop_view` gives them, in the order of captures and records."""
    rows = [row.asDict(recursive=True) for row in audit_messages(messages, topology).collect()]
    for row in rows:
        time, nanoseconds = row.pop("time"), row.pop("time_ns")
        assert round(time.timestamp() * 1_000_000) == nanoseconds // 1000
        row["time"] = time_text(nanoseconds)
    return sorted(({key: row[key] for key in HopRow.columns} for row in rows), key=_place)


def _place(row: dict[str, Any]) -> tuple[str, int]:
    return row["capture"], row["record"]


@pytest.mark.check
@pytest.mark.spark
@pytest.mark.parametrize("streams", share([True, False]))
def test_the_rows_are_those_of_the_audit_of_each_capture(
    spark: SparkSession, routed: Path, topology: Topology, streams: bool
) -> None:
    register(spark)
    read = spark.read.format("msmq-messages").option("streams", str(streams).lower())
    found = audited(read.load(str(routed)), topology)
    assert found == expected_rows(topology, list(routed.glob("*.pcap")), streams)
    assert {row["verdict"] for row in found} == {"on_path", "off_path", "off_path, loop", "not_judged"}


@pytest.mark.slow
@pytest.mark.spark
def test_rows_in_any_order_and_in_many_partitions_give_the_same(
    spark: SparkSession, routed: Path, topology: Topology
) -> None:
    register(spark)
    table = spark.read.format("msmq-messages").load(str(routed)).toArrow()
    order = list(range(len(table)))
    random.Random(11).shuffle(order)
    shuffled = spark.createDataFrame(table.take(order), spark_schema(message_schema())).repartition(5)
    assert shuffled.rdd.getNumPartitions() == 5
    assert audited(shuffled, topology) == expected_rows(topology, list(routed.glob("*.pcap")))


@pytest.mark.slow
@pytest.mark.spark
def test_fixtures_of_all_kinds_give_the_rows_of_one_process(
    spark: SparkSession, captures: Path, topology: Topology
) -> None:
    register(spark)
    paths = sorted(captures.glob("clean_r*.pcap")) + sorted(captures.glob("routed_*.pcap"))
    paths += [captures / name for name in ("demo.pcap", "clean_business_day.pcap", "cut_snaplen.pcap")]
    paths = [path for path in paths if path.exists()]
    found = audited(spark.read.format("msmq-messages").load([str(path) for path in paths]), topology)
    assert found == expected_rows(topology, paths)
    assert len(found) > 20


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("scope", ["file", pytest.param("group", marks=pytest.mark.check)])
def test_tables_of_a_run_are_audited_on_spark_and_without_it_alike(
    spark: SparkSession, routed: Path, topology: Topology, tmp_path: Path, scope: str
) -> None:
    output = tmp_path / "tables"
    words = ("spark", "run", "--quiet", str(routed), "--output", str(output), "--scope", scope)
    assert main(list(words)) == 0
    register_views(spark, str(output), "messages")
    found = audited(spark.table("messages"), topology)
    whole = expected_rows(topology, list(routed.glob("*.pcap")), streams=True)
    in_process: list[dict[str, Any]] = []
    records = [record for record, _ in table_records(str(output))]
    for capture in sorted({record.capture for record in records}):
        own = [record for record in records if record.capture == capture]
        assert [record.id for record in own] == sorted(record.id for record in own)
        in_process += [hop_view(hop, topology) for hop in audit(own, topology)]
    assert found == in_process
    assert len(found) == len(whole)
    if scope == "file":
        assert found == whole
    else:
        assert {row["capture"] for row in found} == {str(routed)}
        assert sum("loop" in row["verdict"] for row in found) > 0


@pytest.mark.spark
def test_a_table_without_messages_has_no_hops(spark: SparkSession, topology: Topology) -> None:
    empty = spark.createDataFrame([], spark_schema(message_schema()))
    rows = audit_messages(empty, topology)
    assert rows.columns == hop_schema().names
    assert rows.collect() == []


def test_the_columns_are_the_keys_of_a_row_and_each_says_what_it_is() -> None:
    names = hop_schema().names
    assert [name for name in names if name != "time_ns"] == list(HopRow.columns)
    assert [one.name for one in hop_schema() if not one.metadata[b"doc"]] == []
