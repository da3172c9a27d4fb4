"""Streams of the .NET BinaryFormatter ([MS-NRBF]): what they name, and nothing more.

The rule kept here: records are walked with a stack of their own and only names and strings are taken down.
No type is looked up, no object is built and no reference is followed.
"""

from __future__ import annotations

from typing import NamedTuple

from msmq_wire.errors import DecodeError
from msmq_wire.records.bodies.body import Body, BodyKinds, Confidence, shortened
from msmq_wire.records.bodies.remoting_stream import PRIMITIVES, STRING, RemotingStream

KINDS = (
    BodyKinds(
        ("binary_formatter",),
        "header of a .NET stream ([MS-NRBF] 2.6.1)",
        "root, libraries, classes with their members, methods, strings",
    ),
)

BEGINS = (b"\0",)
"""What such a stream begins with."""
_HEADER = bytes.fromhex("01000000 00000000")
_LISTED = 64

# BinaryTypeEnumeration, 2.1.2.2.
_PRIMITIVE, _SYSTEM_CLASS, _CLASS, _PRIMITIVE_ARRAY = 0, 3, 4, 7
_BINARY_TYPES = {1: "String", 2: "Object", 5: "Object[]", 6: "String[]"}

# MessageFlags, 2.2.1.1.
_ARGS_INLINE, _CONTEXT_INLINE, _RETURN_VALUE_INLINE = 0x2, 0x20, 0x800


class _Member(NamedTuple):
    """Name of a member, its BinaryTypeEnumeration, its primitive type (0 for none) and its type as text."""

    name: str
    binary_type: int
    primitive: int
    type_name: str


class _Open(NamedTuple):
    """Members of which ``left`` are still to come: those of a class, or elements of one kind."""

    members: tuple[_Member, ...]
    left: int


def binary_formatter_body(data: bytes) -> Body | None:
    """The body as a BinaryFormatter stream; None when it does not begin with the header of one (2.6.1).

    ``certain`` when every record up to MessageEnd was understood. The details have ``root``, ``library``,
    ``class`` (``name { member: type, ... }``), ``method`` and ``string`` rows, at most 64 of each, and
    ``stopped`` where the records could not be followed to their end.
    """
    if not data.startswith(BEGINS) or data[9:17] != _HEADER:
        return None
    walk = _Walk(data)
    confidence: Confidence = "certain"
    try:
        walk.records()
    except DecodeError as error:
        confidence = "likely"
        walk.rows.append(("stopped", f"offset {error.offset}: {error.message}"))
    root = next((value for name, value in walk.rows if name in ("root", "method")), "")
    return Body(
        kind="binary_formatter",
        confidence=confidence,
        title=f".NET BinaryFormatter {root}".rstrip(),
        details=tuple(walk.rows),
        extension="nrbf",
    )


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.stream = RemotingStream(data)
        self.rows: list[tuple[str, str]] = []
        self.counts: dict[str, int] = {}
        self.classes: dict[int, tuple[str, tuple[_Member, ...] | None]] = {}
        self.open: list[_Open] = []
        self.root_id = 0

    def row(self, name: str, value: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        if self.counts[name] <= _LISTED:
            self.rows.append((name, shortened(value)))

    def records(self) -> None:
        stream = self.stream
        stream.skip(1)
        self.root_id = stream.int32()
        stream.skip(12)
        while True:
            self.primitive_members()
            stream.count()
            type_ = stream.byte()
            if type_ == 11:
                return
            read = _RECORDS.get(type_)
            if read is None:
                stream.at -= 1
                raise stream.error("unknown-selector", f"there is no record type {type_}")
            read(self)

    def primitive_members(self) -> None:
        """Read the members that are no records of their own, up to the next one that is."""
        stream = self.stream
        while self.open:
            members, count = self.open[-1]
            if not count:
                self.open.pop()
                continue
            member = members[len(members) - count] if len(members) > 1 else members[0]
            if member.binary_type != _PRIMITIVE:
                return
            self.fill(1)
            value = stream.primitive(member.primitive)
            if member.primitive == STRING:
                self.row("string", value)

    def fill(self, number: int) -> None:
        """Count records as members of what is open; on the top level they are members of nothing."""
        while self.open and not self.open[-1].left:
            self.open.pop()
        if self.open:
            members, count = self.open[-1]
            self.open[-1] = _Open(members, max(0, count - number))

    def push(self, members: tuple[_Member, ...], count: int) -> None:
        if count:
            self.open.append(_Open(members, count))

    def class_record(self, *, typed: bool, library: bool) -> None:
        stream = self.stream
        self.fill(1)
        identifier = stream.int32()
        name = stream.string()
        names = tuple(stream.string() for _ in range(stream.length()))
        members = self.member_types(names) if typed else None
        if library:
            stream.skip(4)
        self.classes[identifier] = (name, members)
        shown = ", ".join(names if members is None else (f"{m.name}: {m.type_name}" for m in members))
        self.named(identifier, name)
        self.row("class", f"{name} {{ {shown} }}" if names else f"{name} {{ }}")
        if members is None:
            if names:
                raise stream.error("untyped", f"the types of the members of {shortened(name)} are not sent")
        else:
            self.push(members, len(members))

    def named(self, identifier: int, name: str) -> None:
        if identifier == self.root_id and not self.counts.get("root"):
            self.row("root", name)

    def member_types(self, names: tuple[str, ...]) -> tuple[_Member, ...]:
        """MemberTypeInfo, 2.3.1.2: all the kinds first, then what the kinds ask for."""
        kinds = self.stream.take(len(names))
        return tuple(
            _Member(name, kind, *self.type_of(kind)) for name, kind in zip(names, kinds, strict=True)
        )

    def type_of(self, kind: int) -> tuple[int, str]:
        stream = self.stream
        if kind in (_PRIMITIVE, _PRIMITIVE_ARRAY):
            primitive = stream.byte()
            if primitive not in PRIMITIVES:
                raise stream.error("unknown-selector", f"there is no primitive type {primitive}")
            return primitive, PRIMITIVES[primitive][0] + ("[]" if kind == _PRIMITIVE_ARRAY else "")
        if kind in (_SYSTEM_CLASS, _CLASS):
            name = stream.string()
            if kind == _CLASS:
                stream.skip(4)
            return 0, name
        if kind not in _BINARY_TYPES:
            raise stream.error("unknown-selector", f"there is no binary type {kind}")
        return 0, _BINARY_TYPES[kind]

    def class_with_id(self) -> None:
        stream = self.stream
        self.fill(1)
        identifier, metadata = stream.int32(), stream.int32()
        found = self.classes.get(metadata)
        if found is None or found[1] is None:
            raise stream.error("unknown-class", f"class {metadata} was not described before")
        self.named(identifier, found[0])
        self.push(found[1], len(found[1]))

    def object_string(self) -> None:
        self.fill(1)
        identifier = self.stream.int32()
        value = self.stream.string()
        self.named(identifier, "String")
        self.row("string", value)

    def binary_array(self) -> None:
        stream = self.stream
        self.fill(1)
        identifier = stream.int32()
        shape, rank = stream.byte(), stream.length()
        if shape > 5:
            raise stream.error("unknown-selector", f"there is no array type {shape}")
        # Four bytes for each dimension are there, or the rank is a lie.
        lengths = stream.take(4 * rank)
        if shape > 2:
            stream.skip(4 * rank)
        total = 1
        for at in range(0, len(lengths), 4):
            length = int.from_bytes(lengths[at : at + 4], "little")
            if length > 0x7FFFFFFF or total * length > 0x7FFFFFFF:
                raise stream.error("length", "an array of more than 2147483647 elements")
            total *= length
        kind = stream.byte()
        primitive, type_name = self.type_of(kind)
        self.array(identifier, kind, primitive, type_name, total)

    def array(self, identifier: int, kind: int, primitive: int, type_name: str, count: int) -> None:
        name = f"{type_name}[{count}]"
        self.named(identifier, name)
        self.row("array", name)
        if kind == _PRIMITIVE:
            self.stream.skip_primitives(primitive, count)
        else:
            self.push((_Member("", kind, primitive, type_name),), count)

    def single_array(self, kind: int) -> None:
        stream = self.stream
        self.fill(1)
        identifier, count = stream.int32(), stream.length()
        primitive, type_name = self.type_of(kind)
        self.array(identifier, kind, primitive, type_name, count)

    def primitive_typed(self) -> None:
        self.fill(1)
        type_ = self.stream.byte()
        value = self.stream.primitive(type_)
        if type_ == STRING:
            self.row("string", value)

    def reference(self) -> None:
        self.fill(1)
        self.stream.skip(4)

    def nulls(self, size: int) -> None:
        self.fill(int.from_bytes(self.stream.take(size), "little") if size else 1)

    def library(self) -> None:
        self.stream.skip(4)
        self.row("library", self.stream.string())

    def method_call(self) -> None:
        stream = self.stream
        flags = stream.int32()
        name, type_name = (stream.primitive(stream.byte()) for _ in range(2))
        self.row("method", f"{type_name.partition(',')[0]}.{name}")
        self.row("method_type", type_name)
        self.inline_values(flags)

    def method_return(self) -> None:
        stream = self.stream
        flags = stream.int32()
        if flags & _RETURN_VALUE_INLINE:
            self.row("returned", stream.primitive(stream.byte()))
        self.inline_values(flags)

    def inline_values(self, flags: int) -> None:
        stream = self.stream
        if flags & _CONTEXT_INLINE:
            self.row("call_id", stream.primitive(stream.byte()))
        if flags & _ARGS_INLINE:
            for _ in range(stream.length()):
                self.row("argument", stream.primitive(stream.byte()))


# RecordTypeEnumeration, 2.1.2.1.
_RECORDS = {
    1: _Walk.class_with_id,
    2: lambda walk: walk.class_record(typed=False, library=False),
    3: lambda walk: walk.class_record(typed=False, library=True),
    4: lambda walk: walk.class_record(typed=True, library=False),
    5: lambda walk: walk.class_record(typed=True, library=True),
    6: _Walk.object_string,
    7: _Walk.binary_array,
    8: _Walk.primitive_typed,
    9: _Walk.reference,
    10: lambda walk: walk.nulls(0),
    12: _Walk.library,
    13: lambda walk: walk.nulls(1),
    14: lambda walk: walk.nulls(4),
    15: lambda walk: walk.single_array(_PRIMITIVE),
    16: lambda walk: walk.single_array(2),
    17: lambda walk: walk.single_array(1),
    21: _Walk.method_call,
    22: _Walk.method_return,
}
