"""The Spark session, classic or Connect, and a clear word when it cannot be had.

The rule kept here: under spark-submit nothing is set that the submitter sets; what must be set before the JVM
starts is set before.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark import register
from msmq_wire.spark.java import java_problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH_BYTES = str(16 << 20)
_GATEWAY = "PYSPARK_GATEWAY_PORT"
_REMOTE = "SPARK_REMOTE"
_CONNECT = "sc://"
_CALLED = re.compile(r"An error occurred while calling \S+\s*:?\s*")
_CLASS = re.compile(r"(?<![\w$.])(?:[a-z_][\w$]*\.)+[\w$]+: ")
_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:: .*)?$", re.MULTILINE)
_ENDED = re.compile(
    r"^(?:Error occurred during .*\n|Exception in thread \S+ \S+ )?((?:Error|Invalid|Could not|Master) .*)$",
    re.MULTILINE,
)
_TRACEBACK = "Traceback (most recent call last)"
_RUNTIME = {
    # A batch of frames of 64 KB must not be 10,000 of them.
    "spark.sql.execution.arrow.maxBytesPerBatch": _BATCH_BYTES,
    "spark.sql.session.timeZone": "UTC",
    # Or the data sources make rows that Spark leaves out.
    "spark.sql.python.filterPushdown.enabled": "true",
}
"""What can be set while a session runs, and is wanted everywhere."""


def is_submitted() -> bool:
    """Whether spark-submit runs this program: then its session, and its settings, are the submitter's."""
    return _GATEWAY in os.environ


def spark_problem(error: Exception) -> str:
    """Say in one line what an error of Spark is about, without the stacks that come with it."""
    text = str(error)
    if "OutOfMemoryError" in text:
        return "Java ran out of memory: spark.driver.memory says how much it may have"
    if "Answer from Java side is empty" in text or isinstance(error, OSError):
        return "Spark has ended: Java does not answer any more"
    _, raised, stack = text.partition(_TRACEBACK)
    if raised:
        # What a task raised: the line that ends its traceback, where all others are indented.
        lines = _RAISED.findall(stack.partition("\n\tat ")[0].partition("\n SQLSTATE: ")[0])
        text = lines[-1] if lines else stack
    text = _CALLED.sub("", text)
    line = next((line for line in text.splitlines() if line.strip()), "") or type(error).__name__
    return _CLASS.sub("", line.strip(), count=1).rstrip(";")


def session(
    *,
    master: str | None = None,
    driver_memory: str | None = None,
    name: str = "msmq-wire",
    ui: bool = False,
) -> SparkSession:
    """Return the running session, that of spark-submit, or a new one; the data sources are registered.

    ``master`` is by default ``local[*]``: all cores of this machine. With ``sc://host:port``, or SPARK_REMOTE
    in the environment, it is a session of Spark Connect. ``driver_memory`` counts only if no JVM runs yet;
    no argument counts where a session runs or spark-submit makes it. ``ui`` shows Spark's UI of a session on
    this machine (``spark.sparkContext.uiWebUrl``); that of a cluster is always there. Raises MsmqWireError
    without pyspark or without Java 17, and where Spark does not start.
    """
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no stubs
        from pyspark import SparkContext
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MsmqWireError('Spark is not installed: pip install "msmq-wire[spark]"') from None
    spark = SparkSession.getActiveSession()
    if spark is None and (SparkContext._active_spark_context is not None or is_submitted()):
        spark = SparkSession.builder.getOrCreate()
    if spark is None and ((master or "").startswith(_CONNECT) or (master is None and _REMOTE in os.environ)):
        try:
            spark = SparkSession.builder.remote(master or os.environ[_REMOTE]).getOrCreate()
        except (PySparkException, ValueError) as error:
            raise MsmqWireError(f"Spark Connect is not reached: {spark_problem(error)}") from None
    if spark is None:
        problem = java_problem() if SparkContext._gateway is None else None
        if problem is not None:
            raise MsmqWireError(problem)
        work = tempfile.mkdtemp(prefix="msmq-wire-spark-")
        atexit.register(shutil.rmtree, work, ignore_errors=True)
        log = Path(work) / "java.log"
        try:
            with _output_to(log):
                spark = _started(master or "local[*]", driver_memory, name, work, ui)
        except (Py4JError, PySparkException) as error:
            said = _error_in(log) or spark_problem(error)
            raise MsmqWireError(f"Spark does not start: {said}") from None
    for key, value in _RUNTIME.items():
        spark.conf.set(key, value)
    register(spark)
    return spark


def _started(master: str, driver_memory: str | None, name: str, work: str, ui: bool) -> SparkSession:
    from pyspark.sql import SparkSession

    # Workers run their own python3 otherwise, which need not have what this one has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(master)
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": os.path.join(work, "warehouse"),
    }
    if driver_memory is not None:
        settings["spark.driver.memory"] = driver_memory
    if master.startswith("local"):
        # On a cluster the other machines must reach the driver.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings["spark.ui.enabled"] = str(ui).lower()
        settings["spark.local.dir"] = os.path.join(work, "local")
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextlib.contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Let a JVM that starts here write to a file: what a user must know comes as an exception."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {}
    with contextlib.suppress(OSError):
        # A stream that this process was started without stays closed.
        kept = {number: os.dup(number) for number in (1, 2)}
    try:
        if kept:
            with path.open("ab") as file:
                for number in kept:
                    os.dup2(file.fileno(), number)
        yield
    finally:
        for number, descriptor in kept.items():
            os.dup2(descriptor, number)
            os.close(descriptor)


def _error_in(log: Path) -> str | None:
    """What Java said before it ended at once, as of a size of memory that it cannot have."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = _ENDED.search(text)
    return None if found is None else found[1].strip()
