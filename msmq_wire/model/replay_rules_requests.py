"""Requests that no server may grant, whatever it knows. [MS-MQQP] 3.1.4, [MS-MQMP] 3.1.4

The rule kept here: all that is needed stands in the request, and a value that was not decoded breaks nothing.
A rule that says SHOULD, or that some version of Windows does not follow, gives a likely deviation only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from msmq_wire.model.queue_properties import Purpose, check_properties
from msmq_wire.model.replay_call import ObservedCall, number
from msmq_wire.model.replay_deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.model.replay_rules_buffers import RECEIVE_REFUSALS, SEND_REFUSALS, Refusal
from msmq_wire.model.status import Status
from msmq_wire.names import FormatName, QueueFormatType, QueueSuffixType
from msmq_wire.records.open_queues import read_descriptor
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.properties import QUEUE_ATTRIBUTES, PropertyKind, find_property
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc2
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["judge_parameters"]

_Broken: TypeAlias = Callable[[Any], bool]
_BOUND = "a fault: the number is out of its bounds"
_RECEIVE, _SEND, _PEEK, _ADMIN = (
    int(AccessMode.MQ_RECEIVE_ACCESS),
    int(AccessMode.MQ_SEND_ACCESS),
    int(AccessMode.MQ_PEEK_ACCESS),
    int(AccessMode.MQ_ADMIN_ACCESS),
)
_TO_READ = frozenset({_RECEIVE, _PEEK})
_TO_OPEN = frozenset({_RECEIVE, _SEND, _PEEK, _RECEIVE | _ADMIN, _PEEK | _ADMIN})
_LARGEST_PACKET, _LARGEST_DESCRIPTOR, _LARGEST_COOKIE = 0x0042_0000, 524_288, 131_072
_PARTS = 0x0000_000F


def _above(name: str, limit: int) -> _Broken:
    return lambda request: (number(request, name) or 0) > limit


def _outside(name: str, allowed: frozenset[int]) -> _Broken:
    return lambda request: (found := number(request, name)) is not None and found not in allowed


def _zero(name: str) -> _Broken:
    return lambda request: number(request, name) == 0


def _differ(one: str, other: str) -> _Broken:
    def broken(request: Any) -> bool:
        first, second = number(request, one), number(request, other)
        return first is not None and second is not None and first != second

    return broken


def _null(name: str) -> _Broken:
    return lambda request: getattr(request, name, msgspec.UNSET) is None


def _queue(request: Any) -> QueueFormat | None:
    found = getattr(request, "p_queue_format", None)
    return found if isinstance(found, QueueFormat) and found.arm is not msgspec.UNSET else None


def _name(request: Any) -> FormatName | None:
    found = _queue(request)
    return None if found is None else found.format_name


def _kind(*kinds: QueueFormatType) -> _Broken:
    return lambda request: (found := _queue(request)) is not None and found.m_qft in kinds


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


def _not_for(purpose: Purpose) -> _Broken:
    return lambda request: any(
        not getattr(QUEUE_ATTRIBUTES[name], purpose)
        for name, _ in _properties(request)
        if name in QUEUE_ATTRIBUTES
    )


def _other_type(purpose: Purpose) -> _Broken:
    def broken(request: Any) -> bool:
        for name, value in _properties(request):
            known = find_property(name, PropertyKind.QUEUE)
            anything = purpose == "get" and value.vt == BodyType.VT_NULL
            if known is not None and value.vt != known.vt and not anything:
                return True
        return False

    return broken


def _no_type(request: Any) -> bool:
    return any(value.vt == BodyType.VT_NULL for _, value in _properties(request))


def _bad_value(purpose: Purpose) -> _Broken:
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


def _cookie(request: Any) -> bool:
    cookie, size = getattr(request, "pb_cookie", None), number(request, "cb_cookie")
    return isinstance(cookie, bytes) and size is not None and len(cookie) != size


def _descriptor_without_bytes(request: Any) -> bool:
    return _null("p_security_descriptor")(request) and bool(number(request, "sd_size"))


def _object_rules(first: int) -> tuple[Refusal, ...]:
    """The rows about pObjectFormat, which follow each other."""
    return (
        Refusal(first, "an OBJECT_FORMAT that names no queue", _no_queue_object),
        Refusal(first + 1, "an OBJECT_FORMAT without a QUEUE_FORMAT", _no_queue_format),
    )


def _descriptor_size(row: int) -> Refusal:
    section = ProcessingRule("MQQP", "2.2.2.1", row)
    return Refusal(
        section,
        "a dwSize above 0x00420000",
        lambda request: _above("dw_size", _LARGEST_PACKET)(read_descriptor(request)),
        _BOUND,
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
        Refusal(3, "a dwAck that is neither 1 nor 2", _outside("dw_ack", frozenset({1, 2})), _BOUND),
    ),
    "RemoteQMOpenQueue": (
        Refusal(1, "a dwMQS above 16", _above("dw_mqs", 16), _BOUND),
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
        Refusal(3, "no QUEUE_FORMAT", _null("p_queue_format")),
        Refusal(5, "QUEUE_FORMAT_TYPE_UNKNOWN", _kind(QueueFormatType.UNKNOWN)),
        Refusal(8, "a distribution list", _kind(QueueFormatType.DL)),
        Refusal(9, "a multicast address", _kind(QueueFormatType.MULTICAST)),
        Refusal(10, "a format name with HTTP", _http),
        Refusal(14, "an access that is neither receive nor peek", _outside("dw_desired_access", _TO_READ)),
        Refusal(15, "a dwShareMode that there is not", _above("dw_share_mode", 1)),
    ),
    "R_QMCreateObjectInternal": (
        Refusal(3, "an object that is no queue", _outside("dw_object_type", frozenset({1}))),
        Refusal(5, "a path name of no private queue", _no_private_path),
        Refusal(8, "an SDSize above 524288", _above("sd_size", _LARGEST_DESCRIPTOR), _BOUND),
        Refusal(9, "an SDSize without a descriptor", _descriptor_without_bytes),
        Refusal(11, "a cp that is 0 or above 128", _count, _BOUND),
        Refusal(12, "arrays that do not hold cp elements", _counted, _BOUND),
        Refusal(13, "a number that is no property of a queue", _unknown_property),
        Refusal(14, "a property that cannot be given", _not_for("create")),
        Refusal(15, "a value of another type than its property", _other_type("create")),
        Refusal(16, "a value that its property does not have", _bad_value("create")),
    ),
    "R_QMSetObjectSecurityInternal": (
        *_object_rules(4),
        Refusal(6, "a SecurityInformation that there is not", _above("security_information", _PARTS)),
        Refusal(7, "an SDSize above 524288", _above("sd_size", _LARGEST_DESCRIPTOR), _BOUND),
        Refusal(8, "no security descriptor", _null("p_security_descriptor")),
    ),
    "R_QMGetObjectSecurityInternal": (
        *_object_rules(4),
        Refusal(6, "a RequestedInformation that there is not", _above("requested_information", _PARTS)),
        Refusal(7, "an nLength above 524288", _above("n_length", _LARGEST_DESCRIPTOR), _BOUND),
    ),
    "R_QMDeleteObject": _object_rules(4),
    "R_QMGetObjectProperties": (
        *_object_rules(4),
        Refusal(6, "a cp that is 0 or above 128", _count, _BOUND),
        Refusal(7, "arrays that do not hold cp elements", _counted, _BOUND),
        Refusal(8, "a number that is no property of a queue", _unknown_property),
        Refusal(9, "a value of another type than its property", _other_type("get"), certain=False),
    ),
    "R_QMSetObjectProperties": (
        *_object_rules(4),
        Refusal(6, "a cp that is 0 or above 128", _count, _BOUND),
        Refusal(7, "no properties", lambda request: _null("a_prop")(request) or _null("ap_var")(request)),
        Refusal(8, "arrays that do not hold cp elements", _counted, _BOUND),
        Refusal(9, "a number that is no property of a queue", _unknown_property),
        Refusal(10, "a property that cannot be set", _not_for("set")),
        Refusal(12, "a value of no type", _no_type, certain=False),
        Refusal(11, "a value of another type than its property", _other_type("set"), certain=False),
        Refusal(13, "a value that its property does not have", _bad_value("set")),
    ),
    "R_QMObjectPathToObjectFormat": (
        Refusal(4, "a path name of no private queue", _no_private_path),
        *_object_rules(6),
        Refusal(8, "a format name where it is to come", _named_already),
    ),
    "R_QMGetTmWhereabouts": (
        Refusal(2, "a cbBufSize above 131072", _above("cb_buf_size", _LARGEST_COOKIE), _BOUND),
    ),
    "R_QMEnlistTransaction": (
        Refusal(2, "a cbCookie above 131072", _above("cb_cookie", _LARGEST_COOKIE), _BOUND),
        Refusal(3, "a cookie that is not cbCookie bytes long", _cookie, _BOUND),
    ),
    "rpc_QMOpenQueueInternal": (
        Refusal(6, "QUEUE_FORMAT_TYPE_UNKNOWN", _kind(QueueFormatType.UNKNOWN)),
        Refusal(12, "an access that there is not", _outside("dw_desired_access", _TO_OPEN)),
        Refusal(13, "to read from an address that can only be sent to", _outward),
        Refusal(14, "to send to a subqueue", _subqueue),
        Refusal(15, "to send to a queue that can only be read", _read_only),
        Refusal(
            16,
            "a remote queue that is not opened to be read",
            lambda request: _remote(request) and _access(request) not in (_RECEIVE, _PEEK, None),
        ),
        Refusal(17, "a dwShareMode that there is not", _above("dw_share_mode", 1)),
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
            _above("dw_format_name_rpc_buffer_len", _LARGEST_DESCRIPTOR),
            _BOUND,
        ),
        Refusal(
            4,
            "a dwFormatNameRPCBufferLen without a buffer",
            lambda request: (
                _null("lpwcs_format_name")(request) and bool(number(request, "dw_format_name_rpc_buffer_len"))
            ),
        ),
        Refusal(
            6,
            "a pdwLength that is not dwFormatNameRPCBufferLen",
            _differ("pdw_length", "dw_format_name_rpc_buffer_len"),
        ),
    ),
    "R_QMQueryQMRegistryInternal": (
        Refusal(2, "a dwQueryType that there is not", _above("dw_query_type", 4)),
    ),
    "QMSendMessageInternalEx": tuple(msgspec.structs.replace(one, row=6) for one in SEND_REFUSALS),
    "rpc_ACSendMessageEx": SEND_REFUSALS,
    "rpc_ACReceiveMessageEx": RECEIVE_REFUSALS,
}


def judge_parameters(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """A request that was granted though its parameters alone forbid it."""
    if not call.ok:
        return
    for one in _REFUSALS.get(call.method, ()):
        if one.broken(call.request):
            yield call.deviation(
                ReplayKind.ACTION,
                one.row,
                f"{call.method} accepts {one.what}",
                one.expected,
                certain=one.certain,
            )
            return
