"""How much of the suite a run does, and how its many captures are dealt out.

``MSMQ_WIRE_EFFORT`` says which of three it is. ``test``, that of ``make test``, leaves out the tests marked
``check`` and ``slow``, and does a share of everything that is open-ended. ``ci``, that of ``.ci/run``, runs
every test, with such a share; both do the same at every run. ``check``, that of ``make check``, does all of
it, and draws at random. What has no end of its own asks here: examples of a property, captures that one test
reads one after the other, truncations of long bytes.
"""

from __future__ import annotations

import functools
import inspect
import os
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

EFFORT = os.environ.get("MSMQ_WIRE_EFFORT", "test")
if EFFORT not in ("test", "ci", "check"):
    raise ValueError(f"MSMQ_WIRE_EFFORT is test, ci or check, not {EFFORT}")
EVERY_TEST = EFFORT != "test"
"""Whether this run leaves out no test."""
WHOLE = EFFORT == "check"
"""Whether it is to do everything."""
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
"""Whether it may take hours, too."""
SHORT_LIVED_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a JVM that lives for a minute: optimizing its code takes half of its time."""

_FEW = 10
_SHARE = 9
_BATCH = 24
_CUTS = 12
_LONG = 600

_T = TypeVar("_T")


def examples(number: int) -> int:
    """How many examples of a property to run that is worth ``number`` of them in ``make check``."""
    return number if WHOLE else min(number, _FEW)


def share(values: Sequence[_T], every: int = _SHARE, first: int = 0) -> Sequence[_T]:
    """All values, or in a short run every ninth one from a first one on: always the same.

    Where one would stand for a few kinds, CI does them all.
    """
    if WHOLE or not values or (EVERY_TEST and len(values) <= every):
        return values
    return values[first % min(every, len(values)) :: every]


def seeds(number: int) -> range:
    """What the random data of a test is made from: all of some seeds, or at least one and the ninth part."""
    return range(number if WHOLE else max(1, number // _SHARE))


def cuts(size: int) -> Sequence[int]:
    """The lengths at which bytes of some size are cut: all, or both ends and some between them."""
    most = _LONG if WHOLE else 3 * _CUTS
    if size <= most:
        return range(size)
    step = (size - 2 * _CUTS) // (most - 2 * _CUTS) + 1
    return [*range(_CUTS), *range(_CUTS, size - _CUTS, step), *range(size - _CUTS, size)]


def in_batches(
    paths: Sequence[Any], *, name: str = "path", every: int = _SHARE, batch: int = _BATCH
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test that takes ``path`` for a `share` of some files, many of them in one case.

    It may be another ``name`` than path, and anything else than files; with ``every`` 1 it is all of them.
    A case by itself costs more than what most tests do.

    Every file of a case has a ``tmp_path`` of its own, and what ``monkeypatch`` changed for one is undone
    before the next; a failure names its file. The share of another module is another one. Tests of a module
    that are given the same files run one after the other, also under xdist: what they share of a file is
    `remembered`.
    """

    def deal(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(batch_of_paths: Sequence[Path], **fixtures: Any) -> None:
            for number, path in enumerate(batch_of_paths):
                with ExitStack() as ends:
                    values = {**fixtures, name: path}
                    if "tmp_path" in fixtures:
                        values["tmp_path"] = fixtures["tmp_path"] / str(number)
                        values["tmp_path"].mkdir()
                    if "monkeypatch" in fixtures:
                        values["monkeypatch"] = ends.enter_context(fixtures["monkeypatch"].context())
                    try:
                        test(**values)
                    except BaseException as error:
                        error.add_note(f"in {path}")
                        raise

        others = [one for one in inspect.signature(test).parameters.values() if one.name != name]
        first = inspect.Parameter("batch_of_paths", inspect.Parameter.KEYWORD_ONLY)
        keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in others]
        run.__signature__ = inspect.Signature([first, *keywords])  # type: ignore[attr-defined]  # pytest asks it
        module = test.__module__.rpartition(".")[2]
        chosen = share(paths, every, zlib.crc32(module.encode()))
        assert chosen
        dealt = [
            pytest.param(
                chosen[at : at + batch], id=str(at // batch), marks=pytest.mark.xdist_group(f"{module}-{at}")
            )
            for at in range(0, len(chosen), batch)
        ]
        # The scope of the files orders the cases of a module by its files.
        cases: Callable[..., None] = pytest.mark.parametrize("batch_of_paths", dealt, scope="module")(run)
        return cases

    return deal


def remembered(function: Callable[..., _T]) -> Callable[..., _T]:
    """Let a function remember what it made of the files of a case, and of no more."""
    return functools.lru_cache(maxsize=_BATCH)(function)
