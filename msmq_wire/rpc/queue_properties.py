"""Properties of queues by PROPID as they come in calls: which may be named, of which type, with which value.

[MS-MQMP] 3.1.1.12 says which attribute a number is and for which methods; types and values are those of
[MS-MQMQ] 2.3.1. The rule kept here: properties are checked all together, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msmq_wire.errors import FormatNameError
from msmq_wire.rpc.properties import QUEUE_ATTRIBUTES, PropertyKind, find_property
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText

Purpose: TypeAlias = Literal["create", "set", "get"]
"""Why properties are named: for R_QMCreateObjectInternal, R_QM{Set,Get}ObjectProperties."""

_LABEL_LIMIT = 124
_PRIVACY_LEVELS = (0, 1, 2)


def property_type(propid: int) -> int:
    """The variant type of an attribute of queues."""
    found = find_property(propid, PropertyKind.QUEUE)
    # Every row of QUEUE_ATTRIBUTES is a queue property with a type.
    assert found is not None
    assert found.vt is not None
    return found.vt


def check_properties(propids: Sequence[int], values: Sequence[PropVariant], purpose: Purpose) -> int:
    """MQ_OK, or the status of the first rule that the arrays break.

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
        if value.vt != property_type(propid) and not (purpose == "get" and value.vt == BodyType.VT_NULL):
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
            return len(text_of(value).encode("utf-16-le", "surrogatepass")) <= 2 * _LABEL_LIMIT
        case "multicast_address":
            return _multicast(text_of(value))
    return True


def text_of(value: WcharText) -> str:
    """The characters before the first null; a lone surrogate stays one."""
    return bytes(value).decode("utf-16-le", "surrogatepass").partition("\0")[0]


def _multicast(address: str) -> bool:
    try:
        FormatName(kind=QueueFormatType.MULTICAST, address=address)
    except FormatNameError:
        return False
    return True
