"""``--jobs``: several files by several processes, told as one process tells them, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from msmq_wire.cli.capture_set import CaptureSet
    from msmq_wire.cli.render.screen import Screen
    from msmq_wire.cli.row_output import RowOutput

_MOST = 256

Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        max=_MOST,
        help="Read so many of several FILEs at once, each in a process of its own.",
    ),
]

_T = TypeVar("_T")


def in_parts(
    reading: CaptureSet,
    jobs: int,
    work: Callable[[], _T],
    screen: Screen | None = None,
    output: RowOutput | None = None,
) -> Iterator[_T]:
    """Do ``work``, which goes through ``reading`` and prints; give what it returns, once or for each capture.

    It is done in one process where there is but one capture, where one comes as it is written, or is named
    twice, where copies of messages are looked for in all files, and where the system has no way to divide a
    process. ``screen`` and ``output`` are what it prints on beside standard output.
    """
    files = reading.files
    if (
        jobs < 2
        or len(files) < 2
        or reading.as_it_comes
        or reading.at_rest
        or len(set(files)) < len(files)
        or not hasattr(os, "fork")
        or len(reading.captures) < 2
    ):
        yield work()
        return
    jobs = min(jobs, len(reading.captures))
    # Few need them.
    import tempfile

    from msmq_wire.cli.worker_pool import FileWorker, WorkerPool

    with tempfile.TemporaryDirectory(prefix="msmq-wire-") as folder:
        yield from WorkerPool(reading, jobs, FileWorker(reading, work, screen, output, folder)).run()
