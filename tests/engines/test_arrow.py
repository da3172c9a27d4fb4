"""Arrow record batches: the JSON view's names and texts, bytes as views of the data."""

from __future__ import annotations

import base64
import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire import build_message, encode, strategies
from msmq_wire.engines import arrow, columns
from msmq_wire.engines.codec import inspect
from msmq_wire.engines.fit import fit
from msmq_wire.records.view import inspect_view
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import QUEUES
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import PACKETS, STRUCTURES
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples
from tests.hex_files import hex_bytes
from tests.list_packets import changed_lists, to_queues

_FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "packets"
_STRUCTS = sorted(stem for stem, cls in STRUCTURES.items() if issubclass(cls, WireStruct))


_FIXTURES = {stem: [hex_bytes(file) for file in sorted((_FOLDER / stem).glob("*.hex"))] for stem in _STRUCTS}
# What is none of these is read where somebody says what it is.
_BY_NAME = {"message_packet", "topology_client_request", "topology_server_reply"}
_PACKETS = [data for stem in sorted(PACKETS) for data in _FIXTURES[stem]]


def _tables(packets: list[bytes], as_: str | None = None) -> dict[str, pa.RecordBatch]:
    ends = np.cumsum([0, *map(len, packets)])
    found = dict(arrow.record_batches(columns.decode(b"".join(packets), ends, as_=as_)))
    for stem, batch in found.items():
        batch.validate(full=True)
        assert batch.schema.equals(arrow.schema(stem), check_metadata=True)
    return found


def _same_bytes(shown: bytes | None, viewed: str | None) -> bool:
    return (None if shown is None else base64.b64encode(shown).decode()) == viewed


def _assert_viewed(shown: dict[str, Any] | None, viewed: dict[str, Any] | None, path: str = "") -> None:
    """The cells of a structure are those of its JSON view; what the view leaves out is null."""
    if shown is None or viewed is None:
        assert viewed is None or all(value is None for value in viewed.values()), path
        assert shown is None or all(value is None for value in shown.values()), path
        return
    left = dict(viewed)
    overlay = left.get("queue_manager_address")
    if "address_overlay" in shown and isinstance(overlay, dict):
        left["address_overlay"] = left.pop("queue_manager_address")
    for name, value in shown.items():
        at = f"{path}.{name}"
        other = left.pop(name, None)
        if isinstance(other, dict) and "raw" in other:
            assert value == other["raw"], at
        elif isinstance(other, dict) and "format_name" in other and isinstance(value, dict):
            same_as = other.pop("same_as", None)
            assert value == other, at
            assert same_as is None or value["type"] == 1, at
        elif isinstance(other, dict) or isinstance(value, dict):
            _assert_viewed(value, other, at)
        elif isinstance(other, list):
            assert len(value or ()) == len(other), at
            for one, two in zip(value or (), other, strict=True):
                if isinstance(two, dict):
                    _assert_viewed(one, two, at)
                else:
                    assert one == two, at
        elif isinstance(value, bytes):
            if name.endswith("_raw") and name not in viewed:
                # Bytes that no text shows: the view has them in the place of the text.
                assert _same_bytes(value, viewed[name.removesuffix("_raw")]), at
            else:
                assert _same_bytes(value, other), at
        elif value is None and isinstance(other, str):
            assert other == "" or shown.get(f"{name}_raw") is not None, at
        else:
            assert value == other, at
    # The bytes of a queue name are in the JSON view alone: they make it go back to bytes.
    names = {f"{name}_raw" for name in (*QUEUES, "format_name")}
    assert not left.keys() - names, f"{path}: {sorted(left)} are not shown"


def _assert_agreement(packets: list[bytes], as_: str | None = None) -> dict[str, pa.RecordBatch]:
    tables = _tables(packets, as_)
    seen = []
    for stem, batch in tables.items():
        for row in batch.to_pylist():
            number = row.pop("row")
            seen.append(number)
            result = inspect(packets[number], as_, engine="reference")
            viewed = inspect_view(result)
            assert (result.type or columns.UNRECOGNISED) == stem
            assert row.pop("consumed") == viewed["consumed"]
            assert row.pop("remainder") == result.remainder
            assert row.pop("anomalies") == viewed["anomalies"]
            assert row.pop("error") == viewed["error"]
            _assert_viewed(row, viewed["packet"])
    assert sorted(seen) == list(range(len(packets)))
    return tables


@pytest.mark.slow
def test_all_fixtures_in_one_batch_are_their_json_views() -> None:
    tables = _assert_agreement(_PACKETS)
    assert set(tables) == {*PACKETS, columns.UNRECOGNISED} - _BY_NAME


@pytest.mark.parametrize("stem", _STRUCTS)
def test_every_structure_is_its_json_view(stem: str) -> None:
    _assert_agreement(_FIXTURES[stem], stem)


@pytest.mark.slow
@pytest.mark.parametrize("stem", sorted(PACKETS))
def test_cut_packets_show_what_was_decoded(stem: str) -> None:
    small = [data for data in _FIXTURES[stem] if len(data) < 1500][:8]
    _assert_agreement([data[:size] for data in small for size in range(0, len(data), 11)], stem)


# Once for every packet type, so each takes a share of the examples.
@pytest.mark.slow
@settings(max_examples=max(examples(20), settings().max_examples // len(PACKETS)))
@pytest.mark.parametrize("stem", sorted(PACKETS))
@given(data=st.data())
def test_mutated_packets_are_their_json_views(stem: str, data: st.DataObject) -> None:
    packets = data.draw(st.lists(strategies.mutated(stem) | st.sampled_from(_PACKETS), max_size=6))
    _assert_agreement(packets, stem if stem == "message_packet" else None)


@pytest.mark.slow
@given(st.lists(changed_lists(), min_size=1, max_size=6))
def test_messages_to_many_queues_are_their_json_views(packets: list[bytes]) -> None:
    _assert_agreement(packets)


def test_the_names_of_a_list_are_format_names() -> None:
    tables = _tables([to_queues(1, 2), encode(UserMessage()), to_queues(), to_queues(3, answers=5)])
    headers = tables["user_message"].column("multi_queue_format_header").to_pylist()
    names = [
        None if header is None else [one["format_name"] for one in header["destination"]["format_name_list"]]
        for header in headers
    ]
    host = GUID((2).to_bytes(16, "little"))
    assert names == [
        [r"DIRECT=OS:server01\private$\queue", rf"PRIVATE={host}\00000002"],
        None,
        [],
        [r"DIRECT=OS:server03\private$\queuequeuequeue"],
    ]
    assert headers[0]["response"] is None
    assert [one["format_type"] for one in headers[3]["response"]["format_name_list"]] == [3]


_TEXTS = st.lists(
    st.text(st.characters(codec="utf-8"), max_size=20).map(WcharText.of)
    | st.binary(max_size=12).map(WcharText)
    | st.sampled_from(
        [
            WcharText(),
            WcharText(b"\0\0"),
            WcharText(b"\x00\xd8"),
            WcharText(b"\x00\xdc\0\0"),
            WcharText(b"a\0\0\xd8\0\0"),
            WcharText.of("\N{GRINNING FACE}"),
            WcharText(b"a\0b\0"),
        ]
    ),
    max_size=12,
)


@pytest.mark.slow
@given(_TEXTS)
def test_labels_are_texts_whatever_their_units_are(labels: list[WcharText]) -> None:
    properties = [
        MessagePropertiesHeader(label=text, label_length=len(text) // 2)
        for text in labels
        if len(text) % 2 == 0
    ]
    packets = [encode(fit(UserMessage(message_properties_header=header))) for header in properties]
    tables = _tables(packets)
    shown = tables["user_message"].to_pylist() if packets else []
    for row, header in zip(shown, properties, strict=True):
        cells = row["message_properties_header"]
        assert cells["label"] == header.label.text
        assert cells["label_raw"] == (None if header.label.exact else bytes(header.label))


def test_few_texts_in_many_rows_are_the_same_as_many_texts() -> None:
    packets = [encode(build_message(r"DIRECT=OS:h\q", label="é" * (k % 3))) for k in range(60)]
    shown = _tables(packets)["user_message"].column("message_properties_header").to_pylist()
    assert [row["label"] for row in shown] == ["é" * (k % 3) for k in range(60)]
    assert {row["label_raw"] for row in shown} == {None}


def test_queue_names_take_their_hosts_from_the_header() -> None:
    host = GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
    other = GUID.parse("00000000-0000-0000-0000-000000000001")
    packets = [
        build_message(rf"PRIVATE={host}\0000000f", source_queue_manager=other),
        build_message(
            r"DIRECT=OS:h\q",
            source_queue_manager=host,
            admin_queue=rf"PRIVATE={host}\00000001",
            response_queue=rf"PRIVATE={host}\00000001",
            acknowledge=("pa",),
        ),
        build_message(f"PUBLIC={host}", queue_manager_address=other),
    ]
    shown = _tables([encode(packet) for packet in packets])["user_message"].column("user_header").to_pylist()
    assert shown[0]["destination_queue"] == {"type": 3, "format_name": rf"PRIVATE={host}\0000000f"}
    assert shown[1]["destination_queue"] == {"type": 7, "format_name": r"DIRECT=OS:h\q"}
    assert shown[1]["admin_queue"] == {"type": 2, "format_name": rf"PRIVATE={host}\00000001"}
    assert shown[1]["response_queue"] == {"type": 1, "format_name": rf"PRIVATE={host}\00000001"}
    assert shown[2]["destination_queue"] == {"type": 5, "format_name": f"PUBLIC={host}"}
    assert shown[0]["admin_queue"] is None
    assert shown[0]["source_queue_manager"] == str(other)


def test_bodies_are_views_of_the_data() -> None:
    packets = [encode(build_message(r"DIRECT=OS:h\q", bytes([65 + k]) * 1000)) for k in range(3)]
    data = np.frombuffer(b"".join(packets), np.uint8)
    batch = columns.decode(pa.py_buffer(data), np.cumsum([0, *map(len, packets)]))
    properties = arrow.record_batches(batch)["user_message"].column("message_properties_header")
    body = properties.field("message_body")
    buffers = body.buffers()
    assert buffers[2].address == data.ctypes.data
    assert [value.as_py() for value in body] == [bytes([65 + k]) * 1000 for k in range(3)]


def test_bodies_next_to_an_irregular_row_are_still_views_of_the_data() -> None:
    packet = encode(build_message(r"DIRECT=OS:h\q", b"b" * 1000))
    data = np.frombuffer(packet + packet[:-8], np.uint8)
    batch = columns.decode(data, [0, len(packet), len(data)])
    properties = arrow.record_batches(batch)["user_message"].column("message_properties_header")
    body = properties.field("message_body")
    assert body.buffers()[2].address == data.ctypes.data
    assert [len(value.as_py()) for value in body] == [1000, 992]


def test_numbers_fit_signed_types_and_every_bit_survives() -> None:
    packet = bytearray(encode(UserMessage()))
    packet[12:16] = packet[36 + 16 : 40 + 16] = b"\xff\xff\xff\xff"
    row = _tables([bytes(packet)])["user_message"].to_pylist()[0]
    assert row["base_header"]["time_to_reach_queue"] == 0xFFFFFFFF
    header = arrow.schema("user_message").field("base_header").type
    assert [header.field(name).type for name in ("version_number", "flags", "packet_size")] == [
        pa.int32(),
        pa.int32(),
        pa.int64(),
    ]


@pytest.mark.parametrize("stem", _STRUCTS)
def test_every_field_has_a_specification_and_what_its_declaration_says(stem: str) -> None:
    schema = arrow.schema(stem)
    assert schema.names[0] == "row"
    assert schema.names[-4:] == ["anomalies", "consumed", "remainder", "error"]
    assert schema.metadata[b"type"] == stem.encode()
    for field in list(schema)[1:-4]:
        assert field.nullable
        assert field.metadata[b"spec"].startswith(b"[MS-")
        assert field.metadata[b"doc"]


def test_the_schema_names_bits_enumerations_and_units() -> None:
    base = arrow.schema("user_message").field("base_header").type
    bits = json.loads(base.field("flags").metadata[b"bits"])
    assert bits[:2] == [{"name": "pr", "shift": 0, "width": 3}, {"name": "in", "shift": 3, "width": 1}]
    assert base.field("time_to_reach_queue").metadata[b"unit"] == b"seconds"
    properties = arrow.schema("user_message").field("message_properties_header").type
    assert properties.field("message_class").metadata[b"enumeration"] == b"MessageClass"
    names = ("label", "label_raw", "message_body", "correlation_id")
    assert [properties.field(name).type for name in names] == [
        pa.string(),
        pa.binary_view(),
        pa.binary_view(),
        pa.binary(20),
    ]
    address = arrow.schema("message_packet").field("user_header").type
    assert pa.types.is_struct(address.field("address_overlay").type)
    assert "address_overlay" not in [f.name for f in arrow.schema("user_message").field("user_header").type]


def test_a_stem_without_fields_has_no_schema() -> None:
    for stem in ("guid", "UserMessage", ""):
        with pytest.raises(ValueError, match="no structure with fields"):
            arrow.schema(stem)


def test_packets_that_lie_too_far_apart_for_one_buffer_are_refused() -> None:
    packet = encode(build_message(r"DIRECT=OS:h\q", b"b" * 100, label="label"))
    data = mmap.mmap(-1, (1 << 31) + 4096)
    data[: len(packet)] = packet
    data[-len(packet) :] = packet
    places = [0, len(data) - len(packet)]
    near = columns.decode(data, starts=places[1:], ends=[len(data)])
    row = arrow.record_batches(near)["user_message"].to_pylist()[0]
    assert row["message_properties_header"]["message_body"] == b"b" * 100
    assert row["message_properties_header"]["label"] == "label"
    far = columns.decode(data, starts=places, ends=[place + len(packet) for place in places])
    assert [far.tables["user_message"].packet(k) for k in (0, 1)] == [
        near.tables["user_message"].packet(0)
    ] * 2
    with pytest.raises(ValueError, match="2 GiB"):
        arrow.record_batches(far)
