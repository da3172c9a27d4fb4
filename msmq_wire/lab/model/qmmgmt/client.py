"""The client of qmmgmt: what an administrator asks of a queue manager. [MS-MQMR] 3.2

The rule kept here: the driver speaks to nobody. Each operation is a generator of steps ``(method, request)``
that is sent the `CallResult` of each, and returns what came of it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.interfaces.qmmgmt import QMMgmtActionRequest, QMMgmtGetInfoRequest
from msmq_wire.rpc.management_properties import NO_VALUE, ManagementValue, read_value
from msmq_wire.rpc.properties import PROPERTIES, PropertyKind
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.wchar_text import WcharText

_MOST_PROPERTIES = 128


class ManagementResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question: ``values`` by PROPID, None for one without; empty for a failure."""

    status: int
    values: Mapping[int, ManagementValue | None] = {}


def _object(format_name: str | None) -> MgmtObject:
    if format_name is None:
        return MgmtObject()
    return MgmtObject(type=MgmtObjectType.MGMT_QUEUE, arm=QueueFormat.of(FormatName.parse(format_name)))


def get_info(
    format_name: str | None = None, propids: Sequence[int] = ()
) -> Generator[tuple[str, Any], CallResult, ManagementResult]:
    """Ask for properties of a queue, or without a name of the computer; without ``propids`` for all of them.

    Raises `FormatNameError` for what is no name, ValueError for more than 128 properties. [MS-MQMR] 3.1.4.1
    """
    kind = PropertyKind.MANAGEMENT_MACHINE if format_name is None else PropertyKind.MANAGEMENT_QUEUE
    asked = tuple(propids) or tuple(PROPERTIES[kind])
    if len(asked) > _MOST_PROPERTIES:
        raise ValueError(f"a call names 1 to {_MOST_PROPERTIES} properties")
    request = QMMgmtGetInfoRequest(
        p_object_format=_object(format_name),
        cp=len(asked),
        a_prop=asked,
        ap_var=(NO_VALUE,) * len(asked),
    )
    answer = yield "R_QMMgmtGetInfo", request
    status = _status(answer)
    if status != Status.MQ_OK:
        return ManagementResult(status=status)
    values = answer.response.ap_var
    if len(values) != len(asked):
        return ManagementResult(status=Status.MQ_ERROR)
    return ManagementResult(
        status=status,
        values={propid: read_value(value, propid, kind) for propid, value in zip(asked, values, strict=True)},
    )


def act(
    action: ManagementAction, format_name: str | None = None
) -> Generator[tuple[str, Any], CallResult, int]:
    """Have a queue, or without a name the computer, do something; the status. [MS-MQMR] 3.1.4.2"""
    request = QMMgmtActionRequest(p_object_format=_object(format_name), lpwsz_action=WcharText.of(action))
    return _status((yield "R_QMMgmtAction", request))


def _status(answer: CallResult) -> int:
    """The status of an answer; a fault is a failure as any other."""
    if answer.fault is not None:
        return answer.fault or Status.MQ_ERROR
    return Status.MQ_OK if answer.status is None else answer.status
