"""Briefs say what records say: the same messages, in the same order, column by column and line by line."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import build_message, encode
from msmq_wire.capture import packet_batch
from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.batches import read_batches
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.projected_rows import projected
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.table import table_of
from msmq_wire.engines.text.csv import csv_line
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.message import COLUMNS, MessageValues, message_of
from msmq_wire.records.message_lines import csv_lines, json_lines
from msmq_wire.records.projection import ProjectedRows, Projection
from msmq_wire.records.record import FoundPacket, Record
from tests.effort import in_batches
from tests.hex_files import hex_bytes

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_WRITTEN = tuple(one for one in COLUMNS if one.kind != "body")
_NAMES = [one.name for one in _WRITTEN]


def _made() -> list[bytes]:
    """What a spreadsheet, a terminal or JSON could stumble over, and one that asks for privacy."""
    labels = [
        "",
        "=1+1",
        " +1",
        "-",
        "\uff1d1",
        'a,"b"',
        "\u202e\x1b\n",
        "grün",
        "\U0001f600",
        "a" * 249,
    ]
    made = [build_message(r"DIRECT=OS:h\q", b"body", label=label) for label in labels]
    made += [
        build_message(r"PRIVATE=a1d30c5b-247e-4f45-9a31-c5d20e6f7788\0000000f", b"", delivery="recoverable"),
        build_message("PUBLIC=a1d30c5b-247e-4f45-9a31-c5d20e6f7788", b"<a/>", extension=b"{}", body_type=31),
        build_message(r"DIRECT=OS:h\q", "text".encode("utf-16-le"), body_type=31, message_class=0x4000),
    ]
    encrypted = made[-1].message_properties_header
    assert encrypted is not None
    secret = msgspec.structs.replace(encrypted, privacy_level=1)
    made.append(msgspec.structs.replace(made[-1], message_properties_header=secret))
    return [encode(one) for one in made]


_PACKETS = [hex_bytes(file) for file in sorted((_FIXTURES / "packets").glob("*/*.hex"))] + _made()


@pytest.fixture(autouse=True)
def _few_are_worth_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_batch, "_WORTH_COLUMNS", 0)


def _batch(packets: list[bytes]) -> PacketBatch:
    found: list[Any] = [Record(id=1, type="gap", reason="loss")]
    found += [
        FoundPacket(
            number,
            "a.pcap",
            data,
            tuple(range(number, number + 1 + number % 3)),
            (number % 5) * 1_234_567_890_123_456_789,
            f"192.0.2.{number % 200}:1025",
            "[2001:db8::1]:1801",
            number % 2,
            number * 10,
        )
        for number, data in enumerate(packets, start=2)
    ]
    found.append(Record(id=len(found) + 1, type="gap", reason="loss"))
    return batch_of("a.pcap", found)


def _messages(batch: PacketBatch, acknowledgments: bool) -> list[MessageValues]:
    found = (message_of(record, acknowledgments=acknowledgments) for record in batch.records())
    return [message for message in found if message is not None]


def _values(message: MessageValues) -> tuple[Any, ...]:
    return tuple(message[one.name] for one in COLUMNS)


def _assert_same(batch: PacketBatch, acknowledgments: bool = True) -> int:
    """Compare everything that a batch gives; return how many messages were told in briefs."""
    expected = _messages(batch, acknowledgments)
    projection = Projection(COLUMNS, lambda values: list(zip(*values, strict=True)), acknowledgments)
    found: list[tuple[Any, ...]] = []
    types: Counter[str] = Counter()
    last = reported = 0
    for item in projected(batch, projection):
        assert last < item.id
        last = item.id
        if isinstance(item, ProjectedRows):
            found += item.lines
            reported += len(item.lines)
            types.update(item.types)
        else:
            types[item.type] += 1
            message = message_of(item, acknowledgments=acknowledgments)
            found += [] if message is None else [_values(message)]
    assert found == [_values(message) for message in expected]
    # In the order of appearance, too.
    assert list(types.items()) == list(Counter(record.type for record in batch.records()).items())
    written = [list(column) for column in zip(*(_some(row) for row in found), strict=True)]
    if found:
        rows = [[message.json(name) for name in _NAMES] for message in expected]
        assert json_lines(_WRITTEN)(written) == [
            json_line(dict(zip(_NAMES, row, strict=True))) for row in rows
        ]
        assert csv_lines(_WRITTEN)(written) == [csv_line(row) for row in rows]
    return reported


def _some(row: tuple[Any, ...]) -> list[Any]:
    return [value for value, column in zip(row, COLUMNS, strict=True) if column.kind != "body"]


@pytest.mark.slow
def test_all_fixtures_are_told_as_their_records_are() -> None:
    batch = _batch(_PACKETS)
    assert _assert_same(batch) > _assert_same(batch, acknowledgments=False) > len(_made()) // 2
    for alone in _PACKETS:
        _assert_same(_batch([alone]))


@given(
    st.lists(st.tuples(st.sampled_from(_PACKETS), st.integers(0, 1 << 9), st.binary(max_size=4)), max_size=9)
)
def test_whatever_a_packet_holds_it_is_told_as_its_record_is(drawn: list[tuple[bytes, int, bytes]]) -> None:
    packets = []
    for data, at, change in drawn:
        at %= len(data)
        packets.append(data[:at] + change + data[at + len(change) :])
    _assert_same(_batch(packets))


@pytest.mark.slow
@in_batches(sorted((_FIXTURES / "captures").glob("*.pcap*")))
def test_a_capture_is_told_as_its_records_are(path: Path) -> None:
    for batch in read_batches(path):
        _assert_same(batch)


def test_the_reference_engine_tells_of_records_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSMQ_WIRE_ENGINE", "reference")
    assert _assert_same(_batch(_PACKETS[:3])) == 0


def test_one_empty_cell_is_a_line_of_csv() -> None:
    (label,) = (one for one in COLUMNS if one.name == "label")
    assert csv_lines([label])([["", None, "a"]]) == ['""', '""', "a"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [None, 40, 100, 200])
@pytest.mark.parametrize("color", ["always", "never"])
def test_a_table_of_briefs_is_that_of_rows(
    width: int | None, color: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width or ""))
    batch = _batch(_PACKETS * 3)
    table = table_of(COLUMNS, Screen(sys.stdout, color))
    for message in _messages(batch, True):
        table.add({key: message.json(key) for key in table.keys})
    table.finish()
    expected = capsys.readouterr().out
    table = table_of(COLUMNS, Screen(sys.stdout, color))
    known = {one.name: one for one in COLUMNS}
    projection = Projection(tuple(known[key] for key in table.keys), table.cells, True)
    for item in projected(batch, projection):
        if isinstance(item, ProjectedRows):
            table.lines(item.lines)
            continue
        found = message_of(item, acknowledgments=True)
        if found is not None:
            table.add({key: found.json(key) for key in table.keys})
    table.finish()
    assert expected == capsys.readouterr().out


def test_a_list_of_texts_is_one_in_json() -> None:
    (column,) = (one for one in COLUMNS if one.name == "seen_at")
    lines = json_lines([column])([[("a.pcap: whole", 'b "2".pcap: lost'), None]])
    assert lines == [r'{"seen_at":["a.pcap: whole","b \"2\".pcap: lost"]}', '{"seen_at":null}']
