"""The tables have the rows that the commands print, under the same numbers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.cli.app import main
from tests.effort import in_batches
from tests.spark.test_capture_job import decoded, plan_of

pytestmark = pytest.mark.needs("pyspark")

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_HITS = sorted(_FIXTURES.glob("findings/*/hit*.pcap*"))
_CAPTURES = [*sorted(_FIXTURES.glob("captures/*.pcap*")), *_HITS[::4]]


@pytest.mark.slow
@in_batches(_CAPTURES)
def test_findings_are_those_of_the_command_line(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["findings", "--quiet", "--format", "jsonl", str(path)])
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = [row for file in _tables(path, tmp_path, "findings") for row in _rows(file)]
    shown = [{name: row[name] for name in _shown(printed[0])} for row in rows] if printed else rows
    order = [json.dumps(row, sort_keys=True) for row in shown]
    assert sorted(order) == sorted(json.dumps(_shown(row), sort_keys=True) for row in printed)


@pytest.mark.slow
@in_batches(_CAPTURES)
def test_ids_are_those_of_decode_with_streams(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["decode", "--quiet", "--streams", "--format", "jsonl", str(path)])
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    unacknowledged = ("tcp_stream", "error")
    decoded = {
        (row["id"], row["parent"], row["type"]) for row in printed if row["type"] not in unacknowledged
    }
    found: set[tuple[Any, ...]] = set()
    for file in _tables(path, tmp_path, "messages", "calls"):
        rows = pq.ParquetFile(file).read(columns=["id", "parent", "type"]).to_pylist()
        found |= {(row["id"], row["parent"], row["type"]) for row in rows}
    assert found == decoded


def _tables(path: Path, output: Path, *names: str) -> list[Path]:
    """The files of tables of one capture."""
    done = decoded(path, plan_of(output, names))
    return [output / file.table / file.path for file in done.files]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A printed row by the names of the table, its times left out: they are texts there."""
    same = ("severity", "confidence", "title", "message", "caveats", "cves", "event", "group")
    names = {name: row[name] for name in (*same, "explained_by")}
    places = [{name: one[name] for name in one if name != "time"} for one in row["evidence"]]
    return names | {"rule": row["id"], "spec": ", ".join(row["spec"]), "evidence": places}


def _rows(path: Path) -> list[dict[str, Any]]:
    table = pq.ParquetFile(path).read().drop_columns(["time"])
    found: list[dict[str, Any]] = table.to_pylist()
    for row in found:
        for one in row["evidence"]:
            del one["time"]
            one["data"] = base64.b64encode(one["data"]).decode("ascii")
    return found
