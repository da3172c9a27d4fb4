"""The rules of the documents by number, and which of them are tested: read from the rows and the tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import msmq_wire
from docs.generators.markers import table
from msmq_wire.replay.rule_table import PARTS, rows, table_text

__all__ = ["TESTED", "blocks", "pages", "rules_with_tests"]

# A copy of the documentation has no tests beside it.
_TESTS = Path(msmq_wire.__file__).resolve().parents[1] / "tests"
TESTED = ("lab", "routing", "srmp")
"""The folders of tests of servers, of routing and of messages over HTTP."""
_NUMBERS = re.compile(r"[A-Z]+-[0-9.]+-[0-9]+(?: [A-Z]+-[0-9.]+-[0-9]+)*")
"""Numbers of rules, separated by spaces."""
_OWN_CELLS = 2
"""Cells at the end of a row that are for the code, not for the page."""


@cache
def rules_with_tests(*folders: str) -> frozenset[str]:
    """The numbers of rules in the marks and tables of the tests in folders; they are literal strings."""
    paths = (path for folder in folders for path in (_TESTS / folder).rglob("test_*.py"))
    return frozenset(rule for path in paths for rule in _named(path))


def _named(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NUMBERS.fullmatch(node.value):
            yield from node.value.split()


def pages() -> dict[str, str]:
    """The tables of each part as a page: what the documents ask for, without what the code does with it."""
    return {part: "".join(_shown(line) + "\n" for line in table_text(part).splitlines()) for part in PARTS}


def _shown(line: str) -> str:
    if not line.startswith("| "):
        return line
    return " | ".join(line.removesuffix(" |").split(" | ")[:-_OWN_CELLS]) + " |"


def blocks() -> dict[str, str]:
    """How many rules there are by part and by method, and how many of them have a test."""
    tested = rules_with_tests(*TESTED)
    counts = []
    for part, title in PARTS.items():
        for heading, found in groupby(rows(part), lambda row: row.heading):
            ids = [row.id for row in found]
            done = sum(id_ in tested for id_ in ids)
            counts.append((f"[{title}](spec-coverage/{part}.md)", heading, str(len(ids)), str(done)))
    whole = sum(int(count[2]) for count in counts)
    done = sum(int(count[3]) for count in counts)
    summary = f"{whole:,} rules, {done:,} with a test."
    return {"spec-coverage": f"{summary}\n\n{table(('Part', 'Section', 'Rules', 'Tested'), counts)}"}
