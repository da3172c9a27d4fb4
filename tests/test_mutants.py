"""How `make mutants` learns which test runs which line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import coverage
import pytest

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
