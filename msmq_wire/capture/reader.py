"""`read_capture`: a capture file in, its records out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from types import TracebackType

import msgspec

from msmq_wire.capture.link import dissect, transport
from msmq_wire.capture.network import IcmpUnreachable, Skipped, UdpDatagram
from msmq_wire.capture.source import CaptureSource, Source
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.ip import IpFragment, IpReassembler
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.decoder import RecordDecoder
from msmq_wire.records.record import Record

__all__ = ["CaptureReader", "Summary", "read_capture"]


_LONE_FRAGMENTS = "IP fragments, not put together"


class Summary(msgspec.Struct):
    """What a capture held: frames read, frames of MSMQ traffic, the others by reason, records by type.

    ``notices`` counts what a reader should know beside that, such as traffic that may be MSMQ but is opaque.
    """

    frames: int = 0
    understood: int = 0
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    notices: Counter[str] = msgspec.field(default_factory=Counter)
    packets: Counter[str] = msgspec.field(default_factory=Counter)


class CaptureReader:
    """Iterates over the records of one capture, in order of completion.

    ``source`` is a path, ``"-"`` for standard input or a binary file object: pcap or pcapng, plain, gzip or
    zstd. ``ports`` are TCP ports to follow beside 1801, ``streams`` adds ``tcp_stream`` records, ``first_id``
    numbers the first record. Memory stays bounded. Raises CaptureError when the source cannot be opened or
    is no capture; damage later on ends the iteration with an ``error`` record. ``summary`` counts as it
    goes.
    """

    def __init__(
        self,
        source: CaptureSource,
        *,
        ports: Collection[int] = (),
        streams: bool = False,
        first_id: int = 1,
    ) -> None:
        self.source = Source(source)
        self.summary = Summary()
        self._decoder = RecordDecoder(
            capture=self.source.name, ports=ports, streams=streams, first_id=first_id
        )
        self._fragments = IpReassembler()

    def __enter__(self) -> CaptureReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.source.close()

    def __iter__(self) -> Iterator[Record]:
        for record in self._walk():
            self.summary.packets[record.type] += 1
            yield record

    def _walk(self) -> Iterator[Record]:
        decoder, summary = self._decoder, self.summary
        summary.skipped, summary.notices = decoder.skipped, decoder.notices
        failure: CaptureError | None = None
        try:
            for frame in self.source.frames():
                summary.frames += 1
                for datagram in dissect(frame):
                    if type(datagram) is TcpSegment:
                        yield from decoder.segment(datagram)
                    else:
                        yield from self._other(datagram)
                summary.understood = decoder.understood
        except CaptureError as error:
            if not self.source.is_capture:
                raise
            failure = error
        yield from decoder.finish()
        summary.understood = decoder.understood
        if failure is not None:
            yield decoder.file_error(failure.message, failure.offset)

    def _other(self, datagram: object) -> Iterator[Record]:
        decoder = self._decoder
        match datagram:
            case Skipped(reason):
                decoder.skipped[reason] += 1
            case TcpSegment():
                yield from decoder.segment(datagram)
            case UdpDatagram(src, sport, dst, dport, payload, frame, time):
                yield from decoder.datagram(src, sport, dst, dport, payload, frame, time)
            case IcmpUnreachable():
                original = (
                    datagram.original_src,
                    datagram.original_sport,
                    datagram.original_dst,
                    datagram.original_dport,
                )
                yield from decoder.unreachable(original, datagram.code, datagram.frame, datagram.time)
            case IpFragment():
                yield from self._fragment(datagram)

    def _fragment(self, fragment: IpFragment) -> Iterator[Record]:
        skipped = self._decoder.skipped
        whole = self._fragments.feed(fragment)
        if whole is None:
            skipped[_LONE_FRAGMENTS] += 1
            return
        self._decoder.carried_by(fragment.frame, whole.frames)
        # The frame that completes it is counted with its content.
        skipped[_LONE_FRAGMENTS] -= len(whole.frames) - 1
        if not skipped[_LONE_FRAGMENTS]:
            del skipped[_LONE_FRAGMENTS]
        if whole.overlap:
            self._decoder.notices["IP fragments that overlap with other content: the first copy is kept"] += 1
        understood = self._decoder.understood
        for datagram in transport(
            whole.protocol, fragment.src, fragment.dst, whole.payload, fragment.frame, fragment.time
        ):
            yield from self._other(datagram)
        if self._decoder.understood > understood:
            self._decoder.understood += len(whole.frames) - 1
        elif len(whole.frames) > 1:
            skipped["IP fragments of other traffic"] += len(whole.frames) - 1


def read_capture(
    source: CaptureSource, *, ports: Collection[int] = (), streams: bool = False
) -> Iterator[Record]:
    """Yield the records of a capture; arguments and errors as for `CaptureReader`."""
    with CaptureReader(source, ports=ports, streams=streams) as reader:
        yield from reader
