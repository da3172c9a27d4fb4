"""``msmq-wire doctor``: what works, what is absent and how to get it, what is broken; and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import msmq_wire
from msmq_wire.cli import health
from msmq_wire.cli.health import EXTRAS
from tests.schemas import schema_of

Run = Callable[..., Any]
_ROOT = Path(__file__).resolve().parents[2]
_TOLD = {
    "4.0.17": "TShark (Wireshark) 4.0.17 (Git v4.0.17).\n\nCompiled (64-bit), with Lua 5.2.4, with GnuTLS",
    "3.6.2": "TShark (Wireshark) 3.6.2 (Git v3.6.2).\n\nCompiled (64-bit), with Lua 5.2.4",
    "no Lua": "TShark (Wireshark) 4.4.18.\n\nCompiled (64-bit), without Lua",
    "strange": "something else",
}


_FEW = {"zstd": EXTRAS["zstd"], "routing": ("routes", ("a_module_that_is_not_there",))}


@pytest.fixture(autouse=True)
def _no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each extra that is tried takes a process: only tests of extras do."""
    monkeypatch.setattr(health, "EXTRAS", {})


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it, and no Java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return folder


def program(folder: Path, name: str, text: str) -> None:
    """A program that prints a text."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{text}\nEND\n", encoding="utf-8")
    path.chmod(0o755)


def reported(run: Run) -> dict[str, tuple[str, str, str]]:
    outcome = run("doctor", "--format", "json")
    document = json.loads(outcome.out)
    assert schema_of("health").faults(document) == []
    assert outcome.err == ""
    checks = {one["name"]: (one["state"], one["found"], one["note"]) for one in document["checks"]}
    assert outcome.status == any(state == "problem" for state, *_ in checks.values())
    return checks


@pytest.mark.slow
def test_the_extras_are_those_of_the_package_and_their_modules_what_these_bring() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["optional-dependencies"]
    assert set(EXTRAS) == set(declared) - {"dev", "docs", "test"}
    owners = packages_distributions()
    for extra, (_, modules) in EXTRAS.items():
        text = " ".join([*declared[extra], *(" ".join(declared[one]) for one in ("arrow", "zstd"))]).lower()
        for module in modules:
            names = {module, *owners.get(module.partition(".")[0], ())}
            assert any(name.lower() in text for name in names), (extra, module)


@pytest.mark.slow
def test_with_nothing_beside_it_each_line_says_how_to_get_it(
    run: Run, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "EXTRAS", _FEW)
    checks = reported(run)
    assert checks["zstd"][0] == "works"
    assert checks["zstd"][1].startswith("backports.zstd ")
    assert checks["routing"] == ("absent", "", 'routes: pip install "msmq-wire[routing]"')
    assert checks["tshark"] == ("absent", "", "--live and the dissector: install Wireshark 4.0 or newer")
    assert checks["Java"][0] == "absent"
    assert "there is no java on PATH" in checks["Java"][2]
    assert set(checks) == {"zstd", "routing", "tshark", "Java"}


@pytest.mark.parametrize(
    ("release", "name", "state", "said"),
    [
        ("3.6.2", "tshark", "problem", "4.0 or newer is needed"),
        ("strange", "tshark", "problem", "it does not tell its version"),
        ("no Lua", "Lua of tshark", "problem", "this tshark was built without Lua"),
        ("4.0.17", "Lua of tshark", "works", "what the dissector is written in"),
    ],
)
def test_a_tshark_is_judged_by_what_it_tells(
    run: Run, bare: Path, release: str, name: str, state: str, said: str
) -> None:
    program(bare, "tshark", _TOLD[release])
    checks = reported(run)
    assert checks[name][0] == state
    assert checks[name][2] == said
    # Of one that is too old nothing more is asked.
    assert ("dissector" in checks) == (release == "4.0.17")


class _Part:
    """What the package for Wireshark says of the dissector."""

    def __init__(self, differences: dict[str, str], problem: str | None) -> None:
        self._differences, self._problem = differences, problem

    def load(self) -> _Part:
        return self

    def loaded_folder(self) -> Path:
        return Path("plugins")

    def script(self) -> Path:
        return Path("package") / "msmq.lua"

    def scripts(self) -> list[Path]:
        return [Path("a.lua"), Path("b.lua")]

    def check(self, folder: Path) -> dict[str, str]:
        return self._differences

    def problem(self, folder: Path | None = None) -> str | None:
        return self._problem


@pytest.mark.parametrize(
    ("differences", "problem", "due"),
    [
        ({}, None, ("works", "plugins", "Wireshark shows MSMQ for this user")),
        ({}, "ignores the scripts of root", ("problem", "plugins", "ignores the scripts of root")),
        (
            {"a.lua": "not installed", "b.lua": "not installed"},
            None,
            ("absent", "not in plugins", "msmq-wire wireshark install"),
        ),
        (
            {"a.lua": "not installed", "b.lua": "not installed"},
            "ignores the scripts of root",
            ("problem", "not in plugins", "ignores the scripts of root"),
        ),
        (
            {"b.lua": "another version"},
            None,
            ("problem", "plugins: b.lua another version", "msmq-wire wireshark install --force"),
        ),
    ],
    ids=["current", "root", "not installed", "not installed, root", "old"],
)
def test_the_dissector_works_where_wireshark_loads_it_for_this_user(
    run: Run,
    bare: Path,
    monkeypatch: pytest.MonkeyPatch,
    differences: dict[str, str],
    problem: str | None,
    due: tuple[str, str, str],
) -> None:
    program(bare, "tshark", _TOLD["4.0.17"])
    monkeypatch.setattr(health, "entry_points", lambda **_: [_Part(differences, problem)])
    assert reported(run)["dissector"] == due


def test_an_extra_that_is_there_and_breaks_is_a_problem(
    run: Run, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("raises", "raise OSError('no\\nlibrary')"), ("ends", "import os; os._exit(9)")):
        (tmp_path / f"{name}.py").write_text(f"print('chatter')\n{text}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(health, "EXTRAS", {name: ("tests", (name,)) for name in ("raises", "ends")})
    checks = reported(run)
    assert checks["raises"][:2] == ("problem", "raises OSError: no library")
    assert checks["ends"][:2] == ("problem", "the interpreter ended with 9")


@pytest.mark.slow
def test_one_screen_says_it_all(run: Run, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "EXTRAS", _FEW)
    program(bare, "java", 'openjdk version "11.0.2"')
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run("doctor")
    lines = outcome.out.splitlines()
    version = f"Python {sys.version.split()[0]}"
    assert lines[0].startswith(f"msmq-wire {msmq_wire.__version__}, {version}, ")
    assert (lines[0].rstrip().endswith(", root")) == (getattr(os, "geteuid", lambda: 1)() == 0)
    assert max(map(len, lines)) <= 80
    assert len(lines) < 24
    assert outcome.status == 1
    assert "java is Java 11" in " ".join(outcome.out.split())


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("--format", "json")])
def test_it_speaks_where_the_command_line_is_absent_too(arguments: tuple[str, ...], bare: Path) -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('rich', 'typer'))); "
        "from msmq_wire.cli import app, health; "
        "health.EXTRAS = {'zstd': health.EXTRAS['zstd']}; sys.exit(app.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    if arguments:
        assert json.loads(done.stdout)["msmq_wire"] == msmq_wire.__version__
    else:
        assert done.stdout.startswith(f"msmq-wire {msmq_wire.__version__}, Python ")
        assert "\nworks  zstd: backports.zstd" in done.stdout


@pytest.mark.slow
def test_in_one_file_extras_are_there_or_not(run: Run, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "EXTRAS", _FEW)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    checks = reported(run)
    assert checks["zstd"][0] == "works"
    assert checks["routing"] == ("absent", "", "routes: not in this file")
