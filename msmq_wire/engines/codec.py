"""`decode`, `encode` and `inspect`: everything above uses these, whichever engine does the work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal

import msgspec

from msmq_wire.arguments import shown
from msmq_wire.buffers import as_bytes
from msmq_wire.engines import must_checks, reference
from msmq_wire.engines.field_offsets import span
from msmq_wire.engines.rows import engine as rows
from msmq_wire.errors import ArgumentError, DecodeError
from msmq_wire.representation import line, shortened
from msmq_wire.spec import SpecRef
from msmq_wire.wire import registry
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.packets.base import InternalPacket
from msmq_wire.wire.packets.identification import (
    acknowledgment_type,
    cut_acknowledgment_type,
    misformed_acknowledgment,
    recognise,
)
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.stream import Range

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # A packet of any kind, where nobody says more.
    _PacketT_co = TypeVar("_PacketT_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    _PacketT_co = TypeVar("_PacketT_co", covariant=True)

Engine = Literal["rows", "reference"]
_ENGINES: dict[str, Any] = {"rows": rows, "reference": reference}
_JUDGES: dict[str, Any] = {"rows": must_checks.find_anomalies, "reference": reference.find_anomalies}


class InspectResult(msgspec.Struct, Generic[_PacketT_co], frozen=True, kw_only=True):
    """What `inspect` found in some bytes.

    ``type`` is the stem, None when the bytes are no packet. ``packet`` is the value, partial when there is
    an ``error``, None when nothing was decoded. ``consumed`` counts the bytes that ``packet`` shows, all of
    them when there is no error; ``remainder`` is the rest of the data.
    """

    type: str | None
    packet: _PacketT_co
    anomalies: tuple[Anomaly, ...]
    consumed: int
    remainder: bytes
    error: DecodeError | None

    def __repr__(self) -> str:
        parts = [self.type or "no packet", f"{self.consumed} bytes"]
        parts += [anomaly.code for anomaly in self.anomalies[:1]]
        if len(self.anomalies) > 1:
            parts[-1] += f" and {len(self.anomalies) - 1} more"
        parts += [] if self.error is None else [f"{self.error.code} at {shortened(self.error.path, 64)}"]
        parts += [f"{len(self.remainder)} bytes left"] if self.remainder else []
        return line(self, ", ".join(parts))


def _checked(engine: str) -> str:
    if engine not in _ENGINES:
        raise ArgumentError(f"no engine is called {shown(engine)}: there are {' and '.join(_ENGINES)}")
    return engine


def default_engine() -> str:
    """The engine that does the work when none is named: ``MSMQ_WIRE_ENGINE``, or rows.

    The variable is read once. Raises ArgumentError when it names no engine.
    """
    global _default
    if not _default:
        _default = _checked(os.environ.get("MSMQ_WIRE_ENGINE") or "rows")
    return _default


_default = ""


def _class_of(as_: str | None, data: bytes) -> Any:
    return recognise(data) if as_ is None else registry.structure(as_)


def _decode(engine: Any, cls: Any, data: bytes, as_: str | None, missing: Sequence[Range]) -> tuple[Any, int]:
    found: tuple[Any, int] = engine.parse(cls, data, missing)
    # A user message is shown as the acknowledgment it is, if nobody said what it is.
    if as_ is None and cls is UserMessage:
        value = found[0]
        kind = acknowledgment_type(value)
        if kind is not None:
            return kind(**{name: getattr(value, name) for name in value.__struct_fields__}), found[1]
    return found


def _unrecognised(data: bytes) -> Any:
    """The headers that internal packets begin with, as far as they are there; None without a signature."""
    if data[4:8] != SIGNATURE.to_bytes(4, "little"):
        return None
    try:
        return reference.parse(InternalPacket, data[:20])[0]
    except DecodeError as error:
        return error.partial


_MISFORMED = {
    "ordering-ack-flags": ("base_header.flags", "BaseHeader.Flags must be 0"),
    "ordering-ack-queue": (
        "user_header.destination_queue",
        "the queue must be private queue 4, the order queue, or order_queue$",
    ),
}


def _misformed(packet: UserMessage) -> tuple[Anomaly, ...]:
    """What keeps a packet from being the acknowledgment that it is by label and class."""
    found = []
    for code in misformed_acknowledgment(packet):
        path, message = _MISFORMED[code]
        offset, length = span(packet, path)
        found.append(
            Anomaly(
                code=f"user_message.{code}",
                message=f"{message}: label and class are those of an OrderAck or FinalAck",
                path=path,
                offset=offset,
                length=length,
                spec=SpecRef("MS-MQQB", "3.1.5.1.1"),
            )
        )
    return tuple(found)


def decode(
    data: bytes,
    as_: str | None = None,
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> Any:
    """Decode one packet, or any structure of the registry by its stem.

    ``data`` holds the packet at its start; what follows it is not looked at (see `inspect`). Without
    ``as_`` the kind is recognised by [MS-MQQB] 3.1.5.1.1; a ``message_packet`` never is. ``missing`` are
    (start, length) ranges, in packet offsets, that a section split left out. ``engine`` is ``"rows"``
    (generated, the default) or ``"reference"``; they give the same. Returns a `WireStruct` (or a bytes
    subclass for scalar types). Raises DecodeError; ArgumentError for an unknown ``as_`` or ``engine``;
    TypeError where ``data`` is no buffer of bytes.
    """
    if data.__class__ is not bytes:
        data = as_bytes(data)
    chosen = _ENGINES[_default or default_engine()] if engine is None else _ENGINES[_checked(engine)]
    return _decode(chosen, _class_of(as_, data), data, as_, missing)[0]


def encode(packet: Any, *, missing: Sequence[Range] = (), engine: Engine | None = None) -> bytes:
    """Encode a structure as it is: ``encode(decode(data)) == data[:consumed]``.

    Raises EncodeError when flags, sizes and parts contradict each other (see `fit`) or a number does not
    fit its field. ``engine`` as for `decode`.
    """
    chosen = _ENGINES[_default or default_engine()] if engine is None else _ENGINES[_checked(engine)]
    data: bytes = chosen.build(packet, missing)
    return data


def inspect(
    data: bytes,
    as_: str | None = None,
    *,
    missing: Sequence[Range] = (),
    engine: Engine | None = None,
) -> InspectResult:
    """Decode and judge; never raises on bytes. Arguments, and errors about them, as for `decode`."""
    if data.__class__ is not bytes:
        data = as_bytes(data)
    name = (_default or default_engine()) if engine is None else _checked(engine)
    error: DecodeError | None = None
    cls: Any = None
    consumed = 0
    try:
        cls = _class_of(as_, data)
        packet, consumed = _decode(_ENGINES[name], cls, data, as_, missing)
        cls = packet.__class__
    except DecodeError as caught:
        # A kept error must not keep the frames it came through, and through them this result.
        error = caught.with_traceback(None)
        error.__context__ = error.__cause__ = None
        packet = caught.partial if cls is not None else _unrecognised(data)
        consumed = 0 if packet is None else reference.decoded_size(packet, missing)
        if cls is UserMessage and as_ is None and error.code == "missing-bytes":
            cls = cut_acknowledgment_type(packet) or cls
    anomalies = _JUDGES[name](packet, missing, error)
    if cls is UserMessage and as_ is None and error is None:
        anomalies += _misformed(packet)
    return InspectResult(
        type=None if cls is None else cls.stem(),
        packet=packet,
        anomalies=anomalies,
        consumed=consumed,
        remainder=data[consumed:] if consumed < len(data) else b"",
        error=error,
    )
