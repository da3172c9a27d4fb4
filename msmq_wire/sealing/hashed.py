"""Which fields a digital signature covers, in which order, and how each is written. [MS-MQMQ] 2.5

The rule kept here: one table per version, its names as the document writes them. Where the document leaves
open how a field is written, a `Reading` says it; nothing is computed here.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import msgspec

from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID, NULL_GUID

__all__ = ["BODY_AT", "HASHED", "PLAIN", "Hashed", "Reading", "Version", "every_reading", "hashed_parts"]

Version: TypeAlias = Literal["1.0", "2.0", "3.0"]
_Names: TypeAlias = Literal["structures", "texts", "terminated texts"]


_BEFORE_ELEMENTS = 12
"""Bytes of an MQFAddressHeader before its FormatNameList, [MS-MQMQ] 2.2.20.2."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How fields are written of which the document does not say it.

    ``queues``: as the structures of the packet, or as format names in UTF-16 without or with a NUL.
    ``label``: as in the packet or without its NUL. ``connector``: what stands for one that is absent.
    ``lists``: the elements of the destinations, their header before them, or all the lists of the header.
    ``body``: as the packet has it, or opened where it is encrypted.
    """

    queues: _Names = "structures"
    label: Literal["with its NUL", "without its NUL"] = "with its NUL"
    connector: Literal["nothing", "zeros"] = "nothing"
    lists: Literal["elements", "header", "all headers"] = "elements"
    body: Literal["as sent", "opened"] = "as sent"

    def __str__(self) -> str:
        return (
            f"queues as {self.queues}, label {self.label}, {self.connector} for no ConnectorType, "
            f"lists as {self.lists}, body {self.body}"
        )


PLAIN: Final = Reading()
"""The plainest: fields as they are in the packet, nothing for what is absent."""


class Hashed(msgspec.Struct, frozen=True):
    """A field that is hashed: its name in the document, what writes it, and the choice that says how."""

    name: str
    write: Callable[[UserMessage, Reading], bytes]
    by: str = ""


def _u8(value: int) -> bytes:
    return bytes((value & 0xFF,))


def _queue(name: str) -> Callable[[UserMessage, Reading], bytes]:
    def write(packet: UserMessage, reading: Reading) -> bytes:
        header = packet.user_header
        if reading.queues == "structures":
            return _built(getattr(header, name))
        text = header.format_name(name)
        if text is None:
            return b""
        return (text + "\0" * (reading.queues == "terminated texts")).encode("utf-16-le", "surrogatepass")

    return write


# Names come again and again, and are short: lists of them are not kept.
@lru_cache(maxsize=64)
def _built(value: WireStruct | None) -> bytes:
    return b"" if value is None else bytes(type(value).schema().build(value))


def _label(packet: UserMessage, reading: Reading) -> bytes:
    header = packet.message_properties_header
    label = b"" if header is None else bytes(header.label)
    return label if reading.label == "with its NUL" else label.removesuffix(b"\0\0")


def _connector(packet: UserMessage, reading: Reading) -> bytes:
    connector = packet.user_header.connector_type
    if isinstance(connector, GUID):
        return bytes(connector)
    return bytes(NULL_GUID) if reading.connector == "zeros" else b""


def _lists(packet: UserMessage, reading: Reading) -> bytes:
    header = packet.multi_queue_format_header
    if header is None:
        return b""
    if reading.lists == "all headers":
        return b"".join(map(_list, (header.destination, header.administration, header.response)))
    data = _list(header.destination)
    return data if reading.lists == "header" else data[_BEFORE_ELEMENTS:]


def _list(header: MQFAddressHeader | None) -> bytes:
    """A list of queues, to its HeaderSize: padding up to the next header is not of it."""
    return b"" if header is None else bytes(header.schema().build(header)[: header.header_size])


def _journaling(packet: UserMessage, _: Reading) -> bytes:
    return _u8(packet.user_header.bit("jp") << 1 | packet.user_header.bit("jn"))


def _of_properties(write: Callable[[Any], bytes]) -> Callable[[UserMessage, Reading], bytes]:
    return lambda packet, _: write(packet.message_properties_header)


_FIRST: Final = (
    Hashed("MessagePropertiesHeader.CorrelationID", _of_properties(lambda one: bytes(one.correlation_id))),
    Hashed(
        "MessagePropertiesHeader.ApplicationTag",
        _of_properties(lambda one: struct.pack("<I", one.application_tag)),
    ),
    Hashed("MessagePropertiesHeader.MessageBody", _of_properties(lambda one: bytes(one.message_body))),
    Hashed("MessagePropertiesHeader.Label", _label, "label"),
    Hashed("UserHeader.ResponseQueue", _queue("response_queue"), "queues"),
    Hashed("UserHeader.AdminQueue", _queue("admin_queue"), "queues"),
)
_SECOND: Final = (
    Hashed("UserHeader.SourceQueueManager", lambda packet, _: bytes(packet.user_header.source_queue_manager)),
    Hashed("UserHeader.Flags.DM", lambda packet, _: _u8(packet.user_header.bit("dm"))),
    Hashed("BaseHeader.Flags.PR", lambda packet, _: _u8(packet.base_header.bit("pr"))),
    Hashed("UserHeader.Flags.JP, UserHeader.Flags.JN", _journaling),
    Hashed("MessagePropertiesHeader.Flags", _of_properties(lambda one: _u8(one.flags & 0x0F))),
    Hashed(
        "MessagePropertiesHeader.MessageClass",
        _of_properties(lambda one: struct.pack("<H", one.message_class)),
    ),
    Hashed("MessagePropertiesHeader.BodyType", _of_properties(lambda one: struct.pack("<I", one.body_type))),
    Hashed("UserHeader.ConnectorType", _connector, "connector"),
)
HASHED: Final[Mapping[Version, tuple[Hashed, ...]]] = {
    "1.0": _FIRST,
    "2.0": (*_FIRST, *_SECOND, Hashed("UserHeader.DestinationQueue", _queue("destination_queue"), "queues")),
    "3.0": (
        *_FIRST,
        Hashed(
            "MessagePropertiesHeader.ExtensionData", _of_properties(lambda one: bytes(one.extension_data))
        ),
        Hashed("MultiQueueFormatHeader.FormatNameList", _lists, "lists"),
        *_SECOND,
    ),
}
"""The fields of each version in their order, [MS-MQMQ] 2.5.1 to 2.5.3."""

BODY_AT: Final = 2
"""The place of the body in all of them."""
_CHOICES: Final[Mapping[str, tuple[Any, ...]]] = {
    "queues": ("structures", "texts", "terminated texts"),
    "label": ("with its NUL", "without its NUL"),
    "connector": ("nothing", "zeros"),
    "lists": ("elements", "header", "all headers"),
}


def hashed_parts(
    packet: UserMessage, version: Version, reading: Reading = PLAIN, body: bytes | None = None
) -> list[bytes]:
    """The bytes of each field, in order; ``body`` is the opened one, used where the reading says so.

    Raises EncodeError where a queue of the packet cannot be written.
    """
    parts = [one.write(packet, reading) for one in HASHED[version]]
    if reading.body == "opened":
        parts[BODY_AT] = b"" if body is None else body
    return parts


def every_reading(
    packet: UserMessage, version: Version, body: bytes | None = None
) -> Iterator[tuple[Reading, list[bytes]]]:
    """Every reading that gives other bytes of a packet, with the bytes of each field; the plainest first.

    ``body`` is the opened one. Each field is written once for each choice that it depends on.
    """
    fields = HASHED[version]
    written: dict[str, dict[str, list[tuple[int, bytes]]]] = {"": {"": _written(packet, fields, "", PLAIN)}}
    for choice, options in _CHOICES.items():
        found: dict[str, list[tuple[int, bytes]]] = {}
        for option in options:
            parts = _written(packet, fields, choice, msgspec.structs.replace(PLAIN, **{choice: option}))
            if parts not in found.values():
                found[option] = parts
        written[choice] = found
    # The text signs before it encrypts, and verifies before it decrypts.
    bodies: tuple[Literal["as sent", "opened"], ...] = ("as sent",) if body is None else ("opened", "as sent")
    for options in itertools.product(bodies, *written.values()):
        said: Any = dict(zip(("body", "", *_CHOICES), options, strict=True))
        del said[""]
        reading = Reading(**said)
        chosen = itertools.chain.from_iterable(
            parts[option] for parts, option in zip(written.values(), options[1:], strict=True)
        )
        data = [part for _, part in sorted(chosen)]
        if body is not None and reading.body == "opened":
            data[BODY_AT] = body
        yield reading, data


def _written(
    packet: UserMessage, fields: tuple[Hashed, ...], choice: str, reading: Reading
) -> list[tuple[int, bytes]]:
    return [(at, one.write(packet, reading)) for at, one in enumerate(fields) if one.by == choice]
