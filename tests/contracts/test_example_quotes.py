"""Commands in examples have double quotes alone: in cmd.exe single quotes are a part of the argument."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from msmq_wire.cli.app import main
from msmq_wire.cli.program import COMMANDS, GROUPS

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md"), *(_ROOT / ".github").rglob("*.yml")])
_SOURCES = sorted(
    path for folder in ("msmq_wire", "dissectors") for path in (_ROOT / folder).rglob("*.py")
) + sorted((_ROOT / "docs").glob("*.py"))
_FENCE = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SHELLS = {"bash", "bat", "cmd", "console", "powershell", "sh", "text"}
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMAND = re.compile(
    r"\$ |(?:export|jq|make|msmq-wire|pip|pipx|podman|python\S*|target-query|tshark|uvx?) |--\w"
)
_DOUBLE_QUOTED = re.compile(r"\"[^\"]*\"")
_SINGLE_QUOTE_BEGINS = re.compile(r"(?<![\w'])'")
_ARGUMENT = re.compile(r"(?:(?:pip|pipx) install|uvx|--[a-z][a-z-]*|msmq-wire [a-z][^'\"\n]*)[ =]'")


def _in_single_quotes(command: str) -> bool:
    return _SINGLE_QUOTE_BEGINS.search(_DOUBLE_QUOTED.sub("", command)) is not None


def _commands(page: str) -> list[str]:
    """Commands of fences, each with its continued lines, and those between backquotes."""
    fences = [body for language, body in _FENCE.findall(page) if language in _SHELLS]
    lines = [line.strip() for body in fences for line in body.replace("\\\n", " ").splitlines()]
    return [text for text in [*lines, *_CODE.findall(_FENCE.sub("", page))] if _COMMAND.match(text)]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.relative_to(_ROOT).as_posix())
def test_no_command_of_a_page_has_single_quotes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [command for command in _commands(text) if _in_single_quotes(command)] == []
    assert [line for line in text.splitlines() if _ARGUMENT.search(_DOUBLE_QUOTED.sub("", line))] == []


@pytest.mark.parametrize("command", ["", *GROUPS, *COMMANDS])
def test_no_help_has_single_quotes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert not _in_single_quotes(text), text


def test_no_text_of_the_program_has_a_command_with_single_quotes() -> None:
    found = [
        f"{path.relative_to(_ROOT).as_posix()}:{node.lineno}: {node.value}"
        for path in _SOURCES
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _ARGUMENT.search(node.value)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("pip install '.[cli]'", True),
        ("msmq-wire lab send :1801 'private$\\orders'", True),
        ("msmq-wire spark run --glob='*'", True),
        ('pip install ".[cli]"', False),
        ("msmq-wire messages demo.pcap --filter \"label == 'Order 4711'\"", False),
        ("msmq-wire packet the sender's.bin", False),
    ],
)
def test_what_is_looked_for_is_found(command: str, wrong: bool) -> None:
    assert _in_single_quotes(command) is wrong
    assert _commands(f"```console\n$ {command}\n```\n") == [f"$ {command}"]
    assert _commands(f"say `{command}`\n") == [command]
