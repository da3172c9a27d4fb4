"""The fields that signatures cover: those that the document lists, in its order, byte by byte."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from msmq_wire import build_message
from msmq_wire.sealing.hashed import HASHED, Version, every_reading, hashed_parts
from msmq_wire.sealing.readings import HashInterpretation
from tests.sealing.sealed_scene import BODY, message, queue_lists

_FIRST = [
    "MessagePropertiesHeader.CorrelationID",
    "MessagePropertiesHeader.ApplicationTag",
    "MessagePropertiesHeader.MessageBody",
    "MessagePropertiesHeader.Label",
    "UserHeader.ResponseQueue",
    "UserHeader.AdminQueue",
]
_SECOND = [
    "UserHeader.SourceQueueManager",
    "UserHeader.Flags.DM",
    "BaseHeader.Flags.PR",
    "UserHeader.Flags.JP, UserHeader.Flags.JN",
    "MessagePropertiesHeader.Flags",
    "MessagePropertiesHeader.MessageClass",
    "MessagePropertiesHeader.BodyType",
    "UserHeader.ConnectorType",
]
_LISTED: dict[Version, list[str]] = {
    "1.0": _FIRST,
    "2.0": [*_FIRST, *_SECOND, "UserHeader.DestinationQueue"],
    "3.0": [
        *_FIRST,
        "MessagePropertiesHeader.ExtensionData",
        "MultiQueueFormatHeader.FormatNameList",
        *_SECOND,
    ],
}
"""[MS-MQMQ] 2.5.1 to 2.5.3."""


def test_the_fields_are_those_of_the_document_in_its_order() -> None:
    assert {version: [one.name for one in fields] for version, fields in HASHED.items()} == _LISTED


def test_the_bytes_are_those_that_stand_in_the_packet() -> None:
    reply = "OS:ws17\\private$\\replies\0".encode("utf-16-le")
    assert hashed_parts(message(), "2.0") == [
        bytes(range(20)),
        bytes.fromhex("04030201"),
        BODY,
        "order 4711\0".encode("utf-16-le"),
        struct.pack("<H", len(reply)) + reply,
        bytes.fromhex("0f000000"),
        b"s" * 16,
        b"\1",
        b"\5",
        b"\0",
        b"\x09",
        b"\0\0",
        b"\x08\0\0\0",
        b"c" * 16,
        bytes.fromhex("b94aea31 6492 604d b3b4 d1a7b9d49c2e"),
    ]


def test_journaling_is_one_byte_of_two_bits() -> None:
    packet = message()
    for jp, jn in ((0, 1), (1, 0), (1, 1)):
        header = packet.user_header.with_bits(jp=jp, jn=jn)
        reported = type(packet)(
            base_header=packet.base_header,
            user_header=header,
            message_properties_header=packet.message_properties_header,
        )
        assert hashed_parts(reported, "2.0")[9] == bytes((jp << 1 | jn,))


def test_readings_that_give_the_same_bytes_are_one() -> None:
    # Direct and private names: as structures, strings and texts; numbers and GUIDs in two ways each.
    assert len(list(every_reading(message(), "2.0"))) == 11 * 2
    bare = build_message("DIRECT=OS:h\\private$\\q", b"x")
    # Nothing or a NUL for two queues and for a label.
    assert [(reading.absent, reading.label) for reading, _ in every_reading(bare, "1.0")] == [
        ("nothing", "with its NUL"),
        ("nothing", "a NUL for none"),
        ("a NUL", "with its NUL"),
        ("a NUL", "a NUL for none"),
    ]
    assert len(list(every_reading(message(), "2.0", b"opened"))) == 2 * 11 * 2


@pytest.mark.parametrize("version", list(HASHED))
def test_every_reading_is_written_as_it_says(version: Version) -> None:
    for body in (None, b"opened"):
        for reading, parts in every_reading(message(), version, body):
            assert parts == hashed_parts(message(), version, reading, body)


def test_lists_are_their_elements_their_header_or_all_headers() -> None:
    lists = queue_lists()
    text = b"\3\0" + "OS:a\\q\0".encode("utf-16-le")
    elements = text + b"\1\0" + b"\0" * (-(len(text) + 2) & 3) + b"p" * 16
    header = struct.pack("<IHHI", 12 + len(elements), 100, 0, 2) + elements
    response = struct.pack("<IHHI", 12 + len(text), 300, 0, 1) + text
    due: dict[Any, bytes] = {"elements": elements, "header": header, "all headers": header + response}
    for reading, data in due.items():
        written = hashed_parts(
            message(multi_queue_format_header=lists), "3.0", HashInterpretation(lists=reading)
        )
        assert written[7] == data


def test_names_can_be_texts_and_labels_can_end_without_a_nul() -> None:
    reading = HashInterpretation(queues="terminated texts", label="without its NUL")
    parts = hashed_parts(message(), "1.0", reading)
    assert parts[3:] == [
        "order 4711".encode("utf-16-le"),
        "DIRECT=OS:ws17\\private$\\replies\0".encode("utf-16-le"),
        "PRIVATE=73737373-7373-7373-7373-737373737373\\0000000f\0".encode("utf-16-le"),
    ]
    assert str(reading).startswith("queues as terminated texts, label without its NUL")
