"""How fields are written before they are hashed, where [MS-MQMQ] 2.5 does not say it.

The rule kept here: a `HashInterpretation` names each choice; the first choice is the bytes of the packet.
`msmq_wire.sealing.hashed` lists the hashed fields and their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.mqf_format_name_element import element_format_name

_BEFORE_ELEMENTS, _BEFORE_COUNT = 12, 8
"""Bytes of an MQFAddressHeader before its FormatNameList, and before ElementCount. [MS-MQMQ] 2.2.20.2"""
_NUL = b"\0\0"


class _Text(msgspec.Struct, frozen=True):
    """A format name in UTF-16. [MS-MQMQ] 2.1 allows several spellings of GUIDs and numbers."""

    terminated: bool
    capitals: bool
    short: bool

    def __str__(self) -> str:
        name = "terminated texts" if self.terminated else "texts"
        return name + " in capitals" * self.capitals + " with short numbers" * self.short

    def encoded(self, text: str) -> bytes:
        kind, equals, rest = text.partition("=")
        if kind != "DIRECT":
            guid, slash, number = rest.partition("\\")
            if self.capitals:
                guid, number = guid.upper(), number.upper()
            if self.short:
                number = number.lstrip("0") or "0" * bool(number)
            text = kind + equals + guid + slash + number
        return _utf16(text, self.terminated)


_TEXTS: Final[Mapping[str, _Text]] = {
    str(one): one
    for one in itertools.starmap(_Text, itertools.product((False, True), (False, True), (False, True)))
}
_STRUCTURES = ("structures", "structures without padding", "strings", "strings without a NUL")
_LISTS = (
    "elements",
    "elements without padding",
    "count and elements",
    "header",
    "all elements",
    "all elements without padding",
    "all headers",
    "texts",
    "terminated texts",
    "one text",
    "one terminated text",
)


class HashInterpretation(msgspec.Struct, frozen=True, kw_only=True):
    """How fields are written of which the document does not say it.

    ``queues``: as the structures of the packet, with the padding behind direct names or without, the strings
    of direct names alone, or format names in UTF-16. ``absent``: what a terminated text is of a queue that is
    not there. ``same``: what the response queue is where it is the administration queue (RQ 1). ``label``: as
    in the packet, without its NUL, or a NUL where there is none. ``connector``: what stands for one that is
    absent. ``lists``: the elements of the destinations or of all lists, headers before them, format names.
    ``body``: as the packet has it, or opened where it is encrypted.
    """

    queues: str = "structures"
    absent: str = "nothing"
    same: str = "nothing"
    label: str = "with its NUL"
    connector: str = "nothing"
    lists: str = "elements"
    body: str = "as sent"

    def __str__(self) -> str:
        said = [
            f"queues as {self.queues}",
            f"label {self.label}",
            f"{self.connector} for no ConnectorType",
            f"lists as {self.lists}",
            f"body {self.body}",
        ]
        if self.absent != PLAIN.absent:
            said.insert(1, f"{self.absent} for no queue")
        if self.same != PLAIN.same:
            said.insert(1, f"{self.same} for the same queue")
        return ", ".join(said)


PLAIN: Final = HashInterpretation()
"""The plainest choices: fields as in the packet, no bytes for absent fields."""
_SAME = ("nothing", "the administration queue")


def _of_queues() -> Iterator[dict[str, str]]:
    for same in _SAME:
        for form in (*_STRUCTURES, *_TEXTS):
            yield {"queues": form, "same": same}
            if form in _TEXTS and _TEXTS[form].terminated:
                yield {"queues": form, "same": same, "absent": "a NUL"}


def _options(choice: str, *names: str) -> tuple[Mapping[str, str], ...]:
    return tuple({choice: name} for name in names)


CHOICES: Final[Mapping[str, tuple[Mapping[str, str], ...]]] = {
    "queues": tuple(_of_queues()),
    "label": _options("label", "with its NUL", "without its NUL", "a NUL for none"),
    "connector": _options("connector", "nothing", "zeros"),
    "lists": _options("lists", *_LISTS),
}
"""The values of each choice of a `HashInterpretation`; the first one is in `PLAIN`."""


def queue_bytes(header: UserHeader, name: str, reading: HashInterpretation) -> bytes:
    """Write ``response_queue``, ``admin_queue`` or ``destination_queue`` by a reading."""
    value = getattr(header, name)
    if name == "response_queue" and reading.same != PLAIN.same and _is_same(header):
        name, value = "admin_queue", header.admin_queue
    if value is None:
        return _NUL if reading.absent != PLAIN.absent else b""
    text = _TEXTS.get(reading.queues)
    if text is not None:
        format_name = header.format_name(name)
        return b"" if format_name is None else text.encoded(format_name)
    data = _built(value)
    if isinstance(value, DirectQueueFormatName) and reading.queues != "structures":
        string = bytes(value.direct_format_name)
        if reading.queues == "structures without padding":
            return data[: 2 + len(string)]
        return string if reading.queues == "strings" else string.removesuffix(_NUL)
    return data


def _is_same(header: UserHeader) -> bool:
    return header.bit("rq") == QueueType.SAME_AS_ADMIN_QUEUE


# Names come again and again, and are short: lists of them are not kept.
@lru_cache(maxsize=64)
def _built(value: WireStruct) -> bytes:
    return bytes(type(value).schema().build(value))


def label_bytes(label: bytes, reading: HashInterpretation) -> bytes:
    """Write the label by a reading."""
    if reading.label == "without its NUL":
        return label.removesuffix(_NUL)
    return _NUL if not label and reading.label == "a NUL for none" else label


def connector_bytes(connector: Any, reading: HashInterpretation) -> bytes:
    """Write ConnectorType by a reading."""
    if isinstance(connector, GUID):
        return bytes(connector)
    return bytes(NULL_GUID) if reading.connector == "zeros" else b""


def lists_bytes(header: MultiQueueFormatHeader | None, reading: HashInterpretation) -> bytes:
    """Write the lists of queues by a reading; no bytes without lists."""
    if header is None:
        return b""
    how = reading.lists
    others = (header.administration, header.response) if how.startswith("all ") else ()
    there = [one for one in (header.destination, *others) if one is not None]
    if how.endswith(("text", "texts")):
        names = [element_format_name(one) for each in there for one in each.format_name_list]
        texts = [one for one in names if one is not None]
        texts = texts if how.endswith("texts") else [",".join(texts)]
        return b"".join(_utf16(text, "terminated" in how) for text in texts)
    return b"".join(_list_bytes(one, how) for one in there)


# Every reading of one packet asks for the same few; `forget_lists` is called behind them.
@lru_cache(maxsize=3)
def _built_list(header: MQFAddressHeader) -> bytes:
    return bytes(header.schema().build(header))


def forget_lists() -> None:
    """Clear the cache of lists, which can be large."""
    _built_list.cache_clear()


def _list_bytes(header: MQFAddressHeader, how: str) -> bytes:
    """A list of queues up to its HeaderSize, without the padding before the next header."""
    data = _built_list(header)
    if how.endswith("without padding"):
        return data[_BEFORE_ELEMENTS : len(data) - len(header.padding)]
    data = data[: header.header_size]
    if "header" in how:
        return data
    return data[_BEFORE_COUNT if how.startswith("count") else _BEFORE_ELEMENTS :]


def _utf16(text: str, terminated: bool) -> bytes:
    return (text + "\0" * terminated).encode("utf-16-le", "surrogatepass")
