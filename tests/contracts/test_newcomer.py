"""CONTRIBUTING.md names the files to touch: what is new is decoded, shown and documented with these alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.newcomer import DUMMIES, apply

_ROOT = Path(__file__).resolve().parents[2]
_READ = ("docs/**/*", "fixtures/*.py", "fixtures/__pycache__/*", "mkdocs.yml", "msmq_wire/**/*", "tests/**/*")
_MOST = {
    "A field of a header": 2,
    "A header": 4,
    "A method of an RPC interface": 3,
    "A rule of findings": 2,
    "A row of the processing rules": 3,
    "A column of messages": 2,
    "A kind of message body": 3,
    "A link type": 2,
}
# What the program prints of each dummy, and which page says what of it.
_SHOWN = {
    "A field of a header": r"dummy\s+165",
    "A header": r"dummy_header .*\n.*dummies\s+7",
    "A method of an RPC interface": r"R_Dummy",
    "A rule of findings": r"FRM-DUMMY",
    "A row of the processing rules": r"R_Dummy accepts a dwDummy above 100(?s:.*)MQRR-3.1.4.16-1",
    "A column of messages": r",dummy\n.*,7\n.*\"dummy\": ?7}\n.* dummy\n.* 7\n$",
    "A kind of message body": r"dummy body",
    "A link type": r"linked",
}
_TOLD = {
    "A field of a header": [
        ("docs/structures/debug_header.md", "| 2 | `dummy` | u8 |  |  | Number of the dummy. |"),
        ("docs/schema/packet.schema.json", '"description": "Number of the dummy."'),
    ],
    "A header": [
        ("docs/structures/dummy_header.md", "How many dummies there are."),
        ("docs/structures/user_message.md", "[dummy_header](dummy_header.md)"),
        ("docs/coverage.md", "| 2.2.20.9 | DummyHeader | [dummy_header](structures/dummy_header.md) |"),
        ("docs/anomalies.md", "`dummy_header.dummies`"),
        ("mkdocs.yml", "- structures/dummy_header.md"),
    ],
    "A method of an RPC interface": [
        ("docs/rpc-methods.md", "### 16 R_Dummy "),
        ("docs/rpc-methods.md", "The number of the dummy."),
    ],
    "A rule of findings": [
        ("docs/findings/frm_dummy.md", "The label says that it is one."),
        ("docs/findings.md", "| [FRM-DUMMY](findings/frm_dummy.md) |"),
    ],
    "A row of the processing rules": [
        ("docs/spec-coverage/remote_read.md", "MQRR-3.1.4.16-1"),
    ],
    "A column of messages": [
        ("docs/json.md", "| `dummy` |  | Number of the dummy. |"),
        ("docs/schema/message.schema.json", '"description": "Number of the dummy."'),
        ("docs/spark-tables.md", "| `dummy` | int64 | Number of the dummy. |"),
    ],
    "A kind of message body": [
        ("docs/bodies.md", "| `dummy` | the word that it begins with | that it is one |")
    ],
    "A link type": [("docs/coverage.md", "| 148 | dummy |")],
}
# Tests of everything of a kind; this one must not find its dummies there already.
_ASKING = (
    "--deselect=tests/contracts/test_newcomer.py",
    # They ask git what belongs to a release, and the copy is no checkout.
    "--deselect=tests/contracts/test_release.py",
    "--deselect=tests/contracts/test_wheel.py",
    *(
        "tests/cli/test_columns.py",
        "tests/cli/test_messages.py",
        "tests/cli/test_messages_columns.py",
        "tests/cli/test_tables.py",
        "tests/contracts",
        "tests/wire",
        "tests/rpc/interfaces",
        "tests/records/bodies",
        "tests/records/test_message.py",
        "tests/records/test_view.py",
    ),
    *(
        "tests/capture/test_link.py",
        "tests/detection/rules",
        "tests/detection/test_suricata_rules.py",
        "tests/detection/test_take.py",
        "tests/parity",
        "tests/replay/test_rule_table.py",
        "tests/replay/test_rules.py",
    ),
)
_every_kind = pytest.mark.parametrize("kind", DUMMIES)


def _listed(kind: str) -> list[str]:
    """The files under a heading of CONTRIBUTING.md: a list whose lines begin with a path."""
    text = (_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition(f"\n### {kind}\n")[2].partition("\n#")[0]
    return re.findall(r"^\d\. `([^`]+)`", section, re.MULTILINE)


def _run(folder: Path, *arguments: str) -> str:
    surroundings = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", "MSMQ_WIRE_EFFORT": "test"}
    command = [sys.executable, *arguments]
    result = subprocess.run(
        command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a tree with all dummies says. Links would be seen: a file of two names is refused as an output."""
    tree = tmp_path_factory.mktemp("tree")
    for path in {path for pattern in _READ for path in _ROOT.glob(pattern) if path.is_file()}:
        target = tree / path.relative_to(_ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    apply(tree)
    return json.loads(_run(tree, "-m", "tests.contracts.newcomer"))


@_every_kind
def test_the_files_are_those_that_contributing_names(kind: str) -> None:
    listed = _listed(kind)
    names = [re.sub(r"<[^>]+>", r"([^/]+)", re.escape(path).replace(r"\<", "<")) for path in listed]
    assert 0 < len(listed) <= _MOST[kind]
    found = [re.fullmatch(pattern, name) for pattern, name in zip(names, DUMMIES[kind], strict=True)]
    assert all(found), (listed, list(DUMMIES[kind]))


@pytest.mark.check
@pytest.mark.xdist_group("newcomer")
@_every_kind
def test_it_is_decoded_and_shown(kind: str, reported: Any) -> None:
    assert re.search(_SHOWN[kind], reported["seen"][kind]), reported["seen"][kind]


@pytest.mark.check
@pytest.mark.xdist_group("newcomer")
def test_what_only_comes_near_a_new_rule_is_no_finding(reported: Any) -> None:
    assert "FRM-DUMMY" not in reported["seen"]["what misses it"]


@pytest.mark.check
@pytest.mark.xdist_group("newcomer")
@_every_kind
def test_it_is_documented(kind: str, reported: Any) -> None:
    assert [line for page, line in _TOLD[kind] if line not in reported["pages"][page]] == []


@pytest.mark.check
@pytest.mark.needs("git")
def test_the_other_tests_ask_for_no_file_more(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_ROOT / name, tmp_path / name)
    apply(tmp_path)
    for tool in ("packets", "rpc", "findings_wire"):
        _run(tmp_path, f"fixtures/build_{tool}.py")
    for tool in ("dissectors", "docs"):
        _run(tmp_path, f"{tool}/generate.py")
    _run(tmp_path, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *_ASKING)
