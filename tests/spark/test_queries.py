"""Named queries tell what records, stories and findings tell, counted here without SQL."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from pyspark.sql import SparkSession

from msmq_wire import read_capture
from msmq_wire.detection import Finding, Judge
from msmq_wire.detection.fingerprints import SAMPLE_CLIENT, SAMPLE_SERVER
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.message import message_view
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record
from msmq_wire.records.view import anomaly_view
from msmq_wire.sessions import NACK_REASONS, MessageLife, RemoteRead, Session
from msmq_wire.spark.capture_job import Entry
from msmq_wire.spark.job import run_job
from msmq_wire.spark.key_options import negotiator_of
from msmq_wire.spark.publishing import JobRun
from msmq_wire.spark.queries import QUERIES, query_problem
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.table_views import VIEWS, register_views
from msmq_wire.tables.store.store import Store
from msmq_wire.tables.table_schemas import TABLES, delta_schema
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID

pytestmark = pytest.mark.needs("pyspark")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = [
    FIXTURES / name
    for name in (
        "captures/clean_business_day.pcap",
        "captures/clean_expired.pcap",
        "captures/clean_ipv6.pcap",
        "captures/clean_routed.pcap",
        "captures/clean_srmp.pcap",
        "captures/demo.pcap",
        "captures/path_cut_file.pcap",
        "captures/path_damaged_record.pcap",
        "captures/path_snaplen_96.pcap",
        "captures/path_srmp_receipts.pcap",
        "captures/path_syn_refused.pcap",
        "findings/CNT-NACK/hit_final_ack.pcap",
        "findings/CNT-NACK/hit_purged.pcap",
        "findings/FLG-ACK-NOAQ/hit_all_asked.pcap",
        "findings/FLG-BASE-RSV/hit_0x1003.pcap",
        "findings/FPR-NUCLEI/hit_answered.pcap",
        "findings/ID-CLONE/hit_one_after_the_other.pcap",
        "findings/ID-CLONE/hit_two_families.pcap",
        "findings/ID-CLONE/hit_two_hosts.pcap",
        "findings/SES-REFUSED/hit_establish.pcap",
        "rpc_captures/rpc_none_ndr.pcap",
        "rpc_captures/rpc_ntlm_integrity.pcap",
        "rpc_captures/rpc_ntlm_privacy.pcap",
        "rpc_captures/rpc_qmcomm_qm2qm.pcap",
        "rpc_captures/rpc_sections.pcap",
        "sessions/naked_message.pcap",
        "sessions/tcp_only.pcap",
    )
]
MESSAGES = ("user_message", "message_packet", "srmp_message", "transfer_buffer")

Row = dict[str, Any]


class Told(NamedTuple):
    """Everything that the captures tell, without Spark."""

    records: list[Record]
    sessions: list[Session]
    lives: list[tuple[str, MessageLife]]
    reads: list[RemoteRead]
    findings: list[tuple[str, Finding]]
    damage: dict[str, str]

    def views(self) -> Iterator[tuple[Record, Row]]:
        """The records of the table messages that are messages, with what is said of them."""
        for record in self.records:
            view = message_view(record)
            if view is not None and record.type in MESSAGES:
                yield record, view


@pytest.fixture(scope="module")
def reported() -> Told:
    found = Told([], [], [], [], [], {})
    # Without keys it opens nothing, but tells accounts.
    negotiator = negotiator_of(ReadOptions())
    for path in CAPTURES:
        judge = Judge()
        findings = []
        try:
            for record in read_capture(path, streams=True, negotiator=negotiator):
                found.records.append(record)
                findings += judge.feed(record)
                if record.type == "error" and record.error is None and record.stream is None:
                    found.damage[str(path)] = f"{path}: {record.reason}"
        except CaptureError as error:
            found.damage[str(path)] = str(error)
        findings += judge.finish()
        story = judge.story
        assert story is not None
        found.sessions.extend(story.sessions)
        found.lives.extend((str(path), life) for life in story.lives)
        found.reads.extend(story.reads)
        found.findings.extend((str(path), one) for one in findings)
    return found


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> JobRun:
    """The tables of the captures, as views."""
    output = tmp_path_factory.mktemp("tables (of) {all}?")
    done = run_job(spark, str(output), ReadOptions(paths=tuple(map(str, CAPTURES))))
    register_views(spark, str(output))
    return done


def plain(value: Any) -> Any:
    """Times as microseconds since 1970."""
    if isinstance(value, datetime):
        return round((value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
    return list(value) if isinstance(value, list) else value


@pytest.fixture
def ask(spark: SparkSession, run: JobRun) -> Any:
    def ask_(name: str) -> list[Row]:
        rows = spark.sql(QUERIES[name].sql).collect()
        return [{key: plain(value) for key, value in row.asDict().items()} for row in rows]

    return ask_


def micros(times: Iterable[int | None]) -> tuple[int | None, int | None]:
    """First and last of times in nanoseconds."""
    known = [time // 1000 for time in times if time is not None]
    return (min(known), max(known)) if known else (None, None)


def host(place: str | None) -> str | None:
    return None if place is None else host_of(place)


def ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def body_of(record: Record) -> bytes:
    body = message_body(record)
    return b"" if body is None else body.data


@pytest.mark.slow
@pytest.mark.spark
def test_top_queues_counts_messages_by_queue(reported: Told, ask: Any) -> None:
    expected = []
    for queue, pairs in grouped((view["queue"], (record, view)) for record, view in reported.views()).items():
        first, last = micros(record.time for record, _ in pairs)
        ids = {view["message_id"] for _, view in pairs} - {None}
        size = sum(len(body_of(record)) for record, _ in pairs)
        expected.append(
            {
                "queue": queue,
                "messages": len(pairs),
                "distinct_messages": len(ids),
                "bytes": size,
                "first_time": first,
                "last_time": last,
            }
        )
    rows = ask("top_queues")
    assert len(rows) > 5
    assert ordered(rows) == ordered(expected)
    assert [row["messages"] for row in rows] == sorted((row["messages"] for row in rows), reverse=True)


@pytest.mark.slow
@pytest.mark.spark
def test_unacknowledged_messages_are_those_that_wanted_an_acknowledgment(reported: Told, ask: Any) -> None:
    expected = [
        {
            "time": micros([life.first.time])[0],
            "capture": capture,
            "message_id": life.message_id,
            "src": life.src,
            "dst": life.dst,
            "queue": life.queue,
            "label": life.label,
            "delivery": life.delivery,
            "wanted": life.wanted,
            "outcome": life.outcome,
            "reason": life.reason,
            "certain": life.certain,
        }
        for capture, life in reported.lives
        if life.via != "rpc"
        and (life.wanted & 3 or life.delivery != "express")
        and not (life.acknowledged or life.stored or life.order_ack or life.accepted or life.acknowledgments)
    ]
    assert expected
    assert len(expected) < len(reported.lives) / 2
    assert ordered(ask("unacknowledged_messages")) == ordered(expected)


@pytest.mark.check
@pytest.mark.spark
def test_nacks_by_class_count_refusals_and_whose_messages_they_refuse(reported: Told, ask: Any) -> None:
    views = (message_view(record, acknowledgments=True) for record in reported.records)
    classes = [view["message_class"] for view in views if view is not None]
    refusals = [
        (one.message_class, life.queue)
        for _, life in reported.lives
        for one in life.acknowledgments
        if one.message_class & 0x8000
    ]
    expected = []
    for number in {one for one in classes if one is not None and one & 0x8000} | {one for one, _ in refusals}:
        queues = [queue for one, queue in refusals if one == number]
        expected.append(
            {
                "message_class": number,
                "class": f"0x{number:04x}",
                "symbol": MessageClass(number).name,
                "meaning": NACK_REASONS[number],
                "acknowledgments": classes.count(number),
                "messages": len(queues),
                "queues": sorted({queue for queue in queues if queue is not None}),
            }
        )
    assert len(expected) > 1
    assert ordered(ask("nacks_by_class")) == ordered(expected)


@pytest.mark.slow
@pytest.mark.spark
def test_readers_by_queue_count_peeks_and_receives(reported: Told, ask: Any) -> None:
    key = grouped(
        ((read.account or None, host(read.client), host(read.server), read.queue), read)
        for read in reported.reads
    )
    expected = []
    for (account, client, server, queue), reads in key.items():
        first, last = micros(read.at.time for read in reads)
        expected.append(
            {
                "account": account,
                "client": client,
                "server": server,
                "queue": queue,
                "peeks": sum(read.removes is False for read in reads),
                "receives": sum(read.removes is True for read in reads),
                "unknown": sum(read.removes is None for read in reads),
                "messages_read": sum(read.message is not None for read in reads),
                "first_time": first,
                "last_time": last,
            }
        )
    assert any(row["account"] for row in expected)
    assert all(sum(row[name] for row in expected) for name in ("peeks", "receives", "messages_read"))
    assert ordered(ask("readers_by_queue")) == ordered(expected)


def announced(reported: Told) -> Iterator[tuple[GUID, str | None, str, int | None, int | None]]:
    """Which address claims to be which queue manager, by what, from when to when."""
    for session in reported.sessions:
        sides = (
            (session.client_queue_manager, session.client, session.establish_request),
            (session.server_queue_manager, session.server, session.establish_response),
        )
        for guid, place, moment in sides:
            if guid is not None and moment is not None:
                yield guid, host(place), "sessions", session.first.time, session.last.time
    for record in reported.records:
        if record.type == "ping":
            yield record.packet.qm_guid, host(record.src), "pings", record.time, record.time
    for _, life in reported.lives:
        if life.queue_manager is not None and life.via == "tcp" and not life.hops:
            time = life.first.time
            yield life.queue_manager, host(life.src), "messages", time, time


@pytest.mark.check
@pytest.mark.spark
def test_cloned_queue_managers_are_those_of_several_addresses(reported: Told, ask: Any) -> None:
    uses = grouped(((str(one[0]), one[1]), one) for one in announced(reported))
    hosts = grouped(uses)
    nobody = {str(GUID(one)) for one in (NULL_GUID, SAMPLE_CLIENT, SAMPLE_SERVER)}
    expected = []
    for (guid, address), seen in uses.items():
        if len(hosts[guid]) < 2 or guid in nobody:
            continue
        times = [*(one[3] for one in seen), *(one[4] for one in seen)]
        first, last = micros(times)
        counts = {name: sum(one[2] == name for one in seen) for name in ("sessions", "pings", "messages")}
        row = {"queue_manager": guid, "address": address, "first_time": first, "last_time": last}
        expected.append({**row, **counts})
    assert sum(row["sessions"] for row in expected)
    assert sum(row["messages"] for row in expected)
    assert ordered(map(sorted_keys, ask("cloned_queue_managers"))) == ordered(map(sorted_keys, expected))


def sorted_keys(row: Row) -> Row:
    return dict(sorted(row.items()))


@pytest.mark.spark
def test_bodies_are_known_by_their_hash(reported: Told, ask: Any) -> None:
    bodies = grouped(
        (body_of(record), (record, view["queue"]))
        for record, view in reported.views()
        if record.error is None and body_of(record)
    )
    expected = []
    for body, seen in bodies.items():
        first, last = micros(record.time for record, _ in seen)
        expected.append(
            {
                "sha256": hashlib.sha256(body).hexdigest(),
                "messages": len(seen),
                "size": len(body),
                "queues": sorted({queue for _, queue in seen if queue is not None}),
                "first_time": first,
                "last_time": last,
            }
        )
    assert len(expected) > 10
    assert ordered(ask("bodies_by_sha256")) == ordered(expected)


@pytest.mark.spark
def test_findings_by_host_put_the_severest_first(reported: Told, ask: Any) -> None:
    pairs = (((host(one.evidence[0].src), one.id), (capture, one)) for capture, one in reported.findings)
    expected = []
    for (address, rule), found in grouped(pairs).items():
        for severity in {one.severity for _, one in found}:
            some = [(capture, one) for capture, one in found if one.severity == severity]
            first, last = micros(one.evidence[0].time for _, one in some)
            expected.append(
                {
                    "host": address,
                    "severity": severity,
                    "rule": rule,
                    "title": some[0][1].title,
                    "findings": len(some),
                    "captures": len({capture for capture, _ in some}),
                    "first_time": first,
                    "last_time": last,
                }
            )
    rows = ask("findings_by_host")
    ranks = [("high", "medium", "low", "info").index(row["severity"]) for row in rows]
    assert len(set(ranks)) > 2
    assert ranks == sorted(ranks)
    assert ordered(rows) == ordered(expected)


@pytest.mark.spark
def test_busiest_hosts_count_what_one_sent_to_another(reported: Told, ask: Any) -> None:
    pairs = grouped(
        ((host(record.src), host(record.dst)), (record, view)) for record, view in reported.views()
    )
    expected = []
    for (sender, receiver), seen in pairs.items():
        first, last = micros(record.time for record, _ in seen)
        expected.append(
            {
                "sender": sender,
                "receiver": receiver,
                "messages": len(seen),
                "bytes": sum(record.length for record, _ in seen),
                "queues": len({view["queue"] for _, view in seen} - {None}),
                "first_time": first,
                "last_time": last,
            }
        )
    assert any(":" in (row["sender"] or "") for row in expected)
    assert ordered(ask("busiest_hosts")) == ordered(expected)


@pytest.mark.spark
def test_failed_sessions_were_refused_or_never_opened(reported: Told, ask: Any) -> None:
    expected = [
        (session.capture, session.client, session.server, session.state, session.refused_by)
        for session in reported.sessions
        if session.state in ("refused", "refused_tcp")
        or session.refused_by is not None
        or (session.started and session.reached != "open")
    ]
    rows = ask("failed_sessions")
    found = [
        tuple(row[key] for key in ("capture", "client", "server", "state", "refused_by")) for row in rows
    ]
    assert {"refused_tcp", "tcp_only"} <= {row[3] for row in found} | {row["reached"] for row in rows}
    assert ordered_tuples(found) == ordered_tuples(expected)


def ordered_tuples(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.spark
def test_slow_acknowledgments_are_told_slowest_first(reported: Told, ask: Any) -> None:
    waits = sorted(
        (
            (life.acknowledged.time - life.first.time) / 1e6
            for _, life in reported.lives
            if life.acknowledged is not None
            and life.acknowledged.time is not None
            and life.first.time is not None
        ),
        reverse=True,
    )
    rows = ask("slow_acknowledgments")
    assert len(rows) == min(100, len(waits)) > 10
    assert all(math.isclose(row["milliseconds"], wait) for row, wait in zip(rows, waits, strict=False))
    slowest = rows[0]
    [life] = [one for _, one in reported.lives if one.message_id == slowest["message_id"]][:1]
    assert (slowest["src"], slowest["dst"], slowest["queue"]) == (life.src, life.dst, life.queue)


@pytest.mark.spark
def test_anomalies_by_code_count_broken_rules(reported: Told, ask: Any) -> None:
    seen = grouped(
        (view["code"], (record, view))
        for record in reported.records
        for view in map(anomaly_view, record.anomalies)
    )
    expected = []
    for code, pairs in seen.items():
        first, last = micros(record.time for record, _ in pairs)
        expected.append(
            {
                "code": code,
                "anomalies": len(pairs),
                "captures": len({record.capture for record, _ in pairs}),
                "hosts": len({host(record.src) for record, _ in pairs} - {None}),
                "spec": min(view["spec"] for _, view in pairs),
                "first_time": first,
                "last_time": last,
            }
        )
    assert expected
    assert ordered(ask("anomalies_by_code")) == ordered(expected)


@pytest.mark.spark
def test_damaged_captures_say_what_is_wrong(reported: Told, ask: Any, run: JobRun) -> None:
    rows = ask("damaged_captures")
    assert {row["capture"]: row["damage"] for row in rows} == reported.damage
    assert len(rows) == 2
    assert {row["run"] for row in rows} == {run.name}


@pytest.mark.spark
def test_what_a_run_notes_is_a_view(spark: SparkSession, run: JobRun) -> None:
    [row] = spark.table("runs").collect()
    assert row.name == run.name
    assert row.rows == run.rows
    assert row.damage == list(run.damage)
    assert (row.options, row.inputs) == ({}, list(map(str, CAPTURES)))
    assert {*spark.table("runs").columns} == {*JobRun.__struct_fields__}
    assert {*spark.table("captures").columns, "sources", "contents", "replaces"} == {*Entry.__struct_fields__}
    [entry] = spark.sql("SELECT * FROM captures WHERE capture LIKE '%demo.pcap'").collect()
    [source] = spark.sql("SELECT * FROM sources WHERE capture LIKE '%demo.pcap'").collect()
    assert (source.path, source.digest) == (entry.capture, entry.digest)
    for table, count in entry.rows.items():
        assert spark.table(table).where(f"capture = '{entry.capture}'").count() == count > 0


@pytest.mark.spark
def test_rows_have_the_day_of_their_time(spark: SparkSession, run: JobRun) -> None:
    rows = spark.sql("SELECT day, count(*) AS n FROM messages GROUP BY day").collect()
    assert sum(row.n for row in rows) == run.rows["messages"]
    # What is about a file as a whole has no time.
    assert spark.sql("SELECT 1 FROM messages WHERE NOT day <=> to_date(time)").count() == 0


@pytest.mark.spark
@pytest.mark.check
def test_tables_that_were_not_filled_are_empty_and_can_be_asked(spark: SparkSession, tmp_path: Path) -> None:
    Store(str(tmp_path)).make()
    register_views(spark, str(tmp_path))
    assert {table.name for table in spark.catalog.listTables()} >= set(VIEWS)
    for table in TABLES:
        assert spark.table(table).columns == delta_schema(table).names
    assert [name for name, query in QUERIES.items() if spark.sql(query.sql).collect()] == []


@pytest.mark.slow
@pytest.mark.spark
def test_only_the_views_that_a_statement_names_are_made(spark: SparkSession, tmp_path: Path) -> None:
    Store(str(tmp_path)).make()
    for view in VIEWS:
        spark.catalog.dropTempView(view)
    register_views(spark, str(tmp_path), "SELECT * FROM Messages m JOIN `captures` USING (capture)")
    assert {table.name for table in spark.catalog.listTables()} == {"messages", "captures"}
    register_views(spark, str(tmp_path), "SHOW TABLES")
    assert {table.name for table in spark.catalog.listTables()} == set(VIEWS)


@pytest.mark.spark
def test_a_folder_without_tables_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(MsmqWireError, match=f"{folder} holds no tables: msmq-wire spark run --output"):
            register_views(spark, str(folder))


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_a_named_query_only_reads_and_has_one_line_of_meaning(query: Any) -> None:
    assert query_problem(query.sql) is None
    assert query.meaning.endswith(".")
    assert "\n" not in query.meaning
    assert len(query.meaning) <= 100
    assert msgspec.json.encode(query.sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "  select\t1;",
        "(SELECT 1) UNION (SELECT 2)",
        "-- DROP TABLE x\nSELECT 1",
        "/* first */ WITH a AS (SELECT 1) SELECT * FROM a",
        "SHOW TABLES",
        "DESCRIBE messages",
        "desc messages",
        "EXPLAIN SELECT 1",
        "SELECT 'insert into messages' AS a, `delete from x` FROM y -- update a set b",
        "SELECT update, merge FROM x",
    ],
)
def test_a_statement_that_reads_is_run(sql: str) -> None:
    assert query_problem(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW messages",
        "INSERT INTO messages SELECT * FROM messages",
        "WITH a AS (SELECT 1) INSERT INTO messages SELECT * FROM a",
        "WITH a AS (SELECT 1) insert\n overwrite messages SELECT * FROM a",
        "WITH a AS (SELECT '--') INSERT INTO b SELECT * FROM a",
        "CREATE TABLE a AS SELECT 1",
        "-- SELECT\nTRUNCATE TABLE messages",
        "/* SELECT */ DELETE FROM messages",
        "FROM messages INSERT INTO a SELECT *",
        "SET spark.sql.shuffle.partitions = 1",
        "BEGIN SELECT 1; DROP TABLE a; END",
        "selection",
    ],
)
def test_a_statement_that_may_change_something_is_refused(sql: str) -> None:
    assert "only SELECT" in (query_problem(sql) or "")


@pytest.mark.parametrize("sql", ["", "  ", ";", "-- nothing", "/* nothing */"])
def test_no_statement_is_refused(sql: str) -> None:
    assert query_problem(sql) == "there is no statement"
