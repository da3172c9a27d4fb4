"""The Arrow schema of every packet type, derived from the declarations.

The rule kept here: names and order are those of the fields, texts are those of the JSON view. A field of a
packet that was cut may be missing, so every field of a packet may be null.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.engines.columns.batch_tables import UNRECOGNISED
from msmq_wire.wire.expressions import Expression, Undetermined, evaluate
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.generation import generate
from msmq_wire.wire.musts import BitTable
from msmq_wire.wire.packets.base import InternalPacket
from msmq_wire.wire.registry import structure_with_fields
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

QUEUE_NAME = pa.struct([pa.field("type", pa.int32()), pa.field("format_name", pa.string())])
"""A queue of the UserHeader: its type on the wire and its format name, null where the host is not known."""
_FOUND = [
    pa.field("code", pa.string(), nullable=False),
    pa.field("message", pa.string(), nullable=False),
    pa.field("path", pa.string(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
]
ANOMALY = pa.struct(
    [*_FOUND, pa.field("length", pa.int64(), nullable=False), pa.field("spec", pa.string(), nullable=False)]
)
ERROR = pa.struct([*_FOUND, pa.field("spec", pa.string())])


class _Unknown(Undetermined):
    """A field's value before there is a packet; a conjunction with what is false is false all the same."""

    __slots__ = ()

    def _and(self, other: object) -> Any:
        return False if other is False else self

    __and__ = __rand__ = _and  # type: ignore[assignment]  # the one operation that can be known


class _Constants(dict[str, Any]):
    """The scope of a structure whose context alone is known."""

    def __missing__(self, name: str) -> Any:
        return _Unknown()


class _Types:
    """A `Generator` that answers with the Arrow types of a field by layout, "" for that of its own name."""

    def __init__(self) -> None:
        self.scope = _Constants()
        self.listed = False

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> Any:
        small = size < 4 or (size == 4 and signed)
        return {"": pa.int32() if small else pa.int64()}

    def octets(self, length: Expression, kind: type[bytes]) -> Any:
        if issubclass(kind, GUID):
            return {"": pa.string()}
        binary = self._binary()
        if issubclass(kind, WcharText):
            return {"": pa.string(), "raw": binary}
        return {"": pa.binary(length) if isinstance(length, int) and length else binary}

    def _binary(self) -> pa.DataType:
        # Lists are made of copies.
        return pa.binary() if self.listed else pa.binary_view()

    def fill(self, length: Expression) -> Any:
        return {"": self._binary()}

    def align(self, to: int) -> Any:
        return {"": self._binary()}

    def zero_terminated(self, kind: type[bytes]) -> Any:
        return self.octets(None, kind)

    def optional(self, condition: Expression, subcon: Any) -> Any:
        return generate(subcon, self)

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> Any:
        selected = evaluate(selector, self.scope)
        if not isinstance(selected, Undetermined):
            cases = {int(selected): cases[int(selected)]}
        layouts: dict[str, Any] = {}
        for subcon in cases.values():
            for name, layout in generate(subcon, self).items() if subcon is not None else ():
                cls = getattr(subcon, "cls", None)
                layouts[cls.stem() if cls is not None and not name else name] = layout
        # One layout needs no name of its own.
        return {"": next(iter(layouts.values()))} if len(layouts) == 1 else layouts

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> Any:
        listed, self.listed = self.listed, True
        element = generate(subcon, self)[""]
        self.listed = listed
        return {"": pa.list_(element)}

    def tell(self) -> Any:
        return {}

    def ahead(self, subcon: Any, at: int, field: str) -> Any:
        return {}

    def value(self, expression: Expression, without: str) -> Any:
        return {}

    def limit(self, end: Expression, unless: Expression) -> Any:
        return {}

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> Any:
        outer = self.scope
        self.scope = _Constants({**cls.CONTEXT, **context})
        found: list[pa.Field] = []
        for field in fields(cls):
            if not field.position:
                found += self._fields(cls, field)
        self.scope = outer
        return {"": pa.struct(found)}

    def _fields(self, cls: type[WireStruct], field: Field) -> list[pa.Field]:
        types: Mapping[str, pa.DataType]
        match field.shown:
            case ShownQueue():
                types = {"": QUEUE_NAME}
            case ShownName():
                types = {"": pa.string()}
            case ShownText():
                types = {"": pa.string(), "raw": self._binary()}
            case _:
                types = generate(field.subcon, self)
        found = []
        for layout, kind in types.items():
            name = f"{field.name}_raw" if layout == "raw" else layout or field.name
            doc = "The bytes, where the text does not show them all." if layout == "raw" else field.doc
            bits = cls.BITS if cls.BITS is not None and cls.BITS.field == name else None
            found.append(pa.field(name, kind, metadata=_metadata(cls, field, doc, bits)))
        return found


def _metadata(cls: type[WireStruct], field: Field, doc: str, bits: BitTable | None) -> dict[str, str]:
    found = {"doc": doc, "spec": str(cls.SPEC)}
    if field.unit:
        found["unit"] = field.unit
    if field.names is not None:
        found["enumeration"] = field.names.__name__
    if bits is not None:
        table = [
            {"name": bit.name, "shift": bit.shift, "width": bit.width}
            | ({} if bit.names is None else {"enumeration": bit.names.__name__})
            for bit in bits.bits.values()
        ]
        found["bits"] = json.dumps(table)
    return {name: text for name, text in found.items() if text}


def class_of(stem: str) -> type[WireStruct]:
    """The class whose fields a table has. Raises ValueError for a stem that has none."""
    return InternalPacket if stem == UNRECOGNISED else structure_with_fields(stem)


@cache
def schema(stem: str) -> pa.Schema:
    """The Arrow schema of the table of a packet type, or of another structure, by its stem.

    The columns are ``row`` (place in the batch), the fields of the packet, ``anomalies``, ``consumed``
    (bytes), ``remainder`` and ``error``. The metadata of a field are ``doc``, ``spec``, and where it has them
    ``unit``, ``enumeration`` and ``bits`` (JSON: name, shift, width). Numbers of up to 16 bits are int32,
    others int64.
    Raises ValueError for an unknown stem.
    """
    cls = class_of(stem)
    types = _Types()
    columns = list(types.structure(cls, {})[""])
    for name, (_, inner) in getattr(cls, "INSIDE", {}).items():
        doc = {"doc": inner.__doc__ or "", "spec": str(inner.SPEC)}
        columns.append(pa.field(name, types.structure(inner, {})[""], metadata=doc))
    return pa.schema(
        [
            pa.field("row", pa.int64(), nullable=False, metadata={"doc": "Place in the batch."}),
            *columns,
            pa.field("anomalies", pa.list_(ANOMALY), nullable=False, metadata={"doc": "Broken MUSTs."}),
            pa.field("consumed", pa.int64(), nullable=False, metadata={"doc": "Bytes of the packet."}),
            pa.field("remainder", pa.binary_view(), nullable=False, metadata={"doc": "The bytes after it."}),
            pa.field("error", ERROR, metadata={"doc": "What ended the decode."}),
        ],
        metadata={"type": stem, "doc": cls.__doc__ or "", "spec": str(cls.SPEC)},
    )


@cache
def narrowed(whole: pa.Schema, wanted: frozenset[str]) -> pa.Schema:
    """The columns of a schema that ``wanted`` names, and of structs the members that dotted paths lead to."""
    return pa.schema(_narrowed(whole, wanted), metadata=whole.metadata)


def _narrowed(whole: Iterable[pa.Field], wanted: Collection[str]) -> list[pa.Field]:
    found = []
    for field in whole:
        inner = {path.partition(".")[2] for path in wanted if path.startswith(f"{field.name}.")}
        if field.name in wanted:
            found.append(field)
        elif inner and pa.types.is_struct(field.type) and (members := _narrowed(field.type, inner)):
            found.append(field.with_type(pa.struct(members)))
    return found
