"""Arguments that `build_message` refuses: every one of them by its name, with the text written by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from msmq_wire import GUID, EncodeError, FormatNameError, build_message, encode, inspect
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.security_header import SecurityHeader

DIRECT = r"DIRECT=OS:host\private$\orders"
LIST = "DL=bbbbbbbb-cccc-dddd-eeee-ffffffffffff"
TOP = 4294967295


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"priority": 9}, "priority is 9: it is 0 to 7"),
        ({"priority": -1}, "priority is -1: it is 0 to 7"),
        ({"time_to_reach_queue": -1}, f"time_to_reach_queue is -1: it is 0 to {TOP}"),
        ({"time_to_be_received": 2**32}, f"time_to_be_received is 4294967296: it is 0 to {TOP}"),
        ({"sent_time": -5}, f"sent_time is -5: it is 0 to {TOP}"),
        ({"message_id": 2**32}, f"message_id is 4294967296: it is 0 to {TOP}"),
        ({"application_tag": -1}, f"application_tag is -1: it is 0 to {TOP}"),
        ({"message_class": 99999}, "message_class is 99999: it is 0 to 65535"),
        ({"body_type": 2**40}, f"body_type is 1099511627776: it is 0 to {TOP}"),
        (
            {"message_class": 0x1000},
            "message_class is 4096: MessageClass must be a named class or bits of 0xE1FF"
            " at message_properties_header.message_class",
        ),
        (
            {"body_type": 999},
            "body_type is 999: BodyType must be a PROPVARIANT type at message_properties_header.body_type",
        ),
        ({"label": "x" * 250}, "label has 250 UTF-16 units: it has at most 249"),
        ({"label": "\U0001f600" * 125}, "label has 250 UTF-16 units: it has at most 249"),
        ({"label": "a\0b"}, r"label is 'a\x00b': it contains no NUL"),
        ({"correlation_id": b"abc"}, "correlation_id has 3 bytes: it has 20"),
        ({"delivery": "expres"}, "delivery is 'expres': it is 'express' or 'recoverable'"),
        ({"delivery": None}, "delivery is None: it is 'express' or 'recoverable'"),
        (
            {"delivery": "transactional"},
            "delivery is 'transactional': it is 'express' or 'recoverable'; "
            "for a transaction give transaction=TransactionHeader(...)",
        ),
        (
            {"acknowledge": ["pa", "xx"], "admin_queue": DIRECT},
            "acknowledge has 'xx': it has any of pa, pr, na, nr",
        ),
        (
            {"acknowledge": ["pa"]},
            "acknowledge needs admin_queue=, the queue that gets the acknowledgments",
        ),
        (
            {"body": bytes(4194304)},
            "the packet has 4194476 bytes: it has at most 4194304 (body has 4194304)",
        ),
        (
            {"body": bytes(4000000), "extension": bytes(200000)},
            "the packet has 4200172 bytes: it has at most 4194304 (body has 4000000, extension has 200000)",
        ),
        ({"queue": LIST}, f"{LIST} cannot be a queue of a packet"),
    ],
)
def test_a_value_that_no_packet_can_have_is_told_with_its_argument(
    arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(EncodeError) as caught:
        build_message(**{"queue": DIRECT, **arguments})
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"queue": 5}, "queue must be a format name, as text or FormatName, not int"),
        ({"queue": None}, "queue must be a format name, as text or FormatName, not NoneType"),
        ({"admin_queue": b"q"}, "admin_queue must be a format name, as text or FormatName, not bytes"),
        ({"response_queue": 5}, "response_queue must be a format name, as text or FormatName, not int"),
        ({"priority": "3"}, "priority must be an integer, not str"),
        ({"priority": 3.5}, "priority must be an integer, not float"),
        ({"message_class": "normal"}, "message_class must be an integer, not str"),
        ({"body_type": "text"}, "body_type must be an integer, not str"),
        ({"time_to_be_received": 1.5}, "time_to_be_received must be an integer, not float"),
        (
            {"sent_time": datetime(2026, 11, 30)},
            "sent_time must be seconds since 1970, not datetime: int(when.timestamp())",
        ),
        (
            {"time_to_reach_queue": timedelta(seconds=90)},
            "time_to_reach_queue must be seconds, not timedelta: int(span.total_seconds())",
        ),
        ({"label": b"x"}, "label must be text, not bytes"),
        ({"label": None}, "label must be text, not NoneType"),
        ({"body": 5}, "body must be bytes or another buffer (bytearray, memoryview, mmap), not int"),
        (
            {"extension": "x"},
            "extension must be bytes or another buffer (bytearray, memoryview, mmap), not str: "
            "bytes.fromhex reads hexadecimal text",
        ),
        (
            {"correlation_id": 7},
            "correlation_id must be bytes or another buffer (bytearray, memoryview, mmap), not int",
        ),
        ({"transaction": True}, "transaction must be a TransactionHeader, not bool"),
        (
            {"acknowledge": "pa"},
            "acknowledge must be a list of names, not str: acknowledge=['pa', 'na']",
        ),
        ({"acknowledge": 5}, "acknowledge must be a list of names, not int: acknowledge=['pa', 'na']"),
        ({"source_queue_manager": None}, "source_queue_manager must be a GUID, not NoneType"),
        (
            {"source_queue_manager": "11111111-2222-3333-4444-555555555555"},
            "source_queue_manager must be a GUID, not str: GUID.parse(text)",
        ),
        ({"queue_manager_address": 5}, "queue_manager_address must be a GUID, not int"),
        ({"connector_type": bytes(16)}, "connector_type must be a GUID, not bytes"),
        (
            {"report_queue": "11111111-2222-3333-4444-555555555555"},
            "report_queue must be a GUID, not str: GUID.parse(text)",
        ),
        ({"sign": 5}, "sign must be an object with a method 'sign', not int"),
        ({"seal": "key"}, "seal must be an object with a method 'seal', not str"),
        ({"security_header": 5}, "security_header must be a SecurityHeader, not int"),
        ({"prioirty": 3}, "build_message takes no 'prioirty': did you mean 'priority'?"),
        (
            {"securityheader": None},
            "build_message takes no 'securityheader': did you mean 'security_header'?",
        ),
        ({"colour": 1}, "build_message takes no 'colour'"),
        (
            {"user_header": None},
            "build_message makes user_header from other arguments: queue, delivery, message_id and others",
        ),
    ],
)
def test_an_argument_of_a_wrong_type_or_name_is_told_with_its_name(
    arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(TypeError) as caught:
        build_message(**{"queue": DIRECT, **arguments})
    assert str(caught.value) == text


def test_a_queue_without_a_keyword_is_no_format_name() -> None:
    with pytest.raises(FormatNameError, match="'orders' is no format name"):
        build_message("orders")


@pytest.mark.parametrize(
    "arguments",
    [
        {"priority": 7, "label": "x" * 249, "sent_time": TOP, "message_id": TOP, "application_tag": TOP},
        {"acknowledge": ("pa", "pr", "na", "nr"), "admin_queue": DIRECT},
        {"security_header": None, "connector_type": GUID(bytes(16))},
        {"body": bytes(4194132)},
    ],
)
def test_a_value_at_the_end_of_its_range_is_taken(arguments: dict[str, Any]) -> None:
    assert inspect(encode(build_message(DIRECT, **arguments))).anomalies == ()


def test_a_header_is_taken_by_its_stem() -> None:
    assert build_message(DIRECT, security_header=SecurityHeader()).security_header is not None


def test_a_debug_header_is_given_or_made_from_the_report_queue() -> None:
    with pytest.raises(EncodeError, match="debug_header is made from report_queue: give one of them"):
        build_message(DIRECT, report_queue=GUID(bytes(16)), debug_header=DebugHeader())
    assert build_message(DIRECT, debug_header=DebugHeader()).base_header.bit("tr") == 0
