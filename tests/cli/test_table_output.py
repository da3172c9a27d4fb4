"""``--to``: what is in the file is what JSON lines print, value by value, and what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.records.view import time_text
from tests.cli.conftest import Outcome, is_refused
from tests.effort import EVERY_TEST, in_batches

Run = Callable[..., Outcome]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted(_FIXTURES.glob("**/*.pcap*"))
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_CALLS = _FIXTURES / "rpc_captures" / "rpc_none_ndr.pcap"
_EVERY = 3 if EVERY_TEST else 9
"""CI asks more captures than of others: values that Arrow takes otherwise may be in any of them."""
_LARGEST = (1 << 63) - 1
_COMMANDS = ("messages", "calls", "findings", "decode")
command = pytest.mark.parametrize("command", _COMMANDS)


def _read(path: Path) -> Any:
    return pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


def _json(scalar: Any) -> Any:
    """A value of Arrow as JSON lines have it."""
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.TimestampScalar):
        return time_text(scalar.value)
    if isinstance(scalar, pa.ListScalar):
        return [_json(one) for one in scalar.values]
    if isinstance(scalar, pa.StructScalar):
        return {name: _json(one) for name, one in scalar.items()}
    value = scalar.as_py()
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value


def _rows(table: Any) -> list[dict[str, Any]]:
    return [
        {name: _json(table.column(name)[row]) for name in table.schema.names} for row in range(len(table))
    ]


def _fitting(field: Any, value: Any) -> Any:
    """A value of JSON lines, null where Arrow has no room for it, or it is of another kind."""
    if pa.types.is_int64(field.type):
        return value if type(value) is int and -_LARGEST <= value <= _LARGEST else None
    if pa.types.is_string(field.type):
        return value if isinstance(value, str) else None
    return None if field.name == "sent_at" and value and value > "2262-04-11T23:47:16" else value


def _lines(text: str, schema: Any) -> list[dict[str, Any]]:
    rows = map(json.loads, text.splitlines())
    return [{name: _fitting(schema.field(name), value) for name, value in row.items()} for row in rows]


@in_batches(_CAPTURES, every=_EVERY)
def test_a_file_has_the_values_of_json_lines(run: Run, tmp_path: Path, path: Path) -> None:
    for name, columns in (*((name, "all") for name in _COMMANDS), ("messages", ""), ("findings", "")):
        out = tmp_path / f"{name}.parquet"
        chosen = ("--columns", columns) if columns else ()
        more = {"messages": ("--all",), "findings": ("--level", "info")}.get(name, ())
        written = run(name, path, *more, *chosen, "--to", out, "--force", "-q")
        printed = run(name, path, *more, *chosen, "--format", "jsonl", "-q")
        assert (written.status, written.out, written.err) == (printed.status, "", printed.err), name
        if not out.exists():
            assert (written.status, printed.out) == (1, ""), name
            continue
        table = _read(out)
        rows, lines = _rows(table), _lines(printed.out, table.schema)
        assert rows == lines, name
        assert [list(row) for row in lines] == [table.schema.names] * len(lines), name
        table.validate(full=True)


@command
@pytest.mark.parametrize("ending", ["parquet", "arrow", "PARQUET"])
def test_the_ending_says_what_the_file_is(run: Run, tmp_path: Path, command: str, ending: str) -> None:
    out = tmp_path / f"rows.{ending}"
    outcome = run(command, _DEMO, "--to", out)
    assert (outcome.status, outcome.out) == (0, "")
    rows = {"messages": 3, "calls": 0, "findings": 2, "decode": 13}[command]
    assert outcome.err.endswith(f"; {rows} rows written to {out}\n")
    begin = b"ARROW1" if ending == "arrow" else b"PAR1"
    assert out.read_bytes().startswith(begin)
    assert _read(out.rename(tmp_path / f"x.{ending.lower()}")).num_rows == rows


def test_the_types_are_those_of_the_columns(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "m.parquet"
    run("messages", _DEMO, "--to", out, "--columns", "id,time,label,frames,size,outcome")
    schema = _read(out).schema
    assert [(one.name, str(one.type)) for one in schema] == [
        ("id", "int64"),
        ("time", "timestamp[ns, tz=UTC]"),
        ("label", "string"),
        ("frames", "list<element: int64>"),
        ("body_size", "int64"),
        ("outcome", "string"),
    ]


def test_a_file_has_the_rows_that_a_filter_lets_through_and_nothing_redacted(
    run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "m.parquet"
    outcome = run(
        *("messages", _DEMO, "--to", out, "--columns", "label,src,outcome,body"),
        *("--filter", "outcome == received", "--redact", "labels,hosts,bodies"),
    )
    assert outcome.err == "25 frames read; 1 of 3 messages shown; 1 row written to a path\n"
    assert _rows(_read(out)) == [
        {"label": "xxxxxxxxxx", "src": "host-1:49731", "outcome": "received", "body_text": None}
    ]


def test_several_files_are_one_table(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "m.parquet"
    outcome = run("messages", _DEMO, _FIXTURES / "sessions" / "transactional_acks.pcap", "--to", out)
    printed = run(
        "messages", _DEMO, _FIXTURES / "sessions" / "transactional_acks.pcap", "--format", "jsonl", "-q"
    )
    assert outcome.status == 0
    table = _read(out)
    assert _rows(table) == _lines(printed.out, table.schema)
    assert len(table) > 3


@pytest.mark.parametrize("name", ["demo", "-"])
def test_a_capture_may_come_through_standard_input(run: Run, tmp_path: Path, name: str) -> None:
    out = tmp_path / "m.parquet"
    data = _DEMO.read_bytes()
    outcome = run("messages", _DEMO if name == "demo" else "-", "--to", out, stdin=data)
    assert (outcome.status, _read(out).num_rows) == (0, 3)


def test_a_damaged_capture_gives_what_is_before_the_damage(run: Run, tmp_path: Path) -> None:
    cut, out = tmp_path / "cut.pcap", tmp_path / "d.parquet"
    cut.write_bytes(_DEMO.read_bytes()[:-20])
    assert run("decode", cut, "--to", out, "-q").status == 1
    assert _read(out).column("type").to_pylist()[-1] == "error"


def test_nothing_is_written_where_nothing_could_be_read(run: Run, tmp_path: Path) -> None:
    none, out = tmp_path / "none.pcap", tmp_path / "m.parquet"
    none.write_bytes(b"no capture at all")
    out.write_bytes(b"precious")
    outcome = run("messages", none, tmp_path / "missing.pcap", "--to", out, "--force")
    assert (outcome.status, outcome.err.count("\n")) == (1, 2)
    assert out.read_bytes() == b"precious"
    assert sorted(tmp_path.iterdir()) == [out, none]


@command
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "rows.csv"), "rows.csv ends neither in .parquet nor in .arrow"),
        (("--to", "parquet"), "parquet ends neither in .parquet nor in .arrow"),
        (("--to", "-"), "- is no file here"),
        (("--to", "a.parquet", "--format", "jsonl"), "--format jsonl is for printed rows"),
        (("--to", "a.parquet", "--format", "table"), "--format table is for printed rows"),
        (("--to", "a.parquet", "--local"), "--local changes nothing with --to"),
        (("--to", "a.parquet", "--columns", "nonsense"), "no column is called 'nonsense'"),
        (("--force",), "--force changes nothing without --"),
    ],
)
def test_what_contradicts_a_file_is_refused(
    run: Run, command: str, arguments: tuple[str, ...], words: str
) -> None:
    is_refused(run(command, _DEMO, *arguments), words)


@pytest.mark.parametrize("command", ["messages", "calls", "decode"])
def test_a_file_has_no_paths_and_one_writer(run: Run, command: str) -> None:
    more = ("--to", "a.parquet", "--columns", "id,user_header.message_id")
    is_refused(run(command, _DEMO, *more), "user_header.message_id is a path")
    is_refused(run(command, _DEMO, "--to", "a.parquet", "--jobs", 2), "it cannot be used with --jobs")


@command
def test_a_capture_is_never_written_over(run: Run, tmp_path: Path, command: str) -> None:
    capture = tmp_path / "a.parquet"
    capture.write_bytes(_DEMO.read_bytes())
    is_refused(run(command, capture, "--to", capture, "--force"), f"{capture} is one of the captures")
    assert capture.read_bytes() == _DEMO.read_bytes()


@command
def test_without_its_extra_one_line_says_how_to_install_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("msmq_wire.cli.table_output.find_spec", lambda name: None)
    outcome = run(command, _DEMO, "--to", tmp_path / "a.parquet")
    line = 'msmq-wire: --to needs numpy and pyarrow: pip install "msmq-wire[arrow]"\n'
    assert outcome == (1, "", line)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_is_one_line_and_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("msmq_wire.tables.table_file.TableFile.write", full)
    out = tmp_path / "m.parquet"
    outcome = run("messages", _DEMO, "--to", out)
    assert outcome == (1, "", f"msmq-wire: cannot write {out}: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs("duckdb", "pandas", "polars")
def test_polars_pandas_and_duckdb_read_the_file(run: Run, tmp_path: Path) -> None:
    import duckdb
    import pandas as pd  # type: ignore[import-untyped]  # its stubs are not installed
    import polars as pl

    out, ipc = tmp_path / "m.parquet", tmp_path / "m.arrow"
    for one in (out, ipc):
        run("messages", _DEMO, "--to", one)
    labels = ["order 4711", "payment 93", "catalogue 2026-11-20"]
    assert pl.read_parquet(out)["label"].to_list() == labels
    assert pl.read_ipc(ipc)["label"].to_list() == labels
    assert pd.read_parquet(out)["label"].tolist() == labels
    assert pd.read_parquet(out)["time"][0].isoformat() == "2026-11-20T09:14:07.525000+00:00"
    found = duckdb.sql(f"select label, year(time::timestamptz) from '{out}' where body_size > 0 order by id")
    assert found is not None
    assert found.fetchall() == [(one, 2026) for one in labels]
