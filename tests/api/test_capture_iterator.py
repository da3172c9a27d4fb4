"""What is missing in an answer is a warning, whatever function of the Python API gives the answer."""

from __future__ import annotations

import io
import os
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
_PATH = "path must be a path, '-', a binary file object or a list of paths, not"
_READINGS: dict[str, Callable[..., object]] = {
    "messages": lambda path, **given: list(mw.messages(path, **given)),
    "calls": lambda path, **given: list(mw.calls(path, **given)),
    "findings": lambda path, **given: list(mw.findings(path, **given)),
    "diagnose": mw.diagnose,
    "why": lambda path, **given: mw.why(path, "DIRECT", **given),
}


def _table(path: Any, **given: Any) -> object:
    return mw.table(path, "messages", **given)


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


def test_closing_early_warns_of_what_was_met_until_then() -> None:
    found = mw.messages([_CUT, _DEMO], outcomes=False)
    assert [next(found).label, next(found).label] == ["first", "order 4711"]
    assert _warned(found.close) == [_DAMAGE]
    assert _warned(found.close) == []
    # The damage is behind the first message.
    found = mw.messages(_CUT, outcomes=False)
    assert next(found).label == "first"
    assert _warned(found.close) == []


def test_a_block_that_ends_early_warns_of_what_was_met_until_then() -> None:
    with (
        pytest.warns(mw.CaptureWarning, match="is cut inside a record"),
        mw.messages([_CUT, _DEMO], outcomes=False) as found,
    ):
        assert [next(found).label, next(found).label] == ["first", "order 4711"]


def test_a_warning_that_is_an_error_comes_after_all_items() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mw.messages(_CUT, all=True)
        assert next(found).id == 4
        with pytest.raises(mw.CaptureWarning, match="is cut inside a record"):
            next(found)


@pytest.mark.parametrize("name", [*_READINGS, "table"])
@pytest.mark.parametrize(
    ("path", "text"),
    [
        (5, f"{_PATH} int"),
        (None, f"{_PATH} NoneType"),
        (b"\xd4\xc3\xb2\xa1", f"{_PATH} bytes: io.BytesIO(data)"),
        (bytearray(4), f"{_PATH} bytearray: io.BytesIO(data)"),
        (io.StringIO("text"), f'{_PATH} StringIO: open it with "rb"'),
        ({"demo.pcap"}, f"{_PATH} set"),
        ([str(_DEMO), 5], "path[1] must be a path, not int"),
    ],
)
def test_what_is_no_capture_is_told_by_every_function(name: str, path: object, text: str) -> None:
    reading = {**_READINGS, "table": _table}[name]
    with pytest.raises(TypeError) as caught:
        reading(path)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", ["messages", "findings", "diagnose", "why", "table"])
@pytest.mark.parametrize(
    ("memory", "kind", "text"),
    [
        (-1, mw.ArgumentError, "memory is -1: it is a number of bytes, at least 1"),
        (0, mw.ArgumentError, "memory is 0: it is a number of bytes, at least 1"),
        ("40M", TypeError, "memory must be a number of bytes, not str: memory=41943040"),
        ("much", TypeError, "memory must be a number of bytes, not str"),
        (1.5, TypeError, "memory must be a number of bytes, not float"),
    ],
)
def test_memory_is_a_number_of_bytes(name: str, memory: object, kind: type[Exception], text: str) -> None:
    reading = {**_READINGS, "table": _table}[name]
    with pytest.raises(kind) as caught:
        reading(_DEMO, memory=memory)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", [*_READINGS, "table"])
def test_ports_are_checked_before_anything_is_read(name: str) -> None:
    reading = {**_READINGS, "table": _table}[name]
    with pytest.raises(TypeError, match=r"^ports must be a list of numbers, .*: ports=\[1801\]$"):
        reading("no such file", ports=1801)


_OUTCOME = (
    "an outcome is known only at the end of a capture: "
    'mw.messages(path) and mw.table(path, "messages") filter by it'
)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (
            lambda: mw.table(_DEMO, "message"),  # type: ignore[arg-type]  # a typo
            "'message' is none of messages, calls, findings, packets: did you mean 'messages'?",
        ),
        (
            lambda: mw.table(_DEMO, "messages", columns="lable"),
            "no column is called 'lable'. Did you mean 'label'?",
        ),
        (lambda: mw.calls(_DEMO, filter="outcome == refused"), _OUTCOME),
        (lambda: mw.table(_DEMO, "packets", filter="outcome == refused"), _OUTCOME),
        (lambda: mw.findings(_DEMO, filter="outcome == refused"), _OUTCOME),
        (
            lambda: mw.messages(_DEMO, filter="outcome == refused", outcomes=False),
            "an outcome is known only at the end of a capture: outcomes=True filters by it",
        ),
        (
            lambda: mw.findings(_DEMO, level="severe"),  # type: ignore[arg-type]  # it is none
            "level is one of info, low, medium, high, not 'severe'",
        ),
        (
            lambda: mw.findings(_DEMO, rules="LEN-EVN"),
            "no rule is called 'LEN-EVN'; did you mean LEN-ENV or LEN-SEC or LEN-EXT?",
        ),
        (lambda: mw.messages([]), "no capture is given"),
        (
            lambda: next(mw.read_capture(_DEMO, type="user_mesage")),
            "no record is of type 'user_mesage': did you mean 'user_message'?",
        ),
        (
            lambda: mw.decode(b"", as_="usermessage"),
            "no structure is called 'usermessage': did you mean 'user_message'?",
        ),
    ],
)
def test_a_wrong_value_is_caught_as_either_error(wrong: Callable[[], object], text: str) -> None:
    for kind in (ValueError, mw.MsmqWireError):
        with pytest.raises(kind) as caught:
            wrong()
        assert str(caught.value) == text


def test_an_iterator_says_how_far_it_is() -> None:
    found = mw.messages(_DEMO)
    assert repr(found).endswith("/demo.pcap: 0 items so far>".replace("/", os.sep))
    next(found)
    assert repr(found).endswith("demo.pcap: 1 item so far>")
    assert len(list(found)) == 2
    assert repr(found).endswith("demo.pcap: 3 items, ended>")
    assert list(found) == []
    assert repr(mw.calls(["-", "b"])) == "<CaptureIterator standard input, b: 0 items so far>"
    with mw.calls(io.BytesIO(_DEMO.read_bytes())) as read:
        assert repr(read) == "<CaptureIterator the stream: 0 items so far>"
    assert repr(read) == "<CaptureIterator the stream: 0 items, ended>"


def test_a_file_object_needs_no_more_than_read() -> None:
    class Bytes:
        def __init__(self) -> None:
            self.read = io.BytesIO(_DEMO.read_bytes()).read

    # A response of a web server has no more, either.
    assert [one.id for one in mw.messages(Bytes(), outcomes=False)] == [10, 11, 13]  # type: ignore[arg-type]
