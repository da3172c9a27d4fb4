"""One Spark session for all tests here; without Java 17 each of them skips and says so."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from msmq_wire.spark.session import session
from tests.effort import SHORT_LIVED_JAVA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two cores on this machine."""
    java = f"spark.driver.extraJavaOptions={SHORT_LIVED_JAVA}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {shlex.quote(java)} pyspark-shell")
        started = session(master="local[2]", driver_memory="1g")
    started.conf.set("spark.sql.shuffle.partitions", "2")
    yield started
    started.stop()


@pytest.fixture(scope="session")
def captures() -> Path:
    """The folder of the captures that show what can happen."""
    return Path(__file__).resolve().parents[2] / "fixtures" / "captures"


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a program called java may be put; no other is on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return folder / "java"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path) -> Iterator[None]:
    """Nothing may be left in the working folder."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    assert not [path.name for path in tmp_path.iterdir() if path.name in ("spark-warehouse", "metastore_db")]
    os.chdir(before)
