# SPDX-License-Identifier: GPL-2.0-or-later
"""scapy fields that hold structures: one, one of several kinds, a list; and parts that may be absent.

The rule kept here: on dissection the declared expressions say what is there; when a packet is built, what was
given is there, whatever the flags say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from scapy.fields import ConditionalField, Field, PacketField, PacketListField
from scapy.packet import Packet
from scapy.volatile import VolatileValue

from msmq_scapy.fields import MsmqBytesField, MsmqNumberField
from msmq_scapy.reading import Left, Scope, determined, here, peek
from msmq_wire.errors import DecodeError, EncodeError, FormatNameError
from msmq_wire.wire.expressions import Expression, evaluate
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.names.format_name import ENCODINGS
from msmq_wire.wire.names.wire_forms import from_wire

__all__ = [
    "ConditionalInsideField",
    "ConditionalPartField",
    "MsmqChoiceField",
    "MsmqListField",
    "MsmqNumberListField",
    "MsmqStructureField",
]

MAX_ELEMENTS = 4096
"""Elements of a list that are dissected, each a packet of some thousand bytes; the rest stays bytes."""


class MsmqStructureField(PacketField):
    """A structure; ``context`` sets names for its expressions."""

    __slots__ = ["context"]
    cls: Any

    def __init__(self, name: str, default: Any, cls: Any, context: Mapping[str, int]) -> None:
        self.context = context
        PacketField.__init__(self, name, default, cls)

    def any2i(self, pkt: Any, x: Any) -> Any:
        if isinstance(x, str):
            x = queue_structure(x, [self.cls])
        if isinstance(x, bytes):
            x = self.cls(x)
        if isinstance(x, Packet) and pkt is not None:
            x.add_parent(pkt)
        return x

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        nested = self.cls(_outer=pkt, _context=self.context)
        return nested.read(s), nested

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        return s if val is None else s + built_within(pkt, val, self.name)


class MsmqChoiceField(Field[Any, bytes]):
    """One of several layouts, by what ``selector`` says; a case of None takes no bytes.

    A queue can be given as a format name (``DIRECT=OS:host\\private$\\queue``).
    """

    __slots__ = ["cases", "selector"]
    holds_packets = 1

    def __init__(self, name: str, default: Any, selector: Expression, cases: Mapping[int, Any]) -> None:
        self.selector = selector
        self.cases = cases
        Field.__init__(self, name, default, "0s")

    @property
    def structures(self) -> list[Any]:
        """The packet classes of the cases."""
        found = [case.cls for case in self.cases.values() if isinstance(case, MsmqStructureField)]
        return list(dict.fromkeys(found))

    @property
    def plain(self) -> MsmqBytesField | None:
        """The case that is no structure, if there is one."""
        return next((case for case in self.cases.values() if isinstance(case, MsmqBytesField)), None)

    def any2i(self, pkt: Any, x: Any) -> Any:
        if isinstance(x, Packet):
            if pkt is not None:
                x.add_parent(pkt)
            return x
        if x is not None and self.plain is not None:
            return self.plain.any2i(pkt, x)
        return queue_structure(x, self.structures) if isinstance(x, str) else x

    def i2h(self, pkt: Any, x: Any) -> Any:
        return self.plain.i2h(pkt, x) if self.plain is not None and isinstance(x, bytes) else x

    def i2repr(self, pkt: Any, x: Any) -> str:
        return self.plain.i2repr(pkt, x) if self.plain is not None and isinstance(x, bytes) else repr(x)

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        selector = evaluate(self.selector, Scope(pkt))
        if not determined(selector) or selector not in self.cases:
            raise DecodeError("unknown-selector", f"no layout for type {selector}", offset=here(pkt, s))
        case = self.cases[int(selector)]
        return (s, None) if case is None else case.getfield(pkt, s)

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        if isinstance(val, VolatileValue):
            val = val._fix()
        val = self.any2i(pkt, val)
        if isinstance(val, Packet):
            return s + built_within(pkt, val, self.name)
        return s if val is None else s + bytes(val)

    def randval(self) -> Any:
        return None if self.plain is None else self.plain.randval()


class _ListReading:
    """What lists of structures and of numbers have in common on dissection."""

    @staticmethod
    def read(
        pkt: Any, left: Left, count: Any, known: tuple[int, ...], one: Callable[[Left], tuple[Left, Any]]
    ) -> tuple[Left, list[Any]]:
        items: list[Any] = []
        wanted = count if determined(count) else 0
        while len(items) < wanted:
            try:
                if known:
                    word = peek(pkt, left, 0, 2)
                    if word >= 0 and word not in known:
                        break
                if len(items) == MAX_ELEMENTS:
                    raise DecodeError("element-count", f"{count} elements", offset=here(pkt, left))
                left, item = one(left)
            except DecodeError as error:
                error.path = f"[{len(items)}]{'.' if error.path else ''}{error.path}"
                if pkt.reading is not None:
                    pkt.reading.fail(left)
                error.partial = items if error.partial is None else [*items, error.partial]
                raise
            items.append(item)
        return left, items


class MsmqListField(PacketListField, _ListReading):
    """``count`` structures; fewer when one begins with a 16-bit word that is not in ``known``."""

    __slots__ = ["count", "known"]
    cls: Any

    def __init__(self, name: str, count: Expression, cls: Any, known: tuple[int, ...]) -> None:
        self.count = count
        self.known = known
        PacketListField.__init__(self, name, [], cls)

    def any2i(self, pkt: Any, x: Any) -> Any:
        items = x if isinstance(x, list | tuple) else [x]
        return [self._item(pkt, item) for item in items]

    def _item(self, pkt: Any, item: Any) -> Any:
        if isinstance(item, str):
            item = self._named(item)
        if isinstance(item, Packet) and pkt is not None:
            item.add_parent(pkt)
        return item

    def _named(self, text: str) -> Any:
        """An element that holds the queue of this name."""
        for field in self.cls.fields_desc:
            if isinstance(field, MsmqChoiceField):
                return self.cls(**{field.name: text})
        raise ValueError(f"{self.name} takes no text")

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        def one(left: Left) -> tuple[Left, Any]:
            element = self.cls(_outer=pkt)
            return element.read(left), element

        return self.read(pkt, s, evaluate(self.count, Scope(pkt)), self.known, one)

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        return s + b"".join(
            built_within(pkt, item, self.name, number) for number, item in enumerate(self.any2i(pkt, val))
        )


class MsmqNumberListField(Field[Any, bytes], _ListReading):
    """``count`` numbers."""

    __slots__ = ["count", "element"]
    islist = 1

    def __init__(self, name: str, count: Expression, element: MsmqNumberField) -> None:
        self.count = count
        self.element = element
        Field.__init__(self, name, [], "0s")

    def any2i(self, pkt: Any, x: Any) -> Any:
        return [int(number) for number in x] if isinstance(x, list | tuple) else x

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        count = evaluate(self.count, Scope(pkt))
        return self.read(pkt, s, count, (), partial(self._one, pkt))

    def _one(self, pkt: Any, left: Any) -> tuple[Any, Any]:
        return self.element.getfield(pkt, left)

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        for number in val or ():
            s = self.element.addfield(pkt, s, number)
        return s

    def randval(self) -> Any:
        return None


class ConditionalPartField(ConditionalField):
    """A part that is there when ``condition`` holds; built when it was given."""

    __slots__ = ["condition"]

    def __init__(self, fld: Any, condition: Expression = True) -> None:
        self.condition = condition
        ConditionalField.__init__(self, fld, lambda pkt: pkt.getfieldval(fld.name) is not None)

    def any2i(self, pkt: Any, x: Any) -> Any:
        return self.fld.any2i(pkt, x)

    def getfield(self, pkt: Any, s: Any) -> tuple[Any, Any]:
        return self.fld.getfield(pkt, s) if evaluate(self.condition, Scope(pkt)) else (s, None)

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        return s if val is None else self.fld.addfield(pkt, s, val)


class ConditionalInsideField(ConditionalField):
    """A structure inside the bytes of the field at ``path``: shown beside them, built into them."""

    __slots__ = ["cls", "path", "size"]

    def __init__(self, name: str, path: str, cls: Any, size: int) -> None:
        self.path = tuple(path.split("."))
        self.size = size
        self.cls = cls
        fld = MsmqStructureField(name, None, cls, {})
        ConditionalField.__init__(self, fld, lambda pkt: pkt.getfieldval(name) is not None)

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        found: Any = pkt
        for name in self.path:
            found = None if found is None else found.fields.get(name)
        whole = isinstance(found, bytes) and len(found) == self.size
        return s, self.cls(found) if whole else None

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        return s


def built_within(pkt: Any, part: Any, name: str, index: int | None = None) -> bytes:
    """The bytes of a part, with what was not given as computed for the packet around it."""
    whole = getattr(pkt, "fitted", None)
    value = None if whole is None else getattr(whole, name)
    if value is not None and index is not None:
        value = value[index] if index < len(value) else None
    if not hasattr(part, "structure") or value is None or type(value) is not part.structure:
        return bytes(part)
    part.fitted = value
    try:
        return bytes(part)
    finally:
        part.fitted = None


def queue_structure(text: str, classes: list[Any]) -> Any:
    """The structure that holds the queue of a format name; ValueError when none of the classes does."""
    name = FormatName.parse(text)
    for cls in classes:
        stem = cls.structure.stem()
        if stem not in ENCODINGS:
            continue
        try:
            data = name.to_wire(stem)
            # A number without its host is not the queue of this name.
            if from_wire(stem, data) == name:
                return cls(data)
        except (DecodeError, EncodeError, FormatNameError):
            continue
    raise ValueError(f"{text} cannot be a queue here")
