"""Contestants side by side: interleaved rounds, rates, medians, and ratios taken round by round.

A busy machine slows all contestants of a round alike, so ratios within a round say more than rates, and
ratios of CPU time more than those of the clock.
"""

from __future__ import annotations

import gc
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec

__all__ = [
    "BUSY", "Contestant", "Neighbours", "Result", "all_cores", "anonymous_memory", "measure", "pin",
    "ratio_of",
]  # fmt: skip

BUSY = 0.1
"""Cores that others may keep busy; with more, figures of column engines are worth nothing."""


class Contestant(msgspec.Struct, frozen=True):
    """A name, and work that returns how many items it did.

    ``every_core`` lifts the limit to one core while it runs: for programs of their own, and what they need.
    """

    name: str
    work: Callable[[], int]
    every_core: bool = False


class Result(msgspec.Struct, frozen=True):
    """The rates of one contestant, in items a second, one for every round of its group.

    ``cpu_rates`` are items for each second of user and system time, that of ended children counted; empty
    where another process did the work.
    """

    group: str
    contestant: str
    unit: str
    median: float
    min: float
    max: float
    rates: tuple[float, ...]
    cpu_rates: tuple[float, ...] = ()


def anonymous_memory(process: int) -> int:
    """Kilobytes of a process that no file backs (``smaps_rollup``); 0 for one that has ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Anonymous:")), 0)


def pin() -> int | None:
    """Bind this process to one core; return the core, None where the system cannot."""
    if sys.platform != "linux":
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


@contextmanager
def all_cores() -> Iterator[None]:
    """Let this process, and what it starts, use every core for a while."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Neighbours:
    """How much of the machine others use, from when this is made."""

    def __init__(self) -> None:
        self._before = _seconds()

    def share(self) -> float | None:
        """Cores that others kept busy on average; None where the system does not tell."""
        if self._before is None:
            return None
        machine, own, clock = (now - then for now, then in zip(_seconds() or (), self._before, strict=True))
        return max(0.0, (machine - own) / clock)


def _seconds() -> tuple[float, float, float] | None:
    """Seconds that all cores worked, that this process and its children worked, and of the clock."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
    except OSError:
        return None
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4]), time.monotonic()


def measure(group: str, unit: str, contestants: Sequence[Contestant], rounds: int) -> list[Result]:
    """Run every contestant once for nothing, then once in each round; one `Result` for each."""
    found: dict[str, list[tuple[float, float]]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds + 1):
        for contestant in contestants:
            rates = _rates(contestant)
            if number:
                found[contestant.name].append(rates)
    return [_result(group, name, unit, *zip(*each, strict=True)) for name, each in found.items()]


def _result(
    group: str, name: str, unit: str, rates: tuple[float, ...], cpu_rates: tuple[float, ...]
) -> Result:
    return Result(group, name, unit, statistics.median(rates), min(rates), max(rates), rates, cpu_rates)


def _rates(contestant: Contestant) -> tuple[float, float]:
    """Items a second, by the clock and by the CPU time."""
    with all_cores() if contestant.every_core else nullcontext():
        gc.collect()
        start, used = time.perf_counter(), _cpu_seconds()
        done = contestant.work()
        return done / (time.perf_counter() - start), done / max(_cpu_seconds() - used, 1e-6)


def _cpu_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def ratio_of(
    results: Sequence[Result], group: str, contestant: str, baseline: str, *, cpu: bool = False
) -> tuple[float, ...]:
    """The ratio of two contestants in each round, by the clock or by CPU time.

    It is empty when one of them did not run, or its CPU time is not known.
    """
    found = {
        result.contestant: result.cpu_rates if cpu else result.rates
        for result in results
        if result.group == group
    }
    if contestant not in found or baseline not in found:
        return ()
    pairs = zip(found[contestant], found[baseline], strict=True)
    return tuple(rate / other for rate, other in pairs)
