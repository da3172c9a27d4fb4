"""FinalAck, [MS-MQQB] 2.2.5."""

from __future__ import annotations

import struct

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.records.view import view
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

_LABEL = "QM Ordering Ack\0".encode("utf-16-le")
_BODY = struct.pack("<4I", 7, 42, 5, 4) + bytes(range(16)) + struct.pack("<I", 2049)
_NUMBER = bytes.fromhex("04000000")


def _direct(text: str) -> bytes:
    name = text.encode("utf-16-le") + b"\0\0"
    return len(name).to_bytes(2, "little") + name + bytes(-(len(name) + 2) & 3)


def _packet(
    *,
    base: int = 0,
    reach: int = 0xFFFFFFFF,
    user: int = 0x200C20,
    address: bytes = bytes(16),
    queues: bytes = _NUMBER,
    flags: int = 0,
    label: bytes = _LABEL,
    message_class: int = 0x4000,
    body_type: int = 0,
    body: bytes = _BODY,
    after: bytes = b"",
) -> bytes:
    header = bytes(range(16)) + address + struct.pack("<4I", 0xFFFFFFFF, 0, 0, user) + queues
    properties = struct.pack("<BBH20x", flags, len(label) // 2, message_class)
    sizes = struct.pack("<8I", body_type, 0, len(body), len(body), 0, 0x800E, 0x6610, 0)
    rest = header + properties + sizes + label + body + bytes(-len(label + body) & 3) + after
    return struct.pack("<BBHIII", 0x10, 0, base, 0x524F494C, 16 + len(rest), reach) + rest


CASES = Cases(
    data=_packet(),
    value=FinalAck(
        base_header=BaseHeader(flags=0, packet_size=192),
        user_header=UserHeader(
            source_queue_manager=GUID(bytes(range(16))),
            flags=0x200C20,
            destination_queue=PrivateQueueFormatNameId(private_queue_identifier=4),
        ),
        message_properties_header=MessagePropertiesHeader(
            label_length=16,
            message_class=0x4000,
            message_size=36,
            allocation_body_size=36,
            label=WcharText.of("QM Ordering Ack"),
            message_body=_BODY,
        ),
    ),
    broken=[
        (
            _packet(base=8),
            [("not-internal", "base_header.flags", 2, 2), ("base-flags", "base_header.flags", 2, 2)],
        ),
        (_packet(after=b"\1\2\3\4"), [("undeclared", "undeclared", 192, 4)]),
        (_packet(base=3), [("base-flags", "base_header.flags", 2, 2)]),
        (_packet(reach=345_599), [("time-to-reach-queue", "base_header.time_to_reach_queue", 12, 4)]),
        (
            _packet(user=0x201420, queues=bytes(16)),
            [
                ("destination-type", "user_header.flags", 60, 4),
                ("order-queue", "user_header.destination_queue", 64, 16),
            ],
        ),
        (_packet(queues=b"\5\0\0\0"), [("order-queue", "user_header.destination_queue", 64, 4)]),
        (_packet(label=_LABEL[2:]), [("label", "message_properties_header.label", 124, 30)]),
        (_packet(body=bytes(32)), [("message-size", "message_properties_header.message_size", 100, 4)]),
        (_packet(user=0x200D20), [("other-flags", "user_header.flags", 60, 4)]),
        (_packet(flags=0x80), [("property-flags", "message_properties_header.flags", 68, 1)]),
        (_packet(body_type=8), [("body-type", "message_properties_header.body_type", 92, 4)]),
        (_packet(user=0x200C00), [("delivery-mode", "user_header.flags", 60, 4)]),
        (_packet(message_class=0), [("message-class", "message_properties_header.message_class", 70, 2)]),
    ],
    # These are broken in the tests of user messages.
    elsewhere={
        "transaction-priority",
        "admin-queue-missing",
        "admin-queue-unasked",
        "over-http",
        "queue-manager-address",
    },
)


# What the section says of a FinalAck, for bytes that a caller calls one.
@pytest.mark.parametrize(
    ("data", "path"),
    [
        pytest.param(_packet(queues=b"\5\0\0\0"), "user_header.destination_queue", id="the queue is 4"),
        pytest.param(_packet(label=b""), "message_properties_header.label", id="the label"),
        pytest.param(
            _packet(message_class=0), "message_properties_header.message_class", id="the message class"
        ),
    ],
)
def test_what_a_final_ack_must_be_is_checked(data: bytes, path: str) -> None:
    assert any(anomaly.path.startswith(path) for anomaly in inspect(data, "final_ack").anomalies)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_packet(), id="the private queue with number 4"),
        pytest.param(_packet(message_class=0x8003), id="rejected: over quota"),
        pytest.param(_packet(message_class=0xC004), id="rejected by the application"),
        pytest.param(_packet(message_class=0x8001), id="deleted"),
        pytest.param(_packet(user=0x200C22), id="two routing servers on the way"),
        pytest.param(
            _packet(user=0x201C20, queues=_direct(r"TCP:192.0.2.1\PRIVATE$\order_queue$")), id="TCP"
        ),
        pytest.param(
            _packet(user=0x201C20, queues=_direct(r"SPX:00000001.00A0C9123456\PRIVATE$\order_queue$")),
            id="SPX",
        ),
        pytest.param(
            _packet(user=0x201C20, queues=_direct(r"TCP:192.0.2.1\private$\Order_Queue$")), id="any case"
        ),
    ],
)
def test_an_honest_acknowledgment_is_recognised_and_breaks_no_must(data: bytes) -> None:
    result = inspect(data)
    assert (result.type, result.error, result.anomalies) == ("final_ack", None, ())
    assert encode(result.packet) == data


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_packet(base=3), id="a priority"),
        pytest.param(_packet(queues=b"\5\0\0\0"), id="another queue"),
        pytest.param(_packet(label=_LABEL[2:]), id="another label"),
        pytest.param(_packet(label=b""), id="no label"),
        pytest.param(_packet(message_class=0), id="a normal message"),
        pytest.param(_packet(user=0x201C20, queues=_direct(r"TCP:192.0.2.1\PRIVATE$\q")), id="another name"),
        pytest.param(_packet(user=0x200020, queues=b""), id="no destination"),
    ],
)
def test_a_message_that_only_resembles_one_stays_a_user_message(data: bytes) -> None:
    assert inspect(data).type == "user_message"


def test_the_body_is_read_out_of_the_message() -> None:
    packet = decode(_packet())
    assert packet.final_ack_body.tx_sequence_id == TxSequenceID(ordinal=7, time_stamp=42)
    assert packet.final_ack_body.tx_sequence_number == 5
    assert view(packet)["final_ack_body"]["tx_previous_sequence_number"] == 4


def test_an_anomaly_in_the_body_has_its_place_in_the_packet() -> None:
    body = struct.pack("<4I", 7, 42, 5, 0xFFFFFFFF) + bytes(20)
    (anomaly,) = inspect(_packet(body=body)).anomalies
    assert anomaly.code == "final_ack_body.tx-previous-sequence-number"
    assert (anomaly.path, anomaly.offset, anomaly.length) == (
        "final_ack_body.tx_previous_sequence_number",
        68 + 56 + 32 + 12,
        4,
    )


def test_a_final_ack_of_the_wrong_size_is_one_all_the_same() -> None:
    result = inspect(_packet(body=_BODY + bytes(4)))
    assert result.type == "final_ack"
    assert result.packet.final_ack_body is None
    assert [anomaly.code for anomaly in result.anomalies] == ["final_ack.message-size"]


def test_a_body_of_another_size_is_none() -> None:
    assert decode(_packet(body=bytes(35)), "final_ack").final_ack_body is None
