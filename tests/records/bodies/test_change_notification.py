"""Change notifications, typed in from the diagrams of [MS-MQCN] 2.2.3 to 2.2.6."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import Body, open_body
from msmq_wire.records.bodies.change_notification import change_notification_body

GUID_TEXT = "3019f95c-3e61-4900-816c-0f13d3b6afae"
GUID_BYTES = bytes.fromhex("5cf91930 613e 0049 816c 0f13d3b6afae")
SERVER = "66f9ddcf-294e-4e10-adb3-f6a0af0e4600"
SERVER_BYTES = bytes.fromhex("cfddf966 4e29 104e adb3 f6a0af0e4600")
XML = (
    "<Notification><Event>{}</Event><ObjectGuid>{}</ObjectGuid>"
    "<DomainController>{}</DomainController></Notification>"
)


def wide(text: str) -> bytes:
    return f"{text}\0".encode("utf-16-le")


def by_queue_manager(event: str = "2", identifier: str = GUID_TEXT, server: str = "dc01.example") -> bytes:
    return b"\2\1" + wide(XML.format(event, identifier, server)) + b"\0"


def update(command: int, name: str | bytes, *properties: tuple[int, bytes]) -> bytes:
    """A Notification Update; a name of bytes is the GUID of the object."""
    by_guid = isinstance(name, bytes)
    head = bytes((command, by_guid)) + (name if isinstance(name, bytes) else wide(name))
    head += SERVER_BYTES + bytes(24) + bytes((len(properties),))
    numbers = b"".join(struct.pack("<I", number) for number, _ in properties)
    return head + numbers + b"".join(value for _, value in properties)


def by_directory(*updates: bytes) -> bytes:
    return b"\1" + bytes((len(updates),)) + b"".join(updates) + b"\0"


def found(data: bytes) -> Body:
    body = open_body(data, 0)
    assert body.kind == "change_notification"
    return body


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("1", "a queue was created"),
        ("2", "a queue was changed"),
        ("3", "a queue was deleted"),
        ("4", "a queue manager was changed"),
    ],
)
def test_a_queue_manager_says_what_happened_to_which_object(event: str, words: str) -> None:
    body = found(by_queue_manager(event))
    assert (body.confidence, body.title) == ("certain", f"change notification: {words}")
    assert body.details == (
        ("version", "2, by a queue manager"),
        ("event", words),
        ("object", GUID_TEXT),
        ("domain_controller", "dc01.example"),
    )
    assert body.text == XML.format(event, GUID_TEXT, "dc01.example")


@pytest.mark.parametrize(
    ("server", "confidence"),
    [("!~", "certain"), ("d c", "likely"), ("dö", "likely"), ("d\t", "likely"), ("d\x7f", "likely")],
)
def test_the_name_of_a_server_that_the_grammar_does_not_allow_is_not_certain(
    server: str, confidence: str
) -> None:
    body = found(by_queue_manager(server=server))
    assert (body.confidence, dict(body.details)["domain_controller"]) == (confidence, server)


def test_the_end_of_an_element_may_have_the_space_of_the_grammar() -> None:
    data = by_queue_manager()
    spaced = "</ObjectGuid>".encode("utf-16-le"), "</ObjectGuid >".encode("utf-16-le")
    assert found(data.replace(*spaced)).details == found(data).details


def test_the_byte_that_senders_add_and_the_end_of_the_text_may_be_missing() -> None:
    whole = by_queue_manager()
    assert found(whole[:-1]) == found(whole[:-3]) == found(whole)


@pytest.mark.parametrize(
    "data",
    [
        by_queue_manager("5"),
        by_queue_manager(identifier="not-an-identifier"),
        by_queue_manager(identifier=GUID_TEXT[:-1]),
        by_queue_manager(server=""),
        by_queue_manager(server="x" * 257),
        by_queue_manager().replace("Event".encode("utf-16-le"), "Evens".encode("utf-16-le")),
        by_queue_manager() + wide("more"),
        b"\2\2" + by_queue_manager()[2:],
        b"\3\1" + by_queue_manager()[2:],
        b"\2\1" + wide("<Notification></Notification>"),
        b"\2\1<\0\0\xd8",
    ],
)
def test_what_the_grammar_does_not_allow_is_no_notification(data: bytes) -> None:
    assert change_notification_body(data) is None


def test_a_directory_server_says_what_was_created_with_its_properties() -> None:
    data = by_directory(
        update(
            0,
            "msg01\\orders",
            (101, GUID_BYTES),
            (108, wide("orders of the day")),
            (104, b"\1"),
            (106, struct.pack("<h", -3)),
            (105, struct.pack("<I", 0xFFFFFFFF)),
            (109, struct.pack("<i", 1_700_000_000)),
            (1101, struct.pack("<I", 5) + b"abcde"),
        )
    )
    body = found(data)
    assert body.title == "change notification: a queue was created"
    assert body.details == (
        ("version", "1, by a directory server"),
        ("update", "1: a queue was created"),
        ("object", "msg01\\orders"),
        ("server", SERVER),
        ("PROPID_Q_INSTANCE", GUID_TEXT),
        ("PROPID_Q_LABEL", "orders of the day"),
        ("PROPID_Q_JOURNAL", "1"),
        ("PROPID_Q_BASEPRIORITY", "-3"),
        ("PROPID_Q_QUOTA", "4294967295"),
        ("PROPID_Q_CREATE_TIME", "1700000000"),
        ("PROPID_Q_SECURITY", "5 bytes"),
    )


def test_several_updates_come_one_after_the_other() -> None:
    networks = (207, struct.pack("<I", 2) + GUID_BYTES + SERVER_BYTES)
    data = by_directory(
        update(1, GUID_BYTES, (214, struct.pack("<I", 9)), networks),
        update(2, GUID_BYTES, (1403, b"\1"), (1404, b"\1")),
    )
    body = found(data)
    assert body.title == "change notification: 2 updates"
    rows = [value for name, value in body.details if name in ("update", "PROPID_QM_CNS")]
    assert rows == [
        "1: a queue manager was changed",
        f"{GUID_TEXT}, {SERVER}",
        "2: a queue was deleted",
    ]


@pytest.mark.parametrize(
    "data",
    [
        by_directory(update(3, GUID_BYTES, (214, bytes(4)))),
        by_directory(update(1, GUID_BYTES, (9999, bytes(4)))),
        by_directory(update(1, GUID_BYTES, (214, bytes(4))))[:-2],
        by_directory(update(1, GUID_BYTES, (214, bytes(4)))) + b"more",
        by_directory(update(1, GUID_BYTES, (207, b"\xff\xff\xff\xff"))),
        by_directory(update(1, GUID_BYTES, (1101, b"\xff\xff\xff\xff"))),
        b"\1\0",
        b"\1\1\1\2" + bytes(60),
        b"\1\1\1\0a\0b\0",
        b"\1\1\1\0\0\xd8\0\0" + bytes(60),
    ],
)
def test_what_is_no_whole_update_is_no_notification(data: bytes) -> None:
    assert change_notification_body(data) is None


def test_a_long_list_of_values_is_cut_and_what_is_not_shown_is_counted() -> None:
    many = (207, struct.pack("<I", 10) + GUID_BYTES * 10)
    assert dict(found(by_directory(update(1, GUID_BYTES, many))).details)["PROPID_QM_CNS"].endswith(
        " and 2 more"
    )
    body = found(by_directory(*[update(1, GUID_BYTES, (214, bytes(4)))] * 40))
    assert body.details[-1] == ("more", "96 more values")


def test_a_kind_of_object_that_is_a_long_number_is_none() -> None:
    digits = (108, wide("9" * 5000))
    body = found(by_directory(update(2, GUID_BYTES, digits, digits)))
    assert body.title == "change notification: an object was deleted"


def test_a_name_may_hold_zero_bytes_that_are_no_end() -> None:
    # U+0100 ends with the byte 1 and U+4100 begins with 0: no pair of them is a unit of 0.
    name = "msg01\\\u4100\u0041\u0100"
    assert dict(found(by_directory(update(0, name, (103, wide(name))))).details)["object"] == name


@given(st.binary(max_size=200), st.sampled_from([b"\1\1", b"\1\2", b"\2\1", b"\2\1<\0"]))
def test_any_bytes_are_a_notification_or_something_else(data: bytes, head: bytes) -> None:
    body = change_notification_body(head + data)
    assert body is None or body.kind == "change_notification"
    open_body(head + data, 0)


@pytest.mark.parametrize("data", [b"", b"\1", b"\2", b"\1\0", b"\1\1", b"\2\1"])
def test_what_ends_where_a_notification_begins_is_none(data: bytes) -> None:
    """A fuzzer found the second: one byte is less than a version and a count."""
    assert change_notification_body(data) is None
    assert open_body(data, 0).kind != "change_notification"
