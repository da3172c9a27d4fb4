"""Valid values of a structure to start from: parts there and not, each layout, lists and texts by length."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from msmq_wire.corpus.valid import FINAL_CLASSES, acknowledgment, encodes, sent_by, valid
from msmq_wire.engines import reference
from msmq_wire.wire.fields import (
    Align,
    Bytes,
    Choice,
    Field,
    Fill,
    Items,
    Node,
    Opt,
    Rest,
    WireStruct,
    ZeroTerminated,
    fields,
)
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

DIRECT_NAMES = (
    r"OS:host\private$\orders",
    r"OS:a\q",
    r"TCP:192.0.2.1\public",
    r"TCP:2001:db8::1\private$\q",
    r"HTTP://example.com/msmq/private$/q",
    r"HTTPS://example.com:8443/msmq/q",
)
"""A direct name of each protocol, of several lengths."""
_DECLARED = frozenset(STRUCTURES.values())
_TEXTS = ("", "a", "ab", "abc", "abcd", "\u00e4\u20ac\U0001f600")
_SIZES = (0, 1, 2, 3, 4, 5, 63)
_NUMBERS = (1, 2, 3)
"""Elements of a list of numbers."""
_LISTS = (0, 1, 2, 4)
_INSIDE_PACKETS = 12
"""Values of a part that a structure around it is tried with."""


@cache
def bases(cls: type[WireStruct]) -> tuple[Any, ...]:
    """Valid values, the default first and the one with every part second; no two have the same bytes."""
    found: dict[bytes, Any] = {}
    for value in _candidates(cls):
        checked = valid(value)
        found.setdefault(reference.build(checked), checked)
    return tuple(found.values())


def scalar_bases(cls: type[bytes]) -> tuple[Any, ...]:
    """Values of a type that is bytes alone."""
    if issubclass(cls, FixedWcharText):
        return tuple(cls.padded(text, 64) for text in _TEXTS)
    if issubclass(cls, WcharText):
        return tuple(cls.of(text) for text in _TEXTS)
    return (cls(bytes(16)), cls(_pattern(16)), cls(b"\xff" * 16))


def _candidates(cls: type[WireStruct]) -> Iterator[Any]:
    if issubclass(cls, OrderAck | FinalAck):
        yield from _acknowledgments(cls)
        return
    default = cls()
    choices = {field.name: _candidate_values(default, field) for field in fields(cls) if not field.position}
    yield default
    whole = msgspec.structs.replace(default, **{name: all_[-1] for name, all_ in choices.items() if all_})
    yield sent_by(whole) if isinstance(whole, SecurityHeader) else whole
    for name, all_ in choices.items():
        for value in all_:
            changed = msgspec.structs.replace(default, **{name: value})
            yield sent_by(changed) if isinstance(changed, SecurityHeader) else changed


def _candidate_values(default: WireStruct, field: Field) -> tuple[Any, ...]:
    """Values that a field of the structure can hold.

    A case of a choice may need more than a fit can change: QueueManagerAddress is an AddressOverlay in remote
    read only.
    """
    values = _values(field, field.subcon)
    if not isinstance(field.subcon, Choice):
        return values
    return tuple(one for one in values if encodes(msgspec.structs.replace(default, **{field.name: one})))


def _acknowledgments(cls: Any) -> Iterator[Any]:
    bodies = [reference.build(one) for one in bases(STRUCTURES[next(iter(cls.INSIDE))])]
    yield acknowledgment(cls, bodies[0])
    yield acknowledgment(cls, bodies[-1], direct=True, message_id=0x01020304, reserved=0xA5)
    for body in bodies:
        yield acknowledgment(cls, body)
    for message_class in FINAL_CLASSES:
        yield acknowledgment(cls, bodies[0], message_class=message_class)


def _values(field: Field, subcon: Any) -> tuple[Any, ...]:
    """Values of a field, the one with the most parts last; none where its default is all that there is."""
    match subcon:
        case Opt():
            return (None, *_values(field, subcon.subcon))
        case Choice():
            cases = {id(case): case for case in subcon.cases.values()}.values()
            return tuple(one for case in cases for one in ((None,) if case is None else _values(field, case)))
        case Items():
            elements = _values(field, subcon.subcon) or _NUMBERS
            lists = [tuple(elements[at % len(elements)] for at in range(size)) for size in _LISTS]
            return (*((one,) for one in elements), *lists)
        case Node():
            # A part that is no structure of its own may need the one around it to be written.
            alone = subcon.cls in _DECLARED
            return _few(bases(subcon.cls) if alone else tuple(_candidates(subcon.cls)))
        case Rest() | Fill() | Align():
            return ()
        case ZeroTerminated():
            return tuple(map(WcharText.of, DIRECT_NAMES))
        case Bytes(kind=kind, length=length):
            return _octets(field, kind, length)
    return () if field.names is None else tuple(int(one) for one in field.names)


def _few(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Some of them, those in front among them; the second, which has every part, last."""
    some = values[:1] + values[2:]
    return (*some[:: max(1, len(some) // _INSIDE_PACKETS)], *values[1:2])


def _octets(field: Field, kind: Any, length: Any) -> tuple[Any, ...]:
    if issubclass(kind, FixedWcharText):
        return scalar_bases(kind)
    if field.name == "direct_format_name":
        return tuple(map(WcharText.of, DIRECT_NAMES))
    if issubclass(kind, WcharText):
        return (kind(), *map(kind.of, _TEXTS))
    if callable(length):
        return tuple(kind(_pattern(size)) for size in _SIZES)
    return (kind(bytes(length)), kind(_pattern(length)))


def _pattern(size: int) -> bytes:
    """Bytes of which neighbours differ."""
    return bytes(0x10 + at % 0xE0 for at in range(size))
