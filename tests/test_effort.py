"""What a run does of the suite, and that xdist keeps together what belongs together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import effort

_ROOT = Path(__file__).resolve().parents[1]

_GROUPS = """
import os
import pytest

@pytest.mark.parametrize("number", range(8))
@pytest.mark.xdist_group("first")
def test_first(number):
    print("first", os.environ["PYTEST_XDIST_WORKER"])

@pytest.mark.parametrize("number", range(8))
@pytest.mark.spark
def test_second(number):
    print("second", os.environ["PYTEST_XDIST_WORKER"])

@pytest.mark.parametrize("number", range(8))
def test_third(number):
    print("third", os.environ["PYTEST_XDIST_WORKER"])
"""

_BATCHES = """
import os
from pathlib import Path
import pytest
from tests.effort import examples, in_batches, remembered

SEEN = []
MANY = [Path(f"folder/{number}") for number in range(80)]
CALLS = []

@remembered
def call(path):
    CALLS.append(path.name)

@in_batches(MANY[:20], batch=2)
def test_of_files(path, tmp_path, capsys, monkeypatch):
    SEEN.append((path.name, tmp_path))
    assert "CHANGED" not in os.environ
    monkeypatch.setenv("CHANGED", "1")
    assert path.name != "18", "it broke"

@in_batches(MANY, batch=2)
def test_of_many(path):
    call(path)

@in_batches(MANY, batch=2)
def test_of_as_many(path):
    call(path)

@pytest.mark.check
def test_long():
    print("long")

@pytest.mark.slow
def test_slow():
    print("slow")

def test_what_was_seen():
    assert len(set(SEEN)) == len({place for _, place in SEEN}) == len(SEEN)
    print("seen", *(name for name, _ in SEEN))
    print("called", len(CALLS) - len(set(CALLS)), "twice")
    print("examples", examples(1), examples(1000))
"""


def _pytest(source: str, place: Path, *arguments: str, effort_: str = "test") -> str:
    (place / "test_it.py").write_text(source)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(_ROOT), "MSMQ_WIRE_EFFORT": effort_}
    plugins: tuple[str, ...] = ("-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir", str(place))
    # Among the folders of other runs it would take away the oldest, which is long work.
    plugins += (f"--basetemp={place / 'temporary'}",)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", *plugins, *arguments, str(place / "test_it.py")],
        env=environment,
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.check
def test_tests_of_a_group_of_a_spark_session_and_of_a_file_run_in_one_worker(tmp_path: Path) -> None:
    reported = _pytest(_GROUPS, tmp_path, "-n", "2", "--dist", "loadgroup")
    assert "24 passed" in reported
    places = {group: set[str]() for group in ("first", "second", "third")}
    for line in reported.splitlines():
        group, _, worker = line.partition(" ")
        if worker.startswith("gw"):
            places[group].add(worker)
    assert [len(workers) for workers in places.values()] == [1, 1, 1]


def test_another_module_takes_another_share() -> None:
    chosen = {first: effort.share(range(100), first=first) for first in range(9)}
    if effort.WHOLE:
        assert set(chosen.values()) == {range(100)}
    else:
        assert {one for numbers in chosen.values() for one in numbers} == set(range(100))
    assert len(chosen[0]) == (100 if effort.WHOLE else 12)
    assert list(effort.share("abc")) == list("abc" if effort.EVERY_TEST else "a")
    assert list(effort.share([5], first=7)) == [5]
    assert list(effort.share([], first=7)) == []


@pytest.mark.parametrize(
    ("effort_", "seen", "number", "kept"),
    [
        ("test", range(0, 20, 9), 10, "2 deselected"),
        ("ci", range(0, 20, 9), 10, "1 failed, 14 passed"),
        ("check", range(20), 1000, "1 failed, 92 passed"),
    ],
)
def test_a_short_run_does_a_share_and_a_whole_one_everything(
    effort_: str, seen: range, number: int, kept: str, tmp_path: Path
) -> None:
    reported = _pytest(_BATCHES, tmp_path, effort_=effort_)
    # What comes after the file that failed in its case is not read.
    assert f"seen {' '.join(str(one) for one in seen if one < 19)}\n" in reported
    assert "called 0 twice" in reported
    assert f"examples 1 {number}" in reported
    assert kept in reported
    assert "in folder/18" in reported
    assert ("long" in reported.split("summary info")[0]) == (effort_ != "test")


def test_an_effort_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "is test, ci or check, not whole" in _pytest(_BATCHES, tmp_path, effort_="whole")
