"""``msmq-wire spark run`` and ``spark sql`` with a session: what is written, printed and how they end."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from msmq_wire import read_capture
from msmq_wire.cli.app import main
from msmq_wire.cli.commands.spark_sql import Engine
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.message import message_view
from msmq_wire.spark.job import DEFAULT_TABLES
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.session import is_submitted, session, spark_problem
from msmq_wire.tables.engine_views import ENGINES, engine_views
from msmq_wire.tables.store.store import Store
from msmq_wire.tables.table_schemas import BOOKS, TABLES

pytestmark = [pytest.mark.spark, pytest.mark.needs("pyspark")]


class Outcome(NamedTuple):
    """How a run ended and what it printed."""

    status: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cli]:
    """The command line in this process, with the session that runs."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*words: object) -> Outcome:
        status = main(["spark", *map(str, words)])
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    yield run
    # A command uses the session that runs, and leaves it running.
    assert SparkSession.getActiveSession() is not None


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, captures: Path) -> Path:
    """The tables of one capture."""
    output = tmp_path_factory.mktemp("tables")
    assert main(["spark", "run", "--quiet", str(captures / "demo.pcap"), "--output", str(output)]) == 0
    return output


def test_sql_prints_the_views_of_other_engines(cli: Cli, tables: Path) -> None:
    assert [*Engine] == [*ENGINES]
    snapshot = Store(str(tables)).snapshot()
    there = [table for table in (*TABLES, *BOOKS) if snapshot.table(table) is not None]
    for engine in Engine:
        expected = engine_views(engine, snapshot.place, there)
        assert cli("sql", "--tables", tables, "--views", engine) == (0, expected, "")
    outcome = cli("sql", "--tables", tables, "--views", "duckdb", "SELECT 1")
    assert outcome.status == 2
    assert "--views asks nothing" in outcome.err
    assert cli("sql", "--tables", tables.parent, "--views", "duckdb").status == 1


@pytest.mark.slow
def test_run_says_what_it_did_and_does_it_once(cli: Cli, captures: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(captures / "demo.pcap", folder / "a.pcap")
    (folder / "notes.txt").write_text("notes", encoding="utf-8")
    outcome = cli("run", "--input", folder, "--output", tmp_path / "out")
    assert (outcome.status, outcome.out) == (0, "")
    summary = outcome.err.splitlines()[-1]
    assert summary.startswith("1 capture decoded, 1 other file left out; 25 frames read, 25 understood, ")
    assert "rows: 13 messages, " in summary
    assert "packets" not in summary
    assert summary.endswith(f"tables in {tmp_path / 'out'}")
    shutil.copy(captures / "path_ipv6.pcap", folder / "b.pcap")
    outcome = cli("run", "--input", folder, "--output", tmp_path / "out")
    assert outcome.status == 0
    assert outcome.err.splitlines()[-1].startswith("1 capture decoded, 1 there already, ")
    outcome = cli("run", "--input", folder, "--output", tmp_path / "out", "--force")
    assert outcome.err.splitlines()[-1].startswith("2 captures decoded, 1 other file")
    assert cli("run", "--input", folder, "--output", tmp_path / "out", "--quiet") == (0, "", "")


@pytest.mark.check
def test_run_asks_for_what_the_options_say(
    cli: Cli, captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ReadOptions, frozenset[str], bool]] = []

    def record(spark: SparkSession, output: str, options: ReadOptions, **more: Any) -> None:
        asked.append((output, options, frozenset(more["tables"]), more["again"]))
        raise MsmqWireError("that is all")

    monkeypatch.setattr("msmq_wire.spark.job.run_job", record)
    keytab = tmp_path / "a,b.keytab"
    shutil.copy(captures.parent / "rpc_captures" / "rpc_kerberos.keytab", keytab)
    for name in ("passwords", "hashes"):
        (tmp_path / name).write_text("0" * 32, encoding="utf-8")
    demo = captures / "demo.pcap"
    outcome = cli(
        *("run", "-i", captures, demo, "-o", "out", "--scope", "group", "--glob", "*.p?", "--recursive"),
        *("--port", 1801, "--port", 3527, "--host", "192.0.2.0/24", "--host", "::1", "--fail", "--force"),
        *("--since", "1970-01-01T00:00:01Z", "--until", "1970-01-01T00:00:02Z", "--split-bytes", "64k"),
        *("--nt-password-file", tmp_path / "passwords", "--nt-hash-file", tmp_path / "hashes"),
        *("--keytab", keytab, "--table", "messages", "--table", "calls", "--packets", "-q"),
    )
    assert outcome == (1, "", "msmq-wire: that is all\n")
    [(output, options, tables, again)] = asked
    assert (output, again) == ("out", True)
    assert tables == {"messages", "calls", "packets"}
    assert options == ReadOptions(
        paths=(str(captures), str(demo)),
        glob="*.p?",
        recursive=True,
        split_bytes=1 << 16,
        ports=frozenset((1801, 3527)),
        hosts=("192.0.2.0/24", "::1/128"),
        since=1_000_000_000,
        until=2_000_000_000,
        scope="group",
        on_error="fail",
        nt_password_file=str(tmp_path / "passwords"),
        nt_hash_file=str(tmp_path / "hashes"),
        keytabs=(str(keytab),),
    )
    cli("run", demo, "-o", "out")
    assert asked[1] == ("out", ReadOptions(paths=(str(demo),)), frozenset(DEFAULT_TABLES), False)


@pytest.mark.check
def test_what_is_damaged_is_said_and_the_rest_written(cli: Cli, captures: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.pcap"
    text.write_text("no capture\n" * 9, encoding="utf-8")
    cut, gone = captures / "path_cut_file.pcap", tmp_path / "gone.pcap"
    outcome = cli("run", "-i", cut, text, gone, "-o", tmp_path / "out")
    assert outcome.status == 1
    lines = outcome.err.splitlines()
    damage = [line for line in lines if line.startswith("msmq-wire: ")]
    assert len(damage) == 3
    assert f"msmq-wire: {cut}: the file is cut inside a record of 60 bytes" in damage
    assert f"msmq-wire: cannot open {gone}: No such file or directory" in damage
    assert any(line.startswith(f"msmq-wire: {text} is ") for line in damage)
    assert lines[-1].startswith("3 captures decoded; ")
    rows = cli(
        "sql", "--tables", tmp_path / "out", "SELECT path FROM errors WHERE type = 'error'", "--format", "csv"
    )
    assert sorted(rows.out.splitlines()[1:]) == sorted(map(str, (cut, gone, text)))


@pytest.mark.slow
def test_fail_ends_at_the_first_damage(cli: Cli, captures: Path, tmp_path: Path) -> None:
    outcome = cli("run", "-i", captures / "path_cut_file.pcap", "-o", tmp_path / "out", "--fail", "-q")
    assert outcome.status == 1
    assert outcome.err.count("\n") == 1
    assert "the file is cut inside a record" in outcome.err


@pytest.mark.slow
def test_an_output_that_cannot_be_is_one_line(cli: Cli, captures: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    outcome = cli("run", "-q", "-i", captures / "demo.pcap", "-o", file)
    assert outcome.status == 1
    assert outcome.err.startswith(f"msmq-wire: cannot write {file}")
    assert outcome.err.count("\n") == 1
    older = tmp_path / "older" / "captures"
    older.mkdir(parents=True)
    (older / "0.json").write_text("{}", encoding="utf-8")
    outcome = cli("run", "-q", "-i", captures / "demo.pcap", "-o", older.parent)
    assert outcome.status == 1
    assert outcome.err.startswith(f"msmq-wire: {older.parent} holds tables of another version of msmq-wire: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.slow
def test_compact_says_what_it_put_together(cli: Cli, captures: Path, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    for name in ("demo.pcap", "path_ipv6.pcap"):
        assert cli("run", "-q", "-i", captures / name, "-o", tables).status == 0
    query = ("sql", "--tables", tables, "SELECT * FROM messages ORDER BY capture, id", "--format", "jsonl")
    before = cli(*query)
    outcome = cli("compact", "--tables", tables, "--target-size", "64m")
    assert (outcome.status, outcome.out) == (0, "")
    last = outcome.err.splitlines()[-1].split()
    assert (last[0], last[6:8]) == ("14", ["7", "files"])
    assert cli(*query) == before
    assert cli("compact", "--tables", tables).err.splitlines()[-1] == "nothing to put together"
    assert cli("compact", "--tables", tables, "--quiet") == (0, "", "")
    [runs] = [line for line in cli("status", tables).out.splitlines() if line.startswith("runs ")]
    assert runs.split()[1:4] == ["2", "0", "1"]


def test_a_key_that_cannot_be_read_is_told_before_a_task(cli: Cli, captures: Path, tmp_path: Path) -> None:
    words = ("--nt-password-file", tmp_path / "none")
    outcome = cli("run", "-q", "-i", captures / "demo.pcap", "-o", tmp_path / "out", *words)
    assert outcome.status == 1
    assert outcome.err == "msmq-wire: ntPasswordFile: the file cannot be read: No such file or directory\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.check
def test_a_query_prints_the_rows_that_messages_has(cli: Cli, tables: Path, captures: Path) -> None:
    views = (message_view(record) for record in read_capture(captures / "demo.pcap", streams=True))
    expected = [(view["id"], view["queue"], view["label"]) for view in views if view is not None]
    statement = "SELECT id, queue, label, time FROM messages WHERE type = 'user_message' ORDER BY id"
    reported = cli("sql", "--tables", tables, statement, "--format", "jsonl")
    rows = [json.loads(line) for line in reported.out.splitlines()]
    assert [(row["id"], row["queue"], row["label"]) for row in rows] == expected
    times = [
        record.time // 1000 % 1_000_000 for record in read_capture(captures / "demo.pcap") if record.time
    ]
    assert {int(row["time"][20:26]) for row in rows} <= set(times)
    assert all(row["time"].endswith("Z") for row in rows)
    assert reported.err == f"{len(expected)} rows\n"
    table = list(
        csv.DictReader(io.StringIO(cli("sql", "--tables", tables, statement, "--format", "csv").out))
    )
    assert [(int(row["id"]), row["queue"], row["label"]) for row in table] == expected
    lines = cli("sql", "--tables", tables, statement, "--quiet")
    assert lines.err == ""
    assert lines.out.splitlines()[0].split() == ["id", "queue", "label", "time"]
    assert all(
        label in line for (_, _, label), line in zip(expected, lines.out.splitlines()[1:], strict=True)
    )


@pytest.mark.check
def test_a_named_query_is_asked_by_its_name(cli: Cli, tables: Path) -> None:
    rows = cli("sql", "--tables", tables, "--query", "top_queues", "--format", "jsonl").out.splitlines()
    queues = {json.loads(row)["queue"]: json.loads(row)["messages"] for row in rows}
    assert queues["DIRECT=OS:msg01\\private$\\orders"] == 1


@pytest.mark.check
def test_rows_over_the_limit_are_counted_and_never_dropped_in_silence(cli: Cli, tables: Path) -> None:
    statement = "SELECT explode(sequence(1, 25)) AS n"
    reported = cli("sql", "--tables", tables, statement, "--limit", "10", "--quiet", "--format", "csv")
    assert reported.out.split() == ["n", *map(str, range(1, 11))]
    assert reported.err == "10 rows shown, 15 more are not: --limit 0 shows all\n"
    assert cli("sql", "--tables", tables, statement, "--limit", "25").err == "25 rows\n"
    reported = cli("sql", "--tables", tables, statement, "--limit", "0")
    assert (len(reported.out.splitlines()), reported.err) == (26, "25 rows\n")


@pytest.mark.slow
def test_no_rows_are_said_to_be_none(cli: Cli, tables: Path) -> None:
    assert cli("sql", "--tables", tables, "SELECT * FROM packets") == (0, "", "no rows\n")


@pytest.mark.check
def test_cells_control_no_terminal_and_no_spreadsheet(cli: Cli, tables: Path) -> None:
    statement = "SELECT '\\u001b[31mred' AS `a\\u001bb`, '=1+1' AS formula, X'ff00' AS data, 1 AS n, 2 AS n"
    out = cli("sql", "--tables", tables, statement).out
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert out.splitlines()[0].split()[1:] == ["formula", "data", "n", "n_2"]
    out = cli("sql", "--tables", tables, statement, "--format", "csv").out
    assert "\x1b" not in out
    assert out.splitlines()[1] == "\\x1b[31mred,'=1+1,/wA=,1,2"
    row = json.loads(cli("sql", "--tables", tables, statement, "--format", "jsonl").out)
    assert (row["data"], row["n"], row["n_2"]) == ("/wA=", 1, 2)


@pytest.mark.slow
def test_nested_values_are_json_in_a_cell(cli: Cli, tables: Path) -> None:
    statement = "SELECT named_struct('a', 1, 'b', array(true, null)) AS one, map('k', 2) AS two"
    out = cli("sql", "--tables", tables, statement, "--format", "csv").out
    assert list(csv.reader(io.StringIO(out)))[1] == ['{"a":1,"b":[true,null]}', '{"k":2}']


@pytest.mark.slow
def test_a_plan_is_printed_in_lines(cli: Cli, tables: Path) -> None:
    lines = cli("sql", "--tables", tables, "EXPLAIN SELECT id FROM messages").out.splitlines()
    assert lines[0] == "== Physical Plan =="
    assert len(lines) > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "status", "message"),
    [
        ("SELECT nope FROM messages", 2, "SQL: [UNRESOLVED_COLUMN"),
        ("SELECT 1 FROM (", 2, "SQL: [PARSE_SYNTAX_ERROR]"),
        ("SELECT * FROM nowhere", 2, "SQL: [TABLE_OR_VIEW_NOT_FOUND]"),
        ("SELECT 1 / n FROM (SELECT id - id AS n FROM messages)", 1, "[DIVIDE_BY_ZERO]"),
    ],
)
def test_sql_that_is_wrong_is_one_line(
    cli: Cli, tables: Path, statement: str, status: int, message: str
) -> None:
    outcome = cli("sql", "--tables", tables, statement)
    assert (outcome.status, outcome.out) == (status, "")
    assert outcome.err.startswith(f"msmq-wire: {message}")
    assert outcome.err.count("\n") == 1


def test_an_interruption_is_one_line(
    cli: Cli, captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("msmq_wire.spark.job.run_job", interrupted)
    outcome = cli("run", "-q", "-i", captures / "demo.pcap", "-o", tmp_path / "out")
    assert outcome == (130, "", "msmq-wire: interrupted\n")


def test_the_session_that_runs_is_the_session(spark: SparkSession) -> None:
    name = spark.sparkContext.appName
    assert session(master="local[7]", name="another") is spark
    assert (spark.sparkContext.appName, spark.sparkContext.master) == (name, "local[2]")
    assert not is_submitted()


def test_the_error_of_a_task_is_its_last_line(spark: SparkSession) -> None:
    def fail(_: int) -> int:
        raise LookupError("nothing\nin there")

    with pytest.raises(Exception, match="nothing") as caught:
        spark.sparkContext.parallelize([1], 1).map(fail).collect()
    assert isinstance(caught.value, Exception)
    assert spark_problem(caught.value) == "LookupError: nothing"
