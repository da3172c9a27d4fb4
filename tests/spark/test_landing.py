"""The log of captures that landed: what counts once, and when it counts."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import msmq_wire.spark.landing
from msmq_wire.capture.opened_file import Opener
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.splits import FileIndex, index_file
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.landing import LandedFrames, LandingLog, holds
from msmq_wire.spark.read_options import ReadOptions

SECOND = 1_000_000_000
NOW = 1_800_000_000 * SECOND
CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
PUBLISHED = (CAPTURES / "published.pcap").read_bytes()
DEMO = (CAPTURES / "demo.pcap").read_bytes()
PCAPNG = (CAPTURES / "path_pcapng_two_sections.pcapng").read_bytes()
HEADER = 24
"""Bytes before the first record of a pcap file."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "captures"
    made.mkdir()
    return made


def land(path: Path, data: bytes, age: float = 60) -> None:
    """Put a file there that was last changed ``age`` seconds before NOW."""
    path.write_bytes(data)
    changed = NOW - int(age * SECOND)
    os.utime(path, ns=(changed, changed))


def log_of(folder: Path | str, options: Mapping[str, str] | None = None) -> LandingLog:
    return LandingLog(ReadOptions.of({"path": str(folder), **(options or {})}))


def logged(log: LandingLog, now_ns: int = NOW) -> list[LandedFrames]:
    return list(log.entries(0, log.landed(now_ns)))


def names(entries: list[LandedFrames]) -> list[str]:
    return [Path(entry.capture).name for entry in entries]


def test_files_are_logged_oldest_first_when_they_are_settled(folder: Path) -> None:
    land(folder / "a.pcap", PUBLISHED, age=20)
    land(folder / "b.pcap", DEMO, age=30)
    land(folder / "c.pcapng", PCAPNG, age=9)
    log = log_of(folder)
    entries = logged(log)
    assert names(entries) == ["b.pcap", "a.pcap"]
    assert [entry.frames for entry in entries] == [
        len(list(read_frames(folder / name))) for name in ("b.pcap", "a.pcap")
    ]
    assert all(entry.after == 0 and entry.damage is None and entry.error is None for entry in entries)
    assert names(logged(log, NOW + SECOND)) == ["b.pcap", "a.pcap", "c.pcapng"]


def test_a_log_that_is_opened_again_goes_on_where_it_was(folder: Path) -> None:
    land(folder / "a.pcap", PUBLISHED)
    first = log_of(folder)
    before = logged(first)
    land(folder / "b.pcap", DEMO)
    second = log_of(folder)
    assert second.name == first.name
    assert names(logged(second)) == ["a.pcap", "b.pcap"]
    assert logged(second)[:1] == before


def test_a_file_with_an_old_time_that_lands_late_is_logged_last(folder: Path) -> None:
    log = log_of(folder)
    land(folder / "new.pcap", DEMO)
    assert names(logged(log)) == ["new.pcap"]
    land(folder / "old.pcap", PUBLISHED, age=20 * 365 * 86400)
    assert names(logged(log)) == ["new.pcap", "old.pcap"]


@pytest.mark.parametrize("suffix", ["pcap", "pcap.gz"])
def test_a_file_that_is_cut_waits_until_it_is_whole(folder: Path, suffix: str) -> None:
    data = gzip.compress(PUBLISHED) if suffix.endswith("gz") else PUBLISHED
    log = log_of(folder)
    path = folder / f"half.{suffix}"
    land(path, data[: len(data) // 2])
    assert logged(log) == []
    land(path, data)
    [entry] = logged(log)
    assert (entry.after, entry.frames, entry.damage) == (0, len(list(read_frames(path))), None)


def test_a_file_that_stays_cut_is_logged_when_patience_is_over(folder: Path) -> None:
    log = log_of(folder, {"patience": "100"})
    land(folder / "half.pcap", PUBLISHED[:-5], age=99)
    assert logged(log) == []
    [entry] = logged(log, NOW + SECOND)
    assert entry.damage is not None
    assert "cut" in entry.damage
    assert entry.frames > 0


def test_what_is_no_capture_is_logged_with_the_reason_for_each_file(folder: Path) -> None:
    log = log_of(folder, {"patience": "100"})
    for name in ("a.pcap", "b.pcap"):
        land(folder / name, b"", age=99)
    os.mkfifo(folder / "pipe.pcap")
    (folder / "nowhere.pcap").symlink_to(folder / "missing")
    for name in ("pipe.pcap", "nowhere.pcap"):
        os.utime(folder / name, ns=(NOW, NOW), follow_symlinks=False)
    assert logged(log) == []
    entries = logged(log, NOW + SECOND)
    assert [entry.error for entry in entries] == [
        f"{folder / name} is empty" for name in ("a.pcap", "b.pcap")
    ]
    entries = logged(log, NOW + 100 * SECOND)
    assert names(entries) == ["a.pcap", "b.pcap", "nowhere.pcap", "pipe.pcap"]
    assert all(entry.error is not None and entry.frames == 0 for entry in entries)
    land(folder / "missing", PUBLISHED)
    entries = logged(log, NOW + 100 * SECOND)
    assert names(entries)[4:] == ["nowhere.pcap#5"]
    assert entries[4].error is None


def test_a_name_that_is_no_text_is_logged_with_the_reason(folder: Path) -> None:
    name = os.fsencode(folder) + b"/caf\xe9.pcap"
    with open(name, "wb") as file:
        file.write(PUBLISHED)
    [entry] = logged(log_of(folder, {"settle": "0", "patience": "0"}))
    assert entry.path == f"{folder}/caf\\udce9.pcap"
    assert entry.error is not None
    assert not holds(entry)


def test_content_that_lands_again_is_logged_once(folder: Path) -> None:
    log = log_of(folder)
    land(folder / "a.pcap", PUBLISHED)
    before = logged(log)
    land(folder / "a.pcap", PUBLISHED, age=30)
    land(folder / "copy.pcap", PUBLISHED, age=20)
    assert logged(log) == before
    # Also for a log that has just been opened.
    assert logged(log_of(folder)) == before


def test_files_of_equal_size_are_told_apart_by_their_ends(folder: Path) -> None:
    size = (1 << 16).to_bytes(4, "little")
    long = PUBLISHED[:HEADER] + (bytes(8) + size + size + bytes(1 << 16)) * 40
    land(folder / "a.pcap", long)
    land(folder / "b.pcap", long[:-1] + b"\1")
    land(folder / "c.pcap", long[:40] + b"\1" + long[41:])
    assert names(logged(log_of(folder))) == ["a.pcap", "b.pcap", "c.pcap"]


def test_a_time_in_the_future_counts_by_how_far_it_is_off(folder: Path) -> None:
    land(folder / "year.pcap", PUBLISHED, age=-365 * 86400)
    land(folder / "moment.pcap", DEMO, age=-5)
    assert names(logged(log_of(folder))) == ["year.pcap"]


def test_other_content_under_the_same_name_is_a_capture_of_its_own(folder: Path) -> None:
    log = log_of(folder)
    land(folder / "ring0.pcap", PUBLISHED)
    first = logged(log)[0]
    land(folder / "ring0.pcap", DEMO, age=30)
    entries = logged(log)
    assert names(entries) == ["ring0.pcap", "ring0.pcap#2"]
    assert entries[1].after == 0
    assert entries[1].frames == len(list(read_frames(folder / "ring0.pcap")))
    assert not holds(first)
    assert holds(entries[1])


def test_what_was_added_to_a_file_is_an_entry_of_its_own(folder: Path) -> None:
    log = log_of(folder, {"patience": "0"})
    land(folder / "a.pcap", PUBLISHED[:-10], age=40)
    [first] = logged(log)
    assert first.damage is not None
    land(folder / "a.pcap", PUBLISHED, age=30)
    total = len(list(read_frames(folder / "a.pcap")))
    entries = logged(log)
    assert [(entry.after, entry.frames) for entry in entries] == [(0, total - 1), (total - 1, total)]
    assert names(entries) == ["a.pcap", "a.pcap#2"]
    assert entries[1].damage is None
    assert all(map(holds, entries))


def test_a_file_that_grew_by_less_than_a_frame_is_not_logged_again(folder: Path) -> None:
    log = log_of(folder, {"patience": "0"})
    land(folder / "a.pcap", PUBLISHED[:-10], age=40)
    before = logged(log)
    land(folder / "a.pcap", PUBLISHED[:-5], age=30)
    assert logged(log) == before
    # That a file which was whole is not any more has not been said yet.
    land(folder / "b.pcap", DEMO, age=25)
    logged(log)
    land(folder / "b.pcap", DEMO + b"\0", age=20)
    entries = logged(log)
    assert names(entries) == ["a.pcap", "b.pcap", "b.pcap#3"]
    assert entries[2].after == entries[2].frames == entries[1].frames
    assert entries[2].damage is not None


def test_a_file_that_was_something_else_meanwhile_goes_on_behind_what_was_read(folder: Path) -> None:
    log = log_of(folder, {"patience": "0"})
    land(folder / "a.pcap", PUBLISHED[:-10], age=40)
    [first] = logged(log)
    land(folder / "a.pcap", b"no capture", age=35)
    land(folder / "b.pcap", DEMO, age=30)
    logged(log)
    land(folder / "a.pcap", PUBLISHED, age=25)
    entries = logged(log)
    assert names(entries) == ["a.pcap", "a.pcap#2", "b.pcap", "a.pcap#4"]
    assert (entries[3].after, entries[3].frames) == (first.frames, first.frames + 1)


def test_a_capture_without_frames_is_read_under_its_name_when_it_grew(folder: Path) -> None:
    log = log_of(folder)
    land(folder / "a.pcap", PUBLISHED[:HEADER], age=40)
    land(folder / "a.pcap", PUBLISHED, age=30)
    assert names(logged(log)) == ["a.pcap"]
    land(folder / "b.pcap", DEMO[:HEADER], age=40)
    assert names(logged(log)) == ["a.pcap", "b.pcap"]
    land(folder / "b.pcap", DEMO, age=30)
    entries = logged(log)
    assert names(entries) == ["a.pcap", "b.pcap", "b.pcap"]
    assert [(entry.after, entry.frames > 0) for entry in entries] == [(0, True), (0, False), (0, True)]


@pytest.mark.slow
@given(st.lists(st.integers(0, len(DEMO)), max_size=6))
def test_a_file_that_grows_in_steps_has_each_frame_in_one_entry(cuts: list[int]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.pcap"
        log = log_of(folder, {"settle": "0", "patience": "0"})
        for step, cut in enumerate([*sorted(cuts), len(DEMO)]):
            land(path, DEMO[:cut], age=100 - step)
            log.landed(NOW)
        entries = [entry for entry in logged(log) if entry.frames]
        ends = [0, *(entry.frames for entry in entries)]
        assert [entry.after for entry in entries] == ends[:-1]
        assert ends[-1] == len(list(read_frames(path)))
        assert [entry.number for entry in logged(log)] == list(range(1, len(logged(log)) + 1))


def test_a_file_that_changes_while_it_is_looked_at_is_not_logged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_meanwhile(path: str, split_bytes: int, *, opener: Opener) -> FileIndex:
        found = index_file(path, split_bytes, opener=opener)
        land(folder / "a.pcap", DEMO, age=20)
        return found

    monkeypatch.setattr(msmq_wire.spark.landing, "index_file", write_meanwhile)
    log = log_of(folder)
    land(folder / "a.pcap", PUBLISHED)
    assert logged(log) == []
    [entry] = logged(log)
    assert entry.size == len(DEMO)


def test_a_written_entry_never_changes(folder: Path) -> None:
    log = log_of(folder)
    land(folder / "a.pcap", PUBLISHED)
    log.landed(NOW)
    seen = folder / ".msmq-wire-seen"
    before = {path.name: path.read_bytes() for path in seen.iterdir()}
    assert sorted(before) == ["000000000000.json", "000000000001.json"]
    land(folder / "a.pcap", DEMO, age=30)
    log.landed(NOW)
    after = {path.name: path.read_bytes() for path in seen.iterdir()}
    assert sorted(after) == [*sorted(before), "000000000002.json"]
    assert before.items() <= after.items()


@pytest.mark.slow
def test_queries_that_share_a_log_have_the_same_entries(folder: Path) -> None:
    for number in range(20):
        # The magic of nanoseconds, and a record of one byte that differs.
        record = bytes(8) + b"\1\0\0\0\1\0\0\0" + bytes([number])
        land(folder / f"{number}.pcap", PUBLISHED[:HEADER] + record)
    logs = [log_of(folder) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda log: log.landed(NOW), logs))
    assert counts == [20] * 4
    found = logged(logs[0])
    assert all(logged(log) == found for log in logs)
    assert len({entry.path for entry in found}) == 20


def test_a_query_that_was_overtaken_writes_behind_what_is_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, fast = log_of(folder), log_of(folder)
    assert slow.landed(NOW) == fast.landed(NOW) == 0

    def overtaken(path: str, split_bytes: int, *, opener: Opener) -> FileIndex:
        monkeypatch.undo()
        land(folder / "b.pcap", DEMO)
        assert names(logged(fast)) == ["a.pcap", "b.pcap"]
        return index_file(path, split_bytes, opener=opener)

    land(folder / "a.pcap", PUBLISHED)
    monkeypatch.setattr(msmq_wire.spark.landing, "index_file", overtaken)
    assert logged(slow) == logged(fast)
    land(folder / "c.pcapng", PCAPNG)
    assert logged(slow) == logged(fast)
    assert names(logged(slow)) == ["a.pcap", "b.pcap", "c.pcapng"]


def test_a_folder_that_cannot_be_written_names_the_option(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for seen in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(MsmqWireError, match=r"cannot (write|read) the log .*option seen"):
            log_of(folder, {"seen": str(seen)}).landed(NOW)


def test_a_log_for_other_files_is_refused(folder: Path) -> None:
    log_of(folder).landed(NOW)
    with pytest.raises(MsmqWireError, match=r"other paths.*option seen"):
        log_of(folder, {"glob": "*"}).landed(NOW)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"log": 5}', b"\xff"])
def test_a_damaged_log_is_refused(folder: Path, damage: bytes) -> None:
    log_of(folder).landed(NOW)
    (folder / ".msmq-wire-seen" / "000000000000.json").write_bytes(damage)
    with pytest.raises(MsmqWireError, match="damaged"):
        log_of(folder).landed(NOW)


def test_a_log_that_lost_entries_is_refused(folder: Path) -> None:
    land(folder / "a.pcap", PUBLISHED)
    name = log_of(folder).name
    with pytest.raises(MsmqWireError, match="has 0 captures, not 1"):
        log_of(folder).entries(0, 1)
    shutil.rmtree(folder / ".msmq-wire-seen")
    assert log_of(folder).name != name


def test_a_folder_that_is_not_there_is_an_error_and_is_not_made(folder: Path) -> None:
    with pytest.raises(CaptureError, match="misspelt"):
        log_of(folder / "misspelt").landed(NOW)
    assert list(folder.iterdir()) == []


def test_a_glob_without_a_match_waits_for_one(folder: Path) -> None:
    log = log_of(folder / "*.pcap")
    assert logged(log) == []
    land(folder / "a.pcap", PUBLISHED)
    assert names(logged(log)) == ["a.pcap"]


def test_a_folder_that_went_away_is_an_error(folder: Path, tmp_path: Path) -> None:
    log = log_of(folder, {"seen": str(tmp_path / "seen")})
    log.landed(NOW)
    folder.rmdir()
    with pytest.raises(CaptureError, match="cannot open"):
        log.landed(NOW)


def test_the_log_itself_is_never_read_as_a_capture(folder: Path) -> None:
    options: dict[str, Any] = {"glob": "*", "recursive": "true", "patience": "0"}
    land(folder / "a.pcap", PUBLISHED)
    log = log_of(folder, options)
    log.landed(NOW)
    assert names(logged(log, NOW + 10_000 * SECOND)) == ["a.pcap"]


@pytest.mark.parametrize("path", ["/etc/hostname", "FOLDER/../canary.pcap", "FOLDERX/canary.pcap", "a.pcap"])
def test_a_log_that_names_files_elsewhere_is_damaged(folder: Path, path: str) -> None:
    land(folder / "a.pcap", DEMO)
    [entry] = logged(log_of(folder))
    [written] = (folder / ".msmq-wire-seen").glob("*1.json")
    text = written.read_text().replace(entry.path, path.replace("FOLDER", str(folder)))
    written.write_text(text)
    with pytest.raises(MsmqWireError, match=r"is damaged: it names .* which is not in the folders"):
        log_of(folder).landed(NOW)
