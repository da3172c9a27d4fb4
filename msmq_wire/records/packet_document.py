"""What ``packet --format json`` prints, read back: `read_document`.

The rule kept here: the declarations that the view is made of are read backwards, and no field is named here.
``<field>_raw`` wins over its text. What is shown twice otherwise (a word and its bits, an acknowledgment and
the body that holds it) must agree: nobody can say which of the two was edited.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import construct
import msgspec

from msmq_wire.arguments import shown, unknown_name
from msmq_wire.engines import reference
from msmq_wire.engines.codec import encode
from msmq_wire.engines.fit import fit
from msmq_wire.engines.text.escaping import SCHEMA_VERSION
from msmq_wire.errors import DecodeError, EncodeError, FormatNameError
from msmq_wire.records.json_values import check_keys, join, kind_of, number, octets, parsed, refuse_at, word
from msmq_wire.wire import registry
from msmq_wire.wire.expressions import Undetermined, evaluate
from msmq_wire.wire.fields import Choice, Field, Items, Node, Opt, WireStruct, fields
from msmq_wire.wire.headers.user_header import QUEUES, UserHeader
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

Json = Mapping[str, Any]
Scope = dict[str, Any]

_KEYS = ("schema_version", "type", "packet", "packet_raw", "anomalies", "consumed", "remainder", "error")


class PacketDocument(msgspec.Struct, frozen=True):
    """A packet that was read from JSON, what follows it, and the paths of texts that ``_raw`` overrides."""

    packet: Any
    remainder: bytes
    overridden: tuple[str, ...] = ()

    def data(self) -> bytes:
        """The bytes of it all. Raises EncodeError where values contradict each other."""
        return encode(self.packet) + self.remainder


def read_document(data: str | bytes, *, fitted: bool = False) -> PacketDocument:
    """Read the JSON that ``packet --format json`` prints.

    ``fitted`` makes sizes, counts, padding and presence bits right, as `fit` does; a queue that is there says
    its own type then. Raises EncodeError with the path for whatever is no such document.
    """
    document = parsed(data)
    if not isinstance(document, dict):
        refuse_at("", f"{kind_of(document)} where the object belongs that packet --format json prints")
    if "packet" in document and "frames" in document and "id" in document:
        refuse_at("", "this is a row of decode: keep its type and packet alone, as jq '{type, packet}' does")
    check_keys(document, _KEYS, "", required=("type", "packet"))
    if document.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        refuse_at("schema_version", f"{shown(document['schema_version'])} where {SCHEMA_VERSION} is known")
    if document.get("error") is not None:
        refuse_at("error", "the packet was cut: give what is missing, and set error to null")
    stem = document["type"]
    if stem is None or document["packet"] is None:
        refuse_at("packet" if stem else "type", "null: there is no packet to encode")
    if not isinstance(stem, str) or stem not in registry.STRUCTURES:
        refuse_at("type", unknown_name("structure", stem, registry.STRUCTURES))
    reading = _Reading(fitted)
    packet = reading.packet(registry.STRUCTURES[stem], document)
    if fitted and isinstance(packet, WireStruct):
        packet = fit(packet)
    remainder = document.get("remainder")
    rest = b"" if remainder is None else octets(remainder, "remainder")
    return PacketDocument(packet, rest, tuple(reading.overridden))


class _Reading:
    """Makes structures of what they look like."""

    def __init__(self, fitted: bool) -> None:
        self._fitted = fitted
        self.overridden: list[str] = []

    def packet(self, cls: Any, document: Json) -> Any:
        """The structure of a document."""
        if issubclass(cls, WireStruct):
            if "packet_raw" in document:
                refuse_at("packet_raw", "only a text has it")
            return self._structure(cls, {}, document["packet"], "", {})
        if "packet_raw" in document:
            return cls(octets(document["packet_raw"], "packet_raw"))
        return _octets_of(cls, 0, document["packet"], "packet", {})

    def _structure(self, cls: type[WireStruct], context: Json, found: Any, path: str, around: Scope) -> Any:
        if not isinstance(found, dict):
            refuse_at(path, f"{kind_of(found)} where an object belongs")
        inside: Json = getattr(cls, "INSIDE", {})
        declared = [field for field in fields(cls) if not field.position]
        raws = {f"{field.name}_raw": field.name for field in declared if _has_raw(field)}
        check_keys(found, (*(field.name for field in declared), *raws, *inside), path)
        scope: Scope = {"_": around, **cls.CONTEXT, **context}
        bodies = {name: self._inside(inside[name][1], found, name, path) for name in inside}
        for name, body in bodies.items():
            if body is not None:
                found = _with_bytes(found, inside[name][0], body)
        for field in declared:
            at = join(path, field.name)
            if f"{field.name}_raw" in raws and found.get(f"{field.name}_raw") is not None:
                value = self._raw(field, found, at, scope)
            elif field.name not in found:
                refuse_at(at, "missing: null says that something is not present")
            else:
                value = self._field(cls, field, found[field.name], at, scope)
            scope[field.name] = value
        made: Any = cls(**{field.name: scope[field.name] for field in declared})
        for name, body in bodies.items():
            if body is not None and attrgetter(inside[name][0])(made) != body:
                refuse_at(
                    join(path, name),
                    f"this contradicts {inside[name][0]}: remove the one that you did not edit",
                )
        self._overridden(made, declared, found, path, around)
        return self._with_queues(made, found, path) if isinstance(made, UserHeader) else made

    def _inside(self, cls: type[WireStruct], found: Json, name: str, path: str) -> bytes | None:
        """The bytes of a structure that is shown beside the field which holds it."""
        if found.get(name) is None:
            return None
        return encode(self._structure(cls, {}, found[name], join(path, name), {}))

    def _field(self, cls: type[WireStruct], field: Field, value: Any, path: str, scope: Scope) -> Any:
        if cls.BITS is not None and cls.BITS.field == field.name:
            return word(value, cls.BITS, field.subcon.sizeof(), path)
        if value is None and field.absent_if_empty:
            return b""
        match field.shown:
            case ShownQueue(bits=bits):
                return _queue(field.name, bits, value, path, scope)
            case ShownName() as named:
                return _named(value, path, named.value)
            case ShownText() as by if isinstance(value, str) and by.value is not None:
                length = getattr(field.subcon, "length", 0)
                made = by.value(_by(by, scope), value, length if isinstance(length, int) else 0)
                if made is not None:
                    return made
                try:
                    return octets(value, path)
                except EncodeError:
                    refuse_at(path, f"{shown(value)} is no base64, and no text of type {_by(by, scope)}")
        return self._value(field.subcon, value, path, scope)

    def _value(self, subcon: Any, value: Any, path: str, scope: Scope) -> Any:
        match subcon:
            case Opt():
                return None if value is None else self._value(subcon.subcon, value, path, scope)
            case Choice():
                return self._choice(subcon, value, path, scope)
            case Items():
                if not isinstance(value, list):
                    refuse_at(path, f"{kind_of(value)} where a list belongs")
                items = enumerate(value)
                return tuple(
                    self._value(subcon.subcon, one, f"{path}[{place}]", scope) for place, one in items
                )
            case Node():
                return self._structure(subcon.cls, subcon.context, value, path, scope)
            case construct.FormatField() | construct.BytesInteger():
                return number(value, subcon.sizeof(), path)
        return _octets_of(getattr(subcon, "kind", bytes), getattr(subcon, "length", None), value, path, scope)

    def _choice(self, subcon: Choice, value: Any, path: str, scope: Scope) -> Any:
        """A value by the first case that has its JSON type: a structure is an object, all else a text."""
        cases = list(subcon.cases.values())
        if value is None and None in cases:
            return None
        for case in cases:
            if case is not None and isinstance(case, Node) == isinstance(value, dict):
                return self._value(case, value, path, scope)
        refuse_at(path, f"{kind_of(value)} where none belongs")

    def _raw(self, field: Field, found: Json, path: str, scope: Scope) -> Any:
        data = octets(found[f"{field.name}_raw"], f"{path}_raw")
        if not isinstance(field.shown, ShownName | ShownQueue):
            return getattr(field.subcon, "kind", bytes)(data)
        node = _case(field, found.get(field.name, {}), path, scope)
        if not isinstance(node, Node):
            refuse_at(f"{path}_raw", "there is no queue of this type")
        try:
            value, size = reference.parse(node.cls, data)
        except DecodeError as error:
            refuse_at(f"{path}_raw", f"no {node.cls.stem()}: {error}")
        if size != len(data):
            refuse_at(f"{path}_raw", f"{len(data)} bytes where a {node.cls.stem()} has {size}")
        return value

    def _overridden(self, made: Any, declared: list[Field], found: Json, path: str, around: Scope) -> None:
        """Note the texts that say something else than the bytes which override them."""
        for field in declared:
            text = found.get(field.name)
            if text is None or found.get(f"{field.name}_raw") is None:
                continue
            value = getattr(made, field.name)
            said: Any
            match field.shown:
                case ShownQueue():
                    said, text = made.format_name(field.name), text.get("format_name")
                case ShownName() as named:
                    said = named.text(value)
                case ShownText() as by:
                    said = by.text(_by(by, {**_ints(made), "_": around}), value)
                case _:
                    said = value.text
            if text is not None and said != text:
                self.overridden.append(join(path, field.name))

    def _with_queues(self, header: UserHeader, found: Json, path: str) -> UserHeader:
        """The header with the types that its queues give, if it is fitted, and if their hosts are right."""
        types = {
            QUEUES[name]: 0 if found[name] is None else found[name].get("type")
            for name in QUEUES
            if name in found
        }
        for name, bits in QUEUES.items():
            given = types.get(bits)
            if given is not None and given != header.bit(bits):
                if not self._fitted:
                    said = "null" if found[name] is None else f"type {given}"
                    refuse_at(
                        join(path, name), f"{said} contradicts flags.{bits}, which is {header.bit(bits)}"
                    )
                header = header.with_bits(**{bits: given})
        for name in QUEUES:
            queue = found.get(name)
            text = None if queue is None else queue.get("format_name")
            if text is None or found.get(f"{name}_raw") is not None:
                continue
            given_by = header.format_name(name)
            if given_by is None or not isinstance(text, str) or given_by.lower() != text.lower():
                refuse_at(
                    join(path, f"{name}.format_name"),
                    f"by its type this is {given_by}: set the type to 6 for another host",
                )
        return header


def _octets_of(kind: type[bytes], length: Any, value: Any, path: str, scope: Scope) -> bytes:
    """Bytes of a kind by what they are shown as."""
    if issubclass(kind, WcharText):
        if not isinstance(value, str):
            refuse_at(path, f"{kind_of(value)} where a text belongs")
        return _text(kind, length, value, path, scope)
    if issubclass(kind, GUID):
        if not isinstance(value, str):
            refuse_at(path, f"{kind_of(value)} where a GUID belongs")
        try:
            return kind.parse(value)
        except ValueError as error:
            refuse_at(path, str(error))
    return kind(octets(value, path))


def _has_raw(field: Field) -> bool:
    if field.shown is not None:
        return not isinstance(field.shown, ShownText) or field.shown.whole is not None
    return issubclass(getattr(field.subcon, "kind", bytes), WcharText)


def _ints(made: Any) -> Scope:
    return {name: getattr(made, name) for name in made.__struct_fields__}


def _by(by: ShownText, scope: Scope) -> int:
    """The number that stands by a text."""
    found = scope["_"].get(by.by[2:], 0) if by.by.startswith("_.") else scope.get(by.by, 0)
    return found & by.mask if isinstance(found, int) else 0


def _with_bytes(found: Json, path: str, data: bytes) -> Json:
    """An object with the bytes of a field, where the field was left out."""
    header, _, name = path.partition(".")
    inner = found.get(header)
    if not isinstance(inner, dict) or name in inner:
        return found
    return {**found, header: {**inner, name: base64.b64encode(data).decode("ascii")}}


def _text(kind: type[WcharText], length: Any, text: str, path: str, scope: Scope) -> WcharText:
    if issubclass(kind, FixedWcharText):
        try:
            return kind.padded(text, length)
        except ValueError as error:
            refuse_at(path, str(error))
    if not text and callable(length):
        # Both no bytes and a terminator alone show as an empty text.
        size = evaluate(length, scope)
        if not isinstance(size, Undetermined) and size <= 0:
            return kind()
    return kind.of(text)


def _named(text: Any, path: str, value: Callable[[str], Any]) -> Any:
    if not isinstance(text, str):
        refuse_at(path, f"{kind_of(text)} where a format name belongs")
    try:
        return value(text)
    except FormatNameError as error:
        refuse_at(path, str(error))


def _selector(found: Any, bits: str, path: str, scope: Scope) -> int:
    table = UserHeader.BITS
    assert table is not None
    if not isinstance(found, dict):
        refuse_at(path, f"{kind_of(found)} where an object with type and format_name belongs")
    check_keys(found, ("type", "format_name", "same_as"), path)
    given = found.get("type")
    selector = table.extract(scope["flags"], bits) if given is None else given
    if type(selector) is not int or not 0 < selector < 8:
        refuse_at(join(path, "type"), f"{shown(selector)} is not in 1 to 7")
    return selector


def _queue(name: str, bits: str, found: Any, path: str, scope: Scope) -> Any:
    if found is None:
        return None
    selector = _selector(found, bits, path, scope)
    is_same = name == "response_queue" and selector == QueueType.SAME_AS_ADMIN_QUEUE
    if "same_as" in found and not (is_same and found["same_as"] == "admin_queue"):
        refuse_at(join(path, "same_as"), "only a response queue of type 1 has it, and it is admin_queue")
    if is_same:
        return None
    if found.get("format_name") is None:
        refuse_at(join(path, "format_name"), f"missing: give it, or the bytes of the queue as {name}_raw")
    return _named(
        found["format_name"], join(path, "format_name"), lambda text: UserHeader.queue_named(selector, text)
    )


def _case(field: Field, found: Any, path: str, scope: Scope) -> Any:
    """The layout that the bytes of a queue name have."""
    match field.shown:
        case ShownQueue(bits=bits):
            return field.subcon.cases.get(_selector(found, bits, path, scope))
        case _:
            return field.subcon.cases.get(evaluate(field.subcon.selector, scope))
