"""The columnar engine: the same values, anomalies and errors as the reference, whatever the bytes."""

from __future__ import annotations

import gc
import mmap
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from msmq_wire import build_message, encode
from msmq_wire.engines import codec, columns
from msmq_wire.engines.codec import inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from msmq_wire.wire.types.guid import GUID
from tests.hex_files import hex_bytes

_FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "packets"
_STRUCTS = sorted(stem for stem, cls in STRUCTURES.items() if issubclass(cls, WireStruct))


_FIXTURES = {stem: [hex_bytes(file) for file in sorted((_FOLDER / stem).glob("*.hex"))] for stem in _STRUCTS}
# What is none of these is read where somebody says what it is.
_BY_NAME = {"message_packet", "topology_client_request", "topology_server_reply"}
_PACKETS = [data for stem in sorted(PACKETS) for data in _FIXTURES[stem]]


def _batch(packets: list[bytes], as_: str | None = None, *, judge: bool = True) -> columns.ColumnBatch:
    ends = np.cumsum([0, *map(len, packets)])
    return columns.decode(b"".join(packets), ends, as_=as_, judge=judge)


def _assert_agreement(packets: list[bytes], as_: str | None = None) -> columns.ColumnBatch:
    """Every row of a batch is what the reference engine says of its bytes alone."""
    batch = _batch(packets, as_)
    seen: list[int] = []
    for stem, table in batch.tables.items():
        for place, row in enumerate(table.rows.tolist()):
            seen.append(row)
            expected = inspect(packets[row], as_, engine="reference")
            assert (columns.UNRECOGNISED if expected.type is None else expected.type) == stem
            assert batch.types[row] == expected.type
            assert table.packet(place) == expected.packet
            assert table.consumed[place] == expected.consumed
            assert table.anomalies.get(place, ()) == expected.anomalies
            error = table.errors.get(place)
            assert (error is None) == (expected.error is None)
            if error is not None and expected.error is not None:
                assert (error.code, error.message) == (expected.error.code, expected.error.message)
                assert (error.path, error.offset) == (expected.error.path, expected.error.offset)
                assert error.spec == expected.error.spec
    assert sorted(seen) == list(range(len(packets)))
    return batch


def test_all_fixtures_in_one_batch_are_what_the_reference_says() -> None:
    batch = _assert_agreement(_PACKETS)
    assert set(batch.tables) == {*PACKETS, columns.UNRECOGNISED} - _BY_NAME


@pytest.mark.parametrize("stem", _STRUCTS)
def test_every_structure_can_be_asked_for_by_its_stem(stem: str) -> None:
    batch = _assert_agreement(_FIXTURES[stem], stem)
    assert set(batch.tables) == {stem}


@given(st.lists(st.binary(max_size=40), max_size=8))
@example([b"", b"\0", b"\0" * 24])
def test_bytes_that_are_no_packet_are_rows_of_their_own_table(packets: list[bytes]) -> None:
    _assert_agreement(packets)


@pytest.mark.slow
def test_a_wrapping_length_leaves_no_packet() -> None:
    whole = bytearray(encode(build_message(r"DIRECT=OS:h\q", b"body", label="l")))
    for at in range(0, len(whole) - 3, 2):
        lying = bytearray(whole)
        lying[at : at + 4] = b"\xff\xff\xff\xff"
        _assert_agreement([bytes(whole), bytes(lying), bytes(whole)])


def test_every_kind_of_buffer_and_places_that_do_not_touch_are_read() -> None:
    packet = encode(build_message(r"DIRECT=OS:h\q", b"body of some length"))
    data = b"x" * 5 + packet + b"yyy" + encode(Ping())
    starts, ends = [5 + len(packet) + 3, 5], [len(data), 5 + len(packet)]
    mapped = mmap.mmap(-1, len(data))
    mapped[:] = data
    for buffer in (
        data,
        bytearray(data),
        memoryview(data),
        np.frombuffer(data, np.uint8),
        pa.py_buffer(data),
    ):
        batch = columns.decode(buffer, starts=starts, ends=ends)
        assert batch.types == ("ping", "user_message")
        assert encode(batch.tables["user_message"].packet(0)) == packet
    assert columns.decode(mapped, starts=starts, ends=ends).types == ("ping", "user_message")


@pytest.mark.parametrize(
    ("starts", "ends"), [([0], [4]), ([-1], [2]), ([2], [1]), ([0, 1], [3]), ([[0]], [[1]])]
)
def test_places_outside_the_data_are_a_callers_mistake(starts: Any, ends: Any) -> None:
    with pytest.raises(ValueError, match=r"outside|starts"):
        columns.decode(b"abc", starts=starts, ends=ends)


@pytest.mark.parametrize("stem", ["", "guid", "UserMessage", "wchar_text"])
def test_a_stem_without_fields_is_a_callers_mistake(stem: str) -> None:
    with pytest.raises(ValueError, match="no structure with fields"):
        columns.decode(b"", [0], as_=stem)


def test_an_empty_batch_has_no_tables() -> None:
    batch = columns.decode(b"", [0])
    assert (len(batch), batch.types, dict(batch.tables)) == (0, (), {})


def test_without_judging_values_are_the_same_and_nothing_is_found() -> None:
    judged, plain = _batch(_PACKETS), _batch(_PACKETS, judge=False)
    assert judged.types == plain.types
    assert any(table.anomalies for table in judged.tables.values())
    for stem, table in plain.tables.items():
        assert not table.anomalies
        assert [table.packet(k) for k in range(len(table.rows))] == [
            judged.tables[stem].packet(k) for k in range(len(table.rows))
        ]


def test_columns_hold_numbers_bytes_and_places_in_the_data() -> None:
    first = build_message(
        r"DIRECT=OS:h\q", b"first body", message_id=7, transaction=TransactionHeader(tx_sequence_number=3)
    )
    host = GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
    second = build_message(f"PUBLIC={host}", b"", message_id=9)
    packets = [encode(first), encode(second)]
    data = b"".join(packets)
    table: Any = _batch(packets).tables["user_message"]
    assert table["user_header.message_id"].values.tolist() == [7, 9]
    assert table["user_header.message_id"].present.all()
    number = table["transaction_header.tx_sequence_number"]
    assert (number.values.tolist(), number.present.tolist()) == ([3, 0], [True, False])
    assert table["transaction_header"].present.tolist() == [True, False]
    assert not table["session_header.window_size"].present.any()
    body = table["message_properties_header.message_body"]
    assert body.values is None
    assert body.lengths.tolist() == [10, 0]
    assert data[body.offsets[0] :][: body.lengths[0]] == b"first body"
    queue = table["user_header.destination_queue.public_queue_identifier"]
    assert queue.present.tolist() == [False, True]
    assert queue.values[1].tobytes() == host
    with pytest.raises(KeyError):
        table["no.such_field"]


def test_columns_of_irregular_rows_stand_in_their_place() -> None:
    whole = encode(build_message(r"DIRECT=OS:h\q", b"some body", label="label", message_id=5))
    cut = whole[:-6]
    table: Any = _batch([whole, cut, whole]).tables["user_message"]
    assert table.rows.tolist() == [0, 1, 2]
    assert list(table.errors) == [1]
    assert table["user_header.message_id"].values.tolist() == [5, 5, 5]
    body = table["message_properties_header.message_body"]
    assert body.present.all()
    at = body.offsets.tolist()
    assert [at[1] - at[0], at[2] - at[1]] == [len(whole), len(cut)]
    assert body.lengths.tolist() == [9, 6, 9]
    assert table["message_properties_header.padding"].present.tolist() == [True, False, True]


@pytest.mark.slow
@pytest.mark.parametrize("stem", sorted(PACKETS))
def test_every_column_is_the_field_of_every_packet(stem: str) -> None:
    packets = _FIXTURES[stem]
    data = b"".join(packets)
    table = _batch(packets, stem).tables[stem]
    assert len(table) == len(list(table)) > 0
    for path, column in table.items():
        for place in range(len(table.rows)):
            value: Any = table.packet(place)
            for name in path.split("."):
                value = getattr(value, name, None)
            if isinstance(value, WireStruct) or value is None or not isinstance(value, int | bytes):
                continue
            assert column.present[place]
            if isinstance(value, int):
                assert column.values is not None
                assert column.values[place] == value
            else:
                assert column.offsets is not None
                assert column.lengths is not None
                assert data[column.offsets[place] :][: column.lengths[place]] == value


def test_a_list_does_not_disturb_the_rows_around_it() -> None:
    packets = [*_FIXTURES["user_message"], *[encode(UserMessage())] * 20]
    batch = _assert_agreement(packets)
    table = batch.tables["user_message"]
    assert 0 < len(table.irregular) < len(table.rows) / 2


@pytest.mark.slow
def test_the_package_loads_neither_numpy_nor_pyarrow() -> None:
    code = "import sys, msmq_wire; print(*{'numpy', 'pyarrow'} & set(sys.modules))"
    reported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert reported.stdout.strip() == ""


_CHANGES = st.tuples(st.sampled_from(_PACKETS), st.integers(0, 1 << 12), st.binary(max_size=4))


@pytest.mark.slow
@given(st.lists(_CHANGES, max_size=8))
def test_what_is_proven_is_whole_and_keeps_every_must(drawn: list[tuple[bytes, int, bytes]]) -> None:
    packets = list(_PACKETS)
    for data, at, change in drawn:
        at %= len(data)
        packets.append(data[:at] + change + data[at + len(change) :])
    found = columns.proven(b"".join(packets), np.cumsum([0, *map(len, packets)]))
    assert found
    for cls, places, _, _ in found:
        for row in places.tolist():
            result = inspect(packets[row], engine="reference")
            assert result.error is None
            assert not result.anomalies
            assert type(result.packet) is cls


def test_a_batch_is_gone_when_nobody_needs_it() -> None:
    gc.disable()
    try:
        found = columns.proven(b"".join(_PACKETS), np.cumsum([0, *map(len, _PACKETS)]))
        tops = [weakref.ref(one.top) for one in found]
        del found
        assert [top() for top in tops if top() is not None] == []
    finally:
        gc.enable()


@pytest.mark.slow
def test_the_codec_is_not_asked_what_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: Any, **__: Any) -> None:
        raise AssertionError("the codec was asked")

    monkeypatch.setattr(codec, "inspect", asked)
    packets = [data[:size] for data in _PACKETS for size in range(len(data) + 1)]
    found = columns.proven(b"".join(packets), np.cumsum([0, *map(len, packets)]))
    assert {one.cls for one in found} >= {UserMessage, Ping}
    assert columns.proven(b"", [0]) == []


def test_the_codec_is_not_asked_about_a_must_that_is_broken_for_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    message = build_message(r"DIRECT=OS:h\q", b"body", label="label")
    header = message.user_header.with_bits(rc=0x1F)
    packets = [encode(message), encode(msgspec.structs.replace(message, user_header=header)), encode(Ping())]
    packets.append(packets[1].replace(b"l\0a\0b\0", b"l\0\0\0b\0"))
    expected = [inspect(data, engine="reference").anomalies for data in packets]
    assert [len(one) for one in expected] == [0, 1, 0, 2]
    monkeypatch.setattr(codec, "inspect", None)
    batch = _batch(packets)
    found = dict(batch.tables["user_message"].anomalies)
    assert found == {1: expected[1], 2: expected[3]}
    assert not batch.tables["ping"].anomalies
