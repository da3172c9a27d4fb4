"""The rules of the documents by number, and which of them are tested: read from the pages and the tests."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msmq_wire
from docs.generators.markers import table

__all__ = ["PARTS", "blocks", "read_parts", "rules_with_tests", "rules_without_tests"]

# A copy of the documentation has no tests beside it.
_ROOT = Path(msmq_wire.__file__).resolve().parents[1]
_TESTS = _ROOT / "tests" / "model"
_TRANSPORT_TESTS = _ROOT / "tests" / "lab"
_PAGES = _ROOT / "docs" / "spec-coverage"

PARTS = {
    "remote_read": "RemoteRead, [MS-MQRR]",
    "qm2qm": "qm2qm, [MS-MQQP]",
    "qmcomm": "qmcomm, [MS-MQMP]",
    "qmcomm2": "qmcomm2, [MS-MQMP]",
    "receive_current": "ReceiveCurrent_v1, [MC-MQAC]",
    "shared_events": "Shared events, [MS-MQDMPR]",
}
_ROW = re.compile(r"^\| (C?M[SQ][A-Z]*-[0-9.]+-[0-9]+) \|", re.MULTILINE)
_METHOD = re.compile(r"^### (.+)$", re.MULTILINE)


@cache
def _page(part: str) -> str:
    return (_PAGES / f"{part}.md").read_text(encoding="utf-8")


def read_parts() -> dict[str, list[str]]:
    """The numbers of all rules, by part, in the order of the pages."""
    return {part: _ROW.findall(_page(part)) for part in PARTS}


@cache
def rules_with_tests() -> frozenset[str]:
    """The numbers in the marks ``rule`` of the tests; they are literal strings."""
    paths = (path for folder in (_TESTS, _TRANSPORT_TESTS) for path in folder.rglob("test_*.py"))
    return frozenset(rule for path in paths for rule in _marked(path))


def _marked(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
            for argument in node.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                    raise ValueError(f"{path.name}:{node.lineno}: a rule is named by a literal string")
                yield argument.value


@cache
def rules_without_tests() -> dict[str, dict[str, str]]:
    """By part the rules without a test, each with its reason."""
    return {
        part: tomllib.loads((_TESTS / "untested" / f"{part}.toml").read_text(encoding="utf-8"))
        for part in PARTS
    }


def blocks() -> dict[str, str]:
    """How many rules there are by part and by method, and how many of them have a test."""
    tested = rules_with_tests()
    rows = []
    for part, title in PARTS.items():
        page = _page(part)
        starts = [(match.start(), match[1]) for match in _METHOD.finditer(page)]
        ends = [start for start, _ in starts[1:]] + [len(page)]
        for (start, method), end in zip(starts, ends, strict=True):
            rules = _ROW.findall(page[start:end])
            if rules:
                done = sum(rule in tested for rule in rules)
                rows.append((f"[{title}](spec-coverage/{part}.md)", method, str(len(rules)), str(done)))
    whole = sum(map(len, read_parts().values()))
    done = sum(rule in tested for part in read_parts().values() for rule in part)
    summary = f"{whole:,} rules, {done:,} with a test."
    return {"spec-coverage": f"{summary}\n\n{table(('Part', 'Section', 'Rules', 'Tested'), rows)}"}
