"""`RecordDecoder`: transport payloads in, `Record` values out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.reassembly.tcp_events import Endpoints, TcpSegment
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import FoundPacket, Item, Record

__all__ = ["RecordDecoder", "decoded"]


def decoded(items: Iterable[Item]) -> Iterator[Record]:
    """Yield the items, every packet decoded and judged when its turn comes."""
    for item in items:
        yield item.record() if isinstance(item, FoundPacket) else item


class RecordDecoder(PacketFinder):
    """A `PacketFinder` that decodes what it finds."""

    def segment(self, segment: TcpSegment) -> list[Record]:
        """Take a TCP segment."""
        return list(decoded(super().segment(segment)))

    def datagram(
        self, src: bytes, sport: int, dst: bytes, dport: int, payload: bytes, frame: int, time: int
    ) -> list[Record]:
        """Take a UDP datagram; pings are read on port 3527, directory service discovery on port 1801."""
        return list(decoded(super().datagram(src, sport, dst, dport, payload, frame, time)))

    def unreachable(self, original: Endpoints, code: int, frame: int, time: int) -> list[Record]:
        """Take an ICMP unreachable about a packet sent from and to ``original``."""
        return list(decoded(super().unreachable(original, code, frame, time)))

    def finish(self) -> list[Record]:
        """Return what was left open: the capture ends here."""
        return list(decoded(super().finish()))
