"""The plugin of target-query tells the messages in storage files, and beside them, where they lie."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dissect.target import Target  # type: ignore[import-untyped]  # it has no annotations
from dissect.target.exceptions import (  # type: ignore[import-untyped]  # it has no annotations
    UnsupportedPluginError,
)
from dissect.target.filesystem import (  # type: ignore[import-untyped]  # it has no annotations
    VirtualFilesystem,
)
from dissect.target.helpers.regutil import (  # type: ignore[import-untyped]  # it has no annotations
    VirtualHive,
)
from dissect.target.plugins.os.windows.registry import (  # type: ignore[import-untyped]  # it has no annotations
    RegistryPlugin,
)

from msmq_dissect.finds import FIELDS, message_fields
from msmq_dissect.msmq import KEY, MsmqPlugin
from msmq_wire import inspect
from msmq_wire.capture.carve.search import Carver
from msmq_wire.records.message import COLUMNS, message_view
from msmq_wire.records.record import Record

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_STORAGE = Path("windows", "system32", "msmq", "storage")
_MESSAGE = Callable[[int], bytes]
_PROGRAM = Callable[[str], str]
_QUERY = Callable[..., tuple[list[dict[str, Any]], str]]


def noise(size: int, seed: int = 25) -> bytes:
    return random.Random(seed).randbytes(size)


def stored(root: Path, files: dict[str, bytes]) -> Path:
    """A folder that looks like the volume of a Windows host, with storage files."""
    storage = root / _STORAGE
    storage.mkdir(parents=True)
    for name, data in files.items():
        (storage / name).write_bytes(data)
    return root


def places(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Where the finds are: the file or None, the offset, the state and the label."""
    return [
        (row["source"] and row["source"].rpartition("\\")[2], row["offset"], row["state"], row["label"])
        for row in rows
    ]


def run(*command: str | Path) -> None:
    subprocess.run([str(one) for one in command], capture_output=True, check=True)


@pytest.mark.slow
def test_messages_of_a_folder_are_told_with_the_kind_of_their_file(
    tmp_path: Path, message: _MESSAGE, query: _QUERY
) -> None:
    request = (_FIXTURES / "srmp" / "msmq_element.http").read_bytes()
    files = {
        "p0000001.mq": noise(5000) + message(1) + noise(77) + message(2) + noise(2 << 20),
        "r0000002.mq": message(3)[:300],
        "J0000003.MQ": message(4) + request,
        "l0000001.mq": bytes(8192),
        "QMLog": message(5),
    }
    rows, said = query(stored(tmp_path, files))

    later = 5000 + len(message(1)) + 77
    envelope = len(message(4)) + request.index(b"<se:Envelope")
    assert [(*place, row["kind"], row["grade"]) for place, row in zip(places(rows), rows, strict=True)] == [
        ("J0000003.MQ", 0, "live file", "message 4", "journal", "whole"),
        ("J0000003.MQ", envelope, "live file", rows[1]["label"], "journal", "whole"),
        ("p0000001.mq", 5000, "live file", "message 1", "recoverable", "whole"),
        ("p0000001.mq", later, "live file", "message 2", "recoverable", "whole"),
        ("QMLog", 0, "live file", "message 5", "transactions", "whole"),
        ("r0000002.mq", 0, "live file", "message 3", "express", "head"),
    ]
    assert rows[1]["type"] == "srmp_message"
    assert rows[5]["reason"].endswith("of it are not there")
    assert "storage" in rows[0]["source"]
    assert "error" not in said


def test_what_is_told_of_a_message_is_what_its_columns_say(message: _MESSAGE) -> None:
    data = message(7)
    carver = Carver()
    [find] = [*carver.feed(data), *carver.finish()]
    row = message_view(Record(id=1, type="user_message", packet=inspect(data).packet))
    assert row is not None
    reported = message_fields(find)
    assert list(reported) == [name for _, name in FIELDS]
    assert {name for _, name in FIELDS} <= {one.name for one in COLUMNS}
    assert {"queue", "label", "message_id", "message_class_name", "delivery", "sent_at", "body_size"} <= set(
        reported
    )
    assert reported["sent_at"].isoformat() == "2023-11-14T22:13:27+00:00"
    assert {**reported, "sent_at": None} == {name: row[name] for name in reported} | {"sent_at": None}


@pytest.mark.check
def test_a_path_is_searched_instead_of_the_storage_folder(
    tmp_path: Path, message: _MESSAGE, query: _QUERY, caplog: pytest.LogCaptureFixture
) -> None:
    root = stored(tmp_path, {"p0000001.mq": message(1)})
    (root / "saved").mkdir()
    (root / "saved" / "copy.bin").write_bytes(message(2))
    rows, _ = query(root, r"--path=sysvol\saved")
    assert places(rows) == [("copy.bin", 0, "live file", "message 2")]
    plugin = MsmqPlugin(Target.open(root))
    assert [row.label for row in plugin.msmq(path="sysvol/saved/copy.bin")] == ["message 2"]
    assert not list(plugin.msmq(path="sysvol/gone"))
    assert "Not there: sysvol/gone" in caplog.text


@pytest.mark.check
def test_a_folder_has_no_volume_to_search(tmp_path: Path, message: _MESSAGE, query: _QUERY) -> None:
    rows, said = query(stored(tmp_path, {"p0000001.mq": message(1)}), "--unallocated")
    assert places(rows) == [("p0000001.mq", 0, "live file", "message 1")]
    assert "The target has no volume" in said


@pytest.mark.check
@pytest.mark.needs("dissect.extfs")
def test_a_deleted_message_is_found_on_the_volume_and_a_live_one_told_once(
    tmp_path: Path, message: _MESSAGE, program: _PROGRAM, query: _QUERY
) -> None:
    files = {
        "p0000001.mq": noise(9000) + message(1) + noise(9000, 2),
        "p0000002.mq": noise(4096) + message(2),
    }
    tree, image = stored(tmp_path / "tree", files), tmp_path / "disk.img"
    run(program("mkfs.ext4"), "-q", "-F", "-d", tree, image, "8M")
    deleted = _STORAGE / "p0000002.mq"
    run(program("debugfs"), "-w", "-R", f"rm {deleted.as_posix()}", image)

    rows, _ = query(image, "--unallocated")
    lost = image.read_bytes().index(message(2))
    assert places(rows) == [
        ("p0000001.mq", 9000, "live file", "message 1"),
        (None, lost, "unallocated", "message 2"),
    ]
    assert rows[1]["volume"] == "1 at 0"
    assert rows[1]["grade"] == "whole"


@pytest.mark.slow
def test_ntfs_tells_where_files_lie_so_free_space_and_slack_are_found_alone(
    tmp_path: Path, message: _MESSAGE, program: _PROGRAM, query: _QUERY
) -> None:
    content = noise(5000) + message(1) + noise(9000, 2)
    tree, image = stored(tmp_path / "tree", {"p0000001.mq": content}), tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    wim, wimlib = tmp_path / "tree.wim", program("wimlib-imagex")
    run(program("mkntfs"), "-q", "-Q", "-F", image)
    run(wimlib, "capture", tree, wim, "--compress=none")
    run(wimlib, "apply", wim, "1", image)
    start = image.read_bytes().index(content)
    slack, free = start + len(content), (15 << 20) + 512
    with image.open("r+b") as file:
        for offset, number in ((slack, 2), (free, 3)):
            file.seek(offset)
            file.write(message(number))

    rows, said = query(image, "--unallocated")
    assert places(rows) == [
        ("p0000001.mq", 5000, "live file", "message 1"),
        (None, slack, "unallocated", "message 2"),
        (None, free, "unallocated", "message 3"),
    ]
    assert "is not known" not in said


@pytest.mark.check
def test_folders_that_the_settings_name_are_searched_once_where_they_hold_such_files(
    tmp_path: Path, message: _MESSAGE
) -> None:
    drive = stored(tmp_path / "C", {"p0000001.mq": message(1)})
    (drive / "queues").mkdir()
    (drive / "queues" / "R0000002.MQ").write_bytes(message(2))
    target = Target.open(tmp_path)
    target.add_plugin(RegistryPlugin, check_compatible=False)
    hive, values = VirtualHive(), {
        "Here": r"C:\queues", "Too": r"c:\Queues", "Default": r"C:\Windows\System32\msmq\storage",
        "Gone": r"C:\gone", "Empty": "", "Number": 5, "Name": "p0000001.mq", "Other": r"C:\windows",
    }  # fmt: skip
    for name, value in values.items():
        hive.map_value(KEY.partition("SOFTWARE\\")[2], name, value)
    target.registry.add_hive("SOFTWARE", r"HKEY_LOCAL_MACHINE\SOFTWARE", hive, None)
    rows = list(MsmqPlugin(target).msmq())
    assert [(row.source.name, row.label) for row in rows] == [
        ("p0000001.mq", "message 1"),
        ("R0000002.MQ", "message 2"),
    ]


@pytest.mark.check
def test_a_host_without_windows_is_refused() -> None:
    target = Target()
    target.filesystems.add(VirtualFilesystem())
    target.apply()
    with pytest.raises(UnsupportedPluginError, match="service of Windows"):
        MsmqPlugin(target).check_compatible()
