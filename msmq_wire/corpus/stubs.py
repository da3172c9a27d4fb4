"""Samples of stubs: the request and the response of every method, in NDR, NDR64 and big-endian NDR."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.corpus.parameters import parameter_values
from msmq_wire.corpus.sample import Expected, Sample, SampleEdit, SampleSequence, error_place, places
from msmq_wire.errors import EncodeError
from msmq_wire.records.view import view
from msmq_wire.rpc.interfaces import METHODS, Method
from msmq_wire.rpc.interfaces.method import Side
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Syntax, encode_stub, inspect_stub
from msmq_wire.rpc.ndr.stub import StubValue

STUBS = {method.stem: method for method in METHODS.values()}
"""The methods by stem."""
_SIDES: tuple[Side, Side] = ("request", "response")
_SYNTAXES = {"ndr": NDR, "ndr64": NDR64, "ndr-big-endian": NDR_BIG_ENDIAN}
_LIES = (b"\0\0\0\0", b"\xff\xff\xff\xff")
_MOST_VALUES, _MOST_BIG_ENDIAN = 8, 2
_CHANGED = 48
"""Bytes of a stub in which words are changed, and in front of which it is cut."""


def stub_samples(stem: str) -> Iterator[Sample]:
    """The samples of a method: the values of both sides; words of the richest one changed, and cuts."""
    method = STUBS[stem]
    for side in _SIDES:
        values = parameter_values(method.parameters(side))
        for name, syntax in _SYNTAXES.items():
            said = {"method": method.name, "side": side, "syntax": name}
            most = _MOST_BIG_ENDIAN if syntax is NDR_BIG_ENDIAN else _MOST_VALUES
            step = -(-len(values) // most) or 1
            sequence = SampleSequence("stubs", f"{stem}-{side}-{name}", said)
            yield from _samples(sequence, method, side, syntax, values[::step])


def _samples(
    sequence: SampleSequence, method: Method, side: Side, syntax: Syntax, values: list[object]
) -> Iterator[Sample]:
    longest = b""
    for value in values:
        try:
            data = encode_stub(method.parameters(side), StubValue(value), syntax)
        except EncodeError:
            # What fits one syntax can be too large for the other.
            continue
        if sequence.sees(data):
            longest = max(longest, data, key=len)
            yield sequence.sample(data, _expected(method, side, syntax, data, whole=True))
    if syntax is NDR_BIG_ENDIAN:
        return
    for at in range(0, min(len(longest), _CHANGED), 4):
        for lie in _LIES:
            data = longest[:at] + lie + longest[at + 4 :]
            if len(data) == len(longest) and sequence.sees(data):
                change = SampleEdit(how="set", offset=at, length=4, value=int.from_bytes(lie, "little"))
                yield sequence.sample(data, _expected(method, side, syntax, data), change)
        if sequence.sees(longest[:at]):
            yield sequence.sample(
                longest[:at],
                _expected(method, side, syntax, longest[:at]),
                SampleEdit(how="cut", offset=at),
            )


def _expected(method: Method, side: Side, syntax: Syntax, data: bytes, *, whole: bool = False) -> Expected:
    found = inspect_stub(method.parameters(side), data, syntax)
    return Expected(
        type=f"{method.name} {side}",
        consumed=len(data) - len(found.remainder) if found.error is None else found.error.offset,
        anomalies=places(found.anomalies),
        error=error_place(found.error),
        detail=view(found.value) if whole else {},
    )
