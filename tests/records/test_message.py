"""The columns of messages: the value of each in every carrier, and what is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire import build_message, encode, inspect
from msmq_wire.records.message import COLUMNS, ROW, message_of, message_view
from msmq_wire.records.message_values import delivery_of
from msmq_wire.records.record import Record
from msmq_wire.records.registered_queues import QueueNames, RegisteredQueue, naming_queues
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.srmp.envelope import parse_envelope
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.mime import parse_multipart
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_SRMP = Path(__file__).resolve().parents[2] / "fixtures" / "srmp"
_SENDER = GUID.parse("a1d30c5b-247e-4f45-9a31-c5d20e6f7788")
_QUEUE = "DIRECT=OS:msg01\\private$\\orders"
_POSTED = "DIRECT=http://machine2/msmq/private$/simpleQ"
_PLACE: dict[str, Any] = {
    "id": 9,
    "parent": 4,
    "capture": "a.pcap",
    "frames": (3, 5),
    "time": 1_700_000_000_500_000_000,
    "src": "192.0.2.1:1025",
    "dst": "[2001:db8::1]:1801",
}

_KEYS = (
    *("id", "parent", "time", "src", "dst", "queue", "label", "message_class", "priority", "delivery"),
    *("sent_time", "message_id", "body_type", "body_size", "via", "frames"),
)
"""The keys that were promised; others come behind them."""


_SENT = [
    f"{time}.000000000Z" for time in ("2023-11-14T22:13:20", "2023-11-14T22:13:21", "2007-07-19T03:11:40")
]


def _same(name: str, value: Any) -> tuple[str, Any, Any, Any]:
    return name, value, value, value


VALUES: list[tuple[str, Any, Any, Any]] = [
    _same("id", 9),
    _same("parent", 4),
    _same("time", "2023-11-14T22:13:20.500000000Z"),
    _same("src", "192.0.2.1:1025"),
    _same("dst", "[2001:db8::1]:1801"),
    ("queue", _QUEUE, _QUEUE, _POSTED),
    ("label", "order 17", "order 18", "order 19"),
    ("message_class", 1, 2, 0),
    ("priority", 5, 6, 3),
    ("delivery", "recoverable", "transactional", "express"),
    ("sent_time", 1_700_000_000, 1_700_000_001, 1_184_814_700),
    ("message_id", f"{_SENDER}\\7", f"{_SENDER}\\5", "caf195ea-615c-4264-ae08-11a4e60194c0\\20503"),
    ("body_type", 8, 31, 0),
    ("body_size", 3, 400, 5),
    ("via", "rpc", "rpc", "http"),
    _same("frames", [3, 5]),
    _same("capture", "a.pcap"),
    ("sent_at", _SENT[0], _SENT[1], _SENT[2]),
    ("message_class_name", "MQMSG_CLASS_REPORT", "MQMSG_CLASS_ACK_REACH_QUEUE", "MQMSG_CLASS_NORMAL"),
    ("body_type_name", "VT_BSTR", "VT_LPWSTR", "VT_EMPTY"),
    ("how", "read", "peeked", "sent"),
    ("cut", None, None, None),
    _same("src_ip", "192.0.2.1"),
    _same("src_port", 1025),
    _same("dst_ip", "2001:db8::1"),
    _same("dst_port", 1801),
    _same("community_id", None),
]
"""The columns of a row with their values in a packet, in a transfer buffer and over HTTP."""


def _packet() -> Record:
    packet = build_message(
        _QUEUE,
        b"abc",
        label="order 17",
        message_class=1,
        priority=5,
        delivery="recoverable",
        sent_time=1_700_000_000,
        source_queue_manager=_SENDER,
        message_id=7,
        body_type=8,
    )
    return Record(type="user_message", packet=packet, **_PLACE)


def _buffer() -> Record:
    properties = MessageProperties(
        destination_queue_format_name=_QUEUE,
        label=WcharText.of("order 18"),
        message_class=2,
        priority=6,
        first_in_transaction=True,
        delivery_guarantee=0,
        sent_time=1_700_000_001,
        identifier=ObjectId(lineage=_SENDER, uniquifier=5),
        body_type=31,
        body=b"ab",
        body_length=400,
    )
    return Record(
        type="transfer_buffer",
        packet=TransferBuffer(queue="DIRECT=OS:x\\y", properties=properties),
        how="peeked",
        **_PLACE,
    )


def _posted(**changed: Any) -> Record:
    http, _ = parse_message((_SRMP / "msmq_element.http").read_bytes())
    assert http is not None
    root = parse_multipart(http.header("content-type") or "", http.body).root
    assert root is not None
    packet = SrmpMessage(
        kind="message",
        queue=_POSTED,
        label="order 19",
        message_id="caf195ea-615c-4264-ae08-11a4e60194c0\\20503",
        method=http.method,
        target=http.target,
        http_version=http.http_version,
        headers=(),
        envelope=parse_envelope(root.data).value,
        body=b"<a/>\n",
        extension=None,
        parts=(),
    )
    packet = msgspec.structs.replace(packet, **changed)
    return Record(type="srmp_message", packet=packet, **_PLACE)


def test_every_column_has_its_value_whatever_brought_the_message() -> None:
    assert [one.name for one in ROW] == [name for name, *_ in VALUES]
    for place, record in enumerate((_packet(), _buffer(), _posted())):
        message = message_of(record, inside=True)
        assert message is not None
        assert message.row() == {name: values[place] for name, *values in VALUES}


def test_a_message_over_http_inside_a_packet_is_no_row_of_its_own() -> None:
    assert message_view(_posted()) is None
    alone = msgspec.structs.replace(_posted(), parent=None)
    assert message_view(alone) is not None
    receipt = msgspec.structs.replace(alone, type="srmp_receipt")
    assert message_view(receipt) is None
    assert message_view(receipt, acknowledgments=True) is not None


def test_what_a_carrier_does_not_convey_is_null() -> None:
    packet = TransferBuffer(properties=MessageProperties(), queue=None)
    row = message_view(Record(id=1, type="transfer_buffer", packet=packet))
    assert row is not None
    assert {name for name in _KEYS if row[name] is not None} == {"id", "via", "frames"}
    posted = msgspec.structs.replace(_posted(envelope=None, queue=None, label=None, body=None), parent=None)
    row = message_view(posted)
    assert row is not None
    assert {name for name in _KEYS if row[name] is None} == {
        *("parent", "queue", "label", "message_class", "priority", "delivery", "sent_time"),
        *("body_type", "body_size"),
    }


@pytest.mark.parametrize(
    ("length", "known"),
    [
        (20, ("priority",)),
        (64, ("priority", "sent_time", "message_id", "delivery")),
    ],
)
def test_what_was_not_reached_is_null(length: int, known: tuple[str, ...]) -> None:
    result = inspect(encode(_packet().packet)[:length], as_="user_message")
    row = message_view(Record(id=1, type="user_message", packet=result.packet, error=result.error))
    assert row is not None
    assert {name for name in _KEYS if row[name] is not None} == {"id", "via", "frames", *known}


def test_half_a_name_is_no_name() -> None:
    data = encode(_packet().packet)
    seen: dict[str, set[Any]] = {"queue": set(), "label": set()}
    for length in range(len(data)):
        result = inspect(data[:length], as_="user_message")
        row = message_view(Record(id=1, type="user_message", packet=result.packet, error=result.error))
        assert row is not None
        for name, values in seen.items():
            values.add(row[name])
    assert seen == {"queue": {None, _QUEUE}, "label": {None, "order 17"}}


def test_what_is_no_message_is_none() -> None:
    assert message_of(Record(id=1, type="gap")) is None
    call = RpcCall(interface="qmcomm", opnum=7, method="R_QMDeleteObject", syntax="ndr")
    assert message_of(Record(id=1, type="rpc_call", packet=call), acknowledgments=True) is None


def test_a_column_that_is_a_field_has_the_names_and_the_unit_of_that_field() -> None:
    reported = {one.name: (one.names and one.names.__name__, one.unit) for one in COLUMNS if one.path}
    assert (
        reported.items()
        >= {
            "message_class": ("MessageClass", ""),
            "priority": (None, ""),
            "sent_time": (None, "unix-time"),
            "body_type": ("BodyType", ""),
        }.items()
    )


def test_a_delivery_mode_that_is_not_defined_is_not_express() -> None:
    user = _packet().packet.user_header
    reported = [delivery_of(user.with_bits(dm=mode).flags) for mode in range(4)]
    assert reported == ["express", "recoverable", "recoverable", "recoverable"]


_SENT_ON = (
    "<MESSAGE ID>00001042</MESSAGE ID>\r\n<TARGET QUEUE>DIRECT=OS:msg01\\private$\\orders</TARGET QUEUE>\r\n"
    "<NEXT HOP>192.0.2.11</NEXT HOP>\r\n<HOP COUNT>02 </HOP COUNT>\r\n"
)
_TOLD = ("report", "traced_message", "traced_hops", "next_hop")


@pytest.mark.parametrize(
    ("label", "body", "values"),
    [
        (
            "A1D3:00001042:02 received by HOST at 09:14:07 AM Fri,Nov 20 26",
            _SENT_ON,
            ("sent", "a1d3\\4162", 2, "192.0.2.11"),
        ),
        (
            "A1D3:00001042:02 received by HOST at 09:14:07 AM Fri,Nov 20 26",
            _SENT_ON.partition("<NEXT")[0],
            ("received", "a1d3\\4162", 2, None),
        ),
        ("order 4162", _SENT_ON, (None, None, None, None)),
        ("A1D3:00001042:02 received by HOST at 09:14:07 AM Fri,Nov 20 26", "order", (None, None, None, None)),
    ],
)
def test_the_columns_of_a_report_message_are_those_of_its_label_and_its_body(
    label: str, body: str, values: tuple[object, ...]
) -> None:
    packet = build_message(_QUEUE, body.encode("utf-16-le"), label=label, message_class=1)
    message = message_of(Record(id=1, type="user_message", packet=packet))
    assert message is not None
    assert tuple(message[name] for name in _TOLD) == values


def test_the_name_of_a_queue_is_a_column_of_its_own() -> None:
    names = QueueNames()
    queue = RegisteredQueue(name="private$\\orders", label="Orders", number=11)
    names.add((queue,), "c277e190-3d6a-4c4b-8d05-f21b9ac83e44")
    column = {one.name: one for one in COLUMNS}
    format_name = "PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000b"
    with naming_queues(names):
        assert column["queue_name"].made(format_name) == "private$\\orders"
        assert column["queue_label"].made(format_name) == "Orders"
    assert column["queue_name"].made(format_name) is None
