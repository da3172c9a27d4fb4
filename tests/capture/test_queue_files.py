"""Files that register queues: names, encodings, every key, and what hostile ones may not do."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest

from msmq_wire.capture import queue_files
from msmq_wire.capture.queue_files import (
    manager_and_folder,
    queue_folder,
    read_queue_file,
    read_queue_folder,
    read_queue_names,
)
from msmq_wire.errors import CaptureError

# Of keys in public articles and others; no file of Windows was at hand.
TEXT = """[Properties]\r
QueueLabel=Orders of the shop\r
QueueName=\\private$\\orders\r
Journal=01\r
Quota=4294967295\r
JournalQuota=2048\r
PrivLevel=2\r
Authenticate=00\r
CreateTime=1208279024\r
Security=0100078000ff\r
Novelty=a=b\r
a line\r
[Signature]\r
Signature=Something\r
"""
GUID = "c277e190-3d6a-4c4b-8d05-f21b9ac83e44"


def written(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_every_line_is_kept_and_known_keys_have_a_meaning(tmp_path: Path) -> None:
    found = read_queue_file(str(written(tmp_path, "0000000b.5f3a1c22", TEXT)))
    assert (found.number, found.name, found.label) == (11, "private$\\orders", "Orders of the shop")
    meanings = {one.key: (one.section, one.value, one.meaning) for one in found.properties}
    assert meanings == {
        "QueueLabel": ("Properties", "Orders of the shop", "label of the queue"),
        "QueueName": ("Properties", "\\private$\\orders", "name of the queue"),
        "Journal": ("Properties", "01", ""),
        "Quota": ("Properties", "4294967295", ""),
        "JournalQuota": ("Properties", "2048", ""),
        "PrivLevel": ("Properties", "2", ""),
        "Authenticate": ("Properties", "00", ""),
        "CreateTime": ("Properties", "1208279024", ""),
        "Security": (
            "Properties", "0100078000ff",
            "security descriptor: owner and permissions: 6 bytes in hexadecimal",
        ),
        "Novelty": ("Properties", "a=b", ""),
        "": ("Properties", "a line", ""),
        "Signature": ("Signature", "Something", ""),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "encoding", "sure"),
    [
        ("QueueName=\\private$\\aufträge\n".encode(), "UTF-8", True),
        (codecs.BOM_UTF8 + "QueueName=\\private$\\aufträge\n".encode(), "UTF-8", True),
        (codecs.BOM_UTF16_LE + "QueueName=\\private$\\aufträge\n".encode("utf-16-le"), "UTF-16", True),
        (codecs.BOM_UTF16_BE + "QueueName=\\private$\\aufträge\n".encode("utf-16-be"), "UTF-16", True),
        ("QueueName=\\private$\\aufträge\n".encode("utf-16-le"), "UTF-16", True),
        ("QueueName=\\private$\\aufträge\n".encode("cp1252"), "ANSI, read as Windows-1252", False),
    ],
)
def test_encodings(data: bytes, encoding: str, sure: bool, tmp_path: Path) -> None:
    found = read_queue_file(str(written(tmp_path, "0000000b.5f3a1c22", data)))
    assert (found.name, found.encoding, found.queue.sure) == ("private$\\aufträge", encoding, sure)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("0000000b.5f3a1c22", 11),
        ("0000000B", 11),
        ("b.5f3a1c22", None),
        ("orders.txt", None),
        ("90e177c26a3d4b4c8d05f21b9ac83e44.5f3a1c22", None),
    ],
)
def test_the_name_of_the_file_says_the_number(name: str, number: int | None, tmp_path: Path) -> None:
    assert read_queue_file(str(written(tmp_path, name, "QueueName=q\n"))).number == number


def test_a_folder_a_folder_around_it_and_a_file_give_queues(tmp_path: Path) -> None:
    lqs = tmp_path / "storage" / "LQS"
    lqs.mkdir(parents=True)
    file = written(lqs, "0000000b.5f3a1c22", TEXT)
    written(lqs, "0000000c.5f3a1c22", "PathName=msg01\\private$\\payments\nQueueLabel=Pay\n")
    written(lqs, "readme.txt", "QueueName=no\n")
    for path in (lqs, tmp_path / "storage"):
        found = read_queue_folder(str(path))
        assert [(one.number, one.name, one.label) for one in found.queues] == [
            (11, "private$\\orders", "Orders of the shop"),
            (12, "msg01\\private$\\payments", "Pay"),
        ]
        assert found.left_out == {"other names": 1}
    assert [one.number for one in read_queue_folder(str(file)).queues] == [11]


@pytest.mark.parametrize(
    ("text", "manager", "folder"),
    [
        (f"{GUID}=C:\\lqs", GUID, "C:\\lqs"),
        (f"{{{GUID.upper()}}}=lqs", GUID, "lqs"),
        ("a=b", None, "a=b"),
        ("lqs", None, "lqs"),
    ],
)
def test_a_guid_before_a_folder_says_whose_it_is(text: str, manager: str | None, folder: str) -> None:
    assert manager_and_folder(text) == (manager, folder)


def test_names_of_several_folders(tmp_path: Path) -> None:
    written(tmp_path, "0000000b.5f3a1c22", TEXT)
    names = read_queue_names(f"{GUID}={tmp_path}", str(tmp_path))
    assert names.unknown == [str(tmp_path)]
    found = names.find(f"PRIVATE={GUID}\\0000000b")
    assert found is not None
    assert (found[0].name, found[1]) == ("private$\\orders", True)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "registers no queue"),
        (b"\0" * 4096, "registers no queue"),
        (bytes(range(256)) * 16, "registers no queue"),
        (b"[Properties]\nLabel=a\n", "registers no queue"),
        (b"QueueName=a\n" + b"x" * (1 << 20), "larger than 1 MiB"),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_line(data: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=says) as failed:
        read_queue_file(str(written(tmp_path, "0000000b.5f3a1c22", data)))
    assert "\n" not in failed.value.message


def test_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    outside, lqs = tmp_path / "outside", tmp_path / "storage" / "lqs"
    outside.mkdir()
    lqs.mkdir(parents=True)
    secret = written(outside, "0000000b.1", TEXT)
    (lqs / "0000000b.2").symlink_to(secret)
    os.mkfifo(lqs / "0000000b.3")
    for path in ("0000000b.2", "0000000b.3"):
        with pytest.raises(CaptureError, match=r"link|regular"):
            read_queue_file(str(lqs / path))
    with pytest.raises(CaptureError, match="no file here registers a queue"):
        read_queue_folder(str(lqs))
    other = tmp_path / "other"
    other.mkdir()
    (other / "lqs").symlink_to(outside)
    assert queue_folder(str(other)) is None


def test_lines_names_and_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = written(tmp_path, "0000000a.1", "QueueName=" + "n" * 5000 + "\n" + "a=b\n" * 5000)
    found = read_queue_file(str(many))
    assert (len(found.properties), found.lines_left_out, len(found.name)) == (1000, 4001, 256)
    for number in range(5):
        written(tmp_path, f"{number:08x}.1", f"QueueName=q{number}\n")
    monkeypatch.setattr(queue_files, "MOST_FILES", 3)
    folder = read_queue_folder(str(tmp_path))
    assert [one.name for one in folder.queues] == ["q0", "q1", "q2"]
    assert folder.left_out == {"too many": 3}


def test_a_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    written(tmp_path, "0000000a.1", b"\0\1\2")
    written(tmp_path, "0000000b.1", TEXT)
    found = read_queue_folder(str(tmp_path))
    assert [one.number for one in found.queues] == [11]
    assert found.left_out == {"not readable, or no queue in it": 1}
