"""Fields that JSON shows other than by their type: queues, senders, addresses.

The rule kept here: a function takes a whole structure and the one around it, and gives the JSON text of one
field; it raises TypeError or AttributeError for what was not reached.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from msmq_wire import names
from msmq_wire.engines.text.escaping import json_line, json_string
from msmq_wire.engines.text.kept import Kept
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader, sender_text
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader, address_text
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import AddressType, QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement, element_format_name
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["BEHIND", "SHOWN", "Shown", "base64_string"]

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


def _told(header: UserHeader, name: str) -> str:
    selector = header.bit(_SELECTORS[name])
    shown = {"type": selector, "format_name": header.format_name(name)}
    if name == "response_queue" and selector == QueueType.SAME_AS_ADMIN_QUEUE:
        shown["same_as"] = "admin_queue"
    return json_line(shown)


def _numbered(of: tuple[str, int, Any, GUID, Any]) -> str:
    name, flags, queue, source, address = of
    queues = {name: queue}
    return _told(
        UserHeader(source_queue_manager=source, queue_manager_address=address, flags=flags, **queues), name
    )


_direct_names = Kept(_direct)
_numbered_queues = Kept(_numbered)

_SELECTORS = {"destination_queue": "dq", "admin_queue": "aq", "response_queue": "rq"}
_ALL_SELECTORS = 0x7FC00
_NUMBERED = (PrivateQueueFormatNameId, PublicQueueFormatName, PrivateQueueFormatName)
_BY_ADMIN_QUEUE = (QueueType.SAME_AS_ADMIN_QUEUE, QueueType.PRIVATE_ON_ADMIN_QUEUE_HOST)


def _queue(name: str) -> Shown:
    """A queue of the UserHeader by its format name: ``{"type": 7, "format_name": "DIRECT=..."}``."""
    table = UserHeader.BITS
    assert table is not None
    shift = table.bits[_SELECTORS[name]].shift

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
            if queue.__class__ is DirectQueueFormatName:
                return _direct_names[selector, queue.direct_format_name]
            if queue.__class__ in _NUMBERED:
                hosts = header.source_queue_manager, header.queue_manager_address
                return _numbered_queues[name, flags & _ALL_SELECTORS, queue, *hosts]
        return _told(header, name)

    return show


def _element_name(element: MQFFormatNameElement, _: Any) -> str:
    name = element_format_name(element)
    if name is None:
        raise TypeError("the name was not reached")
    return json_string(name)


def _sender(typed: tuple[int, bytes]) -> str:
    text = sender_text(*typed)
    return base64_string(typed[1]) if text is None else json_string(text)


_senders = Kept(_sender)


def _security_id(data: SecurityData, header: SecurityHeader | None) -> str:
    # Which kind of sender it is, only the header says.
    if data.security_id == b"":
        return "null"
    return _senders[0 if header is None else header.bit("st"), data.security_id]


def _item(name: str) -> Shown:
    """An item of size 0 takes no space: it is not present."""

    def show(data: SecurityData, _: Any) -> str:
        item = getattr(data, name)
        return "null" if item == b"" else base64_string(item)

    return show


def _written_address(typed: tuple[int, bytes]) -> str:
    text = address_text(*typed)
    return base64_string(typed[1]) if text is None else json_string(text)


_addresses = Kept(_written_address)


def _address(holder: AddressOverlay | ExtendedAddressHeader, _: Any) -> str:
    return _addresses[holder.address_type, holder.address]


def _rest_of_address(holder: AddressOverlay | ExtendedAddressHeader, _: Any) -> str:
    address = holder.address
    if holder.address_type == AddressType.IP_ADDRESS_TYPE and len(address) > 4 and any(address[4:]):
        return f',"address_raw":{base64_string(address)}'
    return ""


SHOWN: Mapping[tuple[type[WireStruct], str], Shown] = {
    (UserHeader, "destination_queue"): _queue("destination_queue"),
    (UserHeader, "admin_queue"): _queue("admin_queue"),
    (UserHeader, "response_queue"): _queue("response_queue"),
    (MQFFormatNameElement, "format_name"): _element_name,
    (SecurityData, "security_id"): _security_id,
    (SecurityData, "encryption_key"): _item("encryption_key"),
    (SecurityData, "signature"): _item("signature"),
    (SecurityData, "sender_cert"): _item("sender_cert"),
    (AddressOverlay, "address"): _address,
    (ExtendedAddressHeader, "address"): _address,
}
"""The text of a field."""

BEHIND: Mapping[type[WireStruct], Shown] = {
    AddressOverlay: _rest_of_address,
    ExtendedAddressHeader: _rest_of_address,
}
"""A key that stands behind all fields, with its comma, or nothing."""
