"""Which files are read: named ones, those of folders, those of globs; and which of them are one capture."""

from __future__ import annotations

import builtins
import os
import shutil
from pathlib import Path

import pytest

from msmq_wire.capture.listing import CaptureFile, Listing, captures_of, list_files
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.packaging import write_package
from msmq_wire.units import SECOND

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def names(listing: Listing, folder: Path) -> list[str]:
    return [os.path.relpath(file.path, folder) for file in listing.files]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "captures"
    make(place, "a.pcap", "b.PCAPNG", "c.cap", "d.dmp", "e.pcap0", "f.pcap17", "g.pcap.gz", "h.pcapng3.zst")
    make(place, "notes.txt", "x.pcap.bak", "pcap", ".hidden.pcap", "_temporary.pcap")
    make(place, "deep/i.pcap", "deep/er/j.pcap", ".secret/k.pcap", "_delta/l.pcap", "deep/readme")
    return place


CAPTURES = ["a.pcap", "b.PCAPNG", "c.cap", "d.dmp", "e.pcap0", "f.pcap17", "g.pcap.gz", "h.pcapng3.zst"]


def test_a_folder_gives_what_is_named_like_a_capture_and_counts_the_rest(folder: Path) -> None:
    listing = list_files([str(folder)])
    assert names(listing, folder) == CAPTURES
    assert listing.left_out == 3
    assert all(file.error is None and file.size == 1 for file in listing.files)
    assert all(file.mtime_ns == os.stat(file.path).st_mtime_ns for file in listing.files)


def test_folders_in_folders_are_read_only_when_asked_for(folder: Path) -> None:
    listing = list_files([str(folder)], recursive=True)
    assert names(listing, folder) == sorted([*CAPTURES, "deep/i.pcap", "deep/er/j.pcap"])
    assert listing.left_out == 4


def test_a_pattern_decides_instead_of_the_usual_names(folder: Path) -> None:
    listing = list_files([str(folder)], pattern="*.txt")
    assert names(listing, folder) == ["notes.txt"]
    assert listing.left_out == len(CAPTURES) + 2
    assert names(list_files([str(folder)], pattern="*", recursive=True), folder) == sorted(
        [*CAPTURES, "notes.txt", "x.pcap.bak", "pcap", "deep/i.pcap", "deep/er/j.pcap", "deep/readme"]
    )


def test_a_file_that_is_named_is_read_whatever_its_name_is(folder: Path) -> None:
    paths = [str(folder / name) for name in ("notes.txt", ".hidden.pcap", "_temporary.pcap")]
    assert [file.path for file in list_files(paths).files] == sorted(paths)


def test_globs_name_files_and_folders(folder: Path) -> None:
    assert names(list_files([str(folder / "?.pcap")]), folder) == ["a.pcap"]
    assert names(list_files([str(folder / "d*")]), folder) == ["d.dmp", "deep/i.pcap"]
    deep = list_files([str(folder / "**" / "*.pcap")], recursive=True)
    assert {"a.pcap", "deep/i.pcap", "deep/er/j.pcap"} <= set(names(deep, folder))


def test_a_glob_without_a_match_is_an_error_that_names_it(folder: Path) -> None:
    (file,) = list_files([str(folder / "*.nothing")]).files
    assert file.error == f"cannot open {folder / '*.nothing'}: No such file or directory"


def test_a_name_with_signs_of_globs_is_that_file(folder: Path) -> None:
    make(folder, "day[1].pcap", "day1.pcap")
    assert names(list_files([str(folder / "day[1].pcap")]), folder) == ["day[1].pcap"]


def test_a_file_that_is_named_twice_is_read_once(folder: Path) -> None:
    one = str(folder / "a.pcap")
    listing = list_files([one, str(folder), one, str(folder / "*.pcap")])
    assert [file.path for file in listing.files].count(one) == 1


@pytest.mark.parametrize("path", ["gone.pcap", "no\0path", "a" * 5000])
def test_what_is_not_there_has_an_error(path: str) -> None:
    (file,) = list_files([path]).files
    assert (file.path, file.size) == (path, 0)
    assert file.error is not None
    assert file.error.startswith(f"cannot open {path}: ")


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.pcap")
    (file,) = (one for one in list_files([str(folder)]).files if one.path.endswith("pipe.pcap"))
    assert file.error is not None
    (capture,) = captures_of([file], "group")
    assert capture.files == (file,)


def test_a_link_to_nothing_has_an_error(folder: Path) -> None:
    (folder / "link.pcap").symlink_to(folder / "gone")
    (file,) = (one for one in list_files([str(folder)]).files if one.path.endswith("link.pcap"))
    assert file.error is not None
    assert "No such file or directory" in file.error


def test_a_folder_that_cannot_be_read_has_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    (file,) = list_files([str(folder)]).files
    assert file.path == str(folder)
    assert file.error is not None


def test_an_empty_folder_has_no_files(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert list_files([str(empty)]) == Listing(files=(), left_out=0)
    assert captures_of((), "group") == captures_of((), "file") == []


def test_with_scope_file_every_file_is_a_capture(folder: Path) -> None:
    files = list_files([str(folder)]).files
    assert [(one.name, one.files) for one in captures_of(files, "file")] == [
        (file.path, (file,)) for file in files
    ]


def test_with_scope_group_the_files_of_a_folder_are_one_capture_by_time(tmp_path: Path) -> None:
    times = {"one/b.pcap": 3, "one/a.pcap": 7, "one/c.pcap": 5, "two/z.pcap": 1}
    for name, time in times.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_pcap(tmp_path / name, [Frame(0, time, 1, b"x", 1, 0), Frame(0, 9, 1, b"x", 1, 0)])
    files = list_files([str(tmp_path)], recursive=True).files
    found = {
        one.name: [(os.path.basename(file.path), file.first_time) for file in one.files]
        for one in captures_of(files, "group")
    }
    assert found == {
        str(tmp_path / "one"): [("b.pcap", 3), ("c.pcap", 5), ("a.pcap", 7)],
        str(tmp_path / "two"): [("z.pcap", 1)],
    }


def test_files_of_the_working_folder_are_a_group_called_by_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(DEMO, "here.pcap")
    (capture,) = captures_of(list_files(["here.pcap"]).files, "group")
    assert capture.name == "."


def test_the_size_of_a_capture_is_that_of_its_files() -> None:
    files = tuple(CaptureFile(path=name, size=size, mtime_ns=0) for name, size in (("a", 3), ("b", 4)))
    (capture,) = captures_of(files, "group")
    assert capture.size == 7


def test_a_file_whose_name_is_no_text_cannot_be_read(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    with open(os.path.join(folder, b"\xff.pcap"), "wb"):
        pass
    [file] = list_files([str(tmp_path)]).files
    assert file.path == f"{tmp_path}/\\udcff.pcap"
    assert file.error == f"cannot open {file.path}: its name is not UTF-8"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (
            "s3a://bucket/tables",
            "cannot write s3a://bucket/tables: here a folder is needed, local or mounted",
        ),
        ("hdfs://node:8020/tables", "cannot write hdfs://node:8020/tables: here a folder is needed"),
        ("file://host/tables", "cannot use file://host/tables"),
    ],
)
def test_what_only_a_folder_can_hold_is_not_written_to_a_url(url: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(MsmqWireError, match=reason):
        write_package(url)
    assert list(tmp_path.iterdir()) == []


def test_a_url_of_a_file_is_its_path(folder: Path) -> None:
    make(folder, "a b%20.pcap")
    path = folder / "a b%20.pcap"
    assert [file.path for file in list_files([path.as_uri(), str(path)]).files] == [str(path)]
    with pytest.raises(MsmqWireError, match="https:// is not reached here"):
        list_files([str(path), "https://node/x"])


def test_no_file_is_opened_to_be_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(os, "open", refuse)
    assert names(list_files([str(folder), str(folder / "notes.txt")]), folder) == [*CAPTURES, "notes.txt"]


def test_places_are_put_together_beside_rings_and_pipes(tmp_path: Path) -> None:
    places = Path(__file__).resolve().parents[2] / "fixtures" / "places" / "cut_between"
    for name in ("sender.pcap", "receiver.pcap"):
        shutil.copy(places / name, tmp_path)
    for number in range(2):
        frame = Frame(1, (5 + number) * SECOND, 1, bytes(60), 60, 0)
        write_pcap(tmp_path / f"day{number}.pcap", [frame])
    os.mkfifo(tmp_path / "pipe.pcap")
    found = captures_of(list_files([str(tmp_path)]).files, "places")
    assert [(one.name, one.in_turn, one.shared is not None) for one in found] == [
        (str(tmp_path / "pipe.pcap"), False, False),
        (f"{tmp_path / 'day0.pcap'} to day1.pcap", True, False),
        (f"{tmp_path / 'sender.pcap'} and receiver.pcap", False, True),
    ]
    assert [Path(file.path).name for file in found[2].files] == ["sender.pcap", "receiver.pcap"]


def test_only_files_of_a_ring_are_read_in_turn(tmp_path: Path) -> None:
    for number in range(3):
        frame = Frame(1, (5 + number) * SECOND, 1, bytes(60), 60, 0)
        write_pcap(tmp_path / f"day{number}.pcap", [frame])
    shutil.copy(tmp_path / "day0.pcap", tmp_path / "alone.pcap")
    found = captures_of(list_files([str(tmp_path)]).files, "ring")
    assert [(one.name, len(one.files), one.in_turn) for one in found] == [
        (str(tmp_path / "alone.pcap"), 1, False),
        (f"{tmp_path / 'day0.pcap'} to day2.pcap", 3, True),
    ]
