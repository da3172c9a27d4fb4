"""Properties of a queue by PROPID: read and set on the model's `Queue`.

[MS-MQMP] 3.1.1.12 says which attribute a number is and for which methods; types and values are those of
[MS-MQMQ] 2.3.1. The rule kept here: what is set has been checked before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.rpc.properties import QUEUE_ATTRIBUTES
from msmq_wire.rpc.queue_properties import property_type, text_of
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.security_descriptor import default_security
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

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


def set_properties(queue: Queue, propids: Sequence[int], values: Sequence[PropVariant]) -> None:
    """Set what `check_properties` found right, in order.

    A path name is given otherwise and stays; the base priority of a private queue is always 0.
    """
    for propid, value in zip(propids, values, strict=True):
        attribute = QUEUE_ATTRIBUTES[propid].attribute
        if attribute == "pathname":
            continue
        if attribute == "base_priority" and queue.queue_type is ModelQueueType.PRIVATE:
            queue.base_priority = _OF_PRIVATE_QUEUES
            continue
        setattr(queue, attribute, _read(propid, value.arm))
        if attribute == "journal_quota" and queue.journal_queue_reference is not None:
            queue.journal_queue_reference.quota = queue.journal_quota


def _read(propid: int, value: Any) -> Any:
    match property_type(propid):
        case BodyType.VT_UI1:
            return bool(value)
        case BodyType.VT_LPWSTR:
            return text_of(value)
        case BodyType.VT_CLSID:
            return GUID(value)
    return value


def qualified_pathname(queue: Queue) -> str:
    """Queue.QualifiedPathname: the path name with all of the computer's name. [MS-MQDMPR] 3.1.1.2"""
    manager = queue.queue_manager
    computer = manager.qualified_computer_name or manager.computer_name
    return computer + "\\" + queue.pathname.partition("\\")[2]


# Attributes that are worked out; a queue of the model is in no directory.
_MADE: dict[str, Callable[[Queue], Any]] = {
    "qualified_pathname": qualified_pathname,
    "directory_path": lambda _: "",
}


def get_property(queue: Queue, propid: int) -> PropVariant:
    """The value of a property that `check_properties` takes to get, with the type of the property.

    Text that the queue does not have is NULL.
    """
    attribute, vt = QUEUE_ATTRIBUTES[propid].attribute, property_type(propid)
    value = _MADE[attribute](queue) if attribute in _MADE else getattr(queue, attribute)
    match vt:
        case BodyType.VT_LPWSTR:
            value = WcharText.of(value) if value or attribute == "label" else None
        case BodyType.VT_I4:
            value = (value + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000
        case BodyType.VT_UI1:
            value = int(value)
    return PropVariant(vt=int(vt), arm=value)
