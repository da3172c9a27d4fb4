"""The record of a call on an object: its arguments in words, and the interface pointers in it.

The rule kept here: what was not read is None, what was not specified has its default, and ``specified`` tells
them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.records.com_packets import ComCall, ComObject, ReceiveArguments
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.com.objref import ObjRef, decode_objref
from msmq_wire.rpc.com.orpc import MInterfacePointer, OrpcThat, OrpcThis
from msmq_wire.rpc.com.queue_interfaces import (
    MqTransaction,
    ReceiveCurrentRequest,
    ReceiveCurrentResponse,
    object_interface_name,
)
from msmq_wire.rpc.com.variant import DISP_E_PARAMNOTFOUND, VariantType, pointed_at, variant_type_name
from msmq_wire.wire.partial import reached

_INFINITE = 0xFFFFFFFF
_INTERFACE = "interface pointer"
_TOWERS = {7: "ncacn_ip_tcp", 8: "ncadg_ip_udp", 15: "ncacn_np", 31: "ncacn_http"}
_NUMBERS = frozenset(
    (
        VariantType.VT_I1,
        VariantType.VT_UI1,
        VariantType.VT_I2,
        VariantType.VT_UI2,
        VariantType.VT_I4,
        VariantType.VT_UI4,
        VariantType.VT_INT,
        VariantType.VT_UINT,
    )
)


def com_record(record: Record, opened_frame: int | None) -> Record:
    """The ``com_call`` that the ``rpc_call`` of a call on an object is; ``opened_frame`` gave its IPID."""
    call = record.packet
    if not isinstance(call, RpcCall):
        raise TypeError(f"{type(call).__name__} is no call")
    members = {name: getattr(call, name) for name in call.__struct_fields__}
    this, that = getattr(call.request, "orpcthis", None), getattr(call.response, "orpcthat", None)
    members["opened_frame"] = opened_frame
    if isinstance(this, OrpcThis):
        version = this.version
        if isinstance(getattr(version, "minor_version", None), int):
            members["com_version"] = f"{version.major_version}.{version.minor_version}"
        members["causality"] = reached(this, "cid")
        members["orpc_flags"] = reached(this, "flags")
    if isinstance(that, OrpcThat):
        members["answer_flags"] = reached(that, "flags")
    if isinstance(call.request, ReceiveCurrentRequest):
        members["arguments"] = receive_arguments(call.request)
    if isinstance(call.response, ReceiveCurrentResponse):
        members["returned"] = _object(call.response.ppmsg)
    return msgspec.structs.replace(record, type="com_call", packet=ComCall(**members))


def receive_arguments(request: ReceiveCurrentRequest) -> ReceiveArguments:
    """What the arguments of a ReceiveCurrent_v1 say, [MC-MQAC] 3.11.4.1.11."""
    specified: list[str] = []
    problems: list[str] = []

    def argument(
        name: str, default: Any, types: frozenset[int], meaning: Callable[[Any], Any]
    ) -> tuple[int, Any]:
        """The type and the meaning of an argument; the default where it is not specified."""
        variant = getattr(request, name)
        if variant is msgspec.UNSET:
            return VariantType.VT_EMPTY, None
        found = pointed_at(variant)
        if found is None:
            if variant is None:
                return VariantType.VT_ERROR, default
            problems.append(f"{name} was not read")
            return VariantType.VT_EMPTY, None
        kind, value = found[0] & ~VariantType.VT_BYREF, found[1]
        if (kind, value) == (VariantType.VT_ERROR, DISP_E_PARAMNOTFOUND):
            return kind, default
        specified.append(name)
        if found[0] not in types:
            problems.append(f"{name} is {variant_type_name(found[0])}")
        if value is msgspec.UNSET:
            return kind, None
        if kind in (VariantType.VT_DISPATCH, VariantType.VT_UNKNOWN):
            return kind, value
        return kind, meaning(value) if isinstance(value, int) and kind in _NUMBERS | types else None

    number = frozenset((VariantType.VT_I4, VariantType.VT_I4 | VariantType.VT_BYREF))
    boolean = frozenset((VariantType.VT_BOOL, VariantType.VT_BOOL | VariantType.VT_BYREF))
    # Here the text has a number by value only, and an object in either way.
    of_transaction = frozenset(
        (VariantType.VT_I4, VariantType.VT_DISPATCH, VariantType.VT_DISPATCH | VariantType.VT_BYREF)
    )
    kind, transaction = argument(
        "transaction", MqTransaction.MQ_MTS_TRANSACTION.name, of_transaction, _transaction_name
    )
    is_object = kind in (VariantType.VT_DISPATCH, VariantType.VT_UNKNOWN)
    queue_wanted = argument("want_destination_queue", False, boolean, bool)[1]
    body_wanted = argument("want_body", True, boolean, bool)[1]
    timeout = argument("receive_timeout", _INFINITE, number, lambda value: value & _INFINITE)[1]
    return ReceiveArguments(
        transaction=_INTERFACE if is_object else transaction,
        transaction_object=_object(transaction) if is_object else None,
        want_destination_queue=queue_wanted if isinstance(queue_wanted, bool) else None,
        want_body=body_wanted if isinstance(body_wanted, bool) else None,
        receive_timeout=timeout if isinstance(timeout, int) else None,
        specified=tuple(specified),
        problems=tuple(problems),
    )


def _transaction_name(value: int) -> str:
    return next((one.name for one in MqTransaction if one == value), str(value))


def _object(pointer: Any) -> ComObject | None:
    """An interface pointer in words; None for NULL, and where its OBJREF was not read."""
    if not isinstance(pointer, MInterfacePointer) or not isinstance(pointer.ab_data, bytes):
        return None
    try:
        found: ObjRef = decode_objref(pointer.ab_data)
    except DecodeError:
        return None
    std, resolver = found.std, found.resolver
    where = () if resolver is None else resolver.string_bindings
    how = () if resolver is None else resolver.security_bindings
    return ComObject(
        kind=found.kind_name,
        iid=found.iid,
        interface=object_interface_name(found.iid),
        oxid=None if std is None else f"{std.oxid:016x}",
        oid=None if std is None else f"{std.oid:016x}",
        ipid=None if std is None else std.ipid,
        public_refs=None if std is None else std.public_refs,
        clsid=found.clsid,
        bindings=tuple(
            f"{_TOWERS.get(one.tower_id, f'tower {one.tower_id}')}:{one.network_address}" for one in where
        ),
        authentication_services=tuple(one.authentication_service for one in how),
    )
