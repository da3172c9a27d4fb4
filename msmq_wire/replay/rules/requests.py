"""Requests that no server may grant, whatever it knows. [MS-MQQP] 3.1.4, [MS-MQMP] 3.1.4

The rule kept here: all that is needed stands in the request, and a value that was not decoded breaks nothing.
A rule that says SHOULD, or that some version of Windows does not follow, gives a likely deviation only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from msmq_wire.names import FormatName, QueueFormatType, QueueSuffixType
from msmq_wire.names.queue_format import suffix_problems
from msmq_wire.records.open_queues import read_descriptor
from msmq_wire.replay.call import ObservedCall, number
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation
from msmq_wire.replay.rules.buffers import (
    BOUND,
    RECEIVE_REFUSALS,
    SEND_REFUSALS,
    Broken,
    Refusal,
    above,
    granted,
    missing,
    outside,
)
from msmq_wire.replay.rules.objects import OBJECT_REFUSALS
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc2
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["judge_parameters"]

_RECEIVE, _SEND, _PEEK, _ADMIN = (
    int(AccessMode.MQ_RECEIVE_ACCESS),
    int(AccessMode.MQ_SEND_ACCESS),
    int(AccessMode.MQ_PEEK_ACCESS),
    int(AccessMode.MQ_ADMIN_ACCESS),
)
_TO_READ = frozenset({_RECEIVE, _PEEK})
_TO_OPEN = frozenset({_RECEIVE, _SEND, _PEEK, _RECEIVE | _ADMIN, _PEEK | _ADMIN})
_LARGEST_PACKET, _LARGEST_DESCRIPTOR, _LARGEST_COOKIE = 0x0042_0000, 524_288, 131_072


def _zero(name: str) -> Broken:
    return lambda request: number(request, name) == 0


def _differ(one: str, other: str) -> Broken:
    def broken(request: Any) -> bool:
        first, second = number(request, one), number(request, other)
        return first is not None and second is not None and first != second

    return broken


def _queue(request: Any) -> QueueFormat | None:
    found = getattr(request, "p_queue_format", None)
    return found if isinstance(found, QueueFormat) and found.arm is not msgspec.UNSET else None


def _name(request: Any) -> FormatName | None:
    found = _queue(request)
    return None if found is None else found.format_name


def _kind(*kinds: QueueFormatType) -> Broken:
    return lambda request: (found := _queue(request)) is not None and found.m_qft in kinds


def _suffix(request: Any) -> bool:
    found = _queue(request)
    suffix = number(found, "m_suffix_and_flags")
    return found is not None and suffix is not None and suffix_problems(found.m_qft, suffix) != ()


def _nameless(request: Any) -> bool:
    found = _queue(request)
    return found is not None and found.m_qft != QueueFormatType.UNKNOWN and found.format_name is None


def _http(request: Any) -> bool:
    name = _name(request)
    return name is not None and name.protocol in ("HTTP", "HTTPS")


def _access(request: Any) -> int | None:
    return number(request, "dw_desired_access")


def _outward(request: Any) -> bool:
    name = _name(request)
    outward = name is not None and name.kind is QueueFormatType.MULTICAST
    return (outward or _http(request)) and _access(request) not in (_SEND, None)


def _read_only(request: Any) -> bool:
    name = _name(request)
    if name is None or _access(request) in (_RECEIVE, _PEEK, None):
        return False
    return name.is_system or name.kind in (QueueFormatType.MACHINE, QueueFormatType.CONNECTOR)


def _subqueue(request: Any) -> bool:
    name = _name(request)
    return name is not None and name.suffix is QueueSuffixType.SUBQUEUE and _access(request) == _SEND


def _remote(request: Any) -> bool:
    return bool(number(request, "h_remote_queue"))


def _cookie(request: Any) -> bool:
    cookie, size = getattr(request, "pb_cookie", None), number(request, "cb_cookie")
    return isinstance(cookie, bytes) and size is not None and len(cookie) != size


def _descriptor_size(row: int) -> Refusal:
    section = ProcessingRule("MQQP", "2.2.2.1", row)
    return Refusal(
        section,
        "a dwSize above 0x00420000",
        lambda request: above("dw_size", _LARGEST_PACKET)(read_descriptor(request)),
        BOUND,
    )


def _no_descriptor(request: Any) -> bool:
    second = getattr(request, "lp_remote_read_desc2", None)
    return isinstance(second, RemoteReadDesc2) and second.p_remote_read_desc is None


_REFUSALS: Mapping[str, tuple[Refusal, ...]] = {
    "RemoteQMStartReceive": (_descriptor_size(1),),
    "RemoteQMStartReceive2": (_descriptor_size(1), Refusal(5, "no REMOTEREADDESC", _no_descriptor)),
    "RemoteQMStartReceiveByLookupId": (
        _descriptor_size(1),
        Refusal(3, "no REMOTEREADDESC", _no_descriptor),
    ),
    "RemoteQMEndReceive": (
        Refusal(3, "a dwAck that is neither 1 nor 2", outside("dw_ack", frozenset({1, 2})), BOUND),
    ),
    "RemoteQMOpenQueue": (
        Refusal(1, "a dwMQS above 16", above("dw_mqs", 16), BOUND),
        Refusal(5, "pQueue 0", _zero("p_queue")),
        Refusal(6, "dwpContext 0", _zero("dwp_context")),
        Refusal(7, "a pQueue that is not dwpContext", _differ("p_queue", "dwp_context"), certain=False),
    ),
    "RemoteQMCancelReceive": (
        Refusal(
            3, "hQueue 0", lambda request: _zero("h_queue")(request) and bool(number(request, "p_queue"))
        ),
        Refusal(1, "pQueue 0", _zero("p_queue")),
        Refusal(2, "a pQueue that is not hQueue", _differ("p_queue", "h_queue")),
    ),
    "R_QMOpenRemoteQueue": (
        Refusal(3, "no QUEUE_FORMAT", missing("p_queue_format")),
        Refusal(5, "QUEUE_FORMAT_TYPE_UNKNOWN", _kind(QueueFormatType.UNKNOWN)),
        Refusal(6, "a suffix that its type does not have", _suffix, certain=False),
        Refusal(4, "a name that is no format name", _nameless, certain=False),
        Refusal(8, "a distribution list", _kind(QueueFormatType.DL)),
        Refusal(9, "a multicast address", _kind(QueueFormatType.MULTICAST)),
        Refusal(10, "a format name with HTTP", _http),
        Refusal(14, "an access that is neither receive nor peek", outside("dw_desired_access", _TO_READ)),
        Refusal(15, "a dwShareMode that there is not", above("dw_share_mode", 1)),
    ),
    **OBJECT_REFUSALS,
    "R_QMGetRemoteQueueName": (
        Refusal(
            3,
            "a name where it is to come",
            lambda request: isinstance(getattr(request, "lplp_remote_queue_name", None), WcharText),
        ),
    ),
    "R_QMGetTmWhereabouts": (
        Refusal(2, "a cbBufSize above 131072", above("cb_buf_size", _LARGEST_COOKIE), BOUND),
    ),
    "R_QMEnlistTransaction": (
        Refusal(2, "a cbCookie above 131072", above("cb_cookie", _LARGEST_COOKIE), BOUND),
        Refusal(3, "a cookie that is not cbCookie bytes long", _cookie, BOUND),
    ),
    "rpc_QMOpenQueueInternal": (
        Refusal(6, "QUEUE_FORMAT_TYPE_UNKNOWN", _kind(QueueFormatType.UNKNOWN)),
        Refusal(12, "an access that there is not", outside("dw_desired_access", _TO_OPEN)),
        Refusal(13, "to read from an address that can only be sent to", _outward),
        Refusal(14, "to send to a subqueue", _subqueue),
        Refusal(15, "to send to a queue that can only be read", _read_only),
        Refusal(
            16,
            "a remote queue that is not opened to be read",
            lambda request: _remote(request) and _access(request) not in (_RECEIVE, _PEEK, None),
        ),
        Refusal(17, "a dwShareMode that there is not", above("dw_share_mode", 1)),
        Refusal(
            18,
            "to send, and to keep others from receiving",
            lambda request: _access(request) == _SEND and number(request, "dw_share_mode") == 1,
        ),
        Refusal(
            23,
            "a dwpQueue without hRemoteQueue",
            lambda request: _zero("h_remote_queue")(request) and bool(number(request, "dwp_queue")),
        ),
        Refusal(
            24,
            "a dwpRemoteContext without hRemoteQueue",
            lambda request: _zero("h_remote_queue")(request) and bool(number(request, "dwp_remote_context")),
        ),
        Refusal(
            25,
            "hRemoteQueue without dwpQueue and dwpRemoteContext",
            lambda request: (
                _remote(request) and (_zero("dwp_queue")(request) or _zero("dwp_remote_context")(request))
            ),
        ),
    ),
    "rpc_ACHandleToFormatName": (
        Refusal(
            3,
            "a dwFormatNameRPCBufferLen above 524288",
            above("dw_format_name_rpc_buffer_len", _LARGEST_DESCRIPTOR),
            BOUND,
        ),
        Refusal(
            4,
            "a dwFormatNameRPCBufferLen without a buffer",
            lambda request: (
                missing("lpwcs_format_name")(request)
                and bool(number(request, "dw_format_name_rpc_buffer_len"))
            ),
        ),
        Refusal(
            6,
            "a pdwLength that is not dwFormatNameRPCBufferLen",
            _differ("pdw_length", "dw_format_name_rpc_buffer_len"),
        ),
    ),
    "R_QMQueryQMRegistryInternal": (
        Refusal(2, "a dwQueryType that there is not", above("dw_query_type", 4)),
    ),
    "QMSendMessageInternalEx": (
        Refusal(3, "QUEUE_FORMAT_TYPE_UNKNOWN", _kind(QueueFormatType.UNKNOWN)),
        Refusal(3, "a name that is no format name", _nameless, certain=False),
        *(msgspec.structs.replace(one, row=6) for one in SEND_REFUSALS),
    ),
    "rpc_ACSendMessageEx": SEND_REFUSALS,
    "rpc_ACReceiveMessageEx": RECEIVE_REFUSALS,
}


def judge_parameters(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """A request that was granted though its parameters alone forbid it."""
    deviation = granted(call, _REFUSALS.get(call.method, ()))
    if deviation is not None:
        yield deviation
