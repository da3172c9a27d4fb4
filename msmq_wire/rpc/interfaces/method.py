"""What an interface is made of: `Interface`, `Method`, and what a response gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec

from msmq_wire.rpc.ndr import DWORD, NdrStruct, Parameters
from msmq_wire.spec import SpecRef, snake_case
from msmq_wire.wire.types.guid import GUID

__all__ = ["HResult", "Interface", "Method", "Side", "interface"]

Side: TypeAlias = Literal["request", "response"]
HResult: TypeAlias = Annotated[int, DWORD, "HRESULT: 0 is success."]


class Method(msgspec.Struct, frozen=True):
    """One method: its opnum and the parameter lists of both directions, in wire order.

    ``returns_status`` says that the response ends with an HRESULT; the others return nothing, or a port.
    ``call_timeout`` are the milliseconds after which a client gives up a call that is not answered, None
    where the document names none.
    """

    opnum: int
    name: str
    spec: SpecRef
    request: Parameters
    response: Parameters
    call_timeout: int | None = None

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
    """An interface of version 1.0, or ``major``.0, and its methods by opnum."""

    name: str
    uuid: GUID
    spec: SpecRef
    methods: Mapping[int, Method]
    major: int = 1


def interface(
    name: str,
    uuid: str,
    spec: SpecRef,
    methods: Mapping[int, tuple[str, str, type[NdrStruct], type[NdrStruct]]],
    call_timeouts: Mapping[str, int] | None = None,
) -> Interface:
    """An interface from its table: opnum to (name, section, request, response), and the timeouts by name."""
    limits = call_timeouts or {}
    return Interface(
        name,
        GUID.parse(uuid),
        spec,
        {
            opnum: Method(
                opnum,
                method,
                SpecRef(spec.document, section),
                Parameters(request),
                Parameters(response),
                limits.get(method),
            )
            for opnum, (method, section, request, response) in methods.items()
        },
    )
