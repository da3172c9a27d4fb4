"""Properties of a queue by PROPID: read, checked and set on the model's `Queue`.

[MS-MQMP] 3.1.1.12 says which attribute a number is and for which methods; types and values are those of
[MS-MQMQ] 2.3.1. The rule kept here: properties are checked all together before one of them is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from msmq_wire.errors import FormatNameError
from msmq_wire.model.elements import Queue
from msmq_wire.model.enumerations import QueueType
from msmq_wire.model.security_descriptor import default_security
from msmq_wire.model.timers import INFINITE
from msmq_wire.names import FormatName, QueueFormatType
from msmq_wire.rpc.properties import QUEUE_ATTRIBUTES, PropertyKind, find_property
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["Purpose", "check_properties", "get_property", "set_properties", "set_queue_defaults"]

Purpose: TypeAlias = Literal["create", "set", "get"]
"""Why properties are named: for R_QMCreateObjectInternal, R_QM{Set,Get}ObjectProperties."""

_LABEL_LIMIT = 124
_PRIVACY_LEVELS = (0, 1, 2)
_OF_PRIVATE_QUEUES = 0
_OPTIONAL = 1


def set_queue_defaults(queue: Queue) -> None:
    """Set Queue Defaults. [MS-MQDMPR] 3.1.7.1.33"""
    queue.label = ""
    queue.type = NULL_GUID
    queue.journaling = False
    queue.quota = queue.journal_quota = INFINITE
    queue.authentication = False
    queue.privacy_level = _OPTIONAL
    queue.transactional = False
    queue.multicast_address = ""
    queue.security = default_security()
    queue.base_priority = 0


def _type(propid: int) -> int:
    found = find_property(propid, PropertyKind.QUEUE)
    # Every row of QUEUE_ATTRIBUTES is a queue property with a type.
    assert found is not None
    assert found.vt is not None
    return found.vt


def check_properties(propids: Sequence[int], values: Sequence[PropVariant], purpose: Purpose) -> int:
    """MQ_OK, or the status of the first rule that the arrays break; nothing is changed.

    In order: identifiers that ``purpose`` does not know (MQ_ERROR_PROPERTY), types (for create
    MQ_ERROR_ILLEGAL_PROPERTY_VT, else MQ_ERROR_PROPERTY; VT_NULL is any type to get), and values that the
    property does not allow (MQ_ERROR_ILLEGAL_PROPERTY_VALUE). [MS-MQMP] 3.1.4.5, 3.1.4.9, 3.1.4.10
    """
    for propid in propids:
        row = QUEUE_ATTRIBUTES.get(propid)
        if row is None or not getattr(row, purpose):
            return Status.MQ_ERROR_PROPERTY
    pairs = list(zip(propids, values, strict=True))
    for propid, value in pairs:
        if value.vt != _type(propid) and not (purpose == "get" and value.vt == BodyType.VT_NULL):
            return Status.MQ_ERROR_ILLEGAL_PROPERTY_VT if purpose == "create" else Status.MQ_ERROR_PROPERTY
    if purpose != "get" and not all(_allowed(propid, value.arm) for propid, value in pairs):
        return Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE
    return Status.MQ_OK


def _allowed(propid: int, value: Any) -> bool:
    if value is None:
        return False
    match QUEUE_ATTRIBUTES[propid].attribute:
        case "journaling" | "authentication" | "transactional":
            return value in (0, 1)
        case "privacy_level":
            return value in _PRIVACY_LEVELS
        case "label":
            return len(_text(value).encode("utf-16-le", "surrogatepass")) <= 2 * _LABEL_LIMIT
        case "multicast_address":
            return _multicast(_text(value))
    return True


def _text(value: WcharText) -> str:
    """The characters before the first null; a lone surrogate stays one."""
    return bytes(value).decode("utf-16-le", "surrogatepass").partition("\0")[0]


def _multicast(address: str) -> bool:
    try:
        FormatName(kind=QueueFormatType.MULTICAST, address=address)
    except FormatNameError:
        return False
    return True


def set_properties(queue: Queue, propids: Sequence[int], values: Sequence[PropVariant]) -> None:
    """Set what `check_properties` found right, in order.

    A path name is given otherwise and stays; the base priority of a private queue is always 0.
    """
    for propid, value in zip(propids, values, strict=True):
        attribute = QUEUE_ATTRIBUTES[propid].attribute
        if attribute == "pathname":
            continue
        if attribute == "base_priority" and queue.queue_type is QueueType.PRIVATE:
            queue.base_priority = _OF_PRIVATE_QUEUES
            continue
        setattr(queue, attribute, _read(propid, value.arm))
        if attribute == "journal_quota" and queue.journal_queue_reference is not None:
            queue.journal_queue_reference.quota = queue.journal_quota


def _read(propid: int, value: Any) -> Any:
    match _type(propid):
        case BodyType.VT_UI1:
            return bool(value)
        case BodyType.VT_LPWSTR:
            return _text(value)
        case BodyType.VT_CLSID:
            return GUID(value)
    return value


def _qualified_pathname(queue: Queue) -> str:
    manager = queue.queue_manager
    computer = manager.qualified_computer_name or manager.computer_name
    return computer + "\\" + queue.pathname.partition("\\")[2]


# Attributes that are worked out; a queue of the model is in no directory.
_MADE: dict[str, Callable[[Queue], Any]] = {
    "qualified_pathname": _qualified_pathname,
    "directory_path": lambda _: "",
}


def get_property(queue: Queue, propid: int) -> PropVariant:
    """The value of a property that `check_properties` takes to get, with the type of the property.

    Text that the queue does not have is NULL.
    """
    attribute, vt = QUEUE_ATTRIBUTES[propid].attribute, _type(propid)
    value = _MADE[attribute](queue) if attribute in _MADE else getattr(queue, attribute)
    match vt:
        case BodyType.VT_LPWSTR:
            value = WcharText.of(value) if value or attribute == "label" else None
        case BodyType.VT_I4:
            value = (value + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000
        case BodyType.VT_UI1:
            value = int(value)
    return PropVariant(vt=int(vt), arm=value)
