"""`mw.table`: what Polars, pandas, DuckDB and pyarrow read is what the command line writes."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

import msmq_wire as mw
from msmq_wire.api import table as module
from msmq_wire.api.table import Rows
from msmq_wire.cli.app import main
from msmq_wire.errors import CaptureError, MsmqWireError
from tests.effort import in_batches
from tests.splitting import split

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_ATTACK = _FIXTURES / "digest" / "fault_and_attack.pcap"
_CALLS = _FIXTURES / "rpc_captures" / "rpc_none_ndr.pcap"
_LABELS = ["order 4711", "payment 93", "catalogue 2026-11-20"]
_COMMANDS = {"messages": "messages", "calls": "calls", "findings": "findings", "packets": "decode"}


@in_batches(sorted(_FIXTURES.glob("**/*.pcap*")))
def test_a_table_is_what_the_command_writes(tmp_path: Path, path: Path) -> None:
    out = tmp_path / "rows.parquet"
    for rows in get_args(Rows):
        for columns, chosen in ((None, ()), ("+all", ("--columns", "+all"))):
            out.unlink(missing_ok=True)
            main([_COMMANDS[rows], str(path), "--to", str(out), "-q", *chosen])
            if out.exists():
                with warnings.catch_warnings():
                    # The command says the same on standard error.
                    warnings.simplefilter("ignore", mw.CaptureWarning)
                    table = pa.table(mw.table(path, rows, columns=columns))
                assert table.schema.names == pq.read_schema(out).names, rows
                assert table.to_pydict() == pq.read_table(out).to_pydict(), rows


def test_a_table_can_be_read_more_than_once() -> None:
    table = mw.table(_DEMO, "messages")
    for _ in range(2):
        assert pa.table(table).column("label").to_pylist() == _LABELS
        assert pa.RecordBatchReader.from_stream(table).read_all().num_rows == 3


def test_findings_are_chosen_by_level_and_rule() -> None:
    def found(**given: Any) -> list[str]:
        ids: list[str] = pa.table(mw.table(_ATTACK, "findings", columns="rule", **given))[0].to_pylist()
        return ids

    assert found(level="high") == ["LEN-ENV", "SES-NAKED"]
    assert found(rules="len_env") == ["LEN-ENV"]
    assert found(level="high", rules=["SES-NAKED", "LEN-ENV"], filter="rule != LEN-ENV") == ["SES-NAKED"]
    assert len(found()) > 2


def test_messages_have_acknowledgments_where_all_are_asked_for() -> None:
    for columns in ("id", "id,body_text"):
        for all_, ids in ((False, [10, 11, 13]), (True, [10, 11, 12, 13, 15])):
            table = pa.table(mw.table(_DEMO, "messages", all=all_, columns=columns))
            assert table["id"].to_pylist() == ids


@pytest.mark.parametrize(
    ("rows", "given", "text"),
    [
        ("messages", {"level": "high"}, "level is an argument for findings, not for messages"),
        ("calls", {"rules": "LEN-ENV"}, "rules is an argument for findings, not for calls"),
        ("findings", {"all": True}, "all is an argument for messages, not for findings"),
        ("findings", {"level": "hgih"}, "not 'hgih': did you mean 'high'?"),
        (
            "findings",
            {"rules": "LEN-EVN"},
            "no rule is called 'LEN-EVN'; did you mean LEN-ENV or LEN-SEC or LEN-EXT?",
        ),
    ],
)
def test_an_argument_that_is_wrong_or_of_other_rows_is_refused(
    rows: Rows, given: dict[str, Any], text: str
) -> None:
    with pytest.raises(mw.ArgumentError, match=f"{re.escape(text)}$"):
        mw.table(_DEMO, rows, **given)


def test_messages_have_their_outcome_where_it_is_asked_for() -> None:
    outcomes = ["acknowledged", "received", "acknowledged"]
    table = mw.table(_DEMO, "messages", columns="label,outcome")
    assert pa.table(table).to_pydict() == {"label": _LABELS, "outcome": outcomes}
    # A column that is made of records only.
    table = mw.table(_DEMO, "messages", columns="body_text,outcome")
    assert pa.table(table).column("outcome").to_pylist() == outcomes
    table = mw.table(_DEMO, "messages", columns="label", filter=["outcome == received", "priority == 0"])
    assert pa.table(table).to_pydict() == {"label": ["payment 93"]}


@pytest.fixture
def ring(tmp_path: Path) -> list[Path]:
    """The demo capture as two files of a ring, the first of which ends in the middle of a session."""
    names = ("ring_00001_20261128120000.pcap", "ring_00002_20261128121500.pcap")
    return split(_DEMO, tmp_path, names, (12,))


@pytest.mark.parametrize("columns", ["id,capture,frames", "id,capture,frames,body_text,outcome"])
def test_files_of_a_ring_are_one_capture_with_the_frames_of_each(
    ring: list[Path], tmp_path: Path, columns: str
) -> None:
    for path in ([str(one) for one in reversed(ring)], tmp_path):
        found = pa.table(mw.table(path, "messages", columns=columns)).to_pydict()
        assert found["id"] == [10, 11, 13]
        assert [Path(one).name for one in found["capture"]] == [ring[0].name, ring[1].name, ring[1].name]
        assert found["frames"] == [[11], [1], [3, 4, 5]]


@pytest.mark.parametrize("rows", get_args(Rows))
def test_a_table_of_a_ring_is_what_the_command_writes(ring: list[Path], tmp_path: Path, rows: Rows) -> None:
    out = tmp_path / "rows.parquet"
    main([_COMMANDS[rows], *map(str, ring), "--to", str(out), "-q"])
    assert pa.table(mw.table(ring, rows)).to_pydict() == pq.read_table(out).to_pydict()


def test_a_file_object_is_read_from_where_it_is_each_time() -> None:
    stream = io.BytesIO(b"before" + _DEMO.read_bytes())
    stream.seek(6)
    table = mw.table(stream, "messages", columns="label,outcome")
    for _ in range(2):
        assert pa.table(table).column("label").to_pylist() == _LABELS


class _Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_what_is_read_only_once_gives_its_rows_once_and_no_outcomes() -> None:
    needs = "needs two readings, and this capture can be read only once: save it to a file first"
    for given in ({"columns": "+outcome"}, {"filter": "outcome == received"}):
        with pytest.raises(MsmqWireError, match=f"^outcome {needs}$"):
            mw.table(_Pipe(_DEMO.read_bytes()), "messages", **given)  # type: ignore[arg-type]
    table = mw.table(_Pipe(_DEMO.read_bytes()), "messages", columns="all")
    assert "outcome" not in table.schema.names
    assert pa.table(table).column("label").to_pylist() == _LABELS
    with pytest.raises(MsmqWireError) as caught:
        pa.table(table)
    assert str(caught.value) == (
        "the rows were read already, and this capture can be read only once: save it to a file first"
    )


@pytest.mark.parametrize(("rows", "count"), [("messages", 1), ("calls", 0), ("findings", 4), ("packets", 3)])
def test_damage_is_a_warning_behind_the_rows(rows: Rows, count: int) -> None:
    path = _FIXTURES / "captures" / "path_cut_file.pcap"
    text = f"{path}: the file is cut inside a record of 60 bytes (at byte 856)"
    table = mw.table(path, rows)
    assert (table.errors, table.notices) == ((), ())
    for _ in range(2):
        with pytest.warns(mw.CaptureWarning) as warned:
            assert pa.table(table).num_rows == count
        assert [(str(one.message), one.filename) for one in warned] == [(text, __file__)]
        assert [str(error) for error in table.errors] == [text]


@pytest.mark.parametrize("rows", get_args(Rows))
def test_a_whole_capture_warns_of_nothing(rows: Rows) -> None:
    # A warning is an error in all tests.
    table = mw.table(_DEMO, rows)
    assert pa.table(table).num_rows > 0 or rows == "calls"
    assert table.errors == ()


def test_what_is_dropped_to_save_memory_is_a_warning() -> None:
    for given in ({"rows": "findings"}, {"rows": "messages", "columns": "label,outcome"}):
        table = mw.table(_DEMO, memory=1, **given)  # type: ignore[arg-type]
        with pytest.warns(mw.CaptureWarning, match=r"^dropped to save memory, .*, 3 messages, "):
            pa.table(table)
        assert table.notices[-1].startswith("dropped to save memory")


def test_the_schema_needs_no_reading() -> None:
    schema = mw.table("nowhere.pcap", "calls", columns="id,time,client,fault,latency").schema
    assert [(one.name, str(one.type)) for one in schema] == [
        ("id", "int64"),
        ("time", "timestamp[ns, tz=UTC]"),
        ("client", "string"),
        ("fault", "bool"),
        ("latency", "int64"),
    ]


def test_rows_come_as_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def values(*_: Any) -> Iterator[Any]:
        for number in range(100):
            asked.append(number)
            yield [(number,)] * 8192

    monkeypatch.setitem(module._VALUES, "messages", values)
    reader = mw.table(_DEMO, "messages", columns="id").reader()
    assert reader.read_next_batch().num_rows == 8192
    assert len(asked) < 3


@pytest.mark.parametrize(
    ("rows", "path", "filter_", "count"),
    [
        ("messages", _DEMO, 'label ~ "order"', 1),
        ("calls", _CALLS, "status != 0", None),
        ("findings", _DEMO, "severity >= high", 0),
        ("packets", _DEMO, "type == ping", 2),
    ],
)
def test_a_filter_is_that_of_the_command(
    rows: Rows, path: Path, filter_: str, count: int | None, tmp_path: Path
) -> None:
    out = tmp_path / "rows.parquet"
    assert main([_COMMANDS[rows], str(path), "--to", str(out), "-q", "--filter", filter_]) == 0
    table = pa.table(mw.table(path, rows, filter=filter_))
    assert table.to_pydict() == pq.read_table(out).to_pydict()
    assert table.num_rows == (table.num_rows if count is None else count)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("label,id", ["label", "id"]),
        (["label", "id"], ["label", "id"]),
        ("size,body", ["body_size", "body_text"]),
        ("+all,-id", None),
    ],
)
def test_columns_are_named_as_on_the_command_line(columns: Any, names: list[str] | None) -> None:
    found = mw.table(_DEMO, "messages", columns=columns).schema.names
    assert found == names if names else "id" not in found and "body_text" in found


def test_what_is_wrong_is_said_before_the_table_is_read() -> None:
    with pytest.raises(ValueError, match="'message' is none of messages, calls, findings, packets"):
        mw.table(_DEMO, "message")  # type: ignore[arg-type]
    with pytest.raises(MsmqWireError, match=r"no column is called 'lable'\. Did you mean 'label'"):
        mw.table(_DEMO, "messages", columns="lable")
    with pytest.raises(MsmqWireError, match="column 1"):
        mw.table(_DEMO, "messages", filter="nonsense == 1")
    with pytest.raises(MsmqWireError, match="column 1"):
        mw.table(_DEMO, "findings", filter="nonsense == 1")


def test_what_is_no_capture_is_an_error_of_the_one_who_reads(tmp_path: Path) -> None:
    none = tmp_path / "none.pcap"
    none.write_bytes(b"no capture at all")
    for path, words in ((none, "pcap"), (tmp_path / "missing.pcap", "cannot open")):
        with pytest.raises(CaptureError, match=words):
            pa.table(mw.table(path, "messages"))


def test_without_its_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(mw.MissingExtraError) as caught:
        mw.table(_DEMO, "messages")
    assert str(caught.value) == 'a table needs numpy and pyarrow: pip install "msmq-wire[arrow]"'


def test_without_pandas_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = mw.table(_DEMO, "messages")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(mw.MissingExtraError) as caught:
        messages.to_pandas()
    assert str(caught.value) == 'to_pandas needs pandas: pip install "pandas"'


def test_its_text_says_what_it_is() -> None:
    assert repr(mw.table("a.pcap", "calls", columns="id,time")) == "<calls of a.pcap: id, time>"
    assert repr(mw.table(["a", "b"], "packets", columns="id")) == "<packets of a, b: id>"


@pytest.mark.needs("duckdb", "pandas", "polars")
def test_polars_pandas_and_duckdb_take_a_table_in_one_line() -> None:
    import duckdb
    import polars as pl

    messages = mw.table(_DEMO, "messages")
    assert pl.DataFrame(messages)["label"].to_list() == _LABELS
    assert messages.to_pandas()["time"][0].isoformat() == "2026-11-20T09:14:07.525000+00:00"
    found = duckdb.sql("select label from messages order by id")
    assert found is not None
    assert [label for (label,) in found.fetchall()] == _LABELS
    findings = mw.table(_DEMO, "findings")
    assert pl.DataFrame(findings)["evidence"].list.len().to_list() == [1, 1]
    assert findings.to_pandas()["id"].tolist() == ["CNT-CLEAR", "CNT-CLEAR"]
