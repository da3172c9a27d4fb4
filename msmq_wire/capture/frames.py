"""One frame after the other: what it carries goes to the `PacketFinder`, fragments put together before."""

from __future__ import annotations

from collections.abc import Sequence

from msmq_wire.capture.link import Datagram, dissect, transport
from msmq_wire.capture.network import IcmpUnreachable, Skipped, UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.reassembly.ip import IpFragment, IpReassembler
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Item

_LONE_FRAGMENTS = "IP fragments, not put together"


class FrameDecoder:
    """Takes the frames of a capture in order; each method returns the records that it completes."""

    def __init__(self, finder: PacketFinder) -> None:
        self._finder = finder
        self._fragments = IpReassembler()

    def frame(self, frame: Frame) -> Sequence[Item]:
        """Take a frame."""
        records: list[Item] = []
        for datagram in dissect(frame):
            records += self.datagram(datagram)
        return records

    def datagram(self, datagram: Datagram) -> Sequence[Item]:
        """Take what a frame carries."""
        finder = self._finder
        match datagram:
            case TcpSegment():
                return finder.segment(datagram)
            case Skipped(reason):
                finder.skipped[reason] += 1
            case UdpDatagram(src, sport, dst, dport, payload, frame, time, path=path):
                return finder.datagram(src, sport, dst, dport, payload, frame, time, path)
            case IcmpUnreachable():
                original = (
                    datagram.original_src,
                    datagram.original_sport,
                    datagram.original_dst,
                    datagram.original_dport,
                )
                moment = (datagram.frame, datagram.time)
                if datagram.mtu is not None:
                    return finder.too_big(original, datagram.src, datagram.mtu, *moment)
                return finder.unreachable(original, datagram.code, *moment)
            case IpFragment():
                return self._fragment(datagram)
        return []

    def _fragment(self, fragment: IpFragment) -> Sequence[Item]:
        skipped = self._finder.skipped
        whole = self._fragments.feed(fragment)
        if whole is None:
            skipped[_LONE_FRAGMENTS] += 1
            return []
        self._finder.carried_by(fragment.frame, whole.frames)
        # The frame that completes it is counted with its content.
        skipped[_LONE_FRAGMENTS] -= len(whole.frames) - 1
        if not skipped[_LONE_FRAGMENTS]:
            del skipped[_LONE_FRAGMENTS]
        if whole.overlap:
            self._finder.notices["IP fragments that overlap with other content: the first copy is kept"] += 1
        understood = self._finder.understood
        records: list[Item] = []
        ends, moment = (fragment.src, fragment.dst), (fragment.frame, fragment.time)
        for datagram in transport(whole.protocol, *ends, whole.payload, *moment, path=fragment.path):
            records += self.datagram(datagram)
        if self._finder.understood > understood:
            self._finder.understood += len(whole.frames) - 1
        elif len(whole.frames) > 1:
            skipped["IP fragments of other traffic"] += len(whole.frames) - 1
        return records
