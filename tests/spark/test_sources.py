"""The data sources give the rows of the readers they stand on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from msmq_wire import read_capture
from msmq_wire.spark.message_columns import CALLS

pytestmark = pytest.mark.spark


def test_messages_are_the_records_of_the_captures(spark: SparkSession, captures: Path) -> None:
    rows = spark.read.format("msmq-messages").load(str(captures)).select("path", "id", "type").collect()
    expected = [
        (str(path), record.id, record.type)
        for path in sorted(captures.glob("*.pcap*"))
        for record in read_capture(path)
        if record.type not in CALLS
    ]
    assert sorted((row.path, row.id, row.type) for row in rows) == sorted(expected)
