"""Paths and URLs of folders and files, and what is read and written there."""

from __future__ import annotations

import os
import pickle
import socket
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.fs as pafs  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, create_table_with_add_actions

from msmq_wire.capture.places import Place, place_of
from msmq_wire.errors import MsmqWireError
from tests.tables.store.s3_server import BUCKET, S3Server

NAMES = ["a b", "a:b", "s3:x", "100%", "a%20b", "a#b", "a?b", "grün 😀", "a*b[c]", "day=2026-01-31"]
"""Names that a URL would mean something else with."""


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("/data/x.pcap", "/data/x.pcap"),
        ("/data/x/../y/", "/data/y"),
        ("/data/s3://bucket/key", "/data/s3:/bucket/key"),
        ("file:///data/a%20b%25", "/data/a b%"),
        ("file:///data/100%/x#y?z", "/data/100%/x#y?z"),
        ("file://localhost/data", "/data"),
        ("FILE:///data", "/data"),
        ("file:/data/x", "/data/x"),
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
        ("s3://bucket/a/b c%20#?ä/", "s3://bucket/a/b c%20#?ä"),
        ("s3a://bucket/key", "s3://bucket/key"),
        ("S3://bucket/key", "s3://bucket/key"),
    ],
)
def test_a_place_is_an_absolute_path_or_a_bucket_and_a_key(text: str, url: str) -> None:
    assert place_of(text).url == url


@pytest.mark.parametrize("name", [*NAMES, "file:x", "https:x", "C:\\x"])
def test_a_path_is_relative_to_the_working_folder_and_is_no_url(name: str) -> None:
    assert place_of(name) == Place(f"{os.getcwd()}/{name}")
    assert place_of(f"/{name}") == Place(f"/{name}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "hdfs://node:8020/x",
            r"cannot use hdfs://node:8020/x: .* for hdfs:// it takes a mounted folder \(the NFS",
        ),
        (
            "gs://bucket/x",
            r"only paths and s3:// are reached; for gs:// it takes a mounted folder \(gcsfuse\)",
        ),
        ("abfss://c@account/x", r"for abfss:// it takes a mounted folder \(blobfuse2\)"),
        ("https://host/x.pcap", "for https:// it takes a copy in a folder"),
        ("sftp://host/x", "for sftp:// it takes a mounted folder$"),
        ("file://host/x", "a file: URL names no host"),
        ("file://x", "a file: URL names no host"),
        ("s3://", "cannot use s3://: it names no bucket"),
        ("s3:///key", "it names no bucket"),
        ("s3://a bucket/key", "it names no bucket"),
        ("s3://bucket/a//b", "a part of its key is empty"),
        ("s3://bucket/../b", "a part of its key is empty, '.' or '..'"),
        ("", "a file or folder needs a name, and '' is none"),
        ("a\0b", r"and 'a\\x00b' is none"),
        ("/data/\udcff", r"cannot use /data/\\udcff: its name is not UTF-8"),
        ("file:///data/%FF", "its name is not UTF-8"),
        ("s3://bucket/\udcff", "its name is not UTF-8"),
    ],
)
def test_what_cannot_be_reached_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(MsmqWireError, match=reason) as refused:
        place_of(text)
    assert len(str(refused.value).splitlines()) == 1


def test_a_secret_in_a_url_is_refused_and_not_said() -> None:
    with pytest.raises(MsmqWireError, match="credentials") as refused:
        place_of("s3a://key:hidden@bucket/x")
    assert "hidden" not in str(refused.value)


def exercise(root: Place) -> None:
    """Write, list, read and delete below a folder, by names of every kind."""
    assert not root.exists()
    assert root.list() == []
    for name in NAMES:
        folder = root.join("in", name)
        folder.make_folder()
        with folder.join("file " + name).open_output() as file:
            file.write(name.encode() * 100)
    assert {Path(info.path).name for info in root.join("in").list()} == set(NAMES)
    found = [info for info in root.list(recursive=True) if info.type is pafs.FileType.File]
    assert [root.within(info) for info in found] == sorted(
        (root.join("in", name, f"file {name}") for name in NAMES), key=lambda place: place.url
    )
    for info in found:
        place = pickle.loads(pickle.dumps(root.within(info)))
        text = place.name.removeprefix("file ").encode() * 100
        assert (place.info().size, place.info().mtime_ns) == (len(text), info.mtime_ns)
        with place.open_input() as file:
            file.seek(3)
            assert (file.size(), file.read(10)) == (len(text), text[3:13])
        place.delete()
        place.delete()
        assert not place.exists()
        with pytest.raises(FileNotFoundError):
            place.open_input()


def test_a_local_folder_is_written_listed_read_and_emptied(tmp_path: Path) -> None:
    exercise(place_of(str(tmp_path / "x")))
    assert sorted(path.name for path in (tmp_path / "x" / "in").iterdir()) == sorted(NAMES)


@pytest.mark.slow
def test_a_bucket_is_written_listed_read_and_emptied(s3: S3Server) -> None:
    exercise(place_of(f"s3://{BUCKET}/a b%20/#"))


@pytest.mark.slow
def test_requests_that_fail_are_sent_again(s3: S3Server) -> None:
    place = place_of(f"s3://{BUCKET}/x")
    with place.open_output() as file:
        file.write(bytes(range(100)))
    s3.reset()
    s3.fail_every = 2
    # The error that the server sends instead is longer than what is asked for here.
    with place.open_input() as file:
        assert [file.read(1) for _ in range(5)] == [b"\0", b"\1", b"\2", b"\3", b"\4"]
    place.delete()
    assert not place.exists()
    assert s3.failed > 7


@pytest.mark.slow
def test_a_file_that_goes_away_while_it_is_read_is_an_error(s3: S3Server) -> None:
    place = place_of(f"s3://{BUCKET}/x")
    with place.open_output() as file:
        file.write(bytes(range(100)))
    with place.open_input() as file:
        place.delete()
        with pytest.raises(OSError, match="GetObject"):
            file.read()


@pytest.mark.slow
def test_a_bucket_that_is_not_there_has_nothing(s3: S3Server) -> None:
    place = place_of("s3://nothing/x")
    assert not place.exists()
    assert place.list() == []
    with pytest.raises(FileNotFoundError):
        place.open_input()
    with pytest.raises(OSError, match="NO_SUCH_BUCKET"), place.open_output() as file:
        file.write(b"x")


@pytest.mark.slow
def test_an_unsigned_request_is_made_where_the_environment_says_so(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(f"s3://{BUCKET}/x")
    assert "aws_skip_signature" not in place.storage_options
    assert not place.exists()
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert place.storage_options["aws_skip_signature"] == "true"
    assert not place.exists()
    assert s3.signed == [True, True, False, False]


def test_the_environment_says_where_the_store_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    place = place_of("s3://bucket/x")
    assert place.storage_options == {"aws_conditional_put": "etag"}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://store.example:9000/")
    assert place.storage_options == {
        "aws_conditional_put": "etag",
        "aws_endpoint": "https://store.example:9000",
        "allow_http": "false",
        "aws_region": "us-east-1",
    }
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000")
    assert place.storage_options["aws_region"] == "eu-west-1"
    assert place.storage_options["allow_http"] == "true"
    assert place.filesystem().region == "eu-west-1"
    assert place.filesystem() is place_of("s3://other").filesystem()
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert place.filesystem().region == "eu-west-2"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "127.0.0.1:9000")
    with pytest.raises(MsmqWireError, match="AWS_ENDPOINT_URL is as http://host:port, not 127"):
        place.filesystem()
    assert place_of("/data").storage_options == {}


def test_a_host_that_nobody_knows_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(host: str, port: None) -> None:
        raise socket.gaierror(socket.EAI_NONAME, f"{host} is not known")

    monkeypatch.setattr("msmq_wire.capture.places.socket.getaddrinfo", unknown)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.invalid:9000")
    with pytest.raises(MsmqWireError) as refused:
        place_of("s3://bucket/x").list()
    assert str(refused.value) == (
        "cannot find the host of AWS_ENDPOINT_URL, http://store.invalid:9000: store.invalid is not known"
    )


def table_at(place: Place) -> DeltaTable:
    """A table with one file of two rows, in a partition."""
    schema = Schema.from_arrow(pa.schema({"a": pa.int64(), "day": pa.string()}))
    part = place.join("day=x", "part.parquet")
    place.join("day=x").make_folder()
    with part.open_output() as file:
        pq.write_table(pa.table({"a": [1, 2]}), file)
    add = AddAction("day=x/part.parquet", part.info().size, {"day": "x"}, 0, True, "{}")
    create_table_with_add_actions(
        place.table_url, schema, [add], "error", ["day"], storage_options=place.storage_options
    )
    return DeltaTable(place.table_url, storage_options=place.storage_options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a b", "a:b", "100%", "a#b", "a?b", "grün 😀", "a*b"])
def test_a_delta_table_stands_where_its_files_are(name: str, s3: S3Server, tmp_path: Path) -> None:
    for root in (place_of(str(tmp_path)), place_of(f"s3://{BUCKET}/x")):
        table = table_at(root.join(name))
        assert root.join(name, "_delta_log").exists()
        assert table.to_pyarrow_table().to_pydict() == {"a": [1, 2], "day": ["x", "x"]}


@pytest.mark.parametrize("name", ["a%20b", "a[b", "a\\b", "a\nb", "a|b"])
def test_a_name_that_delta_takes_for_another_is_refused(name: str) -> None:
    for root in (place_of("/data"), place_of("s3://bucket")):
        with pytest.raises(MsmqWireError, match="cannot keep tables in"):
            _ = root.join(name).table_url


@pytest.mark.slow
def test_of_two_who_commit_one_version_to_a_bucket_one_fails(s3: S3Server) -> None:
    place = place_of(f"s3://{BUCKET}/x")
    first, second = table_at(place), DeltaTable(place.table_url, storage_options=place.storage_options)
    first.delete()
    with pytest.raises(CommitFailedError):
        second.delete()
