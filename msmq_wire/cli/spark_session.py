"""A Spark session for one command: started, ended, and its errors told in one line.

The rule kept here: pyspark is loaded when a command needs it, so that help and bad usage never wait for it.
"""

from __future__ import annotations

import contextlib
import logging
import re
import signal
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.session import is_submitted, session, spark_problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERRUPTED = 130
_MEMORY = re.compile(r"[1-9][0-9]{0,9}[kmgt]?b?", re.IGNORECASE)
_NEEDED = ("deltalake", "numpy", "pandas", "pyarrow", "pyspark")

Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="The cluster, as spark://host:7077 or sc://host:15002; by default all cores of this machine.",
        show_default=False,
    ),
]
DriverMemory = Annotated[
    str | None,
    typer.Option(
        "--driver-memory",
        metavar="SIZE",
        help="Memory of the Java process here, as 4g; by default what Spark takes.",
        show_default=False,
    ),
]


def check_spark(master: str | None, driver_memory: str | None) -> None:
    """Refuse what cannot be asked.

    Raises typer.BadParameter, and typer.Exit(1) after one line where Spark is not installed.
    """
    if driver_memory is not None and _MEMORY.fullmatch(driver_memory) is None:
        raise typer.BadParameter(f"{driver_memory} is no size as 4g or 800m", param_hint="--driver-memory")
    for option, given in (("--master", master), ("--driver-memory", driver_memory)):
        if given is not None and is_submitted():
            raise typer.BadParameter("this is said to spark-submit, before the program", param_hint=option)
    if any(find_spec(name) is None for name in _NEEDED):
        print_error('Spark is not installed: pip install "msmq-wire[spark]"')
        raise typer.Exit(1)


@contextlib.contextmanager
def running_session(
    master: str | None, driver_memory: str | None, *, quiet: bool = True, ui: bool = False
) -> Iterator[SparkSession]:
    """The session of a command; one that runs already is used, and left running. ``ui`` as for `session`.

    What Spark, or the project, raises in the block is told in one line and ends the command with status 1;
    an interruption ends it with 130.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no stubs
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    mine = SparkContext._active_spark_context is None and SparkSession.getActiveSession() is None
    # Both libraries log what they raise, with whole stacks.
    logged = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    spark: SparkSession | None = None
    interrupts: list[int] = []
    try:
        if mine and not quiet:
            print_note("starting Spark")
        spark = session(master=master, driver_memory=driver_memory, ui=ui)
        if ui and hasattr(spark, "sparkContext"):
            print_note(f"Spark shows its work at {spark.sparkContext.uiWebUrl}")
        with _interrupts_in(interrupts):
            yield spark
    except (MsmqWireError, PySparkException, Py4JError, ConnectionError, KeyboardInterrupt) as error:
        if isinstance(error, BrokenPipeError):
            raise
        # A call to Java that is interrupted may fail in any of these ways.
        if interrupts or isinstance(error, KeyboardInterrupt):
            print_error("interrupted")
            raise typer.Exit(_INTERRUPTED) from None
        print_error(str(error) if isinstance(error, MsmqWireError) else spark_problem(error))
        raise typer.Exit(1) from None
    finally:
        logging.disable(logged)
        if mine and spark is not None:
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                spark.stop()


@contextlib.contextmanager
def _interrupts_in(seen: list[int]) -> Iterator[None]:
    """Note interruptions, which only raise: pyspark would call Java in the middle of a call to it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
