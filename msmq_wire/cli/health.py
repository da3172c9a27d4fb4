"""What is installed and what works: extras, tshark with its Lua and our dissector, Java.

The rule kept here: nothing is imported into this process to see whether it can be; each extra is tried in one
of its own, and a program is asked for its version. Nothing is changed, no network is asked, and no extra is
needed to be told that there is none.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, entry_points, packages_distributions, version
from importlib.util import find_spec
from typing import Final, Literal, TypeAlias

import msgspec

import msmq_wire
from msmq_wire.engines.text.escaping import SCHEMA_VERSION

WIRESHARK_GROUP = "msmq_wire.wireshark"
"""The entry points by which the package for Wireshark, under another licence, is found."""
State: TypeAlias = Literal["works", "absent", "problem"]
_PATIENCE = 60
_ZSTD = "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
_OLDEST_TSHARK = (4, 0)
_TSHARK_VERSION = re.compile(r"TShark \(Wireshark\) (\d+)\.(\d+)(?:\.(\d+))?")
_LUA_VERSION = re.compile(r"with Lua (\d+\.\d+(?:\.\d+)?)")

EXTRAS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "cli": ("this program", ("re2", "rich", "typer", _ZSTD)),
    "arrow": ("columns, and tables of Arrow", ("numpy", "pyarrow")),
    "routing": ("route and route-audit", ("networkx",)),
    "spark": ("spark and its tables", ("deltalake", "numpy", "pandas", "pyarrow", "pyspark")),
    "unseal": ("sealed calls, signatures and encrypted bodies", ("cryptography", "Cryptodome")),
    "wireshark": ("wireshark, --live, and the bridge to pyshark", ("pyshark",)),
    "scapy": ("layers of scapy", ("scapy",)),
    "dissect": ("the plugin of dissect", ("dissect.target",)),
    "evtx": ("event logs of Windows", ("evtx",)),
    "fuzz": ("strategies of hypothesis", ("hypothesis",)),
    "zstd": ("captures that zstd packed", (_ZSTD,)),
}
"""What each extra is for, and the modules that it needs."""

_TRY: Final = """
import importlib, json, sys
paths, modules = json.loads(sys.argv[1])
sys.path[:0] = [one for one in paths if one not in sys.path]
for one in modules:
    try:
        importlib.import_module(one)
    except BaseException as error:
        print(json.dumps([one, f"{type(error).__name__}: {error}"]))
        break
"""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that may be there: ``found`` says what is, ``note`` what it is for or what to do about it."""

    name: str
    state: State
    found: str = ""
    note: str = ""

    @property
    def said(self) -> str:
        """What is found and noted, in one text."""
        if not self.found or not self.note:
            return self.found or self.note
        return f"{self.found} ({self.note})" if self.state == "works" else f"{self.found}: {self.note}"


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """All of it: versions, whether the user is root, and the checks in the order in which they are told."""

    msmq_wire: str
    python: str
    system: str
    root: bool
    encoding: str
    checks: tuple[Check, ...]
    schema_version: int = SCHEMA_VERSION

    @property
    def works(self) -> bool:
        """Whether nothing that is there is broken."""
        return all(check.state != "problem" for check in self.checks)

    @property
    def headline(self) -> str:
        """The versions in one line."""
        root = ", root" if self.root else ""
        said = f"Python {self.python}, {self.system}, {self.encoding or 'no encoding'}{root}"
        return f"msmq-wire {self.msmq_wire}, {said}"

    def as_json(self) -> str:
        """The document of docs/schema/health.schema.json."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()


def health() -> Health:
    """Look at this installation."""
    import platform

    return Health(
        msmq_wire=msmq_wire.__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}".strip(),
        root=getattr(os, "geteuid", lambda: 1)() == 0,
        encoding=getattr(sys.stdout, "encoding", None) or "",
        checks=(*_extras(), *_wireshark(), *_java()),
    )


def _extras() -> Iterator[Check]:
    paths = [path or os.getcwd() for path in sys.path]
    if getattr(sys, "frozen", False):
        yield from _frozen_extras()
        return
    runs = {
        name: subprocess.Popen(
            [sys.executable, "-c", _TRY, json.dumps([paths, modules])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        for name, (_, modules) in EXTRAS.items()
    }  # fmt: skip
    for name, run in runs.items():
        purpose, modules = EXTRAS[name]
        try:
            said, _ = run.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            run.kill()
            said, _ = run.communicate()
            said = json.dumps([modules[0], f"no answer in {_PATIENCE} s"]).encode()
        yield _extra(name, purpose, modules, _failure(said, run.returncode))


def _frozen_extras() -> Iterator[Check]:
    """Those of a program in one file, which has no interpreter to try them in, and gets nothing more."""
    for name, (purpose, modules) in EXTRAS.items():
        if all(find_spec(module.partition(".")[0]) is not None for module in modules):
            yield Check(name=name, state="works", found=", ".join(map(_release, modules)), note=purpose)
        else:
            yield Check(name=name, state="absent", note=f"{purpose}: not in this file")


def _failure(said: bytes, status: int) -> tuple[str, str] | None:
    """The module that could not be imported, and why; None where all were."""
    for line in said.splitlines():
        try:
            module, why = json.loads(line)
        except ValueError:
            # Something that prints while it is imported.
            continue
        return module, " ".join(str(why).split())
    return ("", f"the interpreter ended with {status}") if status else None


def _extra(name: str, purpose: str, modules: tuple[str, ...], failure: tuple[str, str] | None) -> Check:
    install = f'pip install "msmq-wire[{name}]"'
    if failure is None:
        found = ", ".join(_release(module) for module in modules)
        return Check(name=name, state="works", found=found, note=purpose)
    module, why = failure
    if why.startswith("ModuleNotFoundError") and module.partition(".")[0] in why:
        return Check(name=name, state="absent", note=f"{purpose}: {install}")
    return Check(name=name, state="problem", found=f"{module} {why}".strip(), note=f"{purpose}: {install}")


def _release(module: str) -> str:
    """The distribution of a module with its version."""
    for name in (module, *packages_distributions().get(module, ())):
        with contextlib.suppress(PackageNotFoundError):
            return f"{name} {version(name)}"
    return module


def _wireshark() -> Iterator[Check]:
    path = shutil.which("tshark")
    reported = None if path is None else _said(path, "--version")
    if path is None:
        needed = "--live and the dissector: install Wireshark 4.0 or newer"
        yield Check(name="tshark", state="absent", note=needed)
        return
    found = _TSHARK_VERSION.search(reported or "")
    if found is None:
        yield Check(name="tshark", state="problem", found=path, note="it does not tell its version")
        return
    release = ".".join(part for part in found.groups() if part)
    lua = _LUA_VERSION.search(" ".join((reported or "").split()))
    if (int(found[1]), int(found[2])) < _OLDEST_TSHARK:
        yield Check(name="tshark", state="problem", found=f"{release}, {path}", note="4.0 or newer is needed")
        return
    yield Check(name="tshark", state="works", found=f"{release}, {path}", note="--live and the dissector")
    if lua is None:
        yield Check(name="Lua of tshark", state="problem", note="this tshark was built without Lua")
        return
    yield Check(name="Lua of tshark", state="works", found=lua[1], note="what the dissector is written in")
    yield _dissector()


def _dissector() -> Check:
    """Whether Wireshark loads the dissector for this user."""
    name = "dissector"
    try:
        part = next(iter(entry_points(group=WIRESHARK_GROUP, name="install"))).load()
    except (StopIteration, ImportError):
        return Check(name=name, state="absent", note='pip install "msmq-wire[wireshark]"')
    folder = part.loaded_folder()
    differences: dict[str, str] = part.check(folder)
    if set(differences.values()) == {"not installed"} and len(differences) == len(part.scripts()):
        problem = part.problem(part.script().parent)
        if problem is not None:
            return Check(name=name, state="problem", found=f"not in {folder}", note=problem)
        return Check(name=name, state="absent", found=f"not in {folder}", note="msmq-wire wireshark install")
    if differences:
        what = ", ".join(f"{file} {difference}" for file, difference in differences.items())
        return Check(
            name=name, state="problem", found=f"{folder}: {what}", note="msmq-wire wireshark install --force"
        )
    problem = part.problem()
    if problem is not None:
        return Check(name=name, state="problem", found=str(folder), note=problem)
    return Check(name=name, state="works", found=str(folder), note="Wireshark shows MSMQ for this user")


def _java() -> Iterator[Check]:
    # Only the job needs it.
    if find_spec("msmq_wire.spark") is None:
        return
    from msmq_wire.spark.java import java_problem

    problem = java_problem()
    if problem is None:
        yield Check(name="Java", state="works", found="17 or newer", note="spark")
        return
    absent = "there is no java" in problem
    yield Check(name="Java", state="absent" if absent else "problem", note=f"spark: {problem}")


def _said(*command: str) -> str | None:
    """What a program prints; None where it cannot be run."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout + done.stderr).decode("utf-8", "replace")
