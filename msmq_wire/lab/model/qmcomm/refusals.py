"""What the RPC runtime refuses before a method of qmcomm runs. [C706] 14, [MS-RPCE] 3.3.1.6

The rule kept here: a request that is let through can be encoded, keeps the bounds of its declaration, and
names only context handles that the client holds.
"""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.errors import EncodeError
from msmq_wire.lab.model.server import Association
from msmq_wire.rpc.constants import ObjectType
from msmq_wire.rpc.interfaces.method import Method
from msmq_wire.rpc.ndr import StubValue, encode_stub, inspect_stub
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.wire.names.queue_format import QueueFormatType

ACCESS_DENIED = 0x00000005
"""RPC_S_ACCESS_DENIED"""
BAD_STUB_DATA = 0x000006F7
"""RPC_X_BAD_STUB_DATA"""
INVALID_TAG = 0x1C000006
"""nca_s_fault_invalid_tag"""
INVALID_BOUND = 0x1C000007
"""nca_s_fault_invalid_bound"""
CONTEXT_MISMATCH = 0x1C00001A
"""nca_s_fault_context_mismatch"""

_KINDS = frozenset(map(int, QueueFormatType))
_OBJECTS = frozenset(map(int, ObjectType))
# What a server with strict checks finds in a stub, and how it says so.
_FAULTS = {
    "ndr.range": INVALID_BOUND,
    "ndr.size-is": INVALID_BOUND,
    "ndr.length-is": BAD_STUB_DATA,
    "ndr.past-max-count": BAD_STUB_DATA,
    "ndr.string-terminator": BAD_STUB_DATA,
}


def refusal(method: Method, request: Any, association: Association) -> int | None:
    """The status of the fault that a request gives; None when the method may run."""
    values = [getattr(request, name, None) for name in method.request.names]
    for value in values:
        fault = _tag(value)
        if fault is not None:
            return fault
    fault = _stub(method, request)
    if fault is not None:
        return fault
    for value in values:
        if isinstance(value, ContextHandle) and association.handles.get(value.uuid) is None:
            return CONTEXT_MISMATCH
    return None


def _tag(value: Any) -> int | None:
    if isinstance(value, ObjectFormat):
        if value.obj_type not in _OBJECTS:
            return INVALID_BOUND
        value = value.arm
    return INVALID_TAG if isinstance(value, QueueFormat) and value.m_qft not in _KINDS else None


def _stub(method: Method, request: Any) -> int | None:
    """What is wrong with the request as a stub, by writing and reading it as one."""
    object_format = getattr(request, "p_object_format", None)
    if isinstance(object_format, ObjectFormat) and object_format.obj_type == ObjectType.LOCAL_USE:
        # The arm for local use is declared nowhere; the methods refuse it.
        request = msgspec.structs.replace(request, p_object_format=ObjectFormat())
    try:
        data = encode_stub(method.request, StubValue(request))
    except EncodeError:
        return BAD_STUB_DATA
    found = inspect_stub(method.request, data)
    if found.error is not None:
        return BAD_STUB_DATA
    return next((_FAULTS[one.code] for one in found.anomalies if one.code in _FAULTS), None)
