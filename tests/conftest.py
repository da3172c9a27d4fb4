"""Settings every test shares: hypothesis profiles, and what happens to a test whose tool is missing."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.effort import EVERY_TEST, LONG, WHOLE, examples
from tests.needs import need, needs_of, needs_of_module, problem, summary
from tests.whole_repr import differences

if TYPE_CHECKING:
    from tests.tables.store.s3_server import S3Server

# A slow machine is no failure: neither a deadline nor the health check that measures time.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
# The same examples at every run: what a user runs is never red by chance.
settings.register_profile("quick", _UNTIMED, max_examples=examples(200), derandomize=True, database=None)
settings.register_profile("check", _UNTIMED, max_examples=100)
settings.register_profile("long", _UNTIMED, max_examples=100_000)
if LONG:
    # Hours are what was asked for.
    os.environ.setdefault("PYTEST_TIMEOUT", "0")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "check" if WHOLE else "quick"))


_ABOVE = (("cli",), ("lab",), ("parity",))
_UNTRACED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Let tests use the marker of a plugin that is not installed."""
    if not config.pluginmanager.hasplugin("xdist"):
        config.addinivalue_line("markers", "xdist_group: means something to xdist only")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that declares a need that is missing, and say which."""
    need(*needs_of(item))


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Name the fields in which two values differ; each alone is shown in one line."""
    if op != "==" or not hasattr(left, "__struct_fields__") or type(left) is not type(right):
        return None
    return [f"{left!r} == {right!r}", *differences(left, right)]


class _SkippedModule(pytest.Module):
    """A module that is not imported: what it needs is missing, and may be what it imports."""

    def collect(self) -> NoReturn:
        pytest.skip(problem(needs_of_module(self.path)), allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip a module that declares a need that is missing."""
    if problem(needs_of_module(module_path)):
        module: pytest.Module = _SkippedModule.from_parent(parent, path=module_path)
        return module
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was skipped and how to get it."""
    reports = terminalreporter.getreports("skipped")
    tests = [str(one.longrepr) for one in reports if isinstance(one, pytest.TestReport)]
    files = [str(one.longrepr) for one in reports if isinstance(one, pytest.CollectReport)]
    line = summary(tests, files)
    if line:
        terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def few_are_worth_columns() -> Iterator[None]:
    """Let packets of a batch be read by column however few they are."""
    from msmq_wire.capture import packet_batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packet_batch, "_WORTH_COLUMNS", 1)
        yield


@pytest.fixture
def s3() -> Iterator[S3Server]:
    """An S3 server with an empty bucket, which the environment names."""
    need("moto")
    # It takes a second to import.
    from tests.tables.store.s3_server import s3_server

    with s3_server() as server:
        yield server


# Before xdist looks at the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of ``make test`` what is marked so; keep together what shares something dear.

    The tests of a Spark session run in one worker, those that ask what one run of Suricata said, and those of
    one built wheel. Where coverage is measured, only tests of the measured packages are traced.
    """
    # Where everything is measured, as for mutants, that is True.
    sources = [one for one in config.getoption("cov_source", None) or () if one is not True]
    measured = [Path(one).parts[1:] for one in sources]
    for item in items:
        item.stash[_UNTRACED] = bool(measured) and not _is_traced(item, measured)
        for name in ("spark", "suricata"):
            if item.get_closest_marker(name) is not None:
                item.add_marker(pytest.mark.xdist_group(name))
        if "built" in getattr(item, "fixturenames", ()) and item.get_closest_marker("spark") is None:
            item.add_marker(pytest.mark.xdist_group("built"))
    if not EVERY_TEST:
        left = [item for item in items if any(map(item.get_closest_marker, ("check", "slow")))]
        config.hook.pytest_deselected(items=left)
        kept = set(map(id, left))
        items[:] = [item for item in items if id(item) not in kept]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure nothing during a test that is not to be traced, nor while its fixtures come and go.

    The plugin's own marker pauses it for the call alone. Fixtures are often what is dear, and threads that
    begin while it pauses or goes on can collide in ``sys.settrace``.
    """
    plugin = item.config.pluginmanager.getplugin("_cov")
    if not item.stash[_UNTRACED] or plugin is None:
        return (yield)
    plugin.cov_controller.pause()
    try:
        return (yield)
    finally:
        plugin.cov_controller.resume()


def _is_traced(item: pytest.Item, measured: Sequence[tuple[str, ...]]) -> bool:
    """Whether a test is of a measured package, or of what is above them all, and no mass of examples.

    Tracing takes as long again as a test, and the hundredth example or capture takes the way of the first.
    """
    folder = item.path.relative_to(item.config.rootpath / "tests").parts
    if not any(folder[: len(one)] == one for one in (*measured, *_ABOVE)):
        return False
    if any(map(item.get_closest_marker, ("check", "untraced"))):
        return False
    if not WHOLE:
        return True
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    case = getattr(item, "callspec", None)
    return not drawn and (case is None or case.indices.get("batch_of_paths", 0) == 0)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name long bytes by their length: what packs them may write the time, and workers compare names."""
    return f"{len(val)} bytes of {argname}" if isinstance(val, bytes) and len(val) > 32 else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """The cores it may use, with every test two more: those of the lab and of clusters wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + (2 if EVERY_TEST else 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let a short run give out whole files, but for groups, where xdist would give out single tests.

    What a module makes for its tests is made in one worker, and xdist counts files instead of what is left of
    twenty thousand tests. With every test, a file may take ten minutes.
    """
    if EVERY_TEST or config.getoption("dist") != "loadgroup":
        return None
    scheduler = importlib.import_module("xdist.scheduler").LoadGroupScheduling(config, log)
    group_of = scheduler._split_scope

    def group_or_file(name: str) -> str:
        group: str = group_of(name)
        return name.partition("::")[0] if group == name else group

    scheduler._split_scope = group_or_file
    return scheduler


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the test modules in another order in each worker.

    Collection has one order for all: the workers of a fresh clone would each rewrite and compile them all.
    """
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    root = session.config.rootpath
    paths = sorted(
        path for place in session.config.args for path in _test_modules(root / place.partition("::")[0])
    )
    start = int(worker["workerid"].removeprefix("gw")) * len(paths) // worker["workercount"]
    for path in (*paths[start:], *paths[:start]):
        # What cannot be imported is reported by collection, in its place.
        with contextlib.suppress(Exception):
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


def _test_modules(place: Path) -> list[Path]:
    return [place] if place.is_file() else list(place.rglob("test_*.py"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Let programs that tests start be interrupted: shells start jobs in the background with that ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Take twenty thousand collected tests out of what every collection of garbage walks through."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where ``MSMQ_WIRE_NO_SKIP=1``; an expected failure stays one."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same for a module that skips itself while it is collected."""
    report = yield
    if report.skipped:
        # The place of the skip is the same for all modules, and xdist passes on one report for each place.
        if isinstance(collector, _SkippedModule):
            report.longrepr = (str(collector.path), 0, problem(needs_of_module(collector.path)))
        _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("MSMQ_WIRE_NO_SKIP") != "1":
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{reason}\nMSMQ_WIRE_NO_SKIP=1: a skip is a failure"
