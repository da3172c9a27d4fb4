"""Requests that no server may grant, whatever it knows. [MS-MQRR], [MS-MQQP], [MS-MQMP], [MS-MQMR] 3.1.4

The rule kept here: all that is needed stands in the request, and a value that was not decoded breaks nothing.
A rule that says SHOULD, or that some version of Windows does not follow, gives a likely deviation only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.replay.rule_table import RuleRow, find, row_of
from msmq_wire.replay.rules.buffers import (
    RECEIVE_REFUSALS,
    SEND_REFUSALS,
    Broken,
    Refusal,
    above,
    missing,
    outside,
)
from msmq_wire.replay.rules.management import MANAGEMENT_REFUSALS
from msmq_wire.replay.rules.objects import OBJECT_REFUSALS
from msmq_wire.rpc.constants import AccessMode, ShareMode
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc2, read_descriptor
from msmq_wire.wire.names import FormatName, QueueFormatType, QueueSuffixType
from msmq_wire.wire.names.queue_format_types import suffix_problems
from msmq_wire.wire.types.guid import NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

_RECEIVE, _SEND, _PEEK, _ADMIN = (
    int(AccessMode.MQ_RECEIVE_ACCESS),
    int(AccessMode.MQ_SEND_ACCESS),
    int(AccessMode.MQ_PEEK_ACCESS),
    int(AccessMode.MQ_ADMIN_ACCESS),
)
_TO_MOVE = frozenset({int(AccessMode.MQ_MOVE_ACCESS)})
_TO_OPEN = frozenset({_RECEIVE, _SEND, _PEEK, _RECEIVE | _ADMIN, _PEEK | _ADMIN})
_LARGEST_PACKET, _LARGEST_NAME, _LARGEST_COOKIE = 0x0042_0000, 524_288, 131_072
_BOUND = {"a fault, RPC_X_BAD_STUB_DATA": "a fault: the number is out of its bounds"}


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


def _other_protocol(request: Any) -> bool:
    name = _name(request)
    return name is not None and name.kind is QueueFormatType.DIRECT and name.protocol not in ("TCP", "OS")


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


def _no_descriptor(request: Any) -> bool:
    second = getattr(request, "lp_remote_read_desc2", None)
    return isinstance(second, RemoteReadDesc2) and second.p_remote_read_desc is None


_QUEUE_REFUSALS = (
    Refusal("no-queue-format", "no QUEUE_FORMAT", missing("p_queue_format")),
    Refusal("queue-of-unknown-type", "QUEUE_FORMAT_TYPE_UNKNOWN", _kind(QueueFormatType.UNKNOWN)),
    Refusal("connector", "QUEUE_FORMAT_TYPE_CONNECTOR", _kind(QueueFormatType.CONNECTOR)),
    Refusal("distribution-list-to-read", "QUEUE_FORMAT_TYPE_DL", _kind(QueueFormatType.DL)),
    Refusal("multicast-to-read", "QUEUE_FORMAT_TYPE_MULTICAST", _kind(QueueFormatType.MULTICAST)),
    Refusal("other-protocol", "a direct name of another protocol than TCP or OS", _other_protocol),
    Refusal("queue-suffix", "a suffix that its type does not have", _suffix, certain=False),
    Refusal("queue-without-name", "a name that is not a format name", _nameless, certain=False),
    Refusal("distribution-list", "a distribution list", _kind(QueueFormatType.DL)),
    Refusal("multicast", "a multicast address", _kind(QueueFormatType.MULTICAST)),
    Refusal("http", "a format name with HTTP", _http),
    Refusal(
        "access-to-read",
        "an access mode that is neither receive nor peek",
        outside("dw_desired_access", frozenset({_RECEIVE, _PEEK})),
    ),
    Refusal("access-to-open", "an undefined access mode", outside("dw_desired_access", _TO_OPEN)),
    Refusal("access-to-move", "a dwAccess other than MQ_MOVE_ACCESS", outside("dw_access", _TO_MOVE)),
    Refusal("read-of-address", "opening an address for reading that can only be sent to", _outward),
    Refusal("send-to-subqueue", "opening a subqueue for sending", _subqueue),
    Refusal("send-to-read-only", "opening a queue for sending that can only be read", _read_only),
    Refusal(
        "remote-not-to-read",
        "a remote queue that is not opened for reading",
        lambda request: _remote(request) and _access(request) not in (_RECEIVE, _PEEK, None),
    ),
    Refusal("share-mode", "an undefined dwShareMode", above("dw_share_mode", max(ShareMode))),
    Refusal(
        "send-alone",
        "opening a queue for sending that excludes others from receiving",
        lambda request: _access(request) == _SEND and number(request, "dw_share_mode") == 1,
    ),
    Refusal(
        "queue-without-remote",
        "a dwpQueue without hRemoteQueue",
        lambda request: _zero("h_remote_queue")(request) and bool(number(request, "dwp_queue")),
    ),
    Refusal(
        "context-without-remote",
        "a dwpRemoteContext without hRemoteQueue",
        lambda request: _zero("h_remote_queue")(request) and bool(number(request, "dwp_remote_context")),
    ),
    Refusal(
        "remote-without-numbers",
        "hRemoteQueue without dwpQueue and dwpRemoteContext",
        lambda request: (
            _remote(request) and (_zero("dwp_queue")(request) or _zero("dwp_remote_context")(request))
        ),
    ),
)
_REFUSALS = (
    Refusal(
        "large-packet",
        "a dwSize above 0x00420000",
        lambda request: above("dw_size", _LARGEST_PACKET)(read_descriptor(request)),
    ),
    Refusal("no-descriptor", "no REMOTEREADDESC", _no_descriptor, "a failure"),
    Refusal("acknowledgment", "a dwAck that is neither 1 nor 2", outside("dw_ack", frozenset({1, 2}))),
    Refusal("mqs", "a dwMQS above 16", above("dw_mqs", 16)),
    Refusal(
        "no-h-queue",
        "hQueue 0",
        lambda request: _zero("h_queue")(request) and bool(number(request, "p_queue")),
        "a failure",
    ),
    Refusal("no-p-queue", "pQueue 0", _zero("p_queue"), "a failure"),
    Refusal("no-context", "dwpContext 0", _zero("dwp_context"), "a failure"),
    Refusal(
        "p-queue-is-not-context",
        "a pQueue that is not dwpContext",
        _differ("p_queue", "dwp_context"),
        "a failure",
        certain=False,
    ),
    Refusal(
        "p-queue-is-not-h-queue", "a pQueue that is not hQueue", _differ("p_queue", "h_queue"), "a failure"
    ),
    *_QUEUE_REFUSALS,
    *OBJECT_REFUSALS,
    *MANAGEMENT_REFUSALS,
    Refusal(
        "name-given",
        "a name in a parameter in which the server returns it",
        lambda request: isinstance(getattr(request, "lplp_remote_queue_name", None), WcharText),
    ),
    Refusal("whereabouts-room", "a cbBufSize above 131072", above("cb_buf_size", _LARGEST_COOKIE)),
    Refusal("large-cookie", "a cbCookie above 131072", above("cb_cookie", _LARGEST_COOKIE)),
    Refusal("cookie-length", "a cookie that is not cbCookie bytes long", _cookie),
    Refusal(
        "large-name-room",
        "a dwFormatNameRPCBufferLen above 524288",
        above("dw_format_name_rpc_buffer_len", _LARGEST_NAME),
    ),
    Refusal(
        "name-room-without-buffer",
        "a dwFormatNameRPCBufferLen without a buffer",
        lambda request: (
            missing("lpwcs_format_name")(request) and bool(number(request, "dw_format_name_rpc_buffer_len"))
        ),
    ),
    Refusal(
        "name-room-is-not-length",
        "a pdwLength that is not dwFormatNameRPCBufferLen",
        _differ("pdw_length", "dw_format_name_rpc_buffer_len"),
    ),
    Refusal("query-type", "an undefined dwQueryType", above("dw_query_type", 4)),
    Refusal("no-target", "a move without ullContextTo", _zero("ull_context_to")),
    Refusal(
        "no-transaction",
        "a transaction that is all zero",
        lambda request: getattr(request, "p_transaction_id", None) == NULL_GUID,
    ),
    Refusal("no-token", "a propagation token that is empty", _zero("cb_propagation_token"), certain=False),
    *SEND_REFUSALS,
    *RECEIVE_REFUSALS,
)
"""What the parameters of a request alone forbid, in the order in which it is told."""


@cache
def _refusals(method: str) -> tuple[tuple[RuleRow, Refusal], ...]:
    """Those that rows of a method tell."""
    found = [(find(one.check, method), one) for one in _REFUSALS]
    unsendable = find("unsendable", method)
    if unsendable is not None:
        of_send = [(row_of(one.check, "rpc_ACSendMessageEx").contradiction, one) for one in SEND_REFUSALS]
        found += [(msgspec.structs.replace(unsendable, contradiction=id_), one) for id_, one in of_send]
    return tuple((row, one) for row, one in found if row is not None)


def granted(call: ObservedCall) -> ReplayDeviation | None:
    """The first of these that a call had to meet with, and did not."""
    if not call.ok:
        return None
    for row, one in _refusals(call.method):
        if one.broken(call.request):
            return call.deviation(
                ReplayKind.ACTION,
                row,
                f"{call.method} accepts {one.what}",
                one.expected or _BOUND.get(row.due, row.due),
                # There the text has no step for it: what is valid stands under the parameters.
                certain=one.certain and call.role is not Role.OPEN_FOR_MOVE,
            )
    return None


def judge_parameters(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """A request that was granted though its parameters alone forbid it."""
    deviation = granted(call)
    if deviation is not None:
        yield deviation
