"""Captures with answers that were written by hand before a program was asked: fixtures/answers.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_answers import build
from msmq_wire.detection.diagnosis.digest_lines import DigestLine
from msmq_wire.detection.finding import SEVERITIES
from tests.effort import in_batches, remembered
from tests.imperfect.judging import Said, judged

_FILE = Path(__file__).resolve().parents[3] / "fixtures" / "answers.toml"
ANSWERS: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["answers"]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    for name, data in build():
        (folder / name).write_bytes(data)
    return folder


@remembered
def said_of(folder: Path, name: str) -> Said:
    return judged([folder / file for file in ANSWERS[name]["files"]])


def holds(text: str, words: str) -> bool:
    """Whether a text has one of several words as a whole word; ``40 s`` is met by ``40.1 s``."""
    for word in words.split("|"):
        number, _, unit = word.partition(" ")
        pattern = re.escape(word)
        if number.isdecimal() and unit:
            pattern = rf"{number}(?:\.\d+)? ?{re.escape(unit)}"
        if re.search(rf"(?<![\w.]){pattern}(?![\w]|\.\d)", text, re.IGNORECASE):
            return True
    return False


def speaks(line: DigestLine, wanted: dict[str, Any]) -> bool:
    """Whether a line names all hosts and holds all words."""
    named = {*line.who, *re.findall(r"\d+\.\d+\.\d+\.\d+", line.text)}
    return {*wanted["hosts"]} <= named and all(holds(line.text, one) for one in wanted["words"])


def fits(line: DigestLine, wanted: dict[str, Any]) -> bool:
    rank = SEVERITIES.index(line.severity)
    least = SEVERITIES.index(wanted.get("severity_least", "info"))
    return least <= rank <= SEVERITIES.index(wanted.get("severity_most", "high"))


@in_batches(list(ANSWERS), name="name", every=1)
def test_the_digest_says_what_somebody_concluded_by_hand(name: str, captures: Path) -> None:
    answer, said = ANSWERS[name], said_of(captures, name)
    lines = list(said.digest.lines)
    for wanted in answer.get("says", ()):
        found = [line for line in lines if speaks(line, wanted)]
        assert found, (wanted, [line.text for line in lines])
        assert all(fits(line, wanted) for line in found)
        assert len(found) <= wanted["lines"]
        assert not wanted.get("first") or found[0] is lines[0]
        lines = [line for line in lines if line not in found]
    for allowed in answer.get("may_say", ()):
        lines = [line for line in lines if not (speaks(line, allowed) and fits(line, allowed))]
    assert [line.text for line in lines if line.severity != "info"] == []


@in_batches(list(ANSWERS), name="name", every=1)
def test_no_line_says_what_is_not_so(name: str, captures: Path) -> None:
    texts = [line.text for line in said_of(captures, name).digest.lines]
    for word in ANSWERS[name].get("never_says", ()):
        assert [text for text in texts if holds(text, word)] == [], word


@in_batches(list(ANSWERS), name="name", every=1)
def test_messages_and_sessions_are_counted_as_somebody_counted_them(name: str, captures: Path) -> None:
    counts, said = ANSWERS[name].get("counts", {}), said_of(captures, name)
    for what, number in (("sessions", said.opened), ("messages", said.messages)):
        if what in counts:
            assert number == counts[what], what
