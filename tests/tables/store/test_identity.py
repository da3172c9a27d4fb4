"""A capture is what is in it: names, places and wrappings of files make no other one of it."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.capture.content_digest import FileDigest
from msmq_wire.capture.listing import list_files
from msmq_wire.tables.store import identity
from msmq_wire.tables.store.identity import (
    IdentifiedFile,
    NewFile,
    StoredCapture,
    candidates,
    content_of,
    file_key,
    head_of,
    place_files,
    source_row,
)
from tests.effort import examples

MAGIC = bytes.fromhex("d4c3b2a1")
HEAD = 4096


def capture(seed: int, size: int = 3 * HEAD) -> bytes:
    """Bytes that begin like a capture, others for each seed."""
    made = b"".join(hashlib.sha256(b"%d %d" % (seed, at)).digest() for at in range(size // 32 + 1))
    return (MAGIC + made)[:size]


def zst(data: bytes) -> bytes:
    packed: bytes = importlib.import_module("backports.zstd").compress(data)
    return packed


class Tables:
    """What tables know after runs: the capture of each file, and what the captures have."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.captures: dict[str, str | None] = {}
        self.sources: dict[str, tuple[StoredCapture, bytes]] = {}

    def run(self, contents: Mapping[str, bytes]) -> dict[str, tuple[str, str]]:
        """See files with some contents; return which capture each new one is, and why, by their names."""
        for name, data in contents.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        placed = self.display()
        return {
            os.path.relpath(one.seen.file.path, self.folder): (
                os.path.relpath(one.capture, self.folder),
                one.kind,
            )
            for one in placed
        }

    def display(self) -> Sequence[IdentifiedFile]:
        files = list_files([str(self.folder)], pattern="*", recursive=True).files
        fresh = [file for file in files if file_key(file) not in self.sources]
        known = [
            one._replace(whole=self.captures[one.capture] == one.digest) for one, _ in self.sources.values()
        ]
        seen = [NewFile(file=file, head=head_of(file)) for file in fresh]
        for _ in range(2):
            worth = candidates(seen, known)
            seen = [
                msgspec.structs.replace(one, content=content_of(one.file, worth[one.file.path]))
                if one.file.path in worth
                else one
                for one in seen
            ]
        # Who looks twice at all others finds nothing more to read.
        assert candidates([one for one in seen if one.content is not None], known) == {}
        placed = place_files(seen, known, [name for name, digest in self.captures.items() if digest])
        for one in placed:
            content = content_of(one.seen.file)
            if one.kind != "copy":
                self.captures[one.capture] = None if content is None else content.digest
            if content is not None:
                row = source_row(one.capture, one.seen.file, one.seen.head, content)
                data = Path(one.seen.file.path).read_bytes()
                self.sources[row["key"]] = (
                    StoredCapture(*(row[name] for name in StoredCapture._fields[:-1])),
                    data,
                )
        return placed

    def holds(self) -> dict[str, bytes]:
        """The content of each capture."""
        found = {}
        for one, data in self.sources.values():
            if self.captures[one.capture] == one.digest:
                found[one.capture] = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        return found


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path / "in")


def test_copies_links_and_archives_are_one_capture(tables: Tables) -> None:
    data = capture(1)
    tables.folder.mkdir()
    (tables.folder / "link.pcap").symlink_to(tables.folder / "b.pcap")
    found = tables.run(
        {
            "b.pcap": data,
            "c.pcap": data,
            "a.pcap.gz": gzip.compress(data, mtime=0),
            "a.pcap.zst": zst(data),
            "deep/er.pcap": data,
            "other.pcap": capture(2),
        }
    )
    assert {name for name, kind in found.values()} == {"a.pcap.gz", "other.pcap"}
    assert [name for name, (_, kind) in found.items() if kind == "new"] == ["a.pcap.gz", "other.pcap"]
    assert found["link.pcap"] == ("a.pcap.gz", "copy")


def test_what_is_found_later_under_another_name_is_a_copy(tables: Tables) -> None:
    assert tables.run({"a.pcap": capture(1)}) == {"a.pcap": ("a.pcap", "new")}
    (tables.folder / "a.pcap").rename(tables.folder / "renamed.pcap")
    assert tables.run({}) == {"renamed.pcap": ("a.pcap", "copy")}
    packed = {"x.gz": gzip.compress(capture(1), 9, mtime=0), "y.gz": gzip.compress(capture(1), 1, mtime=0)}
    assert tables.run(packed) == {"x.gz": ("a.pcap", "copy"), "y.gz": ("a.pcap", "copy")}
    assert tables.run({}) == {}


def test_a_file_that_was_only_touched_is_what_it_was(tables: Tables) -> None:
    tables.run({"a.pcap": capture(1), "b.pcap": capture(2)})
    os.utime(tables.folder / "a.pcap", ns=(5, 5))
    assert tables.run({}) == {"a.pcap": ("a.pcap", "copy")}


@pytest.mark.parametrize("size", [0, 24, 100, HEAD, HEAD + 1, 2 * HEAD])
def test_a_file_that_grew_is_the_same_capture(size: int, tables: Tables) -> None:
    data = capture(1)
    tables.run({"a.pcap": data[:size]})
    assert tables.run({"a.pcap": data[: size + 1]}) == {"a.pcap": ("a.pcap", "grew")}
    assert tables.run({"a.pcap": data}) == {"a.pcap": ("a.pcap", "grew")}
    assert tables.holds() == {str(tables.folder / "a.pcap"): data}


def test_a_file_that_grew_is_found_under_another_name_and_in_an_archive(tables: Tables) -> None:
    data = capture(1, 8 * HEAD)
    tables.run({"a.pcap": data[:5000]})
    assert tables.run({"b.pcap": data[:6000]}) == {"b.pcap": ("a.pcap", "grew")}
    assert tables.run({"c.gz": gzip.compress(data, mtime=0)}) == {"c.gz": ("a.pcap", "grew")}
    # What it was before is in it.
    assert tables.run({"d.pcap": data[:5000]}) == {"d.pcap": ("a.pcap", "copy")}
    assert tables.holds() == {str(tables.folder / "a.pcap"): data}


@pytest.mark.parametrize("pack", [bytes, lambda data: gzip.compress(data, mtime=0)])
def test_several_stages_of_a_file_in_one_run_are_one_capture(pack: type[bytes], tables: Tables) -> None:
    data = capture(1, 8 * HEAD)
    found = tables.run(
        {"1.pcap": pack(data[:5000]), "2.pcap": data[:9000], "3.pcap": data, "4.pcap": pack(data[:5001])}
    )
    assert {name: kind for name, (_, kind) in found.items()} == {
        "1.pcap": "copy",
        "2.pcap": "copy",
        "3.pcap": "new",
        "4.pcap": "copy",
    }
    assert {name for name, _ in found.values()} == {"3.pcap"}
    more = data + capture(2)
    assert tables.run({"5.pcap": pack(more[:-1]), "6.pcap": more}) == {
        "5.pcap": ("3.pcap", "copy"),
        "6.pcap": ("3.pcap", "grew"),
    }


def test_ring_files_of_one_size_that_begin_alike_are_different_captures(tables: Tables) -> None:
    same = capture(1, HEAD)
    found = tables.run({f"ring{number}": same + capture(number) for number in range(3)})
    assert found == {f"ring{number}": (f"ring{number}", "new") for number in range(3)}
    assert tables.run({"ring3": same + capture(3)}) == {"ring3": ("ring3", "new")}


def test_files_that_have_just_begun_grow_each_into_its_own(tables: Tables) -> None:
    header = capture(1, 24)
    assert tables.run({"a": header, "b": header, "c": b"", "d": b""}) == {
        "a": ("a", "new"),
        "b": ("a", "copy"),
        "c": ("c", "new"),
        "d": ("c", "copy"),
    }
    grown = {name: header + capture(number, number * 100) for number, name in enumerate("abcd", 1)}
    assert tables.run(grown) == {
        "a": ("a", "grew"),
        "b": ("b", "new"),
        "c": ("c", "grew"),
        "d": ("d", "new"),
    }


def test_two_ways_on_from_one_beginning_are_two_captures(tables: Tables) -> None:
    start = capture(1, 5000)
    tables.run({"a": start})
    ways = {"b": start + capture(2), "c": start + capture(3)}
    assert tables.run(ways) == {"b": ("a", "grew"), "c": ("c", "new")}
    # Nor takes one that comes later the place of the first.
    assert tables.run({"d": start + capture(4), "a": start + capture(5)}) == {
        "a": ("a#2", "new"),
        "d": ("d", "new"),
    }
    assert len(tables.holds()) == 4


def test_other_content_under_an_old_name_is_another_capture(tables: Tables) -> None:
    tables.run({"a": capture(1)})
    assert tables.run({"a": capture(2)}) == {"a": ("a#2", "new")}
    assert tables.run({"a": capture(3), "b": capture(1)}) == {"a": ("a#3", "new"), "b": ("a", "copy")}
    assert tables.run({"a": capture(3) + b"more"}) == {"a": ("a#3", "grew")}
    assert tables.run({"a#2": capture(4)}) == {"a#2": ("a#2#2", "new")}
    assert len(tables.holds()) == 4


def test_a_file_that_cannot_be_read_is_looked_at_again(tables: Tables) -> None:
    tables.folder.mkdir()
    (tables.folder / "gone").symlink_to(tables.folder / "nowhere")
    assert tables.run({}) == {"gone": ("gone", "new")}
    assert tables.run({}) == {"gone": ("gone", "new")}
    assert tables.run({"nowhere": capture(1)}) == {"gone": ("gone", "new"), "nowhere": ("gone", "copy")}
    (file,) = list_files([str(tables.folder / "no such")]).files
    assert (head_of(file), content_of(file)) == ("", None)


def test_what_is_no_capture_counts_as_it_lies_there(tmp_path: Path) -> None:
    data = capture(1)
    whole = gzip.compress(data, mtime=0)
    cut, text = whole[:-9], b"no capture, as it seems"
    for name, raw in (("cut.gz", cut), ("text", text), ("text.gz", gzip.compress(text, mtime=0))):
        (tmp_path / name).write_bytes(raw)
        (file,) = list_files([str(tmp_path / name)]).files
        assert content_of(file) == FileDigest(len(raw), hashlib.sha256(raw).hexdigest())
    (tmp_path / "whole.gz").write_bytes(whole)
    (file,) = list_files([str(tmp_path / "whole.gz")]).files
    lengths = (1, 5000, len(data), len(data) + 1)
    assert content_of(file, lengths) == FileDigest(
        len(data),
        hashlib.sha256(data).hexdigest(),
        {length: hashlib.sha256(data[:length]).hexdigest() for length in lengths[:3]},
    )
    assert head_of(file) == hashlib.sha256(data[:HEAD]).hexdigest()


def test_only_what_may_be_the_same_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "content_digest", None)
    for number in range(3):
        (tmp_path / f"{number}.pcap").write_bytes(capture(number))
    files = list_files([str(tmp_path)]).files
    assert candidates([NewFile(file=file, head=head_of(file)) for file in files], []) == {}


bases = st.lists(st.binary(min_size=6, max_size=24), min_size=1, max_size=3)
pieces = st.lists(
    st.tuples(st.integers(0, 2), st.integers(6, 28), st.booleans(), st.integers(0, 3)), max_size=9
)


def _contents(bases: list[bytes], pieces: list[tuple[int, int, bool, int]]) -> dict[str, tuple[bytes, bytes]]:
    """Files by name: their content and their bytes."""
    found = {}
    for number, (base, stop, packed, name) in enumerate(pieces):
        data = (MAGIC + bases[base % len(bases)])[:stop]
        found[f"{name}-{number if name > 1 else 0}"] = (
            data,
            gzip.compress(data, mtime=0) if packed else data,
        )
    return found


@settings(max_examples=examples(300))
@given(bases=bases, pieces=pieces)
def test_any_prefixes_and_copies_end_with_a_capture_for_each_that_is_in_no_other(
    bases: list[bytes], pieces: list[tuple[int, int, bool, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = _contents(bases, pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "_HEAD", 6)
        tables = Tables(tmp_path_factory.mktemp("once"))
        tables.run({name: raw for name, (_, raw) in files.items()})
    contents = {data for data, _ in files.values()}
    most = {one for one in contents if not any(other != one and other.startswith(one) for other in contents)}
    assert sorted(tables.holds().values()) == sorted(most)


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(bases=bases, runs=st.lists(pieces, max_size=4))
def test_in_any_number_of_runs_nothing_is_lost_and_no_capture_is_there_twice(
    bases: list[bytes],
    runs: list[list[tuple[int, int, bool, int]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    ever: set[bytes] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "_HEAD", 6)
        tables = Tables(tmp_path_factory.mktemp("often"))
        for number, pieces in enumerate(runs):
            files = _contents(bases, pieces)
            tables.run({name: raw for name, (_, raw) in files.items()})
            for name in files:
                os.utime(tables.folder / name, ns=(number, number))
            ever |= {data for data, _ in files.values()}
            held = sorted(tables.holds().values())
            assert len(held) == len(set(held)) == len(tables.captures)
            assert all(any(one.startswith(data) for one in held) for data in ever)
