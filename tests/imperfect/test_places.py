"""Captures of the same traffic at several places, and of faults of the network: what is said is what is true.

fixtures/places.toml has what somebody wrote down who had not seen the program; the sentences are those of the
answers.md beside each capture.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fixtures.build_places import SCENES
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.shared_traffic import find_shared
from msmq_wire.cli.app import main

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FOLDER = _FIXTURES / "places"
_WRITTEN = tomllib.loads((_FIXTURES / "places.toml").read_text(encoding="utf-8"))
PLACES: dict[str, dict[str, Any]] = _WRITTEN["places"]
_SEVERAL = [name for name, one in PLACES.items() if "clocks" in one]
_HEADS = {"must": "## MUST be said", "never": "## MUST NOT be said"}
_RANGE = re.compile(r"(.*?)(\d+)\.\.(\d+)")
_DRIFT_ERROR = 5_000
"""Nanoseconds a second: what answers.md allows."""

NOT_YET: dict[str, dict[str, str]] = {}
"""What is not so yet, by capture and by how the sentence begins, or by what a test looks at; and why."""


class Said(NamedTuple):
    """The lines that are printed: digest, answers and findings, and why messages are where they are."""

    digest: list[str]
    rest: list[str]

    @property
    def lines(self) -> list[str]:
        """All of them."""
        return self.digest + self.rest


def cases(kind: str) -> list[Any]:
    """The sentences of a kind, those that are not so yet as failures that are expected."""
    return [expected(name, text, more) for name, one in PLACES.items() for text, *more in one[kind]]


def expected(name: str, what: str, *more: object) -> Any:
    reason = next((why for text, why in NOT_YET.get(name, {}).items() if what.startswith(text)), None)
    marks = (pytest.mark.xfail(strict=True, reason=reason),) if reason else ()
    return pytest.param(name, what, *more, marks=marks, id=f"{name}: {what[:60]}")


def folders(what: str, names: list[str]) -> list[Any]:
    """The folders for a test, of which ``what`` names what it looks at."""
    return [
        pytest.param(*expected(name, what).values[:1], marks=expected(name, what).marks) for name in names
    ]


def printed(*arguments: str) -> str:
    """What a command prints, on standard output and then on standard error."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        # No line is to be broken where a pattern looks.
        patch.setenv("COLUMNS", "1000")
        main(list(arguments))
    out.flush()
    err.flush()
    return "".join(one.buffer.getvalue().decode() for one in (out, err))


def paths_of(name: str, *, turned: bool = False) -> list[str]:
    """The files of a capture; ``turned`` names them in the opposite order."""
    paths = [str(_FOLDER / name / file) for file in PLACES[name]["files"]]
    return paths[::-1] if turned else paths


def orders(name: str) -> list[Said]:
    """What is said for both orders of the files."""
    return [said_of(name, turned=turned) for turned in (False, True)[: len(PLACES[name]["files"])]]


@cache
def said_of(name: str, *, turned: bool) -> Said:
    paths = paths_of(name, turned=turned)
    lines = printed("diagnose", "-v", *paths).splitlines()
    first = next((at for at, line in enumerate(lines) if re.match(r" ?\d+\. [A-Z].*\?", line)), len(lines))
    rest = [*lines[first:], *printed("findings", *paths).splitlines()]
    for label in (*PLACES[name].get("open", ()), *PLACES[name].get("asked", ())):
        rest += printed("why", *paths, label).splitlines()
    return Said(lines[:first], rest)


@cache
def points_of(name: str, *, turned: bool) -> dict[str, VantagePoint]:
    """The points of a capture by the name of their file."""
    found = find_shared([(path,) for path in paths_of(name, turned=turned)])
    (shared,) = (one for one in found if isinstance(one, SharedTraffic))
    return {Path(one.files[0]).name: one for one in shared.points}


def pattern(text: str) -> str:
    topic: str = _WRITTEN["topics"][text[1:]] if text.startswith("@") else text
    return topic


def labels(texts: list[str]) -> Iterator[str]:
    for text in texts:
        found = _RANGE.fullmatch(text)
        if found is None:
            yield text
            continue
        head, first, last = found.groups()
        yield from (f"{head}{number:0{len(first)}}" for number in range(int(first), int(last) + 1))


@pytest.mark.parametrize(("name", "sentence", "patterns"), cases("must"))
def test_what_must_be_said_is_said(name: str, sentence: str, patterns: list[str]) -> None:
    for said in orders(name):
        assert [one for one in patterns if not any(re.search(one, line) for line in said.lines)] == []


@pytest.mark.parametrize(("name", "sentence", "patterns"), cases("never"))
def test_what_must_not_be_said_is_not_said(name: str, sentence: str, patterns: list[str]) -> None:
    for said in orders(name):
        assert [line for one in patterns for line in said.lines if re.search(pattern(one), line)] == []


@pytest.mark.parametrize("name", folders("counts", list(PLACES)))
def test_sessions_and_messages_and_repetitions_are_counted_once(name: str) -> None:
    counts = PLACES[name]["counts"]
    for said in orders(name):
        (looked,) = re.findall(r"\b(\d+) messages and (\d+) session", " ".join(said.digest))
        again = re.findall(r"Messages were sent again (\d+) time", " ".join(said.rest))
        assert looked == (str(counts["messages"]), str(counts["sessions"]))
        assert again == [str(counts["again"])] * bool(counts["again"])


@pytest.mark.parametrize("name", folders("clocks", _SEVERAL))
def test_a_clock_is_as_far_off_as_its_uncertainty_says(name: str) -> None:
    first, clocks = PLACES[name]["files"][0], PLACES[name]["clocks"]
    for turned, clock in itertools.product((False, True), clocks):
        points = points_of(name, turned=turned)
        assert len(points) == 1 + len(clocks)
        here, there = points[first], points[clock["file"]]
        unsure = [one.uncertainty for one in (here, there)]
        if "uncertainty" not in clock:
            assert unsure.count(None) == 1
            continue
        # What time it is there at the first and the last time here, which common frames have.
        times = [one.time or 0 for one in read_frames(_FOLDER / name / first)]
        for time, ahead in zip((times[0], times[-1]), clock["ahead"], strict=True):
            error = there.corrected(time + ahead) - here.corrected(time)
            assert abs(error) <= sum(one or 0 for one in unsure)
        assert clock["uncertainty"] // 2 <= sum(one or 0 for one in unsure) <= clock["uncertainty"] * 3 // 2
        gained = here.drift - there.drift
        assert abs(gained - clock["gains"]) <= _DRIFT_ERROR


@pytest.mark.parametrize("name", folders("path", [name for name in _SEVERAL if "path" in PLACES[name]]))
def test_places_are_named_in_the_order_of_the_way(name: str) -> None:
    path = [re.escape(one) for one in PLACES[name]["path"]]
    if len(path) == 2:
        order = f"{path[0]} is nearer .*{path[1]} nearer|{path[1]} is nearer .*{path[0]} nearer"
    else:
        order = f"passes {', '.join(path[:-1])} and {path[-1]}, in this order"
    for said in orders(name):
        assert any(re.search(order, line) for line in said.rest)


@pytest.mark.parametrize("name", folders("unseen", _SEVERAL))
def test_a_message_is_unseen_where_it_is_for_the_reason_that_is_true(name: str) -> None:
    lines = printed(
        "messages", "--columns", "label,seen_at", "--format", "jsonl", *paths_of(name)
    ).splitlines()
    rows = [row for line in lines if line.startswith("{") and (row := json.loads(line)).get("seen_at")]
    found = {(row["label"], *sight.rsplit(": ", 1)) for row in rows for sight in row["seen_at"]}
    found = {(label, Path(file).name, word) for label, file, word in found if word != "whole"}
    unseen = PLACES[name].get("unseen", {})
    assert rows
    assert found == {
        (label, file, word)
        for file, words in unseen.items()
        for word, texts in words.items()
        for label in labels(texts)
    }


@pytest.mark.parametrize("kind", _HEADS)
@pytest.mark.parametrize("name", PLACES)
def test_the_sentences_are_those_of_the_answers(name: str, kind: str) -> None:
    text = (_FOLDER / name / "answers.md").read_text(encoding="utf-8")
    listed = text.partition(f"{_HEADS[kind]}\n")[2].partition("\n\n")[0]
    assert [f"- {sentence}" for sentence, *_ in PLACES[name][kind]] == listed.strip().splitlines()


def test_the_builder_builds_the_captures_that_are_kept() -> None:
    built = {f"{scene.__name__}/{name}": data for scene in SCENES for name, data in scene().items()}
    kept = {f"{name}/{file}" for name, one in PLACES.items() for file in one["files"]}
    assert set(built) == kept
    assert [name for name, data in built.items() if data != (_FOLDER / name).read_bytes()] == []


def test_what_is_not_so_yet_is_about_a_sentence_or_a_test() -> None:
    for name, known in NOT_YET.items():
        whole = [one[0] for kind in _HEADS for one in PLACES[name][kind]] + [
            "counts",
            "clocks",
            "path",
            "unseen",
        ]
        assert all(sum(one.startswith(text) for one in whole) == 1 for text in known)
