"""What is published: the same bytes at every build, and nothing else; workflows that GitHub knows."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import msmq_wire
from msmq_wire.cli.program import COMMANDS, GROUPS
from tests.needs import need

_ROOT = Path(__file__).resolve().parents[2]
_PROJECT: dict[str, Any] = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_WORKFLOWS = sorted((_ROOT / ".github" / "workflows").glob("*.yml"))
_ISSUES = _ROOT / ".github" / "ISSUE_TEMPLATE"
_ISSUE_FORMS = sorted(path for path in _ISSUES.glob("*.yml") if path.name != "config.yml")
_VERSION = msmq_wire.__version__
_PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def _built(source: Path, target: Path, umask: int) -> dict[str, str]:
    """The distributions of a tree with the hashes of their bytes."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
    # A fixed time: files get that of the commit where one builds for others.
    own = os.environ | {"SOURCE_DATE_EPOCH": "1795000000"}
    subprocess.run(command, cwd=source, env=own, check=True, capture_output=True, umask=umask)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(target.iterdir())}


def _copy(target: Path) -> Path:
    """What git tracks of this tree, with other times and modes."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True).stdout
    for name in listed.decode().rstrip("\0").split("\0"):
        source = _ROOT / name
        if source.exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / name)
            if os.access(source, os.X_OK):
                (target / name).chmod(0o755)
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist and the wheel, built in another place."""
    need("git", "hatchling")
    folder = tmp_path_factory.mktemp("release")
    _built(_copy(folder / "source"), folder / "dist", 0o022)
    return folder / "dist"


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    once = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(built.iterdir())}
    assert set(once) == {f"msmq_wire-{_VERSION}-py3-none-any.whl", f"msmq_wire-{_VERSION}.tar.gz"}
    assert _built(_copy(tmp_path / "another place"), tmp_path / "dist", 0o077) == once


@pytest.mark.needs("twine")
def test_the_index_takes_them(built: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


def test_the_wheel_has_what_is_imported_and_the_texts_of_three_licences(built: Path) -> None:
    [path] = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        tops = {name.partition("/")[0] for name in names}
        metadata = archive.read(f"msmq_wire-{_VERSION}.dist-info/METADATA").decode()
    shims = {f"pyspark_msmq_{name}.py" for name in ("calls", "carved", "messages", "packets")}
    packages = {"msmq_wire", "msmq_dissect", "msmq_scapy", "msmq_wireshark"}
    own = {f"msmq_wire-{_VERSION}.dist-info", f"msmq_wire-{_VERSION}.data"}
    assert tops == packages | shims | own
    ends = {Path(name).suffix for name in names if not name.startswith("msmq_wire-")}
    assert ends == {".py", ".lua", ".md", ".pcap", ".json", ".css", ".js", ".typed", ""}
    licences = [name for name in names if ".dist-info/licenses/" in name]
    assert [name.partition("licenses/")[2] for name in licences] == [
        "LICENSE", "dissectors/LICENSE", "dissectors/msmq_dissect/LICENSE",
    ]  # fmt: skip
    assert "License-Expression: MIT AND GPL-2.0-or-later AND AGPL-3.0-or-later" in metadata
    pages = {Path(name).name for name in names if "/share/man/man1/" in name}
    assert pages == {f"{'-'.join(('msmq-wire', *path.split()))}.1" for path in ("", *COMMANDS, *GROUPS)}


def test_the_sdist_has_what_git_tracks_and_no_more(built: Path) -> None:
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=_ROOT, check=True, capture_output=True, text=True
    ).stdout
    kept = {name for name in tracked.splitlines() if (_ROOT / name).exists()}
    assert names - kept == {"PKG-INFO"}
    assert kept - names == set()


def test_versions_of_python_are_told_once_for_all() -> None:
    told = _PYTHON.findall("\n".join(_PROJECT["classifiers"]))
    assert _PROJECT["requires-python"] == f">={told[0]}"
    tests = (_ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert f"python: [{', '.join(f'{chr(34)}{one}{chr(34)}' for one in told)}]" in tests


def test_the_changelog_has_this_version() -> None:
    assert f"\n## {_VERSION}" in (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.needs("check-jsonschema")
@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("github-actions", [_ROOT / "action.yml"]),
        ("github-workflows", _WORKFLOWS),
        ("github-issue-forms", _ISSUE_FORMS),
        ("github-issue-config", [_ISSUES / "config.yml"]),
    ],
)
def test_workflows_forms_and_the_action_say_what_github_knows(schema: str, paths: list[Path]) -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        f"vendor.{schema}",
        *map(str, paths),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_of_the_action_and_of_builds_are_shell() -> None:
    for path in (_ROOT / ".ci").iterdir():
        subprocess.run(["bash", "-n", str(path)], check=True)
