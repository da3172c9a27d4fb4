"""The JSON of a packet read back: the same bytes, edits by hand, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import EncodeError, decode, encode, inspect, strategies
from msmq_wire.corpus import every_sample
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.packet_document import read_document
from msmq_wire.records.view import inspect_view
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import in_batches
from tests.fixture_files import HEX_FILES
from tests.hex_files import hex_bytes

Json = dict[str, Any]
_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "packets"
_SAMPLES = [one for one in every_sample("packets") if one.stem in STRUCTURES]
_DELETE = object()


def _text(data: bytes, stem: str | None = None) -> str:
    return json_line(inspect_view(inspect(data, stem)), indent=2)


def _goes_round(data: bytes, stem: str | None) -> None:
    result = inspect(data, stem)
    text = _text(data, stem)
    if result.error is not None:
        with pytest.raises(EncodeError):
            read_document(text)
        return
    document = read_document(text)
    assert document.data() == data
    assert document.packet == result.packet
    assert document.overridden == ()


@in_batches(HEX_FILES, every=1)
def test_the_json_of_a_fixture_gives_its_bytes(path: Path) -> None:
    _goes_round(hex_bytes(path), path.parent.name)


@in_batches(_SAMPLES, name="sample")
def test_the_json_of_a_sample_gives_its_bytes(sample: Any) -> None:
    _goes_round(sample.data, sample.stem)


@given(st.sampled_from(sorted(STRUCTURES)).flatmap(lambda stem: st.tuples(st.just(stem), _drawn(stem))))
def test_whatever_is_drawn_goes_through_json_and_back(drawn: tuple[str, bytes]) -> None:
    stem, data = drawn
    _goes_round(data, stem)


def _drawn(stem: str) -> st.SearchStrategy[bytes]:
    whole = (strategies.structure(stem) | strategies.edge(stem)).map(encode)
    return whole | strategies.mutated(stem) if stem not in ("guid", "xactuow", "wchar_text") else whole


@pytest.mark.parametrize(
    "name",
    [WcharText(b"a\0\0\xd8\0\0"), WcharText(b"a\0"), WcharText(b"\0\0"), WcharText(b""), WcharText(b"a")],
)
def test_what_a_queue_name_does_not_show_stands_beside_it(name: WcharText) -> None:
    size = -(len(name) + 2) & 3
    queue = DirectQueueFormatName(count=len(name), direct_format_name=name, padding=b"\7" * size)
    header = UserHeader(flags=0x201C00, destination_queue=queue)
    _goes_round(encode(header), "user_header")
    if name[-2:] == b"\0\0" and len(name) > 2:
        element = MQFFormatNameElement(format_name=MQFDirectQueueFormatName(direct_format_name=name))
        _goes_round(encode(element), "mqf_format_name_element")


@pytest.mark.parametrize("data", ["", "00", "0000", "61000000", "6100", "00d80000"])
def test_a_text_alone_gives_its_bytes(data: str) -> None:
    _goes_round(bytes.fromhex(data), "wchar_text")


def _edited(name: str, changes: dict[str, Any], **packet: Any) -> Json:
    stem = name.partition("/")[0]
    document: Json = json.loads(_text(hex_bytes(_FIXTURES / f"{name}.hex"), stem))
    for path, value in changes.items():
        *above, last = path.split(".")
        found: Any = document["packet"]
        for key in above:
            found = found[int(key)] if isinstance(found, list) else found[key]
        if value is _DELETE:
            del found[last]
        else:
            found[last] = value
    return document


# A packet, its edits, and its bytes where they differ then: offset and hex text, counted by hand.
_DIRECT = "user_message/direct_destination"
_PROPERTIES = "message_properties_header"
_DESTINATION = "user_header.destination_queue"
_SID = "user_message/security_sid"
_OVERLAY = "message_packet/overlay_ipv4_dirty_rest"
_EDITS: list[tuple[str, dict[str, Any], dict[int, str]]] = [
    (_DIRECT, {"base_header.time_to_reach_queue": 60}, {12: "3c000000"}),
    (_DIRECT, {"base_header.flags": 5}, {2: "0500"}),
    (_DIRECT, {"user_header.flags.raw": _DELETE, "user_header.flags.jn": True}, {60: "001d2000"}),
    (_DIRECT, {"user_header.flags": {"raw": 0x201D00}}, {60: "001d2000"}),
    (
        _DIRECT,
        {"user_header.source_queue_manager": "00112233-4455-6677-8899-AABBCCDDEEFF"},
        {16: "33221100554477668899aabbccddeeff"},
    ),
    (_DIRECT, {"user_header.sent_time": 1}, {52: "01000000"}),
    (_DIRECT, {"user_header.destination_queue.format_name": "DIRECT=TCP:192.0.2.9\\private$\\q"}, {90: "39"}),
    (_DIRECT, {"message_properties_header.label": "other"}, {172: "6f0074006800650072000000"}),
    (_DIRECT, {"message_properties_header.label": "oth\ud800r"}, {172: "6f007400680000d872000000"}),
    (_DIRECT, {"message_properties_header.label_raw": "YQBiAGMAZABlAGYA"}, {172: "610062006300640065006600"}),
    (_DIRECT, {"message_properties_header.message_body": "QUJDREVGRw=="}, {184: "41424344454647"}),
    (_DIRECT, {"message_properties_header.padding": "AA=="}, {191: "00"}),
    (_SID, {"security_header.security_data.security_id": "S-1-5-19"}, {104: "13000000"}),
    (_SID, {"security_header.security_data.security_id": "AQEAAAAAAAUUAAAA"}, {104: "14000000"}),
    (
        _SID,
        {"user_header.destination_queue.format_name": "PUBLIC=00112233-4455-6677-8899-aabbccddeeff"},
        {64: "33221100554477668899aabbccddeeff"},
    ),
    (
        _OVERLAY,
        {
            "user_header.queue_manager_address.address": "192.0.2.8",
            "user_header.queue_manager_address.address_raw": _DELETE,
        },
        {40: "c000020800000000"},
    ),
    (_OVERLAY, {"user_header.response_queue_raw": "BgAAAA=="}, {80: "06000000"}),
    ("ping/frame_1_request", {"cookie": 5}, {4: "05000000"}),
    ("ping/frame_1_request", {"flags.raw": _DELETE, "flags.rc": False}, {0: "007d"}),
    (
        "multi_queue_format_header/four_kinds",
        {"destination.format_name_list.1.format_name": "PUBLIC=00112233-4455-6677-8899-aabbccddeeff"},
        {32: "33221100554477668899aabbccddeeff"},
    ),
    (
        "multi_queue_format_header/four_kinds",
        {"destination.format_name_list.0.format_name": "DIRECT=OS:h\\r"},
        {24: "72"},
    ),
    (
        "order_ack/private_queue_four",
        {
            "message_properties_header.message_body": _DELETE,
            "order_ack_body.tx_sequence_number": 3,
            "order_ack_body.tx_previous_sequence_number": 2,
        },
        {164: "0300000002000000"},
    ),
    ("session_header/plain", {"window_size": 65}, {12: "4100"}),
]


@pytest.mark.parametrize(("name", "changes", "expected"), _EDITS)
def test_an_edit_changes_its_own_bytes(name: str, changes: dict[str, Any], expected: dict[int, str]) -> None:
    data = bytearray(hex_bytes(_FIXTURES / f"{name}.hex"))
    for offset, written in expected.items():
        piece = bytes.fromhex(written)
        data[offset : offset + len(piece)] = piece
    assert read_document(json.dumps(_edited(name, changes))).data().hex() == data.hex()


def _spliced(name: str, *pieces: tuple[int, int] | str) -> bytes:
    data = hex_bytes(_FIXTURES / f"{name}.hex")
    return b"".join(bytes.fromhex(one) if isinstance(one, str) else data[one[0] : one[1]] for one in pieces)


_FITTED: list[tuple[str, dict[str, Any], tuple[tuple[int, int] | str, ...]]] = [
    # LabelLength 2, PacketSize 184.
    (
        _DIRECT,
        {"message_properties_header.label": "x"},
        ((0, 8), "b8000000", (12, 117), "02", (118, 172), "78000000", (184, 192)),
    ),
    # MessageSize and AllocationBodySize 8; the body ends on a boundary.
    (
        _DIRECT,
        {"message_properties_header.message_body": "QUJDREVGR0g="},
        ((0, 148), "0800000008000000", (156, 184), "4142434445464748"),
    ),
    # DQ 5, PacketSize 156.
    (
        _DIRECT,
        {
            "user_header.destination_queue": {
                "type": 5, "format_name": "PUBLIC=00112233-4455-6677-8899-aabbccddeeff",
            }
        },
        ((0, 8), "9c000000", (12, 60), "00142000", "33221100554477668899aabbccddeeff", (116, 192)),
    ),
    # SH cleared in the UserHeader, PacketSize 168 - 28.
    (_SID, {"security_header": None}, ((0, 8), "8c000000", (12, 60), "00142000", (64, 80), (108, 168))),
    # SenderIdSize 16, PacketSize 172: a second sub-authority.
    (
        _SID,
        {"security_header.security_data.security_id": "S-1-5-18-1"},
        (
            (0, 8), "ac000000", (12, 82), "1000", (84, 96), "0102000000000005", (104, 108),
            "01000000", (108, 168),
        ),
    ),
    # SH cleared in the BaseHeader; what follows the packet stays.
    ("user_message/session_header", {"session_header": None}, ((0, 2), "0300", (4, 140), (156, 160))),
    # RQ 0: the response queue was the administration queue.
    (
        "user_message/admin_on_source_response_same",
        {"user_header.response_queue": None},
        ((0, 60), "00542000", (64, 144)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "pieces"), _FITTED)
def test_sizes_counts_and_bits_follow_where_it_is_asked_for(
    name: str, changes: dict[str, Any], pieces: tuple[tuple[int, int] | str, ...]
) -> None:
    text = json.dumps(_edited(name, changes))
    assert read_document(text, fitted=True).data().hex() == _spliced(name, *pieces).hex()
    with pytest.raises(EncodeError):
        read_document(text).data()


@in_batches([path for path in HEX_FILES if path.parent.name == "user_message"], every=1)
def test_a_packet_that_is_right_is_fitted_to_itself(path: Path) -> None:
    data = hex_bytes(path)
    result = inspect(data, "user_message")
    if result.error is None and not result.anomalies:
        assert read_document(_text(data, "user_message"), fitted=True).data() == data


# A packet, its edits, and what is said: at which path, and in what words.
_REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    (_DIRECT, {f"{_PROPERTIES}.labell": "x"}, "message_properties_header", "did you mean 'label'?"),
    (_DIRECT, {"user_headr": {}}, "", "did you mean 'user_header'?"),
    (_DIRECT, {"user_header.sent_time": _DELETE}, "user_header.sent_time", "missing: null says"),
    (_DIRECT, {"user_header.sent_time": 1 << 32}, "user_header.sent_time", "is not in 0 to 4294967295"),
    (_DIRECT, {"user_header.sent_time": -1}, "user_header.sent_time", "-1 is not in 0 to 4294967295"),
    (_DIRECT, {"user_header.sent_time": True}, "user_header.sent_time", "true or false where a number"),
    (_DIRECT, {"user_header.sent_time": "1"}, "user_header.sent_time", "a text where a number belongs"),
    (_DIRECT, {"user_header.sent_time": None}, "user_header.sent_time", "null where a number belongs"),
    (_DIRECT, {"user_header.flags.jn": True}, "user_header.flags.jn", "true contradicts raw 2104320"),
    (_DIRECT, {"user_header.flags.dq": 8}, "user_header.flags.dq", "8 is not in 0 to 7"),
    (_DIRECT, {"user_header.flags": {"dq": 7}}, "user_header.flags.rc", "without raw all bits are needed"),
    (_DIRECT, {"user_header.flags.jm": True}, "user_header.flags", "no key here is called 'jm'"),
    (_DIRECT, {"user_header": []}, "user_header", "a list where an object belongs"),
    (_DIRECT, {"user_header.source_queue_manager": "x"}, "user_header.source_queue_manager", "no GUID"),
    (_DIRECT, {"user_header.source_queue_manager": 1}, "user_header.source_queue_manager", "the number 1"),
    (_DIRECT, {f"{_PROPERTIES}.label": 3}, f"{_PROPERTIES}.label", "where a text belongs"),
    (_DIRECT, {"message_properties_header.padding": "%"}, "message_properties_header.padding", "no base64"),
    (_DIRECT, {f"{_PROPERTIES}.padding": "QR=="}, f"{_PROPERTIES}.padding", "no base64"),
    (_DIRECT, {"message_properties_header.padding": "ü"}, "message_properties_header.padding", "no base64"),
    (
        _DIRECT,
        {"message_properties_header.label": "x"},
        "message_properties_header.label",
        "4 bytes where the length field says 12",
    ),
    (_DIRECT, {_DESTINATION: None}, _DESTINATION, "null contradicts flags.dq"),
    (
        _DIRECT,
        {"user_header.destination_queue": {"type": 9, "format_name": "DIRECT=OS:h\\q"}},
        "user_header.destination_queue.type",
        "9 is not in 1 to 7",
    ),
    (
        _DIRECT,
        {"user_header.destination_queue.format_name": "OS:h\\q"},
        "user_header.destination_queue.format_name",
        "OS:h",
    ),
    (
        _DIRECT,
        {"user_header.destination_queue.format_name": "DL=00112233-4455-6677-8899-aabbccddeeff"},
        "user_header.destination_queue.format_name",
        "a queue of type 7 has no DL name",
    ),
    (
        "user_message/private_destination",
        {f"{_DESTINATION}.format_name": "PRIVATE=00112233-4455-6677-8899-aabbccddeeff\\0000001f"},
        "user_header.destination_queue.format_name",
        "set the type to 6 for another host",
    ),
    (
        _SID,
        {"security_header.security_data.security_id": "S-1-5-99999999999"},
        "security_header.security_data.security_id",
        "no text of type 1",
    ),
    (
        "order_ack/private_queue_four",
        {"order_ack_body.tx_sequence_number": 3},
        "order_ack_body",
        "remove the one that you did not edit",
    ),
    (
        _OVERLAY,
        {"user_header.queue_manager_address.address_raw": _DELETE,
         "user_header.queue_manager_address.address": "2001:db8::1"},
        "user_header.queue_manager_address.address",
        "no text of type 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "path", "words"), _REFUSED)
def test_what_is_wrong_is_said_with_its_path(
    name: str, changes: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(EncodeError) as raised:
        read_document(json.dumps(_edited(name, changes))).data()
    assert raised.value.path == path
    assert words in raised.value.message
    assert len(str(raised.value)) < 220


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"type": "user_mesage"}, "did you mean 'user_message'?"),
        ({"type": None}, "there is no packet to encode"),
        ({"type": 7}, "no structure is called 7"),
        ({"packet": None}, "there is no packet to encode"),
        ({"schema_version": 2}, "2 where 1 is known"),
        ({"error": {"code": "missing-bytes"}}, "set error to null"),
        ({"id": 1, "frames": [1]}, "this is a row of decode"),
        ({"extra": 1}, "no key here is called 'extra'"),
        ({"remainder": 7}, "the number 7 where base64 belongs"),
        ({"packet_raw": ""}, "only a text has it"),
    ],
)
def test_a_document_that_is_none_is_refused(changes: Json, words: str) -> None:
    with pytest.raises(EncodeError, match=words.replace("?", r"\?")):
        read_document(json.dumps(_edited(_DIRECT, {}) | changes))


def test_type_and_packet_are_enough_and_a_remainder_follows() -> None:
    document = _edited("ping/frame_1_request", {})
    ping = hex_bytes(_FIXTURES / "ping" / "frame_1_request.hex")
    assert read_document(json.dumps({"type": "ping", "packet": document["packet"]})).data() == ping
    assert read_document(json.dumps(document | {"remainder": "AQID"})).data() == ping + b"\1\2\3"


def test_bytes_win_over_a_text_that_says_something_else_and_that_is_told() -> None:
    name = "user_message/label_with_lone_surrogate"
    data = hex_bytes(_FIXTURES / f"{name}.hex")
    document = read_document(json.dumps(_edited(name, {"message_properties_header.label": "edited"})))
    assert document.data() == data
    assert document.overridden == ("message_properties_header.label",)


def test_a_document_of_powershell_is_read() -> None:
    ping = hex_bytes(_FIXTURES / "ping" / "frame_1_request.hex")
    for encoding in ("utf-16", "utf-8-sig", "utf-16-le"):
        assert read_document(_text(ping).encode(encoding)).data() == ping


def test_what_was_decoded_is_what_is_read() -> None:
    data = hex_bytes(_FIXTURES / "user_message" / "everything.hex")
    assert read_document(_text(data)).packet == decode(data)
