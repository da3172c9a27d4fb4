"""Other programs read the tables as docs/spark.md says, and find what Spark finds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from msmq_wire import read_capture
from msmq_wire.tables.store.store import Change, Store
from tests.tables.store.filled_stores import fill

pytestmark = pytest.mark.needs("pyspark", "polars", "duckdb")

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / "fixtures" / "captures"
_PART = re.compile(r"<!-- tested: readers -->(.*?)<!-- end of tested part -->", re.DOTALL)
_CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_READERS = ("polars", "pandas", "pyarrow", "duckdb", "msmq_wire", "spark")


def read(spark: SparkSession) -> dict[str, int]:
    """What each reader finds, with the code of the page."""
    [part] = _PART.findall((_ROOT / "docs" / "spark.md").read_text("utf-8"))
    names: dict[str, Any] = {"spark": spark}
    exec("\n".join(_CODE.findall(part)), names)
    return {reader: names[f"by_{reader}"] for reader in _READERS}


@pytest.mark.slow
@pytest.mark.spark
def test_every_reader_finds_the_same_in_one_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    paths = [_FOLDER / name for name in ("demo.pcap", "path_ipv6.pcap")]
    store = fill(tmp_path / "tables", *paths)
    count = sum(record.type == "user_message" for path in paths for record in read_capture(path))
    assert read(spark) == dict.fromkeys(_READERS, count)
    # One capture goes, and rows come that captures never names: a run that died before its last commit.
    store.publish(lambda _: Change(gone=frozenset((str(paths[0]),))))
    stray = fill(tmp_path / "other", paths[0])
    before = store.snapshot().versions["messages"]
    named = {file.path for file in store.snapshot().files("messages")}
    _die_with(store, stray)
    assert store.snapshot().latest("messages") > before
    assert {file.path for file in store.snapshot().files("messages")} == named
    without = sum(record.type == "user_message" for record in read_capture(paths[0]))
    assert without > 0
    assert read(spark) == dict.fromkeys(_READERS, count - without)


def _die_with(store: Store, other: Store) -> None:
    """Commit files of another store to the table of messages, and not to captures."""
    messages, rows = store.snapshot().table("messages"), other.snapshot().dataset("messages").to_table()
    assert messages is not None
    write_deltalake(messages, rows, mode="append")
