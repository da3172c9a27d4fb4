"""What tests need that ``make test`` does not install: whether it is here, and how to get it.

A test declares a need with ``@pytest.mark.needs("duckdb")``, a module with ``pytestmark``, a fixture with
`need`. The markers ``tshark``, ``suricata``, ``browser`` and ``spark`` stand for needs, too. Where its need
is missing, a test is skipped and a module is not imported.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from msmq_wire.spark.java import java_problem
from tests.chromium import BROWSERS, browser

AXE = Path(sys.prefix) / "axe.min.js"
"""Where ``make axe`` puts axe-core."""

_OLDEST_TSHARK = (4, 0)
_OLDEST_SURICATA = (7, 0)
_APT = "apt install "
_JAVA = f"{_APT}default-jre-headless"
_SHOWN = 4
_REASON = re.compile(r"needs ([^:]+): ")


@dataclass(frozen=True)
class Need:
    """Something that tests need."""

    problem: Callable[[], str]
    """Says what is wrong with it here, or nothing."""
    get: Callable[[], str]
    """The command that installs it."""


@functools.cache
def _no_java() -> str:
    return java_problem() or ""


def _no_browser() -> str:
    return "" if browser() else f"none of {', '.join(BROWSERS)} is on PATH"


def _old_program(name: str, option: str, version: str, oldest: tuple[int, int]) -> str:
    path = shutil.which(name)
    if path is None:
        return f"{name} is not on PATH"
    output = subprocess.run([path, option], capture_output=True, text=True, check=False).stdout
    found = re.search(version, output)
    if found is None:
        return f"{name} does not tell its version: {output[:80]!r}"
    if (int(found[1]), int(found[2])) < oldest:
        return f"{name} is {found[1]}.{found[2]}, {oldest[0]}.{oldest[1]} or newer is needed"
    return ""


def where(program: str) -> str | None:
    """Find a program, also where those for administrators are."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


def _no_program(name: str) -> str:
    return "" if where(name) else f"{name} is not on PATH"


def _no_distribution(name: str) -> str:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} is not installed"
    return ""


def _need(get: str, problem: Callable[..., str], *arguments: object) -> Need:
    return Need(functools.cache(functools.partial(problem, *arguments)), lambda: get)


_PROGRAMS = {
    "debugfs": "e2fsprogs",
    "ewfacquire": "ewf-tools",
    "git": "git",
    "mkfs.ext4": "e2fsprogs",
    "mkntfs": "ntfs-3g",
    "openssl": "openssl",
    "qemu-img": "qemu-utils",
    "wimlib-imagex": "wimtools",
}
"""Programs, and the packages of Debian that have them."""
_DISTRIBUTIONS = (
    *("artifacts", "check-jsonschema", "coverage", "dissect.cstruct", "dissect.extfs", "dpkt"),
    *(
        "duckdb",
        "duckdb-extension-delta",
        "gcp-storage-emulator",
        "grpcio",
        "h11",
        "hatchling",
        "impacket",
        "import-linter",
        "ipykernel",
        "moto",
        "nbclient",
        "pandas",
        "polars",
        "pytest-cov",
        "scapy-rpc",
    ),
    *("sqlglot", "tree-sitter", "tree-sitter-powershell", "twine", "yara-python"),
)
"""Distributions of the extra ``dev``: oracles of tests, tools for releases, servers of object stores."""
NEEDS = {
    "Chromium": _need(f"{_APT}chromium", _no_browser),
    "Java 17": _need(_JAVA, _no_java),
    "Suricata": _need(
        f"{_APT}suricata", _old_program, "suricata", "-V", r"version (\d+)\.(\d+)", _OLDEST_SURICATA
    ),
    "axe-core": _need("make axe", lambda: "" if AXE.exists() else "make axe fetches it with npm"),
    # ``make test`` installs it where Java is.
    "pyspark": Need(
        functools.partial(_no_distribution, "pyspark"), lambda: _JAVA if _no_java() else "make test"
    ),
    "tshark": _need(
        f"{_APT}tshark", _old_program, "tshark", "--version", r"(\d+)\.(\d+)\.\d+", _OLDEST_TSHARK
    ),
    **{name: _need(_APT + package, _no_program, name) for name, package in _PROGRAMS.items()},
    **{name: _need("make check", _no_distribution, name) for name in _DISTRIBUTIONS},
}
"""All that a test may say it needs."""
_MARKERS = {
    "browser": ("Chromium",),
    "spark": ("Java 17", "pyspark"),
    "suricata": ("Suricata",),
    "tshark": ("tshark",),
}


def problem(names: Iterable[str]) -> str:
    """Say what the first of some needs lacks here, or nothing."""
    for name in names:
        lacking = NEEDS[name].problem()
        if lacking:
            return f"needs {name}: {lacking}"
    return ""


def need(*names: str) -> None:
    """Skip the test that runs if something is not here."""
    lacking = problem(names)
    if lacking:
        pytest.skip(lacking)


def needs_of(item: pytest.Item) -> Iterator[str]:
    """What the markers of a test name."""
    for mark in item.iter_markers("needs"):
        yield from mark.args
    for marker, names in _MARKERS.items():
        if item.get_closest_marker(marker) is not None:
            yield from names


def needs_of_module(path: Path) -> list[str]:
    """What the ``pytestmark`` of a module names, read without importing it."""
    source = path.read_text(encoding="utf-8")
    if "mark.needs(" not in source:
        return []
    marks = (
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    )
    calls = (node for value in marks for node in ast.walk(value) if isinstance(node, ast.Call))
    return [
        ast.literal_eval(argument)
        for call in calls
        if ast.unparse(call.func) == "pytest.mark.needs"
        for argument in call.args
    ]


def summary(tests: Iterable[str], files: Iterable[str] = ()) -> str:
    """Say in one line what was skipped and how to get it, from the reasons why tests and files were."""
    missing: Counter[str] = Counter()
    counts = []
    others = 0
    for word, reasons in (("test", list(tests)), ("file", list(files))):
        names = [match[1] for match in map(_REASON.search, reasons) if match and match[1] in NEEDS]
        # pyspark comes with Java, so Java is what to name.
        missing.update("Java 17" if NEEDS[name].get() == _JAVA else name for name in names)
        counts += [_counted(len(names), word)] if names else []
        others += len(reasons) - len(names)
    rest = f"{_counted(others, 'test')} for other reasons (-rs lists them)" if others else ""
    if not missing:
        return f"skipped {rest}" if rest else ""
    names = [name for name, _ in missing.most_common()]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else "")
    line = f"skipped {' and '.join(counts)} that need {shown}: run {_commands(names)}"
    return f"{line}, and {rest}" if rest else line


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _commands(names: Iterable[str]) -> str:
    commands = {NEEDS[name].get() for name in names}
    packages = sorted(one.removeprefix(_APT) for one in commands if one.startswith(_APT))
    rest = sorted(one for one in commands if not one.startswith(_APT))
    return " and ".join(f'"{one}"' for one in [*([_APT + " ".join(packages)] if packages else []), *rest])


if __name__ == "__main__":
    sys.exit(bool(problem(sys.argv[1:])))
