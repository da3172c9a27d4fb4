"""Paths and URLs of folders and files, and what is read and written there."""

from __future__ import annotations

import base64
import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.fs as pafs  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, create_table_with_add_actions

from msmq_wire.capture.listing import list_files
from msmq_wire.capture.places import Place, place_of
from msmq_wire.errors import MsmqWireError
from tests.needs import need
from tests.tables.store.s3_server import BUCKET, S3Server

AZURE = "abfss://box@account.dfs.core.windows.net"
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
        ("gs://bucket/a b%20/", "gs://bucket/a b%20"),
        ("gcs://bucket", "gs://bucket"),
        (f"{AZURE}/a@b#?/", f"{AZURE}/a@b#?"),
        ("abfs://box@account.dfs.core.windows.net", AZURE),
        ("hdfs://node:8020/a b", "hdfs://node:8020/a b"),
        ("hdfs://cluster", "hdfs://cluster"),
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
        ("abfss://c@account/x", "it is not as abfss://container@account.dfs.core.windows.net/key"),
        ("abfss://c/x", "it is not as abfss://container@"),
        ("wasbs://c@account.blob.core.windows.net/x", "not reached here; write abfss://container@account"),
        ("hdfs:///x", "it is not as hdfs://host:port/path"),
        ("gs:///x", "it is not as gs://bucket/key"),
        ("https://host/x.pcap", "https:// is not reached here; copy it to a folder"),
        ("dbfs://x", "dbfs:// is not reached here; write /dbfs/..."),
        ("sftp://host/x", "sftp:// is not reached here; mount it as a folder$"),
        ("file://host/x", "a file: URL names no host"),
        ("file://x", "a file: URL names no host"),
        ("s3://", "cannot use s3://: it is not as s3://bucket/key"),
        ("s3:///key", "it is not as s3://bucket/key"),
        ("s3://a bucket/key", "it is not as s3://bucket/key"),
        ("s3://bucket/a//b", "a part of its key is empty"),
        ("gs://bucket/../b", "a part of its key is empty, '.' or '..'"),
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


@pytest.mark.parametrize(
    "text",
    [
        "s3a://key:hidden@bucket/x",
        "gs://hidden@bucket/x",
        "abfss://box:hidden@account.dfs.core.windows.net/x",
        "abfss://box@account.dfs.core.windows.net/x?sig=hidden",
        "hdfs://hidden@node/x",
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_said(text: str) -> None:
    with pytest.raises(MsmqWireError, match="credentials") as refused:
        place_of(text)
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
        text = Path(place.path).name.removeprefix("file ").encode() * 100
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
    assert not place.exists()
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert not place.exists()
    assert s3.signed == [True, True, False, False]


def test_the_environment_says_where_the_store_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    place = place_of("s3://bucket/x")
    assert place.storage_options == {}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://127.0.0.1:9000/")
    assert place.storage_options == {}
    assert place.filesystem().region == "us-east-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000")
    assert place.storage_options == {"allow_http": "true"}
    assert place.filesystem().region == "eu-west-1"
    assert place.filesystem() is place_of("s3://other").filesystem()
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert place.filesystem().region == "eu-west-2"
    assert place_of("/data").storage_options == place_of("gs://bucket").storage_options == {}


@pytest.mark.parametrize("endpoint", ["http://store.invalid:9000", "127.0.0.1:9000", "http://key:hidden@"])
def test_a_host_that_nobody_knows_is_told_before_anything_is_sent(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(host: str | None, port: None) -> None:
        raise socket.gaierror(socket.EAI_NONAME, f"{host} is not known")

    monkeypatch.setattr("msmq_wire.capture.places.socket.getaddrinfo", unknown)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    with pytest.raises(MsmqWireError, match=r"^cannot reach AWS_ENDPOINT_URL .* is not known$") as refused:
        place_of("s3://bucket/x").list()
    assert "hidden" not in str(refused.value)


def test_a_store_that_needs_what_is_not_here_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody has Hadoop here.
    for name in ("JAVA_HOME", "HADOOP_HOME", "ARROW_LIBHDFS_DIR"):
        monkeypatch.setenv(name, "/nowhere")
    with pytest.raises(MsmqWireError, match=r"^cannot reach hdfs://node:8020: .") as refused:
        place_of("hdfs://node:8020/x").list()
    assert "\n" not in str(refused.value)
    monkeypatch.setattr("pyarrow.fs.GcsFileSystem", Mock(side_effect=ImportError("it was built without")))
    with pytest.raises(MsmqWireError, match=r"^cannot reach gs://: it was built without$"):
        place_of("gs://bucket/x").list()


@pytest.mark.parametrize(
    ("url", "path", "inside"),
    [
        ("s3://bucket", "bucket", "bucket/x/y"),
        ("gs://bucket/a", "bucket/a", "bucket/a/x/y"),
        (AZURE, "box", "box/x/y"),
        (f"{AZURE}/a@b", "box/a@b", "box/a@b/x/y"),
        ("hdfs://node:8020", "/", "/x/y"),
        ("hdfs://node:8020/a", "/a", "/a/x/y"),
    ],
)
def test_a_place_has_the_path_that_pyarrow_takes(url: str, path: str, inside: str) -> None:
    place = place_of(url)
    assert (place.path, place.is_local) == (path, False)
    assert place.join("x", "y").path == inside
    assert place.within(pafs.FileInfo(inside, pafs.FileType.File)) == place.join("x", "y")
    assert Place(url[1:]).is_local


def test_tables_are_named_by_quoted_urls() -> None:
    assert place_of("/a b").table_url == "file:///a%20b"
    assert place_of("gs://bucket/a b/ü").table_url == "gs://bucket/a%20b/%C3%BC"
    assert place_of(f"{AZURE}/a#b").table_url == f"{AZURE}/a%23b"
    with pytest.raises(MsmqWireError, match="cannot keep tables in hdfs://node/x: name a folder, s3://"):
        _ = place_of("hdfs://node/x").table_url


def test_an_azure_account_is_that_of_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", base64.b64encode(b"key").decode())
    monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", "http://127.0.0.1:10000")
    files = place_of(AZURE).filesystem()
    assert files is place_of(f"{AZURE}/x").filesystem()
    assert files == pafs.AzureFileSystem(
        account_name="account",
        account_key=base64.b64encode(b"key").decode(),
        **{f"{kind}_storage_scheme": "http" for kind in ("blob", "dfs")},
        **{f"{kind}_storage_authority": "127.0.0.1:10000" for kind in ("blob", "dfs")},
    )


@pytest.fixture
def gs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A store as Google's on loopback, with an empty bucket, which the environment names."""
    need("gcp-storage-emulator")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("CLOUD_STORAGE_EMULATOR_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    words = ["start", "--in-memory", "--host", "127.0.0.1", "--port", str(port), "--default-bucket", BUCKET]
    # In a process of its own, because pyarrow seeks in a file while no other thread of Python runs.
    server = subprocess.Popen(
        [sys.executable, "-m", "gcp_storage_emulator", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert server.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
        yield
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
def test_a_bucket_of_google_is_written_listed_read_and_emptied(gs: None) -> None:
    exercise(place_of(f"gs://{BUCKET}/a b%20/#"))
    names = ("x/a.pcap", "x/deep/b.pcap", "x/deep/er/c.pcap", "y/deep/d.cap")
    for name in names:
        with place_of(f"gs://{BUCKET}/{name}").open_output() as file:
            file.write(b"x")
    assert [info.path for info in place_of(f"gs://{BUCKET}/x").list()] == [
        f"{BUCKET}/x/a.pcap",
        f"{BUCKET}/x/deep",
    ]
    for pattern, found in (("", names), ("*/deep/*", names[1:]), ("**/*.pcap", names[:3])):
        files = list_files([f"gs://{BUCKET}/{pattern}"], recursive=not pattern or "**" in pattern).files
        expected = [(f"gs://{BUCKET}/{name}", 1) for name in found]
        assert [(file.path, file.size) for file in files if file.path.endswith("cap")] == expected


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
