"""Other programs read the tables as docs/spark.md says, and find what Spark finds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from msmq_wire import read_capture
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
def test_every_reader_finds_the_rows_that_count(spark: SparkSession, tmp_path: Path) -> None:
    paths = [_FOLDER / name for name in ("demo.pcap", "path_ipv6.pcap")]
    counts = [sum(record.type == "user_message" for record in read_capture(path)) for path in paths]
    assert min(counts) > 0
    fill(tmp_path / "tables", *paths)
    # One is decoded again: its first rows stay in the table, and count no more.
    store = fill(tmp_path / "tables", paths[0])
    snapshot = store.snapshot()
    assert snapshot.everything("messages").count_rows() > snapshot.dataset("messages").count_rows()
    assert read(spark) == dict.fromkeys(_READERS, sum(counts))
    store.forget(lambda _: [str(paths[0])])
    assert read(spark) == dict.fromkeys(_READERS, counts[1])
