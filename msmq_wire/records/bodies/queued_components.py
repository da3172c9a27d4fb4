"""Bodies of COM+ queued components ([MC-COMQC]): the calls that a server will make when it reads the message.

The rule kept here: calls are named and measured. Their parameters stay bytes, since only the interface of the
component says what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from msmq_wire.errors import DecodeError
from msmq_wire.records.bodies.body import Body, BodyKinds, Confidence, first_of
from msmq_wire.spec import SpecRef

NAME = "COM+ queued components"
EXTENSION = UUID("1664bcfb-1751-11d2-b58e-00e0290e6c31").bytes_le
"""ExtensionData of such a message, [MC-COMQC] 2.1."""

KINDS = (
    BodyKinds(
        ("queued_components",),
        "header and message signatures of COM+ queued components ([MC-COMQC] 2.2.2)",
        "class that is called, partition; interface, method and size of each call",
    ),
)

BEGINS = (b"CHDR",)
"""The signature of a container."""
_SPEC = SpecRef("MC-COMQC", "2.2")
_MESSAGE = UUID("71bbdb83-fc41-11d0-b764-0080c7ec3fc1").bytes_le
_NAMES = {UUID("00020400-0000-0000-c000-000000000046"): "IDispatch"}
_TARGET = 80
"""Where the target of the call begins, if Reserved 3 has the 32 bytes that the text gives it."""
_LISTED = 64


def queued_components_body(data: bytes) -> Body | None:
    """The body as recorded calls; None when it does not begin with a container header.

    The details, the first 64, are ``class``, ``partition`` and ``call`` for each call. ``certain`` when the
    headers fill the bytes that the message says it has, and one of them is a call.
    """
    if not data.startswith(BEGINS) or data[8:24] != _MESSAGE:
        return None
    rows: list[tuple[str, str]] = []
    confidence: Confidence = "certain"
    try:
        rows += _headers(data)
    except DecodeError as error:
        confidence = "likely"
        rows.append(("stopped", f"offset {error.offset}: {error.message}"))
    calls = sum(name == "call" for name, _ in rows)
    if not calls:
        confidence = "likely"
    return Body(
        kind="queued_components",
        confidence=confidence,
        title=f"{NAME}, {calls:,} {'call' if calls == 1 else 'calls'}",
        details=first_of(rows, _LISTED),
        extension="comqc",
    )


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    at, interface = 0, "no interface"
    whole = _number(data, 32)
    if whole < _TARGET:
        raise _error("length", f"a message of {whole:,} bytes", 32)
    while at < min(whole, len(data)):
        signature, size = data[at : at + 4], _number(data, at + 4)
        if size < 8 or size % 8 or size > len(data) - at:
            raise _error("length", f"a header of {size:,} bytes", at + 4)
        header = data[at : at + size]
        match signature:
            case b"CHDR" if not at:
                yield "class", _guid(header, _TARGET + 16)
            case b"PART":
                yield "partition", _guid(header, 8)
            case b"METH" | b"SMTH":
                number, length, parameters = _number(header, 8), _number(header, 20), 32
                if signature == b"METH":
                    interface, parameters = _guid(header, 32), 48
                if length > size - parameters:
                    raise _error("length", f"{length:,} bytes of parameters in a header of {size:,}", at + 20)
                yield "call", f"method {number} of {interface}, {length:,} bytes"
            case b"SECD" | b"SECR":
                pass
            case _:
                raise _error("unknown-selector", f"there is no header {signature!r}", at)
        at += size
    if at < len(data):
        yield "behind", f"{len(data) - at:,} bytes"
    elif at < whole:
        raise _error("missing-bytes", f"{len(data):,} of {whole:,} bytes", at)


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(_taken(data, at, 4), "little")


def _guid(data: bytes, at: int) -> str:
    known = UUID(bytes_le=_taken(data, at, 16))
    return _NAMES.get(known, str(known))


def _taken(data: bytes, at: int, size: int) -> bytes:
    if len(data) < at + size:
        raise _error("missing-bytes", "a header is too short", at)
    return data[at : at + size]


def _error(code: str, message: str, at: int) -> DecodeError:
    return DecodeError(code, message, offset=at, spec=_SPEC)
