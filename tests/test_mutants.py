"""How `make mutants` learns which test runs which line, and finds mutants again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import coverage
import pytest

from tests import mutants

_ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.needs("coverage", "pytest-cov")


@pytest.mark.slow
def test_lines_are_told_with_the_tests_that_run_them(tmp_path: Path) -> None:
    found = tmp_path / "lines"
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "--cov", "--cov-context=test", "--cov-report=")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/test_units.py"],
        cwd=_ROOT,
        env=os.environ | {"COVERAGE_FILE": str(found)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    data = coverage.CoverageData(str(found))
    data.read()
    lines = data.contexts_by_lineno(str(_ROOT / "msmq_wire" / "units.py"))
    assert any("tests/test_units.py" in context for contexts in lines.values() for context in contexts)


_BEFORE = """
def kept(a):
    return a + 1

class Reader:
    def feed(self, data):
        if data and self.open:
            self.count += 1
        return self.count
"""
_AFTER = """
class PacketReader:
    def feed(self, data):
        self.note(data)
        if data and self.open:
            self.count += 1
        return self.count
"""


def test_a_frozen_mutant_is_found_again_where_its_function_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "msmq_wire"
    package.mkdir()
    monkeypatch.setattr(mutants, "_ROOT", tmp_path)
    monkeypatch.setattr(mutants, "_PACKAGE", package)
    (package / "reader.py").write_text(_BEFORE)
    drawn = {mutant.qualname: mutant for mutant in mutants.draw(9)}
    results = [{**mutant._asdict(), "result": "killed by a test"} for mutant in drawn.values()]
    frozen = mutants.freeze(results)
    assert mutants.thaw(frozen, {}) == list(drawn.values())

    (package / "reader.py").rename(package / "packet_reader.py")
    (package / "packet_reader.py").write_text(_AFTER)
    moved = {"msmq_wire/reader.py:Reader.feed": "msmq_wire/packet_reader.py:PacketReader.feed"}
    for names in (moved, {}):
        again = dict(zip((one.qualname for one in frozen), mutants.thaw(frozen, names), strict=True))
        feed = again["Reader.feed"]
        assert again["kept"] is None
        assert feed is not None
        assert (feed.qualname, feed.what) == ("PacketReader.feed", drawn["Reader.feed"].what)
        assert feed.line == drawn["Reader.feed"].line - 2
