"""docs/glossary.md: in order, each term once, short, and a word that a reader can meet."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "glossary.md"
_MOST_WORDS = 25
_OUTPUT, _CODE = "In output and documentation", "In the code"


def _rows(part: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    text = _PAGE.read_text(encoding="utf-8").partition(f"## {part}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


_ROWS = {part: _rows(part) for part in (_OUTPUT, _CODE)}


@cache
def _texts(folder: str, suffix: str) -> str:
    files = sorted((_ROOT / folder).rglob(f"*{suffix}"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file != _PAGE)


@pytest.mark.parametrize("part", _ROWS)
def test_terms_are_in_alphabetical_order(part: str) -> None:
    terms = [row[0].lower() for row in _ROWS[part]]
    assert terms == sorted(terms)
    assert terms


def test_each_term_is_explained_once() -> None:
    terms = [row[0].lower() for rows in _ROWS.values() for row in rows]
    assert len(terms) == len(set(terms))


@pytest.mark.parametrize("row", [row for rows in _ROWS.values() for row in rows], ids=lambda row: row[0])
def test_a_meaning_is_short(row: list[str]) -> None:
    term, _, meaning = row
    assert 0 < len(meaning.split()) <= _MOST_WORDS, term
    assert meaning.endswith("."), term


@pytest.mark.parametrize("row", _ROWS[_OUTPUT], ids=lambda row: row[0])
def test_a_reader_meets_each_term(row: list[str]) -> None:
    """In a page, or in a text that a command prints."""
    words = re.compile(rf"\b{re.escape(row[0])}(s|es|d|ed)?\b", re.IGNORECASE)
    assert words.search(_texts("docs", ".md")) or words.search(_texts("msmq_wire", ".py"))


@pytest.mark.parametrize("row", _ROWS[_CODE], ids=lambda row: row[0])
def test_a_contributor_meets_each_word_of_the_code(row: list[str]) -> None:
    words = re.compile(rf"\b{re.escape(row[0])}(s|es)?\b", re.IGNORECASE if row[0].islower() else 0)
    assert words.search(_texts("msmq_wire", ".py") + (_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
