from __future__ import annotations

from typing import Any

import pytest

from msmq_wire import GUID, FormatName, build_message
from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.headers.transaction_header import TransactionHeader

SOURCE = GUID.parse("11111111-2222-3333-4444-555555555555")
TARGET = GUID.parse("66666666-7777-8888-9999-aaaaaaaaaaaa")
OTHER = GUID.parse("bbbbbbbb-cccc-dddd-eeee-ffffffffffff")
DIRECT = r"DIRECT=OS:host\private$\orders"


def bits(packet: Any) -> tuple[int, int, int]:
    return packet.user_header.bit("dq"), packet.user_header.bit("aq"), packet.user_header.bit("rq")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({"queue": DIRECT}, (7, 0, 0), id="direct"),
        pytest.param({"queue": f"PRIVATE={TARGET}\\f"}, (3, 0, 0), id="private"),
        pytest.param({"queue": f"PUBLIC={OTHER}", "queue_manager_address": TARGET}, (5, 0, 0), id="public"),
        pytest.param(
            {"queue": DIRECT, "admin_queue": f"PRIVATE={SOURCE}\\2", "acknowledge": ["pa"]},
            (7, 2, 0),
            id="administration on the source",
        ),
        pytest.param(
            {"queue": f"PRIVATE={TARGET}\\f", "admin_queue": f"PRIVATE={TARGET}\\2", "acknowledge": ["nr"]},
            (3, 3, 0),
            id="administration on the destination",
        ),
        pytest.param(
            {"queue": DIRECT, "admin_queue": f"PRIVATE={OTHER}\\2", "acknowledge": ["na", "pr"]},
            (7, 6, 0),
            id="administration elsewhere",
        ),
        pytest.param(
            {"queue": DIRECT, "admin_queue": DIRECT, "response_queue": DIRECT, "acknowledge": ["pa"]},
            (7, 7, 1),
            id="response is administration",
        ),
        pytest.param({"queue": DIRECT, "response_queue": f"PUBLIC={OTHER}"}, (7, 0, 5), id="public response"),
    ],
)
def test_queues_take_the_shortest_encoding(arguments: dict[str, Any], expected: tuple[int, int, int]) -> None:
    packet = build_message(**arguments, source_queue_manager=SOURCE)
    assert bits(packet) == expected
    result = inspect(encode(packet))
    assert (result.error, result.anomalies) == (None, ())
    assert result.packet == packet
    assert packet.user_header.format_name("destination_queue") == str(FormatName.parse(arguments["queue"]))
    if "admin_queue" in arguments:
        assert packet.user_header.format_name("admin_queue") == str(
            FormatName.parse(arguments["admin_queue"])
        )
    if "response_queue" in arguments:
        response = str(FormatName.parse(arguments["response_queue"]))
        assert packet.user_header.format_name("response_queue") == response


def test_text_becomes_a_null_terminated_unicode_string() -> None:
    packet = build_message(DIRECT, "häh", label="greeting")
    assert packet.message_properties_header is not None
    assert packet.message_properties_header.message_body == "häh\0".encode("utf-16-le")
    assert packet.message_properties_header.body_type == 31
    assert packet.message_properties_header.label.text == "greeting"


def test_a_transaction_is_recoverable_and_has_no_priority() -> None:
    packet = build_message(DIRECT, b"x", transaction=TransactionHeader(tx_sequence_number=7), priority=5)
    assert (packet.user_header.bit("dm"), packet.base_header.bit("pr")) == (1, 0)
    decoded = decode(encode(packet))
    assert decoded.transaction_header.tx_sequence_number == 7
    assert inspect(encode(packet)).anomalies == ()


def test_a_report_queue_has_the_message_traced() -> None:
    packet = build_message(DIRECT, report_queue=OTHER)
    # [MS-MQMQ] 2.2.19.1: priority 3, DH 0x0020, TR 0x0100; 2.2.20.8: QT 1, two reserved bytes, the GUID.
    assert packet.base_header.flags == 0x0123
    assert encode(packet.debug_header) == bytes.fromhex("0100 0000") + bytes(OTHER)
    result = inspect(encode(packet))
    assert (result.error, result.anomalies) == (None, ())
    assert build_message(DIRECT).base_header.flags == 0x0003
