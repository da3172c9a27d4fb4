"""Requests about queue objects that no server may grant. [MS-MQMP] 3.1.4.5 to 3.1.4.11

The rule kept here: all that is needed stands in the request, and a value that was not decoded breaks nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.errors import DecodeError, FormatNameError
from msmq_wire.replay.observed_call import number
from msmq_wire.replay.rules.buffers import Broken, Refusal, above, missing, outside
from msmq_wire.rpc.properties import QUEUE_ATTRIBUTES, PropertyKind, find_property
from msmq_wire.rpc.queue_properties import Purpose, check_properties
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor
from msmq_wire.wire.names import PathName
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText

_LARGEST_DESCRIPTOR = 524_288
_LONG_NAME = 512
_PARTS = 0x0000_000F


def _object(request: Any) -> ObjectFormat | None:
    found = getattr(request, "p_object_format", None)
    return found if isinstance(found, ObjectFormat) else None


def _no_queue_object(request: Any) -> bool:
    return number(_object(request), "obj_type") not in (None, 1)


def _no_queue_format(request: Any) -> bool:
    found = _object(request)
    return found is not None and found.obj_type == 1 and found.arm is None


def _named_already(request: Any) -> bool:
    found = _object(request)
    arm = None if found is None else found.arm
    return isinstance(arm, QueueFormat) and bool(number(arm, "m_qft"))


def _no_private_path(request: Any) -> bool:
    path = getattr(request, "lpwcs_path_name", None)
    return isinstance(path, WcharText) and "\\private$\\" not in path.text.lower()


def _no_path(request: Any) -> bool:
    path = getattr(request, "lpwcs_path_name", None)
    if not isinstance(path, WcharText):
        return False
    try:
        PathName.parse(path.text)
    except FormatNameError:
        return True
    return False


def _nameless(request: Any) -> bool:
    found = _object(request)
    arm = None if found is None else found.arm
    if not isinstance(arm, QueueFormat) or arm.arm is msgspec.UNSET or arm.format_name is not None:
        return False
    # Of names that are too long RPC-FMTLEN tells.
    return not isinstance(arm.arm, WcharText) or len(arm.arm) <= _LONG_NAME


def _properties(request: Any) -> list[tuple[int, PropVariant]]:
    names, values = getattr(request, "a_prop", None), getattr(request, "ap_var", None)
    if not isinstance(names, tuple) or not isinstance(values, tuple):
        return []
    pairs = list(zip(names, values, strict=False))
    return [
        (name, value)
        for name, value in pairs
        if isinstance(name, int) and isinstance(value, PropVariant) and isinstance(value.vt, int)
    ]


def _unknown_property(request: Any) -> bool:
    return any(name not in QUEUE_ATTRIBUTES for name, _ in _properties(request))


def _not_for(purpose: Purpose) -> Broken:
    return lambda request: any(
        not getattr(QUEUE_ATTRIBUTES[name], purpose)
        for name, _ in _properties(request)
        if name in QUEUE_ATTRIBUTES
    )


def _other_type(request: Any, *also: int) -> bool:
    for name, value in _properties(request):
        known = find_property(name, PropertyKind.QUEUE)
        if known is not None and value.vt != known.vt and value.vt not in also:
            return True
    return False


def _no_type(request: Any) -> bool:
    return any(value.vt == BodyType.VT_NULL for _, value in _properties(request))


def _bad_value(purpose: Purpose) -> Broken:
    def broken(request: Any) -> bool:
        pairs = [
            (name, value)
            for name, value in _properties(request)
            if isinstance(value.arm, int) or (isinstance(value.arm, WcharText) and len(value.arm) % 2 == 0)
        ]
        names, values = [name for name, _ in pairs], [value for _, value in pairs]
        return check_properties(names, values, purpose) == Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE

    return broken


def _counted(request: Any) -> bool:
    names, values, count = (getattr(request, name, None) for name in ("a_prop", "ap_var", "cp"))
    arrays = [one for one in (names, values) if isinstance(one, tuple)]
    return isinstance(count, int) and any(len(one) != count for one in arrays)


def _count(request: Any) -> bool:
    count = number(request, "cp")
    return count is not None and not 1 <= count <= 128


def _descriptor_without_bytes(request: Any) -> bool:
    return missing("p_security_descriptor")(request) and bool(number(request, "sd_size"))


def _no_descriptor(request: Any) -> bool:
    given, size = getattr(request, "p_security_descriptor", None), number(request, "sd_size")
    if not isinstance(given, bytes) or size != len(given):
        return False
    try:
        SecurityDescriptor.parse(given)
    except DecodeError:
        return True
    return False


OBJECT_REFUSALS = (
    Refusal("object-type", "an object that is not a queue", outside("dw_object_type", frozenset({1}))),
    Refusal("path-of-no-private-queue", "a path name that is not of a private queue", _no_private_path),
    Refusal("no-path", "a text that is not a path name", _no_path, certain=False),
    Refusal("object-of-no-queue", "an OBJECT_FORMAT that names no queue", _no_queue_object),
    Refusal("object-without-format", "an OBJECT_FORMAT without a QUEUE_FORMAT", _no_queue_format),
    Refusal("format-given", "a format name in a parameter in which the server returns it", _named_already),
    Refusal("object-without-name", "a name that is not a format name", _nameless, certain=False),
    Refusal("parts-to-set", "an undefined SecurityInformation", above("security_information", _PARTS)),
    Refusal("parts-to-get", "an undefined RequestedInformation", above("requested_information", _PARTS)),
    Refusal("large-descriptor", "an SDSize above 524288", above("sd_size", _LARGEST_DESCRIPTOR)),
    Refusal("large-descriptor-room", "an nLength above 524288", above("n_length", _LARGEST_DESCRIPTOR)),
    Refusal("no-security-descriptor", "no security descriptor", missing("p_security_descriptor")),
    Refusal("size-without-descriptor", "an SDSize without a descriptor", _descriptor_without_bytes),
    Refusal("broken-descriptor", "bytes that are not a security descriptor", _no_descriptor, certain=False),
    Refusal("property-count", "a cp that is 0 or above 128", _count),
    Refusal(
        "no-properties",
        "no properties",
        lambda request: missing("a_prop")(request) or missing("ap_var")(request),
    ),
    Refusal("property-arrays", "arrays that do not hold cp elements", _counted),
    Refusal("unknown-property", "a number that is not a property of a queue", _unknown_property),
    Refusal(
        "property-not-to-create",
        "a property that cannot be given when a queue is created",
        _not_for("create"),
    ),
    Refusal("property-not-to-set", "a property that cannot be set", _not_for("set")),
    Refusal("value-without-type", "a value without a type", _no_type, "a failure", certain=False),
    Refusal("type-to-create", "a value of another type than its property", _other_type),
    Refusal(
        "type",
        "a value of another type than its property",
        lambda request: _other_type(request, BodyType.VT_NULL),
        "a failure",
        certain=False,
    ),
    Refusal("value-to-create", "a value that its property cannot have", _bad_value("create")),
    Refusal("value-to-set", "a value that its property cannot have", _bad_value("set")),
)
"""What forbids to work on a queue object, in the order in which it is told."""
