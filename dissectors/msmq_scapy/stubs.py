# SPDX-License-Identifier: GPL-2.0-or-later
"""`MSMQStub`: the parameters of one call as a scapy packet, for the methods of MSMQ's RPC interfaces.

The rule kept here: msmq_wire reads and writes the stub; the bytes that were dissected stay as they are until
a parameter is changed.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, get_args

import msgspec
from scapy.fields import Field
from scapy.packet import Packet

from msmq_scapy.reading import ReachedFields
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.records import view as renderer
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.interfaces.method import Method, Side
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    StubValue,
    Syntax,
    encode_stub,
    inspect_stub,
    members,
)
from msmq_wire.rpc.ndr.stub_stream import NO_RESIDUE, Residue
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["MSMQStub", "stub_class", "stub_named"]


class ParameterField(Field[Any, bytes]):
    """One parameter: a value of msmq_wire, shown as its JSON view."""

    __slots__ = ["kinds"]
    ismutable = False

    def __init__(self, name: str, default: Any, kinds: tuple[type, ...]) -> None:
        self.kinds = kinds
        Field.__init__(self, name, default, "0s")

    def any2i(self, pkt: Any, x: Any) -> Any:
        if isinstance(x, str):
            for kind in self.kinds:
                if issubclass(kind, GUID):
                    return kind.parse(x)
                if issubclass(kind, WcharText):
                    return kind.of(x)
        return tuple(x) if isinstance(x, list) else x

    def i2h(self, pkt: Any, x: Any) -> Any:
        return str(x) if isinstance(x, GUID) else x.text if isinstance(x, WcharText) and x.exact else x

    def i2repr(self, pkt: Any, x: Any) -> str:
        return "\n".join(_lines(renderer.view(x)))

    def randval(self) -> Any:
        return None


def _lines(shown: Any) -> list[str]:
    """A JSON value as lines; what is null inside others is left out."""
    if not isinstance(shown, dict | list) or not shown:
        return [repr(shown)]
    pairs = shown.items() if isinstance(shown, dict) else ((f"[{i}]", item) for i, item in enumerate(shown))
    lines = [""]
    for name, value in pairs:
        if value is not None:
            first, *rest = _lines(value)
            lines += [f"{name} = {first}".rstrip(), *(f"  {line}" for line in rest)]
    return lines


class MSMQStub(Packet):
    """The stub of a call. ``anomalies`` and ``error`` are those of the dissection.

    Like scapy's own stubs it takes ``ndr64`` and ``ndrendian`` ("little" or "big"); ``request_packet`` is
    not needed. Subclasses are made by `stub_class`.
    """

    __slots__ = (
        "anomalies",
        "error",
        "exact",
        "ndr64",
        "ndrendian",
        "reached",
        "remainder",
        "request_packet",
        "residue",
    )

    anomalies: tuple[Anomaly, ...]
    error: DecodeError | None
    exact: tuple[bytes, dict[str, Any]] | None
    ndr64: bool
    ndrendian: str
    reached: list[str] | None
    remainder: bytes
    request_packet: Any
    residue: Residue

    method: Method
    side: Side
    parameters: type[WireStruct]
    names: tuple[str, ...] = ()

    def __init__(self, *arguments: Any, **values: Any) -> None:
        set_slot = object.__setattr__
        for name, value in (
            ("ndr64", values.pop("ndr64", False)),
            ("ndrendian", values.pop("ndrendian", "little")),
            ("request_packet", values.pop("request_packet", None)),
            ("anomalies", ()),
            ("error", None),
            ("exact", None),
            ("reached", None),
            ("remainder", b""),
            ("residue", NO_RESIDUE),
        ):
            set_slot(self, name, value)
        super().__init__(*arguments, **values)

    @staticmethod
    def of(method: str, side: Side) -> type[MSMQStub]:
        """The class of the requests or the responses of a method; KeyError when there is none."""
        return stub_class(method, side)

    @property
    def syntax(self) -> Syntax:
        """The transfer syntax of the stub."""
        return NDR64 if self.ndr64 else NDR_BIG_ENDIAN if self.ndrendian == "big" else NDR

    def do_dissect(self, s: Any) -> bytes:
        data = bytes(s)
        found = inspect_stub(self.method.parameters(self.side), data, self.syntax)
        self.reached = reached = []
        for name in self.names:
            value = msgspec.UNSET if found.value is None else getattr(found.value, name)
            if value is not msgspec.UNSET:
                self.fields[name] = value
                reached.append(name)
        self.anomalies, self.error = found.anomalies, found.error
        self.residue, self.remainder = found.residue, found.remainder
        self.exact, self.explicit = (data, dict(self.fields)), 1
        return b""

    def value(self) -> WireStruct:
        """The parameters as the value of msmq_wire; those that a cut stub does not reach are UNSET."""
        return self.parameters(
            **{
                name: self.getfieldval(name)
                if self.reached is None or name in self.reached
                else msgspec.UNSET
                for name in self.names
            }
        )

    def view(self) -> dict[str, Any]:
        """The parameters as JSON."""
        shown: dict[str, Any] = renderer.view(self.value())
        return shown

    def self_build(self) -> bytes:
        if self.exact is not None and self.exact[1] == self.fields:
            return self.exact[0]
        type_ = self.method.parameters(self.side)
        value = self.value()
        # A crafted stub may have NULL where an array has a size.
        residue = msgspec.structs.replace(self.residue, nulls=sys.maxsize)
        try:
            return encode_stub(type_, StubValue(value, residue, self.remainder), self.syntax)
        except EncodeError:
            # What was between the old parameters may have no place between the new ones.
            residue = Residue(nulls=sys.maxsize)
            return encode_stub(type_, StubValue(value, residue, self.remainder), self.syntax)

    def setfieldval(self, attr: str, val: Any) -> None:
        if self.reached is not None and attr in self.names and attr not in self.reached:
            self.reached = None
        super().setfieldval(attr, val)

    def clone_with(self, payload: Any = None, **values: Any) -> Any:
        return self._carry(super().clone_with(payload, **values))

    def copy(self) -> Any:
        return self._carry(super().copy())

    def _carry(self, clone: Any) -> Any:
        for name in MSMQStub.__slots__:
            setattr(clone, name, getattr(self, name))
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        _, _, state = super().__reduce__()
        state.pop("extra_slots", None)
        return _restored, (self.method.name, self.side, bytes(self), self.ndr64, self.ndrendian), state

    def mysummary(self) -> str:
        status = self.fields.get("status")
        reported = "" if status is None or self.side == "request" else f" {status & 0xFFFFFFFF:#x}"
        return f"MSMQ {self.method.name} {self.side}{reported}"


def _restored(method: str, side: Side, data: bytes, ndr64: bool, ndrendian: str) -> MSMQStub:
    return stub_class(method, side)(data, ndr64=ndr64, ndrendian=ndrendian)


def stub_name(method: str, side: Side) -> str:
    """The name of the class of a method's requests or responses."""
    return f"MSMQ_{method}_{side}"


def _kinds(value_type: Any) -> tuple[type, ...]:
    """The types that a parameter's values can have."""
    return tuple(kind for kind in get_args(value_type) or (value_type,) if isinstance(kind, type))


@cache
def _methods() -> dict[str, Method]:
    return {method.name: method for interface in INTERFACES.values() for method in interface.all_methods}


def stub_named(name: str) -> type[MSMQStub]:
    """The class of a name that `stub_name` makes; AttributeError when there is none."""
    sides: tuple[Side, Side] = ("request", "response")
    for method in _methods():
        for side in sides:
            if stub_name(method, side) == name:
                return stub_class(method, side)
    raise AttributeError(f"no call has stubs called {name!r}")


@cache
def stub_class(method: str, side: Side) -> type[MSMQStub]:
    """The class of the requests or the responses of a method, made at the first call."""
    found = _methods()[method]
    cls = found.parameters(side).cls
    default = cls()
    found_fields = [
        ParameterField(member.name, getattr(default, member.name), _kinds(member.value_type))
        for member in members(cls)
    ]
    metaclass: Any = type(MSMQStub)
    made = metaclass(
        stub_name(method, side),
        (MSMQStub,),
        {
            "__doc__": f"{cls.__doc__}\n\n{found.spec}",
            "__module__": __package__,
            "name": stub_name(method, side),
            "fields_desc": list(found_fields),
            "method": found,
            "side": side,
            "names": tuple(member.name for member in members(cls)),
            "parameters": cls,
        },
    )
    made.fields_desc = ReachedFields(found_fields)
    packet: type[MSMQStub] = made
    return packet
