"""The tables of calls and of SRMP: Arrow schemas and cells of what `msmq_wire.records.composed` lists.

The rule kept here: a column is a field of a declaration, its type and whether it may be null come from there.
Requests, responses and envelopes are JSON texts, those of the JSON view: every one has a shape of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.engines.arrow_types import arrow_type
from msmq_wire.records.com_packets import ComCall
from msmq_wire.records.composed import COMPOSED
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.view import view
from msmq_wire.rpc.ndr import members
from msmq_wire.rpc.transfer_properties import TRANSLATIONS
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, CACTransferBufferV2
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_TEXTS: Mapping[type, tuple[str, ...]] = {
    RpcCall: ("request", "response"),
    ComCall: ("request", "response"),
    SrmpMessage: ("envelope",),
}
"""Fields that are JSON texts."""


def composed_fields(type_: str) -> list[Any]:
    """The pyarrow fields of a record's ``packet``; the metadata of each are ``doc`` and ``spec``.

    A text that does not show all its bytes has them beside it, as ``<field>_raw``. KeyError for other types.
    """
    return _fields(COMPOSED[type_])


def composed_arrays(records: Sequence[Record], fields: Sequence[Any]) -> list[Any]:
    """The columns of records of one type, an array for each of some of its `composed_fields`."""
    rows = [_cells(record.packet, fields) for record in records]
    return [pa.array([row[field.name] for row in rows], field.type) for field in fields]


@cache
def _attributes() -> Mapping[str, str]:
    """What the members of a transfer buffer mean, by the attribute of Message that they stand for."""
    docs = {f"old.{member.name}": member.doc for member in members(CACTransferBufferV1)}
    docs |= {member.name: member.doc for member in members(CACTransferBufferV2)}
    return {one.attribute: docs[one.member] for one in TRANSLATIONS if one.member in docs}


def _doc(cls: type[msgspec.Struct], name: str, hint: Any) -> str:
    if issubclass(cls, WireStruct):
        return next(member.doc for member in members(cls) if member.name == name)
    said = [one for one in get_args(hint) if isinstance(one, str)] if get_origin(hint) is Annotated else []
    return said[0] if said else _attributes().get(name) or f"{name.replace('_', ' ').capitalize()}."


@cache
def _fields(cls: type[msgspec.Struct]) -> list[Any]:
    hints, declared = get_type_hints(cls), get_type_hints(cls, include_extras=True)
    spec = str(cls.SPEC)  # type: ignore[attr-defined]  # all that come here have one
    found = []
    for name in cls.__struct_fields__:
        text = name in _TEXTS.get(cls, ())
        kind, nullable = (pa.string(), True) if text else arrow_type(hints[name], _struct, nullable=False)
        about = {"doc": _doc(cls, name, declared[name]), "spec": spec}
        found.append(pa.field(name, kind, nullable=nullable, metadata=about))
        if WcharText in (hints[name], *get_args(hints[name])):
            about = {"doc": "The bytes, where the text does not show them all.", "spec": spec}
            found.append(pa.field(f"{name}_raw", pa.binary(), metadata=about))
    return found


def _struct(cls: type[msgspec.Struct]) -> Any:
    return pa.struct(_fields(cls))


def _cells(value: msgspec.Struct, fields: Sequence[Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for field in fields:
        name = field.name
        if name.endswith("_raw"):
            text = getattr(value, name.removesuffix("_raw"))
            cells[name] = None if text is None or text.is_shown_whole else bytes(text)
        elif name in _TEXTS.get(type(value), ()):
            stub = getattr(value, name)
            cells[name] = None if stub is None else json.dumps(view(stub))
        else:
            cells[name] = _cell(getattr(value, name))
    return cells


def _cell(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _cells(value, _fields(type(value)))
    if isinstance(value, tuple):
        return [_cell(one) for one in value]
    if isinstance(value, GUID):
        return str(value)
    if isinstance(value, WcharText):
        return value.text
    return value
