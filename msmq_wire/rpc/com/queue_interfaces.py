"""IMSMQQueue and its three successors, [MC-MQAC] 3.11.4: an open queue as an object.

Each successor adds methods at the end; the five that the first one ends with have other names from the
second one on, where methods of their old names follow. ReceiveCurrent_v1 (opnum 17, ReceiveCurrent in
IMSMQQueue) is opened whole; of other methods ORPCTHIS, ORPCTHAT and the HRESULT are, the rest is bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, ClassVar

from msmq_wire.rpc.com.conformant import StubRemainder
from msmq_wire.rpc.com.orpc import (
    INTERFACE_POINTER,
    ORPC_THAT,
    ORPC_THIS,
    MInterfacePointer,
    OrpcThat,
    OrpcThis,
)
from msmq_wire.rpc.com.variant import VARIANT, Variant
from msmq_wire.rpc.interfaces.method import HResult, Interface, Method
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.ndr import NdrStruct, Parameters
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

RECEIVE_CURRENT = 17
"""The opnum of ReceiveCurrent_v1."""
_QUEUE = SpecRef("MC-MQAC", "3.11.4.1")
_ORPC = SpecRef("MS-DCOM", "2.2.13")


class MqTransaction(IntEnum):
    """MQTRANSACTION, [MC-MQAC] 2.2.2.1: how an operation comes by its transaction, or that it has none."""

    MQ_NO_TRANSACTION = 0
    MQ_MTS_TRANSACTION = 1
    MQ_XA_TRANSACTION = 2
    MQ_SINGLE_MESSAGE = 3


class OrpcRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A request to an object, its parameters as bytes."""

    SPEC: ClassVar[SpecRef] = _ORPC
    orpcthis: Annotated[OrpcThis, ORPC_THIS, "What every request carries."] = OrpcThis()
    stub: Annotated[bytes, StubRemainder(), "The parameters."] = b""


class OrpcResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A response of an object, its parameters as bytes."""

    SPEC: ClassVar[SpecRef] = _ORPC
    orpcthat: Annotated[OrpcThat, ORPC_THAT, "What every response carries."] = OrpcThat()
    stub: Annotated[bytes, StubRemainder(but=4), "The parameters."] = b""
    status: HResult = 0


class ReceiveCurrentRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """How to receive the message at the cursor; an argument that is not specified is a VT_ERROR."""

    orpcthis: Annotated[OrpcThis, ORPC_THIS, "What every request carries."] = OrpcThis()
    transaction: Annotated[Variant | None, VARIANT, "MQTRANSACTION, or a transaction object."] = None
    want_destination_queue: Annotated[Variant | None, VARIANT, "Whether its queue is wanted."] = None
    want_body: Annotated[Variant | None, VARIANT, "Whether its body is wanted."] = None
    receive_timeout: Annotated[Variant | None, VARIANT, "How long to wait, in milliseconds."] = None


class ReceiveCurrentResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The message, as an object."""

    orpcthat: Annotated[OrpcThat, ORPC_THAT, "What every response carries."] = OrpcThat()
    ppmsg: Annotated[MInterfacePointer | None, INTERFACE_POINTER, "The message."] = None
    status: HResult = 0


_ANY = Parameters(OrpcRequest), Parameters(OrpcResponse)
_OPENED = {RECEIVE_CURRENT: (Parameters(ReceiveCurrentRequest), Parameters(ReceiveCurrentResponse))}
# [MS-OAUT] 3.1.4: what IDispatch has, behind the three methods of IUnknown, which no call names.
_DISPATCH = ("GetTypeInfoCount", "GetTypeInfo", "GetIDsOfNames", "Invoke")
_FIRST_DISPATCH, _FIRST_OWN = 3, 7
_ROLES = {"Close": Role.CLOSE}
_BEGIN = ("get_Access", "get_ShareMode", "get_QueueInfo", "get_Handle", "get_IsOpen", "Close")
_READS = ("Receive", "Peek", "EnableNotification", "Reset", "ReceiveCurrent", "PeekNext", "PeekCurrent")
_NOT_RENAMED = ("EnableNotification", "Reset")
_RENAMED = tuple(name if name in _NOT_RENAMED else f"{name}_v1" for name in _READS)
_REVISION_1 = (*_BEGIN, *_READS)
_REVISION_2 = (
    *_BEGIN,
    *_RENAMED,
    *(name for name in _READS if name not in _NOT_RENAMED),
    "get_Properties",
)
_REVISION_3 = (
    *_REVISION_2,
    "get_Handle2",
    *(
        f"{verb}{place}ByLookupId"
        for verb in ("Receive", "Peek")
        for place in ("", "Next", "Previous", "First", "Last")
    ),
    "Purge",
    "get_IsOpen2",
)
_REVISION_4 = (*_REVISION_3, "ReceiveByLookupIdAllowPeek")
_RECEIVES, _PEEKS = "receives the message", "looks at the message"
_DOES: Mapping[str, str] = {
    "Close": "closes the queue",
    "Receive": f"{_RECEIVES} at the head",
    "Peek": f"{_PEEKS} at the head",
    "EnableNotification": "asks to be told when a message comes",
    "Reset": "moves its cursor to the head",
    "ReceiveCurrent": f"{_RECEIVES} at its cursor",
    "PeekNext": f"{_PEEKS} behind its cursor",
    "PeekCurrent": f"{_PEEKS} at its cursor",
    "ReceiveByLookupId": f"{_RECEIVES} with a lookup id",
    "ReceiveNextByLookupId": f"{_RECEIVES} behind a lookup id",
    "ReceivePreviousByLookupId": f"{_RECEIVES} before a lookup id",
    "ReceiveFirstByLookupId": f"{_RECEIVES} at the head",
    "ReceiveLastByLookupId": f"{_RECEIVES} at the end",
    "ReceiveByLookupIdAllowPeek": f"{_RECEIVES} with a lookup id",
    "PeekByLookupId": f"{_PEEKS} with a lookup id",
    "PeekNextByLookupId": f"{_PEEKS} behind a lookup id",
    "PeekPreviousByLookupId": f"{_PEEKS} before a lookup id",
    "PeekFirstByLookupId": f"{_PEEKS} at the head",
    "PeekLastByLookupId": f"{_PEEKS} at the end",
    "Purge": "deletes all messages",
    "Invoke": "calls a method by its dispatch id",
}


def _does(name: str) -> str:
    name = name.removesuffix("_v1")
    verb, _, asked = name.partition("_")
    return f"asks for {asked}" if verb == "get" else _DOES.get(name, f"calls {name}")


def _interface(name: str, uuid: str, own: tuple[str, ...]) -> Interface:
    methods: dict[int, Method] = {}
    for opnum, method in enumerate((*_DISPATCH, *own), _FIRST_DISPATCH):
        place = opnum - _FIRST_OWN + 1
        spec = (
            SpecRef("MS-OAUT", f"3.1.4.{opnum - _FIRST_DISPATCH + 1}")
            if opnum < _FIRST_OWN
            else SpecRef("MC-MQAC", f"3.11.4.1.{place}")
        )
        parameters = _OPENED.get(opnum, _ANY)
        methods[opnum] = Method(opnum, method, spec, *parameters, _ROLES.get(method), does=_does(method))
    return Interface(name, GUID.parse(uuid), _QUEUE, methods, major=0)


COM_INTERFACES: Mapping[GUID, Interface] = {
    interface.uuid: interface
    for interface in (
        _interface("IMSMQQueue", "d7d6e076-dccd-11d0-aa4b-0060970debae", _REVISION_1),
        _interface("IMSMQQueue2", "ef0574e0-06d8-11d3-b100-00e02c074f6b", _REVISION_2),
        _interface("IMSMQQueue3", "eba96b1b-2168-11d3-898c-00e02c074f6b", _REVISION_3),
        _interface("IMSMQQueue4", "eba96b20-2168-11d3-898c-00e02c074f6b", _REVISION_4),
    )
}
"""The interfaces of a queue object by their IID, which is the UUID that a bind names."""

COM_METHODS: Mapping[str, Method] = {
    one.name: one for each in COM_INTERFACES.values() for one in each.methods.values()
}
"""The methods of all of them by name; its role is the same whatever opnum a revision gives it."""

OBJECT_INTERFACES: Mapping[GUID, str] = {
    GUID.parse(uuid): name
    for name, uuid in {
        "IUnknown": "00000000-0000-0000-c000-000000000046",
        "IDispatch": "00020400-0000-0000-c000-000000000046",
        "IMSMQMessage": "d7d6e074-dccd-11d0-aa4b-0060970debae",
        "IMSMQMessage2": "d9933be0-a567-11d2-b0f3-00e02c074f6b",
        "IMSMQMessage3": "eba96b1a-2168-11d3-898c-00e02c074f6b",
        "IMSMQMessage4": "eba96b23-2168-11d3-898c-00e02c074f6b",
        "IMSMQQueueInfo": "d7d6e07b-dccd-11d0-aa4b-0060970debae",
        "IMSMQQueueInfo2": "fd174a80-89cf-11d2-b0f2-00e02c074f6b",
        "IMSMQQueueInfo3": "eba96b1d-2168-11d3-898c-00e02c074f6b",
        "IMSMQQueueInfo4": "eba96b21-2168-11d3-898c-00e02c074f6b",
        "IMSMQTransaction": "d7d6e07f-dccd-11d0-aa4b-0060970debae",
        "IMSMQTransaction2": "2ce0c5b0-6e67-11d2-b0e6-00e02c074f6b",
        "IMSMQTransaction3": "eba96b13-2168-11d3-898c-00e02c074f6b",
    }.items()
}
"""Interfaces of the objects that go in and out of a queue object's methods, by IID."""


def object_interface_name(iid: GUID) -> str | None:
    """The name of an interface of those objects, or of a queue object; None for any other."""
    known = COM_INTERFACES.get(iid)
    return OBJECT_INTERFACES.get(iid) if known is None else known.name
