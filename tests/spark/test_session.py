"""A session on this machine, and a clear line where it cannot be had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.session import session

pytestmark = pytest.mark.needs("pyspark")


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MsmqWireError) as error:
        session()
    assert str(error.value) == 'Spark is not installed: pip install "msmq-wire[spark]"'


def test_without_java_no_session_is_tried(stub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    with pytest.raises(MsmqWireError, match="there is no java on PATH"):
        session()
    assert not stub.exists()


@pytest.mark.slow
def test_importing_loads_neither_spark_nor_java() -> None:
    code = "import sys, msmq_wire.spark.session; print({'pyspark', 'py4j', 'pyarrow'} & set(sys.modules))"
    reported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert reported.stdout == "set()\n"


@pytest.mark.spark
def test_the_running_session_is_used_and_has_what_is_wanted_everywhere(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert session(master="local[7]", driver_memory="9g") is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch") == str(16 << 20)
    assert spark.sparkContext.master == "local[2]"
