"""What lies in files that are no captures, as rows: those of the reader, however many tasks search a file."""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import EqualTo

from fixtures.build_at_rest import message
from msmq_wire.capture.carve.media import READ_SIZE
from msmq_wire.capture.carve.reader import CarveReader
from msmq_wire.capture.listing import list_files
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.records.message import ROW, message_view
from msmq_wire.spark.carving import carved_rows, plan_parts
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.row_filter import RowFilter
from msmq_wire.spark.sources import CarvedReader, MsmqCarved
from msmq_wire.tables.carved_columns import carved_schema
from msmq_wire.tables.message_columns import message_schema

pytestmark = pytest.mark.needs("pyspark")

AT_REST = Path(__file__).resolve().parents[2] / "fixtures" / "at_rest"
ORDER = message(1, "order 4711", "<order id='4711'/>")
LARGE = message(2, "large", "x" * 300_000)
PLACE = ("capture", "offset", "length", "type", "grade", "reason", "address")


def rows_of(**options: Any) -> list[dict[str, Any]]:
    """The rows of the source as its tasks give them; what goes to a task is pickled on its way."""
    made = MsmqCarved({name: str(value) for name, value in options.items()})
    reader = made.reader(made.schema())
    tasks = pickle.loads(pickle.dumps([(reader, one) for one in reader.partitions()]))
    found = [row for task, one in tasks for batch in task.read(one) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["capture"], row["offset"]))


def finds(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in PLACE) for row in rows]


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder with an image of several pieces, a packed copy of it, and a small file."""
    data = bytearray(5 * READ_SIZE + 4321)
    for at, one in (
        (1000, ORDER),
        (READ_SIZE - 20, ORDER),
        (READ_SIZE + 4096, LARGE),
        (2 * READ_SIZE - 7, LARGE),
        # Over the end of the one before.
        (2 * READ_SIZE + 500_000, LARGE),
        (5 * READ_SIZE, ORDER),
        (5 * READ_SIZE + 4321 - 200, ORDER[:200]),
    ):
        data[at : at + len(one)] = one
    folder = tmp_path / "images"
    (folder / "deep").mkdir(parents=True)
    (folder / "disk.dd").write_bytes(data)
    (folder / "deep" / "disk.gz").write_bytes(gzip.compress(data, 1))
    (folder / "notes").write_bytes(b"notes" + ORDER)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["at_rest", "images"])
def test_rows_are_the_finds_of_the_reader_at_every_place(name: str, images: Path) -> None:
    folder = AT_REST if name == "at_rest" else images
    rows = {
        (row["capture"], row["offset"]): row
        for row in rows_of(path=folder, recursive="true", splitBytes="1m")
    }
    with CarveReader([str(path) for path in sorted(folder.rglob("*")) if path.is_file()]) as reader:
        expected = {
            (location.capture, location.offset): (one, location)
            for one in reader
            for location in one.locations
        }
    assert rows.keys() == expected.keys()
    assert len(rows) > 8
    reported = [one.name for one in ROW if one.name in carved_schema().names and one.name != "capture"]
    for place, (record, location) in expected.items():
        row = rows[place]
        assert (row["type"], row["grade"], row["length"]) == (record.type, record.grade, record.length)
        # Of the same bytes one may be cut by a page, and one by a hole.
        assert (row["reason"] is None) == (record.reason is None)
        assert row["address"] == location.address
        said = message_view(record)
        assert said is not None
        sent = said["sent_at"] and datetime.fromisoformat(said["sent_at"])
        assert {name: row[name] for name in reported} == {name: said[name] for name in reported} | {
            "sent_at": sent
        }


@pytest.mark.slow
def test_rows_are_the_same_for_every_size_of_a_split(images: Path) -> None:
    path = images / "disk.dd"
    expected = rows_of(path=path)
    assert [row["grade"] for row in expected] == ["whole", "whole", "whole", "head", "whole", "whole", "head"]
    for size in (1, READ_SIZE, 2 * READ_SIZE, 3 * READ_SIZE + 1):
        assert rows_of(path=path, splitBytes=size) == expected
    packed = rows_of(path=images / "deep" / "disk.gz", splitBytes=1)
    assert [row | {"capture": str(path)} for row in packed] == expected


def test_the_same_bytes_have_the_same_hash(images: Path) -> None:
    rows = rows_of(path=images, recursive="true")
    wholes = [row for row in rows if row["grade"] == "whole" and row["label"] == "order 4711"]
    assert len(wholes) == 7
    assert {row["sha256"] for row in wholes} == {hashlib.sha256(ORDER).hexdigest()}
    assert {row["via"] for row in wholes} == {"file"}
    assert len({row["message_id"] for row in wholes}) == 1


def test_files_that_are_not_larger_than_a_split_are_not_opened(images: Path) -> None:
    files = list_files([str(images)], pattern="*").files
    parts = plan_parts(files, READ_SIZE)
    assert [(os.path.basename(one.file.path), one.first // READ_SIZE) for one in parts] == [
        *(("disk.dd", number) for number in range(6)),
        ("notes", 0),
    ]
    assert parts[5].last == 5 * READ_SIZE + 4321
    gone = [one for one in files if one.path.endswith("notes")]
    (images / "notes").unlink()
    (part,) = plan_parts(gone, READ_SIZE)
    assert part.error is None
    ((row,),) = ([row for batch in carved_rows(part, ReadOptions()) for row in batch.to_pylist()],)
    assert (row["type"], row["grade"], row["length"]) == ("error", None, 0)
    assert row["reason"] == f"cannot open {images / 'notes'}: No such file or directory"


@pytest.mark.slow
def test_what_cannot_be_read_is_a_row_and_the_rest_is_searched(images: Path) -> None:
    packed = images / "deep" / "disk.gz"
    packed.write_bytes(packed.read_bytes()[:-4000])
    (images / "disk.vmdk").write_bytes(b"KDMV" + bytes(2000))
    (images / "pipe").symlink_to(images / "nowhere")
    rows = rows_of(path=images, recursive="true")
    reported = {os.path.basename(row["capture"]): row["reason"] for row in rows if row["type"] == "error"}
    # What is said of an image depends on what is there to open it.
    assert reported.pop("disk.vmdk").startswith(f"{images / 'disk.vmdk'} begins like a VMDK image")
    assert reported == {
        "disk.gz": "the gzip stream is cut",
        "pipe": f"cannot open {images / 'pipe'}: No such file or directory",
    }
    assert len([row for row in rows if row["capture"] == str(packed)]) > 2
    for path in (packed, images / "disk.vmdk", images / "pipe"):
        with pytest.raises(CaptureError, match=path.name):
            rows_of(path=path, onError="fail")


def test_a_large_file_that_is_no_image_after_all_is_a_row(images: Path) -> None:
    path = images / "disk.dd"
    with path.open("r+b") as file:
        file.write(b"KDMV")
    (row,) = rows_of(path=path, splitBytes="1m")
    assert (row["type"], row["offset"]) == ("error", 0)
    assert "begins like a VMDK image" in row["reason"]


def test_a_file_that_changes_after_it_was_cut_is_not_read(images: Path) -> None:
    path = images / "disk.dd"
    reader = CarvedReader(ReadOptions(paths=(str(path),), split_bytes=4 * READ_SIZE))
    _, second = reader.partitions()
    before = [row for batch in reader.read(second) for row in batch.to_pylist()]
    assert {row["type"] for row in before} == {"user_message"}
    path.write_bytes(path.read_bytes() + b"more")
    (row,) = [row for batch in reader.read(second) for row in batch.to_pylist()]
    assert (row["type"], row["offset"]) == ("error", 4 * READ_SIZE)
    assert row["reason"] == f"{path} changed after it was listed"


def test_holes_of_a_sparse_file_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "disk.dd"
    with path.open("wb") as file:
        for at in (5_000, (3 << 30) - 100, 7 << 30):
            file.seek(at)
            file.write(ORDER)
        file.truncate(8 << 30)
    rows = rows_of(path=path, splitBytes="1g")
    assert [row["offset"] for row in rows] == [5_000, (3 << 30) - 100, 7 << 30]
    assert {row["grade"] for row in rows} == {"whole"}


def test_a_sparse_file_is_cut_where_it_has_bytes(tmp_path: Path) -> None:
    path = tmp_path / "disk.dd"
    with path.open("wb") as file:
        file.seek(1 << 39)
        file.write(ORDER)
        file.truncate(1 << 40)
    reader = CarvedReader(ReadOptions(paths=(str(path),), split_bytes=READ_SIZE))
    assert len(list(reader.partitions())) == 1
    assert [row["offset"] for row in rows_of(path=path, splitBytes="1m")] == [1 << 39]


def test_an_empty_folder_gives_one_task_and_no_rows(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    reader = CarvedReader(ReadOptions(paths=(str(tmp_path / "empty"),)))
    (one,) = reader.partitions()
    assert list(reader.read(one)) == []
    (tmp_path / "empty" / "nothing").touch()
    (one,) = reader.partitions()
    assert list(reader.read(one)) == []


@pytest.mark.slow
def test_of_a_folder_all_files_are_read_and_a_glob_chooses() -> None:
    def names(**options: str) -> list[str]:
        return sorted({os.path.basename(row["capture"]) for row in rows_of(path=AT_REST, **options)})

    assert names() == ["J0000007.MQ", "P0003420.MQ", "R0000012.MQ", "memory.dmp"]
    assert names(glob="[PJ]*.MQ") == ["J0000007.MQ", "P0003420.MQ"]


def test_columns_are_those_of_messages_without_frames_and_with_places() -> None:
    names = carved_schema().names
    assert names[:8] == [*PLACE[:6], "address", "sha256"]
    kinds = {one.name: one for one in message_schema()}
    assert [one for one in names[8:] if carved_schema().field(one) != kinds[one]] == []
    assert {"frames", "time", "src", "dst", "stream", "path", "id", "event"}.isdisjoint(names)
    assert MsmqCarved({"path": "x"}).schema().names == names
    assert MsmqCarved({"columns": "LABEL,offset"}).schema().names == ["offset", "label"]


@pytest.mark.parametrize(
    "columns", ["offset,sha256", "grade,type", "label,user_header", "body,via", "address"]
)
def test_some_columns_are_those_of_all(columns: str) -> None:
    names = columns.split(",")
    whole = [tuple(row[name] for name in names) for row in rows_of(path=AT_REST)]
    made = MsmqCarved({"path": str(AT_REST), "columns": columns})
    reader = made.reader(made.schema())
    batches: list[Any] = [batch for one in reader.partitions() for batch in reader.read(one)]
    some = [tuple(row[name] for name in names) for batch in batches for row in batch.to_pylist()]
    assert sorted(some, key=repr) == sorted(whole, key=repr)


@pytest.mark.slow
def test_bodies_are_left_out_on_request() -> None:
    assert any(row["body"] for row in rows_of(path=AT_REST))
    assert not any(row["body"] for row in rows_of(path=AT_REST, payload="false"))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [None, frozenset({"offset", "grade"})])
def test_a_filter_is_asked_though_its_columns_are_not(columns: frozenset[str] | None) -> None:
    expected = [row["offset"] for row in rows_of(path=AT_REST) if row["label"] == "order 4711"]
    reader = CarvedReader(ReadOptions(paths=(str(AT_REST),), columns=columns))
    reader.row_filter = RowFilter([EqualTo(("label",), "order 4711")], carved_schema())
    batches = [batch for one in reader.partitions() for batch in reader.read(one)]
    assert sorted(at for batch in batches for at in batch.column("offset").to_pylist()) == sorted(expected)
    assert len(expected) == 2
    assert columns is None or all(set(batch.schema.names) == columns for batch in batches)


@pytest.mark.parametrize("name", ["ports", "hosts", "since", "scope", "streams", "keytab"])
def test_options_about_captures_are_refused(name: str) -> None:
    values = {"ports": "1801", "since": "2026-01-01", "scope": "file", "streams": "true"}
    with pytest.raises(
        MsmqWireError, match=f"the option {name} is about captures, and msmq-carved reads none"
    ):
        MsmqCarved({"path": "x", name: values.get(name, "10.0.0.1")})


@pytest.mark.slow
@pytest.mark.spark
def test_a_folder_of_images_is_a_table(spark: SparkSession, images: Path) -> None:
    shutil.copy(AT_REST / "memory.dmp", images)
    (images / "broken.gz").write_bytes(b"\x1f\x8bnothing")
    read = spark.read.format("msmq-carved").option("splitBytes", "1m").option("recursive", "true")
    rows = read.load(str(images)).select(*PLACE, "sha256", "label", "user_header.message_id").collect()
    expected = rows_of(path=images, recursive="true")
    assert sorted(map(tuple, [row[:7] for row in rows]), key=repr) == sorted(finds(expected), key=repr)
    assert [row.capture for row in rows if row.type == "error"] == [str(images / "broken.gz")]
    narrow = read.option("columns", "grade,message_id,sha256").load([str(images / "*.d[dm]*")])
    once = narrow.where("grade = 'whole'").dropDuplicates(["message_id", "sha256"]).collect()
    names = {"disk.dd", "memory.dmp"}
    wholes = [
        one for one in expected if os.path.basename(one["capture"]) in names and one["grade"] == "whole"
    ]
    assert {row.sha256 for row in once} == {row["sha256"] for row in wholes}
    assert len(once) == len({row["sha256"] for row in wholes}) < len(wholes)
