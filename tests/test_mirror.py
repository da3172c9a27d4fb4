"""Every module has a test of its own name, or is listed below the test that covers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.affected import ROOT
from tests.mirror import Mirror, own_test

_FILES = {
    "msmq_wire/__init__.py": "from msmq_wire.units import MILLI\n__all__ = ['MILLI']\n",
    "msmq_wire/units.py": "MILLI = 1\n",
    "msmq_wire/far/__init__.py": "",
    "msmq_wire/far/reader.py": "from msmq_wire.far.frames import frame\ndef read(): ...\n",
    "msmq_wire/far/frames.py": "def frame(): ...\n",
    "msmq_wire/far/rules/one.py": "RULE = 1\n",
    "msmq_wire/far/rules/two.py": "RULE = 2\n",
    "tests/test_units.py": "from msmq_wire.units import MILLI\n",
    "tests/test_whole.py": "import msmq_wire.far.reader\nimport msmq_wire.far.frames\n",
    "tests/far/test_reader.py": "from msmq_wire.far import reader\n",
    "tests/far/test_rules.py": "import msmq_wire.far.rules.one\nimport msmq_wire.far.rules.two\n",
}
_HOLDS = """\
"far/test_reader.py" = ["far/frames.py"]
"far/test_rules.py" = ["far/rules/*"]
"""


def checkout(root: Path, listed: str, **changed: str) -> Path:
    """A package and its tests, some of them with another text."""
    for name, text in {**_FILES, "tests/covered_by.toml": listed, **changed}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.slow
def test_every_module_has_a_test_of_its_own_name_or_one_that_is_listed() -> None:
    assert list(Mirror(ROOT).problems()) == []


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("units.py", "test_units.py"),
        ("far/reader.py", "far/test_reader.py"),
        ("__main__.py", "test_main.py"),
        ("far/__init__.py", "far/test_init.py"),
    ],
)
def test_a_test_has_the_name_of_its_module_in_the_mirrored_folder(module: str, test: str) -> None:
    assert own_test(module) == test


@pytest.mark.parametrize(
    ("listed", "problems"),
    [
        (_HOLDS, []),
        ("", ["far/frames.py: no test", "far/rules/one.py: no test", "far/rules/two.py: no test"]),
        (_HOLDS + '"far/test_gone.py" = ["far/frames.py"]\n', [
            "far/test_gone.py: far/frames.py: no such test",
            "far/frames.py: below far/test_reader.py and far/test_gone.py",
        ]),
        (_HOLDS + '"test_whole.py" = ["far/gone.py", "far/reader.py"]\n', [
            "test_whole.py: far/gone.py: no module without a test of its own name",
            "test_whole.py: far/reader.py: no module without a test of its own name",
        ]),
        ('"far/test_rules.py" = ["far/frames.py", "far/rules/*"]\n', [
            "far/test_rules.py: far/frames.py: not imported by the test",
        ]),
    ],
)  # fmt: skip
def test_a_line_that_does_not_hold_is_told(tmp_path: Path, listed: str, problems: list[str]) -> None:
    assert list(Mirror(checkout(tmp_path, listed)).problems()) == problems


def test_a_test_of_another_module_of_the_name_covers_nothing(tmp_path: Path) -> None:
    root = checkout(tmp_path, _HOLDS, **{"tests/far/test_reader.py": "import msmq_wire.far.frames\n"})
    assert list(Mirror(root).problems()) == ["far/reader.py: no test"]


@pytest.mark.parametrize("listed", ["", _HOLDS, '"far/test_gone.py" = ["far/frames.py", "far/gone.py"]\n'])
def test_the_list_that_is_written_anew_holds(tmp_path: Path, listed: str) -> None:
    root = checkout(tmp_path, listed)
    text = Mirror(root).renewed()
    assert "gone" not in text
    assert '"far/test_reader.py" = ["far/frames.py"]\n' in text
    checkout(root, text)
    assert list(Mirror(root).problems()) == []
    assert Mirror(root).renewed() == text
