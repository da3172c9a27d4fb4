"""Runs the cases in this process, and in as many beside it as there are cores: the same bytes on any machine.

The rule kept here: what the machine, the zone, the language and the terminal are is said here, and nothing of
what a run leaves behind is seen by the next.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple
from unittest import mock

from msmq_wire.capture import packet_batch, reader
from msmq_wire.cli.app import main
from tests.golden.cases import ROOT, Case, is_screen

__all__ = ["Output", "Result", "digest", "pages", "render", "rendered"]

_DIGITS = 12
_CHUNK = 2000
"""Bytes of a capture that are read by column together, so that small ones have several such chunks, too."""
_KEYS = {
    "MSMQ_WIRE_NT_PASSWORD": "Passw0rd!",
    "MSMQ_WIRE_KEYTAB": "fixtures/rpc_captures/rpc_kerberos.keytab",
}


class Output(NamedTuple):
    """How a run ended, what it printed, and what it said on standard error."""

    status: int
    out: bytes
    err: bytes

    def text(self) -> str:
        """All of it, as people read it."""
        parts = [
            self.out.hex(" ", 4) if b"\0" in self.out[:32] else self.out.decode("utf-8", "backslashreplace")
        ]
        if self.err:
            parts += ["--- on standard error\n", self.err.decode("utf-8", "backslashreplace")]
        return "".join((*parts, f"--- status {self.status}\n"))


class Result(NamedTuple):
    """What is kept of a case: the digest, the text of a screen, and whether both paths gave the same."""

    case: Case
    digest: str
    screen: str | None
    agrees: bool


def digest(output: Output) -> str:
    """A short SHA-256 of an output."""
    reported = b"%d %d\n" % (output.status, len(output.out))
    return hashlib.sha256(reported + output.out + output.err).hexdigest()[:_DIGITS]


def rendered(case: Case, *, by_column: bool = False) -> Output:
    """Run a case; ``by_column`` on the path that captures take which are large."""
    empty, out, err = io.BytesIO(), io.BytesIO(), io.BytesIO()
    # They are kept until the end: a stream that nobody knows closes what is below it.
    streams = [io.TextIOWrapper(one, "utf-8", newline="\n") for one in (empty, out, err)]
    with contextlib.ExitStack() as ends:
        ends.enter_context(mock.patch.dict(os.environ, _environment(case), clear=True))
        ends.enter_context(mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]))
        if by_column:
            ends.enter_context(mock.patch.multiple(reader, _WORTH_COLUMNS=0, _CHUNK_SIZE=_CHUNK))
            ends.enter_context(mock.patch.object(packet_batch, "_WORTH_COLUMNS", 1))
        try:
            status = main(case.arguments)
        except BaseException as error:
            error.add_note(f"in msmq-wire {' '.join(case.arguments)}")
            raise
        for one in streams[1:]:
            one.flush()
    return Output(status, out.getvalue(), err.getvalue())


def _kept() -> Mapping[str, str]:
    return {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}


def _environment(case: Case) -> Mapping[str, str]:
    shape = {} if case.width is None else {"COLUMNS": str(case.width)}
    pinned = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "MSMQ_WIRE_MEMORY": "200m"}
    return {**_kept(), **shape, **(_KEYS if case.opened else {}), **pinned}


def render(cases: Sequence[Case]) -> Iterator[Result]:
    """Run all cases, those of one subject in one process, and give the results in their order."""
    os.chdir(ROOT)
    os.environ["TZ"] = "UTC"
    time.tzset()
    subjects = [list(some) for _, some in groupby(cases, key=lambda one: one.subject)]
    # What the first run imports is imported before there are several processes.
    if cases:
        _results(subjects[0])
    gc.freeze()
    with multiprocessing.get_context("fork").Pool(os.cpu_count(), _prepare) as pool:
        for some in pool.imap(_results, subjects, chunksize=4):
            yield from some


def _prepare() -> None:
    """Let a process of the pool lose no time with what it does for every case."""
    # What a command leaves behind is small, and looking for it takes a tenth of the time.
    gc.set_threshold(200_000, 50, 50)
    # Each case puts back what it found, variable by variable.
    kept = _kept()
    os.environ.clear()
    os.environ.update(kept)


def _results(cases: Sequence[Case]) -> list[Result]:
    return [_result(case) for case in cases]


def _result(case: Case) -> Result:
    output = rendered(case)
    agrees = not case.by_column or rendered(case, by_column=True) == output
    return Result(case, digest(output), output.text() if is_screen(case) else None, agrees)


def pages() -> Mapping[str, str]:
    """Manual pages, JSON Schemas and the page of Arrow tables, by file."""
    from docs.generate import DOCS, generated

    chosen = (DOCS / "man", DOCS / "schema", DOCS / "arrow.md")
    return {
        path.relative_to(DOCS).as_posix(): text
        for path, text in generated().items()
        if any(path.is_relative_to(one) for one in chosen)
    }
