"""What `build_message` refuses before it makes a packet: each argument by its name, its value and its range.

The rule kept here: a limit is the one of the field that holds the argument, never a number of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal, get_args

from msmq_wire.arguments import check_text, nearest, out_of_range, shown, wrong_type
from msmq_wire.buffers import as_bytes
from msmq_wire.errors import EncodeError
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE, BaseHeader
from msmq_wire.wire.headers.message_properties_header import MAX_LABEL_LENGTH, MessagePropertiesHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID

Acknowledgment = Literal["pa", "pr", "na", "nr"]
Delivery = Literal["express", "recoverable"]

_NUMBERS = (
    "time_to_reach_queue",
    "time_to_be_received",
    "sent_time",
    "message_id",
    "message_class",
    "application_tag",
)
_MADE = {
    "base_header": "priority, time_to_reach_queue",
    "user_header": "queue, delivery, message_id and others",
    "message_properties_header": "label, body, message_class and others",
    "transaction_header": "transaction",
}
"""The headers that `build_message` makes, and arguments that it makes them from."""
_HOLDERS: tuple[type[WireStruct], ...] = (BaseHeader, UserHeader, MessagePropertiesHeader)
_FIELDS = {field.name: field for holder in _HOLDERS for field in fields(holder)}


@cache
def _size(name: str) -> int:
    """Bytes of the field of this name."""
    size: int = _FIELDS[name].subcon.sizeof()
    return size


def check(arguments: Mapping[str, Any], headers: Mapping[str, Any]) -> None:
    """Raises EncodeError or TypeError for the first argument of `build_message` that no packet can have."""
    _check_headers(headers, arguments)
    _check_queues(arguments)
    _check_guids(arguments)
    _check_numbers(arguments)
    _check_label(arguments["label"])
    _check_correlation_id(arguments["correlation_id"])
    _check_delivery(arguments["delivery"])
    _check_header("transaction", arguments["transaction"], TransactionHeader)
    _check_acknowledge(arguments["acknowledge"], arguments["admin_queue"])
    for name in ("sign", "seal"):
        if arguments[name] is not None and not callable(getattr(arguments[name], name, None)):
            raise TypeError(wrong_type(name, f"an object with a method {name!r}", arguments[name]))


def _check_headers(headers: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    known = {field.name: field for field in fields(UserMessage) if field.optional}
    for name, value in headers.items():
        if name in _MADE:
            raise TypeError(f"build_message makes {name} from other arguments: {_MADE[name]}")
        if name not in known:
            near = nearest(name, [*arguments, *known])
            raise TypeError(f"build_message takes no {name!r}{f': did you mean {near!r}?' if near else ''}")
        if name == "debug_header" and value is not None and arguments["report_queue"] is not None:
            raise EncodeError("debug_header is made from report_queue: give one of them")
        _check_header(name, value, *known[name].structures)


def _check_header(name: str, value: Any, *kinds: type[WireStruct]) -> None:
    if value is not None and not isinstance(value, kinds):
        raise TypeError(wrong_type(name, f"a {' or '.join(kind.__name__ for kind in kinds)}", value))


def _check_queues(arguments: Mapping[str, Any]) -> None:
    for name in ("queue", "admin_queue", "response_queue"):
        absent = arguments[name] is None and name != "queue"
        if not absent and not isinstance(arguments[name], str | FormatName):
            raise TypeError(wrong_type(name, "a format name, as text or FormatName", arguments[name]))


def _check_guids(arguments: Mapping[str, Any]) -> None:
    for name in ("source_queue_manager", "queue_manager_address", "connector_type", "report_queue"):
        value = arguments[name]
        absent = value is None and name != "source_queue_manager"
        if not absent and not isinstance(value, GUID):
            hint = GUID.MADE_BY if isinstance(value, str) else ""
            raise TypeError(wrong_type(name, "a GUID", value, hint))


def _check_numbers(arguments: Mapping[str, Any]) -> None:
    names = _NUMBERS if arguments["body_type"] is None else (*_NUMBERS, "body_type")
    for name in names:
        value = arguments[name]
        if isinstance(value, datetime):
            raise TypeError(wrong_type(name, "seconds since 1970", value, "int(when.timestamp())"))
        if isinstance(value, timedelta):
            raise TypeError(wrong_type(name, "seconds", value, "int(span.total_seconds())"))
        _refuse(out_of_range(name, value, (1 << 8 * _size(name)) - 1))
    bits = BaseHeader.BITS
    assert bits is not None
    _refuse(out_of_range("priority", arguments["priority"], (1 << bits.bits["pr"].width) - 1))


def _check_label(value: Any) -> None:
    check_text("label", value)
    # A character outside of the basic plane is two units; the terminator is one.
    units = len(value.encode("utf-16-le", "surrogatepass")) // 2
    if units >= MAX_LABEL_LENGTH:
        raise EncodeError(f"label has {units} UTF-16 units: it has at most {MAX_LABEL_LENGTH - 1}")
    if "\0" in value:
        raise EncodeError(f"label is {shown(value)}: it contains no NUL")


def _check_correlation_id(value: Any) -> None:
    length, given = _size("correlation_id"), len(as_bytes(value, "correlation_id"))
    if given != length:
        raise EncodeError(f"correlation_id has {given} bytes: it has {length}")


def _check_delivery(value: Any) -> None:
    known = get_args(Delivery)
    if value not in known:
        meant = nearest(value, ("transactional", "transaction"))
        hint = "; for a transaction give transaction=TransactionHeader(...)" if meant else ""
        raise EncodeError(f"delivery is {shown(value)}: it is {' or '.join(map(repr, known))}{hint}")


def _check_acknowledge(value: Any, admin_queue: object) -> None:
    if isinstance(value, str | bytes) or not isinstance(value, Collection):
        raise TypeError(wrong_type("acknowledge", "a list of names", value, "acknowledge=['pa', 'na']"))
    known = get_args(Acknowledgment)
    for name in value:
        if name not in known:
            raise EncodeError(f"acknowledge has {shown(name)}: it has any of {', '.join(known)}")
    if value and admin_queue is None:
        raise EncodeError("acknowledge needs admin_queue=, the queue that gets the acknowledgments")


def check_size(packet: UserMessage, **parts: bytes) -> None:
    """The packet is not too large. Raises EncodeError with the sizes of its parts."""
    size = packet.base_header.packet_size
    if size > MAX_PACKET_SIZE:
        sizes = ", ".join(f"{name} has {len(value)}" for name, value in parts.items() if value)
        raise EncodeError(f"the packet has {size} bytes: it has at most {MAX_PACKET_SIZE} ({sizes})")


def refused(anomaly: Anomaly, arguments: Mapping[str, Any]) -> EncodeError:
    """The error for a rule that the packet breaks, with the argument where one made the field."""
    name = anomaly.path.rpartition(".")[2]
    if name in arguments:
        return EncodeError(f"{name} is {shown(arguments[name])}: {anomaly.message}", path=anomaly.path)
    return EncodeError(anomaly.message, path=anomaly.path)


def _refuse(problem: str) -> None:
    if problem:
        raise EncodeError(problem)
