"""Strategies for remote procedure calls: stubs of every method, and PDUs."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from msmq_wire.corpus.messages import pdus as sample_pdus
from msmq_wire.corpus.parameters import parameter_values
from msmq_wire.errors import EncodeError
from msmq_wire.rpc.interfaces import METHODS
from msmq_wire.rpc.interfaces.method import Side
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Syntax, encode_stub
from msmq_wire.rpc.ndr.structures import NdrStruct
from msmq_wire.rpc.ndr.stub import StubValue
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import Pdu, Request, Response

_SIDES: tuple[Side, Side] = ("request", "response")
_SYNTAXES = (NDR, NDR64, NDR_BIG_ENDIAN)


class DrawnStub(msgspec.Struct, frozen=True, kw_only=True):
    """A stub: the method and the side that it is of, its syntax, its value and its bytes."""

    method: str
    side: Side
    syntax: Syntax
    value: NdrStruct
    data: bytes


@st.composite
def stubs(draw: st.DrawFn, method: str | None = None) -> DrawnStub:
    """Valid stubs of a method, by its name as in ``R_StartReceive``, or of any."""
    name = draw(st.sampled_from(sorted(METHODS))) if method is None else method
    side = draw(st.sampled_from(_SIDES))
    parameters = METHODS[name].parameters(side)
    value = _varied(draw, draw(st.sampled_from(_values(name, side))))
    syntax = draw(st.sampled_from(_SYNTAXES))
    try:
        data = encode_stub(parameters, StubValue(value), syntax)
    except EncodeError:
        value = _values(name, side)[0]
        data = encode_stub(parameters, StubValue(value), syntax)
    return DrawnStub(method=name, side=side, syntax=syntax, value=value, data=data)


@st.composite
def pdus(draw: st.DrawFn) -> bytes:
    """Valid PDUs of every type; requests and responses carry drawn stubs."""
    found: Pdu = draw(st.sampled_from(list(sample_pdus().values())))
    changes: dict[str, Any] = {"call_id": draw(st.integers(0, 0xFFFFFFFF))}
    if isinstance(found, Request | Response) and found.sec_trailer is None:
        stub = draw(stubs()).data
        changes |= {"stub": stub, "alloc_hint": len(stub)}
    return encode_pdu(msgspec.structs.replace(found, **changes))


@cache
def _values(name: str, side: Side) -> list[Any]:
    return parameter_values(METHODS[name].parameters(side))


def _varied(draw: st.DrawFn, value: Any) -> Any:
    """The value with another status, which is the one number that nothing else depends on."""
    if not hasattr(value, "status"):
        return value
    return msgspec.structs.replace(value, status=draw(st.integers(0, 0xFFFFFFFF)))
