"""What an interface is made of: `Interface`, `Method`, and what a response gives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec

from msmq_wire.rpc.interfaces.role import Members, Role, members_of
from msmq_wire.rpc.ndr import DWORD, NdrStruct, Parameters
from msmq_wire.spec import SpecRef, snake_case
from msmq_wire.wire.types.guid import GUID

Side: TypeAlias = Literal["request", "response"]
HResult: TypeAlias = Annotated[int, DWORD, "HRESULT: 0 is success."]


class Method(msgspec.Struct, frozen=True, dict=True):
    """One method: its opnum and the parameter lists of both directions, in wire order.

    ``returns_status`` says that the response ends with an HRESULT; the others return nothing, or a number.
    ``role`` is what it does; None where nothing but its words depends on it. ``does`` are those words, for
    whatever has no story of its role; ``{object}``, ``{objects}`` and ``{properties}`` in them stand for what
    its members name. ``call_timeout`` are the milliseconds after which a client gives up a call that is not
    answered, None where the document names none.

    A parameter list without a ``SPEC`` of its own gets that of the first method that has it.
    """

    opnum: int
    name: str
    spec: SpecRef
    request: Parameters
    response: Parameters
    role: Role | None = None
    call_timeout: int | None = None
    does: str = ""
    in_transaction: bool = False

    def __post_init__(self) -> None:
        for cls in (self.request.cls, self.response.cls):
            if "SPEC" not in vars(cls):
                cls.SPEC = self.spec

    @cached_property
    def members(self) -> Members:
        """Which of its parameters are handle, queue, cursor and so on: their annotations say so."""
        return members_of(self.request.cls, self.response.cls, self.in_transaction)

    @property
    def stem(self) -> str:
        """The method's name in snake_case."""
        return snake_case(self.name)

    @property
    def returns_status(self) -> bool:
        """Whether the response ends with an HRESULT."""
        return "status" in self.response.names

    def parameters(self, side: Side) -> Parameters:
        """The parameter list of a direction."""
        return self.request if side == "request" else self.response


class Interface(msgspec.Struct, frozen=True):
    """An interface of version 1.0, or ``major``.0, and its methods by opnum.

    ``callbacks`` are those that the server calls while it answers, by opnums of their own. [MS-RPCE] 2.2.4.2
    """

    name: str
    uuid: GUID
    spec: SpecRef
    methods: Mapping[int, Method]
    major: int = 1
    callbacks: Mapping[int, Method] = {}

    def method(self, opnum: int | None, *, callback: bool = False) -> Method | None:
        """The method or the callback of a number; None where it has no such one."""
        return None if opnum is None else (self.callbacks if callback else self.methods).get(opnum)

    @property
    def all_methods(self) -> tuple[Method, ...]:
        """Its methods, and behind them its callbacks."""
        return (*self.methods.values(), *self.callbacks.values())


class _Entry(NamedTuple):
    """A method as a table of an interface has it."""

    name: str
    section: str
    request: type[NdrStruct]
    response: type[NdrStruct]
    role: Role | None
    does: str
    in_transaction: bool


def method(
    name: str,
    section: str,
    request: type[NdrStruct],
    response: type[NdrStruct],
    role: Role | None = None,
    does: str = "",
    in_transaction: bool = False,
) -> _Entry:
    """An entry of the table of an interface."""
    return _Entry(name, section, request, response, role, does, in_transaction)


def interface(
    name: str,
    uuid: str,
    spec: SpecRef,
    methods: Mapping[int, _Entry],
    call_timeouts: Mapping[str, int] | None = None,
    callbacks: Mapping[int, _Entry] | None = None,
) -> Interface:
    """An interface from its tables by opnum, and the timeouts of calls by the names of methods."""
    limits = call_timeouts or {}

    def made(table: Mapping[int, _Entry]) -> dict[int, Method]:
        return {
            opnum: Method(
                opnum,
                one.name,
                SpecRef(spec.document, one.section),
                Parameters(one.request),
                Parameters(one.response),
                one.role,
                limits.get(one.name),
                one.does,
                one.in_transaction,
            )
            for opnum, one in table.items()
        }

    return Interface(name, GUID.parse(uuid), spec, made(methods), callbacks=made(callbacks or {}))
