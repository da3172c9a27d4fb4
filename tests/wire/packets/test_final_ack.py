"""FinalAck, [MS-MQQB] 2.2.5."""

from __future__ import annotations

import struct
from functools import partial

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.records.view import view
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.wire.cases import Cases
from tests.wire.order_acks import ELSEWHERE, LABEL, acknowledgment, broken, direct, value

_BODY = struct.pack("<4I", 7, 42, 5, 4) + bytes(range(16)) + struct.pack("<I", 2049)
_packet = partial(acknowledgment, user=0x200C20, message_class=0x4000, body=_BODY)

CASES = Cases(
    data=_packet(),
    value=value(FinalAck, user=0x200C20, message_class=0x4000, body=_BODY),
    broken=[
        *broken(_packet, public=0x201420, journaled=0x200D20, other_size=bytes(32)),
        (_packet(user=0x200C00), [("delivery-mode", "user_header.flags", 60, 4)]),
        (_packet(message_class=0), [("message-class", "message_properties_header.message_class", 70, 2)]),
    ],
    elsewhere=ELSEWHERE,
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
        pytest.param(_packet(user=0x201C20, queues=direct(r"TCP:192.0.2.1\PRIVATE$\order_queue$")), id="TCP"),
        pytest.param(
            _packet(user=0x201C20, queues=direct(r"SPX:00000001.00A0C9123456\PRIVATE$\order_queue$")),
            id="SPX",
        ),
        pytest.param(
            _packet(user=0x201C20, queues=direct(r"TCP:192.0.2.1\private$\Order_Queue$")), id="any case"
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
        pytest.param(_packet(label=LABEL[2:]), id="another label"),
        pytest.param(_packet(label=b""), id="no label"),
        pytest.param(_packet(message_class=0), id="a normal message"),
        pytest.param(_packet(user=0x201C20, queues=direct(r"TCP:192.0.2.1\PRIVATE$\q")), id="another name"),
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
