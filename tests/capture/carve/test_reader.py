"""Files in, records out: each once with all its places, and nothing lost on the way."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_at_rest import message
from msmq_wire.capture.carve import reader
from msmq_wire.capture.carve.reader import CarveReader, carve
from msmq_wire.records.message import message_of
from msmq_wire.records.record import Record, is_read

Place = tuple[str, int, str, str]


def places(records: Iterable[Record]) -> list[Place]:
    return sorted(
        (Path(location.capture).name, location.offset, record.type, record.grade or "")
        for record in records
        for location in record.locations
    )


def paths(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.iterdir() if path.suffix != ".json")


def test_what_lies_in_the_fixtures_is_found(fixtures: Path) -> None:
    folder = fixtures / "at_rest"
    expected = json.loads((folder / "finds.json").read_text(encoding="utf-8"))
    found = list(carve(*paths(folder)))
    assert places(found) == sorted(tuple(one.values()) for one in expected)
    assert [record.id for record in found] == list(range(1, len(found) + 1))


def test_copies_are_one_record_with_all_their_places(fixtures: Path) -> None:
    found = list(carve(*paths(fixtures / "at_rest")))
    copied = {
        message["label"]: [Path(location.capture).name for location in record.locations]
        for record in found
        if len(record.locations) > 1 and (message := message_of(record)) is not None
    }
    assert copied == {
        "order 4711": ["J0000007.MQ", "P0003420.MQ"],
        "order 4712": ["P0003420.MQ", "memory.dmp"],
    }
    (location,) = (one for record in found for one in record.locations if one.address == 0x1A2B0000 + 104)
    assert Path(location.capture).name == "memory.dmp"


def test_a_record_says_what_is_known_and_nothing_of_a_network(fixtures: Path) -> None:
    record = next(iter(carve(str(fixtures / "at_rest" / "P0003420.MQ"))))
    assert (record.frames, record.time, record.src, record.dst, record.stream) == ((), None, None, None, None)
    assert (record.offset, record.grade, record.reason) == (64, "whole", None)
    assert not is_read(record)
    found = message_of(record)
    assert found is not None
    assert (found["via"], found["how"], found["label"]) == ("file", "stored", "order 4711")


def test_facts_of_a_file_are_known_when_it_was_searched(fixtures: Path) -> None:
    with CarveReader(paths(fixtures / "at_rest")) as carving:
        list(carving)
    facts = {Path(one.name).name: one for one in carving.searched}
    assert facts["P0003420.MQ"].storage == "recoverable"
    assert facts["P0003420.MQ"].grades == {"whole": 3, "damaged": 1, "head": 1}
    assert facts["memory.dmp"].kind == "minidump"
    assert facts["memory.dmp"].copies == 1
    assert all(one.sha256 and len(one.sha256) == 64 for one in facts.values())


@pytest.mark.parametrize("in_memory", [1, 1 << 26])
def test_a_stream_gives_the_records_of_its_file(
    tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(reader, "_IN_MEMORY", in_memory)
    file = fixtures / "at_rest" / "P0003420.MQ"
    packed = tmp_path / "P0003420.MQ.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    plain = [(one.offset, one.grade, one.packet) for one in carve(str(file))]
    assert [(one.offset, one.grade, one.packet) for one in carve(str(packed))] == plain


def test_more_than_is_kept_is_told_before_and_copies_of_that_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_MOST", 2)
    one, two, three = (message(number, "x", "y") for number in (1, 2, 3))
    (tmp_path / "a").write_bytes(one + two + one + three)
    (tmp_path / "b").write_bytes(two)
    with CarveReader([str(tmp_path / "a"), str(tmp_path / "b")]) as carving:
        found = list(carving)
    assert [(record.id, len(record.locations)) for record in found] == [(1, 1), (2, 1), (3, 1)]
    assert carving.told_before == 2
    assert sum(facts.copies for facts in carving.searched) == 2


def test_what_cannot_be_read_is_an_error_behind_what_was_found(tmp_path: Path, order: bytes) -> None:
    damaged = tmp_path / "a.gz"
    damaged.write_bytes(gzip.compress(order + bytes(100_000))[:-12])
    found = list(carve(str(damaged), str(tmp_path / "nothing"), hashing=True))
    assert [(record.type, record.grade) for record in found] == [
        ("user_message", "whole"),
        ("error", None),
        ("error", None),
    ]
    assert "gzip" in (found[1].reason or "")
    assert "No such file" in (found[2].reason or "")


def test_the_bytes_of_a_record_are_there_while_it_is_told(tmp_path: Path, order: bytes) -> None:
    (tmp_path / "a").write_bytes(b"noise" + order)
    with CarveReader([str(tmp_path / "a")]) as carving:
        held: list[Any] = [carving.data for _ in carving]
    assert held == [order]
