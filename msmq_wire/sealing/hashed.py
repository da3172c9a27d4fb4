"""Which fields a digital signature covers, in which order, and how each is written. [MS-MQMQ] 2.5

The rule kept here: one table per version, with the names of the document. Where the document does not say how
a field is written, a `HashInterpretation` does. Nothing is hashed here.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from msmq_wire.sealing.readings import (
    CHOICES,
    PLAIN,
    HashInterpretation,
    connector_bytes,
    forget_lists,
    label_bytes,
    lists_bytes,
    queue_bytes,
)
from msmq_wire.wire.packets.user_message import UserMessage

Version: TypeAlias = Literal["1.0", "2.0", "3.0"]


class HashedField(msgspec.Struct, frozen=True):
    """A hashed field: its name in the document, its writer, and the choice that the writer depends on."""

    name: str
    write: Callable[[UserMessage, HashInterpretation], bytes]
    by: str = ""


def _u8(value: int) -> bytes:
    return bytes((value & 0xFF,))


def _queue(name: str) -> Callable[[UserMessage, HashInterpretation], bytes]:
    return lambda packet, reading: queue_bytes(packet.user_header, name, reading)


def _label(packet: UserMessage, reading: HashInterpretation) -> bytes:
    header = packet.message_properties_header
    return label_bytes(b"" if header is None else bytes(header.label), reading)


def _connector(packet: UserMessage, reading: HashInterpretation) -> bytes:
    return connector_bytes(packet.user_header.connector_type, reading)


def _lists(packet: UserMessage, reading: HashInterpretation) -> bytes:
    return lists_bytes(packet.multi_queue_format_header, reading)


def _journaling(packet: UserMessage, _: HashInterpretation) -> bytes:
    return _u8(packet.user_header.bit("jp") << 1 | packet.user_header.bit("jn"))


def _of_properties(write: Callable[[Any], bytes]) -> Callable[[UserMessage, HashInterpretation], bytes]:
    return lambda packet, _: write(packet.message_properties_header)


_FIRST: Final = (
    HashedField(
        "MessagePropertiesHeader.CorrelationID", _of_properties(lambda one: bytes(one.correlation_id))
    ),
    HashedField(
        "MessagePropertiesHeader.ApplicationTag",
        _of_properties(lambda one: struct.pack("<I", one.application_tag)),
    ),
    HashedField("MessagePropertiesHeader.MessageBody", _of_properties(lambda one: bytes(one.message_body))),
    HashedField("MessagePropertiesHeader.Label", _label, "label"),
    HashedField("UserHeader.ResponseQueue", _queue("response_queue"), "queues"),
    HashedField("UserHeader.AdminQueue", _queue("admin_queue"), "queues"),
)
_SECOND: Final = (
    HashedField(
        "UserHeader.SourceQueueManager", lambda packet, _: bytes(packet.user_header.source_queue_manager)
    ),
    HashedField("UserHeader.Flags.DM", lambda packet, _: _u8(packet.user_header.bit("dm"))),
    HashedField("BaseHeader.Flags.PR", lambda packet, _: _u8(packet.base_header.bit("pr"))),
    HashedField("UserHeader.Flags.JP, UserHeader.Flags.JN", _journaling),
    HashedField("MessagePropertiesHeader.Flags", _of_properties(lambda one: _u8(one.flags & 0x0F))),
    HashedField(
        "MessagePropertiesHeader.MessageClass",
        _of_properties(lambda one: struct.pack("<H", one.message_class)),
    ),
    HashedField(
        "MessagePropertiesHeader.BodyType", _of_properties(lambda one: struct.pack("<I", one.body_type))
    ),
    HashedField("UserHeader.ConnectorType", _connector, "connector"),
)
HASHED: Final[Mapping[Version, tuple[HashedField, ...]]] = {
    "1.0": _FIRST,
    "2.0": (
        *_FIRST,
        *_SECOND,
        HashedField("UserHeader.DestinationQueue", _queue("destination_queue"), "queues"),
    ),
    "3.0": (
        *_FIRST,
        HashedField(
            "MessagePropertiesHeader.ExtensionData", _of_properties(lambda one: bytes(one.extension_data))
        ),
        HashedField("MultiQueueFormatHeader.FormatNameList", _lists, "lists"),
        *_SECOND,
    ),
}
"""The fields of each version in their order, [MS-MQMQ] 2.5.1 to 2.5.3."""

BODY_AT: Final = 2
"""The index of the body in every table."""


def hashed_parts(
    packet: UserMessage, version: Version, reading: HashInterpretation = PLAIN, body: bytes | None = None
) -> list[bytes]:
    """The bytes of each field, in order; ``body`` is the decrypted body, for readings that hash it.

    Raises EncodeError if a queue of the packet cannot be written.
    """
    parts = [one.write(packet, reading) for one in HASHED[version]]
    forget_lists()
    if reading.body == "opened":
        parts[BODY_AT] = b"" if body is None else body
    return parts


def every_reading(
    packet: UserMessage, version: Version, body: bytes | None = None
) -> Iterator[tuple[HashInterpretation, list[bytes]]]:
    """Yield every reading that gives different bytes, with the bytes of each field; the plainest first.

    ``body`` is the decrypted body. Each field is written once for each choice that it depends on.
    """
    fields = HASHED[version]
    fixed = _written(packet, fields, "", PLAIN)
    written: list[list[tuple[Mapping[str, str], list[tuple[int, bytes]]]]] = []
    for choice, options in CHOICES.items():
        found: list[tuple[Mapping[str, str], list[tuple[int, bytes]]]] = []
        for option in options:
            parts = _written(packet, fields, choice, msgspec.structs.replace(PLAIN, **option))
            if all(parts != known for _, known in found):
                found.append((option, parts))
        written.append(found)
    forget_lists()
    # The text signs before it encrypts, and verifies before it decrypts.
    for how in ("as sent",) if body is None else ("opened", "as sent"):
        for chosen in itertools.product(*written):
            said = {name: value for option, _ in chosen for name, value in option.items()}
            data = [part for _, part in sorted(itertools.chain(fixed, *(parts for _, parts in chosen)))]
            if body is not None and how == "opened":
                data[BODY_AT] = body
            yield HashInterpretation(**said, body=how), data


def _written(
    packet: UserMessage, fields: tuple[HashedField, ...], choice: str, reading: HashInterpretation
) -> list[tuple[int, bytes]]:
    return [(at, one.write(packet, reading)) for at, one in enumerate(fields) if one.by == choice]
