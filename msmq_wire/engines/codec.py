"""`decode`, `encode` and `inspect`: everything above uses these, whichever engine does the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from msmq_wire.engines import reference
from msmq_wire.errors import DecodeError
from msmq_wire.wire import registry
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.packets.base import InternalPacket
from msmq_wire.wire.packets.identification import acknowledgment_type, recognise
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.stream import Range

__all__ = ["InspectResult", "decode", "encode", "inspect"]


class InspectResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `inspect` found in some bytes.

    ``type`` is the stem, None when the bytes are no packet. ``packet`` is the value, partial when there is
    an ``error``, None when nothing was decoded. ``consumed`` counts the bytes that ``packet`` shows, all of
    them when there is no error; ``remainder`` is the rest of the data.
    """

    type: str | None
    packet: Any
    anomalies: tuple[Anomaly, ...]
    consumed: int
    remainder: bytes
    error: DecodeError | None


def _class_of(as_: str | None, data: bytes) -> Any:
    if as_ is None:
        return recognise(data)
    try:
        return registry.STRUCTURES[as_]
    except KeyError:
        raise ValueError(f"no structure is called {as_!r}") from None


def _as_acknowledgment(packet: Any, as_: str | None) -> Any:
    """A user message as the acknowledgment it is, if nobody said what it is."""
    if as_ is not None or type(packet) is not UserMessage:
        return packet
    cls = acknowledgment_type(packet)
    if cls is None:
        return packet
    return cls(**{name: getattr(packet, name) for name in packet.__struct_fields__})


def _decode(cls: Any, data: bytes, as_: str | None, missing: Sequence[Range]) -> tuple[Any, int]:
    value, consumed = reference.parse(cls, data, missing)
    return _as_acknowledgment(value, as_), consumed


def _unrecognised(data: bytes) -> Any:
    """The headers that internal packets begin with, as far as they are there; None without a signature."""
    if data[4:8] != SIGNATURE.to_bytes(4, "little"):
        return None
    try:
        return reference.parse(InternalPacket, data[:20])[0]
    except DecodeError as error:
        return error.partial


def decode(data: bytes, as_: str | None = None, *, missing: Sequence[Range] = ()) -> Any:
    """Decode one packet, or any structure of the registry by its stem.

    ``data`` holds the packet at its start; what follows it is not looked at (see `inspect`). Without
    ``as_`` the kind is recognised by [MS-MQQB] 3.1.5.1.1; a ``message_packet`` never is. ``missing`` are
    (start, length) ranges, in packet offsets, that a section split left out. Returns a `WireStruct` (or a
    bytes subclass for scalar types). Raises DecodeError; ValueError for an unknown ``as_``.
    """
    data = bytes(data)
    return _decode(_class_of(as_, data), data, as_, missing)[0]


def encode(packet: Any, *, missing: Sequence[Range] = ()) -> bytes:
    """Encode a structure as it is: ``encode(decode(data)) == data[:consumed]``.

    Raises EncodeError when flags, sizes and parts contradict each other (see `fit`) or a number does not
    fit its field.
    """
    return reference.build(packet, missing)


def inspect(data: bytes, as_: str | None = None, *, missing: Sequence[Range] = ()) -> InspectResult:
    """Decode and judge; never raises on bytes. Arguments as for `decode`."""
    data = bytes(data)
    error: DecodeError | None = None
    cls: Any = None
    consumed = 0
    try:
        cls = _class_of(as_, data)
        packet, consumed = _decode(cls, data, as_, missing)
        cls = type(packet)
    except DecodeError as caught:
        # A kept error must not keep the frames it came through, and through them this result.
        error = caught.with_traceback(None)
        error.__context__ = error.__cause__ = None
        packet = caught.partial if cls is not None else _unrecognised(data)
        consumed = 0 if packet is None else reference.decoded_size(packet, missing)
    return InspectResult(
        type=None if cls is None else cls.stem(),
        packet=packet,
        anomalies=reference.find_anomalies(packet, missing, error),
        consumed=consumed,
        remainder=data[consumed:],
        error=error,
    )
