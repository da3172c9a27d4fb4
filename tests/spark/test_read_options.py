"""Options of the data sources: what each accepts, and one clear line for everything else."""

from __future__ import annotations

import datetime
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark import read_options
from msmq_wire.spark.read_options import DEFAULT_SPLIT_BYTES, OPTIONS, ReadOptions

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def refusal(**options: str) -> str:
    """The line that says why options are refused."""
    with pytest.raises(MsmqWireError) as error:
        ReadOptions.of(options)
    (line,) = str(error.value).splitlines()
    return line


def test_without_options_the_defaults_hold() -> None:
    assert ReadOptions.of({}) == ReadOptions()
    assert ReadOptions().split_bytes == DEFAULT_SPLIT_BYTES == 64 << 20
    assert ReadOptions().selects is False


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(
            ("splitBytes", text)
            for text in ("", "0", "-1", "many", "1.5m", "1 k", "k", "1t", "٣", "9" * 20, "8388608g")
        ),
        *(("chunkBytes", text) for text in ("0", "x", "4g", "1e3")),
        *(("ports", text) for text in ("http", "0", "65536", "-1", "1801;80", "80 81", "1801,x", "000080")),
        *(
            ("hosts", text)
            for text in ("server", "192.0.2.256", "192.0.2.1-9", "192.0.2.0/33", "::1/129", "1,2")
        ),
        *(
            (name, text)
            for name in ("since", "until")
            for text in ("", "now", "1700000000.5", "12:00", "2026-13-01")
        ),
        ("since", "2026-01-31T25:00:00Z"),
        ("scope", "folder"),
        ("scope", ""),
        ("onError", "ignore"),
        *((name, "yes") for name in ("recursive", "streams", "payload", "frame")),
        *((name, "") for name in ("recursive", "streams", "payload", "frame")),
        *(("paths", text) for text in ("a.pcap", "[", "{}", '"a"', "[1]", '["a", null]', "")),
    ],
)
def test_a_value_that_no_option_can_have_is_named_in_one_line(name: str, text: str) -> None:
    line = refusal(**{name: text})
    assert f"option {name} is a" in line or f"option {name} is " in line
    assert name == "paths" or any(part in line for part in text.split(","))


def test_an_unknown_option_is_named_with_those_there_are() -> None:
    line = refusal(splitbyte="1m")
    assert line.startswith("no option is called splitbyte; there are path, paths, glob")
    assert all(name in line for name in OPTIONS)


def test_every_option_sets_a_field_and_says_what_it_means() -> None:
    assert {read_options._field(name) for name in OPTIONS} == set(ReadOptions.__struct_fields__)
    assert set(read_options._READERS) <= set(OPTIONS)
    assert all(re.fullmatch(r"[^\n]{10,}[.]", about) for about in OPTIONS.values())


def test_the_case_of_names_does_not_matter() -> None:
    values = {"SPLITBYTES": "1K", "onerror": "FAIL", "Scope": "Group", "chunkbytes": "2m", "KeyTab": "a, b"}
    assert ReadOptions.of(values) == ReadOptions(
        split_bytes=1024, on_error="fail", scope="group", chunk_bytes=2 << 20, keytabs=("a", "b")
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("64k", 64 << 10),
        (" 32M ", 32 << 20),
        ("2g", 2 << 30),
        ("7b", 7),
        ("16kb", 16 << 10),
        ("1Mb", 1 << 20),
    ],
)
def test_sizes_are_numbers_or_have_a_suffix(text: str, number: int) -> None:
    assert ReadOptions.of({"splitBytes": text}).split_bytes == number


@given(number=st.integers(1, 1 << 50))
def test_any_size_up_to_a_petabyte_is_taken(number: int) -> None:
    assert ReadOptions.of({"splitBytes": str(number)}).split_bytes == number


@pytest.mark.slow
@given(text=st.text(max_size=12))
def test_any_text_is_a_value_or_one_error(text: str) -> None:
    for name in OPTIONS:
        try:
            read, problem = ReadOptions.of({name: text}), name
        except MsmqWireError as error:
            read, problem = ReadOptions(), str(error)
        assert name in problem
        assert isinstance(read.networks, tuple)


def test_a_chunk_is_never_larger_than_offsets_of_arrow_reach() -> None:
    assert ReadOptions.of({"chunkBytes": "1g"}).chunk_bytes == 1 << 30
    assert refusal(chunkBytes="1025m") == f"the option chunkBytes is a number from 1 to {1 << 30}, not 1025m"


def test_paths_are_a_json_list_and_count_more_than_the_path() -> None:
    assert ReadOptions.of({"path": "a b.pcap"}).paths == ("a b.pcap",)
    assert ReadOptions.of({"paths": '["x,y", "/z"]', "path": "other"}).paths == ("x,y", "/z")
    assert ReadOptions.of({"paths": "[]"}).paths == ()


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:///data/x.pcap", "/data/x.pcap"),
        ("file:/data/x.pcap", "/data/x.pcap"),
        ("/data/file:x", "/data/file:x"),
        ("relative/x", "relative/x"),
        ("file:x", "file:x"),
        ("s3a://bucket/x", "s3://bucket/x"),
    ],
)
def test_the_path_of_a_file_url_is_taken(url: str, path: str) -> None:
    assert ReadOptions.of({"path": url}).paths == (path,)
    assert ReadOptions.of({"paths": json.dumps([url, "y"])}).paths == (path, "y")


def test_a_url_that_nobody_can_read_is_refused_before_anything_runs() -> None:
    with pytest.raises(MsmqWireError, match="https:// is not reached here; copy it to a folder"):
        ReadOptions.of({"paths": '["/x", "https://host/x"]'})


def test_ports_and_hosts_are_lists() -> None:
    read = ReadOptions.of({"ports": " 1801, 80 ,", "hosts": "192.0.2.7/24, 2001:db8::1"})
    assert read.ports == {1801, 80}
    assert read.hosts == ("192.0.2.0/24", "2001:db8::1/128")
    assert [str(network) for network in read.networks] == list(read.hosts)
    assert read.selects


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000_000_000),
        ("2023-11-14T22:13:20.5Z", 1_700_000_000_500_000_000),
        ("2023-11-14T22:13:20.123456789Z", 1_700_000_000_123_456_789),
        ("2023-11-14 22:13:20,000000001", 1_700_000_000_000_000_001),
        ("2023-11-15T00:13:20.123456789999+02:00", 1_700_000_000_123_456_789),
        # Further from 1970 than 64 bits of nanoseconds reach.
        ("9999-12-31T23:59:59.999999999Z", (1 << 63) - 1),
        ("0001-01-01T00:00:00+23:59", -1 << 63),
    ],
)
def test_times_are_exact_to_the_nanosecond(name: str, text: str, nanoseconds: int) -> None:
    read = ReadOptions.of({name: text})
    assert getattr(read, name) == nanoseconds
    assert read.selects


@given(
    moment=st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1)),
    nanoseconds=st.integers(0, 999_999_999),
)
def test_every_time_that_rows_show_can_be_given(moment: datetime.datetime, nanoseconds: int) -> None:
    whole = moment.replace(microsecond=0, tzinfo=datetime.UTC)
    seconds = (whole - EPOCH) // datetime.timedelta(seconds=1)
    text = f"{whole:%Y-%m-%dT%H:%M:%S}.{nanoseconds:09d}Z"
    assert ReadOptions.of({"since": text}).since == seconds * 1_000_000_000 + nanoseconds


def test_files_with_keys_are_named_not_read() -> None:
    read = ReadOptions.of({"ntPasswordFile": "/p", "ntHashFile": "/h", "keytab": "/a,/b"})
    assert (read.nt_password_file, read.nt_hash_file, read.keytabs) == ("/p", "/h", ("/a", "/b"))
    read = ReadOptions.of({"rsaKey": "/k,/l", "rsaKeyPasswordFile": "/w"})
    assert (read.rsa_keys, read.rsa_key_password_file) == (("/k", "/l"), "/w")
