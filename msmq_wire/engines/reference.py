"""The reference engine: the construct schemas as they stand.

The rule kept here: this engine defines what bytes mean. Every faster engine must agree with it, and hands
it whatever is irregular.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import construct

from msmq_wire.arguments import wrong_type
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import Anomaly, View
from msmq_wire.wire.stream import Range, Span, WireReader, WireWriter

MAX_ANOMALIES = 100
"""Anomalies kept for one packet; hostile lists could hold one an element."""


def parse(cls: Any, data: bytes, missing: Sequence[Range] = ()) -> tuple[Any, int]:
    """Decode one structure from the start of ``data``: the value and the bytes it took.

    Raises DecodeError; its offset is a packet offset.
    """
    reader = WireReader(data, missing=missing)
    try:
        value = cls.schema()._parse(reader, {"size": reader.end}, "")
    except DecodeError as error:
        if error.spec is None:
            error.spec = cls.SPEC
        if not issubclass(cls, WireStruct):
            error.partial = None
        raise
    return value, reader.consumed


def build(value: Any, missing: Sequence[Range] = ()) -> bytes:
    """Encode a structure; raises EncodeError when it contradicts itself."""
    return _write(value, WireWriter(missing=missing)).getvalue()


def layout(
    value: Any, missing: Sequence[Range] = (), wanted: Collection[str] | None = None
) -> Mapping[str, Span]:
    """Where every field lies, by path (``user_header.flags``, ``....format_name_list[0].format_type``).

    Of a partial value, the fields that were reached. ``wanted`` names the paths to return, all by default.
    """
    inside: Mapping[str, tuple[str, Any]] = getattr(value, "INSIDE", {})
    asked = None if wanted is None else {*wanted, *(at for at, _ in inside.values())}
    spans = _lay_out(value, missing, asked).spans
    for name, (at, _) in inside.items():
        inner = getattr(value, name)
        if inner is not None and at in spans:
            base = spans[at]
            spans[name] = base
            for path, span in layout(inner).items():
                spans[f"{name}.{path}"] = Span(base.offset + span.offset, span.length)
    return spans


def decoded_size(partial: Any, missing: Sequence[Range] = ()) -> int:
    """How many bytes of the data a partial value shows."""
    return _lay_out(partial, missing, ()).written


def _lay_out(value: Any, missing: Sequence[Range], wanted: Collection[str] | None) -> WireWriter:
    writer = WireWriter(missing=missing, laying_out=True, wanted=wanted)
    # A partial value ends somewhere; what was written before that place is what was decoded.
    with contextlib.suppress(EncodeError):
        _write(value, writer)
    return writer


def _write(value: Any, writer: WireWriter) -> WireWriter:
    if not hasattr(type(value), "schema") or isinstance(value, type):
        raise EncodeError(wrong_type("packet", "a structure of this package", value))
    scope = {"size": writer.extent(len(value)) if isinstance(value, bytes) else 0}
    try:
        type(value).schema()._build(value, writer, scope, "")
    except construct.ConstructError as error:
        raise EncodeError(str(error)) from None
    except TypeError as error:
        # A value of another type than its field has: expressions compute with it, nodes measure it.
        raise EncodeError(f"a value of the wrong type: {error}") from None
    return writer


def find_anomalies(
    packet: Any, missing: Sequence[Range] = (), error: DecodeError | None = None
) -> tuple[Anomaly, ...]:
    """What breaks a MUST in a structure, in wire order of the structures, at most `MAX_ANOMALIES`.

    ``error`` is what ended the decode of a partial value: the field that it cut is not judged.
    """
    if not isinstance(packet, WireStruct):
        return ()
    broken: list[tuple[str, Any, WireStruct]] = []
    for path, view in _views(View(packet, cut="" if error is None else error.path), ""):
        for must in type(view.value).MUSTS:
            if not must.holds(view):
                broken.append((path, must, view.value))
        if len(broken) >= MAX_ANOMALIES:
            break
    if not broken:
        return ()
    paths = [f"{path}.{must.at}" if path else must.at for path, must, _ in broken[:MAX_ANOMALIES]]
    spans = layout(packet, missing, frozenset(paths))
    found = []
    for at, (_, must, value) in zip(paths, broken, strict=False):
        span = spans.get(at, Span(0, 0))
        found.append(
            Anomaly(
                code=f"{type(value).stem()}.{must.code}",
                message=must.message,
                path=at,
                offset=span.offset,
                length=span.length,
                spec=must.spec or value.SPEC,
            )
        )
    return tuple(found)


def _views(view: View, path: str) -> Iterator[tuple[str, View]]:
    yield path, view
    value = view.value
    for name in (*value.__struct_fields__, *getattr(value, "INSIDE", ())):
        part = getattr(value, name)
        inner = f"{path}.{name}" if path else name
        if isinstance(part, WireStruct):
            yield from _views(view.child(name, part), inner)
        elif isinstance(part, tuple):
            for index, item in enumerate(part):
                if isinstance(item, WireStruct):
                    yield from _views(view.child(name, item, index), f"{inner}[{index}]")
