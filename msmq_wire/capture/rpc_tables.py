"""The tables of calls: Arrow schemas and cells of what `msmq_wire.records.rpc_packets` declares.

The rule kept here: a column is a field of a declaration, its type and whether it may be null come from there.
Requests and responses are JSON texts, those of the JSON view: every method has a shape of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcBindContext, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.view import view
from msmq_wire.rpc.ndr import members
from msmq_wire.rpc.transfer_properties import TRANSLATIONS, MessageProperties
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, CACTransferBufferV2
from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["RPC_PACKETS", "rpc_arrays", "rpc_fields"]

RPC_PACKETS: Mapping[str, type[msgspec.Struct]] = {
    "rpc_bind": RpcBind,
    "rpc_call": RpcCall,
    "rpc_fault": RpcFault,
    "transfer_buffer": TransferBuffer,
}
"""What ``packet`` is, by the type of the record."""

_SPECS: Mapping[type[msgspec.Struct], SpecRef] = {
    RpcBind: SpecRef("MS-RPCE", "2.2.2"),
    RpcBindContext: SpecRef("MS-RPCE", "2.2.2.4"),
    RpcCall: SpecRef("MS-RPCE", "2.2.2"),
    RpcFault: SpecRef("MS-RPCE", "2.2.2"),
    TransferBuffer: SpecRef("MS-MQMP", "3.1.1.11"),
    MessageProperties: SpecRef("MS-MQMP", "3.1.1.11"),
}
_JSON: Mapping[str, str] = {
    "request": "Parameters of the request as JSON text.",
    "response": "Parameters of the response as JSON text.",
}
_DOCS: Mapping[type[msgspec.Struct], Mapping[str, str]] = {
    RpcBind: {
        "call_id": "Number of the exchange on its connection.",
        "alter_context": "Whether it is an alter_context, which adds interfaces to a connection.",
        "answered": "Whether the answer was captured.",
        "nak_reason": "Why the server refused all of it, by its bind_nak.",
        "contexts": "The interfaces that the client asked for, with the answer to each.",
        "auth_type": "Security provider: 9 SPNEGO, 10 NTLM, 16 Kerberos; 0 for none.",
        "auth_level": "1 none, 2 connect, 3 call, 4 packet, 5 integrity, 6 privacy.",
        "header_signing": "Whether both sides sign headers too.",
        "account": "Whom the client says it is.",
        "note": "Why its calls cannot be opened.",
        "max_xmit_frag": "Bytes of the longest fragment that the client sends.",
        "max_recv_frag": "Bytes of the longest fragment that the client takes.",
        "association_group": "Group of connections of one client.",
        "secondary_address": "Port that the server names.",
    },
    RpcBindContext: {
        "context_id": "Number that calls name it by.",
        "interface": "Its name, or the UUID of one that is not MSMQ's.",
        "version": "Its version.",
        "transfer_syntaxes": "Offered: ndr, ndr64 or a UUID.",
        "result": "0 accepted, 1 refused by the server, 2 by its RPC runtime, 3 about features.",
        "reason": "Why it was refused.",
        "accepted": "The transfer syntax that the server chose.",
    },
    RpcCall: {
        "interface": "Name of the interface, or unknown.",
        "opnum": "Number of the method.",
        "method": "Name of the method.",
        "syntax": "ndr, ndr64, or the UUID of another transfer syntax.",
        **_JSON,
        "status": "HRESULT of the response, or the code of the fault.",
        "fault": "Whether the server answered with a fault.",
        "queue": "Format name of the queue that the call names, or that its handle was opened with.",
        "request_id": "The client's number of the receive that the call begins, ends or cancels.",
        "opened_frame": "Frame that completed the call that opened this handle.",
        "started_frame": "Frame that completed the call that began this receive.",
        "latency": "Nanoseconds from the last frame of the request to the last of the response.",
        "call_id": "Number of the exchange on its connection.",
        "context_id": "Number of the interface on its connection.",
        "guessed": "Whether interface and syntax are guessed from opnum and shape.",
        "sealed": "Whether a side is encrypted and no key opens it.",
        "verified": "False when a signature is wrong, null when none could be judged.",
        "auth_level": "1 none, 2 connect, 3 call, 4 packet, 5 integrity, 6 privacy.",
        "cancelled": "Whether the client called it off.",
        "orphaned": "Whether the client gave it up.",
        "complete": "Whether all fragments were captured.",
        "note": "What could not be opened or is wrong with a signature.",
    },
    RpcFault: {
        "call_id": "Number of the exchange on its connection.",
        "status": "HRESULT, or status of the RPC runtime.",
        "flags": "Flags of the fault's PDU.",
        "cancel_count": "Cancels that the server has received.",
    },
    TransferBuffer: {
        "queue": "Format name of the queue that the call is about.",
        "properties": "Properties of the message.",
    },
    MessageProperties: {
        "acknowledgements_requested": "Acknowledgments that are wanted, bits as in a packet.",
        "positive_journaling_requested": "Whether a copy goes to the journal queue.",
        "negative_journaling_requested": "Whether a message that fails goes to the dead-letter queue.",
        "body_length": "Bytes of the whole body, also of one that was cut.",
        "time_to_reach_queue": "Seconds to reach the queue, 0xFFFFFFFF for ever.",
        "time_to_be_received": "Seconds to be received in, 0xFFFFFFFF for ever.",
        "leading_signature": "The first of two signatures, which servers ignore.",
        "authentication_level": "Kind of the signature that was checked.",
        "privacy_level": "Encryption of the body, numbers as in a packet.",
        "truncated": "Properties of which the buffer holds a part only.",
        "problems": "What cannot be trusted, in sentences.",
    },
}


def rpc_fields(type_: str) -> list[Any]:
    """The pyarrow fields of a record's ``packet``; the metadata of each are ``doc`` and ``spec``.

    A text that does not show all its bytes has them beside it, as ``<field>_raw``. KeyError for other types.
    """
    return _fields(RPC_PACKETS[type_])


def rpc_arrays(type_: str, records: Sequence[Record]) -> list[Any]:
    """The columns of records of one type, an array for each of `rpc_fields`."""
    rows = [_cells(record.packet) for record in records]
    return [pa.array([row[field.name] for row in rows], field.type) for field in rpc_fields(type_)]


@cache
def _attributes() -> Mapping[str, str]:
    """What the members of a transfer buffer mean, by the attribute of Message that they stand for."""
    docs = {f"old.{member.name}": member.doc for member in members(CACTransferBufferV1)}
    docs |= {member.name: member.doc for member in members(CACTransferBufferV2)}
    return {one.attribute: docs[one.member] for one in TRANSLATIONS if one.member in docs}


def _doc(cls: type[msgspec.Struct], name: str) -> str:
    own = _DOCS.get(cls, {})
    if name in own:
        return own[name]
    if cls is MessageProperties:
        return _attributes().get(name) or f"{name.replace('_', ' ').capitalize()}."
    assert issubclass(cls, WireStruct)
    return next(member.doc for member in members(cls) if member.name == name)


@cache
def _fields(cls: type[msgspec.Struct]) -> list[Any]:
    hints = get_type_hints(cls)
    section = _SPECS.get(cls)
    if section is None:
        assert issubclass(cls, WireStruct)
        section = cls.SPEC
    spec = str(section)
    found = []
    for name in cls.__struct_fields__:
        kind, nullable = _type(hints[name])
        about = {"doc": _doc(cls, name), "spec": spec}
        if cls is RpcCall and name in _JSON:
            kind, nullable = pa.string(), True
        found.append(pa.field(name, kind, nullable=nullable, metadata=about))
        if WcharText in (hints[name], *get_args(hints[name])):
            about = {"doc": "The bytes, where the text does not show them all.", "spec": spec}
            found.append(pa.field(f"{name}_raw", pa.binary(), metadata=about))
    return found


def _type(hint: Any) -> tuple[Any, bool]:
    """The Arrow type of an annotation, and whether it may be null."""
    if get_origin(hint) in (Union, UnionType):
        (inner,) = (one for one in get_args(hint) if one is not NoneType)
        return _type(inner)[0], True
    if get_origin(hint) is tuple:
        return pa.list_(pa.field("item", _type(get_args(hint)[0])[0], nullable=False)), False
    if not isinstance(hint, type):
        return None, True
    if issubclass(hint, msgspec.Struct):
        return pa.struct(_fields(hint)), False
    if issubclass(hint, GUID | WcharText | str):
        return pa.string(), False
    if issubclass(hint, bytes):
        return pa.binary(), False
    return (pa.bool_() if hint is bool else pa.int64()), False


def _cells(value: msgspec.Struct) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for field in _fields(type(value)):
        name = field.name
        if name.endswith("_raw"):
            text = getattr(value, name.removesuffix("_raw"))
            cells[name] = None if text is None or text.exact else bytes(text)
        elif type(value) is RpcCall and name in _JSON:
            stub = getattr(value, name)
            cells[name] = None if stub is None else json.dumps(view(stub))
        else:
            cells[name] = _cell(getattr(value, name))
    return cells


def _cell(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _cells(value)
    if isinstance(value, tuple):
        return [_cell(one) for one in value]
    if isinstance(value, GUID):
        return str(value)
    if isinstance(value, WcharText):
        return value.text
    return value
