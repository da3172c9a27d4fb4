"""A Spark session on this machine alone, and a clear word when it cannot be had.

The rule kept here: under spark-submit nothing is set that the submitter sets; what must be set before the JVM
starts is set before.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["java_problem", "session"]

_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_BATCH_BYTES = str(16 << 20)
_RUNTIME = {
    # A batch of frames of 64 KB must not be 10,000 of them.
    "spark.sql.execution.arrow.maxBytesPerBatch": _BATCH_BYTES,
    "spark.sql.session.timeZone": "UTC",
}
"""What can be set while a session runs, and is wanted everywhere."""


def java_problem() -> str | None:
    """Say why Spark cannot start here, or None: Java is missing, too old, or does not run."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return f"Java {_JAVA} is needed: there is no java on PATH and JAVA_HOME is not set"
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Java {_JAVA} is needed: {java} does not run: {getattr(error, 'strerror', None) or error}"
    version = _VERSION.search(told.stderr + told.stdout)
    if version is None:
        return f"Java {_JAVA} is needed: {java} does not tell its version"
    if int(version.group(1)) < _JAVA:
        return f"Java {_JAVA} is needed: {java} is Java {version.group(1)}"
    return None


def session(
    *, master: str | None = None, driver_memory: str | None = None, name: str = "msmq-wire"
) -> SparkSession:
    """Return the running session, that of spark-submit, or a new one; the data sources are registered.

    ``master`` is by default ``local[*]``: all cores of this machine. ``driver_memory`` counts only if no JVM
    runs yet. Raises MsmqWireError without pyspark or without Java 17.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise MsmqWireError("Spark is not installed: pip install 'msmq-wire[spark]'") from None
    running = SparkSession.getActiveSession()
    if running is None and SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        problem = java_problem()
        if problem is not None:
            raise MsmqWireError(problem)
        running = _started(master or "local[*]", driver_memory, name)
    spark = running or SparkSession.builder.appName(name).getOrCreate()
    for key, value in _RUNTIME.items():
        spark.conf.set(key, value)
    register(spark)
    return spark


def _started(master: str, driver_memory: str | None, name: str) -> SparkSession:
    from pyspark.sql import SparkSession

    # Workers run their own python3 otherwise, which need not have what this one has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(master)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    if driver_memory is not None:
        settings["spark.driver.memory"] = driver_memory
    if master.startswith("local"):
        # On a cluster the other machines must reach the driver.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        work = tempfile.mkdtemp(prefix="msmq-wire-spark-")
        settings["spark.sql.warehouse.dir"] = os.path.join(work, "warehouse")
        settings["spark.local.dir"] = os.path.join(work, "local")
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
