"""Tables that somebody made to do harm: one line says so, and nothing is read, written or deleted."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.tables.store import table_folders
from msmq_wire.tables.store.snapshot import open_table
from msmq_wire.tables.store.table_files import TableWriter
from msmq_wire.tables.table_schemas import table_schemas
from tests.tables.store.filled_stores import fill

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
DEMO, OTHER = FOLDER / "demo.pcap", FOLDER / "path_ipv6.pcap"
COMMANDS = {
    "status": ("status", "tables"),
    "export": ("export", "--tables", "tables", "--to", "copy"),
    "forget": ("forget", str(DEMO), "--tables", "tables"),
    "vacuum": ("vacuum", "--tables", "tables", "--older-than", "0", "--force"),
    "sql": ("sql", "--tables", "tables", "SELECT * FROM messages"),
    "compact": ("compact", "--tables", "tables"),
}
READERS = ("status", "export", "forget", "vacuum", "sql", "compact")

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of two captures, and one run."""
    folder = tmp_path_factory.mktemp("whole")
    fill(folder / "tables", DEMO, OTHER).add_run({"name": "x", "captures": 2})
    return folder / "tables"


@pytest.fixture
def tables(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables beside a file that is none of theirs, in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole, tmp_path / "tables")
    (tmp_path / "canary.txt").write_text("mine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "part-0.parquet").write_text("mine")
    return tmp_path / "tables"


def listing(folder: Path) -> dict[str, str]:
    """What there is in a folder, by path: a hash of each file, and where a link leads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        else:
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return found


def commit(tables: Path, table: str, *actions: object) -> None:
    """Add a commit to the log of a table."""
    log = tables / table / "_delta_log"
    version = len(list(log.glob("*.json")))
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))


def added(path: str, **more: object) -> dict[str, Any]:
    """An action that adds a file to a table of rows."""
    values = {"partitionValues": {"day": None}, "size": 10, "modificationTime": 1, "dataChange": True}
    return {"add": {"path": path, **values, "stats": '{"numRecords":1}', **more}}


def refused(run: Run, command: str, folder: Path) -> str:
    """What a command says of damaged tables; it must change nothing."""
    before = listing(folder)
    outcome = run("spark", *COMMANDS[command])
    lines = [line for line in outcome.err.splitlines() if "WARNING" not in line]
    assert (outcome.status, outcome.out, len(lines)) == (1, "", 1), outcome
    said: str = lines[0].replace(str(folder), "")
    assert said.startswith("msmq-wire: damaged tables in /tables: ")
    assert len(said) < 200
    assert listing(folder) == before
    return said


PATHS = [
    "../../canary.txt",
    "day=2026-11-20/../../../canary.txt",
    "%2e%2e/%2e%2e/canary.txt",
    "%2e%2e%2f%2e%2e%2fcanary.txt",
    "/etc/hostname",
    "//etc/hostname",
    "file:///etc/hostname",
    "s3://bucket/key",
    "http://127.0.0.1:1/x.parquet",
    "C:/x.parquet",
    "day=2026-11-20//part-0.parquet",
    "day=2026-11-20/./part-0.parquet",
    "day=2026-11-20\\part-0.parquet",
    "_delta_log/00000000000000000000.json",
    "part-0.parquet/",
    "part-0.parquet\n",
    "part-" + "x" * 5000,
    "",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_the_log_that_leaves_the_table_is_refused(run: Run, tables: Path, path: str) -> None:
    commit(tables, "messages", added(path))
    assert "the log of messages names" in refused(run, "export", tables.parent)


@pytest.mark.parametrize("command", READERS)
def test_every_reader_refuses_a_path_that_leaves_the_table(run: Run, tables: Path, command: str) -> None:
    # The last table of all: what comes before it is not touched, either.
    commit(tables, "errors", added("../../canary.txt"))
    assert "../../canary.txt" in refused(run, command, tables.parent)


@pytest.mark.parametrize("table", ["captures", "sources", "runs"])
def test_the_tables_about_captures_are_checked_too(run: Run, tables: Path, table: str) -> None:
    commit(tables, table, added("../../canary.txt", partitionValues={}))
    assert f"the log of {table} names ../../canary.txt" in refused(run, "status", tables.parent)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"size": -1}, "Expected `int` >= 0"),
        ({"stats": '{"numRecords":-5}'}, "Expected `int` >= 0"),
    ],
)
def test_a_size_or_a_count_that_cannot_be_is_refused(
    run: Run, tables: Path, more: dict[str, object], said: str
) -> None:
    commit(tables, "messages", added("part-0.parquet", **more))
    assert said in refused(run, "status", tables.parent)


LINKS = {
    "table": "messages",
    "partition": "messages/day=2020-01-01",
    "log": "messages/_delta_log/00000000000000000009.json",
    "log folder": "messages/_delta_log",
    "file": "messages/day=2026-11-20/part-0.parquet",
}


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("where", LINKS)
def test_a_link_in_a_table_is_refused(run: Run, tables: Path, where: str, command: str) -> None:
    path = tables / LINKS[where]
    target = tables.parent / "outside"
    if path.exists():
        shutil.rmtree(target)
        path.rename(target)
    path.symlink_to(target if where in ("table", "partition", "log folder") else tables.parent / "canary.txt")
    assert f"{LINKS[where]} is a link" in refused(run, command, tables.parent)


def test_what_is_neither_file_nor_folder_is_refused(run: Run, tables: Path) -> None:
    os.mkfifo(tables / "messages" / "_delta_log" / "00000000000000000009.json")
    outcome = run("spark", "status", "tables")
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert "00000000000000000009.json is neither a file nor a folder" in outcome.err


@pytest.mark.slow
def test_vacuum_deletes_only_what_a_writer_made(run: Run, tables: Path) -> None:
    day = tables / "messages" / "day=2026-11-20"
    for name in ("notes.txt", "part-1.parquet", "other.parquet"):
        (day / name).write_text("x")
    for path in ("../../canary.txt", str(tables.parent / "canary.txt"), "", "day=2026-11-20/notes.txt"):
        removed = {"path": path, "deletionTimestamp": 1, "dataChange": True, "partitionValues": {"day": None}}
        commit(tables, "messages", {"remove": removed})
    before = listing(tables.parent)
    outcome = run("spark", *COMMANDS["vacuum"])
    assert (outcome.status, outcome.err.splitlines()[-1]) == (0, "1 file of 1 byte deleted")
    assert before.keys() - listing(tables.parent).keys() == {str(day / "part-1.parquet")}


@pytest.mark.slow
def test_a_writer_does_not_follow_a_link(whole: Path, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    shutil.copytree(whole, tables)
    store = fill(tables, DEMO)
    (tmp_path / "outside").mkdir()
    # Made after the tables were looked through.
    (tables / "errors" / "day=2026-11-20").symlink_to(tmp_path / "outside")
    row = {"capture": "a", "type": "gap", "time": datetime(2026, 11, 20, tzinfo=UTC)}
    writer = TableWriter(store.place, ("errors",), "r")
    writer.write("errors", pa.RecordBatch.from_pylist([row], schema=table_schemas()["errors"]))
    with pytest.raises(OSError, match="no link is followed"):
        writer.close()
    assert not list((tmp_path / "outside").iterdir())


def checkpoint(tables: Path, table: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Make a checkpoint of a table, with other rows, and take the commits away."""
    open_table(fill(tables).place, table).create_checkpoint()
    log = tables / table / "_delta_log"
    [path] = log.glob("*.checkpoint.parquet")
    found = pq.read_table(path)
    rows = found.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=found.schema), path)
    for one in log.glob("*.json"):
        one.unlink()


@pytest.mark.slow
def test_a_path_in_a_checkpoint_is_refused(run: Run, tables: Path) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["add"])["add"]["path"] = "../../canary.txt"

    checkpoint(tables, "messages", change)
    assert "names ../../canary.txt" in refused(run, "export", tables.parent)


@pytest.mark.parametrize("where", ["file:///etc/hostname", "../../../canary.txt", "http://127.0.0.1:1/x"])
def test_a_checkpoint_that_names_other_files_is_refused(run: Run, tables: Path, where: str) -> None:
    side = {"path": where, "sizeInBytes": 1, "modificationTime": 1, "tags": []}
    checkpoint(tables, "messages", lambda rows: rows.append({**dict.fromkeys(rows[0]), "sidecar": side}))
    assert "names other files" in refused(run, "status", tables.parent)


def test_a_checkpoint_with_a_column_whose_name_is_no_text_is_refused(run: Run, tables: Path) -> None:
    checkpoint(tables, "messages", lambda rows: None)
    [path] = (tables / "messages" / "_delta_log").glob("*.checkpoint.parquet")
    path.write_bytes(path.read_bytes().replace(b"protocol", b"\xffrotocol"))
    assert "has a column whose name is no text" in refused(run, "status", tables.parent)


def test_a_checkpoint_of_too_many_rows_is_refused(run: Run, tables: Path) -> None:
    log = tables / "messages" / "_delta_log"
    bomb = pa.table({"add": pa.nulls(table_folders.MOST_ACTIONS + 1, pa.struct([("path", pa.string())]))})
    pq.write_table(bomb, log / "00000000000000000001.checkpoint.parquet", compression="zstd")
    assert (log / "00000000000000000001.checkpoint.parquet").stat().st_size < 10_000
    assert "has 1048577 rows, more than 1048576" in refused(run, "status", tables.parent)


@pytest.mark.slow
def test_a_checkpoint_of_too_many_bytes_is_refused(run: Run, tables: Path) -> None:
    log = tables / "messages" / "_delta_log"
    bomb = pa.table({"path": ["x" * (table_folders.MOST_LOG_BYTES >> 4)] * 1 + [str(n) for n in range(3)]})
    for at in range(17):
        bomb = bomb.append_column(str(at), bomb.column("path"))
    pq.write_table(bomb, log / "00000000000000000001.checkpoint.parquet", compression="zstd")
    assert "more than 268435456" in refused(run, "status", tables.parent)


@pytest.mark.parametrize(
    "name",
    [
        "00000000000000000009.checkpoint.0000000001.0000000002.parquet",
        "00000000000000000009.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
    ],
)
def test_a_checkpoint_in_parts_is_refused(run: Run, tables: Path, name: str) -> None:
    (tables / "messages" / "_delta_log" / name).write_text("{}")
    assert "is no checkpoint of msmq-wire" in refused(run, "status", tables.parent)


def test_a_file_of_the_log_that_is_too_large_is_refused(run: Run, tables: Path) -> None:
    path = tables / "messages" / "_delta_log" / "00000000000000000009.json"
    with path.open("wb") as file:
        file.truncate(table_folders.MOST_LOG_BYTES + 1)
    outcome = run("spark", "status", "tables")
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert "has 268435457 bytes, more than 268435456" in outcome.err


def test_a_log_for_other_readers_is_refused(run: Run, tables: Path) -> None:
    needs = {"minReaderVersion": 3, "minWriterVersion": 7}
    commit(tables, "messages", {"protocol": {**needs, "readerFeatures": [], "writerFeatures": []}})
    assert "needs reader version 3 of Delta, not 1" in refused(run, "status", tables.parent)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "x", "{", "[" * 100_000, '{"add":' * 100_000, '{"add":{}}', '{"txn":1}']
)
def test_a_commit_that_is_none_is_one_line(run: Run, tables: Path, text: str) -> None:
    for table in ("messages", "captures"):
        log = tables / table / "_delta_log"
        (log / f"{len(list(log.glob('*.json'))):020}.json").write_text(text)
        outcome = run("spark", "status", "tables")
        assert outcome.status in (0, 1)
        assert outcome.err.count("\n") == outcome.status
        assert len(outcome.err.replace(str(tables.parent), "")) < 300


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.slow
@pytest.mark.parametrize("table", ["messages", "captures", "runs"])
@pytest.mark.parametrize(
    "damage", [Path.unlink, cut, lambda path: path.write_bytes(b"PAR1"), lambda path: path.write_bytes(b"")]
)
@pytest.mark.parametrize("where", ["checkpoint", "hint", "commit"])
def test_a_damaged_log_is_one_line_for_every_command(
    run: Run, tables: Path, where: str, damage: Callable[[Path], object], table: str
) -> None:
    name = {"checkpoint": "*.checkpoint.parquet", "hint": "_last_checkpoint", "commit": f"{1:020}.json"}
    if where != "commit":
        checkpoint(tables, table, lambda rows: None)
    [path] = (tables / table / "_delta_log").glob(name[where])
    damage(path)
    for command in ("status", "export", "forget", "vacuum", "compact"):
        outcome = run("spark", *COMMANDS[command])
        lines = [line for line in outcome.err.splitlines() if line.startswith("msmq-wire: ")]
        lines = [line for line in lines if "WARNING" not in line]
        # What a lost commit or hint said may be nothing that is missed.
        assert outcome.status in (0, 1)
        assert len(lines) == 1 or outcome.status == 0
        assert "Traceback" not in outcome.err
        shutil.rmtree(tables.parent / "copy", ignore_errors=True)


def test_the_copy_goes_through_no_link_and_over_no_file(run: Run, tables: Path) -> None:
    (tables.parent / "copy").symlink_to(tables.parent / "outside")
    shutil.rmtree(tables.parent / "outside")
    (tables.parent / "outside").mkdir()
    outcome = run("spark", *COMMANDS["export"])
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert "is a link" in outcome.err
    assert not list((tables.parent / "outside").iterdir())
