"""What a test needs is in the extra that ``make test`` installs, or the test declares it and is skipped."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.contracts.test_wheel import _needed
from tests.needs import _MARKERS, NEEDS, needs_of_module, summary

_ROOT = Path(__file__).resolve().parents[2]
_TESTS = _ROOT / "tests"
_OWN = {"benchmarks", "docs", "fixtures", "msmq_dissect", "msmq_scapy", "msmq_wire", "msmq_wireshark"}
_FILES = sorted(_TESTS.rglob("*.py"))
# Programs in strings import, too. Parsing all files takes a minute.
_IMPORT = re.compile(r"^ *(?:from|import) ([\w.]+)", re.MULTILINE)
_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?: .*\n|\n)+", re.MULTILINE)
_NAMED = re.compile(r"\b(?:needs|need|program)\(((?:\"[\w. -]+\"(?:, )?)+)\)")
_MARKED = re.compile(r"pytest\.mark\.(\w+)")


@functools.cache
def _text(path: Path) -> str:
    return _FOR_TYPES.sub("", path.read_text(encoding="utf-8"))


def _imported(path: Path) -> set[str]:
    """What a module of tests imports, and what its helpers below ``tests`` import when they are imported."""
    found = set(_IMPORT.findall(_text(path)))
    todo, seen = [name for name in found if name.startswith("tests.")], set[str]()
    while todo:
        name = todo.pop()
        helper = _ROOT / f"{name.replace('.', '/')}.py"
        if name not in seen and helper.exists():
            seen.add(name)
            unindented = re.findall(r"^(?:from|import) ([\w.]+)", _text(helper), re.MULTILINE)
            found |= set(unindented)
            todo += [one for one in unindented if one.startswith("tests.")]
    return {name.partition(".")[0] for name in found} - {"tests"} - _OWN - sys.stdlib_module_names


def _declared(path: Path) -> set[str]:
    """The needs that a file names."""
    text = _text(path)
    named = {name for names in _NAMED.findall(text) for name in re.findall(r'"([^"]+)"', names)}
    return named.union(*(_MARKERS.get(marker, ()) for marker in _MARKED.findall(text)))


def _distributions(module: str) -> set[str]:
    return {canonicalize_name(name) for name in _by_module().get(module, ())}


_by_module = functools.cache(packages_distributions)


def test_what_a_test_imports_make_test_installs_or_it_is_declared() -> None:
    installed = {canonicalize_name(one.name) for one in _needed(["msmq-wire[test]"], {""}, set())}
    undeclared = {}
    for path in _FILES:
        if path.name.startswith(("test_", "conftest")):
            known = installed | {canonicalize_name(name) for name in _declared(path)}
            # What is not installed here is not known by its module: where it is, this test sees it.
            wanted = {name for name in _imported(path) if name in _by_module()}
            missing = {name for name in wanted if not _distributions(name) & known}
            if missing:
                undeclared[path.relative_to(_TESTS).as_posix()] = missing
    assert undeclared == {}


def test_every_need_is_listed_and_every_listed_one_is_declared() -> None:
    # There a fixture is called program that makes one.
    others = {Path(__file__), *(_TESTS / "dissectors" / "wireshark").iterdir(), *(_TESTS / "cli").iterdir()}
    declared = set[str]().union(*(_declared(path) for path in _FILES if path not in others))
    assert declared == set(NEEDS)


@pytest.mark.slow
def test_every_distribution_of_the_extra_test_is_used() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {Requirement(one).name for one in project["optional-dependencies"]["test"]} - {"msmq-wire"}
    plugins = {one.dist.name for one in entry_points(group="pytest11") if one.dist is not None}
    imported = {name for path in _FILES for name in _imported(path)}
    used = set().union(*map(_distributions, imported), map(canonicalize_name, plugins))
    assert {name for name in wanted if canonicalize_name(name) not in used} == set()


def test_the_needs_of_a_module_are_read_without_importing_it(tmp_path: Path) -> None:
    module = tmp_path / "test_one.py"
    module.write_text('import nowhere\npytestmark = [pytest.mark.slow, pytest.mark.needs("a", "b")]\n')
    assert needs_of_module(module) == ["a", "b"]
    module.write_text('import nowhere\n\n@pytest.mark.needs("a")\ndef test_it() -> None: ...\n')
    assert needs_of_module(module) == []


@pytest.mark.parametrize(
    ("tests", "files", "line"),
    [
        ([], [], ""),
        (["Skipped: no /dev/full here"], [], "skipped 1 test for other reasons (-rs lists them)"),
        (
            ["Skipped: needs tshark: it is not on PATH"] * 2 + ["Skipped: needs duckdb: it is not installed"],
            ["needs git: it is not on PATH"],
            "skipped 3 tests and 1 file that need tshark, duckdb, git: "
            'run "apt install git tshark" and "make check"',
        ),
        (
            [f"Skipped: needs {name}: no" for name in ("twine", "moto", "dpkt", "duckdb", "artifacts")]
            + ["no"],
            [],
            "skipped 5 tests that need twine, moto, dpkt, duckdb and 1 more: "
            'run "make check", and 1 test for other reasons (-rs lists them)',
        ),
    ],
)
def test_one_line_says_what_was_skipped_and_how_to_get_it(
    tests: list[str], files: list[str], line: str
) -> None:
    assert summary(tests, files) == line


@pytest.mark.slow
@pytest.mark.parametrize("options", [("-n", "2"), ("-p", "no:xdist")], ids=["with xdist", "without xdist"])
def test_a_run_ends_with_that_line(tmp_path: Path, options: tuple[str, ...]) -> None:
    shutil.copy(_TESTS / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = --strict-markers\nmarkers =\n  needs\n  tshark\n"
    )
    for number in (1, 2):
        (tmp_path / f"test_module_{number}.py").write_text(
            'import pytest, nowhere\npytestmark = pytest.mark.needs("tshark")\n'
        )
    (tmp_path / "test_one.py").write_text(
        "import pytest\n"
        '@pytest.mark.xdist_group("one")\n'
        "def test_it_runs() -> None: ...\n"
        "@pytest.mark.tshark\n"
        "def test_it_is_skipped() -> None: ...\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "MSMQ_WIRE_NO_SKIP": "0", "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert 'skipped 1 test and 2 files that need tshark: run "apt install tshark"' in lines
    assert "1 passed, 3 skipped" in lines[-1]
