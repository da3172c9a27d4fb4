"""Fields whose JSON form differs from their type: queues, senders, addresses.

The rule kept here: a function takes a whole structure and the one around it, and gives the JSON text of one
field; it raises TypeError or AttributeError for what was not reached.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from msmq_wire.engines.rows.engine import build
from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.engines.text.escaping import json_line, json_string
from msmq_wire.errors import EncodeError, FormatNameError
from msmq_wire.wire import names
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.user_header import QUEUES, UserHeader
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

Shown = Callable[[Any, Any], str]


def base64_string(data: bytes) -> str:
    """Bytes as a JSON string; TypeError for what else a program put in their place."""
    if data.__class__ is not bytes:
        raise TypeError(f"a {type(data).__name__} where bytes belong")
    # Most of what pads is not there.
    return f'"{b2a_base64(data, newline=False).decode("ascii")}"' if data else '""'


def _direct(named: tuple[int, WcharText]) -> str:
    selector, name = named
    return f'{{"type":{selector},"format_name":{json_string(names.direct(name.text))}}}'


def queue_raw(header: UserHeader, name: str) -> bytes | None:
    """The bytes of a queue that its type and format name do not give again; None where they do."""
    queue, selector, shown = getattr(header, name), header.bit(QUEUES[name]), header.format_name(name)
    if queue is None or queue is msgspec.UNSET or selector == QueueType.NONE:
        return None
    try:
        if shown is not None and header.queue_named(selector, shown) == queue:
            return None
    except FormatNameError:
        pass
    return wire_bytes(queue)


def wire_bytes(structure: Any) -> bytes | None:
    """The bytes of a part of a packet; None where a part of it was not reached."""
    try:
        return build(structure)
    except EncodeError:
        return None


def _raw(name: str, data: bytes | None) -> str:
    """The key of bytes that a text does not show, with its comma."""
    return "" if data is None else f',"{name}_raw":{base64_string(data)}'


def queue_view(header: UserHeader, name: str) -> dict[str, Any]:
    """A queue of a header as JSON has it."""
    selector = header.bit(QUEUES[name])
    shown = {"type": selector, "format_name": header.format_name(name)}
    if name == "response_queue" and selector == QueueType.SAME_AS_ADMIN_QUEUE:
        shown["same_as"] = "admin_queue"
    return shown


def _numbered(of: tuple[str, int, Any, GUID, Any]) -> str:
    name, flags, queue, source, address = of
    queues = {name: queue}
    header = UserHeader(source_queue_manager=source, queue_manager_address=address, flags=flags, **queues)
    return _whole_queue(header, name)


def _whole_queue(header: UserHeader, name: str) -> str:
    return json_line(queue_view(header, name)) + _raw(name, queue_raw(header, name))


_direct_names = BoundedCache(_direct)
_numbered_queues = BoundedCache(_numbered)

_ZEROS = (b"", b"\0\0")
_ALL_SELECTORS = 0x7FC00
_NUMBERED = (PrivateQueueFormatNameId, PublicQueueFormatName, PrivateQueueFormatName)
_BY_ADMIN_QUEUE = (QueueType.SAME_AS_ADMIN_QUEUE, QueueType.PRIVATE_ON_ADMIN_QUEUE_HOST)


def _queue(name: str, bits: str) -> Shown:
    """A queue of the UserHeader by its format name: ``{"type": 7, "format_name": "DIRECT=..."}``."""
    table = UserHeader.BITS
    assert table is not None
    shift = table.bits[bits].shift

    def show(header: UserHeader, _: Any) -> str:
        flags, queue = header.flags, getattr(header, name)
        selector = flags >> shift & 7
        if selector == QueueType.NONE:
            if queue is None:
                return "null"
            raise TypeError(f"there is a {name} without a type")
        if queue is msgspec.UNSET:
            raise TypeError(f"{name} was not reached")
        if selector not in _BY_ADMIN_QUEUE:
            if queue.__class__ is DirectQueueFormatName and selector == QueueType.DIRECT:
                direct = queue.direct_format_name
                if queue.padding in _ZEROS and direct and direct.exact:
                    return _direct_names[selector, direct]
                return _direct_names[selector, direct] + _raw(name, wire_bytes(queue))
            if queue.__class__ in _NUMBERED:
                hosts = header.source_queue_manager, header.queue_manager_address
                return _numbered_queues[name, flags & _ALL_SELECTORS, queue, *hosts]
        return _whole_queue(header, name)

    return show


def _name(name: str, by: ShownName) -> Shown:
    def show(holder: WireStruct, _: Any) -> str:
        value = getattr(holder, name)
        text = by.text(value)
        if text is None:
            raise TypeError("the name was not reached")
        written = json_string(text)
        return written if by.whole(value) else written + _raw(name, wire_bytes(value))

    return show


def _text(name: str, by: ShownText) -> Shown:
    def write(typed: tuple[int, bytes]) -> str:
        text = by.text(*typed)
        return base64_string(typed[1]) if text is None else json_string(text)

    kept, value_of = BoundedCache(write), attrgetter(name)
    number_of, mask = attrgetter(by.by.removeprefix("_.")), by.mask
    if not by.by.startswith("_."):
        return lambda holder, _: kept[number_of(holder) & mask, value_of(holder)]
    # What kind it is, only the structure around it says.
    return lambda holder, around: kept[0 if around is None else number_of(around) & mask, value_of(holder)]


def _rest(name: str, by: ShownText) -> Shown:
    """The bytes that a text does not show, with their key and its comma, or nothing."""
    value_of, number_of = attrgetter(name), attrgetter(by.by)

    def show(holder: WireStruct, _: Any) -> str:
        number, value = number_of(holder), value_of(holder)
        if by.shows_all(number, value) or by.text(number, value) is None:
            return ""
        return f',"{name}_raw":{base64_string(value)}'

    return show


def _unless_empty(name: str, show: Shown) -> Shown:
    value_of = attrgetter(name)
    return lambda holder, around: "null" if value_of(holder) == b"" else show(holder, around)


def shown(field: Field) -> Shown | None:
    """What writes a field that is shown other than by its type; None for any other."""
    found: Shown | None = None
    match field.shown:
        case ShownQueue(bits=bits):
            found = _queue(field.name, bits)
        case ShownName() as named:
            found = _name(field.name, named)
        case ShownText() as by:
            found = _text(field.name, by)
    if field.absent_if_empty:
        value_of = attrgetter(field.name)
        found = _unless_empty(field.name, found or (lambda holder, _: base64_string(value_of(holder))))
    return found


def behind(cls: type[WireStruct]) -> Shown | None:
    """What writes a key that stands behind all fields, with its comma, or nothing."""
    by_name = {
        field.name: field.shown
        for field in fields(cls)
        if isinstance(field.shown, ShownText) and field.shown.whole
    }
    return next((_rest(name, by) for name, by in by_name.items()), None)
