"""``msmq-wire spark`` as far as no session is needed: usage, what is missing, what is not loaded."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row

from msmq_wire.cli.commands.spark_run import TableName
from msmq_wire.cli.spark_rows import cell_of, distinct_names, plain_value
from msmq_wire.spark.queries import QUERIES
from msmq_wire.tables.table_schemas import TABLES

pytestmark = pytest.mark.needs("pyspark")

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"
CLI = "import sys; from msmq_wire.cli.app import main; sys.exit(main())"

Run = Callable[..., Any]


def fresh(source: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", source, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.slow
def test_help_and_bad_usage_load_nothing_of_spark() -> None:
    source = (
        "import sys; from msmq_wire.cli.app import main\n"
        "statuses = [main(words) for words in (['--help'], ['spark', 'run', '--help'], ['spark', 'run'], "
        "['spark', 'sql', '--list'], ['spark', 'sql', 'DROP TABLE x'])]\n"
        "print(statuses, [name for name in ('pyspark', 'py4j', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    done = fresh(source)
    assert done.stdout.splitlines()[-1] == "[0, 0, 2, 0, 2] []"


@pytest.mark.slow
def test_help_and_bad_usage_need_no_spark(tmp_path: Path) -> None:
    source = (
        "import sys\nfor name in ('pyspark', 'pyarrow', 'pandas', 'numpy'): sys.modules[name] = None\n"
        "from msmq_wire.cli.app import main\n"
        f"print(*(main(words) for words in (['spark', 'run', '--help'], ['spark', 'sql', '--list'], "
        f"['spark', 'run', '-i', 'x', '-o', 'y', '--port', '0'], ['spark', 'sql', '--query', 'x'], "
        f"['spark', 'run', '-i', {str(DEMO)!r}, '-o', {str(tmp_path / 'out')!r}], "
        f"['spark', 'sql', '--tables', {str(tmp_path)!r}, 'SELECT 1'])))"
    )
    done = fresh(source)
    assert done.stdout.splitlines()[-1] == "0 0 2 2 1 1"
    missing = 'msmq-wire: Spark is not installed: pip install "msmq-wire[spark]"'
    assert done.stderr.splitlines()[-2:] == [missing, missing]
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_without_java_one_line_says_so(tmp_path: Path) -> None:
    done = fresh(CLI, "spark", "run", "-q", "-i", DEMO, "-o", tmp_path / "out", PATH="", JAVA_HOME="")
    assert done.returncode == 1
    expected = "msmq-wire: Java 17 is needed: there is no java on PATH and JAVA_HOME is not set\n"
    assert done.stderr == expected
    assert not (tmp_path / "out").exists()


def test_the_group_alone_shows_its_help(run: Run) -> None:
    outcome = run("spark")
    assert outcome.status == 2
    assert outcome.out.startswith("Usage: msmq-wire spark ")
    assert all(f"\n  {name} " in outcome.out for name in ("run", "sql", "compact", "package"))


def test_the_tables_of_the_help_are_those_of_the_job() -> None:
    assert tuple(TableName) == TABLES


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "o"], "Invalid value for --input: name at least one capture or folder"),
        (["-i", "x"], "Missing option '--output' / '-o'"),
        (["-i", "x", "-o", "o", "--table", "frames"], "Invalid value for '--table': 'frames' is not one of"),
        (["-i", "x", "-o", "o", "--scope", "folder"], "'folder' is not one of"),
        (["-i", "x", "-o", "o", "--split-bytes", "12q"], "Invalid value for --split-bytes: the option"),
        (["-i", "x", "-o", "o", "--port", "65536"], "Invalid value for --port: the option ports"),
        (["-i", "x", "-o", "o", "--host", "msg01"], "Invalid value for --host: the option hosts"),
        (["-i", "x", "-o", "o", "--since", "monday"], "Invalid value for --since: the option since"),
        (["-i", "x", "-o", "o", "--until", "1"], "Invalid value for --until: the option until"),
        (["-i", "x", "-o", "o", "--driver-memory", "big"], "Invalid value for --driver-memory: big"),
    ],
)
def test_bad_usage_of_run_names_the_option(run: Run, words: list[str], message: str) -> None:
    outcome = run("spark", "run", *words)
    assert outcome.status == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_capture_that_is_not_there_ends_before_spark_starts(run: Run, tmp_path: Path) -> None:
    outcome = run("spark", "run", "-i", tmp_path / "none", tmp_path / "nor.pcap", "-o", tmp_path / "out")
    assert outcome.status == 1
    lines = outcome.err.splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        f"cannot open {tmp_path / 'none'}: No such file or directory",
        f"cannot open {tmp_path / 'nor.pcap'}: No such file or directory",
    ]
    assert not (tmp_path / "out").exists()


def test_a_folder_without_captures_says_what_would_find_some(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    outcome = run("spark", "run", "-i", folder, "-o", tmp_path / "out")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == f"msmq-wire: no capture in {folder}; --recursive looks deeper\n"
    shutil.copy(DEMO, folder / "trace.bin")
    outcome = run("spark", "run", "-i", folder, "-o", tmp_path / "out", "--recursive")
    more = '1 file there not named like one: --glob "*" reads all'
    assert outcome.err == f"msmq-wire: no capture in {folder}; {more}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "ask one thing"),
        (["SELECT 1", "--query", "top_queues"], "ask one thing"),
        (["SELECT 1"], "Invalid value for --tables: name the folder of the tables"),
        (["--query", "nothing"], "Invalid value for --query: 'nothing' is no query; there are top_queues, "),
        (["--tables", ".", "DROP VIEW messages"], "Invalid value for SQL: only SELECT, WITH, SHOW"),
        (["--tables", ".", "SELECT 1", "--limit", "-1"], "--limit"),
        (["--list", "SELECT 1"], "--list asks nothing"),
    ],
)
def test_bad_usage_of_sql_says_what_is_wrong(run: Run, words: list[str], message: str) -> None:
    outcome = run("spark", "sql", *words)
    assert outcome.status == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_folder_that_holds_no_tables_ends_before_spark_starts(run: Run, tmp_path: Path) -> None:
    outcome = run("spark", "sql", "--tables", tmp_path, "SELECT 1")
    assert outcome.status == 1
    assert outcome.err.startswith(f"msmq-wire: {tmp_path} holds no tables: ")
    outcome = run("spark", "sql", "--tables", tmp_path / "none", "SELECT 1")
    assert outcome.status == 1
    assert outcome.err.startswith(f"msmq-wire: {tmp_path / 'none'} holds no tables: ")


def test_queries_are_listed_with_a_line_each(run: Run) -> None:
    lines = run("spark", "sql", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["name", *QUERIES]
    rows = [json.loads(line) for line in run("spark", "sql", "--list", "--format", "jsonl").out.splitlines()]
    assert [row["sql"] for row in rows] == [query.sql for query in QUERIES.values()]
    reported = csv.DictReader(io.StringIO(run("spark", "sql", "--list", "--format", "csv").out))
    assert [row["meaning"] for row in reported] == [query.meaning for query in QUERIES.values()]


@pytest.mark.slow
def test_package_tells_what_it_wrote_and_how_to_run_it(run: Run, tmp_path: Path) -> None:
    outcome = run("spark", "package", "--to", tmp_path / "a job")
    archive, launcher = (tmp_path / "a job" / name for name in ("msmq_wire.zip", "msmq_wire_job.py"))
    assert (outcome.status, outcome.out) == (0, f"{archive}\n{launcher}\n")
    assert outcome.err.startswith(f"spark-submit --py-files '{archive}' '{launcher}' run ")
    assert run("spark", "package", "--to", tmp_path / "b", "--quiet").err == ""
    assert run("spark", "package").status == 2


@pytest.mark.slow
def test_package_again_is_no_harm_and_over_another_file_needs_force(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        assert run("spark", "package", "--to", tmp_path).status == 0
    (tmp_path / "msmq_wire_job.py").write_text("mine", encoding="utf-8")
    outcome = run("spark", "package", "--to", tmp_path)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "msmq_wire_job.py is there: --force writes over it" in outcome.err
    assert (tmp_path / "msmq_wire_job.py").read_text(encoding="utf-8") == "mine"
    assert run("spark", "package", "--to", tmp_path, "--force").status == 0
    assert "spark-submit" in (tmp_path / "msmq_wire_job.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [("package", "--to"), ("run", DEMO, "--output")])
def test_a_link_to_a_folder_is_none(run: Run, tmp_path: Path, command: tuple[object, ...]) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    outcome = run("spark", *command, tmp_path / "link")
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "is a link to" in outcome.err
    assert list((tmp_path / "folder").iterdir()) == []


def test_package_says_when_it_cannot_write(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    outcome = run("spark", "package", "--to", tmp_path / "file")
    assert outcome.status == 1
    assert outcome.err == f"msmq-wire: cannot write {tmp_path / 'file'}: File exists\n"


def test_columns_of_one_name_stay_apart() -> None:
    assert distinct_names(["a", "b", "a", "a_2", "a"]) == ["a", "b", "a_3", "a_2", "a_4"]
    assert distinct_names([]) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.5, 0.5),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (Decimal("3.00"), 3),
        (Decimal("0.25"), 0.25),
        (datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC), "2026-01-31T12:00:00.000005Z"),
        (datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))), "2026-01-31T10:00:00Z"),
        (datetime(2026, 1, 31).date(), "2026-01-31"),
        (bytearray(b"\x00\xff"), "AP8="),
        (Row(frame=1, data=b"a"), {"frame": 1, "data": "YQ=="}),
        ([Row(frame=None)], [{"frame": None}]),
        ({"messages": 1, 2: [b""]}, {"messages": 1, "2": [""]}),
        (timedelta(seconds=90), "0:01:30"),
    ],
    ids=repr,
)
def test_a_value_of_any_type_can_be_printed(value: object, expected: object) -> None:
    assert plain_value(value) == expected
    cell = cell_of(expected)
    assert cell == (
        json.dumps(expected, separators=(",", ":")) if isinstance(expected, dict | list) else expected
    )
