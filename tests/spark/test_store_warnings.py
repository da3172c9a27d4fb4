"""What a store holds that its readers may not expect is said before it is done, and kept with the run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import msmq_wire
from msmq_wire.spark.job import Run, run_job
from tests.spark.test_job import DEMO, one_process, options_of, run_of, visible

__all__ = ["one_process"]


def warned(
    spark: Any, output: Path, *paths: Path, tables: tuple[str, ...] = ("messages",), **options: Any
) -> list[str]:
    """The warnings of a run, which are those that it keeps."""
    told: list[str] = []
    run = run_job(spark, str(output), options_of(*paths, **options), tables=tables, warn=told.append)
    assert list(run_of(output, run.name).warnings) == list(run.warnings) == told
    return told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    shutil.copy(DEMO, tmp_path / "in" / "a.pcap")
    return tmp_path / "in"


def test_new_captures_and_those_that_are_left_alone_are_no_reason(
    one_process: Any, folder: Path, tmp_path: Path
) -> None:
    assert warned(one_process, tmp_path / "out", folder) == []
    assert warned(one_process, tmp_path / "out", folder) == []


def test_what_another_version_decoded_is_counted(
    one_process: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this = msmq_wire.__version__
    monkeypatch.setattr(msmq_wire, "__version__", "0.0.1")
    warned(one_process, tmp_path / "out", folder)
    monkeypatch.setattr(msmq_wire, "__version__", this)
    assert warned(one_process, tmp_path / "out", folder) == [
        f"1 capture is left alone, decoded by msmq-wire 0.0.1; this is {this}: --force decodes them again"
    ]


def test_rows_that_were_read_with_other_options_are_named_before_they_are_replaced(
    one_process: Any, folder: Path, tmp_path: Path
) -> None:
    warned(one_process, tmp_path / "out", folder)
    assert warned(one_process, tmp_path / "out", folder, hosts=("192.0.2.0/24",)) == [
        "1 capture is in the tables, read with other options or for other tables "
        f"({folder}/a.pcap): the rows of this run take their place"
    ]


@pytest.mark.parametrize("again", ["copy", "link", "linked folder"])
def test_the_same_bytes_under_another_name_are_told(
    one_process: Any, folder: Path, tmp_path: Path, again: str
) -> None:
    warned(one_process, tmp_path / "out", folder)
    once = len(visible(tmp_path / "out")["messages"])
    if again == "copy":
        other = folder / "b.pcap"
        shutil.copy(DEMO, other)
    elif again == "link":
        other = folder / "b.pcap"
        other.symlink_to(folder / "a.pcap")
    else:
        (tmp_path / "other").symlink_to(folder)
        other = tmp_path / "other" / "a.pcap"
    assert warned(one_process, tmp_path / "out", other.parent) == [
        f"1 capture is there under another name ({other} as {folder}/a.pcap): "
        "the rows are in the tables twice"
    ]
    assert len(visible(tmp_path / "out")["messages"]) == 2 * once


def test_another_capture_of_the_same_size_is_no_copy(one_process: Any, folder: Path, tmp_path: Path) -> None:
    data = bytearray(DEMO.read_bytes())
    data[-1] ^= 1
    (folder / "b.pcap").write_bytes(data)
    assert warned(one_process, tmp_path / "out", folder) == []


def test_captures_that_are_gone_from_a_folder_are_told_and_their_rows_stay(
    one_process: Any, folder: Path, tmp_path: Path
) -> None:
    shutil.copy(folder.parents[0] / "in" / "a.pcap", tmp_path / "elsewhere.pcap")
    warned(one_process, tmp_path / "out", folder)
    before = visible(tmp_path / "out")
    (folder / "a.pcap").unlink()
    assert warned(one_process, tmp_path / "out", tmp_path / "elsewhere.pcap")[1:] == []
    assert warned(one_process, tmp_path / "out", folder) == [
        f"1 capture is gone from the folders ({folder}/a.pcap): the rows stay in the tables"
    ]
    assert set(before["messages"]) <= set(visible(tmp_path / "out")["messages"])


def test_the_note_of_an_older_run_has_no_warnings() -> None:
    fields = dict.fromkeys(("name", "version", "started", "ended"), "")
    numbers = dict.fromkeys(("captures", "unchanged", "left_out", "frames", "understood"), 0)
    lists: dict[str, Any] = {"inputs": [], "tables": [], "damage": []}
    note = msgspec.json.encode({**fields, **numbers, **lists, "options": {}, "rows": {}, "skipped": {}})
    assert msgspec.json.decode(note, type=Run).warnings == ()
