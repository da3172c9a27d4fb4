"""Tables are read as the store has them: few bytes for few columns, and no files that a filter leaves out."""

from __future__ import annotations

import datetime
import os
import pickle
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import EqualTo, Filter, In, IsNotNull, IsNull, Not, StringStartsWith

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark import register
from msmq_wire.spark.row_filter import FilteredReader
from msmq_wire.spark.table_source import MsmqTables
from msmq_wire.spark.table_views import VIEWS, ask, register_views
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import TableWriter
from msmq_wire.tables.table_schemas import BOUNDED, DAY, delta_schema
from tests.tables.store.filled_stores import fill, run_name
from tests.tables.store.s3_server import BUCKET, S3Server, s3_server

pytestmark = pytest.mark.needs("pyspark", "moto")

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
PATHS = [CAPTURES / name for name in ("demo.pcap", "path_ipv6.pcap", "clean_srmp.pcap")]
DAYS = [datetime.date(2026, 1, day) for day in (1, 2, 3)]
COUNT = 2000
"""Messages of a day in the large table."""
BODY = 6000

Rows = list[dict[str, Any]]


def rows_of(output: Path | str, table: str, *filters: Filter, **options: str) -> Rows:
    """The rows of a table as the tasks of the source give them, with filters pushed to it."""
    made = MsmqTables({"path": str(output), "table": table, **options})
    reader = FilteredReader(made.reader(made.schema()), delta_schema(table))
    assert list(reader.pushFilters(list(filters))) == []
    tasks = pickle.loads(pickle.dumps([(reader, one) for one in reader.partitions()]))
    batches = [batch for task, one in tasks for batch in task.read(one)]
    assert all(batch.schema.names == made.schema().names for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def enlarge(output: str) -> None:
    """Tables of messages with large bodies, a capture and a file for each of three days."""
    template = Store(output).snapshot()
    entry = template.rows("captures", delta_schema("captures").names).to_pylist()[0]
    columns = [name for name in delta_schema("messages").names if name not in ("run", DAY)]
    one = template.rows("messages", columns).slice(0, 1)
    for number, day in enumerate(DAYS):
        store, run, capture = Store(output), run_name(), f"large {number}.pcap"
        noon = datetime.datetime.combine(day, datetime.time(12), datetime.UTC)
        rows = pa.concat_tables([one] * COUNT).combine_chunks()
        for name, values in {
            "capture": [capture] * COUNT,
            "id": list(range(COUNT)),
            "time": [noon] * COUNT,
            "queue": [f"queue {number}"] * COUNT,
            "label": [f"order {label}" if label % 2 else None for label in range(COUNT)],
            "body": [os.urandom(BODY) for _ in range(COUNT)],
        }.items():
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(
                place, rows.schema.field(place), pa.array(values, rows.schema.field(place).type)
            )
        with TableWriter(store.place, ("messages",), run) as writer:
            for batch in rows.to_batches():
                writer.write("messages", batch)
        captures = [entry | {"capture": capture, "run": run, "digest": capture}]
        store.publish(Change(run=run, number=1, files=writer.files, tables=("messages",), captures=captures))


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def asking(spark: SparkSession, server: S3Server) -> Iterator[SparkSession]:
    """A session whose workers find the server."""
    found = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    environment = spark.sparkContext.environment
    environment |= found
    register(spark)
    yield spark
    for name in found:
        del environment[name]
    register(spark)


@pytest.fixture(scope="module")
def stored(server: S3Server) -> str:
    """Tables of captures in a bucket, with rows that do not count."""
    output = f"s3://{BUCKET}/tables (of) {{all}}?"
    fill(output, *PATHS[:1])
    fill(output, *PATHS)
    return output


@pytest.fixture(scope="module")
def large(server: S3Server, stored: str) -> str:
    """Large tables in a bucket."""
    output = f"s3://{BUCKET}/large"
    fill(output, PATHS[0])
    enlarge(output)
    return output


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of `stored`, in a folder."""
    output = tmp_path_factory.mktemp("tables (of) {all}?")
    fill(output, *PATHS[:1])
    fill(output, *PATHS)
    return output


def plain(rows: Any) -> Counter[str]:
    """Rows without the names of runs, each with how often it is there."""
    dicts = (row if isinstance(row, dict) else row.asDict(recursive=True) for row in rows)
    return Counter(repr({name: value for name, value in row.items() if name != "run"}) for row in dicts)


@pytest.mark.parametrize("where", ["kept", "stored"])
def test_all_rows_of_a_table_are_given_whether_they_count_or_not(
    where: str, request: pytest.FixtureRequest
) -> None:
    output = request.getfixturevalue(where)
    snapshot = Store(str(output)).snapshot()
    for table in ("messages", "lives", "captures", "sources"):
        expected = snapshot.everything(table).to_table().to_pylist()
        assert plain(rows_of(output, table)) == plain(expected)
        assert len(expected) > snapshot.dataset(table).count_rows() or table == "captures"


def test_tables_without_rows_give_one_task_and_no_rows(tmp_path: Path) -> None:
    Store(str(tmp_path)).make()
    for table in VIEWS:
        assert rows_of(tmp_path, table) == []
        assert rows_of(tmp_path, table, IsNotNull(("capture" if table != "runs" else "name",))) == []


NOON = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("filters", "days", "rows"),
    [
        ([EqualTo((DAY,), DAYS[1])], 1, COUNT),
        ([In((DAY,), (DAYS[0], DAYS[2]))], 2, 2 * COUNT),
        ([EqualTo(("time",), NOON)], 1, COUNT),
        ([Not(EqualTo(("time",), NOON)), StringStartsWith(("capture",), "large")], 3, 2 * COUNT),
        ([EqualTo(("capture",), "large 1.pcap")], 1, COUNT),
        ([EqualTo(("queue",), "queue 2"), EqualTo(("id",), 7)], 1, 1),
        ([EqualTo(("queue",), 'it\'s "odd" \\ %_\0\u2028\U0001f4a9')], 0, 0),
        ([EqualTo(("src",), "nan")], 0, 0),
        ([IsNull(("label",)), EqualTo((DAY,), DAYS[0])], 1, COUNT // 2),
        ([Not(IsNotNull(("label",))), EqualTo((DAY,), DAYS[0])], 1, COUNT // 2),
        ([IsNull((DAY,))], 0, 0),
    ],
)
def test_files_that_a_filter_leaves_out_are_not_opened(
    server: S3Server, large: str, filters: list[Filter], days: int, rows: int
) -> None:
    server.reset()
    found = rows_of(large, "messages", *filters, columns="id")
    assert len([row for row in found if row["id"] is not None]) == rows
    opened = {path for path, _ in server.ranges if "/messages/day=2026-01-0" in path.replace("%3D", "=")}
    assert len(opened) <= days


def test_rows_are_counted_by_the_log(server: S3Server, large: str) -> None:
    files = Store(large).snapshot().files("messages")
    assert all({*file.least} == {*file.most} == {*BOUNDED} for file in files)
    server.reset()
    rows = rows_of(large, "messages", IsNotNull(("capture",)), columns="capture,run")
    assert len(rows) == sum(file.rows for file in files)
    rows = rows_of(large, "messages", StringStartsWith(("capture",), "large"), columns="run")
    assert len(rows) == 3 * COUNT
    assert not [path for path, _ in server.ranges if path.endswith(".parquet") and "/messages/" in path]


def bytes_of(output: str, table: str) -> int:
    return sum(file.size for file in Store(output).snapshot().files(table))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("statement", "expected", "share"),
    [
        ("SELECT count(*) AS n FROM messages WHERE capture LIKE 'large%'", 3 * COUNT, 0.05),
        (
            "SELECT count(label) AS n FROM messages WHERE label LIKE 'order%' AND capture LIKE 'large%'",
            3 * COUNT // 2,
            0.05,
        ),
        ("SELECT count(DISTINCT queue) AS n FROM messages WHERE day = date'2026-01-02'", 1, 0.05),
        ("SELECT sum(octet_length(body)) AS n FROM messages WHERE day = date'2026-01-02'", COUNT * BODY, 0.4),
    ],
)
def test_a_statement_reads_a_small_part_of_a_table_in_a_store(
    asking: SparkSession, server: S3Server, large: str, statement: str, expected: int, share: float
) -> None:
    size = bytes_of(large, "messages")
    assert size > 3 * COUNT * BODY
    server.reset()
    [row] = ask(asking, large, statement).collect()
    assert row.n == expected
    assert server.sent <= share * size, f"{server.sent} of {size}"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("where", ["kept", "stored"])
def test_views_have_the_rows_that_count(
    asking: SparkSession, where: str, request: pytest.FixtureRequest
) -> None:
    output = str(request.getfixturevalue(where))
    register_views(asking, output)
    snapshot = Store(output).snapshot()
    for table in ("messages", "calls", "lives", "findings", "anomalies", "captures", "sources"):
        names = [one.name for one in delta_schema(table) if not pa.types.is_nested(one.type)]
        names = [name for name in names if not pa.types.is_binary(delta_schema(table).field(name).type)]
        expected = snapshot.rows(table, names).to_pandas().astype(str).value_counts().to_dict()
        found = asking.table(table).select(*names)
        assert found.count() == len(snapshot.rows(table, names))
        assert asking.table(table).columns == delta_schema(table).names
        assert sum(expected.values()) == found.count()
        key = [name for name in ("capture", "id", "time_ns", "type", "queue") if name in names]
        rows = Counter(tuple(row) for row in found.select(*key).collect())
        assert rows == Counter(tuple(row.values()) for row in snapshot.rows(table, key).to_pylist())


@pytest.mark.slow
@pytest.mark.spark
def test_columns_that_a_statement_only_looks_at_are_read(asking: SparkSession, stored: str) -> None:
    statement = """
        WITH named AS (SELECT * FROM messages WHERE type = 'user_message')
        SELECT label, base_header.version_number AS version FROM named
        WHERE EXISTS (SELECT 1 FROM lives WHERE lives.message_id = named.message_id)
    """
    found = ask(asking, stored, statement)
    register_views(asking, stored)
    rows = Counter(map(tuple, asking.sql(statement).collect()))
    assert Counter(map(tuple, found.collect())) == rows
    assert rows
    everything = ask(
        asking, stored, "SELECT * FROM messages WHERE label <> 'FileScan parquet \n, ReadSchema: '"
    )
    assert everything.columns == delta_schema("messages").names
    assert everything.count() == asking.table("messages").where("label IS NOT NULL").count()
    assert all(row.base_header is not None for row in everything.where("type = 'user_message'").collect())
    with pytest.raises(PySparkException, match="colour"):
        ask(asking, stored, "SELECT colour FROM messages")
    assert {row[0] for row in ask(asking, stored, "DESCRIBE messages").collect()} == {
        *delta_schema("messages").names
    }


@pytest.mark.slow
@pytest.mark.spark
def test_who_reads_while_another_writes_sees_captures_whole(
    asking: SparkSession, server: S3Server, tmp_path: Path
) -> None:
    output = f"s3://{BUCKET}/busy"
    fill(output, PATHS[1])
    whole = {path: rows_of(fill(tmp_path / path.stem, path).place.url, "messages") for path in PATHS}
    ended = threading.Event()

    def write() -> None:
        for _ in range(3):
            for path in PATHS:
                fill(output, path)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not ended.is_set():
        found = ask(asking, output, "SELECT capture, count(*) AS n FROM messages GROUP BY capture").collect()
        for row in found:
            assert row.n == len(whole[Path(row.capture)])
            seen.add(row.capture)
    writer.join()
    assert seen == {*map(str, PATHS)}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"table": "colours"}, "the option table is packets, .*, not 'colours'"),
        ({"table": "messages", "columns": "label,colour"}, "columns of messages: colour is none"),
    ],
)
def test_what_is_no_table_or_column_is_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(MsmqWireError, match=reason):
        MsmqTables({"path": "tables", **options})
