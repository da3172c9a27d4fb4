"""`fit`: make sizes, counts, padding and presence bits agree with the parts.

The rule kept here: everything is derived from the schemas. A length expression names the field that holds
the length, a condition names the bits that announce a part; fit reads them backwards.
"""

from __future__ import annotations

import operator
from typing import Any, TypeVar

import construct
import msgspec

from msmq_wire.arguments import wrong_type
from msmq_wire.engines import reference
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.expressions import (
    UNDETERMINED,
    BitTarget,
    Undetermined,
    announcing,
    bit_target,
    evaluate,
    length_target,
    ordering,
)
from msmq_wire.wire.fields import (
    Align,
    Bytes,
    Choice,
    Field,
    Fill,
    Items,
    Node,
    Opt,
    Rest,
    Tell,
    Value,
    WireStruct,
    fields,
    known,
)
from msmq_wire.wire.nodes import ZeroTerminated, named, require_bytes
from msmq_wire.wire.packets.base import BinaryPacket, Total

_Struct = TypeVar("_Struct", bound=WireStruct)


def fit(packet: _Struct) -> _Struct:
    """Return the structure with sizes, counts, padding lengths and presence bits made right.

    Parts decide: a part that is there is announced, one that is None is not. Pad bytes of the right length
    stay as they are, and so do bytes that no header claims. A packet that is right already comes back equal.
    Raises EncodeError when no size field can hold what is there, or a field has a value of a wrong type.
    """
    if not isinstance(packet, WireStruct):
        raise EncodeError(wrong_type("packet", "a structure of this package", packet))
    _check_types(packet)
    draft = _Draft(packet, None)
    settled = _consistent(packet)
    draft.announce(settled=settled)
    draft.lay_out(0, settled=settled)
    if not settled and draft.agree():
        draft.lay_out(0, settled=settled)
    fitted: _Struct = draft.value()
    return fitted


def _check_types(structure: WireStruct) -> None:
    """Raises EncodeError for the first field whose value has a type that the field cannot hold."""
    for field in fields(type(structure)):
        if field.position or isinstance(field.subcon, Value):
            continue
        try:
            _check_type(getattr(structure, field.name), field.subcon)
        except EncodeError as error:
            raise named(error, field.name) from None


def _check_type(value: Any, subcon: Any) -> None:
    if value is msgspec.UNSET:
        raise EncodeError("this was not decoded, so it cannot be encoded")
    while isinstance(subcon, Opt):
        subcon = subcon.subcon
    if value is None:
        return
    if isinstance(subcon, Items):
        if not isinstance(value, tuple):
            raise EncodeError(f"a {type(value).__name__} where a tuple belongs")
        for number, item in enumerate(value):
            try:
                _check_type(item, subcon.subcon)
            except EncodeError as error:
                raise named(error, f"[{number}]") from None
    elif isinstance(subcon, Bytes | ZeroTerminated):
        require_bytes(value, subcon.kind)
    elif isinstance(subcon, Align):
        require_bytes(value)
    elif isinstance(subcon, Node) and not isinstance(value, subcon.cls):
        raise EncodeError(f"a {type(value).__name__} where a {subcon.cls.__name__} belongs")
    elif isinstance(subcon, Choice) and not any(subcon.chosen(key, value) for key in subcon.cases):
        raise EncodeError(f"a {type(value).__name__} where {_cases(subcon)} belongs")
    elif isinstance(subcon, construct.FormatField) and not isinstance(value, int):
        raise EncodeError(f"a {type(value).__name__} where a number belongs")
    if isinstance(value, WireStruct):
        _check_types(value)


def _cases(subcon: Choice) -> str:
    """What a field can hold, in words."""
    names = dict.fromkeys(case.cls.__name__ for case in subcon.cases.values() if isinstance(case, Node))
    return f"a {' or '.join(names)}"


def _consistent(packet: WireStruct) -> bool:
    """Whether the packet decodes to itself; then what is open to two readings keeps its own."""
    try:
        return bool(reference.parse(type(packet), reference.build(packet))[0] == packet)
    except (EncodeError, DecodeError):
        return False


class _Draft:
    """A structure while it is changed; children know their parents, as expressions do."""

    def __init__(self, value: WireStruct, parent: _Draft | None, node: Node | None = None) -> None:
        self.cls = type(value)
        self.parent = parent
        self.context = {**self.cls.CONTEXT, **(node.context if node is not None else {})}
        self.values: dict[str, Any] = {}
        self.positions: dict[str, Any] = {}
        self.computed: dict[str, Value] = {}
        for field in fields(self.cls):
            if isinstance(field.subcon, Value):
                self.computed[field.name] = field.subcon
            elif field.position:
                self.positions[field.name] = UNDETERMINED
            else:
                self.values[field.name] = self._child(getattr(value, field.name), field.subcon)

    def _child(self, value: Any, subcon: Any) -> Any:
        if isinstance(value, tuple):
            return [self._child(item, subcon.subcon) for item in value]
        if isinstance(value, WireStruct):
            node = subcon.subcon if isinstance(subcon, Opt) else subcon
            return _Draft(value, self, node if isinstance(node, Node) else None)
        return value

    def value(self) -> Any:
        """The structure as it is now."""
        return self.cls(**{name: _frozen(value) for name, value in self.values.items()})

    # What expressions read.
    def __getitem__(self, name: str) -> Any:
        if name == "_":
            return self.parent if self.parent is not None else {}
        if name in self.values:
            return known(self.values[name])
        computed = self.computed.get(name)
        if computed is not None:
            return int(self.values[computed.without] is None) if computed.without else computed.known(self)
        return self.positions[name] if name in self.positions else self.context[name]

    def _owner(self, path: tuple[str, ...]) -> tuple[_Draft, str] | None:
        """The draft and the field that a path of an expression leads to."""
        draft: _Draft | None = self
        for name in path[:-1]:
            if draft is None:
                return None
            if name == "_":
                draft = draft.parent
                continue
            if draft.values[name] is None:
                # A part is announced in a header that is not there: it takes that header to announce it.
                subcon = next(field.subcon for field in fields(draft.cls) if field.name == name)
                draft.values[name] = _Draft(subcon.subcon.cls(), draft, subcon.subcon)
            draft = draft.values[name]
        if draft is None or path[-1] not in draft.values:
            return None
        return draft, path[-1]

    def _set(self, path: tuple[str, ...], number: int) -> None:
        owner = self._owner(path)
        if owner is not None:
            owner[0].values[owner[1]] = number

    def _bits(self, target: BitTarget, wanted: int | None) -> None:
        """Set bits to ``wanted``; None for "not 0"."""
        owner = self._owner(target.path)
        if owner is None:
            return
        draft, name = owner
        word = draft.values[name]
        current = word >> target.shift & target.mask
        if wanted is None:
            wanted = current or 1
        draft.values[name] = word & ~(target.mask << target.shift) | wanted << target.shift

    def _identify(self, target: BitTarget, part: _Draft) -> None:
        """Give a part that is found by looking ahead the number it is found by."""
        ahead = next(field.subcon for field in fields(self.cls) if field.name == target.path[0])
        here = 0
        for field in fields(part.cls):
            if field.position:
                continue
            if here == ahead.at:
                part.values[field.name] = target.value
                return
            here += field.subcon.sizeof()

    def announce(self, *, settled: bool) -> None:
        """Make presence bits, selectors, counts and length fields agree with the parts.

        In a ``settled`` packet a length that several fields can say stays.
        """
        for field in fields(self.cls):
            if field.position:
                continue
            self._announce(field, self.values[field.name], settled)
        for must in self.cls.MUSTS:
            bound = ordering(must.expression) if hasattr(must, "expression") else None
            if bound is not None and bound[0] is operator.ge:
                high, low = bound[1], bound[2]
                self.values[high] = max(self.values[high], self.values[low])

    def _announce(self, field: Field, value: Any, settled: bool) -> None:
        subcon = field.subcon
        if isinstance(subcon, Opt):
            target = announcing(subcon.condition)
            if target is not None:
                if value is not None and target.path[0] in self.positions:
                    self._identify(target, value)
                elif value is not None:
                    self._bits(target, target.value)
                elif evaluate(subcon.condition, self):
                    self._bits(target, 0)
        elif isinstance(subcon, Choice):
            target = bit_target(subcon.selector)
            plain = value.value() if isinstance(value, _Draft) else value
            if target is not None and not _chosen(subcon, evaluate(subcon.selector, self), plain):
                self._bits(target, next((key for key in subcon.cases if _chosen(subcon, key, plain)), 0))
        elif isinstance(subcon, Items):
            count = length_target(subcon.count)
            if count is not None and not (subcon.rest and self.values[subcon.rest]):
                self._set(count.path, len(value))
        elif isinstance(subcon, Bytes) and not isinstance(subcon, Fill | Rest):
            length = length_target(subcon.length)
            if length is not None and length.path[0] in self.computed:
                if not settled:
                    self._set(self.computed[length.path[0]].of[:1], len(value))
            elif length is not None:
                self._set(length.path, (len(value) - length.constant) // length.factor)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, _Draft):
                child.announce(settled=settled)

    def agree(self) -> bool:
        """Have all fields that a length is taken from say the same where it is wrong; whether any was."""
        wrong = False
        for field in fields(self.cls):
            value = None if field.position else self.values[field.name]
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, _Draft):
                    wrong |= child.agree()
            wrong |= self._agree(field)
        return wrong

    def _agree(self, field: Field) -> bool:
        length = length_target(field.subcon.length) if isinstance(field.subcon, Bytes) else None
        source = None if length is None else self.computed.get(length.path[0])
        if source is None or not source.of:
            return False
        size = len(self.values[field.name])
        if evaluate(field.subcon.length, self) == size:
            return False
        self.values.update(dict.fromkeys(source.of, size))
        return True

    def lay_out(self, start: int, *, settled: bool) -> int:
        """Make padding, own sizes and totals right; returns the packet offset of the end.

        In a ``settled`` packet, optional padding that is absent and totals by a second reading stay.
        """
        here = start
        ends: dict[str, int] = {}
        own = next((field.name for field in fields(self.cls) if field.own_size), None)
        for field in fields(self.cls):
            if field.position:
                if isinstance(field.subcon, Tell):
                    self.positions[field.name] = here
                continue
            value = self.values[field.name]
            if not settled:
                self._agree(field)
            if isinstance(field.subcon, Fill):
                value = self._padding(field.subcon, value, here)
            elif isinstance(field.subcon, Align):
                length = -here % field.subcon.to
                if len(value) != length and not (settled and not value):
                    value = value.ljust(length, b"\0")[:length]
            self.values[field.name] = value
            before = here
            for item in value if isinstance(value, list) else [value]:
                here = self._end_of(item, field.subcon, here, settled)
            ends[field.name] = here - before
        if own is not None:
            self._own_size(own, here - start)
        if issubclass(self.cls, BinaryPacket):
            for total in self.cls.TOTALS:
                self._total(total, ends, settled)
        return here

    def _padding(self, subcon: Fill, value: bytes, here: int) -> bytes:
        length = evaluate(subcon.right, self)
        if isinstance(length, Undetermined):
            return value if (here + len(value)) % 4 == 0 else b""
        return value if len(value) == length else value.ljust(length, b"\0")[:length]

    def _end_of(self, value: Any, subcon: Any, here: int, settled: bool) -> int:
        if value is None:
            return here
        if isinstance(value, _Draft):
            return value.lay_out(here, settled=settled)
        if isinstance(value, bytes):
            return here + len(value)
        while isinstance(subcon, Opt | Items):
            subcon = subcon.subcon
        return here + int(subcon.sizeof())

    def _own_size(self, name: str, size: int) -> None:
        # Whether a header's size counts its padding is not always said; both stay.
        if self.values[name] not in (size, size - len(self.values.get("padding", b""))):
            self.values[name] = size

    def _total(self, total: Total, sizes: dict[str, int], settled: bool) -> None:
        owner = (
            None
            if self.values[total.at.partition(".")[0]] is None
            else self._owner(tuple(total.at.split(".")))
        )
        if owner is None:
            return
        draft, name = owner
        accepted = (total.of, total.or_of) if settled and total.or_of else (total.of,)
        readings = [sum(sizes[part] for part in parts) for parts in accepted]
        if draft.values[name] not in readings:
            draft.values[name] = readings[0]


def _chosen(choice: Choice, selector: Any, value: Any) -> bool:
    return selector in choice.cases and choice.chosen(selector, value)


def _frozen(value: Any) -> Any:
    if isinstance(value, _Draft):
        return value.value()
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
