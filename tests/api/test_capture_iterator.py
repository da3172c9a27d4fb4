"""What is missing in an answer is a warning, whatever function of the Python API gives the answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import msmq_wire as mw

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_DEMO = _CAPTURES / "demo.pcap"
_CUT = _CAPTURES / "path_cut_file.pcap"
_DAMAGE = f"{_CUT}: the file is cut inside a record of 60 bytes (at byte 856)"
_READINGS: dict[str, Callable[..., object]] = {
    "messages": lambda path, **given: list(mw.messages(path, **given)),
    "calls": lambda path, **given: list(mw.calls(path, **given)),
    "findings": lambda path, **given: list(mw.findings(path, **given)),
    "diagnose": mw.diagnose,
    "why": lambda path, **given: mw.why(path, "DIRECT", **given),
}


def _warned(reading: Callable[..., object], *arguments: Any, **given: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reading(*arguments, **given)
    assert {one.category for one in caught} <= {mw.CaptureWarning}
    # It is whoever calls the package that the warning shows.
    assert {Path(one.filename) for one in caught} <= {Path(__file__)}
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("name", _READINGS)
def test_damage_is_a_warning_at_the_line_that_reads(name: str) -> None:
    assert _warned(_READINGS[name], _CUT) == [_DAMAGE]


@pytest.mark.parametrize("name", _READINGS)
def test_a_whole_capture_warns_of_nothing(name: str) -> None:
    assert _warned(_READINGS[name], _DEMO) == []


def test_what_only_describes_a_capture_is_no_warning() -> None:
    for path in (_CAPTURES / "path_empty.pcap", _CAPTURES / "com_sealed.pcap"):
        assert _warned(_READINGS["calls"], path) == []


@pytest.mark.parametrize("name", ["messages", "calls", "findings", "diagnose"])
def test_what_is_left_out_of_a_folder_is_a_warning(tmp_path: Path, name: str) -> None:
    (tmp_path / "inside").mkdir()
    for file in ("demo.pcap", "inside/demo.pcap", "notes.txt"):
        (tmp_path / file).write_bytes(_DEMO.read_bytes())
    assert _warned(_READINGS[name], tmp_path) == [
        "files left out of folders, as their names are not those of captures: 1",
        "folders inside left out: 1; recursive=True reads those, too",
    ]


@pytest.mark.parametrize("name", ["messages", "findings", "diagnose"])
def test_what_is_dropped_to_save_memory_is_a_warning(name: str) -> None:
    [text] = _warned(_READINGS[name], _DEMO, memory=1)
    assert text.startswith("dropped to save memory, the oldest first: ")
    # All three that are in the capture.
    assert ", 3 messages, 1 transactional sequence, " in text


def test_each_warning_comes_once_and_only_at_the_end() -> None:
    found = mw.messages([_CUT, _DEMO], outcomes=False)
    assert _warned(next, found) == []
    assert _warned(list, found) == [_DAMAGE]
    assert _warned(list, found) == []
    assert [str(error) for error in found.errors] == [_DAMAGE]


def test_a_warning_that_is_an_error_comes_after_all_items() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mw.messages(_CUT, all=True)
        assert next(found).id == 4
        with pytest.raises(mw.CaptureWarning, match="is cut inside a record"):
            next(found)
