"""What is published: the same bytes at every build, and nothing else; workflows that GitHub knows."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import msmq_wire
from msmq_wire.cli.program import COMMANDS, GROUPS
from tests.contracts.release import build, copy

_ROOT = Path(__file__).resolve().parents[2]
_PROJECT: dict[str, Any] = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_WORKFLOWS = sorted((_ROOT / ".github" / "workflows").glob("*.yml"))
_ISSUES = _ROOT / ".github" / "ISSUE_TEMPLATE"
_ISSUE_FORMS = sorted(path for path in _ISSUES.glob("*.yml") if path.name != "config.yml")
_VERSION = msmq_wire.__version__
_PINS = re.compile(r"^([a-z0-9][\w.-]*)==([^\s;]+)", re.MULTILINE)
_PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)")


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    once = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(built.iterdir())}
    assert set(once) == {f"msmq_wire-{_VERSION}-py3-none-any.whl", f"msmq_wire-{_VERSION}.tar.gz"}
    assert build(copy(tmp_path / "another place"), tmp_path / "dist", 0o077) == once


@pytest.mark.slow
@pytest.mark.needs("twine")
def test_the_index_takes_them(built: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout


@pytest.mark.slow
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
    assert ends == {".py", ".pyi", ".lua", ".md", ".pcap", ".json", ".css", ".js", ".typed", ""}
    licences = [name for name in names if ".dist-info/licenses/" in name]
    assert [name.partition("licenses/")[2] for name in licences] == [
        "LICENSE", "dissectors/LICENSE", "dissectors/msmq_dissect/LICENSE",
    ]  # fmt: skip
    assert "License-Expression: MIT AND GPL-2.0-or-later AND AGPL-3.0-or-later" in metadata
    pages = {Path(name).name for name in names if "/share/man/man1/" in name}
    assert pages == {f"{'-'.join(('msmq-wire', *path.split()))}.1" for path in ("", *COMMANDS, *GROUPS)}


@pytest.mark.slow
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
    reported = _PYTHON.findall("\n".join(_PROJECT["classifiers"]))
    assert _PROJECT["requires-python"] == f">={reported[0]}"
    tests = (_ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert f"python: [{', '.join(f'{chr(34)}{one}{chr(34)}' for one in reported)}]" in tests


def test_the_changelog_has_this_version() -> None:
    assert f"\n## {_VERSION}" in (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.slow
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


def test_actions_are_pinned_by_commit_and_the_base_image_by_digest() -> None:
    used = [
        line.split("uses:")[1].strip()
        for path in (_ROOT / "action.yml", *_WORKFLOWS)
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(used) > 10
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", one)] == []
    # One action has one commit.
    assert len(set(used)) == len({one.partition("@")[0] for one in used})
    image = (_ROOT / "Containerfile").read_text(encoding="utf-8")
    assert re.findall(r"^FROM (\S+)", image, re.MULTILINE) != []
    assert re.findall(r"^FROM (?!\S+@sha256:[0-9a-f]{64}$)", image, re.MULTILINE) == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("build-tools", {"hatchling", "twine", "cyclonedx-bom"}),
        ("build-runtime", {"construct", "typer", "cryptography"}),
    ],
)
def test_what_builds_a_release_has_hashes_and_the_versions_of_the_lock(name: str, wanted: set[str]) -> None:
    locked = set(_PINS.findall((_ROOT / "dev.lock").read_text(encoding="utf-8")))
    text = (_ROOT / ".ci" / f"{name}.lock").read_text(encoding="utf-8")
    pins = _PINS.findall(text)
    assert wanted <= {name for name, _ in pins}
    assert set(pins) <= locked
    assert [one for one in re.split(r"\n(?=\S)", text)[1:] if "--hash=sha256:" not in one] == []
    assert f"--requirement .ci/{name}.lock" in (_ROOT / ".ci" / "build").read_text(encoding="utf-8")


def _action(tmp_path: Path, path: str, fail_on: str = "") -> tuple[int, dict[str, str]]:
    """How the step that asks for findings ends, and what it says."""
    steps = (_ROOT / "action.yml").read_text(encoding="utf-8").partition("- id: findings\n")[2]
    script = textwrap.dedent(steps.partition("run: |\n")[2].partition("    - if:")[0])
    output = tmp_path / "output"
    output.touch()
    surroundings = {
        **os.environ,
        "CAPTURES": path,
        "FAIL_ON": fail_on,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    # As the shell of GitHub runs it.
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, env=surroundings, cwd=tmp_path, capture_output=True, check=False)
    rows = output.read_text(encoding="utf-8").splitlines()
    return done.returncode, dict(row.split("=", 1) for row in rows)


@pytest.mark.slow
def test_the_action_ends_with_the_status_of_findings(tmp_path: Path) -> None:
    hit = str(_ROOT / "fixtures" / "digest" / "attack_in_traffic.pcap")
    assert _action(tmp_path, hit)[1]["status"] == "0"
    assert _action(tmp_path, hit, "high")[1]["status"] == "3"
    # Bad usage writes no log: the step itself fails, and nothing is uploaded.
    assert _action(tmp_path, hit, "worst") == (2, {"sarif": f"{tmp_path}/msmq-wire.sarif", "status": "2"})


@pytest.mark.slow
def test_inputs_of_the_action_are_no_options(tmp_path: Path) -> None:
    shutil.copy(_ROOT / "fixtures" / "digest" / "attack_in_traffic.pcap", tmp_path / "--help")
    status, said = _action(tmp_path, "--help")
    assert (status, said["status"]) == (0, "0")
    assert '"LEN-ENV"' in (tmp_path / "msmq-wire.sarif").read_text(encoding="utf-8")
    assert _action(tmp_path, "--help", "--version")[0] == 2


def test_scripts_of_the_action_and_of_builds_are_shell() -> None:
    for path in (path for path in (_ROOT / ".ci").iterdir() if path.suffix != ".lock"):
        subprocess.run(["bash", "-n", str(path)], check=True)
