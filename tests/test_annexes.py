"""The annexes: what reads captures works in a tree without the lab and the job."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from msmq_wire.cli.program import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
ANNEXES = ("lab", "spark")
DEMO = ROOT / "fixtures" / "captures" / "demo.pcap"
TOPOLOGY = ROOT / "fixtures" / "routing" / "example.toml"
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
(CONTRACT,) = (contract for contract in LINTER["contracts"] if contract["id"] == "annexes")
IMPORTERS = {line.partition(" -> ")[0] for line in CONTRACT["ignore_imports"]}
"""The modules that may import an annex."""
ASKS = "msmq_wire.cli.health"
"""Says what an annex lacks, and nothing where the annex is missing."""
IMPORT_ALL = """
import importlib, pkgutil, sys
import msmq_wire
names = [one.name for one in pkgutil.walk_packages(msmq_wire.__path__, "msmq_wire.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(msmq_wire.__file__, len(names))
"""

pytestmark = pytest.mark.check


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package without the annexes and the modules that import them."""
    root = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "msmq_wire", root / "msmq_wire", ignore=ignored)
    shutil.copytree(ROOT / "fixtures" / "digest", root / "fixtures" / "digest")
    for annex in ANNEXES:
        shutil.rmtree(root / "msmq_wire" / annex)
    for name in IMPORTERS - {ASKS}:
        (root / f"{name.replace('.', '/')}.py").unlink()
    return root


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=root, env=surroundings, capture_output=True, text=True, check=False
    )


def test_only_commands_of_an_annex_import_it() -> None:
    groups = (*ANNEXES, "compare-recording")
    own = {place.partition(":")[0] for name, (place, _) in COMMANDS.items() if name.split()[0] in groups}
    commands = {name.rpartition(".")[2] for name in IMPORTERS if name.startswith("msmq_wire.cli.commands.")}
    assert commands
    assert commands - own == set()


def test_without_the_annexes_every_other_module_is_imported(tree: Path) -> None:
    done = run(tree, "-c", IMPORT_ALL)
    assert (done.returncode, done.stderr) == (0, "")
    file, _, count = done.stdout.strip().rpartition(" ")
    assert Path(file).is_relative_to(tree)
    assert int(count) > 500


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("demo",),
        ("diagnose", str(DEMO)),
        ("messages", str(DEMO)),
        ("messages", str(DEMO), "--redact", "hosts", "--filter", "label ~ order"),
        ("findings", str(DEMO), "--format", "jsonl"),
        ("carve", str(ROOT / "fixtures" / "at_rest")),
        ("route-audit", "--topology", str(TOPOLOGY), str(DEMO), "--all"),
        ("explain", "FRM-SIG"),
    ],
)
def test_without_the_annexes_a_command_answers_the_same(tree: Path, arguments: tuple[str, ...]) -> None:
    expected, found = (run(root, "-m", "msmq_wire", *arguments) for root in (ROOT, tree))
    assert expected.stdout
    assert (found.returncode, found.stdout, found.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )


def test_without_the_annexes_doctor_says_nothing_of_java(tree: Path) -> None:
    done = run(tree, "-m", "msmq_wire", "doctor")
    assert "Traceback" not in done.stderr
    assert "zstd" in done.stdout
    assert "Java" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("lab", "serve"), "serve"),
        (("compare-recording", "folder"), "compare-recording"),
        (("spark", "run", "--help"), "run"),
    ],
)
def test_a_command_of_a_missing_annex_is_refused_in_one_line(
    tree: Path, arguments: tuple[str, ...], name: str
) -> None:
    done = run(tree, "-m", "msmq_wire", *arguments)
    expected = f"msmq-wire: this installation has no command {name}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)
