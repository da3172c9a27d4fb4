"""Which tests ``make affected`` runs: those that what changed can reach, however far."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.affected import Tree, changed_since, left_out

_FILES = {
    "msmq_wire/__init__.py": "_LAZY = {'read': 'msmq_wire.far.reader'}\nfrom msmq_wire.errors import Error\n",
    "msmq_wire/errors.py": "",
    "msmq_wire/units.py": "",
    "msmq_wire/far/__init__.py": "def register():\n    import msmq_wire.far.job\n",
    "msmq_wire/far/job.py": "",
    "msmq_wire/far/reader.py": "from msmq_wire.units import (\n    MILLI,\n    MICRO,\n)\n",
    "msmq_wire/rules/__init__.py": "import pkgutil\nNAMES = list(pkgutil.iter_modules(__path__))\n",
    "msmq_wire/rules/slow.py": "",
    "msmq_wire/cli/__init__.py": "",
    "msmq_wire/cli/program.py": "def load(one):\n    import_module(f'msmq_wire.cli.commands.{one}')\n",
    "msmq_wire/cli/commands/__init__.py": "",
    "msmq_wire/cli/commands/show.py": "def show():\n    import msmq_wire.rules\n",
    "msmq_wire/typed.py": "if TYPE_CHECKING:\n    from msmq_wire.units import MILLI\n\nX = 1\n",
    "tests/conftest.py": "",
    "tests/far/conftest.py": "from tests.far.scenes import SCENE\n",
    "tests/far/scenes.py": "",
    "tests/far/test_reader.py": "import msmq_wire.far.reader\n",
    "tests/cli/test_show.py": "from msmq_wire.cli import program\nROOT / 'fixtures' / 'shown'\n",
    "tests/test_public.py": "from msmq_wire import read\n",
    "tests/test_errors.py": "from msmq_wire.errors import Error\n",
    "tests/test_typed.py": "from msmq_wire import typed\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A checkout with a package and its tests."""
    for name, text in _FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Tree(tmp_path)


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        ("tests/test_errors.py", ["tests/test_errors.py"]),
        ("msmq_wire/far/reader.py", ["tests/far/test_reader.py", "tests/test_public.py"]),
        ("msmq_wire/units.py", ["tests/far/test_reader.py", "tests/test_public.py"]),
        ("msmq_wire/far/job.py", []),
        ("msmq_wire/rules/slow.py", ["tests/cli/test_show.py"]),
        ("msmq_wire/cli/commands/show.py", ["tests/cli/test_show.py"]),
        ("tests/far/scenes.py", ["tests/far/test_reader.py"]),
        ("fixtures/shown/one.pcap", ["tests/cli/test_show.py"]),
    ],
)
def test_what_imports_a_changed_file_is_reached(tree: Tree, changed: str, reached: list[str]) -> None:
    assert tree.reached([changed]) == reached


@pytest.mark.parametrize(
    "changed",
    ["msmq_wire/__init__.py", "msmq_wire/errors.py", "pyproject.toml", "tests/conftest.py", "LICENSE"],
)
def test_what_every_test_may_depend_on_reaches_all(tree: Tree, changed: str) -> None:
    assert tree.reached([changed]) == tree.tests


def test_folders_of_which_nothing_is_reached_are_named(tree: Tree) -> None:
    assert left_out(tree.tests, tree.reached(["msmq_wire/units.py"])) == ["cli"]


def test_a_real_test_is_reached_by_the_modules_that_it_needs() -> None:
    root = Path(__file__).resolve().parents[1]
    real = Tree(root)
    reached = real.reached(["msmq_wire/detection/rules/ses_slow.py"])
    assert {"tests/detection/rules/test_sessions.py", "tests/cli/test_findings.py"} <= set(reached)
    assert "tests/rpc/pdu/test_pdu.py" not in reached
    assert real.reached(["msmq_wire/units.py"]) == real.tests


@pytest.mark.needs("git")
def test_changes_are_those_of_the_working_tree_and_new_files(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        own = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *own, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("kept", "edited", "moved"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "edited").write_text("other")
    (tmp_path / "moved").rename(tmp_path / "there")
    git("add", ".")
    (tmp_path / "new").touch()
    assert changed_since(tmp_path, "HEAD") == {"edited", "moved", "there", "new"}
