"""The modules that let pyspark find the data sources without registration."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from msmq_wire.capture.source import read_frames
from tests.effort import SHORT_LIVED_JAVA

pytestmark = pytest.mark.needs("pyspark")

ROOT = Path(__file__).resolve().parents[2]
SHIMS = ROOT / "msmq_wire" / "spark" / "shims"
FILES = sorted(SHIMS.glob("*.py"))


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_source_has_a_shim_of_its_name() -> None:
    names = {path.stem: loaded(path).DefaultSource.name() for path in FILES}
    assert names == {
        "pyspark_msmq_calls": "msmq-calls",
        "pyspark_msmq_carved": "msmq-carved",
        "pyspark_msmq_messages": "msmq-messages",
        "pyspark_msmq_packets": "msmq-packets",
    }


def test_the_wheel_puts_them_at_the_top_level() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    placed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    found = {ROOT / source: name for source, name in placed.items() if name.startswith("pyspark_")}
    assert found == {path: path.name for path in FILES}


SCRIPT = """
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.log.level", "ERROR").getOrCreate()
print("rows", spark.read.format("msmq-packets").load(sys.argv[1]).count())
spark.stop()
"""


@pytest.mark.check
@pytest.mark.spark
def test_a_session_that_registered_nothing_finds_a_source(spark: SparkSession, captures: Path) -> None:
    path = captures / "demo.pcap"
    # What is registered is a session's own; what is installed is found by all of them.
    found = spark.newSession().read.format("msmq-packets").load(str(path)).count()
    assert found == sum(1 for _ in read_frames(path))


@pytest.mark.check
@pytest.mark.spark
def test_a_source_is_found_without_registration(captures: Path, tmp_path: Path) -> None:
    path = captures / "demo.pcap"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(SHIMS), str(ROOT))),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": SHORT_LIVED_JAVA,
    }
    # The gateway of the session that other tests share must not be taken for this one's.
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        environment.pop(name, None)
    script = [sys.executable, "-c", SCRIPT, str(path)]
    place = tmp_path / "work"
    place.mkdir()
    reported = subprocess.run(script, capture_output=True, text=True, env=environment, cwd=place, check=False)
    assert reported.stdout == f"rows {sum(1 for _ in read_frames(path))}\n", reported.stderr
