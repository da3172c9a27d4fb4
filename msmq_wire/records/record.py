"""`Record`: one item of a capture, as the rows of ``decode`` show it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Protocol, TypeAlias, TypedDict

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.errors import DecodeError
from msmq_wire.reassembly.tcp_evidence import TcpEvidence, TooBigEvidence
from msmq_wire.records.endpoint import proxied
from msmq_wire.records.queue_names import short_queue
from msmq_wire.representation import label_text, line, shortened
from msmq_wire.units import MILLISECOND, SECOND
from msmq_wire.wire.musts import Anomaly, View
from msmq_wire.wire.private import ENDPOINT, FILE, PUBLIC, Private

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # A record of any type, where nobody says more.
    _PacketT_co = TypeVar("_PacketT_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    _PacketT_co = TypeVar("_PacketT_co", covariant=True)

UNKNOWN_PACKET = "unknown_packet"
"""The type of a packet whose kind is not defined, or was cut off."""


Grade: TypeAlias = Literal["whole", "damaged", "head"]
"""What a packet at rest is worth.

``whole`` walks to its end and breaks no MUST, ``damaged`` contradicts itself, ``head`` reads well, and its
end is not there.
"""


class FileLocation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the same bytes lie at rest: the file, the offset in it, and the address of a memory dump."""

    capture: Annotated[str, FILE]
    offset: int
    address: int | None = None


def _named_in_reason(record: View) -> tuple[str, ...]:
    """The capture and the ends that the reason of a record may name."""
    found = record.value
    return found.capture, *filter(None, proxied(found.path))


class Record(msgspec.Struct, Generic[_PacketT_co], frozen=True, kw_only=True, gc=False):
    """A packet, a gap, an event of a connection or a file error, with where it was found.

    ``frames`` are the 1-based numbers of the frames that carry it (those that a ``gap`` lies between),
    ``time`` (nanoseconds since 1970, UTC) that of the frame that completes it, ``offset`` bytes from the
    first captured payload byte of its direction, ``length`` its captured bytes, ``stream`` the connection by
    order of appearance (None for UDP).
    ``packet``, ``anomalies``, ``consumed``, ``remainder`` and ``error`` are those of `inspect`. ``missing``
    counts the bytes of a ``gap`` that were not captured (None when unknown), ``length`` those that were and
    are in no packet; ``reason`` says why. A ``gap`` of the whole file has ``frames_missing``: those that it
    says were dropped, or that it has in part, at most ``length`` bytes of each.
    ``event`` names the step of a ``tcp_stream``. ``how`` says of the message in an answer whether it was
    ``received`` or ``peeked``, ``read`` where its call does not. ``path`` says what it was captured in,
    and whose its connection is by a PROXY header, as `msmq_wire.reassembly.encapsulation` has it.
    ``network`` is what a ``tcp_stream`` shows of the network; side 0 of a `TcpEvidence` is ``src``.

    What was found at rest has a ``grade``, the offset in its file as ``offset``, all places where the same
    bytes lie in ``locations``, and neither frames nor a time; ``reason`` says why it is not whole.
    """

    id: int
    parent: int | None = None
    type: Annotated[str, PUBLIC]
    capture: Annotated[str, FILE] = ""
    frames: tuple[int, ...] = ()
    time: int | None = None
    src: Annotated[str | None, ENDPOINT] = None
    dst: Annotated[str | None, ENDPOINT] = None
    stream: int | None = None
    offset: int = 0
    length: int = 0
    packet: _PacketT_co = None  # type: ignore[assignment]  # that of a record without one
    anomalies: tuple[Anomaly, ...] = ()
    consumed: int = 0
    remainder: bytes = b""
    error: DecodeError | None = None
    missing: int | None = None
    frames_missing: int | None = None
    reason: Annotated[str | None, Private("host", "reason", _named_in_reason)] = None
    event: Annotated[str | None, PUBLIC] = None
    how: Annotated[Literal["received", "peeked", "read"] | None, PUBLIC] = None
    grade: Annotated[Grade | None, PUBLIC] = None
    locations: tuple[FileLocation, ...] = ()
    path: Annotated[bytes, Private("host", "captured_in")] = b""
    network: TcpEvidence | TooBigEvidence | None = None

    def __repr__(self) -> str:
        queue, label = getattr(self.packet, "queue_and_label", ("", ""))
        method = getattr(self.packet, "method", None)
        reason = self.event or self.reason or ("" if self.error is None else self.error.code)
        return line(
            self,
            str(self.id),
            self.type,
            _moment(self.time),
            f"{shortened(self.src or '?')} -> {shortened(self.dst or '?')}" if self.src or self.dst else "",
            label_text(label),
            f"to {shortened(short_queue(queue))}" if queue else "",
            shortened(method) if isinstance(method, str) and self.type.endswith("_call") else "",
            shortened(reason),
        )

    def _repr_html_(self) -> str:
        # Loads what only a notebook needs.
        from msmq_wire.html_values import facts_html

        queue, label = getattr(self.packet, "queue_and_label", ("", ""))
        frames = ", ".join(map(str, self.frames[:_MOST]))
        wrong = [anomaly.message for anomaly in self.anomalies[:_MOST]]
        if len(self.anomalies) > _MOST:
            wrong.append(f"and {len(self.anomalies) - _MOST} more")
        return facts_html(
            f"{self.type} {self.id}",
            (
                ("time", _moment(self.time)),
                ("from", self.src),
                ("to", self.dst),
                ("queue", queue),
                ("label", label),
                ("method", getattr(self.packet, "method", None)),
                ("length", f"{self.length} bytes"),
                ("frames", f"{frames}…" if len(self.frames) > _MOST else frames),
                ("capture", self.capture),
                ("breaks", "; ".join(wrong)),
                ("error", "" if self.error is None else str(self.error)),
                ("reason", self.reason),
            ),
        )


_MOST = 5


def _moment(nanoseconds: int | None) -> str:
    """Date and time in UTC; empty where there is none."""
    if nanoseconds is None:
        return ""
    try:
        moment = datetime.fromtimestamp(nanoseconds // SECOND, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{nanoseconds} ns"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{nanoseconds % SECOND // MILLISECOND:03d}Z"


class RecordPlace(TypedDict):
    """Where a record was found, as what is told of it repeats that; ``record`` is its id."""

    record: int
    capture: str
    frames: tuple[int, ...]
    time: int | None
    src: str
    dst: str


def place_of(record: Record) -> RecordPlace:
    """Where a record was found; an address that is not known is empty."""
    return RecordPlace(
        record=record.id,
        capture=record.capture,
        frames=record.frames,
        time=record.time,
        src=record.src or "",
        dst=record.dst or "",
    )


def is_read(record: Record) -> bool:
    """Whether it is the packet of a stored message, in the answer of a call that read it.

    qm2qm carries such a message as a ``user_message``, which is also what queue managers send each other.
    """
    if record.grade is not None:
        return False
    return record.type == "message_packet" or (record.type == "user_message" and record.parent is not None)


def is_file_error(record: Record) -> bool:
    """Whether a record says that the file is damaged; other errors are those of packets."""
    is_of_packet = record.stream is not None or record.error is not None or record.reason is None
    return record.type == "error" and not is_of_packet


def is_step(item: Item) -> bool:
    """Whether it is a step of a connection.

    Such steps are counted among the items of a capture, and have ids, whether they are shown or not: the id
    of an item is the same in all that is told of a capture.
    """
    return isinstance(item, Record) and item.type == "tcp_stream" and item.event != "conflict"


class NewRecord(Protocol):
    """Makes a record with the next id."""

    def __call__(self, *, time: int | None, **values: Any) -> Record: ...


class FoundPacket(msgspec.Struct, frozen=True, gc=False):
    """A packet where it was found, before it is decoded; fields as in `Record`, time 0 for none."""

    id: int
    capture: str
    data: bytes
    frames: tuple[int, ...]
    time: int
    src: str
    dst: str
    stream: int | None
    offset: int
    path: bytes = b""

    def record(self) -> Record:
        """The packet decoded and judged."""
        result = inspect(self.data)
        return Record(
            id=self.id,
            type=result.type or UNKNOWN_PACKET,
            capture=self.capture,
            frames=self.frames,
            time=self.time or None,
            src=self.src,
            dst=self.dst,
            stream=self.stream,
            offset=self.offset,
            length=len(self.data),
            packet=result.packet,
            anomalies=result.anomalies,
            consumed=result.consumed,
            remainder=result.remainder,
            error=result.error,
            path=self.path,
        )


Item: TypeAlias = Record | FoundPacket
"""What a capture holds, the packets decoded or not."""
