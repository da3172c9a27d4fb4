"""A whole stub: `decode_stub`, `encode_stub`, `inspect_stub`.

The rule kept here: ``encode_stub(decode_stub(data)) == data`` for every stub that decodes.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError
from msmq_wire.rpc.ndr.compiled import CompilerFallback, decoder
from msmq_wire.rpc.ndr.structures import Parameters
from msmq_wire.rpc.ndr.stub_stream import NO_RESIDUE, NdrReader, NdrWriter, Residue
from msmq_wire.rpc.ndr.syntax import NDR, Syntax
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly

_NOTHING: dict[str, Any] = {}
_RULES = SpecRef("MS-RPCE", "3.1.1.5.3")
"""Strict NDR data consistency checks."""


class StubValue(msgspec.Struct, frozen=True, gc=False):
    """A decoded stub: its value, its `Residue`, and the bytes after the last parameter."""

    value: Any
    residue: Residue = NO_RESIDUE
    remainder: bytes = b""


class InspectedStub(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What `inspect_stub` finds: ``value`` is partial when there is an ``error``."""

    value: Any
    residue: Residue = NO_RESIDUE
    remainder: bytes = b""
    anomalies: tuple[Anomaly, ...] = ()
    error: DecodeError | None = None

    @property
    def breaks_ndr(self) -> bool:
        """Whether an RPC runtime with strict checks refuses the stub; it knows no rules of the protocol."""
        return self.error is not None or any(one.code.startswith("ndr.") for one in self.anomalies)


def decode_stub(type_: NdrType, data: bytes, syntax: Syntax = NDR) -> StubValue:
    """Decode a stub as ``type_``, usually the `Parameters` of a request or response; raises DecodeError."""
    data = as_bytes(data)
    regular = _regular(type_, data, syntax)
    if regular is not None:
        return regular
    reader = NdrReader(data, syntax)
    value = type_.read(reader, _NOTHING)
    return StubValue(value, reader.residue(), data[reader.pos :])


def _regular(type_: NdrType, data: bytes, syntax: Syntax) -> StubValue | None:
    """A stub that has no anomaly, read by a compiled decoder; None for any other."""
    compiled = decoder(type_, syntax) if isinstance(type_, Parameters) else None
    if compiled is None:
        return None
    try:
        value, referents, end = compiled(data)
    except (CompilerFallback, struct.error):
        return None
    residue = Residue(tuple(referents)) if referents else NO_RESIDUE
    return StubValue(value, residue, data[end:] if end < len(data) else b"")


def encode_stub(type_: NdrType, stub: StubValue, syntax: Syntax = NDR) -> bytes:
    """Encode a stub; raises EncodeError for an inconsistent value."""
    writer = NdrWriter(syntax, stub.residue)
    type_.write(writer, stub.value, _NOTHING)
    return writer.getvalue() + stub.remainder


def inspect_stub(type_: NdrType, data: bytes, syntax: Syntax = NDR) -> InspectedStub:
    """Decode and check a stub; never raises on any bytes.

    Anomalies are counts and numbers that a server with strict NDR checks refuses ([MS-RPCE] 3.1.1.5.3).
    """
    data = as_bytes(data)
    regular = _regular(type_, data, syntax)
    if regular is not None:
        return InspectedStub(value=regular.value, residue=regular.residue, remainder=regular.remainder)
    reader = NdrReader(data, syntax, judging=True)
    error: DecodeError | None = None
    try:
        value = type_.read(reader, _NOTHING)
    except DecodeError as caught:
        value, error = caught.partial, caught
        # Held by the result, so it must not hold what it was raised through.
        error.__traceback__ = None
    problems = tuple(
        Anomaly(
            code=problem.code if problem.spec else f"ndr.{problem.code}",
            message=problem.message,
            path=problem.path,
            offset=problem.offset,
            length=problem.length,
            spec=problem.spec or _RULES,
        )
        for problem in reader.problems
    )
    return InspectedStub(
        value=value,
        residue=reader.residue(),
        remainder=data[reader.pos :] if error is None else b"",
        anomalies=problems,
        error=error,
    )
