"""Questions about a computer or a queue that no server may answer, and answers that are none. [MS-MQMR] 3.1.4

The rule kept here: a call and its answer are all that is needed; figures are the server's to know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.replay.rules.buffers import Refusal
from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.interfaces.qmmgmt import QMMgmtGetInfoRequest
from msmq_wire.rpc.management_properties import WORDS, read_value
from msmq_wire.rpc.properties import find_property, property_name
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText

_NO_VALUE = (BodyType.VT_NULL, BodyType.VT_EMPTY)
_ACTIONS = frozenset(str(one) for one in ManagementAction)


def _object(request: Any) -> MgmtObject | None:
    found = getattr(request, "p_object_format", None)
    return found if isinstance(found, MgmtObject) else None


def _session(request: Any) -> bool:
    return number(_object(request), "type") == MgmtObjectType.MGMT_SESSION


def _no_queue(request: Any) -> bool:
    found = _object(request)
    if found is None or found.type != MgmtObjectType.MGMT_QUEUE:
        return False
    return found.arm is None or (isinstance(found.arm, QueueFormat) and found.arm.m_qft == 0)


def _no_action(request: Any) -> bool:
    text = getattr(request, "lpwsz_action", None)
    return isinstance(text, WcharText) and text.text.partition("\0")[0].upper() not in _ACTIONS


MANAGEMENT_REFUSALS = (
    Refusal("session-object", "MGMT_SESSION", _session),
    Refusal("no-queue-to-manage", "a queue without a name", _no_queue, certain=False),
    Refusal("unknown-action", "an undefined action", _no_action),
)


def judge_state(call: ObservedCall) -> Iterator[tuple[str, str, str, bool]]:
    """Values that the properties cannot have: the check, what is wrong, what is due, and whether certain."""
    request, values = call.request, getattr(call.response, "ap_var", None)
    if not isinstance(request, QMMgmtGetInfoRequest) or not isinstance(values, tuple):
        return
    kind, asked = request.property_kind, request.a_prop
    if kind is None or not isinstance(asked, tuple):
        return
    if len(values) != len(asked):
        yield "number-of-values", f"with {len(values)} values", f"{len(asked)}", True
        return
    for propid, value in zip(asked, values, strict=True):
        found = find_property(propid, kind) if isinstance(propid, int) else None
        if found is None or not isinstance(value, PropVariant) or not isinstance(value.vt, int):
            continue
        name = property_name(propid, kind)
        if value.vt in _NO_VALUE:
            continue
        if value.vt != found.vt:
            due = f"{found.vt:#06x}, or VT_NULL"
            yield "type-of-value", f"with {name} of type {value.vt:#06x}", due, True
        words, text = WORDS[kind].get(propid), read_value(value, propid, kind)
        if words is not None and isinstance(text, str) and text.upper() not in words:
            yield "word-of-value", f"with {name} as another text", ", ".join(sorted(words)), False


def judge_failed_question(call: ObservedCall) -> Iterator[tuple[str, str, str, bool]]:
    """Values that came with a failure; what is told, as by `judge_state`."""
    asked, answered = (getattr(one, "ap_var", None) for one in (call.request, call.response))
    if not isinstance(call.request, QMMgmtGetInfoRequest) or not isinstance(answered, tuple):
        return
    if isinstance(asked, tuple) and answered and answered != asked:
        yield "values-of-failure", "with values", "the values as they were", False
