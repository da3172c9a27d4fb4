# SPDX-License-Identifier: GPL-2.0-or-later
"""The scapy packets: `StructurePacket`, and `packet_class`, which makes its subclasses from declarations.

The rule kept here: what was dissected is built again from its fields, byte for byte; what was not given when
a packet is crafted is what `fit` of msmq_wire finds for it; what was given stays, even when it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import RawVal
from scapy.packet import Packet

from msmq_scapy.declarations import class_name, recognised
from msmq_scapy.deriving import Step, derive
from msmq_scapy.fields import Bits
from msmq_scapy.reading import Left, ReachedFields, Reading
from msmq_scapy.structure_fields import ConditionalInsideField
from msmq_scapy.summary import story
from msmq_scapy.values import complete, fitted_value, internal, value_of
from msmq_wire.engines.codec import inspect
from msmq_wire.errors import DecodeError
from msmq_wire.reassembly.packet_framer import is_credible
from msmq_wire.wire import registry
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.packets.user_message import UserMessage

__all__ = ["MSMQ", "StructurePacket", "packet_class"]

_MOST_BEHIND = 32
"""Packets of one segment that are dissected one in the payload of the other; what follows stays bytes."""


class StructurePacket(Packet):
    """A structure of MSMQ as a scapy packet.

    ``error`` is what ended a dissection early, a `DecodeError` with the path and the offset of the field that
    was cut; what was read is in the fields, the rest is the payload. ``spans`` has offset and length of every
    field that was dissected.
    """

    __slots__ = ("context", "error", "fitted", "positions", "reached", "reading", "spans")

    context: Mapping[str, int]
    error: DecodeError | None
    fitted: Any
    positions: dict[str, Any]
    reached: list[str] | None
    reading: Reading | None
    spans: dict[str, tuple[int, int]]

    structure: type[WireStruct]
    steps: list[Step]
    any_kind: Any
    _by_name: Mapping[str, Any]
    _defaults: Mapping[str, Any]
    _holders: list[Any]

    def __init__(
        self,
        _pkt: Any = b"",
        *arguments: Any,
        _outer: Any = None,
        _context: Mapping[str, int] | None = None,
        as_: str | None = None,
        **values: Any,
    ) -> None:
        own = self.structure.CONTEXT
        context: Mapping[str, int] = {**own, **_context} if _context else own
        set_slot = object.__setattr__
        for name, value in (
            ("context", context),
            ("error", None),
            ("fitted", None),
            ("positions", {}),
            ("reached", None),
            ("reading", None),
            ("spans", {}),
        ):
            set_slot(self, name, value)
        if _outer is not None:
            # A part of a packet that is being dissected: it takes its bytes from what is left there.
            set_slot(self, "reading", _outer.reading)
            values["_parent"], values["_internal"] = _outer, 1
        super().__init__(_pkt, *arguments, **self._spread(values))

    def _spread(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values with those of fields that one header alone has put into that header."""
        own = {step.name for step in self.steps}
        spread: dict[str, Any] = {}
        deep: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            holders = [
                step
                for step in self.steps
                if name not in own
                and step.field is not None
                and isinstance(step.field.default, StructurePacket)
                and name in step.field.default.default_fields
            ]
            if len(holders) == 1 and holders[0].name not in values:
                deep.setdefault(holders[0].name, {})[name] = value
            else:
                spread[name] = value
        for holder, inner in deep.items():
            part = next(step.field.default for step in self.steps if step.name == holder).copy()
            for name, value in inner.items():
                part.setfieldval(name, value)
            spread[holder] = part
        return spread

    @classmethod
    def of_default(cls, value: WireStruct) -> StructurePacket:
        """A packet with what a declared default sets apart from the defaults of its own structure."""
        made, usual = cls(), cls.structure()
        for step in cls.steps:
            if step.field is None or isinstance(step.field, ConditionalInsideField):
                continue
            own, default = getattr(value, step.name), getattr(usual, step.name)
            if own != default and step.field.default is not None and not _word(step.field):
                made.setfieldval(step.name, internal(own, packet_class))
        return made

    def init_fields(self, for_dissect_only: bool = False) -> None:
        cls = type(self)
        object.__setattr__(self, "fieldtype", cls._by_name)
        object.__setattr__(self, "packetfields", cls._holders)
        plain = self.reading is not None or for_dissect_only
        object.__setattr__(
            self,
            "default_fields",
            {
                name: (None if plain else default.copy())
                if isinstance(default, Packet)
                else (list(default) if isinstance(default, list) else default)
                for name, default in cls._defaults.items()
            },
        )

    def setfieldval(self, attr: str, val: Any) -> None:
        if self.reached is not None and attr in self.default_fields and attr not in self.reached:
            # Whoever sets a field behind the cut wants the packet whole.
            self.reached = None
        self.spans = {}
        super().setfieldval(attr, val)

    # Dissection.

    def do_dissect(self, s: Any) -> bytes:
        data = bytes(s)
        self.reading = reading = Reading(data)
        left: Left
        try:
            left = self.read(memoryview(data))
        except DecodeError as error:
            left = data if reading.left is None else reading.left
            error.__traceback__ = error.__context__ = error.__cause__ = None
            error.partial = None
            self.error = error
        rest = bytes(left)
        self._release()
        return rest

    def _release(self) -> None:
        """Let go of the bytes; a field that is asked alone bounds itself."""
        self.reading = None
        for field in self.packetfields:
            value = self.fields.get(field.name)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, StructurePacket):
                    part._release()

    def read(self, left: Left) -> Left:
        """Dissect from the start of what is left; returns the rest. DecodeError where bytes end."""
        self.explicit = 1
        reading = self.reading
        assert reading is not None
        fields, size = self.fields, reading.reader.end
        for number, step in enumerate(self.steps):
            try:
                if step.position is not None:
                    self.positions[step.name] = step.position.read(self, left)
                    continue
                start = size - len(left)
                left, fields[step.name] = step.field.getfield(self, left)
            except DecodeError as error:
                reading.fail(left)
                self.reached = reached = [name for name in fields if name in self._by_name]
                if step.position is None and error.partial:
                    fields[step.name] = error.partial
                    reached.append(step.name)
                    self.spans[step.name] = (start, size - len(reading.left or b"") - start)
                reached += self._look_inside(number)
                name = next((later.name for later in self.steps[number:] if later.field is not None), "")
                dot = "" if not name or not error.path or error.path.startswith("[") else "."
                error.path = f"{name}{dot}{error.path}"
                error.spec = error.spec or self.structure.SPEC
                error.partial = self if reached else None
                raise
            self.spans[step.name] = (start, size - len(left) - start)
        return left

    def _look_inside(self, number: int) -> list[str]:
        """Dissect what lies inside bytes that were read before step ``number`` was cut; return its names."""
        names = []
        for step in self.steps[number:]:
            if isinstance(step.field, ConditionalInsideField):
                found = step.field.getfield(self, b"")[1]
                if found is not None:
                    self.fields[step.name] = found
                    names.append(step.name)
        return names

    def guess_payload_class(self, payload: bytes) -> Any:
        if self.error is None and isinstance(self.underlayer, Packet) and is_credible(payload):
            behind = 0
            at: Packet | None = self.underlayer
            while isinstance(at, StructurePacket):
                behind, at = behind + 1, at.underlayer
            if behind < _MOST_BEHIND:
                return type(self).any_kind
        return super().guess_payload_class(payload)

    # Building.

    def __iter__(self) -> Iterator[Any]:
        for name, default in self.default_fields.items():
            # Parts that were not given are parts all the same, and may hold random values.
            if isinstance(default, Packet):
                self.fields.setdefault(name, default)
        for pkt in super().__iter__():
            for field in pkt.packetfields:
                items = pkt.fields.get(field.name)
                if isinstance(items, list):
                    pkt.fields[field.name] = [
                        next(iter(item)) if isinstance(item, Packet) and not item.explicit else item
                        for item in items
                    ]
            yield pkt

    def self_build(self) -> bytes:
        own = self.fitted
        if own is None and not complete(self):
            own = fitted_value(self)
        before, self.fitted = self.fitted, own
        try:
            data = b""
            for field in self.fields_desc:
                value = self._to_write(field.name)
                data = data + bytes(value) if isinstance(value, RawVal) else field.addfield(self, data, value)
            return data
        finally:
            self.fitted = before

    def _to_write(self, name: str) -> Any:
        """What was given, else what was computed."""
        field = self.fieldtype[name]
        value = self.fields.get(name)
        if isinstance(field, ConditionalInsideField):
            return None
        if self.fitted is not None:
            computed = getattr(self.fitted, name)
            if name not in self.fields or (
                value is None and computed is not None and not _may_be_absent(field)
            ):
                return internal(computed, packet_class)
            if _word(field):
                made = field.any2i(self, value)
                return made.over(computed) if isinstance(made, Bits) else made
        return value

    def clone_with(self, payload: Any = None, **values: Any) -> Any:
        return self._carry(super().clone_with(payload, **values))

    def copy(self) -> Any:
        clone = self._carry(super().copy())
        for field in clone.packetfields:
            value = clone.fields.get(field.name)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, Packet):
                    part.parent = clone
        return clone

    def _carry(self, clone: Any) -> Any:
        for name in ("context", "error", "fitted", "reached"):
            setattr(clone, name, getattr(self, name))
        clone.positions, clone.spans = dict(self.positions), dict(self.spans)
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, arguments, state = super().__reduce__()
        # What a dissection finds, the dissection of the same bytes finds again.
        state.pop("extra_slots", None)
        return rebuild, arguments, state

    def mysummary(self) -> str:
        return story(type(self).__name__, value_of(self) if complete(self) else fitted_value(self))


def _word(field: Any) -> bool:
    return hasattr(field, "layout")


def _may_be_absent(field: Any) -> bool:
    return bool(field.isconditional)


@cache
def packet_class(cls: type[WireStruct]) -> type[StructurePacket]:
    """The scapy class of a structure, made at the first call."""
    steps = derive(cls, packet_class)
    found = [step.field for step in steps if step.field is not None]
    metaclass: Any = type(StructurePacket)
    made = metaclass(
        class_name(cls),
        (StructurePacket,),
        {
            "__doc__": f"{cls.__doc__}\n\n[{cls.SPEC.document}] {cls.SPEC.section}",
            "__module__": __package__,
            "name": class_name(cls),
            "fields_desc": found,
            "structure": cls,
            "steps": steps,
            "_by_name": {field.name: field for field in found},
            "_defaults": {field.name: field.default for field in found},
            "_holders": [field for field in found if field.holds_packets],
        },
    )
    made.fields_desc = ReachedFields(found)
    packet: type[StructurePacket] = made
    return packet


class MSMQ(Packet):
    """A packet of any kind: ``MSMQ(data)`` gives the class that the bytes are of.

    Bytes that are no packet give a layer without fields. Its ``error`` says what is wrong, the bytes are its
    payload. As the payload of another layer such bytes are `Raw`: a segment may hold the middle of a packet.
    ``as_`` is the stem of the kind (``"message_packet"``, which no bytes can tell); ValueError for a stem
    that is none. Without data it is a user message.
    """

    __slots__ = ("error",)

    error: DecodeError | None

    @classmethod
    def dispatch_hook(
        cls, _pkt: bytes = b"", *arguments: Any, as_: str | None = None, **values: Any
    ) -> type[Packet]:
        if as_ is not None:
            try:
                return packet_class(registry.structure_with_fields(as_))
            except ValueError:
                # scapy would go on with Raw; this class raises the same when it is made.
                return UnrecognisedPacket
        kind = recognised(bytes(_pkt)) if _pkt else UserMessage
        if kind is not None:
            return packet_class(kind)
        raw: type[Packet] = conf.raw_layer
        return raw if values.get("_underlayer") is not None else UnrecognisedPacket


class UnrecognisedPacket(MSMQ):
    """What `MSMQ` gives for bytes that are no packet: ``error`` says why."""

    name = MSMQ.__name__
    fields_desc: ClassVar[list[Any]] = []

    def __init__(self, *arguments: Any, as_: str | None = None, **values: Any) -> None:
        if as_ is not None:
            registry.structure_with_fields(as_)
        self.error = None
        super().__init__(*arguments, **values)

    def do_dissect(self, s: bytes) -> bytes:
        self.error = inspect(bytes(s)).error
        return s

    def clone_with(self, payload: Any = None, **values: Any) -> UnrecognisedPacket:
        return self._carry(super().clone_with(payload, **values))

    def copy(self) -> UnrecognisedPacket:
        return self._carry(super().copy())

    def _carry(self, clone: Any) -> UnrecognisedPacket:
        clone.error = self.error
        return clone  # type: ignore[no-any-return]  # a packet of the same class

    def mysummary(self) -> str:
        return f"{self.name}: {self.error}"


StructurePacket.any_kind = MSMQ
