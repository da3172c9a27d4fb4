"""``msmq-wire carve``, and --carve of the other commands: what lies in files that are no captures."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_at_rest import message
from fixtures.build_scene import base_header
from msmq_wire.capture.carve.addresses import memory_map

Run = Callable[..., Any]
AT_REST = Path(__file__).resolve().parents[2] / "fixtures" / "at_rest"
STORED = AT_REST / "P0003420.MQ"
DUMP = AT_REST / "memory.dmp"


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_files_come_first_then_the_queues_then_the_finds(run: Run) -> None:
    status, out, err = run("carve", STORED, DUMP)
    assert status == 0
    lines = out.splitlines()
    assert "recoverable by its name, 16.4 kB, 3 whole, 1 damaged, 1 head" in lines[0]
    assert lines[1].split() == ["SHA-256", hashlib.sha256(STORED.read_bytes()).hexdigest()]
    assert "minidump" in lines[2]
    assert lines[5].split()[:2] == ["queue", "messages"]
    assert lines[6].split()[1:6] == ["6", "3", "1", "2", "2"]
    heads = [number for number, line in enumerate(lines) if line.startswith("id ")]
    assert len(lines) == heads[0] + 1 + 8
    assert "6 whole, 1 damaged, 2 head" in err
    assert "1 of them copies" in err


def test_json_lines_say_the_same_in_rows(run: Run) -> None:
    status, out, _ = run("carve", AT_REST, "--format", "jsonl", "-q")
    assert status == 0
    found = rows(out)
    sources = [row for row in found if row["type"] == "source"]
    assert {Path(row["capture"]).name: row["storage"] for row in sources}["J0000007.MQ"] == "journal"
    assert all(len(row["sha256"]) == 64 for row in sources)
    queues = [row for row in found if row["type"] == "queue"]
    finds = [row for row in found if row["type"] not in ("source", "queue")]
    assert sum(row["messages"] for row in queues) == len(finds)
    assert [row for row in finds if row["frames"] or row["time"] or row["src"]] == []
    expected = json.loads((AT_REST / "finds.json").read_text(encoding="utf-8"))
    assert sum(len(row["places"]) for row in finds) == len(expected)
    assert {row["grade"] for row in finds} == {"whole", "damaged", "head"}


def test_a_filter_asks_for_grade_offset_and_what_a_message_says(run: Run) -> None:
    out = run("carve", AT_REST, "--filter", "grade == whole and label ~ 4711", "--format", "csv", "-q").out
    (row,) = out.splitlines()[1:]
    assert "order 4711" in row
    err = run("carve", STORED, "--filter", "offset > 1000", "--columns", "grade,offset").err
    assert "4 of 5 finds shown" in err


def test_the_bytes_of_finds_are_files_with_an_index(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "finds"
    status, _, err = run("carve", DUMP, "--to", folder)
    assert (status, "4 files written to" in err) == (0, True)
    index = rows((folder / "index.jsonl").read_text(encoding="utf-8"))
    data = DUMP.read_bytes()
    for row in index:
        written = (folder / row["file"]).read_bytes()
        assert hashlib.sha256(written).hexdigest() == row["sha256"]
        assert written in data
    assert {row["type"] for row in index} == {"user_message", "srmp_message"}
    assert run("carve", DUMP, "--to", folder).status == 2
    assert run("carve", DUMP, "--to", folder, "--force").status == 0


def test_only_what_a_list_names_is_looked_for(run: Run, tmp_path: Path) -> None:
    data = DUMP.read_bytes()
    known = memory_map(lambda offset, length: data[offset : offset + length], len(data))
    assert known is not None
    listed = tmp_path / "yarascan.txt"
    listed.write_text(f"Offset\tRule\n{known.address(3092):#x}\tmsmq\n0x1\tmsmq\n")
    (row,) = rows(run("carve", DUMP, "--at", listed, "--format", "jsonl", "-q").out)[2:]
    assert (row["offset"], row["grade"]) == (3092, "whole")
    listed.write_text("nothing")
    status, _, err = run("carve", DUMP, "--at", listed)
    assert (status, "no line of it" in err) == (2, True)


def test_without_envelopes_and_hashes_it_says_so(run: Run) -> None:
    status, out, err = run("carve", DUMP, "--packets-only", "--no-sha256")
    assert status == 0
    assert "no SHA-256" in out
    assert "srmp_message" not in err


def test_a_folder_stands_for_all_files_in_it(run: Run, tmp_path: Path) -> None:
    inner = tmp_path / "storage" / "lqs"
    inner.mkdir(parents=True)
    (tmp_path / "storage" / "any name").write_bytes(STORED.read_bytes())
    (inner / "queue").write_bytes(message(9, "deep", "x"))
    assert "1 folder inside left out" in run("carve", tmp_path / "storage").err
    assert "4 whole" in run("carve", tmp_path / "storage", "--recursive").err


@pytest.mark.parametrize("command", [["carve"], ["messages", "--carve"]])
def test_a_folder_without_a_file_says_so_and_where_there_are_folders(
    run: Run, tmp_path: Path, command: list[str]
) -> None:
    status, out, err = run(*command, tmp_path)
    assert (status, out) == (1, "")
    assert err.startswith(f"msmq-wire: {tmp_path}: no file in this folder\n")
    (tmp_path / "inner").mkdir()
    assert "folder; --recursive reads its folders, too" in run(*command, tmp_path).err


def test_nothing_found_is_one_line_and_status_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(bytes(5000))
    status, _, err = run("carve", tmp_path / "empty")
    assert status == 1
    assert "nothing of MSMQ in 5.0 kB of 1 file" in err


def test_a_file_that_cannot_be_read_does_not_stop_the_others(run: Run, tmp_path: Path) -> None:
    damaged = tmp_path / "a.gz"
    damaged.write_bytes(gzip.compress(STORED.read_bytes() + bytes(100_000))[:-9])
    status, out, err = run("carve", damaged, tmp_path / "nothing", STORED)
    assert status == 1
    assert "gzip stream is cut" in err
    assert "No such file" in err
    assert "order 4712" in out


def test_where_something_is_redacted_no_bytes_are_written(run: Run) -> None:
    assert run("carve", STORED, "--redact", "hosts", "--to", "x").status == 2


def test_a_capture_on_an_interface_is_not_carved(run: Run) -> None:
    assert run("decode", "--carve", "--live", "lo").status == 2
    assert run("decode", "--carve", STORED, "--streams").status == 2


def test_messages_have_grade_place_and_bodies(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("messages", "--carve", STORED, "--bodies", tmp_path / "b", "--format", "jsonl")
    assert status == 0
    found = rows(out)
    assert [(row["grade"], row["offset"], row["via"], row["how"]) for row in found][:2] == [
        ("whole", 64, "file", "stored"),
        ("damaged", 1024, "file", "stored"),
    ]
    assert found[0]["places"] == [f"{STORED} at 64"]
    assert found[0]["reason"] is None
    assert (tmp_path / "b" / "1-order_4711.xml").exists()
    assert "order 4712" in run("messages", "--carve", STORED).out


def test_several_files_are_read_as_one_whatever_jobs_say(run: Run) -> None:
    one = run("messages", "--carve", AT_REST, "--format", "jsonl", "-q").out
    assert run("messages", "--carve", AT_REST, "--format", "jsonl", "-q", "--jobs", "2").out == one


def test_a_tree_says_the_grade_and_where_it_lies(run: Run) -> None:
    out = run("decode", "--carve", STORED, "--id", "1").out
    assert out.startswith("#1  user_message")
    assert f"whole at offset 64 of {STORED}" in out.splitlines()[0]
    table = run("decode", "--carve", STORED, "--format", "table").out
    assert table.split()[:5] == ["id", "grade", "type", "offset", "queue"]


def test_rules_about_conversations_keep_silent(run: Run, tmp_path: Path) -> None:
    naked = b"".join(message(number, "x", "<a/>", flags=0) for number in range(1, 30))
    session_ack = base_header(0x18, 36) + bytes(20)
    (tmp_path / "dump").write_bytes(naked + session_ack + bytes(100))
    out = run("findings", "--carve", tmp_path / "dump", "--format", "jsonl", "-q").out
    assert [row["id"] for row in rows(out) if row["id"][:4] in ("SES-", "RPL-", "TIM-", "PNG-")] == []


def test_rules_about_content_speak_and_name_the_file(run: Run) -> None:
    found = rows(run("findings", "--carve", STORED, "--format", "jsonl", "-q").out)
    assert "LEN-LABEL" in {row["id"] for row in found}
    assert {place["capture"] for row in found for place in row["evidence"]} == {str(STORED)}


def test_an_export_is_a_capture_that_reads_the_same(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "found.pcap"
    status, _, err = run("export", "--carve", AT_REST, "--to", target, "--filter", "grade == whole")
    assert status == 0
    assert "6 finds written" in err
    again = rows(run("messages", target, "--format", "jsonl", "-q").out)
    before = rows(run("messages", "--carve", AT_REST, "--format", "jsonl", "-q").out)
    whole = [row["label"] for row in before if row["grade"] == "whole"]
    assert [row["label"] for row in again] == whole
    assert run("export", "--carve", STORED, "--to", target).status == 2
    assert run("export", "--carve", STORED, "--to", "-").status == 2
    assert run("export", "--carve", STORED, "--to", tmp_path / "y", "--filter", "label == none").status == 1


def test_the_report_has_hashes_grades_and_what_nobody_can_know(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    status, _, _ = run("report", "--carve", AT_REST, "-o", page)
    assert status == 0
    text = page.read_text(encoding="utf-8")
    for reported in (
        hashlib.sha256(STORED.read_bytes()).hexdigest(),
        "recoverable by its name",
        "expected, but not documented",
        "damaged: P0003420.MQ at 1,024",
        "8 whole, 1 damaged, 2 head, 2 of them copies",
    ):
        assert reported in text
    assert "Who talks to whom" not in text


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A VMDK image of two files, with a message in one of them."""
    (tmp_path / "first.raw").write_bytes(STORED.read_bytes().ljust(32768, b"\0"))
    (tmp_path / "second.raw").write_bytes(bytes(4096))
    text = '# Disk DescriptorFile\nRW 64 FLAT "first.raw" 0\nRW 8 FLAT "second.raw" 0\n'
    path = tmp_path / "server.vmdk"
    path.write_text(text)
    return path


def _sums(folder: Path) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir()}


def test_an_image_is_listed_with_each_of_its_files_and_the_disk_has_a_hash_of_its_own(
    run: Run, image: Path
) -> None:
    sums = _sums(image.parent)
    disk = hashlib.sha256((image.parent / "first.raw").read_bytes() + bytes(4096)).hexdigest()
    status, out, err = run("carve", image)
    assert status == 0
    lines = [line.strip() for line in out.splitlines()]
    assert f"SHA-256 {sums['server.vmdk']}  server.vmdk, 72 bytes" in lines[1]
    assert lines[2] == f"SHA-256 {sums['first.raw']}  first.raw, 32.8 kB"
    assert lines[3] == f"SHA-256 {sums['second.raw']}  second.raw, 4.1 kB"
    assert lines[4] == f"SHA-256 of the disk {disk}"
    assert err.splitlines()[0].endswith("server.vmdk: a disk of 36.9 kB in the VMDK image of 3 files")
    [source] = [
        row for row in rows(run("carve", image, "--format", "jsonl", "-q").out) if row["type"] == "source"
    ]
    assert {one["name"]: one["sha256"] for one in source["files"]} == sums
    assert [one["size"] for one in source["files"]] == [72, 32768, 4096]
    assert (source["sha256"], source["disk_sha256"]) == (sums["server.vmdk"], disk)


def test_the_report_has_the_hash_of_each_file_of_an_image(run: Run, image: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    sums = _sums(image.parent)
    assert run("report", "--carve", image, "-o", page).status == 0
    text = page.read_text(encoding="utf-8")
    for name, sum_ in sums.items():
        assert name in text
        assert sum_ in text
    assert "server.vmdk: the disk" in text


def test_paths_that_an_image_names_are_redacted(run: Run, image: Path) -> None:
    image.write_text(image.read_text() + 'RW 8 FLAT "/vmfs/volumes/host07/third.raw" 0\n')
    for form in ("jsonl", "table"):
        out = run("carve", image, "--redact", "hosts", "--format", form, "-q").out
        assert "file 1" in out
        for name in ("server.vmdk", "host07", "third", "first", "second"):
            assert name not in out
        assert str(image.parent) not in out


def test_a_file_of_an_image_that_was_searched_is_not_searched_once_more(run: Run, image: Path) -> None:
    for name in ("first.raw", "second.raw"):
        (image.parent / name).rename(image.parent / f"z{name}")
    image.write_text(image.read_text().replace('"', '"z', 1).replace('"second', '"zsecond'))
    status, out, _ = run("carve", image.parent, "--format", "jsonl", "-q")
    assert status == 0
    found = [row for row in rows(out) if row["type"] == "source"]
    assert [row["kind"] for row in found] == ["VMDK image", "part of an image", "part of an image"]
    assert {one["copies"] for one in found[1:]} == {0}


def test_an_image_that_names_a_file_elsewhere_is_one_short_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.vmdk"
    path.write_text('# Disk DescriptorFile\nRW 8 FLAT "../../etc/passwd" 0\n')
    status, _, err = run("carve", path)
    assert status == 1
    [line] = [one for one in err.splitlines() if "begins like" in one]
    assert line.endswith("cannot be read: its extent '../../etc/passwd' is not in the folder of the image")


def test_a_disk_that_is_not_hashed_says_why(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.vmdk"
    (tmp_path / "a.raw").write_bytes(STORED.read_bytes()[:512])
    path.write_text('# Disk DescriptorFile\nRW 1 FLAT "a.raw" 0\nRW 99999999999 ZERO\n')
    out = run("carve", path).out
    assert "no SHA-256 of the disk (most of 51.2 TB was never written)" in out


def test_a_link_out_of_a_searched_folder_is_left_out_and_said(run: Run, image: Path) -> None:
    outside = image.parent.parent / "outside"
    outside.mkdir()
    (outside / "secret.mq").write_bytes((image.parent / "first.raw").read_bytes())
    folder = image.parent / "folder"
    folder.mkdir()
    (folder / "own.mq").write_bytes(b"own")
    (folder / "same.mq").symlink_to("own.mq")
    (folder / "link.mq").symlink_to(outside / "secret.mq")
    os.mkfifo(folder / "pipe.mq")
    status, out, err = run("carve", folder, "--format", "jsonl")
    assert sorted(Path(row["capture"]).name for row in rows(out) if row["type"] == "source") == [
        "own.mq",
        "same.mq",
    ]
    assert "; 2 left out: links out of the folder, pipes or devices" in err
    assert status == 1
